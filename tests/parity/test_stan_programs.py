"""stanli, which interprets the Stan programs, beside PyStan, which compiles them: densities and gradients.

A program is compiled once, in the better part of a minute, and kept in the cache of httpstan.
"""

from __future__ import annotations

import subprocess
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.irt.models import ItemModel
from tests.gates import needs
from tests.parity import tolerances
from tests.unit.test_stan_programs import MODELS, built, some_responses

#: PyStan's server and its aiohttp warn of their own imports and keys.
pytestmark = [needs("stanli", "pystan"), pytest.mark.filterwarnings("ignore")]

POINTS = 10


def by_pystan(source: str, data: dict[str, Any]) -> Any:
    stan, compiler = import_module("stan"), import_module("httpstan.compile")

    def patient(*command: Any, timeout: float, **settings: Any) -> Any:
        return subprocess.run(*command, timeout=60 * timeout, **settings)

    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in data.items()}
    # httpstan gives its compiler 1 s, which a busy machine exceeds.
    with patch.object(compiler, "subprocess", SimpleNamespace(run=patient)):
        return stan.build(source, data=plain)


@pytest.mark.parametrize("stem", ["rasch", "one_pl", "two_pl", "three_pl"])
def test_densities_and_gradients_are_those_of_pystan(stem: str) -> None:
    models = [model for model in MODELS if program(model) == stem]
    assert models
    largest = {"near": 0.0, "far": 0.0}
    for model in models:
        for kind in ("tall", "wide counts"):
            for where, scale in (("near", 0.7), ("far", 1.5)):
                largest[where] = max(largest[where], _difference(model, kind, scale))
    assert largest["near"] < tolerances.STANLI_DENSITY
    assert largest["far"] < tolerances.STANLI_DENSITY_FAR


def _difference(model: ItemModel, kind: str, scale: float) -> float:
    """Return the largest relative difference over points: of densities, and of gradients as vectors.

    As a vector, because far off a gradient's parts are differences of numbers far larger than they are.
    """
    data = stan_data(some_responses(kind), model)
    ours, theirs = built(model, data), by_pystan(program_source(program(model)), data)
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(POINTS):
        point = scale * rng.normal(size=ours.n_unconstrained)
        density, gradient = ours.log_prob_grad(point)
        assert np.isfinite(density)
        of_density = abs(density - theirs.log_prob(point.tolist())) / max(1.0, abs(density))
        their_gradient = np.array(theirs.grad_log_prob(point.tolist()))
        of_gradient = np.linalg.norm(gradient - their_gradient) / max(1.0, float(np.linalg.norm(their_gradient)))
        worst = max(worst, of_density, float(of_gradient))
    return worst
