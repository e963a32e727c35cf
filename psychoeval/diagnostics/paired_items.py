"""The items of a fit among its responses, and their curves over its distribution of abilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychoeval.agreement.matching import check_fit, check_responses, is_of_other_data, match
from psychoeval.errors import DataError, NotComparableError
from psychoeval.irt.limited_information import Curves, item_curves, moment_grid
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.matched import histogram
from psychoeval.wording import some


@dataclass(frozen=True, slots=True, eq=False)
class PairedItems:
    """The part of the responses whose items have parameters.

    Parameters
    ----------
    responses : Responses
        All persons on the J items that have parameters.
    parameters : ItemParameters
        Of these items, in this order.
    latent : LatentDistribution or None
        Of the fit.
    left_out : tuple of str
        Items without parameters.
    """

    responses: Responses
    parameters: ItemParameters
    latent: LatentDistribution | None
    left_out: tuple[str, ...]

    @property
    def items(self) -> KnownItems:
        """Slopes, intercepts and lower asymptotes, (J,) each."""
        p = self.parameters
        return KnownItems(p.discrimination, p.intercept, p.guessing)

    def curves(self) -> Curves | None:
        """Return the curves at nodes of the latent distribution; None where the fit has no distribution.

        Of a normal one, with mean m and SD s, the abilities are put on N(0, 1): slopes a s, intercepts d + a m.
        """
        if self.latent is None:
            return None
        k, law = self.items, histogram(self.latent)
        if law is not None:
            return item_curves(k.a, k.d, k.c, law)
        a = k.a * self.latent.sd
        return item_curves(a, k.d + k.a * self.latent.mean, k.c, moment_grid(a))


def paired_items(fit: FitResult, responses: Responses) -> PairedItems:
    """Return the items of the responses that the fit has parameters of.

    Raises
    ------
    NotComparableError
        If the fit has no item parameters, or was fitted to other responses.
    DataError
        If one of the two is none, items of the responses are unknown to the fit, or fewer than two have parameters.
    """
    check_fit(fit)
    check_responses(responses)
    if fit.item_parameters is None:
        raise NotComparableError(f"{fit.label} has no item parameters.", "Give a fit that has them (mml, map, ...).")
    if is_of_other_data(fit, responses):
        raise NotComparableError(f"{fit.label} was fitted to other responses.", "Give the responses of the fit.")
    items = match(responses.item_ids, fit.item_parameters.item_ids)
    if items.only_first:
        raise DataError(
            f"{fit.label} does not know the items {some(items.only_first)}.",
            "Leave them out (responses.select(items=...)).",
        )
    index = items.second
    usable = fit.item_parameters.estimated[index]
    if usable.sum() < 2:
        raise DataError(f"{fit.label} has parameters of {int(usable.sum())} of these items.", "Pairs need two items.")
    left_out = tuple(name for name, good in zip(responses.item_ids, usable, strict=True) if not good)
    part = responses.select(items=np.flatnonzero(usable)) if left_out else responses
    return PairedItems(part, fit.item_parameters.select(index[usable]), fit.latent_distribution, left_out)
