"""Counts that vary more than binomial ones: what every native estimator of items says of them."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.fitting import item_model
from psychoeval.registry import entry, make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FITS = [("map", "2PL"), ("mml", "Rasch"), ("mml", "2PL"), ("random-item", "2PL"), ("vi", "2PL"), ("cml", "Rasch")]


def fit(name: str, model: str, x: np.ndarray, n: np.ndarray) -> FitResult:
    return make_estimator(name).fit(Responses.from_array(x, n), item_model(model, row=entry(name)))


@pytest.mark.parametrize(("name", "model"), FITS)
def test_overdispersed_counts_are_seen(name: str, model: str) -> None:
    rng = np.random.default_rng(5)
    theta, b = rng.normal(size=30), rng.normal(size=20)
    n = np.full((30, 20), 40)
    p = 1 / (1 + np.exp(-(theta[:, None] - b)))
    binomial = fit(name, model, rng.binomial(n, p), n)
    spread = rng.beta(4 * p, 4 * (1 - p))  # variance (1 + 39/5) times the binomial one
    wide = fit(name, model, rng.binomial(n, spread), n)
    assert binomial.statistics["overdispersion_ratio"] == pytest.approx(1.0, abs=0.2)
    assert not any("binomial" in w for w in binomial.convergence.warnings)
    assert wide.statistics["overdispersion_ratio"] > 4
    assert any("binomial" in w for w in wide.convergence.warnings)


@pytest.mark.parametrize(("name", "model"), FITS)
def test_binary_responses_have_no_ratio(name: str, model: str) -> None:
    x = np.random.default_rng(2).integers(0, 2, (10, 10))
    assert "overdispersion_ratio" not in fit(name, model, x, np.ones_like(x)).statistics


#: `map` subtracts what its priors leave of the parameters, and `cml` has no persons among them.
@pytest.mark.parametrize(("name", "model"), [row for row in FITS if row[0] not in ("map", "cml")])
def test_without_degrees_of_freedom_there_is_no_ratio(name: str, model: str) -> None:
    found = fit(name, model, np.array([[3, 1], [1, 2]]), np.full((2, 2), 4))
    assert np.isnan(found.statistics["overdispersion_ratio"])
    assert not any("binomial" in w for w in found.convergence.warnings)
