"""Sweeps to the largest evidence lower bound, accelerated without ever lowering it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.variational_steps import MeanField, Sweep

FloatArray = NDArray[np.float64]

#: Earlier sweeps that an accelerated step looks back on.
MEMORY: Final = 10
#: Singular values, of unit steps, below which they are taken as linearly dependent.
DEPENDENT: Final = 1e-6
#: Rounding of a sum of this size: bounds that differ by less are equal.
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Where the sweeps ended.

    Parameters
    ----------
    sweep : Sweep
        The last one; the answer is `sweep.at`, of which its bound is.
    iterations : int
        Sweeps done, those not accepted included.
    last_change : float
        Largest change of a factor's parameter (means, and logs of SDs) by that sweep.
    converged : bool
    interrupted : bool
        Whether Ctrl-C ended the search.
    bounds : tuple of float
        After each accepted iteration; never falls.
    """

    sweep: Sweep
    iterations: int
    last_change: float
    converged: bool
    interrupted: bool
    bounds: tuple[float, ...]


def maximize(problem: MeanField, *, tolerance: float, max_iterations: int, return_interrupted: bool = False) -> Optimum:
    """Return the stationary point that accelerated sweeps reach from `problem.start()`.

    Each iteration extrapolates from the last sweeps (Anderson acceleration; Walker & Ni 2011,
    doi:10.1137/10078356X); where the bound at that point is lower than before, the plain sweep is taken.

    Parameters
    ----------
    problem : MeanField
    tolerance : float
        Converged when one sweep changes no parameter by more, nor the last iteration the bound.
    max_iterations : int
    return_interrupted : bool
        Whether Ctrl-C ends the search and not the program.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _maximize(problem, tolerance, max_iterations, return_interrupted)


def _maximize(problem: MeanField, tolerance: float, max_iterations: int, return_interrupted: bool) -> Optimum:
    here = problem.sweep(problem.start())
    points, steps, bounds, iterations = [here.at.vector], [_step(here)], [here.elbo], 1
    converged = interrupted = False
    try:
        while iterations < max_iterations and not converged:
            trial = problem.sweep(here.at.with_vector(extrapolated(points, steps)))
            iterations += 1
            rounding = ROUNDING * abs(here.elbo)
            if not trial.elbo >= here.elbo - rounding and len(points) > 1:
                trial, points, steps = problem.sweep(here.next), [], []
                iterations += 1
            if not np.isfinite(trial.elbo):
                break
            gain, here = trial.elbo - here.elbo, trial
            points, steps = [*points[-MEMORY:], here.at.vector], [*steps[-MEMORY:], _step(here)]
            bounds.append(here.elbo)
            converged = bool(np.abs(steps[-1]).max() <= tolerance and abs(gain) <= max(tolerance, rounding))
    except KeyboardInterrupt:
        if not return_interrupted:
            raise
        interrupted = True
    return Optimum(here, iterations, float(np.abs(_step(here)).max()), converged, interrupted, tuple(bounds))


def extrapolated(points: list[FloatArray], steps: list[FloatArray]) -> FloatArray:
    """Return the point that the affine combination of the last (point, step) with the shortest step leads to.

    Parameters
    ----------
    points, steps : lists of (P,) arrays
        Latest last; with one of each it is the plain sweep.
    """
    point, step = points[-1], steps[-1]
    if len(points) == 1:
        return point + step
    moved, turned = np.diff(points, axis=0), np.diff(steps, axis=0)
    lengths = np.linalg.norm(turned, axis=1)  # of very unequal size: old steps are long, new ones short
    lengths[lengths == 0] = 1.0
    share, *_ = np.linalg.lstsq((turned / lengths[:, None]).T, step, rcond=DEPENDENT)
    return np.asarray(point + step - (share / lengths) @ (moved + turned))


def _step(sweep: Sweep) -> FloatArray:
    return np.asarray(sweep.next.vector - sweep.at.vector)
