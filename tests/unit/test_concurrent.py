"""Several groups calibrated together: against mml, an independent likelihood, and simulated truth."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.agreement import concurrent
from psychoeval.agreement.concurrent import calibrate_together
from psychoeval.agreement.concurrent_result import Concurrent
from psychoeval.errors import DataError, DisconnectedDataError, ModelError, SettingsError
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.models import ItemModel, resolve_priors
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.matrix import Responses
from tests.unit.mml_reference import dense

FloatArray = NDArray[np.float64]


def simulated(
    sizes: tuple[int, ...], means: tuple[float, ...], sds: tuple[float, ...], n_items: int, seed: int, trials: int = 1
) -> tuple[Responses, list[str], ItemParameters]:
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(len(sizes)), sizes)
    a, b = np.exp(rng.normal(0, 0.3, n_items)), rng.normal(0.3, 1, n_items)  # first: the same items of other persons
    theta = rng.normal(np.array(means)[code], np.array(sds)[code])
    x = rng.binomial(trials, expit(a * (theta[:, None] - b)))
    responses = Responses.from_array(x, np.full(x.shape, trials))
    return responses, [f"g{k}" for k in code], ItemParameters.from_difficulty(responses.item_ids, a, b)


TWO = simulated((300, 200), (0.0, 0.8), (1.0, 1.3), 8, seed=1)


def marginal(responses: Responses, labels: list[str], a: FloatArray, d: FloatArray, laws: dict[str, Any]) -> float:
    """Return the log-likelihood by direct sums: under z ~ N(0, 1) slopes are a s, intercepts d + a mu."""
    total = 0.0
    for name, (mu, sd) in laws.items():
        rows = np.array(labels) == name
        x, n = responses.successes[rows], responses.trials[rows]
        total += float(dense(x, n, a * sd, d + a * mu).log_marginal.sum())
    return total


@pytest.mark.parametrize(
    ("name", "priors"),
    [("Rasch", "none"), ("Rasch", "weak"), ("1PL", "none"), ("2PL", "none"), ("2PL", "hierarchical")],
)
def test_one_group_is_mml(name: Any, priors: Any) -> None:
    responses, _, _ = TWO
    model = ItemModel(name, resolve_priors(priors))
    found = calibrate_together(responses, ["all"] * 500, model, tolerance=1e-8, n_threads=1)
    expected = MML(n_threads=1, tolerance=1e-8, standard_errors="full").fit(responses, model)
    assert expected.item_parameters is not None
    assert expected.abilities is not None
    near: dict[str, Any] = {"rel": 0, "abs": 1e-9}
    for part in ("discrimination", "intercept", "guessing", "covariance"):
        assert getattr(found.items, part) == pytest.approx(getattr(expected.item_parameters, part), **near)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, **near)
    assert found.log_prior == pytest.approx((expected.statistics or {}).get("log_prior", 0.0), **near)
    assert found.abilities.estimate == pytest.approx(expected.abilities.estimate, **near)
    assert found.n_parameters == expected.n_parameters
    assert expected.latent_distribution is not None
    law = found.group("all")
    assert law.sd == pytest.approx(expected.latent_distribution.sd, **near)
    if name == "Rasch":
        assert law.sd_standard_error == pytest.approx(expected.latent_distribution.sd_standard_error, **near)


def test_guessing_of_one_group_is_mmls() -> None:
    responses, _, _ = simulated((400,), (0.0,), (1.0,), 8, seed=2)
    model = ItemModel("3PL", resolve_priors("weak"))
    found = calibrate_together(responses, ["all"] * 400, model, tolerance=1e-8, n_threads=1)
    expected = MML(n_threads=1, tolerance=1e-8).fit(responses, model).item_parameters
    assert expected is not None
    assert found.items.guessing == pytest.approx(expected.guessing, abs=1e-9)
    # Louis' series ends at terms of 1e-7 of the information, of which the priors are a part only in mml.
    assert found.items.covariance == pytest.approx(expected.covariance, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("trials", "anchored"), [(1, False), (4, True)])
def test_maximum_and_errors_are_those_of_the_likelihood(trials: int, anchored: bool) -> None:
    """Gradient and Hessian by differences of a likelihood that is summed directly, on unequal item sets."""
    responses, labels, truth = simulated((60, 50), (0.0, 0.7), (1.0, 1.4), 5, seed=4, trials=trials)
    n = responses.trials.copy()
    n[:60, 4] = 0
    n[60:, 0] = 0
    responses = Responses.from_array(np.where(n > 0, responses.successes, 0), n)
    fixed = truth.select(np.array([1, 2])) if anchored else None
    found = calibrate_together(
        responses, labels, "2PL", fixed_items=fixed, reference=None if anchored else "g0", tolerance=1e-8, n_threads=1
    )
    free = np.array([i not in found.fixed_ids for i in found.items.item_ids])
    moving = [anchored, True]
    k, m = int(free.sum()), sum(moving)

    def value(v: FloatArray) -> float:
        a, d = found.items.discrimination.copy(), found.items.intercept.copy()
        a[free], d[free] = v[:k], v[k : 2 * k]
        mean, sd = np.zeros(2), np.ones(2)
        mean[moving], sd[moving] = v[2 * k : 2 * k + m], v[2 * k + m :]
        return marginal(responses, labels, a, d, {"g0": (mean[0], sd[0]), "g1": (mean[1], sd[1])})

    groups = [g for g, moves in zip(found.groups, moving, strict=True) if moves]
    at = np.concatenate([
        found.items.discrimination[free], found.items.intercept[free], [g.mean for g in groups], [g.sd for g in groups]
    ])  # fmt: skip
    assert value(at) == pytest.approx(found.log_likelihood, abs=1e-8)
    steps = 1e-3 * np.eye(at.size)
    gradient = np.array([(value(at + s / 10) - value(at - s / 10)) / 2e-4 for s in steps])
    assert np.abs(gradient).max() < 1e-4  # what differences leave: a sixth of the third derivative times 1e-8
    hessian = np.zeros((at.size, at.size))
    for i, j in zip(*np.tril_indices(at.size), strict=True):
        s, t = steps[i], steps[j]
        hessian[i, j] = hessian[j, i] = (
            value(at + s + t) - value(at + s - t) - value(at - s + t) + value(at - s - t)
        ) / 4e-6
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    own = found.items.standard_errors
    assert own is not None
    ours = np.concatenate([
        own["discrimination"][free], own["intercept"][free],
        [g.mean_standard_error for g in groups], [g.sd_standard_error for g in groups],
    ])  # fmt: skip
    assert ours == pytest.approx(errors, rel=2e-4)
    assert (own["intercept"][~free] == 0).all()


def test_rasch_and_one_slope_are_one_likelihood() -> None:
    responses, labels, _ = TWO
    rasch, common = (calibrate_together(responses, labels, m, reference="g0", n_threads=1) for m in ("Rasch", "1PL"))
    slope = common.items.discrimination[0]
    assert rasch.log_likelihood == pytest.approx(common.log_likelihood, abs=1e-8)
    assert rasch.group("g0").mean == 0
    assert rasch.group("g0").mean_standard_error is None
    assert rasch.group("g0").sd_standard_error is not None
    assert rasch.group("g1").mean == pytest.approx(slope * common.group("g1").mean, abs=1e-6)
    assert rasch.group("g1").sd == pytest.approx(slope * common.group("g1").sd, abs=1e-6)


def test_difference_of_groups_is_recovered_with_its_error() -> None:
    z = []
    for seed in range(60):
        responses, labels, _ = simulated((200, 150), (0.0, 0.8), (1.0, 1.3), 10, seed=100 + seed)
        law = calibrate_together(responses, labels, "2PL", reference="g0", n_threads=1).group("g1")
        assert law.mean_standard_error is not None
        assert law.sd_standard_error is not None
        z.append(((law.mean - 0.8) / law.mean_standard_error, (law.sd - 1.3) / law.sd_standard_error))
    # 60 seeds: the mean of z has the error .13, its SD .09.
    assert np.abs(np.mean(z, axis=0)).max() < 0.4
    assert np.abs(np.std(z, axis=0) - 1).max() < 0.28


def test_fixed_items_stay_and_bring_new_ones_to_their_scale() -> None:
    _, _, truth = TWO
    anchors = truth.select(np.arange(4))
    responses, labels, truth = simulated((2000,), (0.8,), (1.3,), 8, seed=1)
    found = calibrate_together(responses, labels, "2PL", fixed_items=anchors, n_threads=1)
    errors, law = found.items.standard_errors, found.group("g0")
    assert errors is not None
    assert law.mean_standard_error is not None
    assert law.sd_standard_error is not None
    assert found.reference is None
    assert found.fixed_ids == anchors.item_ids
    assert (found.items.discrimination[:4] == anchors.discrimination).all()
    assert (found.items.intercept[:4] == anchors.intercept).all()
    for part in ("discrimination", "difficulty"):
        assert (np.abs(getattr(found.items, part) - getattr(truth, part))[4:] < 4 * errors[part][4:]).all()
    assert abs(law.mean - 0.8) < 4 * law.mean_standard_error
    assert abs(law.sd - 1.3) < 4 * law.sd_standard_error
    assert found.n_parameters == 2 * 4 + 2


def test_a_calibration_held_at_its_own_items_finds_its_groups_again() -> None:
    responses, labels, _ = TWO
    for model in ("Rasch", "1PL", "2PL"):
        first = calibrate_together(responses, labels, model, reference="g0", tolerance=1e-8, n_threads=1)
        for kept in (slice(0, 3), slice(None)):
            again = calibrate_together(
                responses, labels, model, fixed_items=first.items.select(np.arange(8)[kept]), tolerance=1e-8,
                n_threads=1,
            )  # fmt: skip
            for one, two in zip(first.groups, again.groups, strict=True):
                assert (two.mean, two.sd) == pytest.approx((one.mean, one.sd), abs=1e-5)
            assert again.items.intercept == pytest.approx(first.items.intercept, abs=1e-5)
            assert again.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-6)


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    responses, labels, _ = TWO
    first = calibrate_together(responses, labels, reference="g0", tolerance=1e-7, n_threads=1)
    again = calibrate_together(responses, labels, reference="g0", tolerance=1e-7, start=first, errors=False)
    assert again.convergence.iterations is not None
    assert again.convergence.iterations <= 1
    assert again.items.covariance is None
    assert again.items.no_errors_because
    turned = calibrate_together(responses, labels, reference="g1", tolerance=1e-7, start=first, n_threads=1)
    assert turned.convergence.iterations is not None
    assert turned.convergence.iterations <= 1  # the earlier frame is another: taken over exactly
    assert turned.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-7)
    assert turned.group("g0").mean == pytest.approx(-first.group("g1").mean / first.group("g1").sd, abs=1e-5)
    assert turned.abilities.estimate * first.group("g1").sd + first.group("g1").mean == pytest.approx(
        first.abilities.estimate, abs=1e-5
    )


def test_persons_may_come_in_any_order_and_labels_in_any_form() -> None:
    responses, labels, _ = TWO
    order = np.random.default_rng(4).permutation(500)
    first = calibrate_together(responses, labels, n_threads=1)
    by_id = dict(zip(responses.person_ids, labels, strict=True))
    mixed = calibrate_together(responses.select(persons=order), by_id, n_threads=1)
    assert mixed.reference == first.reference == "g0"  # the largest
    assert mixed.items.intercept == pytest.approx(first.items.intercept, abs=1e-8)
    assert mixed.abilities.estimate == pytest.approx(first.abilities.estimate[order], abs=1e-7)
    assert mixed.person_groups == tuple(labels[i] for i in order)


def test_items_and_persons_that_take_no_part_stay_in_place() -> None:
    responses, labels, _ = TWO
    x, n = responses.successes.astype(int), responses.trials.astype(int)
    x[:, 2], n[:, 5] = 1, 0
    n[7] = 0
    data = Responses.from_array(np.where(n > 0, x, 0), n)
    found = calibrate_together(data, labels, reference="g0", n_threads=1)
    assert found.items.status[2] == "constant_all_1"
    assert found.items.status[5] == "no_responses"
    assert np.isnan(found.items.intercept[[2, 5]]).all()
    assert np.isnan(found.abilities.estimate[7])
    assert found.group("g0").n_persons == 299
    assert any("took no part" in note for note in found.notes)
    left = np.delete(np.arange(8), [2, 5])
    part = calibrate_together(data.select(items=left), labels, reference="g0", n_threads=1)
    assert part.items.intercept == pytest.approx(found.items.intercept[left], abs=1e-12)


def test_a_held_item_that_all_solved_still_tells_of_the_persons() -> None:
    responses, labels, truth = TWO
    x = responses.successes.astype(int)
    x[:, 0] = 1
    data = Responses.from_array(x)
    found = calibrate_together(data, labels, fixed_items=truth.select(np.arange(3)), n_threads=1)
    without = calibrate_together(data, labels, fixed_items=truth.select(np.arange(1, 3)), n_threads=1)
    assert found.items.status[0] == "estimated"
    assert found.group("g0").mean > without.group("g0").mean


def test_frame_and_weak_links_are_told() -> None:
    responses, labels, truth = TWO
    n = responses.trials.astype(int)
    n[300:, :6] = 0
    data = Responses.from_array(np.where(n > 0, responses.successes, 0), n)
    found = calibrate_together(data, labels, "Rasch", reference="g0", n_threads=1)
    assert any("Fewer than 3 items link" in note and "'g1 (2)'" in note for note in found.notes)
    held = calibrate_together(data, labels, fixed_items=truth.select(np.array([6])), n_threads=1)
    assert "1 fixed item" in held.notes[0]
    assert found.to_frame().shape == (2, 7)
    assert [g["group"] for g in held.to_dict()["groups"]] == ["g0", "g1"]
    assert [i["fixed"] for i in held.to_dict()["items"]] == [False] * 6 + [True, False]


def test_a_group_that_does_not_vary_is_told() -> None:
    responses, labels, _ = TWO
    x = responses.successes.astype(int)
    x[300:] = np.tile([1, 1, 0, 1, 0, 1, 0, 1], (200, 1))
    found = calibrate_together(Responses.from_array(x), labels, "Rasch", reference="g0", n_threads=1)
    assert found.group("g1").sd_standard_error is None
    assert found.group("g1").mean_standard_error is not None
    assert any("SD of 'g1' stopped at its bound" in note for note in found.notes)


def test_a_result_is_shown_in_a_line() -> None:
    rng = np.random.default_rng(2)
    x = (rng.random((120, 5)) < expit(rng.normal(size=120)[:, None] - np.linspace(-1, 1, 5))).astype(int)
    found = calibrate_together(Responses.from_array(x), ["a", "b", "c", "d"] * 30, "Rasch", errors=False)
    assert repr(found).startswith(f"<Concurrent Rasch of 5 items: a N(0, {found.groups[0].sd:.3g}^2), b N(")
    assert repr(found).endswith(f" and 1 more groups; {found.convergence.status}; see to_frame(), items, notes>")


def refused(error: type[Exception], match: str, labels: Any = None, **settings: Any) -> None:
    responses, own, _ = TWO
    with pytest.raises(error, match=match):
        calibrate_together(settings.pop("responses", responses), own if labels is None else labels, **settings)


@pytest.mark.parametrize(
    ("error", "match", "labels"),
    [
        (DataError, "499 group labels for 500 persons", ["a"] * 499),
        (DataError, "no such person", {f"person-{i}": "a" for i in range(1, 502)}),
        (DataError, "no label for 1 persons: 'person-500'", {f"person-{i}": "a" for i in range(1, 500)}),
        (DataError, "have no 'group'", [*["a"] * 499, None]),
        (DataError, "no covariate", "family"),
        (DataError, r"two persons with responses.*'b \(1\)'", [*["a"] * 499, "b"]),
    ],
)
def test_labels_that_do_not_fit_are_refused(error: type[Exception], match: str, labels: Any) -> None:
    refused(error, match, labels)


def test_groups_that_nothing_links_are_refused() -> None:
    responses, _, truth = TWO
    n = responses.trials.astype(int)
    n[:300, 4:] = 0
    n[300:, :4] = 0
    apart = Responses.from_array(np.where(n > 0, responses.successes, 0), n)
    refused(DisconnectedDataError, "'g1' share no item with the others; they ran 'item-5'", responses=apart)
    held = truth.select(np.array([0, 1]))
    refused(DisconnectedDataError, "'g1' ran no fixed item", responses=apart, fixed_items=held)
    both = calibrate_together(apart, TWO[1], fixed_items=truth.select(np.array([0, 1, 5, 6])), n_threads=1)
    assert both.convergence.status == "converged"


@pytest.mark.parametrize(
    ("error", "match", "changed", "settings"),
    [
        (DataError, "None of the 2 fixed items is in the data: 'x', 'y'", {"item_ids": ("x", "y")}, {}),
        (ModelError, "slopes other than 1: 'item-1', 'item-2'", {}, {"model": "Rasch"}),
        (ModelError, "slopes other than 'item-1''s", {}, {"model": "1PL"}),
        (ModelError, "not positive: 'item-2'", {"discrimination": np.array([1.0, -1.0])}, {}),
        (ModelError, "guessing other than 0", {"guessing": np.array([0.2, 0.2])}, {}),
        (DataError, "no parameters: 'item-1'", {"intercept": np.array([np.nan, 0.0])}, {}),
        (SettingsError, "set the frame themselves", {}, {"reference": "g0"}),
    ],
)
def test_items_that_cannot_be_held_are_refused(
    error: type[Exception], match: str, changed: dict[str, Any], settings: dict[str, Any]
) -> None:
    truth = TWO[2]
    parts = {"item_ids": truth.item_ids[:2], "discrimination": truth.discrimination[:2],
             "intercept": truth.intercept[:2], "guessing": truth.guessing[:2]}  # fmt: skip
    refused(error, match, fixed_items=ItemParameters(**(parts | changed)), **settings)


@pytest.mark.parametrize(
    ("match", "settings"),
    [
        ("reference='g7' is no group", {"reference": "g7"}),
        ("tolerance=0", {"tolerance": 0}),
        ("max_iterations=0", {"max_iterations": 0}),
        ("n_threads='2'", {"n_threads": "2"}),
        ("start is a dict", {"start": {}}),
        ("errors='none'", {"errors": "none"}),
        ("fixed_items is a tuple", {"fixed_items": ()}),
        ("beside an ItemModel", {"model": ItemModel("2PL"), "priors": "weak"}),
    ],
)
def test_settings_that_cannot_be_taken_are_refused(match: str, settings: dict[str, Any]) -> None:
    refused(SettingsError, match, **settings)


def test_more_parameters_than_patterns_are_refused() -> None:
    responses, labels, _ = TWO
    pair = responses.select(items=np.arange(2))
    refused(ModelError, "4 parameters, and the responses only 3 degrees", ["all"] * 500, responses=pair)
    # In two groups of three free patterns each: four of the items, a mean and an SD.
    assert calibrate_together(pair, labels, reference="g0", errors=False, n_threads=1).n_parameters == 6


def test_a_search_that_is_stopped_says_so() -> None:
    responses, labels, _ = TWO
    found = calibrate_together(responses, labels, max_iterations=2, errors=False, n_threads=1)
    assert found.convergence.status == "iteration_limit"
    assert any("before it converged" in w for w in found.convergence.warnings)
    assert isinstance(found, Concurrent)


def test_example_in_the_docstring() -> None:
    assert doctest.testmod(concurrent).failed == 0
    assert doctest.testmod(concurrent).attempted > 0
