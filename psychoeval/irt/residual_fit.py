"""Infit and outfit: mean squares of what is left of the responses at known abilities. Arrays in, arrays out."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.classical import CountArray
from psychoeval.irt.curves import log_probabilities
from psychoeval.irt.quadrature import person_blocks
from psychoeval.irt.score_equations import KnownItems

FloatArray = NDArray[np.float64]

#: Largest SD of a mean square in its standardized version: mirt's and eRm's bound, beyond which a cube root of a mean
#: square is far from normal.
LARGEST_SD: Final = 1.4142


class Sums(NamedTuple):
    """Sums over the K cells of each item or person, with r = x - n P, W = n P (1 - P), C = E r^4.

    Attributes
    ----------
    cells : K
    squares : sum r^2
    variance : sum W
    standardized : sum r^2 / W
    fourth : sum C - W^2
    relative_fourth : sum C / W^2
    """

    cells: FloatArray
    squares: FloatArray
    variance: FloatArray
    standardized: FloatArray
    fourth: FloatArray
    relative_fourth: FloatArray


class MeanSquares(NamedTuple):
    """Infit and outfit of M items or persons with their standardized versions, (M,) each; NaN without a cell."""

    infit: FloatArray
    infit_z: FloatArray
    outfit: FloatArray
    outfit_z: FloatArray


def residual_sums(successes: CountArray, trials: CountArray, theta: FloatArray, items: KnownItems) -> tuple[Sums, Sums]:
    """Return the sums of J items over persons, and of N persons over items.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Trials of 0 are cells that were not administered. A cell of n trials is one binomial count.
    theta : (N,) array
        Persons without a finite ability take no part, and have sums of 0.
    items : KnownItems
    """
    of_items = np.zeros((6, items.a.size))
    of_persons = np.zeros((6, theta.size))
    for rows in person_blocks(theta.size, 8 * items.a.size):
        known = np.isfinite(theta[rows])
        terms = _terms(
            successes[rows], np.where(known[:, None], trials[rows], 0), np.where(known, theta[rows], 0), items
        )
        for k, term in enumerate(terms):
            of_items[k] += term.sum(axis=0)
            of_persons[k, rows] = term.sum(axis=1)
    return Sums(*of_items), Sums(*of_persons)


def _terms(successes: CountArray, trials: CountArray, theta: FloatArray, items: KnownItems) -> tuple[FloatArray, ...]:
    log_right, log_wrong = log_probabilities(theta, items.a, items.d, items.c)
    p, q = np.exp(log_right), np.exp(log_wrong)
    seen = trials > 0
    n = trials.astype(np.float64)
    x = np.where(seen, successes, 0).astype(np.float64)
    variance = n * p * q
    square = (x * q - (n - x) * p) ** 2  # x - n P, without a difference of near numbers
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        standardized = np.where(square > 0, square / variance, 0.0)
        relative = np.where(seen, 3.0 + (1.0 - 6.0 * p * q) / variance, 0.0)
    fourth = variance * (1.0 + 3.0 * (n - 2.0) * p * q - variance)
    return seen.astype(np.float64), square, variance, standardized, fourth, relative


def mean_squares(sums: Sums) -> MeanSquares:
    """Return infit, sum r^2 / sum W, outfit, the mean of r^2 / W, and both standardized.

    z = (M^(1/3) - 1) 3 / q + q / 3 (Wilson and Hilferty) with q the SD of the mean square M under the model at these
    abilities, at most `LARGEST_SD`: q^2 = sum (C - W^2) / (sum W)^2 of infit, sum C / W^2 / K^2 - 1 / K of outfit.
    Source: Wright & Masters (1982), Rating scale analysis, ch. 5.
    """
    k = np.where(sums.cells > 0, sums.cells, np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        infit, outfit = sums.squares / np.where(sums.cells > 0, sums.variance, np.nan), sums.standardized / k
        q_infit = np.sqrt(np.maximum(sums.fourth, 0.0)) / sums.variance
        q_outfit = np.sqrt(np.maximum(sums.relative_fourth / k**2 - 1.0 / k, 0.0))
        return MeanSquares(infit, _standardized(infit, q_infit), outfit, _standardized(outfit, q_outfit))


def _standardized(mean_square: FloatArray, sd: FloatArray) -> FloatArray:
    q = np.minimum(sd, LARGEST_SD)
    moves = ~(q <= 0)  # a mean square that cannot move, all P being one half, is as expected
    return np.where(moves, (np.cbrt(mean_square) - 1.0) * (3.0 / np.where(moves, q, 1.0)) + q / 3.0, 0.0)
