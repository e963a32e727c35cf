"""Log-likelihoods, where AIC and BIC mean something, and who reached the maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psychoeval.agreement.pair import PairComparison
from psychoeval.results.fit_result import LIKELIHOOD_WORDS, FitResult


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
        LIKELIHOOD_WORDS[fit.log_likelihood_kind][0] if fit.log_likelihood_kind else "none",
        fit.log_likelihood,
        fit.log_likelihood_error,
        fit.n_parameters,
        fit.n_persons,
        fit.aic,
        fit.bic,
        "" if fit.aic is not None else _why(fit),
        None if latent is None else latent.sd,
    )


@dataclass(frozen=True, slots=True)
class MaximumRow:
    """One of two fits that claim the same maximum; `pair` and `slope_ratio` stand in the first row of a pair only."""

    pair: str
    label: str
    reported: float
    integrated: float | None
    misread: float | None
    shortfall: float | None
    slope_ratio: float | None


@dataclass(frozen=True, slots=True)
class Maxima:
    """Fits that claim the same maximum: the figures, and in words what is wrong with a pair and what to do."""

    rows: tuple[MaximumRow, ...]
    findings: tuple[tuple[str, str, str], ...]


def maxima(pairs: Sequence[PairComparison]) -> Maxima:
    """Return the pairs that claim the same maximum as the report shows them."""
    rows, findings = [], []
    for pair in pairs:
        found = pair.likelihood
        if found is None:
            continue
        title = f"{pair.first} - {pair.second}"
        for k, name in enumerate((pair.first, pair.second)):
            rows.append(
                MaximumRow(
                    title if k == 0 else "",
                    name,
                    found.reported[k],
                    found.integrated[k],
                    found.misread[k],
                    found.shortfall if name == found.lower else None,
                    found.slope_ratio if k == 0 else None,
                )
            )
        if found.words:
            findings.append((title, found.words, found.remedy))
    return Maxima(tuple(rows), tuple(findings))


def shortfall_cautions(pairs: Sequence[PairComparison]) -> tuple[tuple[str, str], ...]:
    """Return which fits are short of a maximum that another one reached, each by the furthest, and what to do."""
    worst: dict[str, PairComparison] = {}
    for pair in pairs:
        found = pair.likelihood
        if found is None or not found.lower or not found.remedy:
            continue
        known = worst.get(found.lower)
        if known is None or known.likelihood is None or known.likelihood.shortfall < found.shortfall:
            worst[found.lower] = pair
    return tuple(
        (
            f"{name} claims a maximum of the likelihood and is {p.likelihood.shortfall:.2f} short of what "
            f"{p.likelihood.higher} reaches (section 6).",
            p.likelihood.remedy,
        )
        for name, p in worst.items()
        if p.likelihood is not None
    )


def _why(fit: FitResult) -> str:
    if fit.log_likelihood is None:
        return "no likelihood"
    if not fit.convergence.believed:
        return "not believed"
    if fit.log_likelihood_kind != "marginal":
        return f"{LIKELIHOOD_WORDS[fit.log_likelihood_kind][0] if fit.log_likelihood_kind else 'unknown'}, not marginal"
    if fit.model is not None and fit.model.is_penalised:
        return "held by priors: no maximum of the likelihood"
    return "parameters not counted"
