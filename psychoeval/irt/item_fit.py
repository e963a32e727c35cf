"""Item fit by the sum score: S-X2 of Orlando and Thissen. Arrays in, arrays out.

Given the sum score, what an item's share of right answers should be follows from the model alone, so that observed and
expected shares can be set side by side without an estimate of anybody's ability.
Source: Orlando & Thissen (2000), Applied Psychological Measurement 24, 50-64, doi:10.1177/01466216000241003.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from psychoeval.irt.classical import CountArray
from psychoeval.irt.curves import log_probabilities
from psychoeval.irt.own_nodes import log_linear
from psychoeval.irt.quadrature import FIRST_LIMIT, MAX_NODES, Grid, smallest_posterior_sd
from psychoeval.irt.score_equations import KnownItems

FloatArray = NDArray[np.float64]

#: Largest step between nodes, in latent SDs.
_STEP: Final = 0.2
#: How much finer steps are under a distribution with corners.
_FINER: Final = 4
#: Weight of a node in a score's mixture below which it takes no part.
_NEGLIGIBLE: Final = 1e-14
#: Cells nodes x items that are worked on at a time: what a processor's cache holds.
_CACHED: Final = 2**15
#: Below it a probability of a curve is too small to divide by: products with it may have underflowed.
_SMALL: Final = 1e-100


class ScoreTable(NamedTuple):
    """Right answers by sum score, of the R scores between 0 and J that were observed.

    Attributes
    ----------
    scores : (R,) integer array
    persons : (R,) array
        How many have each score.
    right, expected : (R, J) arrays
        How many of them had each item right, and how many should have.
    """

    scores: NDArray[np.intp]
    persons: FloatArray
    right: FloatArray
    expected: FloatArray


def score_grid(items: KnownItems, *, mean: float = 0.0, sd: float = 1.0, distribution: Grid | None = None) -> Grid:
    """Return nodes that are fine enough for the narrowest posterior of any score.

    Steps are at most the smallest posterior SD s, .2 latent SDs and 1 / |a|: by the trapezoid rule the error of a
    normal density is then 2 exp(-2 pi^2), and of a curve, whose poles lie pi / a off the real line, exp(-2 pi^2): 5e-9
    of the value.

    Parameters
    ----------
    items : KnownItems
    mean, sd : float
        Of the normal distribution of the abilities.
    distribution : Grid, optional
        A histogram instead: its density is linear between its nodes and 0 beyond. Steps are a quarter then, because
        the rule errs by their square at corners.
    """
    reach = FIRST_LIMIT * sd
    if distribution is not None:
        low, high = float(distribution.nodes[0]), float(distribution.nodes[-1])
        mean, reach = (low + high) / 2, (high - low) / 2
        sd = reach / 3
    narrow = smallest_posterior_sd(np.ones((1, items.a.size)), items.a, items.d, limit=reach, mean=mean, sd=sd)
    step = min(narrow, _STEP * sd, 1.0 / max(float(np.abs(items.a).max()), 1e-300))
    if distribution is None:
        nodes = np.linspace(mean - reach, mean + reach, min(2 * int(np.ceil(reach / step)) + 1, MAX_NODES))
        log_density = -0.5 * ((nodes - mean) / sd) ** 2
    else:  # its corners are nodes, and its ends count half
        inner = max(1, int(np.ceil(_FINER * distribution.step / step)))
        nodes = np.linspace(low, high, min((distribution.nodes.size - 1) * inner + 1, MAX_NODES))
        log_density = log_linear(nodes, distribution) - np.log(2.0) * np.isin(nodes, (low, high))
    return Grid(nodes, log_density - logsumexp(log_density))


def score_distribution(right: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the probability of every sum score at every node, (Q, J + 1).

    S <- S (1 - P_j) + shifted S P_j, item by item: all terms are positive, so that nothing is lost.
    Source: Lord & Wingersky (1984), Applied Psychological Measurement 8, 453-461, doi:10.1177/014662168400800409.

    Parameters
    ----------
    right, wrong : (Q, J) arrays
        P and 1 - P.

    Examples
    --------
    >>> score_distribution(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]]))
    array([[0.25, 0.5 , 0.25]])
    """
    n_nodes, n_items = right.shape
    out = np.zeros((n_nodes, n_items + 1))
    out[:, 0] = 1.0
    for j in range(n_items):
        p, q = right[:, j, None], wrong[:, j, None]
        out[:, 1 : j + 2] = out[:, 1 : j + 2] * q + out[:, : j + 1] * p
        out[:, :1] *= q
    return out


def expected_shares(items: KnownItems, grid: Grid, scores: NDArray[np.intp]) -> FloatArray:
    """Return P(item right | sum score) of R scores between 1 and J, (R, J); NaN for a score of probability 0.

    P(x_j = 1 | s) = sum_q w_q P_jq S*_j,s-1,q / sum_q w_q S_sq, with S*_j the scores on the other items
    (`right_with_score`).

    Examples
    --------
    >>> alike = KnownItems(np.ones(2), np.zeros(2), np.zeros(2))
    >>> expected_shares(alike, score_grid(alike), np.array([1])).round(12)
    array([[0.5, 0.5]])
    """
    log_right, log_wrong = log_probabilities(grid.nodes, items.a, items.d, items.c)
    right, wrong = np.exp(log_right), np.exp(log_wrong)
    table, weights = score_distribution(right, wrong), np.exp(grid.log_weights)
    total = weights @ table
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = weights[:, None] * table[:, scores] / total[scores]
        used = np.nanmax(parts, axis=1, initial=0.0) > _NEGLIGIBLE
        joint = right_with_score(right[used], wrong[used], table[used], weights[used])
        return np.asarray(joint[scores - 1] / total[scores, None])


def right_with_score(right: FloatArray, wrong: FloatArray, table: FloatArray, weights: FloatArray) -> FloatArray:
    """Return P(item j right and sum score s), row s - 1 and column j, (J, J).

    The scores on the other items, S*, come from those on all, S, by S_s = P S*_(s-1) + (1 - P) S*_s: solved for S*
    upwards from 0 while P S*_(s-1) is the smaller term, downwards from J where it is the larger one. S*_s / S*_(s-1)
    falls with s (Newton), so that each direction is stable on its own stretch, and errors shrink from step to step.
    One direction alone, or a division of generating functions, loses all digits.

    Parameters
    ----------
    right, wrong : (Q, J) arrays
        P and 1 - P.
    table : (Q, J + 1) array
        S, from `score_distribution`.
    weights : (Q,) array
    """
    n_nodes, n_items = right.shape
    out = np.zeros((n_items, n_items))
    columns = np.ascontiguousarray(table.T)[:, :, None]
    size = max(1, _CACHED // max(1, n_nodes))
    for start in range(0, n_items, size):
        part = slice(start, start + size)
        _one_block(right[:, part], wrong[:, part], columns, weights, out[:, part])
    return out


def _one_block(right: FloatArray, wrong: FloatArray, columns: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Fill in the columns of a block of items; `columns` is S, (J + 1, Q, 1)."""
    p, q = np.ascontiguousarray(right), np.ascontiguousarray(wrong)
    weighted, n_items = weights[:, None] * p, len(out)
    upwards, ended = q > _SMALL, np.zeros(p.shape, dtype=np.intp)
    rest = np.zeros(p.shape)
    by_q, by_p = 1.0 / np.maximum(q, _SMALL), 1.0 / np.maximum(p, _SMALL)
    for score in range(n_items):
        carried = p * rest
        upwards &= 2.0 * carried <= columns[score]
        if not upwards.any():
            break
        rest = np.where(upwards, (columns[score] - carried) * by_q, 0.0)
        ended += upwards
        out[score] = np.einsum("qi,qi->i", weighted, rest)
    rest = np.zeros(p.shape)
    for score in range(n_items - 1, -1, -1):
        downwards = ended <= score
        if not downwards.any():
            break
        rest = np.where(downwards, (columns[score + 1] - q * rest) * by_p, 0.0)
        out[score] += np.einsum("qi,qi->i", weighted, rest)


def score_table(successes: CountArray, items: KnownItems, grid: Grid) -> ScoreTable:
    """Return observed and expected right answers by sum score, of complete 0/1 responses (N, J).

    Scores of 0 and J say nothing: all answers are known. Scores that nobody has are left out, and one whose probability
    is 0 in double precision (1e-308).
    """
    total = np.asarray(successes).sum(axis=1, dtype=np.intp)
    inside = np.flatnonzero((total > 0) & (total < items.a.size))
    order = inside[np.argsort(total[inside], kind="stable")]
    scores, starts, persons = np.unique(total[order], return_index=True, return_counts=True)
    if not scores.size:
        none = np.zeros((0, items.a.size))
        return ScoreTable(scores, persons.astype(np.float64), none, none)
    right = np.add.reduceat(np.asarray(successes)[order], starts, axis=0, dtype=np.float64)
    expected = expected_shares(items, grid, scores) * persons[:, None]
    known = np.isfinite(expected).all(axis=1)
    return ScoreTable(scores[known], persons[known].astype(np.float64), right[known], expected[known])


def chi_squared(table: ScoreTable, min_expected: float = 1.0) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return Pearson's statistic of every item and the number of its classes of scores, (J,) each.

    Scores are put together until `min_expected` right and wrong answers are expected in each class, by mirt's rule: a
    score of one person goes to the next one; then, from the lowest on, a class that is too small goes to the neighbor
    with fewer persons. A single class that is still too small counts as none.

    Returns
    -------
    statistic, classes : (J,) arrays
        sum over classes of (O - E)^2 / E + (O - E)^2 / (n - E).
    """
    persons, right, expected = _without_singles(table)
    statistic, classes = np.zeros(right.shape[1]), np.zeros(right.shape[1], dtype=np.intp)
    for j in range(right.shape[1]):
        n, o, e = _collapsed(persons.tolist(), right[:, j].tolist(), expected[:, j].tolist(), min_expected)
        statistic[j] = np.sum((o - e) ** 2 * (1.0 / e + 1.0 / (n - e)))
        classes[j] = n.size
    return statistic, classes


def _without_singles(table: ScoreTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return persons, right and expected answers, scores of one person put to the next one (the last: before)."""
    starts, held = [0], 0.0
    for row, n in enumerate(table.persons[:-1]):
        held += n
        if held > 1:
            starts.append(row + 1)
            held = 0.0
    if len(starts) > 1 and held + table.persons[-1:].sum() == 1:
        starts.pop()
    if not table.persons.size:
        return table.persons, table.right, table.expected
    at = np.array(starts)
    return (
        np.add.reduceat(table.persons, at),
        np.add.reduceat(table.right, at, axis=0),
        np.add.reduceat(table.expected, at, axis=0),
    )


def _collapsed(
    n: list[float], o: list[float], e: list[float], least: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return one item's classes; lists, because each merger depends on the one before."""
    at = 0
    while at < len(n):
        if e[at] >= least and n[at] - e[at] >= least:
            at += 1
            continue
        if len(n) == 1:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        if at == 0:
            to = 1
        elif at == len(n) - 1:
            to = at - 1
        else:
            to = at - 1 if n[at - 1] <= n[at + 1] else at + 1
        for values in (n, o, e):
            values[to] += values[at]
            del values[at]
        at = min(at, to)
    return np.array(n), np.array(o), np.array(e)
