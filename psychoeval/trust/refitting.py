"""The refitting check: simulate from a fit, fit again, and see what is recovered."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import t

from psychoeval._version import __version__
from psychoeval.agreement.matching import check_fit, check_responses
from psychoeval.audit.settings import check_level
from psychoeval.errors import ConvergenceWarning, DataError
from psychoeval.estimators.base import Estimator
from psychoeval.estimators.settings import check_seed, check_whole
from psychoeval.fitting import estimator_of
from psychoeval.fitting import fit as fit_one
from psychoeval.fitting.one import prepare
from psychoeval.registry import make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.studies.runner import Replications, replicate
from psychoeval.studies.store import Row, RowStore
from psychoeval.trust.recovery import METRICS, STATISTICS, data_statistics, recovered
from psychoeval.trust.worlds import Simulator

if TYPE_CHECKING:
    import pandas as pd

#: Of all statistics together, whether the data are like simulated data.
UNLIKE_LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Refitting:
    """What an estimator recovers when the truth is its own fit.

    Parameters
    ----------
    label : str
        Of the estimator and model fitted again.
    truth : str
        Of the fit that was simulated from.
    replications : Replications
        One row a data set: `recovery.METRICS`, `recovery.STATISTICS`, and whether the fit converged (``believed``).
    observed : mapping
        `recovery.STATISTICS` of the data.
    level : float
        Of the intervals over replications.
    notes : tuple of str
    """

    label: str
    truth: str
    replications: Replications
    observed: Mapping[str, float]
    level: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        done = f"{len(self.replications.rows)} of {self.replications.n_wanted} data sets"
        return f"<Refitting of {self.label} to {done} of {self.truth}; see recovery(), likeness(), notes>"

    @property
    def n_believed(self) -> int:
        """Replications whose fit converged; the others are in no figure."""
        return sum(bool(row["believed"]) for row in self.replications.rows)

    @property
    def failure_rate(self) -> float:
        """Share of attempted fits that gave no result or did not converge."""
        tried = len(self.replications.rows) + len(self.replications.failures)
        return 1 - self.n_believed / tried if tried else float("nan")

    def recovery(self) -> pd.DataFrame:
        """Return one row a metric: mean, limits and number of replications that have it."""
        import pandas as pd

        rows = {}
        for name in METRICS:
            mean, low, high = self.mean_and_limits(name)
            rows[name] = {"mean": mean, "low": low, "high": high, "n": self.values(name).size}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")

    def likeness(self) -> pd.DataFrame:
        """Return one row a statistic of the data: observed, mean and limits of the simulated ones, two-sided share.

        The share is twice the smaller one of simulated values on either side of the observed, ties by half, at most 1:
        small where the model does not make data like these.
        """
        import pandas as pd

        rows = {}
        for name in STATISTICS:
            values, seen = self.values(name), self.observed[name]
            if not values.size or not np.isfinite(seen):
                rows[name] = {"observed": seen, "simulated": np.nan, "low": np.nan, "high": np.nan, "share": np.nan}
                continue
            below = float(np.mean(values < seen) + np.mean(values == seen) / 2)
            mean, low, high = self.mean_and_limits(name)
            rows[name] = {"observed": seen, "simulated": mean, "low": low, "high": high,
                          "share": min(1.0, 2 * min(below, 1 - below))}  # fmt: skip
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("statistic")

    def unlike(self) -> tuple[str, ...]:
        """Return the statistics in which the data are not like data simulated from the fit.

        Those outside the prediction interval of one more simulated value, mean -+ t SD sqrt(1 + 1/R) with R - 1 degrees
        of freedom, at 5 % divided by the number of statistics: with few refits the share beyond the observed value
        (`likeness`) is too coarse for that.
        """
        out = []
        for name, seen in self.observed.items():
            values = self.values(name)
            if values.size < 3 or not np.isfinite(seen):
                continue
            reach = t.isf(UNLIKE_LEVEL / len(self.observed) / 2, values.size - 1) * np.sqrt(1 + 1 / values.size)
            if abs(seen - values.mean()) > reach * values.std(ddof=1) + 1e-12:
                out.append(name)
        return tuple(out)

    def mean_and_limits(self, name: str) -> tuple[float, float, float]:
        """Return mean and limits of a metric or statistic over replications; NaN where none has it."""
        values, tail = self.values(name), (1 - self.level) / 2
        if not values.size:
            return np.nan, np.nan, np.nan
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(values.mean()), float(low), float(high)

    def values(self, name: str) -> np.ndarray:
        """Return a metric or statistic over the replications whose fit converged and that have it."""
        found = [row[name] for row in self.replications.rows if row["believed"]]
        return np.array([value for value in found if value is not None and np.isfinite(float(value))], dtype=float)


def check_by_refitting(
    responses: Responses,
    fit: FitResult,
    *,
    estimator: str | Estimator | None = None,
    truth: FitResult | None = None,
    replications: int = 100,
    level: float = 0.95,
    n_jobs: int = 1,
    seed: int = 0,
    store: RowStore | None = None,
) -> Refitting:
    """Simulate data sets from a fit at the observed cells and counts, fit each one again, and compare with the truth.

    Before ranks are published: if the model were true, would this estimator on data of this shape find them? What is
    not recovered from data that follow the model cannot be trusted in data that may not.

    Parameters
    ----------
    responses : Responses
        The data of the fit.
    fit : FitResult
        Its estimator, settings and model are used again.
    estimator : str or Estimator, optional
        Another one, or settings where those of the fit are not all known.
    truth : FitResult, optional
        The fit to simulate from: by default `fit`; needed where it has no item parameters (simple average, additive).
    replications : int
        Data sets.
    level : float
        Of the intervals over replications.
    n_jobs : int
        Fits at a time.
    seed : int
        Replication r draws from ``default_rng([seed, r])``.
    store : RowStore, optional
        Keeps what is done, so that an interrupted check goes on.

    Returns
    -------
    Refitting
        Also after Ctrl-C, with the replications that were done (``replications.interrupted``).

    Raises
    ------
    DataError
        For a fit or responses that are none.
    NotComparableError
        If there is nothing to simulate from, or the fit was imported.
    ModelError
        If the estimator does not fit this model.
    SettingsError
        For a setting out of range.
    """
    check_whole(replications=replications, n_jobs=n_jobs)
    check_seed(seed)
    check_level(level)
    _check_given(responses, fit, estimator, truth)
    chosen = make_estimator(estimator) if isinstance(estimator, str) else estimator or estimator_of(fit)
    _, model = prepare(responses, chosen, fit.model, "default", None, True, {})
    simulator = Simulator(truth or fit, responses)

    def task(number: int) -> Row:
        world = simulator.draw(np.random.default_rng([seed, number]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is counted
            found = fit_one(world.responses, chosen, model, allow_free_2pl=True)
        return {"believed": float(found.convergence.believed), **recovered(world, found),
                **data_statistics(world.responses)}  # fmt: skip

    settings = {f.name: getattr(chosen, f.name) for f in dataclasses.fields(chosen)}  # type: ignore[arg-type]
    question = (__version__, responses.sha256, chosen.name, sorted(settings.items()), model, seed, _digest(simulator))
    key = hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    found = replicate(task, replications, key=key, n_jobs=n_jobs, store=store, what=f"refitting {fit.label}")
    label = fit.label if chosen.name == fit.estimator else chosen.name
    return Refitting(label, (truth or fit).label, found, data_statistics(responses), level, _notes(found, simulator))


def _check_given(responses: Responses, fit: FitResult, estimator: object, truth: object) -> None:
    check_responses(responses)
    check_fit(fit)
    if truth is not None and not isinstance(truth, FitResult):
        raise DataError(f"truth is a {type(truth).__name__}.", "Give a FitResult, or None.")
    if estimator is not None and not hasattr(estimator, "name") and not isinstance(estimator, str):
        raise DataError(f"estimator is a {type(estimator).__name__}.", "Give a name, settings such as MML(), or None.")


def _digest(simulator: Simulator) -> str:
    items, latent = simulator.items, simulator.latent
    parts = [np.ascontiguousarray(v).tobytes() for v in (items.discrimination, items.intercept, items.guessing)]
    return hashlib.sha256(b"".join([*parts, repr((latent, items.status)).encode()])).hexdigest()


def _notes(found: Replications, simulator: Simulator) -> tuple[str, ...]:
    notes = []
    sure = int(np.count_nonzero(~simulator.items.estimated))
    if sure:
        notes.append(f"{sure} items that all or none got right stay so in every data set.")
    if found.interrupted:
        notes.append(f"Interrupted: {len(found.rows)} of {found.n_wanted} data sets were fitted.")
    if found.failures:
        notes.append(f"{len(found.failures)} fits gave no result; the first: {found.failures[0]}")
    return tuple(notes)
