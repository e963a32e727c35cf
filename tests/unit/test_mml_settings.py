from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import psychoeval as pe
from psychoeval import item_model
from psychoeval.errors import ConvergenceWarning, DataError, DisconnectedDataError, ModelError, SettingsError
from psychoeval.estimators.native import mml_grid
from psychoeval.estimators.native.mml import MML
from psychoeval.responses.matrix import Responses
from tests.unit.mml_reference import dense, simulated
from tests.unit.test_mml import MODELS, fit, responses


def test_iteration_limit_is_a_status() -> None:
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        found = pe.fit(responses(60, 10), "mml", model="2PL", max_iterations=1)
    assert found.convergence.status == "iteration_limit"
    assert found.convergence.iterations == 1
    assert any("max_iterations" in w for w in found.convergence.warnings)
    assert np.isfinite(found.item_parameters.intercept).all()
    assert found.aic is None


def interrupt_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    calls, e_step = itertools.count(1), mml_grid.e_step

    def interrupted(*args, **kwargs):
        if next(calls) == call:
            raise KeyboardInterrupt
        return e_step(*args, **kwargs)

    monkeypatch.setattr(mml_grid, "e_step", interrupted)


def test_interrupted_search_returns_where_it_stands(monkeypatch) -> None:
    x, n = simulated(60, 10)
    interrupt_at(monkeypatch, 6)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = pe.fit(Responses.from_array(x, n), "mml", model="2PL", on_interrupt="return")
    assert found.convergence.status == "interrupted"
    assert found.convergence.iterations >= 1
    assert any(f"Interrupted after {found.convergence.iterations} iteration" in w for w in found.convergence.warnings)
    items = found.item_parameters
    reference = dense(x, n, items.discrimination, items.intercept)
    assert found.log_likelihood == pytest.approx(reference.log_marginal.sum(), rel=1e-10)
    np.testing.assert_allclose(found.abilities.estimate, reference.mean, atol=1e-9)


def test_interrupted_search_raises_by_default(monkeypatch) -> None:
    interrupt_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        fit(responses(60, 10))


@pytest.mark.parametrize(
    ("name", "value"),
    [("tolerance", v) for v in (0, 1, -1e-3, float("nan"), "1e-5", True, None)]
    + [("max_iterations", v) for v in (0, -1, 1.5, True, None, "10")]
    + [("n_threads", v) for v in (0, -2, 1.5, True, "2")]
    + [(name, v) for name in ("slopes", "standard_errors", "ability_method", "on_interrupt", "disconnected")
       for v in ("nonsense", "", None, "FREE")],
)  # fmt: skip
def test_settings_that_cannot_be_taken_are_refused(name, value) -> None:
    with pytest.raises(SettingsError, match=f"mml: {name}="):
        MML(**{name: value})


def test_settings_are_fixed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MML().tolerance = 1e-3
    with pytest.raises(TypeError):
        MML(1e-3)


def test_a_model_is_needed() -> None:
    with pytest.raises(ModelError, match="needs a model"):
        MML().fit(responses(20, 5))


def test_signed_slopes_under_priors_are_refused() -> None:
    with pytest.raises(ModelError, match="either sign"):
        fit(responses(20, 5), slopes="free")


def test_too_few_degrees_of_freedom_are_refused() -> None:
    with pytest.raises(ModelError, match="Too few degrees of freedom"):
        fit(responses(50, 2), "2PL", "none")
    x, n = simulated(50, 3)
    x[:, 1] = 1  # leaves two that vary
    with pytest.raises(ModelError, match="Too few degrees of freedom"):
        fit(Responses.from_array(x, n), "2PL", "none")
    assert fit(Responses.from_array(x, n), "2PL", "weak").convergence.status == "converged"


def test_nothing_but_constant_items_is_refused_without_priors() -> None:
    with pytest.raises(DataError, match="None of the 3 items"):
        fit(Responses.from_array(np.tile([1, 0, 1], (9, 1))), "Rasch", "none")


@pytest.mark.parametrize("model", MODELS)
def test_disconnected_data_are_refused_or_linked_by_the_law(model) -> None:
    x, n = simulated(80, 12, seed=2)
    n[:40, :6] = n[40:, 6:] = 0
    data = Responses.from_array(np.minimum(x, n), n)
    with pytest.raises(DisconnectedDataError, match="person-1"):
        fit(data, model)
    found = fit(data, model, disconnected="one distribution")
    assert any("one distribution" in w for w in found.convergence.warnings)
    assert np.isfinite(found.abilities.estimate).all()


@pytest.mark.parametrize("model", MODELS)
def test_describe_says_what_is_computed(model) -> None:
    text = MML(standard_errors="blocks", ability_method="WLE").describe(None, item_model(model, "weak"))
    for part in ("mml", "marginal maximum likelihood", item_model(model, "weak").label, "blocks", "WLE"):
        assert part in text


def test_threads_are_the_cores_that_this_process_may_use(monkeypatch) -> None:
    x, n = simulated(40, 6, seed=1)
    monkeypatch.setattr("psychoeval.estimators.native.mml.usable_cores", lambda: 3)
    assert fit(Responses.from_array(x, n), "Rasch", "none").provenance.details["threads"] == 3
    assert fit(Responses.from_array(x, n), "Rasch", "none", n_threads=1).provenance.details["threads"] == 1


def test_an_empirical_latent_law_is_in_the_label() -> None:
    x, n = simulated(40, 6, seed=1)
    normal, empirical = (fit(Responses.from_array(x, n), "Rasch", "none", latent=k) for k in ("normal", "empirical"))
    assert (normal.label, empirical.label) == ("mml Rasch", "mml Rasch, empirical latent distribution")
