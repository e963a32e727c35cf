"""Every setting of every estimator against values that no setting takes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from psychoeval.errors import SettingsError
from psychoeval.estimators.native.map import MAP
from psychoeval.registry import REGISTRY, make_estimator

#: Arrays cannot be compared with words, and whole numbers may be too large for a double.
NO_SETTINGS = (np.array([1, 2]), object(), {1}, b"x", 1j, -(10**400), -1, float("nan"), (lambda: None), Ellipsis)
TOO_LARGE = {
    "timeout": 10**400, "tolerance": 10**400, "quadrature_limit": 10**400, "ability_sd": 10**400,
    "chains": 2**63, "warmup": 2**31, "samples": 2**31, "max_treedepth": 2**31,
}  # fmt: skip
FIELDS = [
    (name, field.name)
    for name in REGISTRY
    for field in dataclasses.fields(type(make_estimator(name)))  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("estimator", "name"), FIELDS)
def test_what_no_setting_takes_is_refused_in_words(estimator: str, name: str) -> None:
    for value in NO_SETTINGS:
        with pytest.raises(SettingsError) as caught:
            make_estimator(estimator, **{name: value})
        assert caught.value.remedy


@pytest.mark.parametrize(("estimator", "name"), [f for f in FIELDS if f[1] in TOO_LARGE])
def test_numbers_too_large_for_an_engine_are_refused(estimator: str, name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        make_estimator(estimator, **{name: TOO_LARGE[name]})


@pytest.mark.parametrize("sd", [1e-300, 1e300])
def test_squares_of_the_abilities_sd_are_numbers(sd: float) -> None:
    with pytest.raises(SettingsError, match="ability_sd"):
        MAP(ability_sd=sd)


@pytest.mark.parametrize("value", [None, "x", [0.9], np.array([0.9, 0.95]), 0.0, 1.0, True])
def test_levels_of_ctt_are_numbers_between_0_and_1(value: object) -> None:
    with pytest.raises(SettingsError, match="level is"):
        make_estimator("ctt", level=value)
