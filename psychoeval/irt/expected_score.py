"""Expected scores: abilities on the scale of a weighted mean of success probabilities. Arrays in, arrays out.

tau(theta) = sum_j w_j P_j(theta), weights that sum to 1: the test characteristic curve of Lord (1980), Applications of
item response theory, eq. 4-5, over the number of items. An item with a = 0 and d = +-inf always or never succeeds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.irt.quadrature import BLOCK_CELLS, person_blocks
from psychoeval.irt.score_equations import KnownItems, information_terms
from psychoeval.irt.score_uncertainty import Gradients

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.generic]

#: Stands for an infinite ability: infinity times a slope of 0 would be none.
_FAR: Final = 1e200
#: Abilities at which an expected score that may fall is looked at between two limits.
_BETWEEN: Final = 65


def expected_proportion(theta: FloatArray, items: KnownItems, weights: FloatArray) -> FloatArray:
    """Return sum_j w_j P_j of each ability, (N,); its limit at an infinite one, NaN at NaN.

    Parameters
    ----------
    theta : (N,) array
        In logits.
    items : KnownItems
        J items.
    weights : (J,) array
        They sum to 1.

    Examples
    --------
    >>> items = KnownItems(np.ones(2), np.array([0.0, np.inf]), np.zeros(2))
    >>> expected_proportion(np.array([0.0, -np.inf]), items, np.array([0.5, 0.5]))
    array([0.75, 0.5 ])
    """
    out = np.empty(theta.size)
    for rows in person_blocks(theta.size, items.a.size):
        out[rows] = probabilities(theta[rows], items) @ weights
    return out


def expected_slope(theta: FloatArray, items: KnownItems, weights: FloatArray) -> FloatArray:
    """Return the derivative of the expected score by ability, sum_j w_j (1 - c_j) a_j L_j (1 - L_j), (N,).

    Parameters are those of `expected_proportion`.
    """
    out = np.empty(theta.size)
    by_logit = weights * (1.0 - items.c) * items.a
    for rows in person_blocks(theta.size, items.a.size):
        logistic = expit(_logits(theta[rows], items))
        out[rows] = (logistic * (1.0 - logistic)) @ by_logit
    return out


def expected_limits(
    low: FloatArray, high: FloatArray, items: KnownItems, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest expected score between two abilities, (N,) each.

    With slopes of one sign these are the scores at the ends. Otherwise the score may fall and rise in between, and is
    looked at on 65 abilities from end to end.

    Parameters
    ----------
    low, high : (N,) arrays
        In logits.
    items, weights
        As in `expected_proportion`.
    """
    ends = [expected_proportion(end, items, weights) for end in (low, high)]
    lowest, highest = np.minimum(*ends), np.maximum(*ends)
    used = weights > 0
    if (items.a[used] < 0).any() and (items.a[used] > 0).any():
        for share in np.linspace(0.0, 1.0, _BETWEEN)[1:-1]:
            there = expected_proportion(low + share * (high - low), items, weights)
            lowest, highest = np.minimum(lowest, there), np.maximum(highest, there)
    return lowest, highest


def probabilities(theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return P = c + (1 - c) expit(a theta + d), (N, J), at infinite abilities too."""
    return np.asarray(items.c + (1.0 - items.c) * expit(_logits(theta, items)))


def score_gradients(
    theta: FloatArray, items: KnownItems, weights: FloatArray, abilities: Gradients, places: NDArray[np.intp]
) -> Gradients:
    """Yield the derivatives of expected scores by a, d and c of each item, (3, B, J), those through the ability too.

    d tau / d p = w_j d P_j / d p + tau'(theta) d theta / d p: an error of the items that moves all difficulties moves
    the ability along, and leaves the expected score where it was.

    Parameters
    ----------
    theta : (N,) array
    items : KnownItems
        The J items of the score and of the abilities; those that are not part of the score have the weight 0.
    weights : (J,) array
    abilities : iterator
        Of `psychoeval.irt.score_uncertainty.root_gradients` or `mean_gradients`, over the items at `places`.
    places : integer array
        Positions of these among the J items.
    """
    slope = expected_slope(theta, items, weights)
    for who, through in abilities:
        logistic = expit(_logits(theta[who], items))
        by_d = weights * (1.0 - items.c) * logistic * (1.0 - logistic)
        out = np.stack((theta[who][:, None] * by_d, by_d, weights * (1.0 - logistic)))
        out[:, :, places] += through * slope[who][:, None]
        yield who, out


def expected_proportion_of_draws(
    theta: FloatArray, a: FloatArray, d: FloatArray, c: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return sum_j w_j P_j of each person under each draw, (D, N), in blocks of draws.

    Parameters
    ----------
    theta : (D, N) array
    a, d, c : (D, J) arrays
        Of the same draws.
    weights : (J,) array
    """
    out = np.empty(theta.shape)
    step = max(1, BLOCK_CELLS // max(1, theta.shape[1] * d.shape[1]))
    for start in range(0, len(theta), step):
        at = slice(start, start + step)
        p = expit(theta[at, :, None] * a[at, None, :] + d[at, None, :])
        # c + (1 - c) L, summed with the weights as two products.
        out[at] = np.einsum("dnj,dj->dn", p, weights * (1.0 - c[at])) + (c[at] @ weights)[:, None]
    return out


def total_information(theta: FloatArray, items: KnownItems) -> FloatArray:
    """Return Fisher's information of one trial of each item, summed over the items, at each ability, (Q,).

    sum_j a_j^2 (1 - c_j) L_j (1 - L_j) L_j / P_j, which is sum_j P_j'^2 / (P_j (1 - P_j)). Lord (1980), eq. 5-6.

    Parameters
    ----------
    theta : (Q,) array
        Finite.
    items : KnownItems
    """
    out = np.empty(theta.size)
    for rows in person_blocks(theta.size, items.a.size):
        out[rows] = information_terms(theta[rows], items).sum(axis=1)
    return out


def _logits(theta: FloatArray, items: KnownItems) -> FloatArray:
    return np.asarray(np.multiply.outer(np.clip(theta, -_FAR, _FAR), items.a) + items.d)
