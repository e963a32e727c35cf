"""Marginal log-likelihoods and replicated scores of draws against what the Stan programs put out beside them."""

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.irt.models import Beta, ItemModel, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.predictive import with_log_likelihood, with_replicated_scores
from tests.gates import needs
from tests.parity.tolerances import MARGINAL_DRAWS

pytestmark = needs("stanli", "arviz")

PRIORS = Priors(difficulty=Normal(0, 1), discrimination=LogNormal(0, 0.3))
MODELS = {
    "Rasch": ItemModel("Rasch", Priors(difficulty=Normal(0, 1))),
    "1PL": ItemModel("1PL", PRIORS),
    "2PL": ItemModel("2PL", PRIORS),
    "3PL": ItemModel("3PL", PRIORS, Beta(5, 17)),
    "3PL, guessing fixed": ItemModel("3PL", PRIORS, 0.2),
}


def responses(persons: int, items: int) -> Responses:
    """Counts of 0 to 2 trials."""
    rng = np.random.default_rng(persons)
    theta, b = rng.normal(size=persons), rng.normal(size=items)
    trials = rng.integers(0, 3, size=(persons, items))
    trials[0] = 1  # no item without responses
    return Responses.from_array(rng.binomial(trials, 1 / (1 + np.exp(b - theta[:, None]))), trials)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [(40, 8), (8, 120)], ids=["few trials", "many trials"])
@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")  # 40 draws are few, and enough
def test_they_are_those_of_the_programs(size: tuple[int, int], model: str) -> None:
    part = responses(*size)
    found = fit(part, "stan-hmc", model=MODELS[model], chains=1, warmup=150, samples=40, log_likelihood=True,
                replicated_scores=True)  # fmt: skip
    draws = found.draws
    assert draws is not None
    ours = with_log_likelihood(draws, part, found.model).log_likelihood
    np.testing.assert_allclose(ours, draws.log_likelihood, rtol=0, atol=MARGINAL_DRAWS)
    # Two samples of the same distributions: sums over persons, in SDs of their difference over the draws.
    scores = with_replicated_scores(draws, part, found.model, 1).replicated_scores
    gap = scores.sum(axis=2) - draws.replicated_scores.sum(axis=2)
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(gap.size)
