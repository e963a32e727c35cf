"""Scores on mirt's own items against what mirt's fscores makes of the same responses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.errors import EngineWarning
from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.curves import information, node_log_likelihood
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.scoring import ScoringMethod, score
from tests.gates import needs
from tests.parity import tolerances

pytestmark = needs("mirt")
FloatArray = NDArray[np.float64]
METHODS: tuple[ScoringMethod, ...] = ("EAP", "MAP", "ML", "WLE")
MODELS = {"2PL": ItemModel("2PL"), "Rasch": ItemModel("Rasch"), "3PL": ItemModel("3PL", guessing=0.2)}


@pytest.fixture(scope="module")
def responses() -> Responses:
    rng = np.random.default_rng(17)
    n, j = 400, 24
    a, d = rng.lognormal(0, 0.3, j), rng.normal(0.5, 1.2, j)
    p = 0.2 + 0.8 / (1 + np.exp(-(np.outer(rng.normal(size=n), a) + d)))
    x = (rng.random((n, j)) < p).astype(float)
    x[rng.random((n, j)) < 0.1] = np.nan
    return Responses.from_array(x)


def fitted(responses: Responses, model: str, method: ScoringMethod) -> tuple[FitResult, Abilities]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)  # mirt's optimizer gives up one WLE under the 3PL
        fit = MirtEM(ability_method=method, standard_errors="none").fit(responses, MODELS[model])
    assert fit.abilities is not None
    return fit, fit.abilities


def scored(responses: Responses, fit: FitResult, method: ScoringMethod) -> Abilities:
    assert fit.item_parameters is not None
    latent = fit.latent_distribution or LatentDistribution()
    return score(responses, fit.item_parameters, method=method, latent=latent)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["2PL", "Rasch"])
def test_scores_are_mirts(responses: Responses, model: str, method: ScoringMethod) -> None:
    fit, expected = fitted(responses, model, method)
    found = scored(responses, fit, method)
    assert found.status == expected.status
    assert found.standard_error is not None
    assert expected.standard_error is not None
    np.testing.assert_allclose(found.estimate, expected.estimate, rtol=0, atol=tolerances.KNOWN_ITEMS_SCORES)
    if method != "WLE":  # mirt's error there is another: from the curvature of the weighted likelihood
        error = tolerances.KNOWN_ITEMS_ERRORS
        np.testing.assert_allclose(found.standard_error, expected.standard_error, rtol=error)


@pytest.mark.parametrize("method", ["EAP", "MAP"])
def test_scores_with_guessing_are_mirts(responses: Responses, method: ScoringMethod) -> None:
    fit, expected = fitted(responses, "3PL", method)
    found = scored(responses, fit, method)
    np.testing.assert_allclose(found.estimate, expected.estimate, rtol=0, atol=tolerances.KNOWN_ITEMS_SCORES)
    if method == "EAP":  # mirt's error of a MAP score is from the observed information
        error = tolerances.KNOWN_ITEMS_ERRORS
        np.testing.assert_allclose(found.standard_error, expected.standard_error, rtol=error)


def log_likelihood(responses: Responses, fit: FitResult, nodes: FloatArray) -> FloatArray:
    items = fit.item_parameters
    assert items is not None
    return node_log_likelihood(
        responses.successes, responses.trials, nodes, items.discrimination, items.intercept, items.guessing
    )


def test_ml_with_guessing_is_mirts_or_better(responses: Responses) -> None:
    fit, expected = fitted(responses, "3PL", "ML")
    found = scored(responses, fit, "ML")
    assert found.status == expected.status
    np.testing.assert_array_equal(np.isinf(found.estimate), np.isinf(expected.estimate))
    finite = np.flatnonzero(np.isfinite(expected.estimate))
    ours, mirts = (np.diag(log_likelihood(responses, fit, f.estimate[finite])[finite]) for f in (found, expected))
    assert (ours >= mirts - 1e-9).all()
    # mirt searches from one start: it stays at the lower of two maxima for one person, -1.50 for -12.16.
    assert np.count_nonzero(ours > mirts + 1e-3) == 1
    gap = np.abs(found.estimate[finite] - expected.estimate[finite])[ours <= mirts + 1e-3]
    assert gap.max() < tolerances.KNOWN_ITEMS_FLAT


def test_mirts_wle_with_guessing_is_not_warms(responses: Responses) -> None:
    """Its weight is the root of the information, which is Warm's without guessing only: ours cannot be equal there."""
    fit, expected = fitted(responses, "3PL", "WLE")
    items = fit.item_parameters
    assert items is not None
    nodes = np.arange(-12, 8, 0.001)
    terms = information(nodes, items.discrimination, items.intercept, items.guessing)
    weighted = log_likelihood(responses, fit, nodes) + 0.5 * np.log(responses.trials.astype(float) @ terms.T)
    mode = nodes[weighted.argmax(axis=1)]
    np.testing.assert_allclose(expected.estimate, mode, rtol=0, atol=0.001)
    found = scored(responses, fit, "WLE")
    assert np.median(expected.estimate - found.estimate) > 0.02
