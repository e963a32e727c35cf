"""Data sets as a fitted model makes them: at the observed cells, for these persons and items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from psychoeval.agreement.matching import check_same_data, match
from psychoeval.agreement.scores import item_is_usable
from psychoeval.errors import NotComparableError
from psychoeval.irt.classical import FloatArray
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.ids_and_counts import smallest_dtype
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.matched import match as match_items
from psychoeval.scoring.worlds import draw_worlds
from psychoeval.trust.item_coverage import latent_sd

#: Of a latent distribution where estimates vary no more than their errors do.
SMALLEST_SD: Final = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A simulated data set and what is behind it.

    Parameters
    ----------
    responses : Responses
        At the observed cells and trials, with their ids.
    ability : (N,) array
        One plausible value a person; NaN for persons without responses.
    items : ItemParameters
        Of the fit, in the order of the responses.
    """

    responses: Responses
    ability: FloatArray
    items: ItemParameters


class Simulator:
    """Draws data sets from a fit.

    Abilities are plausible values: one draw a person from its posterior given the responses and the items, so that
    their spread is that of the abilities (estimates spread less). Items are as estimated; those that all or none got
    right stay so, and other items without parameters are refused.

    Parameters
    ----------
    fit : FitResult
        With item parameters on the logit scale.
    responses : Responses
        The data of the fit.

    Raises
    ------
    NotComparableError
        If the fit has no such items, or did not estimate some of them.
    """

    def __init__(self, fit: FitResult, responses: Responses) -> None:
        if fit.item_parameters is None:
            raise NotComparableError(
                f"{fit.label} has no item parameters to simulate from.", "Give a fit that has them (mml, map, ...)."
            )
        check_same_data(fit, responses)
        self.items = fit.item_parameters.select(match(responses.item_ids, fit.item_parameters.item_ids).second)
        seen = responses.trials.any(axis=0)
        usable = item_is_usable(self.items)
        if (seen & ~usable).any():
            lacking = [name for name, bad in zip(responses.item_ids, seen & ~usable, strict=True) if bad]
            raise NotComparableError(
                f"{fit.label} has no parameters for {lacking[0]!r} and {len(lacking) - 1} more items.",
                "Simulate from a fit that estimates all items.",
            )
        self.responses = responses
        self.latent = fit.latent_distribution or _latent(fit)
        estimated = self.items.estimated
        self.matched = match_items(responses.select(items=np.flatnonzero(estimated)), self.items)
        self.sure = np.array([status == "constant_all_1" for status in self.items.status])

    def draw(self, generator: np.random.Generator) -> World:
        """Return one data set."""
        theta, drawn = next(draw_worlds(self.matched.responses, self.matched.items, self.latent, [generator]))
        # The sure items tell as little of a person as the missing ones: without others its ability is any.
        theta[np.isnan(theta) & self.responses.trials.any(axis=1)] = self.latent.mean
        successes = np.where(self.sure, self.responses.trials, 0).astype(self.responses.trials.dtype)
        successes[:, self.items.estimated] = drawn.successes
        dtype = smallest_dtype(int(successes.max(initial=0)))
        return World(replace(self.responses, successes=successes.astype(dtype), name="simulated"), theta, self.items)


def _latent(fit: FitResult) -> LatentDistribution:
    """Return a normal distribution with the mean of the estimates and the SD that their errors leave to abilities."""
    abilities = fit.abilities
    if abilities is None or abilities.scale != "logit" or abilities.standard_error is None:
        raise NotComparableError(f"{fit.label} has no distribution of abilities.", "Give a fit that has abilities.")
    mean = float(abilities.estimate[np.isfinite(abilities.estimate)].mean())
    return LatentDistribution(mean, max(latent_sd(fit, abilities)[0], SMALLEST_SD))
