"""Whether estimators support the same inference: errors, intervals, and the conclusions drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.comparison import Comparison, named_fits
from psychoeval.agreement.components import person_components, several
from psychoeval.agreement.inference_decisions import (
    DecisionCounts,
    claims_of,
    compare_claims,
    contested_pairs,
    open_ranks,
)
from psychoeval.agreement.inference_errors import error_kind, error_ratios, interval_overlap, unlike_errors
from psychoeval.agreement.inference_ranks import RankMoves, move_between, ranks_of_fits, top_groups
from psychoeval.agreement.inference_result import InferenceAgreement, InferencePair
from psychoeval.agreement.notes import is_believed, not_believed
from psychoeval.agreement.pair import align_pair
from psychoeval.agreement.relation import is_proportion, relate
from psychoeval.agreement.terms import matched
from psychoeval.audit.paired import Correction
from psychoeval.audit.settings import check_level
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.fitting import Fits, fit
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
#: Above so many persons no table of all pairs is made.
MOST_PERSONS: Final = 2000
AVERAGE: Final = "simple-average"


def compare_inference(
    fits: Comparison | Fits | Sequence[FitResult] | Mapping[str, FitResult],
    *,
    responses: Responses | None = None,
    level: float = 0.95,
    correction: Correction = "holm",
    top: Sequence[int] = (1, 3, 5),
) -> InferenceAgreement:
    """Compare what believed fits of one data set conclude: errors, intervals, orders, ties, the best k.

    Estimates may agree and inference not: intervals twice as wide, ties where another fit sees an order. Fits are
    aligned as `compare` aligns them, by identification; a further estimated scale would hide a difference of the
    errors. Ratios and overlap are given where both errors are of one kind (``items fixed``, ``items estimated`` or
    ``items sampled``) and on one scale; decisions and ranks need no common scale. Each fit decides A > B, tie or
    B > A by z = (theta_A - theta_B) / SE(theta_A - theta_B), proportions with what their number of items allows,
    two-sided p corrected for the number of pairs, as `psychoeval.rank` does. The simple average stands beside, fitted
    where it is missing and `responses` are known.

    Parameters
    ----------
    fits : Comparison, Fits, sequence of FitResult, or mapping of name to FitResult
    responses : Responses, optional
        What was fitted; taken from `fits` where it holds them.
    level : float
        Of the intervals, and 1 - the error rate of the decisions.
    correction : {"holm", "benjamini-hochberg", "none"}
    top : sequence of int
        Sizes k of the top groups; those that leave nobody out are skipped.

    Returns
    -------
    InferenceAgreement

    Raises
    ------
    NotComparableError
        If fewer than two believed fits have abilities, if two are of different data, or above 2,000 persons.
    SettingsError
        For a setting out of range.

    Examples
    --------
    >>> import psychoeval as pe
    >>> data = pe.Responses.from_array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1], [1, 0, 1, 1]])
    >>> found = compare_inference(pe.fit_many(data, ["map", "random-item"], model="Rasch"))
    >>> found.names[-1]
    'simple-average'
    >>> found.pairs[0].decisions.opposite
    0
    """
    _check(level, correction, top)
    names, results, _, data = named_fits(fits, responses)
    names, results, left_out = _compared(names, results, data)
    _check_same_data(names, results)
    ids = tuple(dict.fromkeys(i for f in results if f.abilities for i in f.abilities.person_ids))
    if len(ids) > MOST_PERSONS:
        raise NotComparableError(
            f"There are {len(ids):,} persons, and conclusions are about all pairs of them.",
            f"Compare at most {MOST_PERSONS:,}.",
        )
    component, place = person_components(results, ids), {text: i for i, text in enumerate(ids)}
    signs = _signs(names, results, data)
    claims = tuple(claims_of(f, s, place, component, level, correction) for f, s in zip(results, signs, strict=True))
    values = _values(results, signs, place)
    ranked = ranks_of_fits(values, component)
    kinds = tuple(error_kind(f) for f in results)
    pairs = tuple(
        _pair((names[i], names[k]), (results[i], results[k]), data, level,
              compare_claims(ids, claims[i], claims[k], component), move_between(ids, ranked[:, i], ranked[:, k]))
        for i, k in combinations(range(len(results)), 2)
    )  # fmt: skip
    return InferenceAgreement(
        names, kinds, ids, component, ranked, *open_ranks(claims, component),
        tuple(int(np.count_nonzero(c.above > 0)) for c in claims), pairs,
        () if several(component) else top_groups(ids, ranked, top), contested_pairs(ids, claims, component), left_out,
        level, correction, "person" if data is None else data.person_label,
    )  # fmt: skip


def _check(level: float, correction: str, top: Sequence[int]) -> None:
    check_level(level)
    if correction not in get_args(Correction):
        raise SettingsError(
            f"correction is {correction!r}.", f"Give one of {', '.join(map(repr, get_args(Correction)))}."
        )
    for k in top:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise SettingsError(f"top holds {k!r}.", "Give whole numbers from 1.")


def _compared(
    names: tuple[str, ...], fits: tuple[FitResult, ...], responses: Responses | None
) -> tuple[tuple[str, ...], tuple[FitResult, ...], tuple[str, ...]]:
    """Return the fits to compare, the simple average among them, and why the others are left out."""
    named, left_out = dict(zip(names, fits, strict=True)), []
    for name, given in zip(names, fits, strict=True):
        if not is_believed(given):
            left_out.append(not_believed(name, given))
        elif given.abilities is None:
            left_out.append(f"{name} has no abilities.")
        else:
            continue
        del named[name]
    if responses is not None and not any(f.estimator == AVERAGE for f in fits):
        named[AVERAGE] = fit(responses, AVERAGE)
    if len(named) < 2:
        raise NotComparableError(
            f"There are fewer than two believed fits with abilities. {' '.join(left_out)}".strip(),
            "Give two or more whose results may be believed.",
        )
    return tuple(named), tuple(named.values()), tuple(left_out)


def _check_same_data(names: tuple[str, ...], fits: tuple[FitResult, ...]) -> None:
    for name, given in zip(names[1:], fits[1:], strict=True):
        if "data" in relate(fits[0], given).differences:
            raise NotComparableError(
                f"{names[0]} and {name} were fitted to different data.", "Compare conclusions from the same data."
            )


def _signs(names: tuple[str, ...], fits: tuple[FitResult, ...], responses: Responses | None) -> tuple[float, ...]:
    """Return the direction of each scale: -1 where `compare` turns it round.

    All are held to one fit, with items where there is one, so that fits without items follow it.
    """
    logits = [k for k, f in enumerate(fits) if not is_proportion(f)]
    if not logits:
        return (1.0,) * len(fits)
    reference = next((k for k in logits if fits[k].item_parameters is not None), logits[0])
    turned = {
        k: align_pair((names[reference], names[k]), (fits[reference], fits[k]), responses)[1].second.scale
        for k in logits
    }
    return tuple(float(np.sign(turned.get(k, 1.0))) for k in range(len(fits)))


def _values(fits: tuple[FitResult, ...], signs: tuple[float, ...], place: dict[str, int]) -> FloatArray:
    """Return the abilities of K fits, all in one direction, (N, K); NaN where there is none."""
    out = np.full((len(place), len(fits)), np.nan)
    for k, (given, sign) in enumerate(zip(fits, signs, strict=True)):
        assert given.abilities is not None
        out[[place[i] for i in given.abilities.person_ids], k] = sign * given.abilities.estimate
    return out


def _pair(
    names: tuple[str, str],
    fits: tuple[FitResult, FitResult],
    responses: Responses | None,
    level: float,
    decisions: DecisionCounts,
    moves: RankMoves | None,
) -> InferencePair:
    aligned = align_pair(names, fits, responses)[0]
    persons, items = matched(fits)
    one, two = fits[0].abilities, fits[1].abilities
    assert one is not None
    assert two is not None
    kinds, unlike = [error_kind(f).partition(",")[0] for f in fits], unlike_errors(one, two)
    unlike_kind = " against ".join(kinds) if all(kinds) and kinds[0] != kinds[1] and not unlike else ""
    return InferencePair(
        *names, tuple(relate(*fits).differences.values()), unlike, unlike_kind,
        error_ratios(aligned, persons, items), interval_overlap(aligned, persons, level), decisions, moves,
    )  # fmt: skip
