"""The verdict on a simulated fit, over recorded seeds."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.agreement.thresholds import (
    BOTH_SIMULATED_LARGEST,
    SIMULATED_LARGEST,
    SIMULATED_MEAN,
    SIMULATED_UNIT,
    Threshold,
)
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "mhrm_seeds.json").read_text())["fits"]
NAMES = tuple(RECORDED)
#: What the limits were measured on; the other data only test them.
MEASURED = tuple(name for name in NAMES if name.startswith("lsat"))


def fit(name: str, recorded: dict[str, Any], *, simulated: bool, scale: float = 1.0) -> FitResult:
    """Make a fit of recorded values; `scale` multiplies its latent SD, and free slopes with it."""
    rasch = name.endswith("Rasch")
    a = np.array(recorded["slope"]) * (1.0 if rasch else scale)
    covariance = np.zeros((a.size, 3, 3))
    covariance[:, 0, 0], covariance[:, 1, 1] = np.square(recorded["slope_se"]), np.square(recorded["intercept_se"])
    items = ItemParameters(
        tuple(f"i{k}" for k in range(a.size)), a, np.array(recorded["intercept"]), np.zeros(a.size), covariance
    )
    return FitResult(
        "mirt-mhrm" if simulated else "mirt-em",
        ItemModel(name.split()[1]),  # type: ignore[arg-type]
        Convergence("converged"),
        Provenance(data_sha256=name),
        item_parameters=items,
        latent_distribution=LatentDistribution(
            0.0, recorded["latent_sd"] * (scale if rasch else 1.0), sd_standard_error=recorded["latent_sd_se"]
        ),
        log_likelihood_kind="simulated" if simulated else "marginal",
    )


def against_em(name: str) -> list[PairComparison]:
    em = fit(name, RECORDED[name]["em"], simulated=False)
    return [compare_pair(("em", "mhrm"), (em, fit(name, m, simulated=True))) for m in RECORDED[name]["mhrm"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_on_em_and_mhrm_does_not_hang_on_the_seed(name: str) -> None:
    assert [(p.kind, p.verdict) for p in against_em(name)] == [("simulated", "agree")] * 10


@pytest.mark.parametrize("name", NAMES)
def test_two_seeds_agree(name: str) -> None:
    fits = [fit(name, m, simulated=True) for m in RECORDED[name]["mhrm"]]
    found = [compare_pair(("one", "two"), pair) for pair in combinations(fits, 2)]
    assert [(p.kind, p.verdict) for p in found] == [("both simulated", "agree")] * 45


def of_seeds(name: str, term: str, figure: str) -> float:
    """Return mean + 3 SD over the seeds of a figure in standard errors."""
    found = [p.term(term) for p in against_em(name)]
    values = np.array([getattr(t.aligned, figure) for t in found if t is not None])
    return float(values.mean() + 3 * values.std(ddof=1))


@pytest.mark.parametrize(
    ("limit", "figure", "common"),
    [
        (SIMULATED_MEAN, "mean_in_errors", False),
        (SIMULATED_LARGEST, "largest_in_errors", False),
        (SIMULATED_UNIT, "largest_in_errors", True),
    ],
)
def test_each_limit_is_what_the_seeds_give_and_no_more(limit: Threshold, figure: str, common: bool) -> None:
    rasch = [name for name in MEASURED if name.endswith("Rasch")]
    if common:
        measured = max(of_seeds(name, "discrimination", figure) for name in rasch)
    else:
        free = [name for name in MEASURED if name not in rasch]
        measured = max(
            *(of_seeds(name, "discrimination", figure) for name in free),
            *(of_seeds(name, "intercept", figure) for name in MEASURED),
        )
    assert measured <= limit.value < measured + 0.01
    assert f"{measured:.3f}".removeprefix("0") in limit.reason


def test_two_simulated_fits_have_the_error_of_both() -> None:
    assert BOTH_SIMULATED_LARGEST.value == pytest.approx(np.sqrt(2) * SIMULATED_LARGEST.value, abs=0.005)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.8, 1.25])
def test_another_unit_is_still_found(name: str, scale: float) -> None:
    em = fit(name, RECORDED[name]["em"], simulated=False)
    for recorded in RECORDED[name]["mhrm"]:
        found = compare_pair(("em", "mhrm"), (em, fit(name, recorded, simulated=True, scale=scale)))
        assert found.verdict == "agree up to scale"
        assert "fit again with other seeds" in found.reason
        assert "nothing but the values" not in found.reason
