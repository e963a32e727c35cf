"""Direction, origin and unit of draws, which the likelihood leaves open, so that posteriors can be set side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import DataError
from psychoeval.results.draws import ITEM_TERMS, PERSON_TERMS, Draws

FloatArray = NDArray[np.float64]


class _Scalar(NamedTuple):
    """What becomes of one number a draw in a new origin m and unit s of the abilities, and when they are turned."""

    rescaled: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    sign: float


#: Every parameter common to items or persons that can be moved along; of another nobody knows what becomes of it.
_SCALARS: Final[Mapping[str, _Scalar]] = {
    "latent_sd": _Scalar(lambda v, m, s: v / s, 1.0),
    "mean_difficulty": _Scalar(lambda v, m, s: (v - m) / s, -1.0),
    "sd_difficulty": _Scalar(lambda v, m, s: v / s, 1.0),
    "mean_discrimination": _Scalar(lambda v, m, s: v * s, -1.0),
    "sd_discrimination": _Scalar(lambda v, m, s: v * s, 1.0),
    "mean_log_discrimination": _Scalar(lambda v, m, s: v + np.log(s), 1.0),
    "sd_log_discrimination": _Scalar(lambda v, m, s: v, 1.0),
}


def standardize(draws: Draws) -> Draws:
    """Return the draws with the abilities of every draw at mean 0 and SD 1 (divisor N), and the items moved along.

    theta' = (theta - m) / s, a' = a s, b' = (b - m) / s, d' = d + a m, c' = c, with mean m and SD s of the N abilities
    of that draw: every probability stays what it was. Programs that fix origin and unit in other ways, or leave them
    to priors, then tell the same things of the persons and items at hand. A slope that was fixed at 1 is s, and the
    same for all items. Log-likelihoods and scores are untouched, and so are the statistics of the sampler, which are
    about its own scale.

    Raises
    ------
    DataError
        If there are no abilities or intercepts, abilities of a draw are all equal, or there is a quantity of which it
        is not known how it moves along.
    """
    theta, d = _needed(draws, "ability"), _needed(draws, "intercept")
    _check_scalars(draws)
    m, s = theta.mean(axis=2), theta.std(axis=2)
    if not np.all(s > 0):  # also where it is not a number
        chain, draw = np.argwhere(~(s > 0))[0]
        raise DataError(
            f"The abilities of draw {draw + 1} of chain {draws.chain_numbers[chain]} have no SD.",
            "Look at the diagnostics of the chains (draws.diagnose()).",
        )
    m3, s3 = m[:, :, None], s[:, :, None]
    a = draws.values.get("discrimination", np.ones_like(d))
    values = {name: _SCALARS[name].rescaled(v, m, s) for name, v in draws.values.items() if not Draws.dims(name)}
    values |= {"ability": (theta - m3) / s3, "discrimination": a * s3, "intercept": d + a * m3}
    if "difficulty" in draws.values:
        values["difficulty"] = (draws.values["difficulty"] - m3) / s3
    return replace(draws, values={name: values.get(name, v) for name, v in {**draws.values, **values}.items()})


def orient(draws: Draws, observed: ArrayLike | None = None) -> tuple[Draws, tuple[int, ...]]:
    """Return the draws with every chain turned so that more ability means more success, and which were turned.

    Where slopes may be negative, (theta, a, b) and (-theta, -a, -b) are equally likely, d and c being the same, and
    each chain ends at one of the two. The rule, chain by chain: the covariance of the mean abilities with what was
    observed is not negative; without anything observed, the mean slope is not. A chain without a negative slope is
    never turned, because its model turned around is another one: `chain_checks` names chains of such models that run
    against the others.

    Parameters
    ----------
    draws : Draws
    observed : (N,) array-like, optional
        Proportions of success of the persons; by default their observed scores.

    Returns
    -------
    Draws, tuple of int
        The same object where no chain is turned; numbers of the chains that were.

    Raises
    ------
    DataError
        If a chain must be turned, and there is a quantity of which it is not known how it turns.
    """
    a, theta = draws.values.get("discrimination"), draws.values.get("ability")
    if a is None:
        return draws, ()
    scores = draws.observed_scores if observed is None else np.asarray(observed, dtype=np.float64)
    if theta is None or scores is None:
        direction = a.mean(axis=(1, 2))
    else:
        direction = theta.mean(axis=1) @ (scores - scores.mean())
    turned = (direction < 0) & (a < 0).any(axis=(1, 2))
    if not turned.any():
        return draws, ()
    _check_scalars(draws)
    signs = {"ability": -1.0, "discrimination": -1.0, "difficulty": -1.0, "intercept": 1.0, "guessing": 1.0}
    signs |= {name: scalar.sign for name, scalar in _SCALARS.items()}
    factor = np.where(turned, -1.0, 1.0)
    values = {
        name: v if signs[name] > 0 else v * factor.reshape(-1, *(1,) * (v.ndim - 1)) for name, v in draws.values.items()
    }
    return replace(draws, values=values), tuple(np.array(draws.chain_numbers)[turned].tolist())


def _needed(draws: Draws, name: str) -> FloatArray:
    if name not in draws.values:
        raise DataError(f"There are no draws of {name}, which others are moved along with.", "Draw it too.")
    return draws.values[name]


def _check_scalars(draws: Draws) -> None:
    known = (*PERSON_TERMS, *ITEM_TERMS, *_SCALARS)
    if unknown := [name for name in draws.values if name not in known]:
        raise DataError(
            f"It is not known what becomes of {unknown[0]!r} when abilities are moved or turned.",
            f"Leave it out of the draws; those that are known are {', '.join(_SCALARS)}.",
        )
