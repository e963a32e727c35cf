"""Expected scores: abilities taken back to the benchmark's own scale, the share of its items that are solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.estimators.settings import check_between, check_flag
from psychoeval.irt.expected_score import (
    expected_limits,
    expected_proportion,
    expected_proportion_of_draws,
    expected_slope,
    score_gradients,
)
from psychoeval.irt.parameters import Abilities, ItemParameters, in_place
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.expected_result import ExpectedScores, ExpectedUncertainty
from psychoeval.scoring.item_errors import ability_gradients, carried_variance, check_errors
from psychoeval.scoring.item_sets import ItemSet, Taken, item_set
from psychoeval.scoring.known_items import score
from psychoeval.scoring.matched import histogram, match

FloatArray = NDArray[np.float64]

#: In its standard errors, how far an ability scored anew may be from the fit's own.
_SAME: Final = 0.1
_OF_SCORE: Final = ("EAP", "MAP", "ML", "WLE")


def expected_scores(
    given: FitResult | ItemParameters,
    abilities: Abilities | None = None,
    *,
    responses: Responses | None = None,
    items: Sequence[str] | None = None,
    benchmarks: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    level: float = 0.95,
    item_uncertainty: bool = False,
    latent: LatentDistribution | None = None,
) -> ExpectedScores:
    """Return the share of a set of items that each person is expected to solve, taken or not.

    tau(theta) = sum_j w_j P_j(theta), the test characteristic curve (Lord 1980, eq. 4-5) as a weighted mean. On data
    where persons chose what they took, it is comparable where averages of what they took are not.

    Parameters
    ----------
    given : FitResult or ItemParameters
        Items with a, d, c on the logit scale. A fit with draws of items and abilities gives posterior means, SDs and
        quantiles of the score, in each draw of its own items; else abilities are transformed.
    abilities : Abilities, optional
        From `psychoeval.score` on these items; by default those of the fit.
    responses : Responses, optional
        Adds the average of what each person took, and whether it clearly differs (`ExpectedScores.differs`); and it is
        what `item_uncertainty` needs.
    items : sequence of str, optional
        The set; by default all. Items constant in the data count as 0 or 1; others without parameters are left out,
        with a warning.
    benchmarks : mapping of item id to benchmark, optional
        For a macro-average: the mean over benchmarks of the means over their items.
    weights : mapping, optional
        Of each benchmark, or without `benchmarks` of each item; by default equal.
    level : float
        Of the intervals: the limits of the ability's interval, transformed.
    item_uncertainty : bool
        Whether errors and intervals also hold the items' errors, by the delta method: those of the curves and those of
        the ability, which are of one source and mostly cancel. Intervals are then Wald's on the scale of log(tau /
        (1 - tau)). Draws hold them anyway.
    latent : LatentDistribution, optional
        That the abilities were scored by, for `item_uncertainty`; by default the fit's, or N(0, 1).

    Returns
    -------
    ExpectedScores
        NaN for persons without an ability. Of an infinite one the score is its limit, and it has no error.

    Raises
    ------
    DataError
        If items are unknown, have no parameters or, where asked for, no covariance; or the abilities are not of these
        responses and items.
    NotComparableError
        If there are no items or abilities in logits.
    SettingsError
        If an argument is not what it must be.

    Examples
    --------
    >>> known = ItemParameters.from_difficulty(["q1", "q2", "q3"], 1.0, [-2.0, 0.0, 2.0])
    >>> took = Responses.from_array([[1, 1, float("nan")]], item_ids=["q1", "q2", "q3"])
    >>> found = expected_scores(known, score(took, known), responses=took)
    >>> found.to_frame()[["expected_score", "observed", "expected_on_taken"]].round(2)
       expected_score  observed  expected_on_taken
    0            0.58       1.0               0.77
    """
    check_between(0.0, 1.0, level=level)
    check_flag(item_uncertainty=item_uncertainty)
    known, scored, law = _parts(given, abilities, latent)
    if responses is not None and not isinstance(responses, Responses):
        raise SettingsError(f"responses is a {type(responses).__name__}.", "Give a Responses object.")
    chosen = item_set(known, items, benchmarks, weights)
    notes: list[str] = []
    draws = given.draws if isinstance(given, FitResult) and abilities is None else None
    if draws is not None and {"ability", "intercept"} <= draws.values.keys():
        values = _of_draws(draws, known, chosen, scored, level)
        uncertainty: ExpectedUncertainty = "items estimated"
    elif item_uncertainty:
        values = _carried(scored, known, chosen, responses, law, level, isinstance(given, FitResult))
        uncertainty = "items estimated"
    else:
        values = _transformed(scored, chosen, level)
        uncertainty = "items fixed"
        if scored.uncertainty == "items estimated":
            uncertainty = "items estimated"
            notes.append(
                "Errors of the abilities hold those of the items, errors of the curves are left out: together they "
                "would mostly cancel. Give responses and item_uncertainty=True."
            )
    if not np.isfinite(scored.estimate).all():
        notes.append("Persons without responses have no score; those with an infinite ability no error.")
    estimate, error, low, high = values
    taken = None if responses is None else _taken(responses, scored, chosen)
    return ExpectedScores(
        scored.person_ids, estimate, error, low, high, level=level, uncertainty=uncertainty, method=scored.method,
        status=scored.status, items=chosen.words, item_ids=chosen.item_ids, weights=chosen.weights, taken=taken,
        notes=tuple(notes),
    )  # fmt: skip


def _parts(
    given: FitResult | ItemParameters, abilities: Abilities | None, latent: LatentDistribution | None
) -> tuple[ItemParameters, Abilities, LatentDistribution]:
    """Return items, abilities and their distribution; refuse what has none in logits."""
    if not isinstance(given, (FitResult, ItemParameters)):
        raise SettingsError(f"A {type(given).__name__} was given.", "Give a FitResult or ItemParameters.")
    if abilities is not None and not isinstance(abilities, Abilities):
        raise SettingsError(f"abilities is a {type(abilities).__name__}.", "Give what psychoeval.score returns.")
    label = given.label if isinstance(given, FitResult) else "The items"
    known = given.item_parameters if isinstance(given, FitResult) else given
    if known is None:
        raise NotComparableError(
            f"{label} has no item parameters in logits: nothing says what its persons do on other items.",
            "Fit an item response model (mml, map, ...).",
        )
    scored = given.abilities if isinstance(given, FitResult) and abilities is None else abilities
    if scored is None:
        raise NotComparableError(f"{label} came without abilities.", "Give abilities=score(responses, items).")
    if scored.scale != "logit":
        raise NotComparableError("The abilities are proportions already.", "Give abilities in logits.")
    law = latent or (given.latent_distribution if isinstance(given, FitResult) else None) or LatentDistribution()
    return known, scored, law


_Values = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _transformed(scored: Abilities, chosen: ItemSet, level: float) -> _Values:
    """Return scores, delta-method errors and transformed limits, with the items held fixed."""
    w, theta = chosen.weights, scored.estimate
    error = np.full(theta.shape, np.nan) if scored.standard_error is None else scored.standard_error
    finite = np.isfinite(theta)
    low, high = (np.where(finite, limit, np.nan) for limit in scored.interval(level))
    slope = np.abs(expected_slope(theta, chosen.items, w))
    with np.errstate(invalid="ignore"):
        delta = np.where(finite, slope * error, np.nan)
    return expected_proportion(theta, chosen.items, w), delta, *expected_limits(low, high, chosen.items, w)


def _carried(
    scored: Abilities,
    known: ItemParameters,
    chosen: ItemSet,
    responses: Responses | None,
    law: LatentDistribution,
    level: float,
    of_fit: bool,
) -> _Values:
    """Return scores with errors that hold those of the items: tau' SE and the items' part, g' V g, as variances."""
    if responses is None:
        raise SettingsError("item_uncertainty=True needs the responses.", "Give responses=.")
    if scored.method not in _OF_SCORE or scored.standard_error is None:
        raise DataError(
            f"The abilities were scored by {scored.method!r}: what they owe to the items' errors is not known.",
            "Give abilities=score(responses, items), or item_uncertainty=False.",
        )
    fixed = score(responses, known, method=scored.method, latent=law)
    _check_same(fixed, scored, of_fit)
    found = match(responses, known, stacklevel=4)
    index = np.union1d(found.index, chosen.index)
    constant = np.isin(index, chosen.index[np.isinf(chosen.items.d)])
    check_errors(known, index[~constant])
    union = KnownItems(
        *(np.where(constant, 0.0, v[index]) for v in (known.discrimination, known.intercept, known.guessing))
    )
    w = np.zeros(index.size)
    w[np.searchsorted(index, chosen.index)] = chosen.weights
    free = ~constant
    used = KnownItems(union.a[free], union.d[free], union.c[free])
    theta, places = fixed.estimate, np.searchsorted(index[free], found.index)
    through = ability_gradients(found, theta, scored.method, law, histogram(law))
    gradients = score_gradients(theta, used, w[free], through, places)
    added = carried_variance(theta.size, gradients, known, index[free])
    estimate, error, _, _ = _transformed(fixed, chosen, level)
    error = np.sqrt(error**2 + added)
    return estimate, error, *_logit_interval(estimate, error, level)


def _check_same(anew: Abilities, scored: Abilities, of_fit: bool) -> None:
    """Refuse abilities that are not those of the responses on these items."""
    assert anew.standard_error is not None
    same = anew.person_ids == scored.person_ids
    if same:
        apart = np.abs(anew.estimate - scored.estimate)
        same = not np.any(np.isfinite(apart) & (apart > _SAME * anew.standard_error))
    if not same:
        raise DataError(
            f"The abilities of the {'fit' if of_fit else 'persons'} are not those of these responses on these items.",
            "Give the same responses, latent= as they were scored, or abilities=score(responses, items).",
        )


def _logit_interval(estimate: FloatArray, error: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits of log(tau / (1 - tau)) -+ z SE / (tau (1 - tau)), taken back: inside (0, 1)."""
    z = float(ndtri(0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds, factor = estimate / (1.0 - estimate), np.exp(z * error / (estimate * (1.0 - estimate)))
        return odds / (odds + factor), odds * factor / (1.0 + odds * factor)


def _of_draws(draws: Draws, known: ItemParameters, chosen: ItemSet, scored: Abilities, level: float) -> _Values:
    """Return posterior means, SDs and quantiles of the score, each draw with its own items and abilities."""
    d = draws.pooled("intercept")
    place = {name: j for j, name in enumerate(draws.item_ids)}
    at = np.array([place.get(name, -1) for name in chosen.item_ids], dtype=np.intp)
    sampled = at >= 0
    shape = (len(d), at.size)

    def of(name: str, point: FloatArray) -> FloatArray:
        # What was not sampled is fixed, or an item that was constant in the data.
        out = np.broadcast_to(point, shape).copy()
        if name in draws.values:
            out[:, sampled] = draws.pooled(name)[:, at[sampled]]
        return out

    a, intercept, c = of("discrimination", chosen.items.a), of("intercept", chosen.items.d), of(
        "guessing", chosen.items.c
    )  # fmt: skip
    tau = expected_proportion_of_draws(draws.pooled("ability"), a, intercept, c, chosen.weights)
    person = {name: i for i, name in enumerate(scored.person_ids)}
    places = np.array([person[name] for name in draws.person_ids], dtype=np.intp)
    low, high = np.quantile(tau, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    n = len(scored.person_ids)
    mean, spread = tau.mean(axis=0), tau.std(axis=0, ddof=1)
    return in_place(mean, places, n), in_place(spread, places, n), in_place(low, places, n), in_place(high, places, n)


def _taken(responses: Responses, scored: Abilities, chosen: ItemSet) -> Taken:
    """Return averages over the items taken, in the order of the abilities."""
    place = {name: i for i, name in enumerate(responses.person_ids)}
    if place.keys() != set(scored.person_ids):
        raise DataError(
            "The persons of the responses are not those of the abilities.", "Give the responses that were scored."
        )
    if responses.person_ids != scored.person_ids:
        responses = responses.select(persons=np.array([place[name] for name in scored.person_ids], dtype=np.intp))
    return chosen.taken(responses, scored.estimate)
