"""What is handed in place of a fit, of responses or of a number is named, with what to give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.diagnostics import (
    diagnose,
    dimensionality,
    item_fit,
    local_dependence,
    model_fit,
    person_fit,
    posterior_predictive,
)
from psychoeval.errors import DataError, SettingsError
from psychoeval.trust import check_by_refitting, rank, rank_over_items

RESPONSES = pe.Responses.from_array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1]])


@pytest.fixture(scope="module")
def fit() -> pe.FitResult:
    return pe.fit(RESPONSES, "map", model="Rasch")


@pytest.mark.parametrize(
    "judge",
    [
        diagnose,
        dimensionality,
        item_fit,
        local_dependence,
        model_fit,
        person_fit,
        posterior_predictive,
        check_by_refitting,
    ],
)
def test_fits_and_responses_are_told_apart(judge: Any, fit: pe.FitResult) -> None:
    order = (RESPONSES, fit) if judge is check_by_refitting else (fit, RESPONSES)
    for wrong in (order[::-1], (None, order[1]), (order[0], None), (np.eye(4), order[1]), (order[0], np.eye(4))):
        with pytest.raises(DataError, match=r"(fit|responses) is a (FitResult|Responses|NoneType|ndarray)\."):
            judge(*wrong)


def test_what_is_ranked_must_be_a_fit_or_responses(fit: pe.FitResult) -> None:
    for wrong in (None, RESPONSES):
        with pytest.raises(DataError, match="fit is a"):
            rank(wrong)  # type: ignore[arg-type]
    for other in (None, fit, np.eye(4)):
        with pytest.raises(DataError, match="responses is a"):
            rank_over_items(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", ["x", None, True, float("nan"), 95])
def test_a_level_is_a_number_between_0_and_1(level: Any, fit: pe.FitResult) -> None:
    for judge in (
        lambda: rank(fit, level=level),
        lambda: rank_over_items(RESPONSES, level=level),
        lambda: local_dependence(fit, RESPONSES, level=level),
        lambda: model_fit(fit, RESPONSES, level=level),
        lambda: check_by_refitting(RESPONSES, fit, level=level),
    ):
        with pytest.raises(SettingsError, match="level is"):
            judge()


def test_other_settings_are_named(fit: pe.FitResult) -> None:
    wrong: dict[str, Any] = {"estimator": 3, "truth": 3}
    for name, value in wrong.items():
        with pytest.raises(DataError, match=f"{name} is a int"):
            check_by_refitting(RESPONSES, fit, **{name: value})
    for name in ("min_expected", "parameters_per_item", "replications", "seed"):
        with pytest.raises(SettingsError, match=f"{name} is 'x'"):
            item_fit(fit, RESPONSES, **{name: "x"})  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="seed is 'x'"):
        rank_over_items(RESPONSES, seed="x")  # type: ignore[arg-type]


def test_a_ranking_says_what_its_fit_warns_of() -> None:
    nan = float("nan")
    apart = pe.Responses.from_array([[1, 0, nan, nan], [0, 1, nan, nan], [nan, nan, 1, 0], [nan, nan, 1, 1]])
    notes = rank(pe.fit(apart, "map", model="Rasch"), component=1).notes
    assert any("do not compare persons across groups" in note for note in notes)


def test_results_are_short_where_they_are_shown(fit: pe.FitResult) -> None:
    """A notebook shows the last value of a cell: what it is and where its tables are, not its arrays."""
    shown = {
        rank(fit): "<Ranking of 4;",
        item_fit(fit, RESPONSES): "<ItemFit of 4 items;",
        person_fit(fit, RESPONSES): "<PersonFit of 4 persons;",
        local_dependence(fit, RESPONSES): "<LocalDependence of 6 pairs of 4 items, map Rasch [published];",
        check_by_refitting(RESPONSES, fit, replications=2): "<Refitting of map Rasch [published] to 2 of 2 data sets",
    }
    for result, start in shown.items():
        assert repr(result).startswith(start)
        assert len(repr(result)) < 150


def test_what_is_no_plain_file_is_not_said_to_be_missing() -> None:
    with pytest.raises(DataError, match="is no plain file"):
        pe.read_table("/dev/null")
