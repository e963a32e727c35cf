"""Items that are nearly constant, nearly copies, or run against the rest; and how much room a benchmark leaves."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import Finding, screen


def simulated(n: int, j: int, seed: int = 3, difficulty: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(0, 1.5, n), rng.normal(difficulty, 1, j)
    return (rng.random((n, j)) < 1 / (1 + np.exp(b - theta[:, None]))).astype(int)


def found(responses: Responses) -> dict[str, Finding]:
    return {f.kind: f for f in screen(responses).findings}


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_wrong_key_is_named_and_nothing_else(missing: float) -> None:
    cells = simulated(80, 40).astype(float)
    cells[:, 7] = 1 - cells[:, 7]
    cells[np.random.default_rng(1).random(cells.shape) < missing] = np.nan
    finding = found(Responses.from_array(cells))["possible_key_errors"]
    assert finding.ids == ("item-8",)
    assert finding.severity == "warning"


def test_right_keys_are_seldom_suspected() -> None:
    suspected = [found(Responses.from_array(simulated(40, 60, seed))).get("possible_key_errors") for seed in range(40)]
    # False discovery rate 5 %: a finding in 5 % of data sets without any, here at most 6 of 40 (P = .986).
    assert sum(f is not None for f in suspected) <= 6


def test_one_person_alone_on_an_item() -> None:
    cells = simulated(30, 10)
    cells[:, 2], cells[:, 5] = 0, 1
    cells[4, 2], cells[9, 5] = 1, 0
    assert {"item-3", "item-6"} <= set(found(Responses.from_array(cells))["nearly_constant_items"].ids)
    few = Responses.from_array(cells[:15])
    assert "nearly_constant_items" not in found(few)


def test_almost_copies_are_told_from_copies() -> None:
    cells = simulated(200, 12)
    cells[:, 5] = cells[:, 1]
    cells[:, 8] = cells[:, 3]
    cells[17, 8] = 1 - cells[17, 8]
    seen = found(Responses.from_array(cells))
    assert seen["near_copies"].ids == ("item-9",)
    assert seen["duplicate_items"].ids == ("item-6",)
    apart = cells.astype(float)
    apart[:100, 3], apart[100:, 8] = np.nan, np.nan  # no person ran both
    assert "near_copies" not in found(Responses.from_array(apart))


def test_saturation_is_a_warning_only_where_most_items_are_easy() -> None:
    hard = found(Responses.from_array(simulated(50, 40)))["saturation"]
    easy = found(Responses.from_array(simulated(50, 40, difficulty=-4)))["saturation"]
    assert (hard.severity, easy.severity) == ("note", "warning")
    r = load_dataset("swebench-verified")
    p = r.proportions.mean(axis=0)
    sentence = found(r)["saturation"].sentence
    assert f"{(p >= 0.8).sum()} of 500 items" in sentence
    assert "110 never" in sentence
    assert f"{1 - r.proportions.mean(axis=1).max():.0%} of its items left" in sentence
