"""Posterior means against marginal maximum likelihood, with and without the same priors: shrinkage is not a bug."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.irt.models import LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

DATA = Path(__file__).parent / "data" / "42"
EXPECTED = json.loads((DATA / "expected.json").read_text())
PRIORS = Priors(discrimination=LogNormal(0.0, 0.5), intercept=Normal(0.0, 2.0))


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


@pytest.fixture(scope="module")
def plain(responses: Responses) -> FitResult:
    return fit(responses, "mml", model="2PL", priors="none", tolerance=1e-8)


@pytest.fixture(scope="module")
def penalised(responses: Responses) -> FitResult:
    return fit(responses, "mml", model="2PL", priors=PRIORS, tolerance=1e-8)


def parameters(found: FitResult) -> np.ndarray:
    assert found.item_parameters is not None
    return np.concatenate([found.item_parameters.discrimination, found.item_parameters.intercept])


def test_without_priors(plain: FitResult) -> None:
    assert plain.convergence.status == "converged"
    # Five decimals are printed.
    assert parameters(plain) == pytest.approx(np.array(EXPECTED["mml_a"] + EXPECTED["mml_d"]), abs=6e-6)
    assert plain.log_likelihood == pytest.approx(EXPECTED["mml_log_likelihood"], abs=1e-6)


def test_with_the_priors_of_the_sampler(penalised: FitResult) -> None:
    assert penalised.convergence.status == "converged"
    # Four decimals are printed.
    assert parameters(penalised) == pytest.approx(np.array(EXPECTED["map_a"] + EXPECTED["map_d"]), abs=6e-5)
    assert penalised.label == "mml 2PL [a ~ LN(0, 0.5), d ~ N(0, 2)]"


def test_in_posterior_sds_the_sampler_is_near_and_nearer_with_its_priors(
    plain: FitResult, penalised: FitResult
) -> None:
    mean, sd = np.array(EXPECTED["hmc_mean"]), np.array(EXPECTED["hmc_sd"])
    without, with_priors = ((mean - parameters(f)) / sd for f in (plain, penalised))
    assert np.abs(without).max() == pytest.approx(0.95, abs=0.02)
    # A posterior mean is above the mode of a skewed density.
    assert np.abs(with_priors).max() < 0.4


@needs("stanli", "arviz")
def test_our_own_sampler_reaches_the_published_posterior(responses: Responses) -> None:
    found = fit(responses, "stan-hmc", model="2PL", priors=PRIORS)
    assert found.convergence.status == "sampled"
    assert found.sampling is not None
    assert found.item_parameters is not None
    errors = found.item_parameters.standard_errors
    assert errors is not None
    sd = np.concatenate([errors["discrimination"], errors["intercept"]])
    ours = np.concatenate([found.sampling.mcse_mean[name] for name in ("discrimination", "intercept")])
    # Theirs: 4 x 2000 draws, taken to be worth 2000 independent ones; and three decimals.
    theirs = np.array(EXPECTED["hmc_sd"]) / np.sqrt(2000)
    off = parameters(found) - np.array(EXPECTED["hmc_mean"])
    assert np.all(np.abs(off) < 4 * np.hypot(ours, theirs) + 5e-4)
    # The SD of 2000 normal draws is within 6 % in 999 of 1000 cases; slopes have longer tails.
    assert sd == pytest.approx(np.array(EXPECTED["hmc_sd"]), rel=0.12)
