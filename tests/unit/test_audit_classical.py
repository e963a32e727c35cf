from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

from psychoeval.audit.classical import analyze_items
from psychoeval.errors import SettingsError
from psychoeval.estimators.native.ctt import CTT
from psychoeval.irt.omega import minres_loadings, omega_one_factor
from psychoeval.irt.reliability import alpha_pairwise, alpha_without_each, covariances_pairwise
from psychoeval.responses.matrix import Responses
from tests.golden import data, reference

NAN = float("nan")


def sample(seed: int, n: int, j: int, fill: float = 1.0, trials: int = 1) -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(1.3 * rng.normal(size=(n, 1)) - rng.normal(size=j))))
    t = trials * (rng.random((n, j)) < fill)
    return Responses.from_array(rng.binomial(t, p), t)


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_figures_are_those_of_psych(name: str) -> None:
    expected = reference(f"psych_{name}")
    found = analyze_items(data(name))
    for mine, key in (
        (found.proportion_correct, "proportion_correct"),
        (found.item_rest_correlation, "item_rest_correlation"),
        (found.alpha_without, "alpha_if_dropped"),
        (found.test.alpha, "alpha"),
        (found.test.kr20, "alpha"),
    ):
        assert mine == pytest.approx(expected[key], rel=0, abs=1e-12)


@pytest.mark.parametrize(("fill", "trials"), [(1.0, 1), (1.0, 4), (0.7, 1), (0.7, 4)])
def test_alpha_without_each_item_is_alpha_of_the_rest(fill: float, trials: int) -> None:
    responses = sample(0, 40, 6, fill, trials)
    found = analyze_items(responses, missing="available")
    for j in range(6):
        rest = responses.select(items=np.arange(6) != j)
        assert found.alpha_without[j] == pytest.approx(analyze_items(rest, missing="available").test.alpha, abs=1e-12)


def test_alpha_without_each_item_where_pairs_are_unknown() -> None:
    x = sample(1, 60, 5).proportions
    x[:30, 0], x[30:, 1] = NAN, NAN
    responses = Responses.from_array(x)
    covariances = covariances_pairwise(responses.successes, responses.trials)
    assert covariances is not None
    for j in range(5):
        rest = responses.select(items=np.arange(5) != j)
        wanted = alpha_pairwise(rest.successes, rest.trials).alpha
        assert alpha_without_each(covariances)[j] == pytest.approx(wanted, abs=1e-12)


def test_missing_cells_leave_the_rest_correlation_its_own_rule() -> None:
    responses = sample(2, 50, 8, 0.7)
    x = responses.proportions
    centered = pd.DataFrame(x - np.nanmean(x, axis=0))
    found = analyze_items(responses)
    for j in range(8):
        rest = centered.drop(columns=j).mean(axis=1)
        assert found.item_rest_correlation[j] == pytest.approx(centered[j].corr(rest), abs=1e-12)
    assert any("item mean" in note for note in found.notes)


@pytest.mark.parametrize("missing", ["auto", "listwise", "available"])
@pytest.mark.parametrize("fill", [1.0, 0.9, 0.97])
def test_the_whole_test_agrees_with_the_estimator(missing: str, fill: float) -> None:
    responses = sample(3, 80, 6, fill)
    test = analyze_items(responses, missing=missing).test
    statistics = CTT(missing=missing).fit(responses).statistics
    assert statistics is not None
    assert test.rule == statistics["missing_rule"]
    for mine, theirs in (("alpha", "alpha"), ("error_of_measurement", "sem"), ("mean_covariance", "mean_covariance")):
        assert getattr(test, mine) == pytest.approx(statistics[theirs], abs=1e-12)
    if test.rule == "listwise":
        assert (test.alpha_low, test.alpha_high) == (statistics["alpha_low"], statistics["alpha_high"])
        assert (test.kr20_low, test.kr20_high) == pytest.approx((test.alpha_low, test.alpha_high), abs=1e-9)


def test_constant_and_unseen_items_stay_in_place_with_their_status() -> None:
    x = sample(4, 30, 6).proportions
    x[:, 1], x[:, 3] = 1, NAN
    found = analyze_items(Responses.from_array(x))
    assert found.status[1] == "constant_all_1"
    assert found.status[3] == "no_responses"
    assert np.isnan(found.item_rest_correlation[[1, 3]]).all()
    assert np.isnan(found.alpha_without[3])
    assert np.isfinite(found.alpha_without[[0, 1, 2, 4, 5]]).all()
    assert found.test.n_items == 5
    assert any("do not vary: 1 items ('item-2')" in note for note in found.notes)
    frame = found.to_frame()
    assert frame.shape == (6, 13)
    assert not frame["not_positive"][["item-2", "item-4"]].any()


def test_a_reversed_item_is_flagged() -> None:
    x = sample(5, 200, 6).proportions
    x[:, 2] = 1 - x[:, 2]
    assert analyze_items(Responses.from_array(x)).not_positive.tolist() == [False, False, True, False, False, False]


def test_minres_is_the_least_squares_of_the_cells_off_the_diagonal() -> None:
    r = np.corrcoef(sample(6, 300, 8).proportions.T)
    cells = np.triu_indices(8, 1)
    wanted = least_squares(lambda v: (r - np.outer(v, v))[cells], np.full(8, 0.5), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert minres_loadings(r) == pytest.approx(wanted.x, abs=1e-7)


def test_omega_of_exact_factor_covariances() -> None:
    loadings = np.array([0.9, 0.7, 0.5, 0.3, 0.6])
    found = minres_loadings(np.outer(loadings, loadings) + np.diag(1 - loadings**2))
    assert found == pytest.approx(loadings, abs=1e-7)


def test_omega_is_near_the_true_reliability_with_more_items_than_persons() -> None:
    rng = np.random.default_rng(7)
    a, b = np.exp(rng.normal(0, 0.5, 300)), rng.normal(0, 1.5, 300)
    probability = 1 / (1 + np.exp(-a * (rng.normal(size=(5000, 1)) - b)))
    signal, noise = probability.sum(axis=1).var(), (probability * (1 - probability)).sum(axis=1).mean()
    x = np.stack([rng.random((60, 300)) < probability[60 * k : 60 * (k + 1)] for k in range(20)]).astype(np.uint8)
    found = [omega_one_factor(one, np.ones_like(one)).value for one in x]
    assert np.mean(found) == pytest.approx(signal / (signal + noise), abs=0.004)  # SD of one about .005


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        (sample(8, 30, 2), "2 items vary"),
        (sample(8, 2, 8), "2 persons saw every item"),
        (sample(8, 40, 6, 0.5), "needs complete persons"),
        (Responses.from_array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0]]), "Heywood"),
    ],
)
def test_omega_is_undefined_with_a_reason(responses: Responses, reason: str) -> None:
    found = analyze_items(responses)
    assert np.isnan(found.test.omega)
    assert any("Omega is not defined" in note and reason in note for note in found.notes)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="pairwise"):
        analyze_items(sample(9, 5, 3), missing="pairwise")
    with pytest.raises(SettingsError, match="level"):
        analyze_items(sample(9, 5, 3), level=0)
