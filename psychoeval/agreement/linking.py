"""Linking: the scale of one calibration taken to that of another by what both have in common.

Alignment (`psychoeval.agreement.alignment`) applies what the models' identification implies, and estimates nothing; it
is for several fits of one data set. A link is an estimate, with errors, for calibrations on different persons or items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import Transformation
from psychoeval.agreement.linking_anchors import item_anchors, person_anchors
from psychoeval.agreement.linking_nodes import Quadrature, curves_in_words, find_nodes
from psychoeval.agreement.linking_result import Common, Link
from psychoeval.agreement.linking_sides import Anchors, Side, anchors, common_abilities, side
from psychoeval.audit.settings import check_level
from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.estimators.settings import is_choice
from psychoeval.irt.linking import (
    QUADRATURE_POINTS,
    Constants,
    LinkingMethod,
    Unit,
    has_one_slope,
    linking_constants,
)
from psychoeval.irt.linking_curves import Direction
from psychoeval.irt.linking_persons import person_constants
from psychoeval.irt.parameters import UNSTABLE_SLOPE, ItemParameters
from psychoeval.results.fit_result import FitResult
from psychoeval.wording import shorten, some

FloatArray = NDArray[np.float64]

#: Size of slopes beyond which a times theta is no logit of anything.
STEEPEST: Final = 1e6
#: Methods that compare curves, and so have nodes and a direction.
OF_CURVES: Final = ("haebara", "stocking-lord")
#: Ratio of criteria up to which another minimum is named; without large errors of the anchors it is in the hundreds.
CLOSE_MINIMA: Final = 1.5


def link(
    given: FitResult | ItemParameters,
    onto: FitResult | ItemParameters,
    *,
    method: LinkingMethod | None = None,
    on: Common | None = None,
    scale: float | Literal["free"] | None = None,
    exclude: Sequence[str] = (),
    direction: Direction = "forward",
    quadrature: Quadrature = QUADRATURE_POINTS,
    level: float = 0.95,
    names: tuple[str, str] = ("given", "onto"),
) -> Link:
    """Estimate the transformation that takes `given` to the scale of `onto`.

    Parameters
    ----------
    given, onto : FitResult or ItemParameters
        Two calibrations, each on its own scale, with items (or persons) of the same ids.
    method : {"mean-mean", "mean-sigma", "haebara", "stocking-lord"}, optional
        By default Stocking and Lord's by items; by persons there is mean-sigma alone.
    on : {"items", "persons"}, optional
        By default items, if any is common.
    scale : float or "free", optional
        A. By default it is estimated, but where both sides have one slope for all their items (Rasch, 1PL) the slopes
        are the unit: A = a1 / a2, which is 1 of two Rasch models. A number fixes it; ``"free"`` has the method estimate
        it.
    exclude : sequence of str
        Common items that take no part in A and B; they are tested for drift with the others.
    direction : {"forward", "backward", "both"}
        Of curves: compared on the scale of `onto`, of `given`, or on each.
    quadrature : int or (nodes, weights)
        Of curves: number of Gauss-Hermite nodes of N(0, 1), or nodes and weights of one's own.
    level : float
        Anchors drift where Holm's p of the Wald test is below 1 - level, or robust z beyond that normal quantile.
    names : (str, str)
        What the result, its notes and errors call the two sides.

    Returns
    -------
    Link

    Raises
    ------
    NotComparableError
        If nothing is common, or what is common does not determine A and B.
    SettingsError
        If an option is unknown or does not fit the others.

    Examples
    --------
    >>> old = ItemParameters.from_difficulty(["q1", "q2", "q3"], [1.0, 1.4, 0.8], [-1.0, 0.2, 0.9])
    >>> new = Transformation(scale=1.25, shift=-0.5).items(old)
    >>> found = link(old, new, method="haebara")
    >>> round(found.scale, 6), round(found.shift, 6)
    (1.25, -0.5)
    """
    _check(method, on, scale, exclude, direction, level, names)
    one, two = side(given, names[0]), side(onto, names[1])
    on = on or _what_is_common(one, two)
    if on == "persons":
        return _by_persons(one, two, method, scale, exclude, level)
    method = method or "stocking-lord"
    if one.items is None or two.items is None:
        lacking = one.label if one.items is None else two.label
        raise NotComparableError(f"{lacking} has no item parameters.", "Fit a Rasch, 1PL, 2PL or 3PL model.")
    common = anchors(one.items, two.items, (one.label, two.label), exclude)
    unit, of_unit = _unit(one.items, two.items, scale)
    _check_difficulties(common, method)
    nodes = find_nodes(quadrature)
    constants = _constants(common, method, unit, direction, nodes)
    transformation = Transformation(constants.scale, constants.shift)
    covariance = None if common.covariance is None else constants.covariance(*common.covariance)
    how = of_unit if method not in OF_CURVES else f"{of_unit}; {curves_in_words(direction, nodes[0].size, quadrature)}"
    return Link(
        method, "items", how, one.label, two.label, transformation, covariance, transformation.items(one.items),
        item_anchors(common, constants, level),
        (*common.notes, *_rival_notes(constants), *_other_notes(one, two)),
    )  # fmt: skip


def _what_is_common(one: Side, two: Side) -> Common:
    items = [() if s.items is None else s.items.item_ids for s in (one, two)]
    if set(items[0]) & set(items[1]):
        return "items"
    return "persons" if _shared_persons(one, two) else "items"


def _shared_persons(one: Side, two: Side) -> set[str]:
    persons = [() if s.abilities is None else s.abilities.person_ids for s in (one, two)]
    return set(persons[0]) & set(persons[1])


def _unit(one: ItemParameters, two: ItemParameters, scale: float | Literal["free"] | None) -> tuple[Unit, str]:
    """Return how A is found, and that in words."""
    if scale == "free":
        return "free", "A estimated"
    if scale is not None:
        return float(scale), f"A fixed at {scale:g}"
    slopes = [p.discrimination[p.estimated] for p in (one, two)]
    if all(has_one_slope(a) for a in slopes):
        fixed = all(a[0] == 1.0 for a in slopes)
        return "slopes", "A fixed at 1: every slope is 1" if fixed else "A from the one slope of each side"
    return "free", "A estimated"


def _constants(
    common: Anchors,
    method: LinkingMethod,
    unit: Unit,
    direction: Direction,
    nodes: tuple[FloatArray, FloatArray],
) -> Constants:
    """Return the constants of the anchors that are used, with derivatives by all: 0 by the others."""
    used = common.used
    found = linking_constants(
        common.first[used], common.second[used], method, unit=unit, direction=direction, quadrature=nodes
    )
    jacobian = np.zeros((2, 2, used.size, 3))
    jacobian[:, :, used] = found.jacobian
    return replace(found, jacobian=jacobian)


def _rival_notes(constants: Constants) -> tuple[str, ...]:
    """Say where the criterion of the curves has another minimum that is nearly as low."""
    rival = constants.rival
    if rival is None or rival.ratio > CLOSE_MINIMA:
        return ()
    return (
        f"Another transformation fits the curves nearly as well: A = {rival.scale:.3g}, B = {rival.shift:.3g} has a "
        f"criterion {rival.ratio - 1:.0%} above that of A = {constants.scale:.3g}, B = {constants.shift:.3g}. Standard "
        "errors are about the least alone: take more anchors, or mean-mean.",
    )


def _check_difficulties(common: Anchors, method: LinkingMethod) -> None:
    """Refuse anchors whose b is the error of a, where b is what links, and slopes that are no slopes of a curve.

    Raises
    ------
    NotComparableError
        By item.
    """
    steepest = np.maximum(np.abs(common.first[:, 0]), np.abs(common.second[:, 0]))
    if names := [i for i, bad in zip(common.ids, (steepest > STEEPEST) & common.used, strict=True) if bad]:
        raise NotComparableError(f"{some(names)} has a slope above {STEEPEST:g} on one side.", "Exclude it.")
    if method in OF_CURVES:
        return
    flat = np.minimum(np.abs(common.first[:, 0]), np.abs(common.second[:, 0])) < UNSTABLE_SLOPE
    if names := [i for i, bad in zip(common.ids, flat & common.used, strict=True) if bad]:
        raise NotComparableError(
            f"{some(names)} has a slope below {UNSTABLE_SLOPE} on one side: its difficulty is no use for {method}.",
            "Exclude it, or take haebara or stocking-lord.",
        )


def _other_notes(one: Side, two: Side) -> tuple[str, ...]:
    notes = [f"{s.label} did not end as it should, and is not to be believed." for s in (one, two) if not s.believed]
    if shared := _shared_persons(one, two):
        notes.append(
            f"{len(shared)} persons are in both calibrations. Errors and tests take the two as independent, and are "
            "too large or too small where they are not."
        )
    return tuple(notes)


def _by_persons(
    one: Side,
    two: Side,
    method: LinkingMethod | None,
    scale: float | Literal["free"] | None,
    exclude: Sequence[str],
    level: float,
) -> Link:
    if method not in (None, "mean-sigma"):
        raise SettingsError(f"{method} needs common items.", "By persons there is mean-sigma.")
    common = common_abilities(one, two, exclude)
    slopes = [None if s.items is None else s.items.discrimination[s.items.estimated] for s in (one, two)]
    rasch = all(a is not None and a.size and (a == 1.0).all() for a in slopes)
    fixed = 1.0 if scale is None and rasch else None if scale in (None, "free") else float(scale)
    used = common.used
    errors = common.error_variances[0][used], common.error_variances[1][used]
    a, b, covariance = person_constants(common.first[used], common.second[used], errors, fixed)
    transformation = Transformation(a, b)
    how = f"{'A estimated' if fixed is None else f'A fixed at {fixed:g}'}; means and true SDs of abilities"
    believed = tuple(n for n in _other_notes(one, two) if "persons are in both" not in n)
    return Link(
        "mean-sigma", "persons", how, one.label, two.label, transformation, covariance,
        None if one.items is None else transformation.items(one.items),
        person_anchors(common, a, b, level), (*common.notes, *believed),
    )  # fmt: skip


def _check(
    method: str | None, on: str | None, scale: float | str | None, exclude: object, direction: str, level: float,
    names: object,
) -> None:  # fmt: skip
    """Refuse options that do not exist.

    Raises
    ------
    SettingsError
        By name.
    """
    for name, value, known in (
        ("method", method, get_args(LinkingMethod)),
        ("on", on, get_args(Common)),
        ("direction", direction, get_args(Direction)),
    ):
        if not is_choice(value, known) and (value is not None or name == "direction"):
            raise SettingsError(f"{name}={value!r} is unknown.", f"Choose one of {', '.join(known)}.")
    if isinstance(exclude, str) or not hasattr(exclude, "__iter__") or not all(isinstance(i, str) for i in exclude):
        raise SettingsError(f"exclude is {shorten(repr(exclude))}.", "Give a list of ids.")
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool) and 1e-6 <= abs(scale) <= 1e6
    if scale is not None and scale != "free" and not number:
        raise SettingsError(f"scale={scale!r} is no unit.", "Give a number of size 1e-6 to 1e6, 'free', or nothing.")
    check_level(level)
    if not (isinstance(names, tuple) and len(names) == 2 and all(isinstance(n, str) and n for n in names)):
        raise SettingsError(f"names is {shorten(repr(names))}.", "Give two texts.")
