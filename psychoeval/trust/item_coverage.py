"""How many items lie near each system's ability: there alone do responses tell much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.matching import check_same_data, match
from psychoeval.errors import NotComparableError
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.trust.thresholds import FEW_ITEMS, NEAR

FloatArray = NDArray[np.float64]

#: Cells of persons x items looked at a time.
_BLOCK_CELLS: Final = 1 << 22
#: Estimates that are centers of a posterior: they vary less than abilities do.
SHRUNK: Final = ("EAP", "MAP")


@dataclass(frozen=True, slots=True, eq=False)
class ItemCoverage:
    """Items near each system, in the order of the responses.

    Parameters
    ----------
    label : str
        Of the fit.
    person_ids : tuple of str, length N
    ability : (N,) array
        In logits; NaN where a system has none.
    difficulty : (J,) array
        Of all items in logits; NaN where an item has none (constant, or never run).
    near : (N,) integer array
        n_i = number of items that system i was given with |b_j - theta_i| <= `window`. An infinite ability has none.
    window : float
        In logits: .2 latent SDs.
    latent_sd : float
    sd_source : str
        Whose SD it is.
    """

    label: str
    person_ids: tuple[str, ...]
    ability: FloatArray
    difficulty: FloatArray
    near: NDArray[np.intp]
    window: float
    latent_sd: float
    sd_source: str

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which systems have an ability, (N,)."""
        return ~np.isnan(self.ability)

    @property
    def insufficient(self) -> NDArray[np.bool_]:
        """Which systems have an ability and at most 5 items near it, (N,)."""
        return self.known & (self.near <= FEW_ITEMS.value)

    @property
    def share(self) -> float:
        """Share of insufficiently covered systems among those with an ability."""
        return float(self.insufficient.sum() / self.known.sum())


def item_coverage(responses: Responses, fit: FitResult) -> ItemCoverage:
    """Count for each system the items within .2 latent SDs of its ability.

    As in METHODS of arXiv:2607.15190, but that with missing cells only the items count that the system was given, and
    that estimates stand for the true values.

    Parameters
    ----------
    responses : Responses
        The data of the fit.
    fit : FitResult

    Returns
    -------
    ItemCoverage

    Raises
    ------
    NotComparableError
        If the fit has no abilities or difficulties in logits, or no SD of them, or is of other data.
    """
    check_same_data(fit, responses)
    items, abilities = fit.item_parameters, fit.abilities
    if items is None or abilities is None or abilities.scale != "logit":
        raise NotComparableError(
            f"{fit.label} has no abilities and difficulties on one scale.", "Give a fit of an item response model."
        )
    theta = abilities_in_order(responses, abilities)[0]
    if np.isnan(theta).all():
        raise NotComparableError(f"{fit.label} has no ability of any {responses.person_label}.", "Give another fit.")
    columns = match(responses.item_ids, items.item_ids).second
    # b of a slope near 0 may be any number: such an item is near nobody.
    usable = items.estimated & items.difficulty_is_stable
    difficulty = np.where(usable, items.difficulty, np.nan)[columns]
    sd, source = latent_sd(fit, abilities)
    if not sd > 0:
        raise NotComparableError(
            f"The abilities of {fit.label} vary no more than their errors do: their unit is not known.",
            "Give a fit with a latent distribution, such as mml.",
        )
    near = _count(theta, difficulty, responses, NEAR.value * sd)
    return ItemCoverage(fit.label, responses.person_ids, theta, difficulty, near, NEAR.value * sd, sd, source)


def latent_sd(fit: FitResult, abilities: Abilities) -> tuple[float, str]:
    """Return the SD of the latent distribution in logits and where it is from.

    Without a distribution: root of var(estimates) + mean(SE^2) for EAP and MAP, which vary less than abilities, and of
    var(estimates) - mean(SE^2) for others, which vary more.
    """
    if fit.latent_distribution is not None:
        return fit.latent_distribution.sd, "of the fit's latent distribution"
    known = np.isfinite(abilities.estimate)
    spread = float(np.var(abilities.estimate[known]))
    if abilities.standard_error is None:
        return float(np.sqrt(spread)), "of the estimates"
    errors = abilities.standard_error[known & np.isfinite(abilities.standard_error)]
    error = float(np.mean(errors**2)) if errors.size else 0.0
    variance = spread + error if abilities.method in SHRUNK else max(spread - error, 0.0)
    return float(np.sqrt(variance)), "of the estimates, corrected for their errors"


def abilities_in_order(responses: Responses, abilities: Abilities) -> tuple[FloatArray, FloatArray]:
    """Return estimates and standard errors in the order of the responses, (N,) each; NaN where there is none."""
    rows = match(responses.person_ids, abilities.person_ids).second
    if abilities.standard_error is None:
        return abilities.estimate[rows], np.full(rows.size, np.nan)
    return abilities.estimate[rows], abilities.standard_error[rows]


def _count(theta: FloatArray, difficulty: FloatArray, responses: Responses, window: float) -> NDArray[np.intp]:
    columns = np.flatnonzero(np.isfinite(difficulty))
    out = np.zeros(theta.size, dtype=np.intp)
    step = max(1, _BLOCK_CELLS // max(1, columns.size))
    for start in range(0, theta.size, step):
        rows = slice(start, start + step)
        # NaN and infinite abilities are near no item.
        close = np.abs(difficulty[columns] - theta[rows, None]) <= window
        out[rows] = np.count_nonzero(close & (responses.trials[rows][:, columns] > 0), axis=1)
    return out
