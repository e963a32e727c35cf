"""What the items' errors add to those of abilities: against scores on perturbed items, and where it is said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from psychoeval.errors import SettingsError
from psychoeval.estimators.native.mml import MML
from psychoeval.fitting import item_model
from psychoeval.irt import scoring
from psychoeval.irt.score_uncertainty import in_frame_of_persons
from psychoeval.responses.matrix import Responses
from tests.unit.mml_reference import dense, simulated
from tests.unit.test_mml import fit, responses


def standardized(theta: np.ndarray, *, unit: bool) -> np.ndarray:
    return (theta - theta.mean()) / (theta.std() if unit else 1.0)


def by_perturbation(found, x, n, score, *, unit: bool) -> np.ndarray:
    """Variance of scores on drawn-in errors: central differences by every a and d, in the persons' own frame."""
    items = found.item_parameters
    a, d = items.discrimination, items.intercept
    h = 1e-4
    total = np.zeros(len(x))
    for j in range(a.size):
        gradient = []
        for da, dd in ((h, 0.0), (0.0, h)):
            step = np.eye(a.size)[j]
            high, low = (score(x, n, a + s * da * step, d + s * dd * step) for s in (1, -1))
            scale = score(x, n, a, d).std() if unit else 1.0  # errors are in the unit of the estimates
            gradient.append(scale * (standardized(high, unit=unit) - standardized(low, unit=unit)) / (2 * h))
        g = np.array(gradient)
        total += np.einsum("kn,kl,ln->n", g, items.covariance[j][:2, :2], g)
    return total


def eap(x, n, a, d):
    return dense(x, n, a, d).mean


@pytest.mark.parametrize(("trials", "missing"), [(1, 0.0), (10, 0.3)])
@pytest.mark.parametrize(("method", "score"), [("EAP", eap), ("MAP", lambda *given: scoring.map_(*given, 0.0)[0])])
def test_added_variance_is_that_of_scores_on_perturbed_items(method, score, trials, missing) -> None:
    x, n = simulated(40, 8, seed=3, trials=trials, missing=missing)
    data = Responses.from_array(x, n)
    carried, fixed = (fit(data, ability_method=method, item_uncertainty=u) for u in (True, False))
    added = carried.abilities.standard_error**2 - fixed.abilities.standard_error**2
    np.testing.assert_allclose(added, by_perturbation(carried, x, n, score, unit=True), rtol=2e-4)
    np.testing.assert_array_equal(carried.abilities.estimate, fixed.abilities.estimate)


def test_rasch_abilities_are_centered_only() -> None:
    x, n = simulated(40, 8, seed=3)
    data = Responses.from_array(x, n)
    carried, fixed = (fit(data, "Rasch", item_uncertainty=u) for u in (True, False))
    sd = carried.latent_distribution.sd

    def score(x, n, a, d):  # the latent SD stays where it is
        return sd * dense(x, n, sd * a, d).mean

    added = carried.abilities.standard_error**2 - fixed.abilities.standard_error**2
    np.testing.assert_allclose(added, by_perturbation(carried, x, n, score, unit=False), rtol=2e-4)


def test_an_error_that_moves_all_abilities_alike_does_not_count() -> None:
    theta = np.array([-1.0, 0.5, 0.2, np.inf, 1.4])
    finite = np.array([0, 1, 2, 4])
    z = (theta[finite] - theta[finite].mean()) / theta[finite].std()
    moves = np.stack([np.full((4, 1), 0.3), z[:, None], (z**3)[:, None]])

    def gradients():
        yield finite[:2], moves[:, :2]
        yield finite[2:], moves[:, 2:]

    parts = list(in_frame_of_persons(theta, gradients))
    assert [list(who) for who, _ in parts] == [[0, 1], [2, 4]]
    moved, stretched, other = np.concatenate([g for _, g in parts], axis=1)[:, :, 0]
    np.testing.assert_allclose([moved, stretched], 0, atol=1e-15)
    np.testing.assert_allclose(other, z**3 - np.mean(z**3) - z * np.mean(z**4), atol=1e-15)


def test_auto_is_below_100_persons_and_says_so() -> None:
    few, many = (fit(responses(n, 10)) for n in (99, 100))
    assert few.abilities.uncertainty == "items estimated"
    assert "carried in" in few.statistics["standard_errors"]
    assert many.abilities.uncertainty == "items fixed"
    assert "held fixed" in many.statistics["standard_errors"]
    assert "carried in below 100 persons" in MML().describe()
    assert "carried in below 200 persons" in MML().describe(model=item_model("3PL"))
    assert fit(responses(150, 10), "3PL").abilities.uncertainty == "items estimated"
    assert "given the items" in MML().describe(responses(100, 10), item_model("2PL"))
    assert "carried in" in MML(item_uncertainty=True).describe(responses(100, 10), item_model("2PL"))


def test_whole_matrix_and_blocks_add_the_same() -> None:
    data = responses(60, 80, slope_sd=0.3, seed=5)
    fixed = fit(data, item_uncertainty=False).abilities.standard_error
    full, blocks = (
        fit(data, standard_errors=how).abilities.standard_error ** 2 - fixed**2 for how in ("full", "blocks")
    )
    np.testing.assert_allclose(blocks, full, rtol=0.1)  # blocks' errors differ by up to 2 %, as test_mml_report says


def test_empirical_laws_and_turned_answers_carry_items_too() -> None:
    x, n = simulated(80, 12, seed=4)
    straight = fit(Responses.from_array(x, n), latent="empirical")
    assert straight.abilities.uncertainty == "items estimated"
    fixed = fit(Responses.from_array(x, n), latent="empirical", item_uncertainty=False)
    assert (straight.abilities.standard_error > fixed.abilities.standard_error).all()
    # Turning 0 and 1 round turns the distribution: the errors stay.
    settings = {"priors": "none", "latent": "empirical", "ability_method": "EAP"}
    free = fit(Responses.from_array(x, n), **settings)
    turned = fit(Responses.from_array(n - x, n), slopes="free", **settings)
    np.testing.assert_allclose(turned.abilities.standard_error, free.abilities.standard_error, rtol=2e-3)


def test_infinite_abilities_have_infinite_errors() -> None:
    x, n = simulated(60, 6, seed=1)
    x[0] = 1
    found = fit(Responses.from_array(x, n), ability_method="ML", item_uncertainty=True).abilities
    assert np.isinf(found.standard_error[0])
    finite = np.isfinite(found.estimate)
    a = fit(Responses.from_array(x, n)).item_parameters
    p = expit(np.multiply.outer(found.estimate[finite], a.discrimination) + a.intercept)
    information = (p * (1 - p) * a.discrimination**2).sum(axis=1)
    assert (found.standard_error[finite] > 1 / np.sqrt(information)).all()


def test_settings_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match="item_uncertainty"):
        MML(item_uncertainty="yes")
    with pytest.raises(SettingsError, match="needs standard errors"):
        MML(item_uncertainty=True, standard_errors="none")
    found = fit(responses(40, 10), standard_errors="none")
    assert found.abilities.uncertainty == "items fixed"
