"""A low-rank model of right and wrong answers: logistic loss, missing cells, the rank by held-out likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.audit.settings import generator
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.integer[Any]]

#: Ridge penalty of person and item vectors: normal distributions of SD 1.
_PENALTY: Final = 1.0
#: That of the items' intercepts: SD 5.
_INTERCEPT_PENALTY: Final = 1 / 25
_MOST_SWEEPS: Final = 200
_CLOSE_ENOUGH: Final = 1e-7
_BLOCK_CELLS: Final = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """logit P(x_ij = 1) = d_j + sum_k u_ik v_jk.

    Parameters
    ----------
    persons : (N, K) float array
        u.
    items : (J, K) float array
        v.
    intercept : (J,) float array
        d.
    objective : float
        Penalised log-likelihood at the end.
    converged : bool
    """

    persons: FloatArray
    items: FloatArray
    intercept: FloatArray
    objective: float
    converged: bool


@dataclass(frozen=True, slots=True)
class RankChoice:
    """Mean held-out log-likelihood a response for each rank from 0.

    Parameters
    ----------
    rank : int
        The smallest within one standard error of the best.
    best : int
    mean, error : tuple of float
        Of each rank: mean over held-out cells, and its standard error over folds.
    n_held_out : int
        Cells held out in a fold.
    """

    rank: int
    best: int
    mean: tuple[float, ...]
    error: tuple[float, ...]
    n_held_out: int


def fit_low_rank(successes: CountArray, trials: CountArray, rank: int, seed: int = 0) -> LowRank:
    """Maximise sum_ij log Binomial(k_ij; n_ij, p_ij) - (|u|^2 + |v|^2) / 2 - d^2 / 50 in turns over persons and items.

    Each turn is one Newton step for every row at once, with a (K + 1) x (K + 1) system a row, halved where it does not
    climb. The optimum is local; the start is random. Source: Udell, Horn, Zadeh and Boyd (2016), doi
    10.1561/2200000055.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
    rank : int
    seed : int
        Of the start.
    """
    n, j = trials.shape
    rng = generator(seed)
    u, v = rng.normal(0, 0.5, (n, rank)), rng.normal(0, 0.5, (j, rank))
    k, t = successes.sum(axis=0), trials.sum(axis=0)
    d = np.log((k + 0.5) / (t - k + 0.5))
    last, now, converged = -np.inf, -np.inf, False
    for _ in range(_MOST_SWEEPS):
        design = np.column_stack([np.ones(n), u])
        penalty = np.array([_INTERCEPT_PENALTY] + [_PENALTY] * rank)
        both = _step(successes.T, trials.T, design, np.column_stack([d, v]), np.zeros(n), penalty)
        d, v = both[:, 0], both[:, 1:]
        if rank:
            u = _step(successes, trials, v, u, d, np.full(rank, _PENALTY))
        now = _objective(successes, trials, u, v, d)
        if now - last <= _CLOSE_ENOUGH * abs(now):
            converged = True
            break
        last = now
    return LowRank(u, v, d, now, converged)


def choose_rank(
    responses: Responses, *, most: int = 5, folds: int = 5, share: float = 0.1, seed: int = 0
) -> RankChoice:
    """Choose the rank by the likelihood of cells that were held out.

    Parameters
    ----------
    responses : Responses
    most : int
        Largest rank tried.
    folds : int
        Times that cells are drawn and held out.
    share : float
        Of the observed cells, held out at random; every person and item keeps a cell.
    seed : int

    Raises
    ------
    SettingsError, DataError
        If a setting is out of range, or too few cells can be held out.
    """
    if most < 1 or folds < 2 or not 0 < share < 1:
        raise SettingsError("most is at least 1, folds at least 2, share between 0 and 1.", "Change these settings.")
    rng = generator(seed)
    scores = np.empty((folds, most + 1))
    held_out = 0
    for fold in range(folds):
        held = _hold_out(responses.observed, share, rng)
        held_out = int(held.sum())
        if held_out < 10:
            raise DataError(f"Only {held_out} cells can be held out.", "The rank cannot be chosen from so few.")
        trials = np.where(held, 0, responses.trials)
        successes = np.where(held, 0, responses.successes)
        for rank in range(most + 1):
            fit = fit_low_rank(successes, trials, rank, seed + fold)
            scores[fold, rank] = _held_out(responses, held, fit)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(folds)
    best = int(np.argmax(mean))
    # Folds share what is hard to predict: the error of the difference decides.
    gap = scores - scores[:, [best]]
    enough = gap.mean(axis=0) >= -gap.std(axis=0, ddof=1) / np.sqrt(folds) - 1e-12
    return RankChoice(int(np.argmax(enough)), best, tuple(mean.tolist()), tuple(error.tolist()), held_out)


def _hold_out(observed: NDArray[np.bool_], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    held = observed & (rng.random(observed.shape) < share)
    for axis in (0, 1):
        emptied = ~(observed & ~held).any(axis=axis)
        if axis == 0:
            held[:, emptied] = False
        else:
            held[emptied] = False
    return held


def _held_out(responses: Responses, held: NDArray[np.bool_], fit: LowRank) -> float:
    """Return the mean log-likelihood a trial of the cells held out, without the binomial constant."""
    rows, columns = np.nonzero(held)
    eta = fit.intercept[columns] + np.einsum("ck,ck->c", fit.persons[rows], fit.items[columns])
    k, t = (m[rows, columns].astype(np.float64) for m in (responses.successes, responses.trials))
    return float((k * eta - t * np.logaddexp(0, eta)).sum() / t.sum())


def _step(
    successes: CountArray,
    trials: CountArray,
    design: FloatArray,
    current: FloatArray,
    offset: FloatArray,
    penalty: FloatArray,
) -> FloatArray:
    """Return one damped Newton step of each row's coefficients: logit = offset + design @ coefficients.

    successes, trials (R, C); design (C, K); current (R, K); offset (C,).
    """
    out = current.copy()
    c, width = design.shape
    outer = (design[:, :, None] * design[:, None, :]).reshape(c, width * width)
    step = max(1, _BLOCK_CELLS // max(c, 1))
    for start in range(0, len(current), step):
        at = slice(start, start + step)
        k, t, x = successes[at].astype(np.float64), trials[at].astype(np.float64), current[at]
        eta = offset + x @ design.T
        p = expit(eta)
        gradient = (k - t * p) @ design - penalty * x
        hessian = ((t * p * (1 - p)) @ outer).reshape(-1, width, width) + np.diag(penalty)
        move = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        before = (k * eta - t * np.logaddexp(0, eta)).sum(axis=1) - (penalty * x**2).sum(axis=1) / 2
        todo, size = np.ones(len(x), bool), 1.0
        while todo.any() and size > 1e-3:
            tried = x + size * move
            eta = offset + tried @ design.T
            after = (k * eta - t * np.logaddexp(0, eta)).sum(axis=1) - (penalty * tried**2).sum(axis=1) / 2
            better = todo & (after >= before)
            out[np.flatnonzero(better) + start] = tried[better]
            todo &= ~better
            size /= 2
    return out


def _objective(successes: CountArray, trials: CountArray, u: FloatArray, v: FloatArray, d: FloatArray) -> float:
    total = -_PENALTY * ((u**2).sum() + (v**2).sum()) / 2 - _INTERCEPT_PENALTY * (d**2).sum() / 2
    step = max(1, _BLOCK_CELLS // trials.shape[1])
    for start in range(0, len(u), step):
        at = slice(start, start + step)
        eta = d + u[at] @ v.T
        total += (successes[at] * eta - trials[at] * np.logaddexp(0, eta)).sum()
    return float(total)
