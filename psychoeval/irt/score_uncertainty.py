"""What the sampling errors of the items add to the variance of abilities that are scored on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.irt.quadrature import Grid, person_blocks, posterior_weights
from psychoeval.irt.score_equations import IntArray, KnownItems, Score, item_blocks
from psychoeval.irt.score_posteriors import posteriors

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.generic]
#: Positions (B,) of persons, and the derivatives of their abilities by a, d and c of each item, (3, B, J).
Gradients = Iterator[tuple[IntArray, FloatArray]]


def root_gradients(
    successes: CountArray, trials: CountArray, theta: FloatArray, items: KnownItems, *, precision: float = 0.0
) -> Gradients:
    """Yield the derivatives of MAP or ML abilities by the items, in blocks of persons with finite abilities.

    The ability is the root of F(theta, items) = s - precision (theta - mean), so d theta / d p = F_p / -F_theta
    (implicit function theorem), with F_d = a (x r (1 - r) - n L (1 - L)), F_a = x r - n L + theta F_d and
    F_c = -a x r (1 - r) / c. For Warm's estimate pass a precision of 0: the derivative of its correction, of the
    order of one item, is left out. A lower asymptote of 0 is taken as fixed.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    theta : (N,) array
        The roots.
    items : KnownItems
    precision : float
        1 / sd^2 of the normal distribution for MAP.
    """
    finite = np.flatnonzero(np.isfinite(theta))
    safe_c = np.where(items.c > 0, items.c, np.inf)
    for part in person_blocks(finite.size, items.a.size):
        who = finite[part]
        x, n = successes[who].astype(np.float64), trials[who].astype(np.float64)
        logistic, r = items.curves(theta[who])
        _, slope = Score(x, n, items, precision=precision)(theta[who], np.arange(who.size))
        guessed = x * (r * (1.0 - r))
        by_d = items.a * (guessed - n * logistic * (1.0 - logistic))
        by_a = x * r - n * logistic + theta[who][:, None] * by_d
        yield who, np.stack((by_a, by_d, -items.a * guessed / safe_c)) / slope[:, None]


def mean_gradients(
    successes: CountArray,
    trials: CountArray,
    items: KnownItems,
    *,
    mean: float = 0.0,
    sd: float = 1.0,
    law: Grid | None = None,
) -> Gradients:
    """Yield the derivatives of posterior means by the items, in blocks of persons with trials.

    d E(theta) / d p is the posterior covariance of theta and d log-likelihood / d p, which is x r - n L for d, theta
    times that for a, and x (1 - L) / P for c, up to a constant. A lower asymptote of 0 is taken as fixed.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    items : KnownItems
    mean, sd, law
        Of the abilities, as in `psychoeval.irt.scoring.eap`.
    """
    j = items.a.size
    for whole, grid, joint in posteriors(successes, trials, items, mean=mean, sd=sd, law=law):
        for part in person_blocks(whole.size, j):
            who = whole[part]
            weights = posterior_weights(joint[part])[0]
            weights *= grid.nodes - (weights @ grid.nodes)[:, None]
            out = np.empty((3, who.size, j))
            for block in item_blocks(who.size, grid.nodes.size, j):
                x, n = successes[who, block].astype(np.float64), trials[who, block].astype(np.float64)
                out[:, :, block] = _covariances(weights, grid.nodes, items.part(block), x, n)
            yield who, out


def _covariances(weights: FloatArray, nodes: FloatArray, items: KnownItems, x: FloatArray, n: FloatArray) -> FloatArray:
    """Return (3, B, J) sums over the nodes of centred weights (B, Q) times derivatives of the log-likelihood."""
    logistic, r = items.curves(nodes)
    known = np.broadcast_to(r, logistic.shape)
    scaled = weights * nodes
    by_d = x * (weights @ known) - n * (weights @ logistic)
    by_a = x * (scaled @ known) - n * (scaled @ logistic)
    by_c = np.zeros_like(by_d)
    guessed = items.c > 0
    if guessed.any():
        c = items.c[guessed]
        failing = expit(-(np.multiply.outer(nodes, items.a[guessed]) + items.d[guessed]))
        by_c[:, guessed] = x[:, guessed] * (weights @ (failing / (c + (1.0 - c) * (1.0 - failing))))
    return np.stack((by_a, by_d, by_c))


def in_frame_of_persons(
    theta: FloatArray, gradients: Callable[[], Gradients], *, unit_known: bool = False
) -> Gradients:
    """Yield the derivatives of abilities that are standardised by the persons' own mean and SD.

    d z_i = (d theta_i - mean_k d theta_k - z_i mean_k z_k d theta_k) s, z = (theta - mean) / s: an error of the items
    that moves or stretches all abilities alike, as does that of the scale's origin and unit, does not count. It is
    given in the unit of `theta`, without the s.

    Parameters
    ----------
    theta : (N,) array
        Persons with infinite ones, for whom `gradients` has nothing, take no part.
    gradients : function of no arguments
        Gives an iterator as `root_gradients` or `mean_gradients`, twice, so that one block is held at a time.
    unit_known : bool
        Whether abilities are only centred.
    """
    finite = theta[np.isfinite(theta)]
    spread = finite.std()
    z = (theta - finite.mean()) / (spread if spread > 0 else 1.0)
    center: FloatArray | float = 0.0
    stretch: FloatArray | float = 0.0
    for who, g in gradients():
        center = center + g.sum(axis=1) / finite.size
        stretch = stretch + np.einsum("n,knj->kj", z[who], g) / finite.size
    for who, g in gradients():
        out = g - np.expand_dims(center, 1)
        yield who, out if unit_known else out - z[who][:, None] * np.expand_dims(stretch, 1)


def added_variance(n_persons: int, gradients: Gradients, covariance: FloatArray) -> FloatArray:
    """Return sum_j g_ij' V_j g_ij of every person, (N,): items with errors that are independent of each other.

    Parameters
    ----------
    n_persons : int
        N.
    gradients : iterator
        Of `root_gradients` or `mean_gradients`.
    covariance : (J, 3, 3) array
        V_j, of (a, d, c).
    """
    out = np.zeros(n_persons)
    for who, g in gradients:
        for k in range(3):
            for m in range(k, 3):
                out[who] += (1.0 if k == m else 2.0) * ((g[k] * g[m]) @ covariance[:, k, m])
    return out


def added_variance_joint(
    n_persons: int, gradients: Gradients, covariance: FloatArray, kind: IntArray, item: IntArray
) -> FloatArray:
    """Return G_i' V G_i of every person, (N,): items whose errors are correlated, as by a common origin or unit.

    Parameters
    ----------
    n_persons : int
        N.
    gradients : iterator
        Of `root_gradients` or `mean_gradients`.
    covariance : (P, P) array
        V, of all free parameters.
    kind : (P,) integer array
        0 for a, 1 for d, 2 for c.
    item : (P,) integer array
        Position of the item, or -1 for a parameter that all items have in common.
    """
    out = np.zeros(n_persons)
    for who, g in gradients:
        common = g.sum(axis=2)
        own = np.where(item >= 0, g[kind, :, np.maximum(item, 0)].T, common[kind].T)
        out[who] = np.einsum("np,np->n", own @ covariance, own)
    return out
