"""Differential item functioning: items that are harder, or tell less, for one group of equally able systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.concurrent_data import GroupsLike
from psychoeval.agreement.matching import check_responses
from psychoeval.audit.paired import Correction, adjust
from psychoeval.diagnostics.dif_groups import TESTED, find_groups, power_notes
from psychoeval.diagnostics.dif_logistic import Kind, with_classes
from psychoeval.diagnostics.dif_purification import Purification, purify, require_anchors
from psychoeval.diagnostics.dif_result import DIF, ItemTests, Method
from psychoeval.diagnostics.dif_settings import MatchingName, Procedure, candidates, check_settings, procedure
from psychoeval.errors import DataError
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.models import Guessing, ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some, some_of

BoolArray = NDArray[np.bool_]


def dif(
    responses: Responses,
    groups: GroupsLike,
    method: Method = "logistic",
    *,
    reference: str | None = None,
    anchors: Sequence[str] | None = None,
    purify: bool = True,
    max_rounds: int = 20,
    kind: Kind | None = None,
    matching: MatchingName | None = None,
    model: str | ItemModel | None = None,
    guessing: Guessing | None = None,
    linking: LinkingMethod | None = None,
    correction: Correction = "holm",
    level: float = 0.95,
) -> DIF:
    """Test every item for DIF between groups of systems.

    DIF: systems of equal ability do not have equal chances on the item, by the group they belong to (developer,
    agents and plain models, before and after a release). That one group is better on the whole is impact, and no DIF.
    DIF is between groups of persons; whether formats of *items* (multiple choice, open) behave differently is no DIF,
    and `psychoeval audit` looks at it by covariates of the items.

    ``"logistic"``: logit P = a + b m + u_g + v_g m, m the matching variable. Uniform DIF is u, non-uniform v; the
    likelihood-ratio test is of the two at once (`kind`). Swaminathan & Rogers (1990). Counts are binomial, and cells of
    several trials vary more than these: the ratio is then divided by each item's Pearson ratio (at least 1) and
    referred to F. Needs no model, and takes more than two groups. Columns: ``chi2_`` and ``p_uniform``,
    ``_nonuniform``; ``r2_difference`` of Nagelkerke's R2 and ``r2_class`` (B from .035 and C from .070 where the item
    is flagged, else A: Jodoin & Gierl 2001); of two groups also ``log_odds_ratio`` of the focal against the reference
    group from the regression with one slope, with its interval ``low`` to ``high``; ``ets_delta``, 2.35 times it, which
    is -2.35 ln(odds of reference over focal), negative where the item is harder for the focal group, and ``ets_class``
    (A: below 1 or not beyond chance; C: 1.5 or more, and above 1 beyond chance); ``slope_difference`` with error, in
    logits by SD of m; and, where all ran all anchors once and proportions match, Mantel and Haenszel's log odds ratio
    ``mh_...`` within numbers right, whose p is of uniform DIF, with the correction for continuity.

    ``"wald"``: each group is calibrated by `mml`, the focal group is linked to the reference group on the anchors
    (stocking-lord by default), and slope and intercept of each item are compared by x' C^-1 x (Lord 1980, Applications
    of item response theory, ch. 14); C holds the errors of the linking constants and their covariance with the item,
    which Lord's own test takes as known. Cai's and Langer's improved test (Woods, Cai & Wang 2013, doi
    10.1177/0013164412464875) takes the errors from one calibration of both groups instead, and is not this one. Two
    groups. Columns: slopes and difficulties of both groups on one scale; ``signed_area`` between the curves, in logits,
    positive where the item is harder for the focal group, and ``unsigned_area`` (Raju 1988), with intervals by the
    delta method, of which the unsigned one's is no good near 0; ``area_status``.

    ``"likelihood-ratio"``: one calibration of both groups, each with its own mean and SD of abilities; twice what the
    log-likelihood gains when an item's parameters are free in each group (Thissen, Steinberg & Wainer 1988, in Wainer &
    Braun, Test validity). Items that are no anchors are free throughout. Two groups; J calibrations a round of
    purification. Columns as of ``"wald"``, from calibrations with that item free.

    Parameters
    ----------
    responses : Responses
        N systems on J items, binary or counts, cells may be missing.
    groups : str, mapping or sequence of length N
        A column of `responses.persons`, a label by id, or a label each.
    method : {"logistic", "wald", "likelihood-ratio"}
    reference : str, optional
        The group that others are compared with; by default the largest.
    anchors : sequence of str, optional
        Items that may be anchors; by default all that can be tested. Without purification these are taken to be without
        DIF, and are not tested.
    purify : bool
        Leave out anchors with p below 1 - level (not adjusted: an anchor lost in vain costs little, one with DIF
        distorts all others) and those that cannot be tested, and test again, until the same are left out. A set that
        was seen before is a cycle: all items of it are left out. An item is always matched with itself counted in.
    max_rounds : int
    kind : {"both", "uniform", "nonuniform"}, optional
        Of ``"logistic"``; by default both.
    matching : {"proportion", "ability"}, optional
        Of ``"logistic"``: proportion right over trials on the anchors that a system ran (by default), or its WLE
        on them, with items from one `mml` fit of all groups, for systems that ran different ones.
    model : str or ItemModel, optional
        Of abilities that match: by default Rasch. Of the other methods by default 2PL, and Rasch, which compares
        difficulties alone, where a group has at most 100 systems. A name means no priors, ``"2PL[weak]"`` names them.
    guessing : float, "free", Beta or LogitNormal, optional
        Of a 3PL by name: by default free, without a prior; a number fixes it. ``"wald"`` does not compare lower
        asymptotes, ``"likelihood-ratio"`` those that are estimated.
    linking : {"stocking-lord", "haebara", "mean-sigma", "mean-mean"}, optional
        Of ``"wald"``.
    correction : {"holm", "benjamini-hochberg", "none"}
        Of p over the tested items. Intervals are not adjusted.
    level : float
        Of the intervals; items are flagged where the adjusted p is below 1 - level.

    Returns
    -------
    DIF
        `to_frame()` has one row an item, `notes` what a reader must know.

    Raises
    ------
    DataError
        If there are not two groups, fewer than 4 anchors are left, or no item can be tested.
    SettingsError
        For unknown settings, groups and anchors.

    Notes
    -----
    Simulated Rasch data, persons a group x items, p < .05 not adjusted, purified; Monte Carlo errors .002 to .007.
    Items without DIF where the focal group is 1 SD worse (60 to 200 data sets): logistic .062 (30 x 100), .058 (100 x
    40), .056 (250 x 40); Wald .045, .053, .050; likelihood ratio .054 (100 x 20). Logistic regression is a little
    liberal where groups differ and scores err: with slopes that differ (SD of log a .3) uniform DIF is found in .07 of
    sound items at 250 x 20 and .05 at 250 x 100. At 30 x 100 any item is flagged after Holm's adjustment in .10 of the
    data sets, by Wald in .04. With .8 logits of DIF in a fifth of 40 items (100 data sets): sound items .093 without
    and .054 with purification, power .74 and .86 (250 a group); Wald .128 and .056, .83 and .92. At 100 a group power
    is .42 and .52.

    Examples
    --------
    >>> from psychoeval.responses.matrix import Responses
    >>> rng = np.random.default_rng(1)
    >>> theta, group = rng.normal(size=400), np.repeat(["old", "new"], 200)
    >>> logit = theta[:, None] - np.linspace(-1, 1, 12)
    >>> logit[group == "new", 3] += 1.5  # easier for the new, at equal ability
    >>> found = dif(Responses.from_array((rng.random((400, 12)) < 1 / (1 + np.exp(-logit))).astype(int)), group)
    >>> found.flagged_ids, found.purification.ended
    (('item-4',), 'repeated')
    """
    check_responses(responses)
    given = {"kind": kind, "matching": matching, "linking": linking, "model": model, "guessing": guessing}
    check_settings(method, purify, max_rounds, correction, level, given)
    found = find_groups(responses, groups, reference)
    if not found.comparable.any():
        _refuse(found.status, "Both groups must have run an item, with right and wrong answers each.")
    tester = procedure(responses, found, method, model, guessing, level, kind, matching, linking)
    may_be, notes = candidates(responses, tester.usable, anchors)
    purified, tested = _run(tester, may_be, purify, max_rounds, 1 - level)
    notes = (*notes, *_untested(responses.item_ids, tested, may_be, purified.anchors))
    if anchors is not None and not purify:
        tested = _without_anchors(tested, purified.anchors)
    if not np.isfinite(tested.p).any():
        _refuse(
            tested.status,
            "Take kind='uniform' (logistic), the Rasch model (the others), more persons, or fewer anchors.",
        )
    p = adjust(tested.p, correction)
    flagged = np.nan_to_num(p, nan=1.0) < 1 - level
    return DIF(
        method, tester.how, responses.item_ids, found.names, tuple(found.sizes.tolist()),
        with_classes(tested, flagged), p, flagged, purified, correction, level,
        (purified.in_words(), *notes, *tested.notes, *power_notes(found, level)),
    )  # fmt: skip


def _refuse(status: Sequence[str], remedy: str) -> NoReturn:
    """Refuse responses of which no item can be tested.

    Raises
    ------
    DataError
        With the reasons, the commonest first.
    """
    reasons = [reason for reason, _ in Counter(status).most_common()]
    raise DataError(f"None of {len(status)} items can be tested: {some_of(reasons[:2], len(reasons))}.", remedy)


def _run(
    tester: Procedure, may_be: BoolArray, purified: bool, max_rounds: int, alpha: float
) -> tuple[Purification, ItemTests]:
    """Return the anchors and the tests with them; no set of anchors is tested twice in a row."""
    last: list[tuple[bytes, ItemTests]] = []

    def test(anchors: BoolArray) -> ItemTests:
        key = anchors.tobytes()
        if not last or last[0][0] != key:
            last[:] = [(key, tester.test(anchors))]
        return last[0][1]

    def unsound(anchors: BoolArray) -> BoolArray:
        return np.asarray(~(test(anchors).p >= alpha))  # no p: nothing says that the item is without DIF

    require_anchors(may_be)
    if not purified:
        return Purification(may_be, "not asked for", 1, ()), tester.finish(test(may_be), may_be)
    try:
        found = purify(unsound, may_be, max_rounds)
    except DataError as error:
        lost = [s for s, m, p in zip(last[0][1].status, may_be, last[0][1].p, strict=True) if m and np.isnan(p)]
        if not lost:
            raise
        reasons = sorted(set(lost))
        why = f"{len(lost)} items that cannot be tested are no anchors ({some_of(reasons[:2], len(reasons))})."
        raise DataError(f"{error.problem} {why}", error.remedy) from None
    return found, tester.finish(test(found.anchors), found.anchors)


def _untested(ids: Sequence[str], tested: ItemTests, may_be: BoolArray, anchors: BoolArray) -> tuple[str, ...]:
    """Name the items that might have been anchors, and could not be tested."""
    notes = []
    for which, what in (
        (may_be & ~anchors, "items could not be tested with these anchors, and are none themselves"),
        (anchors, "of the anchors could not be tested, and may have DIF"),
    ):
        if lost := [i for i, chosen in zip(ids, which & np.isnan(tested.p), strict=True) if chosen]:
            notes.append(f"{len(lost)} {what}: {some(lost)}.")
    return tuple(notes)


def _without_anchors(tested: ItemTests, anchors: BoolArray) -> ItemTests:
    """Return the tests without those of anchors that were taken to be without DIF."""
    statistic, df, p = (np.where(anchors, np.nan, v) for v in (tested.statistic, tested.df, tested.p))
    status = tuple(
        "anchor, not tested" if a and s == TESTED else s for a, s in zip(anchors, tested.status, strict=True)
    )
    return tested._replace(statistic=statistic, df=df, p=p, status=status)
