"""From replies made by hand to parameters, errors and abilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.errors import EngineFailedError, ModelError
from psychoeval.estimators.mirt.contract import JobSettings, check_reply, make_job, read_answer
from psychoeval.estimators.mirt.curvature import correct_lognormal_curvature
from psychoeval.estimators.mirt.design import Design, make_design
from psychoeval.irt.models import ItemModel, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses

NAN = float("nan")
SETTINGS = JobSettings(
    method="EM",
    tolerance=1e-4,
    max_iterations=500,
    quadrature_points=61,
    quadrature_limit=6.0,
    se_type="Oakes",
    ability_method="EAP",
    seed=None,
    engine_options={},
)


def design(model: ItemModel) -> Design:
    # Second item constant, fourth person unseen.
    x = [[1, 1, 0, 1], [0, 1, 1, 0], [1, 1, NAN, 0], [NAN] * 4, [0, 1, 0, 1]]
    return make_design(Responses.from_array(x, item_ids=["p", "q", "r", "s"]), model)


def reply(names: list[str], covariance: NDArray[np.float64] | None, **more: Any) -> dict[str, Any]:
    return {
        "a": np.array([1.0, 2.0, 3.0]),
        "d": np.array([0.1, 0.2, 0.3]),
        "g": np.array([0.0, 0.2, 0.0]),
        "variance": np.array([1.0]),
        "covariance": None if covariance is None else covariance.ravel(),
        "covariance_names": names,
        "ability": np.array([0.5, -0.5, 1.0, 0.0]),
        "ability_error": np.array([0.3, 0.4, 0.5, 0.6]),
        **more,
    }


def spd(n: int) -> NDArray[np.float64]:
    root = np.random.default_rng(n).normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


def test_the_job_holds_numbers_and_mirts_words_only() -> None:
    model = ItemModel("2PL")
    job = make_job(design(model), model, SETTINGS)
    assert job["n_missing"] == 1
    np.testing.assert_array_equal(job["x"], [1, 0, 1, 0, 0, 1, NAN, 0, 1, 0, 0, 1])
    assert not {"p", "q", "r", "s"} & {v for v in job.values() if isinstance(v, str)}


def test_2pl_blocks_and_places() -> None:
    model = ItemModel("2PL")
    names = ["a1.1", "d.2", "a1.5", "d.6", "a1.9", "d.10"]
    v = spd(6)
    answer = read_answer(reply(names, v), design(model), model, SETTINGS)
    items = answer.items
    np.testing.assert_array_equal(items.discrimination, [1, NAN, 2, 3])
    assert items.status == ("estimated", "constant_all_1", "estimated", "estimated")
    assert items.covariance is not None
    np.testing.assert_allclose(items.covariance[2, :2, :2], v[2:4, 2:4])
    np.testing.assert_array_equal(items.covariance[2, 2], 0.0)
    assert np.isnan(items.covariance[1]).all()
    assert items.joint_labels == (("p", "a"), ("p", "d"), ("r", "a"), ("r", "d"), ("s", "a"), ("s", "d"))
    assert items.joint_covariance is not None
    np.testing.assert_allclose(items.joint_covariance, v)
    assert answer.latent.sd == 1.0


def test_guessing_error_is_brought_from_the_logit_to_the_probability() -> None:
    model = ItemModel("3PL", guessing="free")
    names = ["a1.1", "d.2", "a1.5", "d.6", "g.7", "a1.9", "d.10"]
    v = spd(7)
    # Four items, so that the model has degrees of freedom; the fourth's parameters are fixed here.
    x = np.random.default_rng(1).integers(0, 2, (40, 4))
    four = make_design(Responses.from_array(x), model)
    given = reply(names, v)
    for name in ("a", "d", "g"):
        given[name] = np.append(given[name], 0.5)
    given["ability"] = given["ability_error"] = np.zeros(40)
    covariance = read_answer(given, four, model, SETTINGS).items.covariance
    assert covariance is not None
    # dc / d logit c = c (1 - c) = .16
    assert covariance[1, 2, 2] == pytest.approx(v[4, 4] * 0.16**2)
    assert covariance[1, 0, 2] == pytest.approx(v[2, 4] * 0.16)
    assert covariance[1, 0, 1] == pytest.approx(v[2, 3])


def test_rasch_keeps_the_sd_apart_and_the_1pl_rescales() -> None:
    names = ["d.2", "d.6", "d.10", "COV_11.14"]
    v = spd(4)
    given = reply(names, v, a=np.ones(3), variance=np.array([4.0]))
    rasch = read_answer(given, design(ItemModel("Rasch")), ItemModel("Rasch"), SETTINGS)
    assert rasch.latent.sd == 2.0
    # d sd / d variance = 1 / (2 sd)
    assert rasch.latent.sd_standard_error == pytest.approx(np.sqrt(v[3, 3]) / 4)
    assert rasch.items.joint_labels == (("p", "d"), ("r", "d"), ("s", "d"))
    assert rasch.items.covariance is not None
    assert rasch.items.covariance[0, 0, 0] == 0.0

    one = read_answer(given, design(ItemModel("1PL")), ItemModel("1PL"), SETTINGS)
    np.testing.assert_array_equal(one.items.discrimination, [2, NAN, 2, 2])
    np.testing.assert_array_equal(one.items.intercept, rasch.items.intercept)
    np.testing.assert_allclose(one.ability, rasch.ability / 2)
    np.testing.assert_allclose(one.ability_error, rasch.ability_error / 2)
    np.testing.assert_allclose(one.grid.nodes, rasch.grid.nodes / 2)
    assert one.latent.sd == 1.0
    assert one.items.covariance is not None
    assert one.items.covariance[2, 0, 0] == pytest.approx(v[3, 3] / 16)
    assert one.items.covariance[2, 0, 1] == pytest.approx(v[1, 3] / 4)
    assert one.items.joint_labels == (("p", "d"), ("r", "d"), ("s", "d"), ("", "a"))


def test_under_a_prior_on_the_common_slope_mirts_covariance_is_taken_as_it_is() -> None:
    model = ItemModel("1PL", Priors(log_discrimination=Normal(0.0, 0.2)))
    assert make_job(design(model), model, SETTINGS)["information"] is False
    v = spd(4)
    given = reply(["d.2", "d.6", "d.10", "COV_11.14"], v, a=np.ones(3), variance=np.array([4.0]))
    covariance = read_answer(given, design(model), model, SETTINGS).items.covariance
    assert covariance is not None
    assert covariance[2, 0, 0] == pytest.approx(v[3, 3] / 16)


def test_equal_constrained_columns_are_one_item() -> None:
    model = ItemModel("2PL")
    counts = make_design(Responses.from_array([[2, 1], [0, 2], [1, 0], [1, 1]], 2), model)
    names = ["a1.1.5", "d.2.6", "a1.9.13", "d.10.14"]
    v = spd(4)
    given = reply(names, v, a=np.array([1.0, 1.0, 2.0, 2.0]), d=np.array([0.1, 0.1, 0.2, 0.2]), g=np.zeros(4))
    items = read_answer(given, counts, model, SETTINGS).items
    assert items.discrimination.tolist() == [1.0, 2.0]
    assert items.covariance is not None
    np.testing.assert_allclose(items.covariance[1, :2, :2], v[2:, 2:])


@pytest.mark.parametrize(
    ("covariance", "reason"), [(None, "gave no covariance"), (np.full((6, 6), NAN), "could not invert")]
)
def test_missing_errors_have_a_reason(covariance: NDArray[np.float64] | None, reason: str) -> None:
    model = ItemModel("2PL")
    names = ["a1.1", "d.2", "a1.5", "d.6", "a1.9", "d.10"]
    items = read_answer(reply(names, covariance), design(model), model, SETTINGS).items
    assert items.standard_errors is None
    assert reason in items.no_errors_because


def test_runaway_items_are_marked() -> None:
    model = ItemModel("2PL")
    given = reply([], None, a=np.array([1.0, 46.3, -12.0]), d=np.array([25.0, 0.0, 0.0]))
    items = read_answer(given, design(model), model, SETTINGS).items
    assert items.status == ("runaway", "constant_all_1", "runaway", "runaway")


def test_signaling_nans_of_r_are_made_quiet() -> None:
    na = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)
    given = reply([], None, ability=np.concatenate([[0.0, 1.0, 2.0], na]))
    model = ItemModel("1PL")
    assert np.isnan(read_answer(given, design(model), model, SETTINGS).ability[3])


def test_errors_of_r() -> None:
    with pytest.raises(ModelError, match="only 3 degrees of freedom"):
        check_reply({"error": ["Too few degrees of freedom. There are only 3 degrees of freedom but 4 parameters"]})
    with pytest.raises(EngineFailedError, match="variance of the abilities fell below 0") as caught:
        check_reply({"error": ["sigma matrix contains negative eigenvalues"]})
    assert "reversed items" in caught.value.remedy
    with pytest.raises(EngineFailedError, match=r"boom.*it said: careful"):
        check_reply({"error": ["boom"], "warnings": ["careful"]})
    check_reply({"a": np.zeros(1)})


def test_another_number_of_abilities_is_refused() -> None:
    model = ItemModel("2PL")
    with pytest.raises(EngineFailedError, match="3 abilities for 4 persons"):
        read_answer(reply([], None, ability=np.zeros(3)), design(model), model, SETTINGS)


def test_curvature_of_the_lognormal_prior() -> None:
    # One parameter: a normal likelihood of a with information 5 at its mode 1.3, prior LN(-.5, .4).
    a, prior, h = 1.3, LogNormal(-0.5, 0.4), 1e-4
    right = -np.diff(
        [np.log(v) + (np.log(v) - prior.meanlog) ** 2 / (2 * prior.sdlog**2) for v in (a - h, a, a + h)], 2
    )[0] / h**2  # fmt: skip
    wrong = 1 / a**2 - 1 / (a**2 * prior.sdlog**2) - (np.log(a) - prior.meanlog) / (a**2 * prior.sdlog**2)
    corrected = correct_lognormal_curvature(np.array([[5 - wrong]]), np.array([0]), np.array([a]), prior)
    assert corrected[0, 0] == pytest.approx(5 - right, rel=1e-5)


def test_under_a_slope_prior_mirts_information_is_asked_for_and_inverted() -> None:
    model = ItemModel("2PL", Priors(log_discrimination=Normal(0.0, 0.5)))
    assert make_job(design(model), model, SETTINGS)["information"] is True
    assert make_job(design(ItemModel("2PL")), ItemModel("2PL"), SETTINGS)["information"] is False
    names = ["a1.1", "d.2", "a1.5", "d.6", "a1.9", "d.10"]
    information = spd(6)
    items = read_answer(reply(names, information), design(model), model, SETTINGS).items
    excess = 2 * (np.log([1.0, 2.0, 3.0]) - 0.25) / (np.array([1.0, 2.0, 3.0]) * 0.5) ** 2
    expected = np.linalg.inv(information - np.diag(np.ravel(np.column_stack([excess, np.zeros(3)]))))
    assert items.joint_covariance is not None
    np.testing.assert_allclose(items.joint_covariance, expected)
    none = read_answer(reply(names, -information), design(model), model, SETTINGS).items
    assert none.covariance is None
    assert "no proper maximum" in none.no_errors_because
