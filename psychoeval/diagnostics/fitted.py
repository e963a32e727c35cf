"""A fit and responses brought together: the items that take part, and everybody's ability on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.matching import check_fit, check_responses, is_of_other_data, match
from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.irt import scoring
from psychoeval.irt.classical import CountArray
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.matched import histogram
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
        All N persons and J items, as they were given.
    used : (J,) array of bool
        Which items have parameters.
    items : KnownItems
        Those of the used ones.
    because : tuple of str, length J
        Why an item is not used, "" for those that are.
    latent : LatentDistribution, optional
    ability : {"EAP", "MAP", "ML", "WLE"}
    theta : (N,) array
        Abilities by that method on the used items; NaN without responses, infinite ones of ML stay so.
    notes : tuple of str
    """

    responses: Responses
    used: BoolArray
    items: KnownItems
    because: tuple[str, ...]
    latent: LatentDistribution | None
    ability: Ability
    theta: FloatArray
    notes: tuple[str, ...]

    @property
    def counts(self) -> tuple[CountArray, CountArray]:
        """Successes and trials of the used items, (N, used)."""
        return self.responses.successes[:, self.used], self.responses.trials[:, self.used]

    def abilities(self, successes: CountArray) -> FloatArray:
        """Return everybody's ability by `ability`, (N,), had the used items been answered like this."""
        return _abilities((successes, self.counts[1]), self.items, self.ability, self.latent)

    def placed(self, values: NDArray[np.generic]) -> FloatArray:
        """Return values of the used items among all J, NaN elsewhere."""
        out = np.full(self.used.size, np.nan)
        out[self.used] = values
        return out


def fitted(fit: FitResult, responses: Responses, ability: Ability | None) -> Fitted:
    """Match items by id and score everybody on them.

    Raises
    ------
    DataError
        If the fit is none, the responses are none of successes and trials, or have items that the fit does not have.
    ModelError
        If the fit has no item parameters.
    SettingsError
        For an unknown ability, or one that needs a distribution of abilities that the fit does not have.
    """
    check_fit(fit)
    check_responses(responses)
    parameters = fit.item_parameters
    if parameters is None or fit.model is None:
        raise ModelError(
            f"{fit.label} has no item parameters.", "Judge fits of an item response model, such as those of mml."
        )
    matched = match(responses.item_ids, parameters.item_ids)
    if unknown := matched.only_first:
        raise DataError(
            f"{len(unknown)} of {responses.n_items} items of the responses are not in the fit: {some(unknown)}.",
            "Leave them out (responses.select(items=...)), or fit them.",
        )
    index = matched.second
    used = np.asarray(parameters.estimated[index])
    if not used.any():
        raise DataError("None of the items has parameters.", "Judge items that were estimated.")
    kept = index[used]
    items = KnownItems(parameters.discrimination[kept], parameters.intercept[kept], parameters.guessing[kept])
    because = tuple(
        "" if good else _WITHOUT.get(parameters.status[i], "without finite parameters")
        for i, good in zip(index, used, strict=True)
    )
    method = _method(fit, ability)
    cells = responses.successes[:, used], responses.trials[:, used]
    theta = _abilities(cells, items, method, fit.latent_distribution)
    return Fitted(responses, used, items, because, fit.latent_distribution, method, theta, _notes(fit, responses, used))


def _method(fit: FitResult, ability: Ability | None) -> Ability:
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


def _abilities(
    cells: tuple[CountArray, CountArray], items: KnownItems, method: Ability, latent: LatentDistribution | None
) -> FloatArray:
    known = items.a, items.d, items.c
    if method == "ML":
        return scoring.ml(*cells, *known)[0]
    if method == "WLE" or latent is None:
        return scoring.wle(*cells, *known)[0]
    if method == "MAP":
        return scoring.map_(*cells, *known, mean=latent.mean, sd=latent.sd)[0]
    return scoring.eap(*cells, *known, mean=latent.mean, sd=latent.sd, law=histogram(latent))[0]


def _notes(fit: FitResult, responses: Responses, used: BoolArray) -> tuple[str, ...]:
    notes = []
    if is_of_other_data(fit, responses):
        notes.append("The responses are not those of the fit: items are judged as known, and p values are for that.")
    if not used.all():
        without = [name for name, good in zip(responses.item_ids, used, strict=True) if not good]
        notes.append(f"{len(without)} of {used.size} items have no parameters and take no part: {some(without)}.")
    if not fit.convergence.believed:
        notes.append(f"The fit is not to be believed: {fit.convergence.status}.")
    return tuple(notes)
