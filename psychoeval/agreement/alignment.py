"""The transformation law of the latent scale, and the frames that fits are given in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import NotComparableError
from psychoeval.irt.linking_law import by_items, linked
from psychoeval.irt.parameters import UNSTABLE_SLOPE, Abilities, ItemParameters
from psychoeval.results.fit_result import FitResult, LatentDistribution

FloatArray = NDArray[np.float64]
Freedom = Literal["none", "shift", "scale", "scale and shift"]


@dataclass(frozen=True, slots=True)
class Transformation:
    """A change of origin, unit and direction of the latent scale that leaves every probability as it is.

    theta* = A theta + B; what becomes of items is said in `psychoeval.irt.linking_law`.

    Parameters
    ----------
    scale : float
        A; negative where the direction is turned round.
    shift : float
        B, in the new unit.

    Examples
    --------
    >>> Transformation(2.0, 1.0).then(Transformation(0.5, -0.5))
    Transformation(scale=1.0, shift=0.0)
    """

    scale: float = 1.0
    shift: float = 0.0

    def then(self, other: Transformation) -> Transformation:
        """Return this transformation followed by `other`."""
        return Transformation(other.scale * self.scale, other.scale * self.shift + other.shift)

    @property
    def inverse(self) -> Transformation:
        """The transformation back."""
        return Transformation(1.0 / self.scale, -self.shift / self.scale)

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return self.scale == 1.0 and self.shift == 0.0

    def items(self, given: ItemParameters) -> ItemParameters:
        """Return item parameters on the new scale, covariance blocks included; the joint covariance is dropped."""
        covariance, jacobian = given.covariance, by_items(self.scale, self.shift)
        if covariance is not None:
            covariance = jacobian @ covariance @ jacobian.T
        items = np.stack([given.discrimination, given.intercept, given.guessing], axis=1)
        moved = linked(items, self.scale, self.shift)
        return ItemParameters(
            given.item_ids,
            moved[:, 0],
            moved[:, 1],
            given.guessing,
            covariance,
            given.status,
            given.no_errors_because,
        )

    def abilities(self, given: Abilities) -> Abilities:
        """Return abilities on the new scale, with their errors.

        Raises
        ------
        NotComparableError
            For proportions: their unit is the item, not a convention.
        """
        if given.scale != "logit":
            raise NotComparableError(
                "Abilities on the proportion scale have no free origin or unit.", "Compare them by ranks."
            )
        error, covariance, unit = given.standard_error, given.covariance, abs(self.scale)
        return replace(
            given,
            estimate=self.scale * given.estimate + self.shift,
            standard_error=None if error is None else unit * error,
            covariance=None if covariance is None else unit**2 * covariance,
        )

    def latent(self, given: LatentDistribution) -> LatentDistribution:
        """Return the latent distribution on the new scale."""
        error, unit = given.sd_standard_error, abs(self.scale)
        return LatentDistribution(
            self.scale * given.mean + self.shift,
            unit * given.sd,
            None if given.nodes is None else self.scale * given.nodes + self.shift,
            given.weights,
            None if error is None else unit * error,
        )

    def fit(self, given: FitResult) -> FitResult:
        """Return a fit with abilities, items and latent distribution on the new scale; draws stay on their own."""
        if self.is_identity:
            return given
        return replace(
            given,
            abilities=None if given.abilities is None else self.abilities(given.abilities),
            item_parameters=None if given.item_parameters is None else self.items(given.item_parameters),
            latent_distribution=None if given.latent_distribution is None else self.latent(given.latent_distribution),
            draws=None,
        )


def standardisation(fit: FitResult) -> Transformation | None:
    """Return the transformation to the frame in which abilities have mean 0 and SD 1; None if it is not known.

    This is what the models' identification implies and no more: a Rasch fit (a = 1, latent variance free) becomes
    a 1PL fit (common a = the latent SD), and nothing is estimated from the other fit. Fits without a latent
    distribution are taken to be in that frame if their model says so (1PL, 2PL, 3PL); imported ones are not.
    """
    latent = fit.latent_distribution
    if latent is not None:
        known = np.isfinite(latent.mean) and np.isfinite(latent.sd) and latent.sd > 0
        return Transformation(1.0 / latent.sd, -latent.mean / latent.sd) if known else None
    native = fit.model is not None and fit.model.name != "Rasch" and fit.convergence.status != "imported"
    return Transformation() if native else None


def standardised(fit: FitResult) -> tuple[FitResult, Transformation | None]:
    """Return a fit in the standard frame and the transformation that led there, or as given and None.

    The common slope of a standardised Rasch fit is the latent SD, and takes its standard error; its covariance with
    the intercepts is not known and left at 0. Proportions stay as they are.
    """
    if fit.abilities is not None and fit.abilities.scale != "logit":
        return fit, None
    to_standard = standardisation(fit)
    if to_standard is None:
        return fit, None
    moved, latent, items = to_standard.fit(fit), fit.latent_distribution, fit.item_parameters
    rasch = fit.model is not None and fit.model.name == "Rasch"
    if not rasch or latent is None or latent.sd_standard_error is None or items is None or items.covariance is None:
        return moved, to_standard
    standard = to_standard.items(items)
    assert standard.covariance is not None
    covariance = standard.covariance.copy()
    covariance[:, 0, 0] = np.where(standard.estimated, latent.sd_standard_error**2, np.nan)
    return replace(moved, item_parameters=replace(standard, covariance=covariance)), to_standard


def points_backwards(items: ItemParameters) -> bool:
    """Whether most of the finite slopes are negative: then high theta means less of what the items ask."""
    a = items.discrimination[np.isfinite(items.discrimination)]
    return bool(np.count_nonzero(a < 0) > np.count_nonzero(a > 0))


def estimate_transformation(
    first: tuple[FloatArray, FloatArray] | None,
    second: tuple[FloatArray, FloatArray] | None,
    abilities: tuple[FloatArray, FloatArray] | None,
    freedom: Freedom,
) -> Transformation | None:
    """Estimate the transformation that takes the second fit onto the first.

    From items: A = exp(median log(a2 / a1)), then B = median((d2 - d1) A / a2); medians, because a runaway item must
    not set the scale of the others. Without common items from abilities: A = SD1 / SD2, B = mean1 - A mean2.

    Parameters
    ----------
    first, second : (slopes, intercepts), each (J,), optional
        Of the common items.
    abilities : (first, second), each (N,), optional
        Of the common persons; used where items cannot be.
    freedom : str
        What may differ; the rest is taken as equal.

    Returns
    -------
    Transformation or None
        None if nothing finite is common.
    """
    if freedom == "none":
        return Transformation()
    if first is not None and second is not None:
        (a1, d1), (a2, d2) = first, second
        usable = np.isfinite(a1 + d1 + a2 + d2) & (np.abs(a1) >= UNSTABLE_SLOPE) & (np.abs(a2) >= UNSTABLE_SLOPE)
        usable &= np.sign(a1) == np.sign(a2)
        if usable.any():
            a1, d1, a2, d2 = a1[usable], d1[usable], a2[usable], d2[usable]
            scale = 1.0 if freedom == "shift" else float(np.exp(np.median(np.log(a2 / a1))))
            shift = 0.0 if freedom == "scale" else float(np.median((d2 - d1) / (a2 / scale)))
            return Transformation(scale, shift)
    if abilities is not None:
        both = np.isfinite(abilities[0]) & np.isfinite(abilities[1])
        x, y = abilities[0][both], abilities[1][both]
        if x.size >= 2 and np.ptp(y) > 0 and np.ptp(x) > 0:
            scale = 1.0 if freedom == "shift" else float(x.std() / y.std())
            return Transformation(scale, 0.0 if freedom == "scale" else float(x.mean() - scale * y.mean()))
    return None
