"""Families of systems, and cells that are missing where ability says so."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.irt.margins import logit_margins, slope_free_residuals
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import screen
from psychoeval.responses.screening.families import families, relatedness
from psychoeval.responses.screening.missingness import describe_missingness, missingness


def two_pl(n: int, j: int, seed: int, theta: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, 1, n) if theta is None else theta
    b, a = rng.normal(0.5, 1.5, j), rng.lognormal(0, 0.3, j)
    return (rng.random((n, j)) < 1 / (1 + np.exp(-a * (theta[:, None] - b)))).astype(int), theta, b


def test_margins_solve_their_equations() -> None:
    cells, _, _ = two_pl(12, 30, 0)
    trials = np.ones_like(cells)
    row, column = logit_margins(cells, trials)
    p = 1 / (1 + np.exp(column - row[:, None]))
    # Stationary in the differences that the data determine; rows carry a penalty of SD 2.
    slope = (cells - p).sum(axis=1)
    assert np.ptp(slope - row / 4) < 0.02
    assert np.corrcoef(row, cells.sum(axis=1))[0, 1] > 0.98
    residual, variance = slope_free_residuals(cells, trials, logit_margins(cells, trials))
    assert variance == pytest.approx(p * (1 - p), abs=1e-5)
    ability = row[:, None] - (variance * row[:, None]).sum(axis=0) / variance.sum(axis=0)
    assert np.abs((residual * ability).sum(axis=0)).max() < 1e-4


def test_independent_systems_are_no_family_however_strong() -> None:
    effective = []
    for seed in range(10):
        # Half of the systems are strong and near each other: they agree because they are strong.
        theta = np.concatenate([np.full(15, 2.0), np.random.default_rng(seed).normal(0, 1, 15)])
        cells, _, _ = two_pl(30, 400, seed, theta)
        responses = Responses.from_array(cells, person_label="system")
        assert families(responses) == []
        effective.append(relatedness(responses).effective)
    assert 28 < np.mean(effective) <= 30


def test_a_family_is_found_and_lowers_the_effective_number() -> None:
    cells, _, _ = two_pl(30, 400, 5)
    rng = np.random.default_rng(6)
    for copy in range(1, 6):  # five derivatives that keep 85 % of the first one's answers
        cells[copy] = np.where(rng.random(400) < 0.85, cells[0], cells[copy])
    responses = Responses.from_array(cells, person_label="system")
    found = relatedness(responses)
    assert np.flatnonzero(found.family == found.family[0]).tolist() == [0, 1, 2, 3, 4, 5]
    assert (found.family[6:] == -1).all()
    assert found.effective < 25
    (finding,) = families(responses)
    assert finding.ids == tuple(f"person-{k}" for k in range(1, 7))


def test_a_family_is_found_in_part_of_the_cells() -> None:
    cells, _, _ = two_pl(30, 400, 5)
    cells[1] = cells[0]
    partly = cells.astype(float)
    partly[np.random.default_rng(2).random(cells.shape) < 0.4] = np.nan
    assert relatedness(Responses.from_array(partly)).family[:2].tolist() == [0, 0]


def test_scaffolds_on_one_base_are_families_in_swebench_lite() -> None:
    responses = load_dataset("swebench-lite")
    found = relatedness(responses)
    names = {
        k: {responses.person_ids[i] for i in np.flatnonzero(found.family == k)} for k in range(found.family.max() + 1)
    }
    # RepoGraph and the second Agentless are built on the first.
    agentless = {"20240630_agentless_gpt4o", "20240808_RepoGraph_gpt4o", "20241028_agentless-1.5_gpt4o"}
    assert any(agentless <= group for group in names.values())


def masked(harder_for_strong: bool, seed: int) -> Responses:
    cells, theta, b = two_pl(30, 60, seed)
    rng = np.random.default_rng(seed + 100)
    near = np.abs(theta[:, None] - b) if harder_for_strong else rng.random(cells.shape)
    limit = np.sort(near, axis=1)[:, 20:21]
    return Responses.from_array(np.where(near < limit, cells, np.nan), person_label="system")


def test_selective_reporting_is_found() -> None:
    (finding,) = missingness(masked(True, 1))
    assert "strong systems were given harder items" in finding.sentence
    found = describe_missingness(masked(True, 1))
    assert found.sparsity == pytest.approx(2 / 3)
    assert found.seen_difficulty > 0.5
    assert found.seen_difficulty_p <= 0.01


def test_missing_at_random_is_seldom_suspected() -> None:
    suspected = sum(missingness(masked(False, seed))[0].severity == "warning" for seed in range(40))
    # One test at 1 % (all were given equally many): 40 data sets give more than 3 with P = .001.
    assert suspected <= 3


def test_sparsity_and_gap_are_said_with_their_definitions() -> None:
    data = masked(False, 0)
    (finding,) = missingness(data)
    assert (finding.severity, finding.kind) == ("note", "sparsity")
    found = describe_missingness(data)
    assert found.sparsity == pytest.approx(1 - np.mean(data.observed))
    words = f"Sparsity S = {found.sparsity:.3f} (share of cells that are missing), difficulty gap D = "
    assert words + f"{found.difficulty_gap:.1f} logits (hardest minus easiest item" in finding.sentence
    assert "Sparsity S = 0.667" in missingness(masked(True, 1))[0].sentence
    few = data.select(persons=np.arange(data.n_persons) < 4)
    assert "was not tested on 4 systems" in missingness(few)[0].sentence


def test_the_gap_is_that_of_the_items() -> None:
    # 400 systems of ability N(0, 1), items from -2 to 2: the margins shrink, and find 4 to within a tenth or two.
    rng = np.random.default_rng(5)
    eta = rng.normal(size=(400, 1)) - np.linspace(-2, 2, 41)
    cells = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    cells[rng.random(cells.shape) < 0.3] = np.nan
    assert describe_missingness(Responses.from_array(cells)).difficulty_gap == pytest.approx(4, abs=0.4)


def test_complete_data_have_no_missing_cells() -> None:
    assert "missing_not_at_random" not in {f.kind for f in screen(load_dataset("lsat6")).findings}
