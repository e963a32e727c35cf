"""Test information: how exactly a set of items measures each ability."""

# ruff: noqa: PT028 (the test is one of ability)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import NotComparableError, SettingsError
from psychoeval.estimators.settings import check_flag, check_positive
from psychoeval.irt.expected_score import total_information
from psychoeval.irt.information_curve import MOST_NODES, peak, ranges_above, reliability
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.score_equations import KnownItems, information_terms
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring.item_sets import item_set
from psychoeval.scoring.matched import histogram

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: Default threshold of standard errors in latent SDs s: s^2 / (s^2 + SE^2) is .8 there.
THRESHOLD: Final = 0.5
#: Half-width of the default grid in latent SDs, and its nodes.
_WIDTH, _NODES = 4.0, 161


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestInformation:
    """Fisher's information of a set of J items, one trial each.

    Parameters
    ----------
    ability, information, standard_error : (Q,) arrays
        SE = 1 / sqrt(information), in logits, is that of maximum likelihood; inf where there is no information.
    item_ids : tuple of str, length J
    item_information : (Q, J) array, optional
    peak : float
        The ability at which the information is largest.
    peak_information : float
    threshold : float
        Of the standard error, in logits.
    below : tuple of (low, high)
        Abilities from low to high have a standard error of at most `threshold`; none where no ability has.
    reliability : float
        Marginal reliability E[I s^2 / (I s^2 + 1)] over the latent distribution, s its SD: 1 - E[1 / (I + 1 / s^2)] /
        s^2, the share of variance that posterior means keep. It is mirt's `marginal_rxx` where s = 1; of another s mirt
        1.48 takes I / (I + s^2) over N(0, 1) instead.
    latent_mean, latent_sd : float
    """

    __test__ = False

    ability: FloatArray
    information: FloatArray
    standard_error: FloatArray
    item_ids: tuple[str, ...]
    item_information: FloatArray | None
    peak: float
    peak_information: float
    threshold: float
    below: tuple[tuple[float, float], ...]
    reliability: float
    latent_mean: float
    latent_sd: float

    def __repr__(self) -> str:
        return (
            f"<TestInformation of {len(self.item_ids)} items: at most {self.peak_information:.4g} at {self.peak:.3g}, "
            f"marginal reliability {self.reliability:.3f}>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each ability: ``ability, information, std_error``, then the items by id if asked for."""
        import pandas as pd

        table = pd.DataFrame(
            {"ability": self.ability, "information": self.information, "std_error": self.standard_error}
        )
        if self.item_information is None:
            return table
        items = pd.DataFrame(self.item_information, columns=list(self.item_ids))
        return pd.concat([table, items], axis=1)


def test_information(
    given: FitResult | ItemParameters,
    ability: ArrayLike | None = None,
    *,
    items: Sequence[str] | None = None,
    per_item: bool = False,
    threshold: float | None = None,
    latent: LatentDistribution | None = None,
) -> TestInformation:
    """Return the information of a set of items and the standard errors that it implies, at each ability.

    I(theta) = sum_j P_j'^2 / (P_j (1 - P_j)) and SE = 1 / sqrt(I), for one trial of each item. Lord (1980),
    Applications of item response theory, eq. 5-6.

    Parameters
    ----------
    given : FitResult or ItemParameters
        Items with a, d, c on the logit scale. Items that were constant in the data have no information; others without
        parameters are left out, with a warning.
    ability : (Q,) array-like, optional
        In logits; by default 161 from -4 to 4 latent SDs.
    items : sequence of str, optional
        Ids of the set; by default all.
    per_item : bool
        Whether each item's information is kept, (Q, J).
    threshold : float, optional
        Of the standard error, in logits; by default half the latent SD, where s^2 / (s^2 + SE^2) = .8.
    latent : LatentDistribution, optional
        For the marginal reliability; by default the fit's, or N(0, 1).

    Returns
    -------
    TestInformation

    Raises
    ------
    NotComparableError
        If a fit has no item parameters in logits.
    DataError, SettingsError
        If items are unknown or none has parameters, or an argument is not what it must be.

    Examples
    --------
    >>> known = ItemParameters.from_difficulty(["q1", "q2"], 2.0, [0.0, 0.0])
    >>> found = test_information(known, [0.0])
    >>> found.information, found.peak_information
    (array([2.]), 2.0)
    """
    check_flag(per_item=per_item)
    known, law = _parts(given, latent)
    density = histogram(law)
    mean, sd = law.mean, law.sd
    if density is not None:
        weights = np.exp(density.log_weights)
        mean = float(weights @ density.nodes)
        sd = float(np.sqrt(weights @ (density.nodes - mean) ** 2))
    limit = THRESHOLD * sd if threshold is None else threshold
    check_positive(threshold=limit)
    chosen = item_set(known, items, None, None)
    theta = mean + sd * np.linspace(-_WIDTH, _WIDTH, _NODES) if ability is None else _abilities(ability)
    measures = KnownItems(*_with_slope(chosen.items))
    info = total_information(theta, measures)
    with np.errstate(divide="ignore"):
        error = 1.0 / np.sqrt(info)
    best, most = peak(measures)
    return TestInformation(
        theta, info, error, chosen.item_ids, _each(theta, chosen.items) if per_item else None, best, most, limit,
        ranges_above(measures, limit**-2.0), reliability(measures, mean, sd, density), mean, sd,
    )  # fmt: skip


def _parts(
    given: FitResult | ItemParameters, latent: LatentDistribution | None
) -> tuple[ItemParameters, LatentDistribution]:
    if isinstance(given, ItemParameters):
        return given, latent or LatentDistribution()
    if not isinstance(given, FitResult):
        raise SettingsError(f"A {type(given).__name__} was given.", "Give a FitResult or ItemParameters.")
    if given.item_parameters is None:
        raise NotComparableError(
            f"{given.label} has no item parameters in logits.", "Fit an item response model (mml, map, ...)."
        )
    return given.item_parameters, latent or given.latent_distribution or LatentDistribution()


def _abilities(given: ArrayLike) -> FloatArray:
    theta = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if theta.ndim != 1 or not theta.size or not np.isfinite(theta).all() or theta.size > MOST_NODES:
        raise SettingsError(
            f"ability has shape {theta.shape}, or values that are not finite.",
            f"Give from 1 to {MOST_NODES:,} abilities in logits.",
        )
    return theta


def _with_slope(items: KnownItems) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the parameters of the items that measure at all."""
    sloped = items.a != 0
    return items.a[sloped], items.d[sloped], items.c[sloped]


def _each(theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return each item's information, (Q, J)."""
    out = np.zeros((theta.size, items.a.size))
    sloped = items.a != 0
    out[:, sloped] = information_terms(theta, KnownItems(*_with_slope(items)))
    return out
