"""How well a model predicts persons it has not seen: leave-one-person-out by Pareto-smoothed importance sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from psychoeval.errors import NotComparableError
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.sampling_figures import array_stats
from psychoeval.wording import some

FloatArray = NDArray[np.float64]

#: Vehtari, Simpson, Gelman, Yao and Gabry (2024), JMLR 25(72): above min(1 - 1 / log10 S, .7) the estimate for a person
#: is not reliable; above 1 the mean that it estimates need not exist.
PARETO_K_HIGHEST: Final = 0.7
#: Sivula, Magnusson, Matamoros and Vehtari (2020), arXiv:2008.10296: below a difference of 4 models predict alike, and
#: with fewer than 100 persons its standard error is too small.
SMALL_DIFFERENCE: Final = 4.0
FEW_PERSONS: Final = 100


@dataclass(frozen=True, slots=True, repr=False)
class Loo:
    """Expected log predictive density of persons left out one at a time.

    Parameters
    ----------
    person_ids : tuple of str, length N
    elpd_by_person, p_loo_by_person, pareto_k : (N,) arrays
        Log density of each person's responses given all others', the part of it that is fitting, and the reliability
        of both.
    k_limit : float
        Above it a person's value is not reliable.
    warnings : tuple of str
    """

    person_ids: tuple[str, ...]
    elpd_by_person: FloatArray
    p_loo_by_person: FloatArray
    pareto_k: FloatArray
    k_limit: float
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("elpd_by_person", "p_loo_by_person", "pareto_k"):
            getattr(self, name).flags.writeable = False

    def __repr__(self) -> str:
        warned = "".join(f"\n  {w}" for w in self.warnings)
        return f"<Loo of {len(self.person_ids)} persons: elpd {self.elpd:.1f} (SE {self.standard_error:.1f}){warned}>"

    @property
    def elpd(self) -> float:
        """Sum over persons of the log predictive density."""
        return float(self.elpd_by_person.sum())

    @property
    def standard_error(self) -> float:
        """Of `elpd`: sqrt(N) times the SD over persons."""
        return _sum_error(self.elpd_by_person)

    @property
    def p_loo(self) -> float:
        """Effective number of parameters."""
        return float(self.p_loo_by_person.sum())


@dataclass(frozen=True, slots=True)
class LooDifference:
    """First minus second: above 0 the first predicts better. `warnings` say when not to read it."""

    elpd_difference: float
    standard_error: float
    warnings: tuple[str, ...] = ()


def loo(given: FitResult | Draws) -> Loo:
    """Return the leave-one-person-out predictive density of a sampled model.

    elpd = sum_i log p(x_i | x_-i), abilities integrated out: a person is left out as a whole. By PSIS (Vehtari, Gelman
    and Gabry 2017, doi:10.1007/s11222-016-9696-4), from the marginal log-likelihood of each person; the binomial
    constant is left out.

    Parameters
    ----------
    given : FitResult or Draws
        With draws of `log_likelihood`.

    Returns
    -------
    Loo

    Raises
    ------
    NotComparableError
        If there is no log-likelihood by person, or it has values that are not finite or too few draws.
    EngineUnavailableError
        Without arviz-stats.
    """
    draws = given.draws if isinstance(given, FitResult) else given
    if draws is None or draws.log_likelihood is None:
        raise NotComparableError(
            "There are no draws of the log-likelihood of each person.", "Sample with log_likelihood=True."
        )
    values = _checked(draws)
    fixed = np.ptp(values, axis=(1, 2)) == 0  # such as a person without responses: nothing to smooth
    elpd, k, p = values[:, 0, 0].copy(), np.full(len(values), -np.inf), np.zeros(len(values))
    moving = np.flatnonzero(~fixed)
    if moving.size:
        elpd[moving], k[moving], p[moving] = _smoothed(values[moving], _relative_ess(values[moving]))
    limit = min(1 - 1 / np.log10(values[0].size), PARETO_K_HIGHEST)
    return Loo(draws.person_ids, elpd, p, k, float(limit), _warnings(draws, k, limit))


def _relative_ess(values: FloatArray) -> float:
    """Return the mean over persons of the ESS of their likelihood, over the number of draws and at most 1."""
    # Over its largest value the likelihood does not underflow.
    likelihood = np.exp(values - values.max(axis=(1, 2), keepdims=True))
    return min(1.0, float(np.mean(array_stats().ess(likelihood, method="mean", relative=True))))


def _smoothed(values: FloatArray, relative_ess: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return elpd, Pareto k and effective parameters of each person, (N,) each, from (N, C, S) log-likelihoods."""
    try:
        with np.errstate(divide="raise", invalid="raise"):
            elpd, k, p = array_stats().loo(values, r_eff=relative_ess)
    except FloatingPointError:
        # A few draws of a person have all the weight, and the tail fitted to the others' zeros can look harmless.
        if len(values) > 1:
            alone = [_smoothed(values[i : i + 1], relative_ess) for i in range(len(values))]
            elpd, k, p = (np.concatenate(parts) for parts in zip(*alone, strict=True))
            return elpd, k, p
        elpd = np.log(values[0].size) - logsumexp(-values, axis=(1, 2))
        return elpd, np.array([np.inf]), logsumexp(values, axis=(1, 2)) - np.log(values[0].size) - elpd
    except ValueError as error:
        raise NotComparableError(
            f"A log-likelihood has the same value in many draws, as where a chain stands still ({error}).",
            "Look at the diagnostics of the chains (draws.diagnose()).",
        ) from error
    return elpd, np.where(np.isnan(k), np.inf, k), p


def _checked(draws: Draws) -> FloatArray:
    """Return the log-likelihood as (N, C, S)."""
    assert draws.log_likelihood is not None
    values = np.ascontiguousarray(draws.log_likelihood.transpose(2, 0, 1))
    odd = ~np.isfinite(values).all(axis=(1, 2))
    if odd.any():
        who = some([draws.person_ids[i] for i in np.flatnonzero(odd)], 3)
        raise NotComparableError(f"The log-likelihood of {who} is not finite in some draws.", "Look at their data.")
    if draws.n_chains * draws.n_draws < 100 or draws.n_draws < 4:
        raise NotComparableError(
            f"There are {draws.n_chains * draws.n_draws} draws, too few to smooth a tail.", "Sample 100 or more."
        )
    return values


def _warnings(draws: Draws, k: FloatArray, limit: float) -> tuple[str, ...]:
    high = np.flatnonzero(k > limit)
    if not high.size:
        return ()
    worst = high[np.argsort(-k[high], kind="stable")]
    who = some([draws.person_ids[i] for i in worst], 3)
    return (
        f"Pareto k of {high.size} of {k.size} persons is above {limit:.2f} ({who}; the largest {k.max():.2f}): the "
        "draws say too little about the model without them, and elpd is too high. Sample longer; if it stays, fit "
        "again without these persons and score them.",
    )


def loo_difference(first: Loo, second: Loo) -> LooDifference:
    """Return the difference in predictive density of two models of the same persons.

    Its standard error is that of the paired differences, sqrt(N) times their SD.

    Raises
    ------
    NotComparableError
        If the persons differ.
    """
    if set(first.person_ids) != set(second.person_ids):
        only = sorted(set(first.person_ids) ^ set(second.person_ids))
        raise NotComparableError(
            f"The models were fitted to different persons ({some(only, 3)} are in one of them).", "Use the same data."
        )
    place = {person: i for i, person in enumerate(second.person_ids)}
    gaps = first.elpd_by_person - second.elpd_by_person[[place[p] for p in first.person_ids]]
    total, error = float(gaps.sum()), _sum_error(gaps)
    warnings = []
    if abs(total) < SMALL_DIFFERENCE:
        warnings.append(f"The difference is below {SMALL_DIFFERENCE:g}: the models predict alike.")
    if gaps.size < FEW_PERSONS:
        warnings.append(f"With {gaps.size} persons the standard error is too small: read it as a lower bound.")
    if first.warnings or second.warnings:
        warnings.append("Some Pareto k are high: the difference may be their error.")
    return LooDifference(total, error, tuple(warnings))


def _sum_error(values: FloatArray) -> float:
    return float(np.sqrt(values.size * values.var(ddof=1))) if values.size > 1 else float("nan")
