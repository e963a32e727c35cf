"""Systems with everything right or wrong, scored by mirt on a test whose answers have a closed form.

Every item has the same difficulty: for each raw score 0 ... 20, its answers are shifted around the 20 items, so all
items have the same data and, by symmetry, difficulty 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.estimators.mirt.settings import ScoringMethod
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
N = 20
SCORES = np.repeat(np.arange(N + 1), N)


def circulant() -> Responses:
    rows = [np.roll(np.arange(N) < score, shift) for score in range(N + 1) for shift in range(N)]
    return Responses.from_array(np.array(rows, dtype=float))


@pytest.fixture(scope="module")
def fits() -> dict[str, FitResult]:
    methods: tuple[ScoringMethod, ...] = ("ML", "WLE", "MAP", "EAP")
    model = ItemModel("Rasch")
    return {
        m: MirtEM(ability_method=m, tolerance=1e-7, standard_errors="none").fit(circulant(), model) for m in methods
    }


def scored(fit: FitResult) -> tuple[np.ndarray, np.ndarray]:
    """Return the abilities and errors of raw scores 0, 10 and 20."""
    assert fit.abilities is not None
    assert fit.abilities.standard_error is not None
    rows = [int(np.flatnonzero(s == SCORES)[0]) for s in (0, 10, 20)]
    return fit.abilities.estimate[rows], fit.abilities.standard_error[rows]


def test_the_items_are_what_the_closed_forms_assume(fits: dict[str, FitResult]) -> None:
    items = fits["EAP"].item_parameters
    assert items is not None
    # A tenth of the narrowest bound below; 7e-6 is where mirt stops.
    assert items.intercept == pytest.approx(0, abs=1e-5)


def test_ml_is_infinite_exactly_and_says_so(fits: dict[str, FitResult]) -> None:
    fit = fits["ML"]
    assert fit.abilities is not None
    estimate, error = scored(fit)
    assert estimate[[0, 2]].tolist() == [-np.inf, np.inf]
    assert error[[0, 2]].tolist() == [np.inf, np.inf]
    assert estimate[1] == pytest.approx(0, abs=1e-4)
    extreme = (SCORES == 0) | (SCORES == N)
    assert (np.array(fit.abilities.status) == "ml_infinite").tolist() == extreme.tolist()


def test_wle_has_warms_closed_form(fits: dict[str, FitResult]) -> None:
    estimate, error = scored(fits["WLE"])
    x = np.array([0, 10, 20])
    # The closed form is for difficulties of exactly 0; mirt's are within 7e-6 of it (see above), and an ability scored
    # on them moves as far.
    assert estimate == pytest.approx(np.log((x + 0.5) / (N - x + 0.5)), abs=1e-5)
    assert estimate[2] == pytest.approx(3.713572, abs=1e-5)
    assert error[2] > error[1]


def test_map_is_the_root_of_its_equation(fits: dict[str, FitResult]) -> None:
    latent = fits["MAP"].latent_distribution
    assert latent is not None
    # n (x / n - P(theta)) - theta / variance = 0
    expected = [brentq(lambda t, x=x: x - N * expit(t) - t / latent.sd**2, -10, 10) for x in (0, 10, 20)]
    estimate, error = scored(fits["MAP"])
    assert estimate == pytest.approx(expected, abs=1e-4)
    p = expit(np.array(expected))
    assert error == pytest.approx(1 / np.sqrt(N * p * (1 - p) + 1 / latent.sd**2), abs=1e-3)


def test_eap_is_the_posterior_mean(fits: dict[str, FitResult]) -> None:
    latent = fits["EAP"].latent_distribution
    assert latent is not None
    theta = np.linspace(-6, 6, 61)
    expected, spread = [], []
    for x in (0, 10, 20):
        log_posterior = x * np.log(expit(theta)) + (N - x) * np.log(expit(-theta)) - 0.5 * (theta / latent.sd) ** 2
        weight = np.exp(log_posterior - log_posterior.max())
        weight /= weight.sum()
        expected.append(float(weight @ theta))
        spread.append(float(np.sqrt(weight @ (theta - expected[-1]) ** 2)))
    estimate, error = scored(fits["EAP"])
    assert estimate == pytest.approx(expected, abs=1e-4)
    assert error == pytest.approx(spread, abs=1e-4)
    assert error[2] > error[1]


def test_extremes_are_named_and_first_or_last_whatever_the_method(fits: dict[str, FitResult]) -> None:
    for method in ("WLE", "MAP", "EAP"):
        abilities = fits[method].abilities
        assert abilities is not None
        assert abilities.method == method
        assert np.isfinite(abilities.estimate).all()
        status = np.array(abilities.status)
        assert (status[SCORES == N] == "extreme_all_1").all()
        assert (status[SCORES == 0] == "extreme_all_0").all()
        assert set(SCORES[np.argsort(abilities.estimate)[-N:]]) == {N}
        assert set(SCORES[np.argsort(abilities.estimate)[:N]]) == {0}
