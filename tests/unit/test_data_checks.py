from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.responses.matrix import Responses
from psychoeval.results.data_checks import disconnected_warning, factor_warning


def simulated(n: int, j: int, seed: int, slope: float = 1.5) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=n), rng.normal(size=j)
    return (rng.random((n, j)) < 1 / (1 + np.exp(-slope * (theta[:, None] - b)))).astype(float)


def flipped(x: NDArray[np.float64], n: int) -> Responses:
    x = x.copy()
    x[:, :n] = 1 - x[:, :n]
    return Responses.from_array(x)


def test_right_items_are_left_alone() -> None:
    assert factor_warning(Responses.from_array(simulated(300, 10, 1)), "free") == ()


def test_one_reversed_item_is_named() -> None:
    (sentence,) = factor_warning(flipped(simulated(300, 10, 1), 1), "positive")
    assert sentence.startswith("1 of 10 items correlate negatively with the rest: 'item-1' (-")
    assert "log a" in sentence


@pytest.mark.parametrize("slopes", ["free", "positive", "equal"])
def test_half_the_items_reversed(slopes: str) -> None:
    (sentence,) = factor_warning(flipped(simulated(300, 10, 1), 5), slopes)  # type: ignore[arg-type]
    assert "items do not correlate positively with the rest" in sentence
    assert "wrong key" in sentence
    assert "chance" not in sentence


def test_coin_flips_hold_no_common_factor_and_few_persons_say_so() -> None:
    flips = np.random.default_rng(2).integers(0, 2, (15, 40))
    (sentence,) = factor_warning(Responses.from_array(flips), "free")
    assert "almost no common factor" in sentence
    assert "With 15 persons it can be chance" in sentence


def test_few_persons_on_many_right_items_call_none_reversed() -> None:
    # By its own standard error alone 4 in 10 of these data sets hold such an item.
    found = [factor_warning(Responses.from_array(simulated(10, 500, s, slope=1.0)), "equal") for s in range(20)]
    assert not any("negatively" in sentence for sentences in found for sentence in sentences)


def test_groups_that_share_nothing() -> None:
    x = np.full((40, 8), np.nan)
    x[:20, :4], x[20:, 4:] = simulated(20, 4, 3), simulated(20, 4, 4)
    (sentence,) = disconnected_warning(Responses.from_array(x), "Only the priors link them")
    assert "fall into 2 groups of persons and items that share no response (sizes [20, 20]; " in sentence
    assert "'person-1', 'person-21' lie in different ones). Only the priors link them: do not compare" in sentence
    x[0, 4] = 1.0
    assert disconnected_warning(Responses.from_array(x), "Only the priors link them") == ()
