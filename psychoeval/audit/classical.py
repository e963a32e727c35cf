"""The classical item table, and the reliability of the whole test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.settings import check_level
from psychoeval.errors import SettingsError
from psychoeval.irt.classical import BoolArray, CountArray, FloatArray, item_rest_correlation, mean_error, row_moments
from psychoeval.irt.intervals import correlation_interval, wilson_interval
from psychoeval.irt.omega import Omega, omega_one_factor
from psychoeval.irt.parameters import in_place
from psychoeval.irt.reliability import (
    Covariances,
    MissingRule,
    Reliability,
    TakenRule,
    alpha_complete,
    alpha_pairwise,
    alpha_without_each,
    covariances_complete,
    covariances_pairwise,
    feldt_interval,
    kr20,
    measurement_error,
    taken_rule,
    why_no_alpha,
)
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

_RULES = ("auto", "listwise", "available")


@dataclass(frozen=True, slots=True)
class WholeTest:
    """Reliability of the mean score over all items that anybody saw; NaN where `ItemAnalysis.notes` say why.

    Parameters
    ----------
    alpha, alpha_low, alpha_high : float
        With Feldt's interval, where the persons are complete.
    kr20, kr20_low, kr20_high : float
        The same number and interval by Kuder and Richardson's formula; for single trials only.
    omega : float
        Of one factor, from complete persons.
    error_of_measurement : float
        Of a person's mean score over all items, items kept: sqrt((mean variance - mean covariance) / items).
    mean_covariance : float
        Of two items.
    n_persons, n_items : int
        Behind alpha.
    rule : {"listwise", "available"}
    """

    alpha: float
    alpha_low: float
    alpha_high: float
    kr20: float
    kr20_low: float
    kr20_high: float
    omega: float
    error_of_measurement: float
    mean_covariance: float
    n_persons: int
    n_items: int
    rule: TakenRule


@dataclass(frozen=True, slots=True, eq=False)
class ItemAnalysis:
    """Classical statistics of J items, all in place; NaN where `status` or `notes` say why.

    Parameters
    ----------
    item_ids, status : tuple of str, length J
    n_persons : (J,) array
        Who saw the item.
    proportion_correct, proportion_error, proportion_low, proportion_high : (J,) arrays
        Mean over persons of successes over trials; Wilson's interval.
    item_rest_correlation, correlation_error, correlation_low, correlation_high : (J,) arrays
        With the score on the other items a person saw, less those items' means; interval on Fisher's scale.
    n_correlation : (J,) array
        Persons behind the correlation: they saw the item and another.
    alpha_without : (J,) array
        Alpha of the test without the item.
    test : WholeTest
    level : float
    notes : tuple of str
    """

    item_ids: tuple[str, ...]
    status: tuple[str, ...]
    n_persons: NDArray[np.intp]
    proportion_correct: FloatArray
    proportion_error: FloatArray
    proportion_low: FloatArray
    proportion_high: FloatArray
    item_rest_correlation: FloatArray
    correlation_error: FloatArray
    correlation_low: FloatArray
    correlation_high: FloatArray
    n_correlation: NDArray[np.intp]
    alpha_without: FloatArray
    test: WholeTest
    level: float
    notes: tuple[str, ...]

    @property
    def not_positive(self) -> BoolArray:
        """Items whose rest correlation is 0 or below, (J,)."""
        return np.asarray(self.item_rest_correlation <= 0)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item."""
        import pandas as pd

        columns = (
            "status", "n_persons", "proportion_correct", "proportion_error", "proportion_low", "proportion_high",
            "item_rest_correlation", "correlation_error", "correlation_low", "correlation_high", "n_correlation",
            "not_positive", "alpha_without",
        )  # fmt: skip
        return pd.DataFrame({name: getattr(self, name) for name in columns}, index=pd.Index(self.item_ids, name="item"))


def analyze_items(responses: Responses, *, missing: MissingRule = "auto", level: float = 0.95) -> ItemAnalysis:
    """Compute the classical item table and the reliability of the whole test.

    Scores are successes over trials. Proportions and rest correlations come from everybody who saw the item, each
    person's rest from the other items that person saw (`psychoeval.irt.classical.item_rest_correlation`); the published
    audit flags correlations of 0 and below. Items nobody saw are in no total; constant items are.

    Parameters
    ----------
    responses : Responses
    missing : {"auto", "listwise", "available"}
        For alpha, alpha without each item and the error of measurement where cells are missing. ``"listwise"``: from
        the persons who saw every item, which omega, KR-20 and Feldt's interval need. ``"available"``: from pairwise
        covariances. ``"auto"``: listwise where at least half of the persons are complete.
    level : float
        Of all intervals. Feldt's: 1 - (1 - alpha) F, F with n - 1 and (n - 1)(k - 1) degrees of freedom.

    Raises
    ------
    SettingsError
        For an unknown rule or a level outside (0, 1).
    """
    check_level(level)
    if missing not in _RULES:
        raise SettingsError(f"missing is {missing!r}.", f"Choose one of {', '.join(_RULES)}.")
    moments = row_moments(responses.successes.T, responses.trials.T)
    error, worth = mean_error(moments)
    low, high = wilson_interval(moments.mean, worth, level)
    r, r_error, n_r = item_rest_correlation(responses.successes, responses.trials)
    r_low, r_high = correlation_interval(r, r_error, level)
    test, without, notes = _whole_test(responses, missing, level)
    return ItemAnalysis(
        responses.item_ids,
        item_status(responses),
        moments.n.astype(np.intp),
        moments.mean,
        error,
        low,
        high,
        r,
        r_error,
        r_low,
        r_high,
        n_r,
        without,
        test,
        level,
        (*_item_notes(responses, r), *notes),
    )


def _whole_test(
    responses: Responses, missing: MissingRule, level: float
) -> tuple[WholeTest, FloatArray, tuple[str, ...]]:
    used = np.asarray(responses.trials.any(axis=0))
    successes, trials = responses.successes[:, used], responses.trials[:, used]
    whole = trials.all(axis=1) & used.any()
    n_persons = int(np.count_nonzero(trials.any(axis=1)))
    rule = taken_rule(missing, int(whole.sum()), n_persons)
    if rule == "listwise":
        successes, trials = (successes, trials) if whole.all() else (successes[whole], trials[whole])
    reliability, covariances = _reliability(successes, trials, rule)
    omega = _omega(successes, trials, rule, int(whole.sum()))
    binary = rule == "listwise" and int(trials.max(initial=0)) == 1
    kuder = kr20(successes) if binary else float("nan")
    n, k = reliability.n, reliability.k
    nothing = (float("nan"), float("nan"))
    test = WholeTest(
        reliability.alpha,
        *(feldt_interval(reliability.alpha, n, k, level) if rule == "listwise" else nothing),
        kuder,
        *feldt_interval(kuder, n, k, level),
        omega.value,
        float(measurement_error(reliability, np.array([float(k)]))[0]),
        reliability.mean_covariance,
        n,
        k,
        rule,
    )
    without = np.full(used.size, np.nan)
    if covariances is not None:
        without = in_place(alpha_without_each(covariances), used, used.size)
    seen = f"{int(whole.sum())} of {n_persons} {responses.person_label}s saw every item that anybody saw"
    return test, without, _test_notes(test, reliability, omega, seen, responses)


def _reliability(successes: CountArray, trials: CountArray, rule: TakenRule) -> tuple[Reliability, Covariances | None]:
    if rule == "listwise":
        return alpha_complete(successes, trials), covariances_complete(successes, trials)
    return alpha_pairwise(successes, trials), covariances_pairwise(successes, trials)


def _omega(successes: CountArray, trials: CountArray, rule: TakenRule, n_complete: int) -> Omega:
    if rule == "listwise":
        return omega_one_factor(successes, trials)
    reason = f"it needs complete persons, and {n_complete} saw every item (missing='listwise' takes them)"
    return Omega(float("nan"), n_complete, trials.shape[1], np.empty(0), reason)


def _item_notes(responses: Responses, r: FloatArray) -> tuple[str, ...]:
    notes = ["Proportions and rest correlations: from everybody who saw the item."]
    if not responses.is_complete:
        notes.append(
            "Cells are missing: a rest score is the mean over the other items seen of score less item mean, so that "
            "seeing easy items does not make a strong rest."
        )
    if not responses.is_binary:
        notes.append("Scores are successes over trials: trials of one cell count once, as a finer score.")
    seen = np.asarray(responses.trials.any(axis=0))
    constant = [responses.item_ids[j] for j in np.flatnonzero(seen & np.isnan(r))]
    if constant:
        notes.append(
            f"No rest correlation where scores, or the rest, do not vary: {len(constant)} items ({some(constant)})."
        )
    return tuple(notes)


def _test_notes(
    test: WholeTest, reliability: Reliability, omega: Omega, seen: str, responses: Responses
) -> tuple[str, ...]:
    if test.rule == "listwise":
        notes = [f"Alpha, KR-20, omega, error of measurement: {seen}; Feldt intervals."]
    else:
        notes = [f"Alpha and error of measurement: pairwise covariances ({seen}); no interval, for there is no one n."]
    if np.isnan(test.alpha):
        notes.append(why_no_alpha(reliability, test.rule))
    elif test.alpha < 0:
        notes.append(
            f"Alpha is negative because the items' average covariance is {test.mean_covariance:.4g} < 0: check keys."
        )
    if reliability.pairs_left_out:
        left = reliability.pairs_left_out
        notes.append(f"{left} pairs of items without two persons in common take the mean covariance of the others.")
    if np.isnan(test.kr20) and not responses.is_binary:
        notes.append("KR-20 is for single trials: alpha is its form for several.")
    if omega.reason:
        notes.append(f"Omega is not defined: {omega.reason}.")
    elif (against := int((omega.loadings < 0).sum())) > 0:
        notes.append(f"{against} items load against omega's factor and lower it: check their keys.")
    return tuple(notes)
