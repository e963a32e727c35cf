"""What the priors of the items add to the joint likelihood: negative log densities and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.models import Normal

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Penalty:
    """Negative log prior densities, constants dropped.

    Parameters
    ----------
    slope : Normal, optional
        Density of log a; None where slopes are fixed.
    location : Normal, optional
        Density of the location.
    on_difficulty : bool
        Whether `location` is about b = -d / a; otherwise about the intercept d.
    """

    slope: Normal | None
    location: Normal | None
    on_difficulty: bool

    def slope_terms(self, u: FloatArray) -> tuple[float, FloatArray, float]:
        """Return value, gradient and second derivative of the penalty on u = log a."""
        if self.slope is None:
            return 0.0, np.zeros_like(u), 0.0
        z = (u - self.slope.mean) / self.slope.sd
        return 0.5 * float(z @ z), z / self.slope.sd, self.slope.sd**-2

    def location_terms(self, u: FloatArray, d: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the penalty on the locations of J items and its derivatives by (u, d).

        Returns
        -------
        value : float
        gradient : (J, 2) array
        hessian : (J, 2, 2) array
        gauss_newton : (J, 2, 2) array
            The part of the Hessian that is never negative.
        """
        j = d.size
        if self.location is None:
            return 0.0, np.zeros((j, 2)), np.zeros((j, 2, 2)), np.zeros((j, 2, 2))
        mean, precision = self.location.mean, self.location.sd**-2
        jacobian, curved = np.zeros((j, 2)), np.zeros((j, 2, 2))
        if self.on_difficulty:
            slope = np.exp(-u)
            value = -d * slope
            jacobian[:, 0], jacobian[:, 1] = -value, -slope
            curved[:, 0, 0], curved[:, 0, 1], curved[:, 1, 0] = value, slope, slope
        else:
            value = d
            jacobian[:, 1] = 1.0
        z = precision * (value - mean)
        gauss_newton = precision * jacobian[:, :, None] * jacobian[:, None, :]
        hessian = gauss_newton + z[:, None, None] * curved
        return 0.5 * float(z @ (value - mean)), z[:, None] * jacobian, hessian, gauss_newton
