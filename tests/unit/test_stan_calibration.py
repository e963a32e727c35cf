"""Simulation-based calibration of the Stan programs, small: each program as it is, and wrong priors that are refused.

`benchmarks/stan_calibration.py` has more worlds, more kinds of priors, and wrong programs. The level is .01 over all
quantities of all programs.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, kstest

from benchmarks._calibration import chi_square, draw_responses, draw_truth, log_likelihood, uniformity
from benchmarks.stan_calibration import LEVEL, ON_D, RIGHT, WRONG_PRIOR
from psychoeval.irt.curves import probability
from psychoeval.irt.models import Beta, ItemModel
from tests.gates import needs

#: Name -> worlds and quantities; about 11 s each.
PROGRAMS = {
    "rasch, population": (90, 6),
    "one_pl, population": (80, 6),
    "two_pl, population": (50, 8),
    "three_pl, stated d, beta": (60, 5),
}
TESTS = sum(quantities for _, quantities in PROGRAMS.values())
#: What a wrong prior shows in first.
WRONG = {"rasch, latent SD too small": "sigma", "two_pl, difficulties too near": "sd_b"}


@needs("stanli")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_truth_is_like_the_draws(name: str) -> None:
    worlds, quantities = PROGRAMS[name]
    ranks = RIGHT[name].ranks(worlds, seed=3)
    assert len(ranks) == quantities
    for quantity, of in ranks.items():
        p, z = uniformity(of)
        assert p > LEVEL / TESTS, (quantity, z)


@needs("stanli")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_prior_is_refused(name: str) -> None:
    # Too narrow: truths lie beyond the draws.
    ranks = WRONG_PRIOR[name].ranks(15, seed=3)
    p, z = uniformity(ranks[WRONG[name]])
    assert p < LEVEL / TESTS
    assert z[1] > 3


def ranks_of(pool: np.ndarray) -> np.ndarray:
    return pool.argsort(axis=1).argsort(axis=1)


def test_the_test_has_its_level_and_sees_shifts_and_widths() -> None:
    rng = np.random.default_rng(2)
    # Six elements a world that go together, as items do that share their mean.
    pools = rng.normal(size=(600, 50, 20, 6)) + rng.normal(size=(600, 50, 20, 1))
    assert kstest([uniformity(ranks_of(pool))[0] for pool in pools], "uniform").pvalue > 0.01
    pool = pools[0]
    assert uniformity(ranks_of(np.concatenate([pool[:, :1] + 1.5, pool[:, 1:]], axis=1)))[1][0] > 4
    assert uniformity(ranks_of(np.concatenate([pool[:, :1] * 2, pool[:, 1:]], axis=1)))[1][1] > 4
    assert uniformity(ranks_of(np.concatenate([pool[:, :1] / 3, pool[:, 1:]], axis=1)))[1][1] < -4


def test_chi_square_is_that_of_the_first_element() -> None:
    ranks = np.zeros((40, 20, 2), dtype=int)
    ranks[:, 0, 0] = np.tile(np.arange(20), 2)
    assert chi_square(ranks, 10) == 1.0
    ranks[:, 0, 0] = 0
    assert chi_square(ranks, 10) < 1e-50


def test_responses_are_drawn_from_the_parameters_that_the_likelihood_has() -> None:
    rng = np.random.default_rng(5)
    truth = draw_truth(ItemModel("3PL", ON_D, Beta(5, 17)), 300, 40, rng)
    responses = draw_responses(truth, 300, 40, 3, rng)
    p = probability(truth["theta"], truth["a"], -truth["a"] * truth["b"], truth["c"])
    x, k = responses.successes.astype(int), responses.trials.astype(int)
    coefficients = (binom.logpmf(x, k, 0.5) + k * np.log(2.0)).sum()
    assert log_likelihood(responses, truth) == pytest.approx(binom.logpmf(x, k, p).sum() - coefficients, rel=1e-12)
    assert abs((x - k * p).sum() / np.sqrt((k * p * (1 - p)).sum())) < 4
    assert (k.sum(axis=0).min(), k.sum(axis=1).min()) >= (1, 1)
