from __future__ import annotations

import numpy as np
import pytest

from psychoeval import item_model
from psychoeval.errors import ModelError
from psychoeval.estimators.native import mml_priors
from psychoeval.estimators.native.mml_form import make_form
from psychoeval.estimators.native.mml_newton import rescaled
from psychoeval.estimators.native.mml_priors import log_prior, taken_by_means
from psychoeval.irt.models import ItemModel, Normal, Priors
from tests.unit.mml_reference import differences, reference_log_prior, spread
from tests.unit.test_mml_steps import DIFFICULTY_MEANS, models, some_point

PENALISED = [m for m in models() if m.is_penalised]
ESTIMATED = [m for m in PENALISED if m.priors is not None and m.priors.estimated_means]


def reference(model: ItemModel, point: np.ndarray) -> float:
    slopes = point[:1, 0] if model.name in ("Rasch", "1PL") else point[:, 0]
    return reference_log_prior(model, slopes, point[:, 1], point[:, 2] if point.shape[1] == 3 else None)


@pytest.mark.parametrize("model", PENALISED, ids=lambda m: m.label)
def test_value_is_the_log_density_but_for_a_constant(model) -> None:
    form = make_form(model, signed=False)
    points = [some_point(model, 7, seed) for seed in range(6)]
    off = [log_prior(form, p).value - reference(model, p) for p in points]
    np.testing.assert_allclose(off, off[0], atol=1e-10)


@pytest.mark.parametrize("model", PENALISED, ids=lambda m: m.label)
def test_gradient_and_curvature_are_its_derivatives(model) -> None:
    form, point = make_form(model, signed=False), some_point(model, 7)
    basis, shape = spread(form, 7), point.shape
    free = np.linalg.lstsq(basis, point.ravel(), rcond=None)[0]
    at = log_prior(form, point)
    by_value = differences(lambda f: reference(model, (basis @ f).reshape(shape)), free)
    np.testing.assert_allclose(basis.T @ at.gradient.ravel(), by_value, atol=1e-7)
    by_gradient = -differences(lambda f: basis.T @ log_prior(form, (basis @ f).reshape(shape)).gradient.ravel(), free)
    curvature = np.zeros((point.size, point.size))
    index = np.arange(point.size).reshape(shape)
    curvature[index[:, :, None], index[:, None, :]] = at.curvature
    whole = basis.T @ (curvature - taken_by_means(at)) @ basis
    np.testing.assert_allclose(whole, by_gradient, atol=1e-7)
    assert (np.linalg.eigvalsh(at.positive) > -1e-12).all()


@pytest.mark.parametrize("model", ESTIMATED, ids=lambda m: m.label)
@pytest.mark.parametrize(("m", "log_s"), [(0.0, 0.5), (0.8, 0.0), (-0.8, -0.5)])
def test_estimated_means_leave_origin_and_unit_free(model, m, log_s, monkeypatch) -> None:
    if model.priors == DIFFICULTY_MEANS:
        log_s = 0.0  # difficulties are in the unit of the abilities, so their SD states it
    # The mean difficulty has a prior of its own, in latent SDs, and nothing else knows of origin and unit.
    monkeypatch.setattr(mml_priors, "MEAN_DIFFICULTY_SD", 1e6)
    form, point = make_form(model, signed=False), some_point(model, 9)
    moved = rescaled(form, point, m, log_s)
    assert log_prior(form, moved).value == pytest.approx(log_prior(form, point).value, abs=1e-9)


def test_stated_means_do_not() -> None:
    form = make_form(item_model("2PL", "weak"), signed=False)
    point = np.zeros((9, 2))
    # Nine log slopes at 1 under N(0, .5), nine intercepts at 2 under N(0, 3).
    assert log_prior(form, rescaled(form, point, 0.0, 1.0)).value == pytest.approx(-9 / (2 * 0.25))
    assert log_prior(form, rescaled(form, point, 2.0, 0.0)).value == pytest.approx(-9 * 4 / (2 * 9))


def test_stated_means_are_of_no_effect_where_they_are_estimated() -> None:
    point = some_point(item_model("2PL", "none"), 9)
    values = [
        log_prior(make_form(item_model("2PL", Priors(log_discrimination=Normal(m, 0.5), intercept=Normal(k, 3.0),
                                                     estimated_means=True)), signed=False), point).value
        for m, k in ((0.0, 0.0), (5.0, -7.0))
    ]  # fmt: skip
    assert values[0] == values[1]


def test_mean_difficulty_is_held_where_slopes_hardly_differ() -> None:
    form = make_form(item_model("2PL", "hierarchical"), signed=False)
    point = some_point(item_model("2PL", "none"), 9)
    point[:, 0] = 1e-4 * np.arange(9)
    at = log_prior(form, point)
    spread_of_d = float(np.sum((point[:, 1] - point[:, 1].mean()) ** 2)) / (2 * 9.0)
    assert -at.value == pytest.approx(spread_of_d, rel=1e-3)
    assert np.linalg.cond(at.of_means[1:, 1:]) < 1e3


@pytest.mark.parametrize("priors", ["weak", "hierarchical", DIFFICULTY_MEANS])
def test_signed_slopes_are_refused_under_priors_that_need_their_sign(priors) -> None:
    with pytest.raises(ModelError, match="either sign"):
        make_form(item_model("2PL", priors), signed=True)
    assert make_form(item_model("2PL", Priors(intercept=Normal(0.0, 2.0))), signed=True).signed


def test_no_priors_weigh_nothing() -> None:
    model = item_model("2PL", "none")
    at = log_prior(make_form(model, signed=False), some_point(model, 4))
    assert at.value == 0
    assert not at.gradient.any()
    assert not at.curvature.any()
    assert taken_by_means(at).shape == (8, 8)
    assert not taken_by_means(at).any()
