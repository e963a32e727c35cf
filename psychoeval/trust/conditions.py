"""The conditions under which results of item response models may be believed, for these data and this fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psychoeval.agreement.matching import check_same_data
from psychoeval.audit.settings import check_level
from psychoeval.errors import NotComparableError
from psychoeval.estimators.settings import check_whole
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust import data_conditions as data
from psychoeval.trust import fit_conditions as fitted
from psychoeval.trust.condition import Condition
from psychoeval.trust.item_coverage import ItemCoverage, item_coverage

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """What holds of the conditions for these data and this fit.

    Parameters
    ----------
    label : str
        Of the fit.
    data_name : str
    conditions : tuple of Condition
    item_coverage : ItemCoverage, optional
        Items near each system, for `psychoeval.plots.item_coverage`; None where the fit has none.
    level : float
        Of the intervals.
    """

    label: str
    data_name: str
    conditions: tuple[Condition, ...]
    item_coverage: ItemCoverage | None
    level: float

    def __getitem__(self, name: str) -> Condition:
        """Return a condition by its name."""
        for found in self.conditions:
            if found.name == name:
                return found
        raise KeyError(name)

    @property
    def not_met(self) -> tuple[str, ...]:
        """Names of the conditions that apply and are not met."""
        return tuple(c.name for c in self.conditions if c.met is False)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a condition.

        Returns
        -------
        DataFrame
            ``value, low, high, rule, threshold, met, words, not_applicable, about, source``: met is missing where the
            condition does not apply, and ``not_applicable`` says why.
        """
        import pandas as pd

        columns = ("value", "low", "high", "rule", "threshold", "met", "words", "not_applicable", "about", "source")
        rows = {c.name: [getattr(c, column) for column in columns] for c in self.conditions}
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(columns)).rename_axis("condition")
        return frame.astype({"met": "boolean"})


def describe_conditions(
    responses: Responses, fit: FitResult, *, level: float = 0.95, replications: int = 2000, seed: int = 0
) -> Conditions:
    """Describe the conditions under which this fit of these data may be believed.

    None is a verdict: what follows for a claim depends on the claim. Thresholds and their sources are in
    `psychoeval.trust.thresholds`; source of the conditions: arXiv:2607.15190 (number of systems, reliability,
    skewness, difficulty coverage) and arXiv:2605.11205 (sparsity and difficulty gap).

    Parameters
    ----------
    responses : Responses
        The data of the fit.
    fit : FitResult
    level : float
        Of the interval of the skewness.
    replications : int
        Bootstrap samples of systems behind it, 100 or more.
    seed : int
        Of the bootstrap and of the permutation tests of missing cells.

    Returns
    -------
    Conditions

    Raises
    ------
    NotComparableError
        If the fit is of other data.
    SettingsError
        For a setting out of range.

    Examples
    --------
    >>> import psychoeval as pe
    >>> lsat = pe.load_dataset("lsat7")
    >>> describe_conditions(lsat, pe.fit(lsat, "mml", "Rasch")).not_met
    ('marginal_reliability', 'empirical_reliability', 'item_coverage')
    """
    check_level(level)
    check_whole(100, replications=replications)
    check_whole(0, seed=seed)
    check_same_data(fit, responses)
    marginal, empirical = fitted.reliabilities(responses, fit)
    coverage, why = _coverage(responses, fit)
    found = (
        *data.systems(responses, seed),
        data.connectivity(responses),
        *data.missing_cells(responses, seed),
        data.room(responses),
        marginal,
        empirical,
        fitted.skew(responses, fit, empirical, level=level, replications=replications, seed=seed),
        fitted.near_items(coverage, why, responses.person_label),
        fitted.convergence(fit),
    )
    return Conditions(fit.label, responses.name, found, coverage, level)


def _coverage(responses: Responses, fit: FitResult) -> tuple[ItemCoverage | None, str]:
    """Return the items near each system, or why there are none."""
    try:
        return item_coverage(responses, fit), ""
    except NotComparableError as error:
        return None, error.problem
