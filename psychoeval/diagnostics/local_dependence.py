"""Which pairs of items go together beyond the ability: Q3 and LD-X2 of all pairs, the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, false_discovery_control

from psychoeval.audit.settings import check_level, check_whole
from psychoeval.diagnostics.fitted import Fitted, fitted_pairs
from psychoeval.diagnostics.pair_residuals import MIN_SHARED, PairwiseQ3, largest_q3, pairwise_q3, pairwise_x2
from psychoeval.diagnostics.residual_bootstrap import simulated_statistics
from psychoeval.errors import DataError
from psychoeval.irt.classical import FloatArray
from psychoeval.irt.limited_information import pairs
from psychoeval.irt.local_dependence import PairChiSquares
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

PairStatus = Literal["tested", "few_shared", "constant"]

#: Above the mean Q3, where no critical value is simulated (Christensen, Makransky & Horton, 2017).
RULE_OF_THUMB: Final = 0.2
#: Persons from whom on that is three standard errors; of fewer, independent items reach it by chance.
RULE_FROM_PERSONS: Final = 200
#: Expected counts below which X2 is not chi-squared (Cochran's rule).
SMALL_EXPECTED: Final = 5.0
#: Some twenty matrices of items x items are alive: 1.5 GB.
MOST_ITEMS: Final = 3_000
#: Replications below which a critical value is hardly one.
FEW_REPLICATIONS: Final = 100


@dataclass(frozen=True, slots=True, eq=False)
class LocalDependence:
    """What P pairs of items share beyond the ability, the worst pair first; NaN as `status` and `notes` say.

    Parameters
    ----------
    label : str
        Of the fit.
    item_ids : tuple of str, length J
        Items with parameters.
    left_out : tuple of str
        Items without.
    first, second : (P,) integer arrays
        Places of a pair among `item_ids`.
    status : tuple of str, length P
        ``tested``; ``few_shared``, fewer than 30 persons saw both; ``constant``, all who saw both answered one of them
        alike.
    n : (P,) integer array
        Persons who saw both.
    q3, q3_adjusted : (P,) arrays
        Correlation of residuals, and less the mean over the tested pairs.
    q3_z : (P,) array
        q3_adjusted sqrt(n - 1), by whose size pairs are ordered; about N(0, 1) for independent items.
    x2, p, p_adjusted : (P,) arrays
        LD-X2, its chi-squared probability with 1 degree of freedom, and that with the false discovery rate controlled
        over the tested pairs (Benjamini-Hochberg).
    signed_v : (P,) array
        Standardised LD-X2, sqrt(x2 / n), positive where the pair is associated more than the model expects.
    smallest_expected : (P,) array
        Of the four expected counts.
    q3_mean, q3_largest : float
        Mean of q3, and the largest q3_adjusted.
    q3_critical : float
        What the largest q3_adjusted exceeds with probability 1 - `level` if the model holds; NaN without replications.
    p_largest : float
        Chance of a largest q3_adjusted as large as that of the data if the model holds, (1 + exceeding) / (1 + R).
    q3_simulated : (R,) array
        The largest q3_adjusted of each replication.
    level : float
    notes : tuple of str
    """

    label: str
    item_ids: tuple[str, ...]
    left_out: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    status: tuple[PairStatus, ...]
    n: NDArray[np.intp]
    q3: FloatArray
    q3_adjusted: FloatArray
    q3_z: FloatArray
    x2: FloatArray
    signed_v: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    smallest_expected: FloatArray
    q3_mean: float
    q3_largest: float
    q3_critical: float
    p_largest: float
    q3_simulated: FloatArray
    level: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        pairs = f"{len(self.first)} pairs of {len(self.item_ids)} items"
        return f"<LocalDependence of {pairs}, {self.label}; see signals(), to_frame(), notes>"

    def signals(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs that go together beyond chance, the worst first.

        With replications, those whose q3_adjusted exceeds `q3_critical`. Without, by a rule of thumb, those above .2
        that 200 or more persons saw: where fewer did, nothing is told.
        """
        if np.isnan(self.q3_critical):
            chosen = np.flatnonzero((self.q3_adjusted > RULE_OF_THUMB) & (self.n >= RULE_FROM_PERSONS))
        else:
            chosen = np.flatnonzero(self.q3_adjusted > self.q3_critical)
        return tuple((self.item_ids[self.first[k]], self.item_ids[self.second[k]]) for k in chosen)

    def to_frame(self, worst: int | None = None) -> pd.DataFrame:
        """Return one row a pair, the worst first; the first `worst` of them if given."""
        import pandas as pd

        ids, part = np.array(self.item_ids, dtype=object), slice(worst)
        names = ("n", "q3", "q3_adjusted", "q3_z", "x2", "signed_v", "p", "p_adjusted", "smallest_expected")
        columns = {"first": ids[self.first[part]], "second": ids[self.second[part]], "status": self.status[part]}
        return pd.DataFrame(columns | {name: getattr(self, name)[part] for name in names})


def local_dependence(
    fit: FitResult, responses: Responses, *, replications: int = 0, seed: int = 0, level: float = 0.95
) -> LocalDependence:
    """Look at every pair of items for what the two share beyond the ability.

    Q3 correlates residuals at the fit's ability estimates; LD-X2 compares two-way tables with those that the model
    expects over the distribution of the abilities. Items that share a passage, a template or a key go together more
    than the model says, and then the responses tell less of the persons than standard errors say. A pair rests on the
    persons who saw both items, whose number is stated.

    LD-X2 takes the parameters of the items as known. As they were fitted to the same pairs, its p is too large where
    slopes are free and items few: of 500 persons and 10 independent items 4.5 % of the pairs have p < .05 under the
    Rasch model, 1.1 % under the 2PL. Replications have no such error: they fit every data set again.

    Parameters
    ----------
    fit : FitResult
        With item parameters and abilities in logits.
    responses : Responses
        Those of the fit.
    replications : int
        Data sets drawn from the fit and fitted again, for the critical value of the largest adjusted Q3 (parametric
        bootstrap; 100 or more to be of use).
    seed : int
        Of these.
    level : float
        Of the critical value.

    Raises
    ------
    NotComparableError
        If the fit has no item parameters, no abilities in logits, or belongs to other responses; with replications,
        if it cannot be run again or has no distribution of the abilities.
    DataError
        If there are more than 3,000 items.
    SettingsError
        If a setting is none.
    """
    check_level(level)
    check_whole("replications", replications, 0)
    check_whole("seed", seed, 0)
    found = fitted_pairs(fit, responses)
    j = found.responses.n_items
    if j > MOST_ITEMS:
        raise DataError(
            f"{j} items have {j * (j - 1) // 2} pairs.", f"Fit a choice of up to {MOST_ITEMS} (responses.select)."
        )
    q3 = pairwise_q3(fit, found)
    squares = pairwise_x2(found, q3.counts)
    simulated, notes = np.empty(0), _notes(found, q3, squares)
    few = int(np.count_nonzero(q3.tested & (q3.counts.seen < RULE_FROM_PERSONS))) // 2
    if few and not replications:
        notes += (f"{few} tested pairs rest on fewer than {RULE_FROM_PERSONS} {responses.person_label}s, for which no "
                  "rule of thumb tells dependence from chance: ask for replications.",)  # fmt: skip
    if replications:
        simulated, more = simulated_statistics(fit, found, replications, seed, largest_q3)
        notes += more
        if simulated.size < FEW_REPLICATIONS:
            notes += (f"{simulated.size} replications are few for a critical value.",)
    return _result(fit.label, found, q3, squares, simulated, level, notes)


def _result(
    label: str, found: Fitted, q3: PairwiseQ3, squares: PairChiSquares | None, simulated: FloatArray, level: float,
    notes: tuple[str, ...],
) -> LocalDependence:  # fmt: skip
    at = pairs(found.responses.n_items)
    tested, above, used = q3.tested[at], q3.above[at], q3.used[at]
    z = above * np.sqrt(np.maximum(used - 1.0, 0.0))
    none = np.full(tested.size, np.nan)
    x2, signed, expected = (none, none, none) if squares is None else (np.where(tested, m[at], np.nan) for m in squares)
    p = np.asarray(chi2.sf(x2, 1))
    fair = none.copy()
    if np.isfinite(p).any():
        fair[np.isfinite(p)] = false_discovery_control(p[np.isfinite(p)])
    kinds: tuple[PairStatus, ...] = ("tested", "few_shared", "constant")
    kind = np.where(tested, 0, np.where(used < MIN_SHARED, 1, 2))
    order = np.argsort(-np.abs(z), kind="stable")  # NaN last
    largest = float(above[tested].max()) if tested.any() else float("nan")
    critical = p_largest = float("nan")
    if simulated.size and tested.any():
        critical = float(np.quantile(simulated, level))
        p_largest = float((1 + np.count_nonzero(simulated >= largest)) / (1 + simulated.size))
    return LocalDependence(
        label, found.responses.item_ids, found.left_out, at[0][order], at[1][order],
        tuple(kinds[k] for k in kind[order].tolist()), q3.counts.seen[at][order].astype(np.intp),
        np.where(tested, q3.q3[at], np.nan)[order], above[order], z[order], x2[order], signed[order], p[order],
        fair[order], expected[order], q3.mean, largest, critical, p_largest,
        simulated, level, notes,
    )  # fmt: skip


def _notes(found: Fitted, q3: PairwiseQ3, squares: PairChiSquares | None) -> tuple[str, ...]:
    notes = [f"Residuals at {q3.method} abilities; a pair rests on the persons who saw both items."]
    persons = f"{found.responses.person_label}s"
    if found.left_out:
        notes.append(f"Without {len(found.left_out)} items that have no parameters: {some(found.left_out)}.")
    lost = int(np.count_nonzero(~np.isfinite(q3.theta) & found.responses.trials.any(axis=1)))
    if lost:
        notes.append(f"{lost} {persons} without a finite ability are no part of Q3.")
    n_pairs = q3.tested.shape[0] * (q3.tested.shape[0] - 1) // 2
    untested = n_pairs - int(np.count_nonzero(q3.tested)) // 2
    if untested:
        notes.append(
            f"{untested} of {n_pairs} pairs are not tested: fewer than {MIN_SHARED} {persons} saw both, or all of "
            "these answered one item alike."
        )
    if not found.responses.is_binary:
        notes.append("Cells of several trials: no LD-X2, which is for single 0/1 responses.")
    elif squares is None:
        notes.append("The fit has no distribution of the abilities, and so no LD-X2.")
    else:
        small = int(np.count_nonzero(q3.tested & (squares.smallest_expected < SMALL_EXPECTED))) // 2
        if small:
            notes.append(
                f"{small} tested pairs have expected counts below {SMALL_EXPECTED:g}: p of LD-X2 is rough there."
            )
    return tuple(notes)
