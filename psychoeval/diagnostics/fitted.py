"""A fit and responses brought together: the items that take part, their curves, abilities on them, data like them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.matching import check_fit, check_responses, is_of_other_data, match
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt import scoring
from psychoeval.irt.classical import CountArray
from psychoeval.irt.limited_information import Curves, item_curves, moment_grid
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.matched import histogram
from psychoeval.scoring.worlds import draw_worlds
from psychoeval.wording import some

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Ability = Literal["EAP", "MAP", "ML", "WLE"]

JUDGED: Final = "judged"
#: Why an item has no parameters, by its status in the fit.
_WITHOUT: Final = {
    "constant_all_0": "without parameters: all responses to it are wrong",
    "constant_all_1": "without parameters: all responses to it are right",
    "no_responses": "without parameters: it has no responses",
}


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Responses to the items of a fit.

    Parameters
    ----------
    responses : Responses
        All N persons on the used items.
    parameters : ItemParameters
        Of these items, in this order.
    used : (J,) array of bool
        Which of the given items have parameters.
    because : tuple of str, length J
        Why an item is not used, "" for those that are.
    left_out : tuple of str
        Items that are not used.
    latent : LatentDistribution, optional
        Of the fit.
    notes : tuple of str
    """

    responses: Responses
    parameters: ItemParameters
    used: BoolArray
    because: tuple[str, ...]
    left_out: tuple[str, ...]
    latent: LatentDistribution | None
    notes: tuple[str, ...]

    @property
    def items(self) -> KnownItems:
        """Slopes, intercepts and lower asymptotes of the used items."""
        p = self.parameters
        return KnownItems(p.discrimination, p.intercept, p.guessing)

    @property
    def all_ids(self) -> tuple[str, ...]:
        """Ids of all J given items, in their order."""
        used, lost = iter(self.responses.item_ids), iter(self.left_out)
        return tuple(next(used if good else lost) for good in self.used)

    @property
    def counts(self) -> tuple[CountArray, CountArray]:
        """Successes and trials of the used items, (N, used)."""
        return self.responses.successes, self.responses.trials

    def abilities(self, method: Ability, successes: CountArray | None = None) -> FloatArray:
        """Return everybody's ability, (N,), also had the used items been answered otherwise.

        NaN without responses; infinite ones of ML stay so.
        """
        given, trials = self.counts
        cells = given if successes is None else successes, trials
        known, latent = (self.items.a, self.items.d, self.items.c), self.latent
        if method == "ML":
            return scoring.ml(*cells, *known)[0]
        if method == "WLE" or latent is None:
            return scoring.wle(*cells, *known)[0]
        if method == "MAP":
            return scoring.map_(*cells, *known, mean=latent.mean, sd=latent.sd)[0]
        return scoring.eap(*cells, *known, mean=latent.mean, sd=latent.sd, law=histogram(latent))[0]

    def placed(self, values: NDArray[np.generic]) -> FloatArray:
        """Return values of the used items among all J, NaN elsewhere."""
        out = np.full(self.used.size, np.nan)
        out[self.used] = values
        return out

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

    def worlds(self, replications: int, seed: int) -> Iterator[tuple[FloatArray, Responses]]:
        """Yield abilities and data sets drawn from the fit at the observed cells; number r by [seed, r].

        Raises
        ------
        NotComparableError
            If the fit has no distribution of abilities.
        """
        if self.latent is None:
            raise NotComparableError(
                "The fit has no distribution of abilities to draw from.", "Give a fit that has one (mml, mirt-em)."
            )
        generators = [np.random.default_rng([seed, number]) for number in range(replications)]
        return draw_worlds(self.responses, self.items, self.latent, generators)


def fitted(fit: FitResult, responses: Responses) -> Fitted:
    """Match the items of responses and fit by id.

    Raises
    ------
    DataError
        If the fit is none, the responses are none of successes and trials, they have items that the fit does not have,
        or none of them has parameters.
    NotComparableError
        If the fit has no item parameters.
    """
    check_fit(fit)
    check_responses(responses)
    parameters = fit.item_parameters
    if parameters is None:
        raise NotComparableError(f"{fit.label} has no item parameters.", "Give a fit that has them (mml, map, ...).")
    matched = match(responses.item_ids, parameters.item_ids)
    if matched.only_first:
        raise DataError(
            f"{fit.label} does not know the items {some(matched.only_first)}.",
            "Leave them out (responses.select(items=...)), or fit them.",
        )
    index = matched.second
    used = np.asarray(parameters.estimated[index])
    if not used.any():
        raise DataError("None of the items has parameters.", "Judge items that were estimated.")
    because = tuple(
        "" if good else _WITHOUT.get(parameters.status[i], "without finite parameters")
        for i, good in zip(index, used, strict=True)
    )
    left_out = tuple(name for name, good in zip(responses.item_ids, used, strict=True) if not good)
    part = responses.select(items=np.flatnonzero(used)) if left_out else responses
    kept = parameters.select(index[used])
    notes = _notes(fit, responses, left_out)
    return Fitted(part, kept, used, because, left_out, fit.latent_distribution, notes)


def fitted_pairs(fit: FitResult, responses: Responses) -> Fitted:
    """Match the items of a fit and its own responses, of which pairs are to be judged.

    Raises
    ------
    NotComparableError
        If the fit has no item parameters, or was fitted to other responses.
    DataError
        As `fitted`, and if fewer than two items have parameters.
    """
    found = fitted(fit, responses)
    if is_of_other_data(fit, responses):
        raise NotComparableError(f"{fit.label} was fitted to other responses.", "Give the responses of the fit.")
    if found.responses.n_items < 2:
        raise DataError(f"{fit.label} has parameters of one of these items.", "Pairs need two items.")
    return found


def ability_method(fit: FitResult, ability: Ability | None) -> Ability:
    """Return how to score persons: EAP where the fit has a distribution of abilities, else WLE, unless told.

    Raises
    ------
    SettingsError
        For an unknown way, or one that needs a distribution of abilities that the fit does not have.
    """
    latent = fit.latent_distribution
    if ability is None:
        return "WLE" if latent is None else "EAP"
    if ability not in get_args(Ability):
        raise SettingsError(f"ability is {ability!r}.", f"Give one of {', '.join(map(repr, get_args(Ability)))}.")
    if ability in ("EAP", "MAP") and latent is None:
        raise SettingsError(
            f"{fit.label} has no distribution of abilities, which {ability} needs.", 'Give ability="WLE" or "ML".'
        )
    if ability == "MAP" and latent is not None and latent.nodes is not None:
        raise SettingsError("MAP needs a normal distribution of abilities.", 'Give ability="EAP".')
    return ability


def _notes(fit: FitResult, responses: Responses, left_out: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if is_of_other_data(fit, responses):
        notes.append("The responses are not those of the fit: items are judged as known, and p values are for that.")
    if left_out:
        notes.append(
            f"{len(left_out)} of {responses.n_items} items have no parameters and take no part: {some(left_out)}."
        )
    if not fit.convergence.believed:
        notes.append(f"The fit is not to be believed: {fit.convergence.status}.")
    return tuple(notes)
