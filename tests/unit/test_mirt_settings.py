from __future__ import annotations

from typing import Any

import pytest

from psychoeval.errors import SettingsError
from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM


@pytest.mark.parametrize(
    "settings",
    [
        {"tolerance": 0.0},
        {"tolerance": float("inf")},
        {"max_iterations": 0},
        {"max_iterations": 1.5},
        {"quadrature_points": 2},
        {"quadrature_limit": -6.0},
        {"standard_errors": "mhrm"},
        {"standard_errors": "SEM"},
        {"ability_method": "EAPsum"},
        {"seed": -1},
        {"seed": 2**31},
        {"seed": True},
        {"timeout": 0.0},
        {"timeout": True},
        {"timeout": "5"},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"bridge": "pipe"},
        {"bridge": "rpy2", "timeout": 5.0},
        {"engine_options": {"itemtype": "graded"}},
        {"engine_options": {"technical": {"NCYCLES": 5}}},
        {"engine_options": {"technical": 3}},
        {"engine_options": [1]},
    ],
)
def test_what_mirt_cannot_take_is_refused_before_anything_runs(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        MirtEM(**settings)


def test_a_refused_choice_lists_the_good_ones() -> None:
    with pytest.raises(SettingsError, match="mhrm, fmhrm, none"):
        MirtMHRM(standard_errors="oakes")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="max_iterations"):
        MirtEM(engine_options={"technical": {"NCYCLES": 5}})


def test_describe_without_data_shows_the_settings() -> None:
    assert "tolerance=0.0001" in MirtEM().describe()
