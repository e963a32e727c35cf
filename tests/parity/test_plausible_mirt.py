"""Plausible values, test information and marginal reliability on mirt's own items against mirt 1.48.

mirt draws from a normal distribution with each person's posterior mean and SD, or by Metropolis and Hastings from the
posterior itself; ours are from the posterior, each independent.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval import scoring
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.responses.matrix import Responses
from tests.gates import needs
from tests.parity import tolerances

pytestmark = needs("mirt")
FloatArray = NDArray[np.float64]
PERSONS, ITEMS, DRAWS = 300, 12, 200
GRID = np.linspace(-4, 4, 17)
KINDS = ("normal", "mh")


@pytest.fixture(scope="module")
def responses() -> Responses:
    rng = np.random.default_rng(5)
    a, b = rng.lognormal(0, 0.3, ITEMS), rng.normal(0, 1.2, ITEMS)
    p = 1 / (1 + np.exp(-a * (rng.normal(size=PERSONS)[:, None] - b)))
    x = (rng.random(p.shape) < p).astype(float)
    x[rng.random(p.shape) < 0.1] = np.nan
    return Responses.from_array(x, item_ids=[f"q{k}" for k in range(ITEMS)])


@pytest.fixture(scope="module")
def mirts(responses: Responses) -> dict[str, FloatArray]:
    x = np.where(responses.observed, responses.successes.astype(float), -1.0)
    job = {"x": x.ravel(), "persons": PERSONS, "items": list(responses.item_ids), "seed": 3, "draws": DRAWS,
           "grid": GRID}  # fmt: skip
    reply = RscriptBridge().call(Path(__file__).with_name("plausible_mirt.R"), "mirt_plausible", job, timeout=120)
    return {name: np.asarray(values, dtype=float) for name, values in reply.items()}


@pytest.fixture(scope="module")
def items(responses: Responses, mirts: dict[str, FloatArray]) -> ItemParameters:
    return ItemParameters.from_slope_intercept(responses.item_ids, mirts["a"], mirts["d"])


@pytest.fixture(scope="module")
def ours(responses: Responses, items: ItemParameters) -> FloatArray:
    return scoring.plausible_values(responses, items, DRAWS, seed=1)


@pytest.fixture(scope="module")
def scored(responses: Responses, items: ItemParameters) -> Abilities:
    return scoring.score(responses, items)


def draws_of(mirts: dict[str, FloatArray], kind: str) -> FloatArray:
    return mirts[kind].reshape(DRAWS, PERSONS)


@pytest.mark.parametrize("kind", KINDS)
def test_means_and_sds_of_each_person_are_mirts(
    mirts: dict[str, FloatArray], ours: FloatArray, scored: Abilities, kind: str
) -> None:
    theirs = draws_of(mirts, kind)
    assert scored.standard_error is not None
    # Its chains are correlated: draws are worth less.
    per_draw = (1.0 + (tolerances.PLAUSIBLE_CHAINS if kind == "mh" else 1.0)) / DRAWS
    means = (ours.mean(axis=0) - theirs.mean(axis=0)) / (scored.standard_error * np.sqrt(per_draw))
    spread = np.log(ours.std(axis=0, ddof=1) / theirs.std(axis=0, ddof=1)) / np.sqrt(per_draw / 2)
    for z in (means, spread):
        assert np.abs(z).max() < tolerances.PLAUSIBLE_LARGEST
        assert abs(z.mean()) < 4 / np.sqrt(PERSONS)
        assert abs((z**2).mean() - 1) < tolerances.PLAUSIBLE_MEAN_SQUARE


@pytest.mark.parametrize("kind", KINDS)
def test_means_and_variances_of_the_sets_are_mirts(
    mirts: dict[str, FloatArray], ours: FloatArray, scored: Abilities, kind: str
) -> None:
    theirs = draws_of(mirts, kind)
    for figure in (np.mean, np.var):
        one, two = figure(ours, axis=1), figure(theirs, axis=1)
        error = np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / DRAWS)
        assert abs(one.mean() - two.mean()) < 4 * error
        # Sets vary as mirt's do: an SD from 200 has an error of 5 %.
        assert abs(np.log(one.std() / two.std())) < 4 * np.sqrt(1 / DRAWS)
    # What this is for: EAPs have two thirds of that variance.
    assert scored.estimate.var() < 0.75 * theirs.var(axis=1).mean()


def test_the_shape_of_posteriors_is_that_of_mirts_chains(
    mirts: dict[str, FloatArray], ours: FloatArray, scored: Abilities
) -> None:
    assert scored.standard_error is not None
    at = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    one, two = (np.quantile((v - scored.estimate) / scored.standard_error, at) for v in (ours, draws_of(mirts, "mh")))
    # Errors of quantiles of so many normal numbers; posteriors of 12 items are nearly normal.
    density = np.exp(-0.5 * ndtri(at) ** 2) / np.sqrt(2 * np.pi)
    error = np.sqrt((1 + tolerances.PLAUSIBLE_CHAINS) * at * (1 - at) / ours.size) / density
    assert (np.abs(one - two) < 4 * error).all()


def test_information_and_reliability_are_mirts(mirts: dict[str, FloatArray], items: ItemParameters) -> None:
    found = scoring.test_information(items, GRID)
    assert found.information == pytest.approx(mirts["information"], rel=tolerances.INFORMATION)
    assert found.reliability == pytest.approx(float(mirts["reliability"][0]), abs=tolerances.MARGINAL_RXX)
