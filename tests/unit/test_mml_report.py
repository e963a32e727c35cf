from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from psychoeval.responses.matrix import Responses
from tests.unit.mml_reference import simulated
from tests.unit.test_mml import MODELS, fit, responses


@pytest.mark.parametrize("how", ["none", "full", "blocks"])
def test_standard_errors_as_asked(how) -> None:
    items = fit(responses(100, 20), standard_errors=how).item_parameters
    assert (items.covariance is None) == (how == "none")
    assert (items.joint_covariance is None) == (how != "full")
    assert bool(items.no_errors_because) == (how == "none")


@pytest.mark.parametrize("shape", [{}, {"missing": 0.5}, {"trials": 5, "missing": 0.2}], ids=str)
@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_blocks_are_near_the_whole_inverse(model, shape) -> None:
    data = responses(300, 120, slope_sd=0.3, seed=3, **shape)
    full, blocks = (fit(data, model, standard_errors=how).item_parameters for how in ("full", "blocks"))
    np.testing.assert_allclose(blocks.intercept, full.intercept, atol=1e-8)
    # What blocks leave out falls with the information a person's responses hold. Errors measured are .4 % too large for
    # the Rasch model; for the 2PL .3 % (median) and at most 2 % complete, 6 % where half the cells are missing.
    largest = 0.006 if model == "Rasch" else (0.08 if shape.get("missing") == 0.5 else 0.03)
    for term in ("discrimination", "intercept"):
        one, two = full.standard_errors[term], blocks.standard_errors[term]
        if model == "Rasch" and term == "discrimination":
            continue
        assert np.abs(two / one - 1).max() < largest
        assert abs(np.median(two / one) - 1) < 0.006
    if model == "2PL":
        correlations = [c[:, 0, 1] / np.sqrt(c[:, 0, 0] * c[:, 1, 1]) for c in (full.covariance, blocks.covariance)]
        np.testing.assert_allclose(correlations[1], correlations[0], atol=0.03)


def test_blocks_keep_the_error_of_the_common_slope() -> None:
    data = responses(300, 120, slope_sd=0.1, seed=3)
    for model in ("Rasch", "1PL"):
        found = [fit(data, model, standard_errors=how) for how in ("full", "blocks")]
        if model == "Rasch":
            errors = [f.latent_distribution.sd_standard_error for f in found]
        else:
            errors = [f.item_parameters.standard_errors["discrimination"][0] for f in found]
        assert errors[1] == pytest.approx(errors[0], rel=2e-3)  # measured .0003


def test_auto_takes_the_whole_matrix_where_it_is_small() -> None:
    assert fit(responses(40, 30)).item_parameters.joint_covariance.shape == (60, 60)
    assert fit(responses(40, 310), max_iterations=5).item_parameters.joint_covariance is None


@pytest.mark.parametrize("model", [*MODELS, "3PL"])
def test_joint_covariance_holds_the_blocks(model) -> None:
    x, n = simulated(200, 8, seed=5)
    x[:, 3] = 1
    priors = "weak" if model == "3PL" else "none"
    items = fit(Responses.from_array(x, n), model, priors).item_parameters
    joint, labels = items.joint_covariance, items.joint_labels
    kept = [i for i in range(8) if model == "3PL" or i != 3]
    names = {"2PL": ("a", "d"), "3PL": ("a", "d", "c")}.get(model, ("d",))
    wanted = [(items.item_ids[i], t) for i in kept for t in names]
    assert list(labels) == (wanted if model in ("2PL", "3PL") else [("", "a"), *wanted])
    column = {"a": 0, "d": 1, "c": 2}
    for i in kept:
        places = [(label, column[label[1]]) for label in labels if label[0] in ("", items.item_ids[i])]
        if model == "Rasch":
            places = [p for p in places if p[0][0]]
        index = [labels.index(label) for label, _ in places]
        columns = [c for _, c in places]
        np.testing.assert_allclose(
            items.covariance[i][np.ix_(columns, columns)], joint[np.ix_(index, index)], rtol=1e-9
        )
    assert (np.linalg.eigvalsh(joint) > 0).all()


@pytest.mark.parametrize("method", ["MAP", "ML", "WLE"])
def test_abilities_by_other_methods(method) -> None:
    pytest.importorskip("psychoeval.irt.scoring")
    x, n = simulated(80, 15, seed=9)
    x[0], x[1] = 0, 1
    found = fit(Responses.from_array(x, n), ability_method=method, item_uncertainty=False)
    a, d = found.item_parameters.discrimination, found.item_parameters.intercept
    estimate, status = found.abilities.estimate, np.array(found.abilities.status)
    assert found.abilities.method == method
    finite = np.isfinite(estimate)
    if method == "ML":
        assert np.isneginf(estimate[0])
        assert np.isposinf(estimate[1])
        assert (status[~finite] == "ml_infinite").all()
    else:
        assert finite.all()
    p = expit(np.multiply.outer(estimate[finite], a) + d)
    score, information = ((x[finite] - p) * a).sum(axis=1), (p * (1 - p) * a**2).sum(axis=1)
    third = (p * (1 - p) * (1 - 2 * p) * a**3).sum(axis=1)
    extra = {"ML": 0.0, "MAP": -estimate[finite], "WLE": third / (2 * information)}[method]
    np.testing.assert_allclose(score + extra, 0, atol=1e-6)
    expected = 1 / np.sqrt(information + (method == "MAP"))
    np.testing.assert_allclose(found.abilities.standard_error[finite], expected, rtol=1e-6)


def test_abilities_of_the_rasch_model_are_on_its_scale() -> None:
    pytest.importorskip("psychoeval.irt.scoring")
    x, n = simulated(80, 15, seed=9)
    found = fit(Responses.from_array(x, n), "Rasch", ability_method="WLE", item_uncertainty=False)
    estimate, d = found.abilities.estimate, found.item_parameters.intercept
    p = expit(estimate[:, None] + d)
    w = p * (1 - p)
    score = (x - p).sum(axis=1) + (w * (1 - 2 * p)).sum(axis=1) / (2 * w.sum(axis=1))
    np.testing.assert_allclose(score, 0, atol=1e-6)
    np.testing.assert_allclose(found.abilities.standard_error, 1 / np.sqrt(w.sum(axis=1)), rtol=1e-6)


def of_trials(trials: int) -> Responses:
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(0, 0.3, 5), rng.normal(0, 1.0, 5)
    p = 1 / (1 + np.exp(-a * (rng.normal(size=12)[:, None] - b)))
    return Responses.from_array(rng.binomial(trials, p), np.full(p.shape, trials))


@pytest.mark.parametrize("latent", ["normal", "empirical"])
def test_more_trials_than_the_nodes_can_read_are_no_maximum(latent: str) -> None:
    data = of_trials(10**9)
    found = fit(data, "2PL", "weak", latent=latent, item_uncertainty=False)
    assert any("nodes, which is the limit" in sentence for sentence in found.convergence.failures)
    assert found.convergence.status == "failed_check"
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    assert abilities.standard_error is not None
    logit = np.outer(abilities.estimate, items.discrimination) + items.intercept
    p = 1 / (1 + np.exp(-logit))
    expected = 1 / np.sqrt(1e9 * (items.discrimination**2 * p * (1 - p)).sum(axis=1))
    assert (abilities.standard_error > 0).all()
    if latent == "normal":  # flat beside such posteriors: their SDs are those of the likelihood; a histogram is steep
        assert abilities.standard_error == pytest.approx(expected, rel=1e-3)


def test_a_thousand_trials_are_few() -> None:
    found = fit(of_trials(1000), "2PL", "weak")
    assert found.convergence.status == "converged"
    assert not any("nodes" in sentence for sentence in found.convergence.warnings)
