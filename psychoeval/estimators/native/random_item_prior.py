"""Densities of the population's own parameters: of the slopes' SD, of the correlation, and of guessing if stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.random_item_population import (
    LOG_LOCATION_SD,
    LOG_SLOPE_SD,
    LOGIT_GUESSING,
    REGRESSION,
    SIZE,
    Population,
)
from psychoeval.irt.models import Beta, LogitNormal

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PopulationPrior:
    """Log density of the population's parameters.

    The SD s of log slopes has the density s exp(-s), a gamma of shape 2, which is 0 at s = 0: few persons on few
    items would otherwise often put s there, and with it all errors of slopes. Elsewhere it moves s by a standard error
    at most. Source: Chung, Rabe-Hesketh, Dorie, Gelman & Liu (2013), doi:10.1007/s11336-013-9328-2.

    The correlation rho of log slope and location has the density 3 (1 - rho^2) / 4, which keeps it off -1 and 1, where
    few persons would otherwise put it. Source: Lewandowski, Kurowicka & Joe (2009), doi:10.1016/j.jmva.2009.04.008, at
    shape 2.

    The lower asymptote c, common to all items, has the model's density, once: a logit-normal is that of logit c; a beta
    is that of c, without the Jacobian, so that the mode is that in c.
    """

    guessing: Beta | LogitNormal | None = None

    def value(self, population: Population) -> float:
        """Return the log density."""
        out = 0.0
        if population.free[LOG_SLOPE_SD]:
            log_sd = float(population.values[LOG_SLOPE_SD])
            out += log_sd - float(np.exp(log_sd))
        if population.free[REGRESSION]:
            out += float(np.log(0.75) - np.log1p(_odds(population)))
        g, c = population.values[LOGIT_GUESSING], population.guessing
        match self.guessing:
            case LogitNormal(mean, sd):
                out += float(-0.5 * ((g - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi))
            case Beta(alpha, beta):
                out += float((alpha - 1.0) * np.log(c) + (beta - 1.0) * np.log1p(-c))
        return out

    def gradient(self, population: Population) -> FloatArray:
        """Return the derivatives by the parameters, (5,)."""
        out = np.zeros(SIZE)
        if population.free[LOG_SLOPE_SD]:
            out[LOG_SLOPE_SD] = 1.0 - np.exp(population.values[LOG_SLOPE_SD])
        if population.free[REGRESSION]:
            v = population.values
            share = 2.0 / (1.0 + _odds(population))
            out[LOG_SLOPE_SD] -= share * _odds(population)
            out[LOG_LOCATION_SD] = share * _odds(population)
            out[REGRESSION] = -share * v[REGRESSION] * np.exp(2.0 * (v[LOG_SLOPE_SD] - v[LOG_LOCATION_SD]))
        g, c = population.values[LOGIT_GUESSING], population.guessing
        match self.guessing:
            case LogitNormal(mean, sd):
                out[LOGIT_GUESSING] = -(g - mean) / sd**2
            case Beta(alpha, beta):
                out[LOGIT_GUESSING] = (alpha - 1.0) * (1.0 - c) - (beta - 1.0) * c
        return out


def _odds(population: Population) -> float:
    """rho^2 / (1 - rho^2)."""
    v = population.values
    return float((v[REGRESSION] * np.exp(v[LOG_SLOPE_SD] - v[LOG_LOCATION_SD])) ** 2)
