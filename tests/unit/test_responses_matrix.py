from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def test_one_and_missing() -> None:
    r = Responses.from_array([[1, 0, NAN], [NAN, 1, None]])
    assert r.successes.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert r.trials.tolist() == [[1, 1, 0], [0, 1, 0]]
    assert r.person_ids == ("person-1", "person-2")
    assert r.item_ids == ("item-1", "item-2", "item-3")
    assert (r.n_observed, r.is_binary, r.is_complete) == (3, True, False)


@pytest.mark.parametrize(
    "cells",
    [
        [[1, 0]],
        [[True, False]],
        [["1", "0"]],
        [["true", "False"]],
        [[" 1.0 ", "0e0"]],
        [[np.int8(1), -0.0]],
        [[Decimal(1), Fraction(0)]],
        np.array([[1, 0]], dtype=np.float16),
        np.array([[1, 0]], dtype=np.uint64),
        np.array([[b"1", b"0"]]),
        np.ma.array([[1, 0]], mask=False),
    ],
)
def test_every_spelling_of_a_count_gives_the_same_data(cells: Any) -> None:
    assert Responses.from_array(cells).sha256 == Responses.from_array([[1, 0]]).sha256


@pytest.mark.parametrize("cell", [None, NAN, np.nan, pd.NA, "", "  ", "NA", "NaN", "nan"])
def test_every_spelling_of_missing(cell: Any) -> None:
    r = Responses.from_array(np.array([[1, cell]], dtype=object))
    assert r.trials.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (0.25, "0.25, a fraction"),
        (-1, "-1, negative"),
        (2, "2, more than one success in one trial"),
        (float("inf"), "inf, infinite"),
        (-np.inf, "-inf, infinite"),
        (-2147483648, "-2147483648, looks like an R integer NA"),
        (-2147483648.0, "looks like an R integer NA"),
        (-(2**63), "looks like a 64-bit integer NA"),
        (2**31, "too large for a count"),
        (10**400, "too large for a count"),
        ("1" * 5000, "too large for a count"),
        ("94.2/92.3", "'94.2/92.3', not a number"),
        ("1_0", "not a number"),
        ("１", "not a number"),
        ("\x1c2", "more than one success in one trial"),
        ("None", "not a number"),
        ("<NA>", "not a number"),
        (1 + 1j, "not a number"),
        ({"a": 1}, "not a number"),
        (pd.Timestamp("2020-01-01"), "not a number"),
    ],
)
def test_refused_by_person_item_row_column_and_value(cell: Any, told: str) -> None:
    cells = np.array([[1, 0], [0, 1]], dtype=object)
    cells[1, 0] = cell
    with pytest.raises(DataError) as caught:
        Responses.from_array(cells, person_ids=["A", "B"], item_ids=["q1", "q2"])
    assert caught.value.problem.startswith("1 cell is not 0, 1 or missing: person 'B', item 'q1' (row 2, column 1): ")
    assert told in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_numeric_arrays_name_the_same_cells_as_objects(dtype: Any) -> None:
    cells = np.array([[1, 0, 3], [-1, 1, 1]], dtype=dtype)
    with pytest.raises(DataError, match=r"2 cells are not .*\(row 1, column 3\): 3.*\(row 2, column 1\): -1") as caught:
        Responses.from_array(cells)
    assert "trials=" in caught.value.remedy
    assert "coding={-1" in caught.value.remedy


def test_many_bad_cells_are_counted_and_the_first_listed() -> None:
    with pytest.raises(DataError, match=r"^3000000 cells .*\(row 1, column 5\): 7, .*; and 2999995 more\."):
        Responses.from_array(np.full((3000, 1000), 7, dtype=np.int8))


def test_a_cell_far_down_keeps_its_row() -> None:
    cells = np.zeros((3000, 1000), dtype=np.int8)
    cells[2345, 678] = 9
    with pytest.raises(DataError, match=r"\(row 2346, column 679\): 9"):
        Responses.from_array(cells)


def test_missing_as_wrong_is_noted() -> None:
    r = Responses.from_array([[1, NAN], [0, NAN]], missing="wrong")
    assert r.trials.tolist() == [[1, 1], [1, 1]]
    assert r.notes == ('2 missing cells in 2 rows count as wrong (missing="wrong").',)
    assert Responses.from_array([[1, 0]], missing="wrong").notes == ()


def test_counts_of_trials() -> None:
    r = Responses.from_array([[3, NAN], [0, 5]], trials=5)
    assert r.trials.tolist() == [[5, 0], [5, 5]]
    r = Responses.from_array([[3, NAN], [0, 300]], trials=[[4, 0], [NAN, 400]])
    assert r.trials.tolist() == [[4, 0], [0, 400]]
    assert r.trials.dtype == r.successes.dtype == np.uint16


@pytest.mark.parametrize(
    ("trials", "told"),
    [
        (2, r"\(row 1, column 1\): 3.0, more than 2 trials"),
        ([[2, 0], [1, 1]], r"Person 'person-1', item 'item-1': 3 successes in 2 trials"),
        ([[3, 0], [0, 0]], r"item 'item-1': 1 successes in 0 trials"),
        ([[3, 1], [1, 1]], r"Trials without a number of successes in 1 cell: person 'person-1', item 'item-2'"),
        ([[3, 0]], r"shape \(2, 2\) and trials \(1, 2\)"),
        ([[3, 0], [0.5, 1]], r"trials: 1 cell is not counts or missing: .*\(row 2, column 1\): 0.5"),
    ],
)
def test_trials_that_do_not_fit(trials: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Responses.from_array([[3, NAN], [1, 0]], trials=trials)


@pytest.mark.parametrize("trials", [0, -1, 1.5, True])
def test_a_number_of_trials_that_is_none(trials: Any) -> None:
    with pytest.raises(SettingsError, match="trials="):
        Responses.from_array([[1, 0]], trials=trials)


def test_wrong_needs_the_number_of_trials() -> None:
    with pytest.raises(SettingsError, match="cannot tell how many trials"):
        Responses.from_array([[1, NAN]], trials=[[1, 0]], missing="wrong")
    r = Responses.from_array([[1, NAN]], trials=4, missing="wrong")
    assert r.trials.tolist() == [[4, 4]]


def test_masked_cells_are_missing_whatever_is_behind_the_mask() -> None:
    r = Responses.from_array(np.ma.array([[1, -999], [0, 1]], mask=[[False, True], [False, False]]))
    assert r.trials.tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([[1, 0], [1]], "not a matrix"),
        ([1, 0], "1 dimensions"),
        (np.zeros((2, 2, 2)), "Sum over the trials"),
        (np.zeros((0, 3)), "0 persons and 3 items"),
        (np.zeros((3, 0)), "3 persons and 0 items"),
        (pd.DataFrame([[1]]), "from_wide"),
    ],
)
def test_no_matrix(cells: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Responses.from_array(cells)


def test_ragged_trials() -> None:
    with pytest.raises(DataError, match="trials is not a matrix"):
        Responses.from_array([[1, 0]], trials=[[1, [1, 2]]])


def test_sparse_matrices_cannot_tell_wrong_from_missing() -> None:
    from scipy.sparse import csr_array

    with pytest.raises(DataError, match="sparse"):
        Responses.from_array(csr_array(np.eye(2)))


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["a", "a"], "'a' occurs more than once: at position 1 and position 2"),
        ([1, "1"], "'1' occurs more than once"),
        (["a"], "1 person ids for 2"),
        ("ab", "2 person ids"),
        (["a", " "], "position 2 has no id"),
        (["a", None], "position 2 has no id"),
        ([NAN, "b"], "position 1 has no id"),
        ([pd.NA, "b"], "position 1 has no id"),
    ],
)
def test_ids(ids: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Responses.from_array([[1, 0], [0, 1]], person_ids=ids)


def test_ids_of_any_kind_stay_in_order() -> None:
    long = "x" * 10_000
    r = Responses.from_array([[1], [0], [1], [0]], person_ids=[7, 1.5, "b 'c' \"d\"\n日本", long])
    assert r.person_ids == ("7", "1.5", "b 'c' \"d\"\n日本", long)


def test_coding_of_other_values() -> None:
    r = Responses.from_array([["C", "I", "E"]], coding={"C": 1, "I": 0, "E": None})
    assert (r.successes.tolist(), r.trials.tolist()) == ([[1, 0, 0]], [[1, 1, 0]])
    assert Responses.from_array([[1, 9]], coding={9: None}).trials.tolist() == [[1, 0]]
    with pytest.raises(SettingsError, match="coding maps"):
        Responses.from_array([["C"]], coding={"C": 2})


def test_unknown_missing() -> None:
    with pytest.raises(SettingsError, match="missing="):
        Responses.from_array([[1]], missing="zero")  # type: ignore[arg-type]


def test_read_only_and_not_tied_to_the_callers_array() -> None:
    cells = np.array([[1, 0], [0, 1]], dtype=np.uint8)
    ones = np.ones_like(cells)
    for r in (Responses.from_array(cells), Responses(cells, ones, ("a", "b"), ("x", "y"))):
        before = r.sha256
        cells[0, 0] = 0
        assert r.sha256 == before
        cells[0, 0] = 1
        for made in (r, pickle.loads(pickle.dumps(r)), copy.copy(r), r.select(items=np.array([1]))):
            with pytest.raises(ValueError, match="read-only"):
                made.successes[0, 0] = 1
            with pytest.raises(ValueError, match="read-only"):
                made.trials[0, 0] = 0


def test_digest_depends_on_all_that_matters_and_on_nothing_else() -> None:
    r = Responses.from_array([[1, 0], [NAN, 1]], name="one", source="here")
    same = Responses.from_array(np.array([[1, 0], [np.nan, 1]]), name="two")
    assert r.sha256 == same.sha256 == pickle.loads(pickle.dumps(r)).sha256
    others = [
        Responses.from_array([[1, 0], [0, 1]]),
        Responses.from_array([[1, 0], [NAN, 0]]),
        Responses.from_array([[1, 0], [NAN, 1]], person_ids=["a", "b"]),
        Responses.from_array([[1, 0], [NAN, 1]], item_ids=["a", "b"]),
        Responses.from_array([[1, 0], [NAN, 1]], trials=300),
        r.select(np.array([1, 0])),
    ]
    assert len({r.sha256, *(o.sha256 for o in others)}) == 7
    a = Responses.from_array([[1, 0]], item_ids=["a\0b", "c"]).sha256
    assert a != Responses.from_array([[1, 0]], item_ids=["a", "b\0c"]).sha256


def test_blocks_do_not_change_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.random.default_rng(1).integers(0, 2, (7, 5))
    whole = Responses.from_array(cells)
    digest = whole.sha256
    monkeypatch.setattr("psychoeval.responses.arrays._BLOCK_CELLS", 10)
    small = Responses.from_array(cells)
    np.testing.assert_array_equal(small.successes, whole.successes)
    assert small.sha256 == digest


def test_complete_data_hold_no_second_matrix() -> None:
    r = Responses.from_array(np.ones((50, 40), dtype=np.int8))
    assert r.trials.strides == (0, 0)
    assert r.trials.shape == (50, 40)


def test_covariates_follow_the_ids() -> None:
    persons = pd.DataFrame({"person": ["B", "A"], "org": ["y", "x"]})
    items = pd.DataFrame({"topic": ["m", "n"]}, index=["q2", "q1"])
    r = Responses.from_array(
        [[1, 0], [0, 1]], person_ids=["A", "B"], item_ids=["q1", "q2"], persons=persons, items=items
    )
    assert r.persons is not None
    assert r.items is not None
    assert r.persons.to_dict("list") == {"org": ["x", "y"]}
    assert r.items.to_dict("list") == {"topic": ["n", "m"]}
    part = r.select(np.array([1]), np.array([1]))
    assert part.persons is not None
    assert part.items is not None
    assert (part.persons["org"].tolist(), part.items["topic"].tolist()) == (["y"], ["m"])


@pytest.mark.parametrize(
    ("persons", "told"),
    [
        (pd.DataFrame({"org": [1, 2]}, index=["A", "C"]), "no row for 'B' and has rows for 'C'"),
        (pd.DataFrame({"org": [1, 2, 3]}, index=["A", "B", "C"]), "has rows for 'C', which the responses lack"),
        (pd.DataFrame({"org": [1]}, index=["A"]), "no row for 'B'"),
        (pd.DataFrame({"org": [1, 2]}, index=["A", "A"]), "'A' occurs more than once"),
        (pd.DataFrame({"model": ["A", "B"], "system": ["A", "B"]}), "could each hold the ids"),
        ([1, 2], "covariates of persons are a list"),
    ],
)
def test_covariates_that_do_not_fit(persons: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Responses.from_array([[1, 0], [0, 1]], person_ids=["A", "B"], persons=persons)


def test_covariates_by_position_only_where_there_are_no_ids() -> None:
    table = pd.DataFrame({"org": ["x", "y"]})
    r = Responses.from_array([[1], [0]], persons=table)
    assert r.persons is not None
    assert r.persons["org"].tolist() == ["x", "y"]
    with pytest.raises(DataError, match="no row for"):
        Responses.from_array([[1], [0]], person_ids=["A", "B"], persons=table)
    with pytest.raises(DataError, match="3 rows for 2"):
        Responses.from_array([[1], [0]], persons=pd.DataFrame({"org": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("ids", "told"), [(["A", "B\udc80"], r"'B\udc80' at position 2"), (["\ud83d", "B"], "position 1")]
)
def test_ids_with_half_a_character_are_refused_by_position(ids: list[str], told: str) -> None:
    good = Responses.from_array([[1, 0], [0, 1]])
    with pytest.raises(DataError, match=r"The person id .* holds half a character") as caught:
        Responses.from_array([[1, 0], [0, 1]], person_ids=ids)
    assert told in str(caught.value)
    str(caught.value).encode()
    with pytest.raises(DataError, match=r"The item id .* holds half a character") as caught:
        Responses.from_array([[1, 0], [0, 1]], item_ids=ids)
    assert told in str(caught.value)
    with pytest.raises(DataError, match=r"The person id .* holds half a character"):
        Responses(good.successes, good.trials, tuple(ids), good.item_ids)


def test_whole_characters_beyond_the_first_plane_are_taken() -> None:
    assert Responses.from_array([[1, 0]], person_ids=["日本語 \U0001f680"]).person_ids == ("日本語 🚀",)


def test_half_a_character_in_a_table_is_refused_by_row() -> None:
    odd = pd.Series(["A", "A", "B\udc80"], dtype=object)
    wide = pd.DataFrame({"q1": [1, 0, 1]}).assign(person=odd)
    with pytest.raises(DataError, match=r"The person id 'A' occurs more than once"):
        Responses.from_wide(wide)
    wide["person"] = pd.Series(["C", "A", "B\udc80"], dtype=object)
    with pytest.raises(DataError, match=r"The person id .* at row 3 holds half a character"):
        Responses.from_wide(wide)
    long = pd.DataFrame({"item": ["q1", "q2", "q1"], "score": [1, 0, 1]}).assign(person=odd)
    with pytest.raises(DataError, match=r"The person id .* at row 3 holds half a character"):
        Responses.from_long(long)


def test_half_a_character_in_columns_is_refused_whatever_pandas_keeps() -> None:
    with pytest.raises(DataError, match=r"B.udc80' .*holds half a character"):
        Responses.from_wide({"person": ["A", "B\udc80"], "q1": [1, 0]})
