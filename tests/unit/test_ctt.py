from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import SettingsError
from psychoeval.estimators.native.ctt import CTT
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def sample(seed: int, n: int, j: int, fill: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(rng.normal(size=(n, 1)) - rng.normal(size=j))))
    return np.where(rng.random((n, j)) < fill, rng.random((n, j)) < p, NAN)


def test_item_statistics_are_what_they_are_defined_as() -> None:
    x = sample(0, 30, 5)
    items = CTT().fit(Responses.from_array(x)).item_statistics
    assert items is not None
    assert items.proportion_correct == pytest.approx(x.mean(axis=0))
    wanted = [np.corrcoef(x[:, k], np.delete(x, k, 1).sum(axis=1))[0, 1] for k in range(5)]
    assert items.item_rest_correlation == pytest.approx(wanted)
    assert items.standard_errors["proportion_correct"] == pytest.approx(x.std(axis=0, ddof=1) / np.sqrt(30))


def test_standard_error_of_measurement_is_the_textbook_one() -> None:
    x = sample(1, 50, 8)
    fit = CTT().fit(Responses.from_array(x))
    assert fit.statistics is not None
    assert fit.abilities is not None
    total = x.sum(axis=1).std(ddof=1) * np.sqrt(1 - fit.statistics["alpha"])
    assert fit.statistics["sem_total_score"] == pytest.approx(total)
    assert fit.abilities.standard_error == pytest.approx(np.full(50, total / 8))


def test_fewer_items_seen_mean_a_larger_error() -> None:
    x = sample(2, 60, 9)
    x[0, 3:] = NAN
    fit = CTT().fit(Responses.from_array(x))
    assert fit.abilities is not None
    assert fit.item_statistics is not None
    error = fit.abilities.standard_error
    assert error is not None
    # Three of nine items: the error of measurement grows by sqrt(3), and which three they are adds its own.
    p = fit.item_statistics.proportion_correct
    spread = p.var(ddof=1) - np.mean(fit.item_statistics.standard_errors["proportion_correct"] ** 2)
    assert spread > 0
    assert error[0] ** 2 == pytest.approx(3 * error[1] ** 2 + spread * (1 / 3 - 1 / 9))


def test_sparse_data_go_by_what_is_available() -> None:
    fit = CTT().fit(Responses.from_array(sample(3, 80, 10, fill=0.5)))
    assert fit.statistics is not None
    assert fit.abilities is not None
    assert fit.item_statistics is not None
    assert fit.statistics["missing_rule"] == "available"
    assert fit.statistics["alpha"] == fit.statistics["alpha_pairwise"]
    assert 0 < fit.statistics["alpha"] < 1
    assert np.isfinite(fit.abilities.standard_error).all()  # type: ignore[arg-type]
    assert np.isfinite(fit.item_statistics.item_rest_correlation).all()
    assert any("did not see the same items" in w for w in fit.convergence.warnings)


def test_listwise_on_sparse_data_says_what_to_do() -> None:
    fit = CTT(missing="listwise").fit(Responses.from_array([[1, NAN], [NAN, 1], [0, NAN]]))
    assert fit.statistics is not None
    assert np.isnan(fit.statistics["alpha"])
    assert "missing='available'" in fit.convergence.warnings[0]


def test_never_run_and_constant_items_stay_in_place() -> None:
    x = np.column_stack([sample(4, 40, 4), np.full(40, NAN), np.ones(40), np.zeros(40)])
    fit = CTT().fit(Responses.from_array(x))
    items = fit.item_statistics
    assert items is not None
    assert items.status[4:] == ("no_responses", "constant_all_1", "constant_all_0")
    assert items.proportion_correct[4:] == pytest.approx([NAN, 1, 0], nan_ok=True)
    assert np.isnan(items.item_rest_correlation[4:]).all()
    assert np.isfinite(items.item_rest_correlation[:4]).all()
    assert fit.statistics is not None
    assert fit.statistics["n_items"] == 6
    assert fit.statistics["n_listwise"] == 40
    limits = fit.item_table()[["conf_low", "conf_high"]].dropna()
    assert len(limits) == 4 + 4 + 2
    assert np.abs(limits.to_numpy()).max() <= 1


def test_counts_have_alpha_and_no_kr20() -> None:
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(40, 1)) - rng.normal(size=6))))
    k = rng.binomial(4, p)
    statistics = CTT().fit(Responses.from_array(k, trials=4)).statistics
    assert statistics is not None
    c = np.cov(k.T / 4)
    assert statistics["alpha"] == pytest.approx(6 / 5 * (1 - np.trace(c) / c.sum()))
    assert statistics["kr20"] is None


def test_two_items_and_one_item() -> None:
    two = CTT().fit(Responses.from_array([[1, 1], [1, 0], [0, 1], [0, 0], [1, 1]])).statistics
    assert two is not None
    assert np.isfinite(two["alpha"])
    one = CTT().fit(Responses.from_array([[1], [0], [1]]))
    assert "not defined for 1 item." in one.convergence.warnings[0]


def test_no_error_where_items_agree_and_unknown_error_where_nothing_varies() -> None:
    agree = CTT().fit(Responses.from_array([[1, 1], [0, 0], [1, 1]])).abilities
    nothing = CTT().fit(Responses.from_array([[1, 1], [1, 1], [1, 1]])).abilities
    assert agree is not None
    assert nothing is not None
    assert agree.standard_error == pytest.approx([0, 0, 0])
    assert np.isnan(nothing.standard_error).all()  # type: ignore[arg-type]


def test_equal_totals_are_the_reason_for_no_alpha() -> None:
    fit = CTT().fit(Responses.from_array([[1, 0], [0, 1], [1, 0]]))
    assert "all total scores are equal" in fit.convergence.warnings[0]


@pytest.mark.parametrize("bad", [{"missing": "pairwise"}, {"level": 95}])
def test_bad_settings_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=str(next(iter(bad.values())))):
        CTT(**bad)  # type: ignore[arg-type]


def test_error_of_measurement_covers_the_expected_score_on_these_items() -> None:
    # Items fixed; interactions of person and item are small in a Rasch world, so 95 % is due, to .03.
    rng = np.random.default_rng(11)
    p = 1 / (1 + np.exp(-(rng.normal(size=(400, 1)) - np.linspace(-1, 1, 40))))
    fit = CTT().fit(Responses.from_array((rng.random(p.shape) < p).astype(int)))
    assert fit.abilities is not None
    low, high = fit.abilities.interval()
    assert np.mean((low <= p.mean(axis=1)) & (p.mean(axis=1) <= high)) == pytest.approx(0.95, abs=0.03)


def test_alpha_of_clusters_is_that_of_their_sums() -> None:
    rng = np.random.default_rng(4)
    passage = np.repeat(np.arange(6), 5)
    eta = rng.normal(size=(200, 1)) + 1.5 * rng.normal(size=(200, 6))[:, passage]
    x = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    # Names in no order, items of one passage apart from each other, and a person with a missing cell.
    order = rng.permutation(30)
    items = pd.DataFrame({"passage": [f"text {(7 * g) % 6}" for g in passage[order]]})
    cells = x[:, order].copy()
    cells[0, 3] = NAN
    found = CTT(cluster="passage").fit(Responses.from_array(cells, items=items)).statistics
    assert found is not None
    covariance = np.cov(np.stack([x[1:, passage == g].sum(axis=1) for g in range(6)]))
    wanted = 6 / 5 * (1 - np.trace(covariance) / covariance.sum())
    assert found["alpha_of_clusters"] == pytest.approx(wanted, abs=1e-12)
    # What a passage has in common is no reliability: the items' own alpha counts it as such.
    assert found["alpha_of_clusters"] < found["alpha_listwise"] - 0.1
