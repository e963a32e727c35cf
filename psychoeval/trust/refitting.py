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
from psychoeval.errors import ConvergenceWarning, DataError, PsychoevalError
from psychoeval.estimators.base import Estimator
from psychoeval.estimators.settings import check_seed, check_whole
from psychoeval.fitting import estimator_of
from psychoeval.fitting import fit as fit_one
from psychoeval.fitting.one import prepare
from psychoeval.registry import make_estimator
from psychoeval.responses.cells import counted
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.studies.runner import Replications, replicate
from psychoeval.studies.store import Row, RowStore
from psychoeval.trust.recovery import METRICS, STATISTICS, data_statistics, recovered
from psychoeval.trust.thresholds import UNLIKE
from psychoeval.trust.worlds import Simulator

if TYPE_CHECKING:
    import pandas as pd

#: Data sets drawn from each refit: their mean has half the SD of one, and drawing takes little beside fitting.
AGAIN: Final = 4
EXCESS: Final = "excess_"
#: A difference so small is none, where simulated values do not vary.
ROUNDING: Final = 1e-12


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
        One row a data set: `recovery.METRICS`, `recovery.STATISTICS`, whether the fit converged (``believed``), and
        ``excess_...`` of each statistic: the mean of `AGAIN` data sets drawn from the refit, less that of the data set.
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
        """Return one row a statistic: what the data have, what the fitted model lets expect, limits and p.

        Data drawn from a fit are not quite like data that the fit was made of, even where the model is true: errors of
        the items add to their spread, and those that nobody solved stay so. How much that is, each refit shows, where
        the data are known to be the model's: E_r is the mean of the statistic in data drawn from refit r, less that of
        the data set it was fitted to. So ``expected`` is the mean of the statistic over the data sets drawn from the
        fit, less that of E; the limits are those of one more value, expected -+ t SD(E) sqrt(1 + 1/R) with R - 1
        degrees of freedom, and p is the two-sided one of the observed. This is the double bootstrap (Davison & Hinkley
        1997, Bootstrap Methods and their Application, section 4.5) with few draws at its second level.

        NaN where fewer than three refits have it, or where another estimator than that of the fit was checked.
        """
        import pandas as pd

        rows = {name: self._likeness_of(name, seen) for name, seen in self.observed.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("statistic")

    def _likeness_of(self, name: str, seen: float) -> dict[str, float]:
        out = {"observed": seen, "expected": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}
        drawn, excess = self.values(name), self.values(EXCESS + name)
        if excess.size < 3 or not np.isfinite(seen):
            return out
        expected, freedom = float(drawn.mean() - excess.mean()), excess.size - 1
        error = max(float(excess.std(ddof=1)) * np.sqrt(1 + 1 / excess.size), ROUNDING * max(1.0, abs(expected)))
        reach = float(t.isf((1 - self.level) / 2, freedom)) * error
        p = 2 * float(t.sf(abs(seen - expected) / error, freedom))
        return out | {"expected": expected, "low": expected - reach, "high": expected + reach, "p": p}

    def unlike(self) -> tuple[str, ...]:
        """Return the statistics with a p of `likeness` below 5 % divided by their number (Bonferroni)."""
        p = self.likeness()["p"]
        return tuple(str(name) for name in p.index[p < UNLIKE.value / p.size])

    def mean_and_limits(self, name: str) -> tuple[float, float, float]:
        """Return mean and limits of a metric or statistic over replications; NaN where none has it."""
        values, tail = self.values(name), (1 - self.level) / 2
        if not values.size:
            return np.nan, np.nan, np.nan
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(values.mean()), float(low), float(high)

    def values(self, name: str) -> np.ndarray:
        """Return a metric or statistic over the replications whose fit converged and that have it."""
        found = [row.get(name) for row in self.replications.rows if row["believed"]]
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
    same = truth is None and estimator is None

    def task(number: int) -> Row:
        generator = np.random.default_rng([seed, number])
        world = simulator.draw(generator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is counted
            found = fit_one(world.responses, chosen, model, allow_free_2pl=True)
        made = data_statistics(world.responses)
        again = _excess(found, world.responses, made, generator) if same else {}
        return {"believed": float(found.convergence.believed), **recovered(world, found), **made, **again}

    settings = {f.name: getattr(chosen, f.name) for f in dataclasses.fields(chosen)}  # type: ignore[arg-type]
    what = (METRICS, STATISTICS, AGAIN if same else 0)
    question = (__version__, what, responses.sha256, chosen.name, sorted(settings.items()), model, seed,
                _digest(simulator))  # fmt: skip
    key = hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    found = replicate(task, replications, key=key, n_jobs=n_jobs, store=store, what=f"refitting {fit.label}")
    label = fit.label if chosen.name == fit.estimator else chosen.name
    return Refitting(label, (truth or fit).label, found, data_statistics(responses), level, _notes(found, simulator))


def _excess(
    fit: FitResult, responses: Responses, made: Mapping[str, float], generator: np.random.Generator
) -> dict[str, float]:
    """Return by how much statistics of data drawn from a fit exceed those of its own data; nothing if none can be."""
    try:
        simulator = Simulator(fit, responses)
        drawn = [data_statistics(simulator.draw(generator).responses) for _ in range(AGAIN)]
    except PsychoevalError:  # a refit that does not estimate all items draws no data
        return {}
    return {EXCESS + name: float(np.mean([d[name] for d in drawn])) - value for name, value in made.items()}


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
        stay = "stays" if sure == 1 else "stay"
        notes.append(f"{counted(sure, 'item')} that all or none got right {stay} so in every data set.")
    if found.interrupted:
        notes.append(f"Interrupted: {len(found.rows)} of {found.n_wanted} data sets were fitted.")
    if found.failures:
        notes.append(f"{counted(len(found.failures), 'fit')} gave no result; the first: {found.failures[0]}")
    return tuple(notes)
