from __future__ import annotations

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.errors import ConvergenceWarning
from psychoeval.irt.models import Normal, Priors
from psychoeval.responses.matrix import Responses
from tests.unit.map_reference import fit, responses, simulated


def test_disconnected_data_are_said_to_be_linked_by_the_priors_only() -> None:
    x = np.full((6, 8), np.nan)
    rng = np.random.default_rng(0)
    x[:3, :4], x[3:, 4:] = rng.integers(0, 2, (3, 4)), rng.integers(0, 2, (3, 4))
    apart = fit(Responses.from_array(x))
    sentence = next(w for w in apart.convergence.warnings if "share no response" in w)
    assert "2 groups" in sentence
    assert "'person-1', 'person-4'" in sentence
    x[0, 5] = 1
    assert not any("share no response" in w for w in fit(Responses.from_array(x)).convergence.warnings)


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_few_items_run_away_and_the_cause_comes_first(name) -> None:
    with pytest.warns(ConvergenceWarning, match="ran away"):
        found = pe.fit(pe.load_dataset(name), "map", model="2PL")
    items, failures = found.item_parameters, found.convergence.failures
    assert found.convergence.status == "failed_check"
    assert items.status.count("runaway") == int((items.discrimination > 10).sum()) > 0
    steepest = int(np.argmax(items.discrimination))
    first = f"of 5 items ran away: 'item-{steepest + 1}' (slope {items.discrimination[steepest]:.3g}, intercept"
    assert first in failures[0]
    assert "the Rasch model" in failures[0]
    assert "(mirt-em)" in failures[0]
    assert "stood still" in failures[1]
    assert items.covariance is None
    assert items.no_errors_because


def test_common_slope_has_no_unit_and_fails_its_check() -> None:
    with pytest.warns(ConvergenceWarning, match="does not determine the unit"):
        found = pe.fit(pe.load_dataset("lsat6"), "map", model="1PL")
    assert found.convergence.status == "failed_check"
    assert found.convergence.gradient < 1e-6  # the mode is found: it is the objective that is at fault
    slope = found.item_parameters.discrimination[0]
    assert slope > 10
    assert found.convergence.failures[0].startswith(f"The common slope is {slope:.3g}, ")
    assert "the Rasch model" in found.convergence.failures[0]
    assert "(mirt-em)" in found.convergence.failures[0]


def test_steep_common_slope_is_a_warning() -> None:
    found = fit(responses(200, 25), "1PL", Priors(log_discrimination=Normal(np.log(6.0), 0.05)))
    assert 4 < found.item_parameters.discrimination[0] < 10
    assert found.convergence.status == "converged"
    assert any("does not determine the unit" in w for w in found.convergence.warnings)


def test_intercept_that_runs_away_is_named_with_its_cause() -> None:
    x, _ = simulated(40, 6)
    x[1:, 2], x[0, 2] = 1, 0
    found = fit(Responses.from_array(x), "Rasch", "none", ability_sd=1000.0)
    assert found.convergence.status == "failed_check"
    assert "1 of 6 items ran away: 'item-3' (slope 1, intercept" in found.convergence.failures[0]
    assert "ability_sd is too large" in found.convergence.failures[0]


def test_rasch_of_few_items_has_the_scale_that_was_chosen() -> None:
    found = pe.fit(pe.load_dataset("lsat6"), "map", model="Rasch")
    assert found.convergence.status == "converged"
    assert found.convergence.warnings == ()
    # Marginal maximum likelihood (R mirt). The joint mode lies up to .10 nearer 0, with item priors or without.
    np.testing.assert_allclose(found.item_parameters.intercept, [2.730, 0.999, 0.240, 1.307, 2.099], atol=0.12)


@pytest.mark.parametrize(("sd", "word"), [(0.3, "too small"), (8.0, "too large")])
def test_sd_that_does_not_go_with_the_data_is_said(sd, word) -> None:
    data = responses(60, 200)
    sentence = f"ability_sd={sd:g} is {word}"
    assert any(sentence in w for w in fit(data, "Rasch", ability_sd=sd).convergence.warnings)
    assert not any("mean square" in w for w in fit(data, "Rasch").convergence.warnings)


def test_scale_that_the_data_do_not_set_is_said() -> None:
    wide = fit(responses(1000, 20), "1PL", "weak")
    assert any("does not estimate the unit" in w for w in wide.convergence.warnings)
    assert not any("does not estimate the unit" in w for w in fit(responses(60, 200)).convergence.warnings)


def test_item_that_works_the_wrong_way_round_is_named() -> None:
    rng = np.random.default_rng(2)
    theta, b = rng.normal(size=(800, 1)), rng.normal(size=40)
    x = rng.random((800, 40)) < 1 / (1 + np.exp(-(theta - b)))
    straight = fit(Responses.from_array(x.astype(float)))
    x[:, 7] = ~x[:, 7]
    reversed_ = fit(Responses.from_array(x.astype(float)))
    assert not any("negatively" in w for w in straight.convergence.warnings)
    sentence = next(w for w in reversed_.convergence.warnings if "negatively" in w)
    assert "1 of 40 items" in sentence
    assert "'item-8'" in sentence
    slopes = reversed_.item_parameters.discrimination
    assert np.argmin(slopes) == 7
    assert slopes[7] < 0.2 < 1 < np.delete(slopes, 7).min()
