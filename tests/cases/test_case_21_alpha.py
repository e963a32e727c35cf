"""Alpha: negative, with a reversed item, with a constant item and missing cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.estimators.native.ctt import CTT
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "21"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(DATA / f"{name}.csv", index_col=0)


def analyze(frame: pd.DataFrame, **settings: Any) -> FitResult:
    data = Responses.from_array(frame.to_numpy(), person_ids=list(frame.index), item_ids=list(frame.columns))
    return CTT(**settings).fit(data)


def item_rest(fit: FitResult) -> np.ndarray:
    assert fit.item_statistics is not None
    return fit.item_statistics.item_rest_correlation


@pytest.mark.parametrize("name", ["negative_alpha", "one_reversed"])
def test_negative_alpha_is_reported_with_its_reason(name: str) -> None:
    fit, expected = analyze(table(name)), EXPECTED[name]
    assert fit.statistics is not None
    assert fit.statistics["alpha"] == pytest.approx(expected["alpha"], abs=1e-12)
    assert fit.statistics["kr20"] == pytest.approx(fit.statistics["alpha"], abs=1e-12)
    assert item_rest(fit) == pytest.approx(expected["item_rest"], abs=5e-7)
    warning = fit.convergence.warnings[0]
    assert "negative" in warning
    assert "average covariance" in warning
    assert "keys" in warning


def test_reason_holds_the_average_covariance() -> None:
    fit = analyze(table("negative_alpha"))
    assert fit.statistics is not None
    assert fit.statistics["mean_covariance"] == pytest.approx(EXPECTED["negative_alpha"]["mean_covariance"], abs=1e-12)


def test_only_the_reversed_item_is_named() -> None:
    warning = analyze(table("one_reversed")).convergence.warnings[0]
    assert "'q005'" in warning
    assert "'q001'" not in warning


def test_reversing_or_dropping_the_item_mends_alpha() -> None:
    frame, expected = table("one_reversed"), EXPECTED["one_reversed"]
    mended = analyze(frame.assign(q005=1 - frame["q005"])).statistics
    dropped = analyze(frame.drop(columns="q005")).statistics
    assert mended is not None
    assert dropped is not None
    assert mended["alpha"] == pytest.approx(expected["alpha_after_reversing_q005"], abs=1e-12)
    assert dropped["alpha"] == pytest.approx(expected["alpha_without_q005"], abs=1e-12)


def test_constant_item_and_missing_cells_listwise() -> None:
    frame, expected = table("constant_and_missing"), EXPECTED["constant_and_missing"]
    fit = analyze(frame)
    assert fit.statistics is not None
    assert fit.item_statistics is not None
    assert fit.statistics["missing_rule"] == "listwise"
    assert fit.statistics["n_listwise"] == expected["n_listwise"]
    assert fit.statistics["alpha"] == fit.statistics["alpha_listwise"]
    for name in ("alpha_listwise", "alpha_listwise_without_constant", "alpha_pairwise"):
        assert fit.statistics[name] == pytest.approx(expected[name], abs=1e-12)
    assert fit.statistics["kr20"] == pytest.approx(expected["alpha_listwise"], abs=1e-12)
    assert fit.item_statistics.item_ids == tuple(frame.columns)
    assert fit.item_statistics.status[2] == "constant_all_1"
    wanted = [np.nan if r is None else r for r in expected["item_rest"]]
    assert item_rest(fit) == pytest.approx(wanted, abs=5e-7, nan_ok=True)


def test_interval_of_alpha() -> None:
    statistics = analyze(table("constant_and_missing")).statistics
    assert statistics is not None
    # R psych 2.2.9: alpha.ci(0.478620922765, n.obs = 58, n.var = 6).
    assert statistics["alpha_low"] == pytest.approx(0.239287566727, abs=1e-9)
    assert statistics["alpha_high"] == pytest.approx(0.661851148444, abs=1e-9)


def test_available_rule_takes_the_pairwise_alpha_and_no_interval() -> None:
    statistics = analyze(table("constant_and_missing"), missing="available").statistics
    assert statistics is not None
    assert statistics["alpha"] == pytest.approx(EXPECTED["constant_and_missing"]["alpha_pairwise"], abs=1e-12)
    assert statistics["alpha_low"] is None
