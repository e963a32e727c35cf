import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from psychoeval.errors import DataError, DisconnectedDataError, ModelError, SettingsError
from psychoeval.estimators.native import cml_search
from psychoeval.estimators.native.cml import CML
from psychoeval.estimators.native.cml_andersen import andersen_test
from psychoeval.estimators.native.cml_search import intercept_covariance, maximize
from psychoeval.estimators.native.cml_steps import (
    approximate_information,
    conditional,
    log_symmetric,
    make_units,
    pearson,
)
from psychoeval.fitting import fit
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.contract.rows import awkward

RASCH = ItemModel("Rasch")
#: Sums over nodes leave out exp(-38), and add up to r phases of size 1: some units of rounding.
ROUNDING = 1e-12


def log_exactly(easiness: list[Fraction], trials: list[int], orders: list[int]) -> list[float]:
    """Return the logs of coefficients of prod (1 + e t)^k, multiplied out in whole numbers."""
    unit = math.lcm(*(e.denominator for e in easiness))
    coefficients = [1]
    for e, k in zip(easiness, trials, strict=True):
        times = int(e * unit)
        for _ in range(k):
            coefficients = [unit * a + times * b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    return [log_ratio(coefficients[r], unit ** sum(trials)) for r in orders]


def log_ratio(one: int, other: int) -> float:
    """Return log(one / other) of numbers that no double holds."""
    shift = one.bit_length() - other.bit_length()
    ratio = Fraction(one, other) / Fraction(2) ** shift
    return math.log(ratio) + shift * math.log(2)


def log_polynomial(d: np.ndarray) -> np.ndarray:
    """Return the logs of the same for many items: the summation algorithm in logarithms."""
    out = np.full(d.size + 1, -np.inf)
    out[0] = 0.0
    for value in d:
        out[1:] = np.logaddexp(out[1:], out[:-1] + value)
    return out


def enumerated(d: np.ndarray, trials: np.ndarray, r: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log gamma, mean and covariance of the scores given their sum, over every table of them."""
    points = np.array([x for x in itertools.product(*(range(k + 1) for k in trials)) if sum(x) == r])
    ways = [math.prod(math.comb(k, x) for k, x in zip(trials, point, strict=True)) for point in points]
    weight = np.array(ways) * np.exp(points @ d)
    p = weight / weight.sum()
    mean = p @ points
    return math.log(weight.sum()), mean, (points - mean).T @ ((points - mean) * p[:, None])


def simulated(n: int, d: np.ndarray, seed: int, *, missing: float = 0.0, trials: int = 1) -> Responses:
    rng = np.random.default_rng(seed)
    given = rng.integers(1, trials + 1, (n, d.size)) if trials > 1 else np.ones((n, d.size), int)
    given[rng.random(given.shape) < missing] = 0
    p = 1 / (1 + np.exp(-(rng.normal(size=(n, 1)) + d)))
    return Responses.from_array(rng.binomial(given, p), given)


def brute_log_likelihood(d: np.ndarray, responses: Responses) -> float:
    """Person by person, polynomials by np.polymul."""
    total = 0.0
    for x, k in zip(responses.successes.astype(int), responses.trials.astype(int), strict=True):
        gamma = np.array([1.0])
        for value, times in zip(np.exp(d), k, strict=True):
            for _ in range(times):
                gamma = np.convolve(gamma, [1.0, value])
        total += x @ d - np.log(gamma[x.sum()])
    return total


def quiet(responses: Responses, **settings: object) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(responses, "cml", model="Rasch", **settings)


@pytest.mark.parametrize("trials", [[1] * 6, [1, 3, 2, 5]])
def test_symmetric_functions_are_the_exact_ones(trials):
    easiness = [Fraction(n, 7) for n in (1, 3, 12, 50, 700, 4)][: len(trials)]
    r = list(range(1, sum(trials)))
    found = log_symmetric(np.log([float(e) for e in easiness]), r, trials)
    assert found == pytest.approx(log_exactly(easiness, trials, r), rel=0, abs=ROUNDING)


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_symmetric_functions_of_300_equal_and_unequal_items(spread):
    # The difference algorithm loses every digit here.
    easiness = np.exp(np.random.default_rng(3).normal(size=300) * spread)
    r = [1, 2, 7, 150, 298, 299]
    exact = log_exactly([Fraction(e) for e in easiness.tolist()], [1] * 300, r)
    assert log_symmetric(np.log(easiness), r) == pytest.approx(exact, rel=1e-14, abs=ROUNDING)


def test_symmetric_functions_of_2000_items():
    d = np.random.default_rng(4).normal(size=2000) * 2
    r = np.arange(1, 2000)
    # The reference adds 2000 roundings of numbers up to 2000: 6.4e-12 measured, of a log of 2112.
    assert log_symmetric(d, r) == pytest.approx(log_polynomial(d)[1:-1], rel=0, abs=5e-11)


@pytest.mark.parametrize("trials", [[1, 1], [1, 1, 1, 1, 1], [2, 1, 3], [1, 0, 2, 1]])
def test_likelihood_gradient_and_information_by_enumeration(trials):
    d = np.array([0.4, -1.7, 6.0, 0.4, -0.2])[: len(trials)]
    k = np.array(trials)
    successes = np.array([x for x in itertools.product(*(range(n + 1) for n in trials))], np.uint8)
    units = make_units(successes, np.tile(k, (len(successes), 1)).astype(np.uint8))
    found = conditional(units, d, information=True)
    value, gradient, information = 0.0, np.zeros(d.size), np.zeros((d.size, d.size))
    for x in successes:
        if 0 < x.sum() < k.sum():
            log_gamma, mean, covariance = enumerated(d, k, x.sum())
            value += x @ d - log_gamma
            gradient += x - mean
            information += covariance
    assert found.log_likelihood == pytest.approx(value, rel=0, abs=1e-11)
    assert found.gradient == pytest.approx(gradient, rel=0, abs=1e-11)
    assert found.information == pytest.approx(information, rel=0, abs=1e-11)


def test_pearsons_chi_squared_by_enumeration():
    responses = simulated(40, np.linspace(-1, 1, 4), 25, missing=0.2, trials=3)
    d, total = np.linspace(0.5, -2, 4), 0.0
    for x, k in zip(responses.successes.astype(int), responses.trials.astype(int), strict=True):
        if 0 < x.sum() < k.sum():
            _, mean, covariance = enumerated(d, k, x.sum())
            v = np.diag(covariance)
            total += ((x - mean)[v > 1e-12] ** 2 / v[v > 1e-12]).sum()
    found = pearson(make_units(responses.successes, responses.trials), responses.successes, d)
    assert found == pytest.approx(total, rel=1e-9)


def test_counts_that_vary_too_much_are_told():
    rng = np.random.default_rng(26)
    theta, d = rng.normal(size=(150, 1)), np.linspace(-1, 1, 12)
    ratios = []
    for sd in (0.0, 1.0):
        p = 1 / (1 + np.exp(-(theta + d + sd * rng.normal(size=(150, 12)))))
        found = quiet(Responses.from_array(rng.binomial(10, p), np.full(p.shape, 10)))
        ratios.append(found.statistics["overdispersion_ratio"])
        assert any("times as much as binomial" in text for text in found.convergence.warnings) == (sd > 0)
    # 1800 cells: sqrt(2 / 1800) = .03 is the error of the first.
    assert ratios[0] == pytest.approx(1, abs=0.12)
    assert ratios[1] > 1.8


def test_likelihood_with_missing_cells_and_counts_person_by_person():
    responses = simulated(60, np.linspace(-1, 1, 6), 5, missing=0.3, trials=3)
    d = np.linspace(1.5, -1, 6)
    units = make_units(responses.successes, responses.trials)
    telling = responses.select(
        persons=(responses.successes.sum(axis=1) > 0) & (responses.successes.sum(axis=1) < responses.trials.sum(axis=1))
    )
    found = conditional(units, d)
    assert found.log_likelihood == pytest.approx(brute_log_likelihood(d, telling), rel=1e-13)
    step = 1e-5 * np.eye(6)
    slope = [(brute_log_likelihood(d + h, telling) - brute_log_likelihood(d - h, telling)) / 2e-5 for h in step]
    # Differences of a sum of 1e2 over 2e-5 keep 9 digits.
    assert found.gradient == pytest.approx(slope, rel=0, abs=1e-6)


@pytest.mark.parametrize("n_items", [50, 200])
def test_approximate_information_is_right_to_one_over_the_number_of_items(n_items):
    d = np.random.default_rng(6).normal(size=n_items)
    responses = simulated(400, d, 7)
    units = make_units(responses.successes, responses.trials)
    equal = np.zeros(n_items)
    exact, found = conditional(units, equal, information=True).information, approximate_information(units, equal)
    # Of equal items exchangeability gives the ratio itself, (J - 1) / J.
    assert found == pytest.approx(exact * (n_items - 1) / n_items, rel=1e-9)
    exact, found = conditional(units, d, information=True).information, approximate_information(units, d)
    assert np.abs(np.diag(found) / np.diag(exact) - 1).max() < 2 / n_items


@pytest.mark.parametrize(("missing", "trials"), [(0.0, 1), (0.4, 1), (0.2, 4)])
def test_the_maximum_is_that_of_a_general_optimizer(missing, trials):
    responses = simulated(80, np.linspace(-1, 1.5, 5), 8, missing=missing, trials=trials)

    def loss(free: np.ndarray) -> float:
        return -brute_log_likelihood(np.append(free, -free.sum()), responses)

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-5})
    found = quiet(responses)
    assert found.convergence.status == "converged"
    d = found.item_parameters.intercept
    # BFGS with numerical derivatives stops about 1e-6 from the maximum.
    assert d == pytest.approx(np.append(best.x, -best.x.sum()), rel=0, abs=2e-5)
    assert d.sum() == pytest.approx(0, abs=1e-12)
    extreme = (responses.successes == 0).all(axis=1) | (responses.successes == responses.trials).all(axis=1)
    assert found.log_likelihood == pytest.approx(brute_log_likelihood(d, responses.select(persons=~extreme)), rel=1e-12)
    assert found.log_likelihood >= -best.fun - 1e-9


def test_exchanging_success_and_failure_turns_the_scale():
    rng = np.random.default_rng(6)
    n = rng.integers(0, 3, (60, 8))
    x = rng.binomial(n, 0.5 + 0.3 * np.sin(np.arange(8)))
    one, two = (fit(Responses.from_array(kind, n), "cml", model=RASCH) for kind in (x, n - x))
    np.testing.assert_allclose(two.item_parameters.intercept, -one.item_parameters.intercept, atol=1e-9)
    errors = [found.item_parameters.standard_errors["intercept"] for found in (one, two)]
    np.testing.assert_allclose(*errors, rtol=1e-9)
    np.testing.assert_allclose(two.abilities.estimate, -one.abilities.estimate, atol=1e-9)
    assert two.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)


def test_standard_errors_are_those_of_contrasts_with_an_item_held_fixed():
    responses = simulated(150, np.linspace(-1, 1, 5), 9, missing=0.2)
    found = quiet(responses).item_parameters
    units = make_units(responses.successes, responses.trials)
    information = conditional(units, found.intercept, information=True).information
    first_fixed = np.zeros((5, 5))
    first_fixed[1:, 1:] = np.linalg.inv(information[1:, 1:])
    for i, j in itertools.combinations(range(5), 2):
        c = np.zeros(5)
        c[i], c[j] = 1, -1
        assert c @ found.joint_covariance @ c == pytest.approx(c @ first_fixed @ c, rel=1e-10)
    assert found.joint_covariance.sum(axis=0) == pytest.approx(np.zeros(5), abs=1e-12)
    assert found.joint_labels == tuple((text, "d") for text in responses.item_ids)
    assert found.covariance[:, 1, 1] == pytest.approx(np.diag(found.joint_covariance), rel=1e-12)


def test_steps_by_the_approximate_information_reach_the_same_maximum(monkeypatch):
    responses = simulated(200, np.random.default_rng(10).normal(size=40), 11)
    units = make_units(responses.successes, responses.trials)
    exact = maximize(units, tolerance=1e-8, max_iterations=50)
    monkeypatch.setattr(cml_search, "EXACT_STEPS", 0)
    monkeypatch.setattr(cml_search, "EXACT_ERRORS", 0)
    approximate = maximize(units, tolerance=1e-8, max_iterations=50)
    assert approximate.at.information is None
    assert approximate.converged
    assert approximate.intercept == pytest.approx(exact.intercept, rel=0, abs=1e-8)
    (one, is_exact), (other, is_too) = (intercept_covariance(units, found) for found in (exact, approximate))
    assert (is_exact, is_too) == (True, False)
    assert np.sqrt(np.diag(other)) == pytest.approx(np.sqrt(np.diag(one)), rel=1 / 40)


def test_true_difficulties_lie_within_their_intervals_whatever_the_law_of_abilities():
    rng = np.random.default_rng(12)
    d = np.linspace(-1.5, 1.5, 10)
    inside = []
    for _ in range(60):
        theta = rng.exponential(1.5, 150) - 1
        responses = Responses.from_array((rng.random((150, 10)) < 1 / (1 + np.exp(-theta[:, None] - d))).astype(float))
        items = quiet(responses).item_parameters
        inside.append(np.abs(items.intercept - d) < 1.96 * items.standard_errors["intercept"])
    # 600 intervals in 60 data sets, Monte Carlo error about .01.
    assert 0.92 < np.mean(inside) < 0.98


def test_persons_with_equal_trials_and_scores_are_counted_together():
    responses = simulated(500, np.zeros(4), 13)
    units = make_units(responses.successes, responses.trials)
    assert units.totals.tolist() == [1, 2, 3]
    assert units.counts.sum() == sum(0 < t < 4 for t in responses.successes.sum(axis=1))


def test_the_sum_of_all_contributions_does_not_depend_on_blocks(monkeypatch):
    responses = simulated(120, np.linspace(-2, 2, 7), 14, missing=0.3, trials=2)
    units = make_units(responses.successes, responses.trials)
    whole = conditional(units, np.zeros(7), information=True)
    monkeypatch.setattr("psychoeval.estimators.native.cml_steps._BLOCK", 1)
    pieces = conditional(units, np.zeros(7), information=True)
    assert pieces.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-13)
    assert pieces.information == pytest.approx(whole.information, rel=0, abs=1e-11)


def test_wle_and_ml_abilities_solve_their_equations():
    responses = simulated(60, np.linspace(-1, 1, 6), 15, missing=0.2, trials=2)
    for method in ("WLE", "ML"):
        found = quiet(responses, ability_method=method)
        d, abilities = found.item_parameters.intercept, found.abilities
        assert abilities.method == method
        for i, theta in enumerate(abilities.estimate):
            x, k = responses.successes[i].astype(float), responses.trials[i].astype(float)
            if method == "ML" and x.sum() in (0, k.sum()):
                assert theta == (np.inf if x.sum() else -np.inf)
                assert abilities.status[i] == "ml_infinite"
                continue
            p = 1 / (1 + np.exp(-(theta + d)))
            v = k * p * (1 - p)
            bias = (v * (1 - 2 * p)).sum() / (2 * v.sum()) if method == "WLE" else 0.0
            assert x.sum() - k @ p + bias == pytest.approx(0, abs=1e-9)
            assert abilities.standard_error[i] == pytest.approx(v.sum() ** -0.5, rel=1e-9)


def test_the_result_says_what_it_is():
    found = quiet(awkward())
    items = found.item_parameters
    estimated = np.isfinite(items.intercept)
    assert estimated.tolist() == [s == "estimated" for s in items.status]
    assert items.difficulty[estimated].sum() == pytest.approx(0, abs=1e-12)
    assert found.log_likelihood_kind == "conditional"
    assert found.n_parameters == estimated.sum() - 1
    assert found.aic is None
    assert found.bic is None
    assert found.latent_distribution is None
    assert found.statistics["information"] == "exact"
    assert "sum to 0" in found.statistics["identification"]


def test_a_search_stopped_early_says_so():
    with pytest.warns(UserWarning, match="iteration_limit"):
        found = fit(simulated(80, np.linspace(-3, 3, 6), 16), "cml", model="Rasch", max_iterations=1)
    assert not found.convergence.believed


def test_items_that_only_those_passed_who_passed_all_others_are_named():
    rng = np.random.default_rng(17)
    easy = (rng.random((50, 4)) < 0.6).astype(float)
    hard = (rng.random((50, 2)) < 0.5) * easy.all(axis=1, keepdims=True)
    given = Responses.from_array(np.hstack([easy, hard]), item_ids=["a", "b", "c", "d", "hard-1", "hard-2"])
    with pytest.raises(DataError, match=r"passed one of 2 items \('hard-1', 'hard-2'\) and failed one of 4") as caught:
        fit(given, "cml", model="Rasch")
    assert "Leave 'hard-1', 'hard-2' out" in caught.value.remedy
    # Order must not matter: the same split when an item of the other set comes first.
    turned = given.select(items=np.array([4, 0, 5, 1, 2, 3]))
    with pytest.raises(DataError, match=r"passed one of 2 items \('hard-1', 'hard-2'\)"):
        fit(turned, "cml", model="Rasch")


def test_mixed_counts_link_items_where_single_trials_would_not():
    # One system passed all of the first and some of the second: with one trial a cell nothing would link back.
    linked = Responses.from_array([[3, 1], [1, 1]], [[3, 3], [3, 3]])
    assert quiet(linked).convergence.status == "converged"
    with pytest.raises(DataError, match="nothing says by how much"):
        quiet(Responses.from_array([[1, 0], [1, 0], [0, 0], [1, 1]]))


def test_what_cannot_be_fitted_is_refused_by_name():
    nan = float("nan")
    apart = [[1, 0, nan, nan], [0, 1, nan, nan], [nan, nan, 1, 0], [nan, nan, 0, 1]]
    with pytest.raises(DisconnectedDataError, match="2 components"):
        fit(Responses.from_array(apart), "cml", model="Rasch")
    with pytest.raises(DataError, match="Only item 'item-2'"):
        fit(Responses.from_array([[1, 0], [1, 1]]), "cml", model="Rasch")
    with pytest.raises(ModelError, match="no priors"):
        fit(simulated(50, np.zeros(4), 18), "cml", model="Rasch", priors="weak")
    with pytest.raises(ModelError, match="does not fit the 2PL"):
        CML().fit(awkward(), ItemModel("2PL"))


def test_work_that_would_take_hours_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr("psychoeval.estimators.native.cml_checks.MAX_WORK", 10.0)
    with pytest.raises(DataError, match=r"fall into \d+ sets of equal items seen"):
        fit(simulated(50, np.zeros(6), 19, missing=0.3), "cml", model="Rasch")


@pytest.mark.parametrize(
    "setting", [{"ability_method": "EAP"}, {"tolerance": 0}, {"tolerance": True}, {"max_iterations": 0}]
)
def test_settings_are_checked(setting):
    with pytest.raises(SettingsError, match="cml"):
        CML(**setting)


def test_persons_who_saw_constant_items_only_are_named():
    given = simulated(60, np.zeros(5), 20).proportions.copy()
    given[:, 4] = 1.0
    given[7, :4] = np.nan
    found = quiet(Responses.from_array(given))
    assert np.isnan(found.abilities.estimate[7])
    assert any("person-8" in text and "constant items" in text for text in found.convergence.warnings)


def test_andersens_test_has_its_level_under_the_model_and_power_against_unequal_slopes():
    rng = np.random.default_rng(21)
    d = np.linspace(-1, 1, 6)
    p_values, powers = [], []
    for k in range(200):
        theta = rng.normal(size=(300, 1))
        for a, into in ((np.ones(6), p_values), (np.repeat([0.5, 2.0], 3), powers)):
            given = Responses.from_array((rng.random((300, 6)) < 1 / (1 + np.exp(-a * theta - d))).astype(float))
            if into is p_values or k < 40:
                into.append(andersen_test(given).p_value)
    # Monte Carlo error of .05 over 200 sets: .015.
    assert 0.01 < np.mean(np.array(p_values) < 0.05) < 0.10
    assert np.mean(np.array(powers) < 0.05) > 0.9


def test_andersens_test_is_twice_what_the_groups_gain_apart():
    responses = simulated(200, np.linspace(-1, 1, 5), 22, missing=0.2)
    first = np.arange(200) < 80
    apart = [quiet(responses.select(persons=part)).log_likelihood for part in (first, ~first)]
    found = andersen_test(responses, first)
    assert found.statistic == pytest.approx(2 * (sum(apart) - quiet(responses).log_likelihood), rel=0, abs=1e-8)
    assert (found.degrees_of_freedom, found.items_left_out) == (4, ())
    assert andersen_test(responses, ~first).statistic == pytest.approx(found.statistic, rel=0, abs=1e-8)


def test_andersens_test_leaves_out_items_that_are_constant_in_a_group():
    values = simulated(200, np.zeros(5), 23).proportions.copy()
    first = np.arange(200) < 100
    values[first, 3] = 1.0
    found = andersen_test(Responses.from_array(values), first)
    assert found.items_left_out == ("item-4",)
    assert found.degrees_of_freedom == 3
    kept = Responses.from_array(values).select(items=np.array([0, 1, 2, 4]))
    assert found.statistic == pytest.approx(andersen_test(kept, first).statistic, rel=0, abs=1e-9)


def test_andersens_test_refuses_groups_that_are_none():
    responses = simulated(50, np.zeros(4), 24, missing=0.2)
    with pytest.raises(DataError, match="raw scores on different items do not compare"):
        andersen_test(responses)
    with pytest.raises(DataError, match="The groups have 50 of 50 persons"):
        andersen_test(responses, np.ones(50, bool))
    with pytest.raises(DataError, match=r"array of shape \(3,\)"):
        andersen_test(responses, [True, False, True])


def test_andersens_test_names_the_item_that_differs():
    rng = np.random.default_rng(25)
    first = np.arange(600) < 300
    d = np.linspace(-1, 1, 6) + np.where(first[:, None] & (np.arange(6) == 2), 1.5, 0.0)
    values = (rng.random((600, 6)) < 1 / (1 + np.exp(-rng.normal(size=(600, 1)) - d))).astype(float)
    found = andersen_test(Responses.from_array(values), first)
    table = found.to_frame()
    assert found.n_persons == (300, 300)
    assert table["p_adjusted"].idxmin() == "item-3"
    assert table.loc["item-3", "z"] > 5  # harder in the second group
    assert found.difficulty.sum(axis=1) == pytest.approx([0, 0], abs=1e-12)
    values[first, 3] = 1.0
    assert (
        andersen_test(Responses.from_array(values), first).to_frame().loc["item-4", "status"] == "constant in a group"
    )


def test_andersens_split_is_mean_or_median():
    responses = simulated(201, np.linspace(-2, 0, 5), 26)
    scores = responses.successes.sum(axis=1)
    at_median = andersen_test(responses, scores <= np.median(scores))
    assert andersen_test(responses, split="median").statistic == at_median.statistic
    with pytest.raises(SettingsError, match="split is 'half'"):
        andersen_test(responses, split="half")
