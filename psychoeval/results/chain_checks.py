"""Chains that stand still, stay elsewhere or are mirrored, found one by one so that they are not averaged away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psychoeval.results.draws import Draws
from psychoeval.results.sampling_figures import constant
from psychoeval.results.sampling_thresholds import APART, LP_FAR, SD_SMALL

FloatArray = NDArray[np.float64]


def suspect_chains(draws: Draws, ability_rhat: FloatArray | None = None) -> dict[int, str]:
    """Return what is wrong with single chains: their numbers and why, in words for a user.

    Parameters
    ----------
    draws : Draws
    ability_rhat : (N,) array, optional
        R-hat of the abilities; chains are looked at for mirrors only where some is above 1.05.
    """
    found: dict[int, str] = {}
    mirrors = _mirrored(draws) if ability_rhat is not None and np.any(ability_rhat > APART.value) else {}
    standing = _standing(draws)
    creeping = {k: words for k, words in _creeping(draws).items() if k not in standing}
    for reasons in (standing, creeping, _elsewhere(draws), mirrors):
        for k, words in reasons.items():
            number = draws.chain_numbers[k]
            found[number] = f"{found[number]}; {words}" if number in found else words
    return dict(sorted(found.items()))


def _standing(draws: Draws) -> dict[int, str]:
    """Find chains in which a quantity that moves in another chain, or all of them, never moves."""
    still = np.zeros(draws.n_chains, dtype=int)
    moving = 0
    for values in draws.values.values():
        flat = values.reshape(draws.n_chains, draws.n_draws, -1)
        flat = flat[:, :, np.isfinite(flat).all(axis=(0, 1))]
        if draws.n_draws < 2 or not flat.shape[2]:
            continue
        flat = flat[:, :, ~constant(flat)]
        moving += flat.shape[2]
        still += (np.ptp(flat, axis=1) == 0).sum(axis=1)
    return {
        int(k): f"it never moved ({still[k]} of {moving} parameters have the same value in all its draws)"
        for k in np.flatnonzero(still)
    }


def _creeping(draws: Draws) -> dict[int, str]:
    """Find chains that move, and hardly: their SDs are a small part of the other chains'."""
    if draws.n_chains < 2 or draws.n_draws < 2:
        return {}
    flat = [v.reshape(draws.n_chains, draws.n_draws, -1) for v in draws.values.values()]
    spreads = np.concatenate([v[:, :, np.isfinite(v).all(axis=(0, 1))].std(axis=1) for v in flat], axis=1)
    spreads = spreads[:, (spreads > 0).any(axis=0)]
    if not spreads.shape[1]:
        return {}
    out: dict[int, str] = {}
    for k in range(draws.n_chains):
        others = np.median(np.delete(spreads, k, axis=0), axis=0)
        share = float(np.median(spreads[k][others > 0] / others[others > 0])) if (others > 0).any() else 1.0
        if 0 < share < SD_SMALL.value:
            out[k] = f"it hardly moved (its SDs are {share:.1%} of those of the others)"
    return out


def _elsewhere(draws: Draws) -> dict[int, str]:
    """Find chains whose mean log density lies far from the others'; of two chains the lower one."""
    lp = draws.sample_stats.get("lp")
    if lp is None or draws.n_chains < 2 or draws.n_draws < 2 or not np.isfinite(lp).all():
        return {}
    means, spreads = lp.mean(axis=1), lp.std(axis=1, ddof=1)
    # A median of two is between them, and would name both.
    center = float(np.median(means)) if draws.n_chains > 2 else float(means.max())
    spread = float(np.median(spreads[spreads > 0])) if np.any(spreads > 0) else 0.0
    far = np.abs(means - center) > LP_FAR.value * spread if spread > 0 else np.zeros(draws.n_chains, dtype=bool)
    return {
        int(k): f"it is elsewhere (its log density averages {means[k]:.1f}, that of the others "
        f"{np.delete(means, k).mean():.1f}, with an SD of {spread:.1f} within a chain)"
        for k in np.flatnonzero(far)
    }


def _mirrored(draws: Draws) -> dict[int, str]:
    """Find the smaller part of the chains whose mean abilities run against those of the rest."""
    ability = draws.values.get("ability")
    if ability is None or draws.n_chains < 2 or ability.shape[2] < 2 or not np.isfinite(ability).all():
        return {}
    correlation = _correlations(ability.mean(axis=1))
    # The leading eigenvector holds the directions; its own sign is free.
    direction = np.sign(np.linalg.eigh(correlation)[1][:, -1])
    minority = -1.0 if direction.sum() > 0 else 1.0
    if direction.sum() == 0:  # a tie: the part without the first chain is named
        minority = -direction[0]
    out: dict[int, str] = {}
    for k in np.flatnonzero(direction == minority):
        rest = np.flatnonzero(direction == -minority)
        r = float(correlation[k, rest].mean()) if rest.size else 0.0
        if r < 0:
            others = _numbers([draws.chain_numbers[i] for i in rest])
            out[int(k)] = f"it is mirrored (its mean abilities correlate {r:.2f} with those of {others})"
    return out


def _correlations(means: FloatArray) -> FloatArray:
    """Return correlations of the rows of (C, N) means; 0 for a row without variance."""
    centered = means - means.mean(axis=1, keepdims=True)
    length = np.sqrt((centered**2).sum(axis=1))
    unit = np.divide(centered, length[:, None], out=np.zeros_like(centered), where=length[:, None] > 0)
    return np.asarray(unit @ unit.T)


def _numbers(chains: Sequence[int]) -> str:
    return f"chain {chains[0]}" if len(chains) == 1 else f"chains {', '.join(map(str, chains))}"
