"""What ``benchmarks/rank_coverage.py`` counts; small versions are beside the tests of the rankings."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks._interval_worlds import simulate
from benchmarks.rank_coverage import CORRECTIONS, FITS, calibration_slope, judge, main


@pytest.mark.parametrize("name", ["additive", "items-drawn", "mml-Rasch"])
def test_orders_are_wrong_where_the_truth_is_turned_around(name: str) -> None:
    world = simulate(12, 150, 0, slopes=False)
    right, turned = (judge(theta, name, world.responses, 0) for theta in (world.theta, -world.theta))
    assert right["coverage"] > 0.9 > 0.6 > turned["coverage"]
    assert right["slope"] > 0.5 > 0.05 > turned["slope"]
    assert right["Brier"] < 0.2 < 0.8 < turned["Brier"]
    assert right["own"] == turned["own"]
    for correction in CORRECTIONS:
        assert right[f"power, {correction}"] == turned[f"power, {correction}"] > 0.1
    assert right["wrong, none"] < 0.02
    assert turned["wrong, none"] == pytest.approx(turned["power, none"] - right["wrong, none"])
    assert (turned["wrong, holm"], right["wrong, holm"]) == (1, 0)
    assert turned["wrong, benjamini-hochberg"] == 1 - right["wrong, benjamini-hochberg"]


def test_it_prints_every_figure_of_every_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seeds", "2", "--persons", "8", "--items", "40", "--fits", "additive", "simple-average"]
    monkeypatch.setattr(sys, "argv", ["rank_coverage.py", *options])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("8 x 40")] == [
        f"8 x 40, {pool}, {name}" for pool in ("normal", "skewed") for name in ("additive", "simple-average")
    ]
    assert sum(line.startswith("  coverage") for line in lines) == 4
    assert set(FITS) > {"additive", "simple-average", "items-drawn"}


def test_the_slope_is_that_of_the_probabilities() -> None:
    p = np.repeat([0.8, 0.4], 50)
    truth = np.concatenate([np.arange(50) < 40, np.arange(50) < 20])  # .8 and .4 of them
    assert calibration_slope(p, truth) == pytest.approx(1)
    sure = 1 / (1 + (1 / p - 1) ** 2)  # logit doubled
    assert calibration_slope(sure, truth) == pytest.approx(0.5)
    assert [calibration_slope(p, p > 0.5), calibration_slope(p, p < 0.5)] == [20, -20]
