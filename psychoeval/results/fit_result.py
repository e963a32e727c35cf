"""The one result of every estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.irt.intervals import correlation_interval, wald_interval, wilson_interval
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, ItemStatus, readonly
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import Sampling

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
LikelihoodKind = Literal["marginal", "joint", "simulated", "item_marginal", "conditional", "elbo"]
#: What the kinds are called in tables, and what they mean.
LIKELIHOOD_WORDS: Final[dict[LikelihoodKind, tuple[str, str]]] = {
    "marginal": ("marginal", "abilities integrated out"),
    "simulated": ("simulated", "abilities integrated out, with Monte Carlo error"),
    "joint": ("joint", "abilities and items estimated"),
    "item_marginal": ("items integrated out", "abilities estimated, items integrated out over their population"),
    "conditional": ("conditional", "given the sum scores"),
    "elbo": ("lower bound (ELBO)", "what variational inference maximizes"),
}


@dataclass(frozen=True, slots=True)
class ItemStatistics:
    """Classical item statistics of J items.

    Parameters
    ----------
    item_ids : tuple of str
    proportion_correct : (J,) array
        Mean score over maximum score; high is easy. NaN for items without responses.
    item_rest_correlation : (J,) array
        Pearson correlation with the score on the other items; NaN for constant items.
    standard_errors : mapping of str to (J,) array
        Under the same two names, where known.
    status : tuple of str, length J
    effective_n : (J,) array, optional
        How many independent 0/1 scores each proportion is worth: then its interval is Wilson's.
    """

    item_ids: tuple[str, ...]
    proportion_correct: FloatArray
    item_rest_correlation: FloatArray
    standard_errors: Mapping[str, FloatArray]
    status: tuple[ItemStatus, ...] = ()
    effective_n: FloatArray | None = None

    def __post_init__(self) -> None:
        n = len(self.item_ids)
        for name in ("proportion_correct", "item_rest_correlation"):
            object.__setattr__(self, name, readonly(getattr(self, name), (n,), name))
        errors = {key: readonly(values, (n,), f"the errors of {key}") for key, values in self.standard_errors.items()}
        object.__setattr__(self, "standard_errors", errors)
        if self.effective_n is not None:
            object.__setattr__(self, "effective_n", readonly(self.effective_n, (n,), "effective_n"))
        if not self.status:
            object.__setattr__(self, "status", ("estimated",) * n)
        if len(self.status) != n or len(set(self.item_ids)) != n:
            raise DataError("Item ids repeat, or do not match the statuses.", "Give unique ids and one status each.")

    def interval(self, term: str, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits of a term, (J,) each.

        Parameters
        ----------
        term : {"proportion_correct", "item_rest_correlation"}
            A proportion's is Wilson's where `effective_n` is given, else value -+ z SE; a correlation's is on
            Fisher's scale.
        level : float
        """
        if term == "proportion_correct" and self.effective_n is not None:
            return wilson_interval(self.proportion_correct, self.effective_n, level)
        error = self.standard_errors.get(term)
        error = np.full(len(self.item_ids), np.nan) if error is None else error
        if term == "item_rest_correlation":
            return correlation_interval(self.item_rest_correlation, error, level)
        return wald_interval(self.proportion_correct, error, level)


@dataclass(frozen=True, slots=True)
class LatentDistribution:
    """Latent distribution: normal with `mean` and `sd`, or a histogram with `nodes` (Q,) and `weights` (Q,)."""

    mean: float = 0.0
    sd: float = 1.0
    nodes: FloatArray | None = None
    weights: FloatArray | None = None
    sd_standard_error: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class FitResult:
    """What an estimator found, with how it was got and how far to trust it.

    Parameters
    ----------
    estimator : str
        Registry name.
    model : ItemModel, optional
        None for estimators that assume no item response model.
    convergence : Convergence
    provenance : Provenance
    abilities : Abilities, optional
    item_parameters : ItemParameters, optional
    item_statistics : ItemStatistics, optional
        Classical statistics (`ctt`), or item effects' stand-ins.
    latent_distribution : LatentDistribution, optional
    log_likelihood : float, optional
        Without the binomial constant.
    log_likelihood_kind : str, optional
        ``marginal``, ``joint``, ``simulated``, ``item_marginal``, ``conditional`` or ``elbo``. Kinds never compare.
    log_likelihood_error : float, optional
        Monte Carlo standard error of a simulated one.
    n_parameters : int, optional
        Free parameters.
    n_persons : int, optional
        Persons with at least one response: the n of BIC.
    statistics : mapping
        Named whole-test statistics with their intervals and notes (alpha, overdispersion, ...): plain numbers and text.
    sampling : Sampling, optional
        Diagnostics of the chains of a sampler; by them its convergence is judged.
    draws : Draws, optional
        The draws themselves, on the scale on which they were sampled.
    components : (N,) integer array, optional
        Where the data fall into components that share no response: that of each person of `abilities`, 1 the first, -1
        for persons without responses. Nothing observed compares abilities of different components. None where there is
        one, or where the data are not known (imported fits).
    """

    estimator: str
    model: ItemModel | None
    convergence: Convergence
    provenance: Provenance
    abilities: Abilities | None = None
    item_parameters: ItemParameters | None = None
    item_statistics: ItemStatistics | None = None
    latent_distribution: LatentDistribution | None = None
    log_likelihood: float | None = None
    log_likelihood_kind: LikelihoodKind | None = None
    log_likelihood_error: float | None = None
    n_parameters: int | None = None
    n_persons: int | None = None
    statistics: Mapping[str, Any] | None = None
    sampling: Sampling | None = None
    draws: Draws | None = None
    components: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        likelihood = "" if self.log_likelihood is None else f", log-likelihood {self.log_likelihood:.3f}"
        grade = "" if self.sampling is None else f", chains: {self.sampling.grade}"
        more = "".join(f", {name}" for name in ("sampling", "draws") if getattr(self, name) is not None)
        return (
            f"<FitResult {self.label}: {self.convergence.status}{likelihood}{grade}; see item_table(), "
            f"ability_table(), convergence, provenance{more}>"
        )

    @property
    def label(self) -> str:
        """Estimator, model, and whether the latent distribution was estimated: tells fits of one data set apart."""
        if self.model is None:
            return self.estimator
        law = self.latent_distribution
        estimated = law is not None and law.nodes is not None
        return f"{self.estimator} {self.model.label}{', empirical latent distribution' if estimated else ''}"

    @property
    def _information_criteria_apply(self) -> bool:
        # Only unpenalised maxima of a marginal likelihood have AIC and BIC.
        return (
            self.log_likelihood_kind == "marginal"
            and self.convergence.believed
            and not (self.model is not None and self.model.is_penalised)
        )

    @property
    def aic(self) -> float | None:
        """Akaike's criterion; None where the likelihood is no unpenalised marginal maximum."""
        if not self._information_criteria_apply or self.log_likelihood is None or self.n_parameters is None:
            return None
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion with n = persons with responses; None where `aic` is None."""
        aic = self.aic
        if aic is None or self.n_parameters is None or not self.n_persons:
            return None
        return float(aic + self.n_parameters * (np.log(self.n_persons) - 2))

    def _is_fixed(self, term: str) -> bool:
        if self.model is None:
            return False
        return (term == "discrimination" and self.model.name == "Rasch") or (
            term == "guessing" and not self.model.guessing_is_estimated
        )

    def item_table(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row for each item and term.

        Parameters
        ----------
        level : float
            Of the intervals, estimate -+ z SE; of proportions and correlations see `ItemStatistics.interval`.

        Returns
        -------
        DataFrame
            ``item, term, estimate, std_error, conf_low, conf_high, status``; terms are ``discrimination``,
            ``difficulty``, ``intercept``, ``guessing``, or ``proportion_correct``, ``item_rest_correlation``.
            A term that the model fixes (a of the Rasch model, c but in a 3PL) has status ``fixed`` and no error.
        """
        import pandas as pd

        frames: list[pd.DataFrame] = []
        if self.item_parameters is not None:
            p = self.item_parameters
            errors = p.standard_errors or {}
            for term in ("discrimination", "difficulty", "intercept", "guessing"):
                value = getattr(p, term)
                status: tuple[str, ...] = p.status
                error = errors.get(term, np.full(value.shape, np.nan))
                if self._is_fixed(term):
                    error = np.full(value.shape, np.nan)
                    status = tuple("fixed" if s in ("estimated", "runaway") else s for s in status)
                frames.append(_term_frame(p.item_ids, term, value, error, wald_interval(value, error, level), status))
        elif self.item_statistics is not None:
            s = self.item_statistics
            for term in ("proportion_correct", "item_rest_correlation"):
                value, limits = getattr(s, term), s.interval(term, level)
                frames.append(_term_frame(s.item_ids, term, value, s.standard_errors.get(term), limits, s.status))
        if not frames:
            return pd.DataFrame(columns=["item", "term", "estimate", "std_error", "conf_low", "conf_high", "status"])
        table = pd.concat(frames, ignore_index=True)
        order = np.arange(len(table)).reshape(len(frames), -1).T.ravel()
        return table.iloc[order].reset_index(drop=True)

    def ability_table(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row for each person.

        Parameters
        ----------
        level : float
            Of the intervals (`Abilities.interval`).

        Returns
        -------
        DataFrame
            ``person, estimate, std_error, conf_low, conf_high, status, method, scale``; and ``component`` where the
            data fall into several: abilities of different ones are not comparable.
        """
        import pandas as pd

        if self.abilities is None:
            return pd.DataFrame(
                columns=[
                    "person",
                    "estimate",
                    "std_error",
                    "conf_low",
                    "conf_high",
                    "status",
                    "method",
                    "scale",
                ]
            )
        a = self.abilities
        low, high = a.interval(level)
        table = pd.DataFrame(
            {
                "person": a.person_ids,
                "estimate": a.estimate,
                "std_error": np.nan if a.standard_error is None else a.standard_error,
                "conf_low": low,
                "conf_high": high,
                "status": a.status,
                "method": a.method,
                "scale": a.scale,
            }
        )
        return table if self.components is None else table.assign(component=self.components)

    def save(self, path: str | Path) -> Path:
        """Write the result to a file without pickle; see `psychoeval.results.storage`."""
        from psychoeval.results.storage import save_fit

        return save_fit(self, path)

    @staticmethod
    def load(path: str | Path) -> FitResult:
        """Read a result written by `save`."""
        from psychoeval.results.storage import load_fit

        return load_fit(path)


def _term_frame(
    ids: tuple[str, ...],
    term: str,
    value: FloatArray,
    error: FloatArray | None,
    limits: tuple[FloatArray, FloatArray],
    status: tuple[str, ...],
) -> pd.DataFrame:
    import pandas as pd

    columns = {"item": ids, "term": term, "estimate": value, "std_error": np.nan if error is None else error}
    return pd.DataFrame({**columns, "conf_low": limits[0], "conf_high": limits[1], "status": status})
