"""Log-likelihoods, and where AIC and BIC mean something."""

from __future__ import annotations

from dataclasses import dataclass

from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class LikelihoodRow:
    """One fit's log-likelihood; `no_criteria` says why AIC and BIC are missing."""

    label: str
    believed: bool
    kind: str
    value: float | None
    error: float | None
    n_parameters: int | None
    n_persons: int | None
    aic: float | None
    bic: float | None
    no_criteria: str
    latent_sd: float | None


def likelihood_row(name: str, fit: FitResult) -> LikelihoodRow:
    """Return the likelihood of a fit as the report shows it."""
    latent = fit.latent_distribution
    return LikelihoodRow(
        name,
        fit.convergence.believed,
        fit.log_likelihood_kind or "none",
        fit.log_likelihood,
        fit.log_likelihood_error,
        fit.n_parameters,
        fit.n_persons,
        fit.aic,
        fit.bic,
        "" if fit.aic is not None else _why(fit),
        None if latent is None else latent.sd,
    )


def _why(fit: FitResult) -> str:
    if fit.log_likelihood is None:
        return "no likelihood"
    if not fit.convergence.believed:
        return "not believed"
    if fit.log_likelihood_kind != "marginal":
        return f"{fit.log_likelihood_kind}, not marginal"
    if fit.model is not None and fit.model.is_penalised:
        return "held by priors: no maximum of the likelihood"
    return "parameters not counted"
