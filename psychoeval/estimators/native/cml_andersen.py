"""Andersen's likelihood-ratio test: whether the Rasch difficulties are the same for two groups of persons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr

from psychoeval.errors import DataError, SettingsError
from psychoeval.estimators.native.cml_checks import require_estimable, require_feasible
from psychoeval.estimators.native.cml_search import Optimum, intercept_covariance, maximize
from psychoeval.estimators.native.cml_steps import Units, make_units
from psychoeval.irt.paired import holm
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-6
MAX_ITERATIONS = 100


Split = Literal["mean", "median"]


@dataclass(frozen=True, slots=True, eq=False)
class AndersenTest:
    """Result of `andersen_test`.

    Parameters
    ----------
    statistic : float
        2 (log-likelihoods of the groups apart - log-likelihood of all), chi-squared if the Rasch model holds.
    degrees_of_freedom : int
        Tested items - 1.
    p_value : float
    items_left_out : tuple of str
        Constant in a group, so without an estimate there; not tested.
    items : tuple of str, length J
        The tested ones.
    difficulty, standard_error : (2, J) arrays
        In each group, summing to 0 over the tested items, in logits.
    z, p, p_adjusted : (J,) arrays
        Wald test of each item: second less first difficulty over the root of the sum of squared errors, its two-sided
        normal probability, and that adjusted for the number of items (Holm). eRm's `Waldtest` gives the same z.
    n_persons : tuple of int
        In each group.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    items_left_out: tuple[str, ...]
    items: tuple[str, ...]
    difficulty: FloatArray
    standard_error: FloatArray
    z: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    n_persons: tuple[int, int]

    def __repr__(self) -> str:
        return (f"<AndersenTest chi-squared {self.statistic:.2f}, {self.degrees_of_freedom} df, p {self.p_value:.3g}; "
                "see to_frame()>")  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item, those left out last, with the reason as status."""
        import pandas as pd

        (first, second), (error, other) = self.difficulty, self.standard_error
        columns = {"difficulty_first": first, "se_first": error, "difficulty_second": second, "se_second": other,
                   "z": self.z, "p": self.p, "p_adjusted": self.p_adjusted}  # fmt: skip
        table = pd.DataFrame(columns, index=pd.Index(self.items, name="item")).assign(status="tested")
        ids = [*self.items, *self.items_left_out]
        return table.reindex(ids).fillna({"status": "constant in a group"})


def andersen_test(responses: Responses, first_group: ArrayLike | None = None, *, split: Split = "mean") -> AndersenTest:
    """Test the Rasch model by conditional likelihoods of two groups of persons, and each item by a Wald test.

    Under the Rasch model difficulties are the same in any group. Unequal slopes or guessing make them differ between
    low and high scorers. The distribution of abilities plays no part; with few persons in a group the chi-squared
    distribution is rough.

    Parameters
    ----------
    responses : Responses
    first_group : (N,) array-like of bool, optional
        Who is in the first group. By default those whose raw score is at most the `split` of all; for complete data
        only, since raw scores on different items do not compare.
    split : {"mean", "median"}
        Of the raw scores; eRm's default is the median.

    Raises
    ------
    DataError
        If a group is empty, data have missing cells and no group is given, or a group alone cannot be estimated (the
        items are named).
    SettingsError
        If the split is unknown.

    Notes
    -----
    Sources: Andersen (1973), Psychometrika 38, 123-140, doi:10.1007/BF02291180; Wald test: Fischer & Scheiblechner
    (1970), Psychol. Beitr. 12, 23-51.

    Examples
    --------
    >>> from psychoeval import load_dataset
    >>> andersen_test(load_dataset("lsat7"))
    <AndersenTest chi-squared 10.83, 4 df, p 0.0285; see to_frame()>
    """
    if split not in get_args(Split):
        raise SettingsError(f"split is {split!r}.", f"Give one of {', '.join(map(repr, get_args(Split)))}.")
    first = _score_split(responses, split) if first_group is None else np.asarray(first_group, dtype=bool)
    if first.shape != (responses.n_persons,) or first.all() or not first.any():
        raise DataError(
            f"The groups have {int(first.sum())} of {responses.n_persons} {responses.person_label}s, given as an array "
            f"of shape {first.shape}.",
            f"Give one value for each {responses.person_label}, and at least one of them in each group.",
        )
    groups = [responses.select(persons=part) for part in (first, ~first)]
    tested = np.all([[status == "estimated" for status in item_status(group)] for group in groups], axis=0)
    if tested.sum() < 2:
        raise DataError(
            f"Only {int(tested.sum())} of {responses.n_items} items were answered both rightly and wrongly in each of "
            "the groups.",
            "Choose groups nearer to each other.",
        )
    apart = [_estimated(group.select(items=tested)) for group in groups]
    both, _ = _estimated(responses.select(items=tested))
    statistic = 2 * (sum(optimum.at.log_likelihood for optimum, _ in apart) - both.at.log_likelihood)
    freedom = int(tested.sum()) - 1
    difficulty = np.stack([-optimum.intercept for optimum, _ in apart])
    error = np.stack([np.sqrt(np.diag(intercept_covariance(units, optimum)[0])) for optimum, units in apart])
    z = (difficulty[1] - difficulty[0]) / np.sqrt((error**2).sum(axis=0))
    p = np.asarray(2 * ndtr(-np.abs(z)))
    ids = np.array(responses.item_ids, dtype=object)
    return AndersenTest(
        statistic, freedom, float(chdtrc(freedom, max(statistic, 0.0))), tuple(ids[~tested]), tuple(ids[tested]),
        difficulty, error, z, p, holm(p), (int(first.sum()), int((~first).sum())),
    )  # fmt: skip


def _score_split(responses: Responses, split: Split) -> NDArray[np.bool_]:
    if not responses.is_complete:
        raise DataError(
            "Cells are missing, and raw scores on different items do not compare.",
            "Give first_group, a grouping by something else than the score.",
        )
    scores = responses.successes.sum(axis=1, dtype=np.int64)
    return np.asarray(scores <= (scores.mean() if split == "mean" else np.median(scores)))


def _estimated(responses: Responses) -> tuple[Optimum, Units]:
    seen = np.asarray(responses.trials.any(axis=1))
    part = responses if seen.all() else responses.select(persons=seen)
    require_estimable(part)
    units = make_units(part.successes, part.trials)
    require_feasible(len(units.totals), part.n_items, part.person_label)
    return maximize(units, tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS), units
