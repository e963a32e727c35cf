"""The common frame of two fits: direction, origin and unit, before anything is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import (
    Freedom,
    Transformation,
    points_backwards,
    standardisation,
    standardised,
)
from psychoeval.agreement.matching import match
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]

IDENTITY: Final = Transformation()


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the second fit was brought onto the first.

    Parameters
    ----------
    first, second : Transformation
        To the common frame, as far as direction and identification imply it.
    conventions : {"none", "shift", "scale and shift"}
        What the common frame leaves open because a frame is not known (imported tables).
    estimated : Transformation
        Of the second onto the first in the common frame, estimated from the values.
    freedom : str
        What `estimated` changes.
    standard : tuple of bool
        Whether each fit was brought to the latent distribution N(0, 1).
    turned : tuple of str
        Which fit was turned round, and by which rule; a sentence each.
    """

    first: Transformation = IDENTITY
    second: Transformation = IDENTITY
    conventions: Freedom = "none"
    estimated: Transformation = IDENTITY
    freedom: Freedom = "none"
    standard: tuple[bool, bool] = (False, False)
    turned: tuple[str, ...] = ()

    @property
    def second_onto_first(self) -> Transformation:
        """The whole transformation from the second fit as given to the first as given."""
        return self.second.then(self.estimated).then(self.first.inverse)


def common_frame(
    names: tuple[str, str], fits: tuple[FitResult, FitResult], responses: Responses | None = None
) -> tuple[tuple[FitResult, FitResult], Alignment]:
    """Bring two fits on the logit scale into one frame, by identification and nothing else.

    Both standardised (latent N(0, 1)) where both frames are known; as given where all slopes of both are 1; otherwise
    the known one standardised, and origin and unit left open.

    Direction: a fit is turned round (theta -> -theta, a -> -a, b -> -b; intercepts and probabilities stay) if most of
    its slopes are negative, or, without items, if its abilities correlate negatively with the observed proportions
    (without responses: with the other fit's abilities).

    Returns
    -------
    (first, second), Alignment
    """
    turns = _turns(fits, responses)
    flip = Transformation(-1.0, 0.0)
    turned = tuple(flip.fit(f) if why else f for f, why in zip(fits, turns, strict=True))
    known = tuple(standardisation(f) is not None for f in turned)
    conventions: Freedom = "none"
    if all(known):
        moved = [standardised(f) for f in turned]
    elif all(_unit_slopes(f) for f in turned):
        moved, conventions, known = [(f, None) for f in turned], "shift", (False, False)
    else:
        moved, conventions = [standardised(f) for f in turned], "scale and shift"
    steps = [(flip if why else IDENTITY).then(to or IDENTITY) for (_, to), why in zip(moved, turns, strict=True)]
    words = tuple(
        f"{name} was turned round (theta -> -theta): {why}." for name, why in zip(names, turns, strict=True) if why
    )
    alignment = Alignment(steps[0], steps[1], conventions, standard=(known[0], known[1]), turned=words)
    return (moved[0][0], moved[1][0]), alignment


def _unit_slopes(fit: FitResult) -> bool:
    items = fit.item_parameters
    if items is None or not items.estimated.any():
        return False
    return bool(np.all(items.discrimination[items.estimated] == 1.0))


def _turns(fits: tuple[FitResult, FitResult], responses: Responses | None) -> tuple[str, str]:
    """Return for each fit why it is to be turned round, or ""."""
    out = ["", ""]
    for k, fit in enumerate(fits):
        if fit.item_parameters is not None:
            if points_backwards(fit.item_parameters):
                out[k] = "most of its slopes are negative"
        elif fit.abilities is not None and responses is not None and _against_proportions(fit.abilities, responses):
            out[k] = "it has no items, and its abilities correlate negatively with the observed proportions"
    if responses is None:
        bare = [f.item_parameters is None and f.abilities is not None for f in fits]
        k = 1 if bare[1] else 0
        if any(bare) and _opposite(fits, out[1 - k] != ""):
            out[k] = "it has no items, and its abilities correlate negatively with the other's"
    return out[0], out[1]


def _against_proportions(abilities: Abilities, responses: Responses) -> bool:
    trials = responses.trials.sum(axis=1, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        proportion = responses.successes.sum(axis=1, dtype=np.int64) / trials
    persons = match(abilities.person_ids, responses.person_ids)
    return _negative(abilities.estimate[persons.first], proportion[persons.second])


def _opposite(fits: tuple[FitResult, FitResult], other_turned: bool) -> bool:
    one, two = fits[0].abilities, fits[1].abilities
    if one is None or two is None:
        return False
    persons = match(one.person_ids, two.person_ids)
    sign = -1.0 if other_turned else 1.0
    return _negative(sign * one.estimate[persons.first], two.estimate[persons.second])


def _negative(x: FloatArray, y: FloatArray) -> bool:
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    return bool(x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0 and np.corrcoef(x, y)[0, 1] < 0)
