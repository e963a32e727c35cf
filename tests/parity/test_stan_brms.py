"""stan-hmc beside brms under the same priors, on 150 x 6 with missing cells: two programs that share no code.

brms' fit is that of test_brms.py, so that its program is compiled and sampled once.
"""

from __future__ import annotations

import numpy as np

from psychoeval.fitting import fit
from psychoeval.irt.models import HalfNormal, ItemModel, ItemPopulation, Normal, Priors
from psychoeval.results.fit_result import FitResult
from tests.gates import needs
from tests.parity import tolerances
from tests.parity.test_brms import PRIORS, fitted, responses

pytestmark = needs("brms", "stanli", "arviz")


def stan_hmc(priors: Priors, samples: int) -> FitResult:
    # Six items may have slopes nearly alike, a funnel: at an acceptance rate of .9 one draw in a hundred diverges.
    settings = {"chains": 4, "warmup": 500, "samples": samples, "seed": 6, "adapt_delta": 0.99, "backend": "stanli"}
    return fit(responses(), "stan-hmc", model=ItemModel("2PL", priors), **settings)


def distances(one: FitResult, other: FitResult) -> tuple[np.ndarray, np.ndarray]:
    """Return differences of posterior means in their Monte Carlo errors, and logs of ratios of SDs, of all there is."""
    off, spread = [], []
    assert set(one.draws.values) == set(other.draws.values)
    for name in one.draws.values:
        first, second = (draws.reshape(len(draws), -1) for draws in (one.draws.pooled(name), other.draws.pooled(name)))
        error = np.hypot(*(np.atleast_1d(fit.sampling.mcse_mean[name]) for fit in (one, other)))
        off.append((first.mean(axis=0) - second.mean(axis=0)) / error)
        spread.append(np.log(first.std(axis=0) / second.std(axis=0)))
    return np.concatenate(off), np.concatenate(spread)


def test_every_posterior_mean_is_that_of_brms() -> None:
    ours = stan_hmc(PRIORS, 2000)
    assert ours.convergence.status == "sampled"
    off, spread = distances(ours, fitted())
    assert off.size == 150 + 3 * 6 + 4  # the person who saw nothing and the item never run take no part
    assert np.abs(off).max() < tolerances.POSTERIOR_MCSE
    assert 0.5 < np.sqrt(np.mean(off**2)) < 1.5
    assert np.abs(spread).max() < tolerances.POSTERIOR_SPREAD


def test_another_prior_is_told_apart() -> None:
    wrong = Priors(
        population=ItemPopulation(
            mean_difficulty=Normal(0.0, 0.3),
            sd_difficulty=HalfNormal(3.0),
            mean_log_discrimination=Normal(-0.4, 0.1),
            sd_log_discrimination=HalfNormal(1.0),
        )
    )
    off, _ = distances(stan_hmc(wrong, 600), fitted())
    assert np.abs(off).max() > tolerances.POSTERIOR_MCSE
