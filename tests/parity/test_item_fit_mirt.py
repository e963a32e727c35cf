"""S-X2, infit and outfit against mirt's itemfit, on its own items and on ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psychoeval import FitResult, LatentDistribution, fit, import_fit
from psychoeval.diagnostics import item_fit
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.scoring import eap
from tests.golden import data, mirt_items, numbers, reference
from tests.parity import tolerances

MODELS = {"rasch": ItemModel("Rasch"), "two_pl": ItemModel("2PL"), "three_pl_fixed": ItemModel("3PL", guessing=0.2)}
COMPLETE = ("lsat7", "simulated_500")
#: What mirt puts in the place of smaller variances P (1 - P).
FLOOR = np.sqrt(1e-5)
MEAN_SQUARES = {"infit": "infit", "infit_z": "z.infit", "outfit": "outfit", "outfit_z": "z.outfit"}


def golden(name: str, model: str) -> dict[str, Any]:
    content: dict[str, Any] = reference("mirt_item_fit")[name][model]
    return content


def on_mirts_items(name: str, model: str) -> FitResult:
    found = golden(name, model)
    items = mirt_items({**found, "items": data(name).item_ids})
    return import_fit(
        items, model=MODELS[model], latent_distribution=LatentDistribution(0.0, float(np.sqrt(found["variance"])))
    )


def variances(name: str, model: str) -> np.ndarray:
    """Return P (1 - P) at the EAPs, NaN for missing cells."""
    found, responses = golden(name, model), data(name)
    items = [numbers(found[k]) for k in ("slope", "intercept", "guessing")]
    theta, _ = eap(responses.successes, responses.trials, *items, sd=float(np.sqrt(found["variance"])))
    p = probability(theta, *items)
    return np.where(responses.observed, p * (1 - p), np.nan)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", COMPLETE)
def test_s_x2_is_mirts(name: str, model: str) -> None:
    fitted, expected = on_mirts_items(name, model), golden(name, model)["items"]
    found = item_fit(fitted, data(name), parameters_per_item=2)
    own = item_fit(fitted, data(name))
    # mirt counts the variance of the abilities among each Rasch item's parameters.
    np.testing.assert_array_equal(own.df - found.df, 1 if model == "rasch" else 0)
    np.testing.assert_allclose(found.s_x2, expected["S_X2"], rtol=0, atol=tolerances.S_X2)
    np.testing.assert_array_equal(found.df, expected["df_s_x2"])
    np.testing.assert_allclose(found.p, expected["p_s_x2"], rtol=0, atol=tolerances.S_X2)
    np.testing.assert_allclose(found.rmsea, expected["RMSEA_s_x2"], rtol=0, atol=tolerances.S_X2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", COMPLETE)
def test_s_x2_on_our_own_fit_is_mirts(name: str, model: str) -> None:
    ours = fit(data(name), "mml", model=MODELS[model], standard_errors="none")
    found, expected = item_fit(ours, data(name), parameters_per_item=2), golden(name, model)["items"]
    np.testing.assert_allclose(found.s_x2, expected["S_X2"], rtol=0, atol=tolerances.S_X2_OWN_FIT)
    np.testing.assert_array_equal(found.df, expected["df_s_x2"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", [*COMPLETE, "simulated_missing"])
def test_mean_squares_are_mirts(name: str, model: str) -> None:
    found, expected = item_fit(on_mirts_items(name, model), data(name)), golden(name, model)
    small = variances(name, model) < FLOOR
    assert np.count_nonzero(small) == expected["floored"]
    same = ~small.any(axis=0)
    assert np.count_nonzero(same) >= len(same) - 1
    for ours, theirs in MEAN_SQUARES.items():
        if theirs == "z.outfit" and name == "simulated_missing":
            continue  # see below
        difference = np.abs(getattr(found, ours) - numbers(expected["items"][theirs]))[same]
        assert difference.max() < tolerances.MEAN_SQUARES, ours


@pytest.mark.parametrize("model", ["two_pl", "three_pl_fixed"])
def test_mirt_raises_variances_that_are_below_its_floor(model: str) -> None:
    w = variances("simulated_500", model)
    small = w < FLOOR
    item = int(np.flatnonzero(small.any(axis=0))[0])
    found, expected = (
        item_fit(on_mirts_items("simulated_500", model), data("simulated_500")),
        golden("simulated_500", model),
    )
    # All cells in question were answered as expected: r^2 / W is P / (1 - P) or its inverse, and less with the floor.
    ratio = np.minimum(1 - np.sqrt(1 - 4 * w[:, item]), 1) / 2
    ratio = ratio / (1 - ratio)
    less = (ratio - ratio * w[:, item] / FLOOR)[small[:, item]].sum() / len(w)
    theirs = expected["items"]["outfit"][item]
    assert found.outfit[item] - theirs == pytest.approx(less, abs=tolerances.MEAN_SQUARES)
    assert found.outfit[item] - theirs > 2 * tolerances.MEAN_SQUARES


@pytest.mark.parametrize("model", MODELS)
def test_mirts_z_of_outfit_with_missing_cells_divides_by_the_wrong_numbers(model: str) -> None:
    """It divides a persons x items matrix by the items' numbers of persons, which R recycles down its columns."""
    expected = golden("simulated_missing", model)["items"]
    w = variances("simulated_missing", model)
    n = np.count_nonzero(np.isfinite(w), axis=0)
    recycled = n[np.arange(w.size) % n.size].reshape(w.shape, order="F")
    q = np.sqrt(np.nansum((1 / w - 3) / recycled**2, axis=0) - 1 / n)
    outfit = numbers(expected["outfit"])
    reproduced = (np.cbrt(outfit) - 1) * 3 / q + q / 3
    np.testing.assert_allclose(numbers(expected["z.outfit"]), reproduced, rtol=0, atol=tolerances.MEAN_SQUARES)
    found = item_fit(on_mirts_items("simulated_missing", model), data("simulated_missing"))
    assert np.abs(found.outfit_z - reproduced).max() > 0.1
