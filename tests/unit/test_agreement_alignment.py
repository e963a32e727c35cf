from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psychoeval.agreement.alignment import (
    Transformation,
    estimate_transformation,
    points_backwards,
    standardisation,
    standardised,
)
from psychoeval.errors import NotComparableError
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from tests.unit.agreement_fits import J, ids, made, proportions
from tests.unit.synthetic_draws import made_up


def curves(fit: FitResult) -> np.ndarray:
    assert fit.item_parameters is not None
    assert fit.abilities is not None
    p = fit.item_parameters
    return probability(fit.abilities.estimate, p.discrimination, p.intercept, p.guessing)


@pytest.mark.parametrize(("scale", "shift"), [(1.7, -0.4), (-1.0, 0.0), (-0.3, 2.0), (1.0, 0.1)])
def test_probabilities_do_not_change(scale: float, shift: float) -> None:
    fit = made()
    moved = Transformation(scale, shift).fit(fit)
    np.testing.assert_allclose(curves(moved), curves(fit), rtol=0, atol=1e-13)
    assert fit.item_parameters is not None
    assert moved.item_parameters is not None
    np.testing.assert_allclose(moved.item_parameters.difficulty, scale * fit.item_parameters.difficulty + shift)
    assert moved.latent_distribution is not None
    assert (moved.latent_distribution.mean, moved.latent_distribution.sd) == (shift, abs(scale))


def test_inverse_and_composition() -> None:
    one, two = Transformation(2.0, -1.0), Transformation(-0.5, 0.3)
    theta = np.linspace(-2, 2, 5)
    both = one.then(two)
    np.testing.assert_allclose(both.scale * theta + both.shift, -0.5 * (2 * theta - 1) + 0.3)
    back = both.then(both.inverse)
    assert (back.scale, back.shift) == (1.0, pytest.approx(0.0, abs=1e-15))


def test_errors_follow_the_law() -> None:
    """Against the sampling spread of transformed draws."""
    rng = np.random.default_rng(5)
    block = np.array([[0.04, 0.02, 0.0], [0.02, 0.09, 0.0], [0.0, 0.0, 0.0]])
    items = ItemParameters(("i",), np.array([1.2]), np.array([-0.4]), np.zeros(1), block[None])
    law = Transformation(-1.5, 0.7)
    draws = rng.multivariate_normal([1.2, -0.4, 0.0], block, 400_000)
    moved = law.items(ItemParameters(ids("i", len(draws)), *draws.T))
    expected = np.cov(moved.discrimination, moved.intercept)
    found = law.items(items).covariance
    assert found is not None
    np.testing.assert_allclose(found[0, :2, :2], expected, rtol=0.02)  # 400,000 draws: 0.7 % at three SEs


def test_proportions_have_no_unit_to_change() -> None:
    with pytest.raises(NotComparableError, match="no free origin"):
        Transformation(2.0, 0.0).fit(proportions())


def test_a_rasch_fit_becomes_a_1pl_fit() -> None:
    base = made()
    assert base.item_parameters is not None
    rasch = replace(
        base,
        model=ItemModel("Rasch"),
        item_parameters=replace(base.item_parameters, discrimination=np.ones(J)),
        latent_distribution=LatentDistribution(0.0, 1.6, sd_standard_error=0.2),
    )
    moved, law = standardised(rasch)
    assert law == Transformation(1 / 1.6, 0.0)
    assert moved.item_parameters is not None
    np.testing.assert_allclose(moved.item_parameters.discrimination, 1.6)
    np.testing.assert_array_equal(moved.item_parameters.intercept, base.item_parameters.intercept)
    errors = moved.item_parameters.standard_errors
    assert errors is not None
    np.testing.assert_allclose(errors["discrimination"], 0.2)
    np.testing.assert_allclose(curves(moved), curves(rasch), atol=1e-14)


def test_a_free_latent_mean_goes_into_the_intercepts() -> None:
    fit = made(latent_distribution=LatentDistribution(0.5, 2.0))
    moved, law = standardised(fit)
    assert law == Transformation(0.5, -0.25)
    assert moved.latent_distribution == LatentDistribution(0.0, 1.0)
    np.testing.assert_allclose(curves(moved), curves(fit), atol=1e-14)


def test_which_frames_are_known() -> None:
    no_law = made(latent_distribution=None)
    assert standardisation(no_law) == Transformation()
    assert standardisation(replace(no_law, model=ItemModel("Rasch"))) is None
    assert standardisation(replace(no_law, convergence=Convergence("imported"))) is None
    assert standardisation(made(latent_distribution=LatentDistribution(0.0, float("nan")))) is None
    assert standardisation(made(latent_distribution=LatentDistribution(0.0, 0.0))) is None
    assert standardised(proportions())[1] is None


@pytest.mark.parametrize(
    ("freedom", "law"), [("shift", (1.0, 0.3)), ("scale", (1.4, 0.0)), ("scale and shift", (1.4, 0.3))]
)
def test_a_known_transformation_is_found(freedom: str, law: tuple[float, float]) -> None:
    fit = made()
    assert fit.item_parameters is not None
    assert fit.abilities is not None
    true = Transformation(*law)
    other = true.inverse.fit(fit)
    assert other.item_parameters is not None
    assert other.abilities is not None
    a, d = fit.item_parameters.discrimination.copy(), fit.item_parameters.intercept
    a[0], a[1] = 48.0, np.nan  # a runaway item and one without an estimate must not set the scale
    second = (other.item_parameters.discrimination, other.item_parameters.intercept)
    found = estimate_transformation((a, d), second, None, freedom)  # type: ignore[arg-type]
    assert found is not None
    assert (found.scale, found.shift) == pytest.approx(law, abs=1e-12)
    by_person = estimate_transformation(None, None, (fit.abilities.estimate, other.abilities.estimate), freedom)  # type: ignore[arg-type]
    assert by_person is not None
    if freedom != "scale":
        assert (by_person.scale, by_person.shift) == pytest.approx(law, abs=1e-12)
    assert by_person.scale == pytest.approx(law[0], abs=1e-12)


def test_nothing_finite_gives_no_transformation() -> None:
    nan = np.full(3, np.nan)
    assert estimate_transformation((nan, nan), (nan, nan), (nan, nan), "scale and shift") is None
    assert estimate_transformation(None, None, None, "shift") is None
    assert estimate_transformation(None, None, None, "none") == Transformation()


def test_direction_goes_by_the_majority_of_slopes() -> None:
    items = made().item_parameters
    assert items is not None
    assert not points_backwards(items)
    assert points_backwards(replace(items, discrimination=-items.discrimination))
    half = items.discrimination * np.where(np.arange(J) < J // 2, -1, 1)
    assert not points_backwards(replace(items, discrimination=half))
    few = items.discrimination * np.where(np.arange(J) < 3, -1, 1)
    assert not points_backwards(replace(items, discrimination=few))
    assert not points_backwards(replace(items, discrimination=np.full(J, np.nan)))


def test_draws_do_not_go_along_to_another_scale() -> None:
    fit = replace(made(), draws=made_up(persons=3, items=2, draws=5))
    assert Transformation(2.0, 0.0).fit(fit).draws is None  # they would be on the old one
    assert Transformation().fit(fit).draws is fit.draws
