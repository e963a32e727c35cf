"""One system on 1,404 items: its likelihood underflows, and its posterior is narrower than a fixed grid's step."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.scoring import ScoringMethod, plausible_values, score

DATA = Path(__file__).parent / "data" / "12"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def case() -> tuple[Responses, ItemParameters]:
    with (DATA / "items_and_responses.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ids = [r["item"] for r in rows]
    x = [[float(r["response"]) if r["response"] in ("0", "1") else float("nan") for r in rows]]
    items = ItemParameters.from_difficulty(ids, [float(r["a"]) for r in rows], [float(r["b"]) for r in rows])
    return Responses.from_array(x, item_ids=ids), items


@pytest.mark.parametrize(
    ("method", "estimate", "error"),
    [
        # The references are a sum over 4,801 nodes and roots to 1e-8; errors of ML and WLE are mirt's (.06650).
        ("EAP", EXPECTED["eap_fine"], EXPECTED["sd_fine"]),
        ("MAP", *EXPECTED["map_"]),
        ("ML", EXPECTED["mle"], None),
        ("WLE", EXPECTED["wle"], None),
    ],
)
def test_scores(
    case: tuple[Responses, ItemParameters], method: ScoringMethod, estimate: float, error: float | None
) -> None:
    assert case[0].n_observed == EXPECTED["n_obs"]
    found = score(*case, method=method)
    assert found.standard_error is not None
    assert found.estimate[0] == pytest.approx(estimate, abs=1e-7)
    if error is not None:
        assert found.standard_error[0] == pytest.approx(error, abs=1e-7)


def test_the_fixed_grid_that_the_scorers_do_not_use_is_half_an_sd_off(
    case: tuple[Responses, ItemParameters],
) -> None:
    responses, items = case
    a, d, c = items.discrimination, items.intercept, items.guessing
    coarse = marginal_posterior(responses.successes, responses.trials, a, d, c, normal_grid())
    assert coarse.mean[0] == pytest.approx(EXPECTED["eap61"], abs=1e-7)
    assert abs(coarse.mean[0] - score(responses, items).estimate[0]) > 0.45 * EXPECTED["sd_fine"]


def test_draws_have_the_posteriors_moments(case: tuple[Responses, ItemParameters]) -> None:
    draws = plausible_values(*case, 40_000, seed=1)[:, 0]
    # Five Monte Carlo errors.
    assert draws.mean() == pytest.approx(EXPECTED["eap_fine"], abs=5 * EXPECTED["sd_fine"] / np.sqrt(40_000))
    assert draws.std() == pytest.approx(EXPECTED["sd_fine"], rel=5 / np.sqrt(80_000))
