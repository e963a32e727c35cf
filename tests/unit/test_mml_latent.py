"""The empirical latent distribution of `mml`: its maximum, its scale, what it recovers, and Ctrl-C on the way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import psychoeval as pe
from psychoeval.errors import ConvergenceWarning, SettingsError
from psychoeval.estimators.native import mml_latent
from psychoeval.estimators.native.mml import MML
from psychoeval.estimators.native.mml_law import make_nodes
from psychoeval.irt.curves import node_log_likelihood
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.unit.test_mml import fit

#: Two clusters of systems, mean 0 and SD 1: three quarters weak ones close together, a quarter strong.
SHARE, LOW, HIGH, SD = 0.75, -0.55, 1.65, 0.3


def clustered(n: int = 600, j: int = 20, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return responses (n, j), slopes and intercepts (j,) of persons in two clusters."""
    rng = np.random.default_rng(seed)
    theta = np.where(rng.random(n) < SHARE, rng.normal(LOW, SD, n), rng.normal(HIGH, SD, n))
    a, d = rng.lognormal(0.3, 0.3, j), rng.normal(0.0, 1.0, j)
    return (rng.random((n, j)) < expit(theta[:, None] * a + d)).astype(np.uint8), a, d


@pytest.fixture(scope="module")
def fits() -> dict[str, FitResult]:
    data = Responses.from_array(clustered()[0])
    return {latent: fit(data, latent=latent) for latent in ("normal", "empirical")}


@pytest.mark.parametrize(("n", "j", "seed"), [(400, 100, 0), (200, 30, 3)])
def test_a_grid_that_is_renewed_does_not_stop_the_search(n, j, seed) -> None:
    found = fit(Responses.from_array(clustered(n, j, seed)[0]), latent="empirical")
    assert found.convergence.status == "converged"
    assert found.convergence.last_change <= 1e-5


@pytest.mark.parametrize(("low", "high", "step"), [(-4.0, 4.0, 0.05), (-4.13, 6.2, 0.083), (-1.01, 1.0, 0.3)])
def test_a_wider_grid_has_the_nodes_of_a_narrow_one(low, high, step) -> None:
    law = mml_latent.normal_law()
    narrow, wide = make_nodes(law, low, high, step), make_nodes(law, low - 1.37, high + 2.11, step)
    assert narrow.theta[0] <= low
    assert narrow.theta[-1] >= high
    assert narrow.step <= step
    at = np.abs(wide.theta[:, None] - narrow.theta).min(axis=0)
    np.testing.assert_allclose(at, 0.0, atol=1e-12)
    centers = law.centers[(law.centers >= low) & (law.centers <= high)]
    np.testing.assert_allclose(np.abs(narrow.theta[:, None] - centers).min(axis=0), 0.0, atol=1e-12)


def at_nodes(x: np.ndarray, found: FitResult) -> np.ndarray:
    """Return the likelihoods (N, Q) of the persons at the nodes of the reported histogram."""
    items, nodes = found.item_parameters, found.latent_distribution.nodes
    n = np.ones(x.shape)
    return np.exp(node_log_likelihood(x.astype(float), n, nodes, items.discrimination, items.intercept))


def test_likelihood_and_scores_are_those_under_the_reported_histogram(fits) -> None:
    found, law = fits["empirical"], fits["empirical"].latent_distribution
    assert found.convergence.status == "converged"
    joint = at_nodes(clustered()[0], found) * law.weights
    # Reported weights sum to 1; on the grid they fall short of it by the splines beyond its ends.
    assert found.log_likelihood == pytest.approx(np.log(joint.sum(axis=1)).sum(), abs=1e-6 * len(joint))
    mean = joint @ law.nodes / joint.sum(axis=1)
    np.testing.assert_allclose(found.abilities.estimate, mean, atol=1e-7)
    assert law.weights.sum() == pytest.approx(1.0)
    assert law.weights @ law.nodes == pytest.approx(0.0, abs=1e-8)
    assert law.weights @ law.nodes**2 == pytest.approx(1.0, rel=1e-6)


def test_no_other_distribution_on_its_splines_is_more_likely(monkeypatch) -> None:
    given = []
    update = mml_latent.fitted_law
    monkeypatch.setattr(mml_latent, "fitted_law", lambda *a: given.append(update(*a)) or given[-1])
    x = clustered()[0]
    found = fit(Responses.from_array(x), latent="empirical")
    law, nodes = given[-1].standardized(), found.latent_distribution.nodes
    density = law.basis(nodes)
    under = at_nodes(x, found) @ density.T / density.sum(axis=1)  # (N, K); what all splines share cancels
    # Lindsay (1983): at the maximum the mean ratio is 1 where a spline has weight and at most 1 where it has none. The
    # search ends where a refit gains less than .01; EM takes weights to 0 slowly.
    ratio = np.mean(under / (under @ law.weights)[:, None], axis=0)
    inside = law.weights > 1e-3
    assert inside.sum() > 3
    np.testing.assert_allclose(ratio[inside], 1.0, atol=0.02)
    assert (ratio < 1.02).all()


def test_clusters_are_found_and_the_items_are_nearer_to_the_truth(fits) -> None:
    a = clustered()[1]
    normal, empirical = fits["normal"], fits["empirical"]
    law = empirical.latent_distribution
    low, between, high = (
        law.weights[np.abs(law.nodes - center) < 0.25].sum() for center in (LOW, 0.5 * (LOW + HIGH), HIGH)
    )
    assert low > 5 * between
    assert high > 2 * between
    off = {
        name: np.sqrt(np.mean((f.item_parameters.discrimination / a - 1) ** 2))
        for name, f in (("normal", normal), ("empirical", empirical))
    }
    assert off["empirical"] < off["normal"]
    # Splines cost less than they give: AIC would choose this distribution.
    assert empirical.log_likelihood - normal.log_likelihood > empirical.n_parameters - normal.n_parameters > 0


def test_normal_abilities_do_not_ask_for_another_distribution() -> None:
    rng = np.random.default_rng(4)
    a, d = rng.lognormal(0.0, 0.3, 15), rng.normal(size=15)
    x = (rng.random((800, 15)) < expit(rng.normal(size=(800, 1)) * a + d)).astype(np.uint8)
    normal, empirical = (fit(Responses.from_array(x), latent=latent) for latent in ("normal", "empirical"))
    gain = empirical.log_likelihood - normal.log_likelihood
    assert 0 <= gain < empirical.n_parameters - normal.n_parameters + 5
    np.testing.assert_allclose(empirical.abilities.estimate, normal.abilities.estimate, atol=0.25)


@pytest.mark.parametrize(("model", "largest"), [("2PL", 0.03), ("Rasch", 0.006)])
def test_blocks_of_errors_are_near_the_whole_inverse(model, largest) -> None:
    data = Responses.from_array(clustered(300, 100, 3)[0])
    full, blocks = (fit(data, model, latent="empirical", standard_errors=how) for how in ("full", "blocks"))
    # The bounds are those under the normal distribution (test_mml_report); its information instead gives 10 % (median).
    for term in ("discrimination", "intercept"):
        one, two = (f.item_parameters.standard_errors[term] for f in (full, blocks))
        np.testing.assert_allclose(two, one, rtol=largest)
        assert np.median(two / np.where(one > 0, one, 1.0)) == pytest.approx(float((one > 0).any()), abs=0.006)
    if model == "Rasch":
        errors = [f.latent_distribution.sd_standard_error for f in (full, blocks)]
        assert errors[1] == pytest.approx(errors[0], rel=largest)


def test_modes_are_those_of_a_normal_distribution_only() -> None:
    with pytest.raises(SettingsError, match="ability_method='MAP' needs a normal latent distribution"):
        MML(latent="empirical", ability_method="MAP")


@pytest.mark.parametrize("where", ["fitted_law", "maximize"])
def test_ctrl_c_ends_the_search_where_it_stands_or_raises(where, monkeypatch) -> None:
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    data = Responses.from_array(clustered(200, 8)[0])
    if where == "fitted_law":
        monkeypatch.setattr(mml_latent, where, interrupted)
    else:
        monkeypatch.setattr("psychoeval.estimators.native.mml_search.em_map", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = pe.fit(data, "mml", model="2PL", latent="empirical", on_interrupt="return")
    assert found.convergence.status == "interrupted"
    assert np.isfinite(found.item_parameters.intercept).all()
    with pytest.raises(KeyboardInterrupt):
        pe.fit(data, "mml", model="2PL", latent="empirical")
