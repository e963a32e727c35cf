"""All parameters that two fits share, each compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.differences import Estimates, TermComparison, compare_term
from psychoeval.agreement.matching import Matched, match
from psychoeval.agreement.relation import ids, is_proportion
from psychoeval.agreement.scores import item_is_usable
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
Scores = Callable[[FitResult, Sequence[str], Sequence[str]], tuple[FloatArray, FloatArray] | None]
Pair = tuple[FitResult, FitResult]
Noise = tuple[Mapping[str, FloatArray], Mapping[str, FloatArray]]

ITEM_TERMS: Final = ("discrimination", "difficulty", "intercept", "guessing")


def matched(fits: Pair) -> tuple[Matched, Matched]:
    """Return the common persons and items of two fits."""
    (persons1, items1), (persons2, items2) = ids(fits[0]), ids(fits[1])
    return match(persons1 or (), persons2 or ()), match(items1 or (), items2 or ())


def parameter_terms(
    given: Pair, aligned: Pair, persons: Matched, items: Matched, noise: Noise = ({}, {})
) -> tuple[TermComparison, ...]:
    """Compare item parameters and abilities of two fits.

    Parameters
    ----------
    given, aligned : (first, second)
        Fits as they came, and on one scale.
    persons, items : Matched
    noise : (first, second)
        Monte Carlo errors of each fit on that scale (`monte_carlo_errors`).

    Returns
    -------
    tuple of TermComparison
        Item terms where both have items, ``guessing`` only where one is not 0; ``ability`` where both are logits.
    """
    out = []
    own, common = [f.item_parameters for f in given], [f.item_parameters for f in aligned]
    if own[0] is not None and own[1] is not None and common[0] is not None and common[1] is not None and items.n:
        at = (items.first, items.second)
        for term in ITEM_TERMS:
            if term == "guessing" and not (np.any(own[0].guessing > 0) or np.any(own[1].guessing > 0)):
                continue
            raw = (_item_term(own[0], term, at[0]), _item_term(own[1], term, at[1]))
            one, two = _item_term(common[0], term, at[0]), _item_term(common[1], term, at[1])
            out.append(compare_term(term, items.ids, raw, _with_noise((one, two), term, noise, items)))
    ability = _ability_term(given, aligned, persons, noise)
    return tuple(out) + ((ability,) if ability is not None else ())


def errors_alike(fits: Pair) -> bool:
    """Whether the standard errors of the persons are about the same uncertainty (items fixed, estimated, sampled)."""
    one, two = fits[0].abilities, fits[1].abilities
    return one is None or two is None or one.uncertainty == two.uncertainty


def _with_noise(
    pair: tuple[Estimates, Estimates], term: str, noise: Noise, common: Matched
) -> tuple[Estimates, Estimates]:
    one, two = (
        replace(e, monte_carlo=known[term][at]) if term in known else e
        for e, known, at in zip(pair, noise, (common.first, common.second), strict=True)
    )
    return one, two


def _ability_term(given: Pair, aligned: Pair, persons: Matched, noise: Noise) -> TermComparison | None:
    abilities = [f.abilities for f in (*given, *aligned)]
    if any(a is None or a.scale != "logit" for a in abilities) or not persons.n:
        return None
    at = (persons.first, persons.second)
    one, two, three, four = (_ability(a, at[k % 2]) for k, a in enumerate(abilities) if a is not None)
    moved = _with_noise((three, four), "ability", noise, persons)
    return compare_term("ability", persons.ids, (one, two), moved, errors_alike=errors_alike(given))


def _item_term(items: ItemParameters, term: str, at: NDArray[np.intp]) -> Estimates:
    value = getattr(items, term)[at]
    errors = items.standard_errors
    error = np.full(at.size, np.nan) if errors is None else errors[term][at]
    if term == "difficulty":  # below |a| = .05 the difficulty is the error of a
        value = np.where(items.difficulty_is_stable[at], value, np.nan)
    return Estimates(value, error)


def _ability(abilities: Abilities, at: NDArray[np.intp]) -> Estimates:
    error = abilities.standard_error
    return Estimates(abilities.estimate[at], np.full(at.size, np.nan) if error is None else error[at])


def score_terms(fits: Pair, persons: Matched, items: Matched, scores: Scores) -> tuple[TermComparison, ...]:
    """Compare expected scores of persons over the items that both can predict, and of items over common persons.

    A proportion is a fit's own expected score, over the items it saw. Standard errors are not carried over.
    """
    usable = _usable(fits, items)
    per_fit = [
        _scores(f, usable, persons.ids, at, scores) for f, at in zip(fits, (persons.first, persons.second), strict=True)
    ]
    out = []
    if per_fit[0][0] is not None and per_fit[1][0] is not None and persons.n:
        pair = (_bare(per_fit[0][0]), _bare(per_fit[1][0]))
        out.append(compare_term("expected_score", persons.ids, pair, pair))
    if per_fit[0][1] is not None and per_fit[1][1] is not None and usable:
        pair = (_bare(per_fit[0][1]), _bare(per_fit[1][1]))
        out.append(compare_term("expected_item_score", usable, pair, pair))
    return tuple(out)


def _usable(fits: Pair, items: Matched) -> tuple[str, ...]:
    """Return ids of the items whose probabilities every fit that has any knows."""
    having = [f.item_parameters for f in fits if f.item_parameters is not None]
    if not having:
        return items.ids
    known = [{i for i, ok in zip(p.item_ids, item_is_usable(p), strict=True) if ok} for p in having]
    pool = items.ids if items.n or len(having) == 2 else having[0].item_ids
    return tuple(i for i in pool if all(i in k for k in known))


def _scores(
    fit: FitResult, item_ids: tuple[str, ...], person_ids: tuple[str, ...], at: NDArray[np.intp], scores: Scores
) -> tuple[FloatArray | None, FloatArray | None]:
    if is_proportion(fit) and fit.abilities is not None:
        statistics, item_scores = fit.item_statistics, None
        if statistics is not None:
            place = {text: j for j, text in enumerate(statistics.item_ids)}
            if all(i in place for i in item_ids):
                item_scores = statistics.proportion_correct[[place[i] for i in item_ids]] if item_ids else None
        return fit.abilities.estimate[at], item_scores
    found = scores(fit, item_ids, person_ids)
    return (None, None) if found is None else found


def _bare(values: FloatArray) -> Estimates:
    return Estimates(values, np.full(values.shape, np.nan))
