"""What the Stan programs sample is the model, said plainly in `tests.unit.stan_density`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    LogNormal,
    Normal,
    Priors,
    resolve_priors,
)
from psychoeval.responses.matrix import Responses
from tests.gates import needs
from tests.unit.stan_density import program_log_density, random_parameters

pytestmark = needs("stanli")

POPULATION = Priors(
    population=ItemPopulation(
        mean_difficulty=Normal(0.5, 1.2),
        sd_difficulty=HalfNormal(0.8),
        mean_log_discrimination=Normal(-0.3, 0.6),
        sd_log_discrimination=HalfNormal(0.7),
        latent_sd=HalfNormal(1.5),
    )
)
ON_D = Priors(log_discrimination=Normal(-0.2, 0.6), intercept=Normal(0.4, 1.5))
ON_B = Priors(discrimination=LogNormal(0.1, 0.4), difficulty=Normal(-0.4, 1.3))

MODELS = [
    *(ItemModel(name, priors) for name in ("Rasch", "1PL", "2PL") for priors in (POPULATION, ON_D, ON_B)),
    ItemModel("2PL", resolve_priors("published")),
    ItemModel("3PL", POPULATION, LogitNormal(-1.1, 0.5)),
    ItemModel("3PL", ON_D, Beta(5, 17)),
    ItemModel("3PL", ON_B, 0.2),
    ItemModel("3PL", ON_B, 0),
]


def some_responses(kind: str) -> Responses:
    rng = np.random.default_rng(3)
    n, j = (6, 4) if "tall" in kind else (4, 6)
    trials = rng.integers(0, 4, (n, j)) if "counts" in kind else (rng.random((n, j)) < 0.8).astype(int)
    trials[0], trials[:, 0] = 1, 1
    return Responses.from_array(rng.binomial(trials, 0.6), trials=trials)


def built(model: ItemModel, data: dict[str, Any]) -> Any:
    import stanli

    return stanli.Model(stan_code=program_source(program(model)), data=data)


@pytest.mark.parametrize("kind", ["tall", "wide", "wide counts"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
def test_a_program_has_the_density_of_its_model(model: ItemModel, kind: str) -> None:
    # N = 4 or 6: the Jacobian is that of all N + 2 parameters of the abilities, by complex steps.
    responses, rng = some_responses(kind), np.random.default_rng(11)
    data = stan_data(responses, model)
    compiled = built(model, data)
    differences = []
    for _ in range(8):
        p = random_parameters(model, data, rng)
        found, _ = compiled.log_prob_grad(compiled.unconstrain(p))
        differences.append(found - program_log_density(model, responses, data, p))
    assert np.ptp(differences) < 1e-9 * max(1, np.abs(differences).max())
