from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import from_long, from_wide

NAN = float("nan")
PEOPLE = pd.DataFrame({"system": ["A", "B"], "q1": [1, 0], "q2": [NAN, 1.0]})


class Foreign:
    """A data frame of another library."""

    def to_pandas(self) -> pd.DataFrame:
        return PEOPLE


@pytest.mark.parametrize(
    "table",
    [
        PEOPLE,
        PEOPLE.set_index("system"),
        PEOPLE.convert_dtypes(),
        PEOPLE.astype({"system": "category"}),
        PEOPLE.to_dict("list"),
        PEOPLE.to_dict("records"),
        PEOPLE[["q1", "system", "q2"]],
        Foreign(),
    ],
)
def test_wide_tables_of_all_kinds(table: Any) -> None:
    r = from_wide(table)
    assert (r.person_ids, r.item_ids, r.person_label) == (("A", "B"), ("q1", "q2"), "system")
    assert (r.successes.tolist(), r.trials.tolist()) == ([[1, 0], [0, 1]], [[1, 0], [1, 1]])


def test_columns_of_different_types_side_by_side() -> None:
    table = pd.DataFrame(
        {
            "q1": pd.array([True, None], dtype="boolean"),
            "q2": pd.array([1, None], dtype="Int64"),
            "q3": ["1", ""],
            "q4": [True, False],
            "q5": np.array([1, 0], dtype=np.uint8),
            "q6": [1.0, NAN],
        }
    )
    r = from_wide(table)
    assert r.successes.tolist() == [[1] * 6, [0] * 6]
    assert r.trials.tolist() == [[1] * 6, [0, 0, 0, 1, 1, 0]]
    assert r.person_ids == ("person-1", "person-2")


def test_which_column_holds_the_persons() -> None:
    assert from_wide({"who": ["x", "y"], "q1": [1, 0]}).person_ids == ("x", "y")
    assert from_wide({"Student ID": [17, 4], "q1": [1, 0]}).person_ids == ("17", "4")
    assert from_wide({"id": [0, 1], "q1": [1, 0]}).person_ids == ("0", "1")
    assert from_wide({"q1": [1, 0], "pid": [8, 9]}, person="pid").person_ids == ("8", "9")
    assert from_wide(pd.DataFrame({"q1": [1, 0]}, index=["x", "y"])).person_ids == ("x", "y")
    filtered = pd.DataFrame({"q1": [1, 0, 1]})[[True, False, True]]
    assert from_wide(filtered).person_ids == ("person-1", "person-2")


@pytest.mark.parametrize(
    ("table", "options", "told"),
    [
        ({"model": ["A"], "agent": ["x"], "q1": [1]}, {}, "'model', 'agent' could each be the person"),
        ({"q1": [1]}, {"person": "who"}, "no column called 'who'"),
        (pd.DataFrame([["A", 1, 0]], columns=["system", "q", "q"]), {}, "'q' occurs more than once: columns 2 and 3"),
        ({"system": ["A", "A"], "q1": [1, 0]}, {}, "'A' occurs more than once: at row 1 and row 2"),
        ({"system": ["A", None], "q1": [1, 0]}, {}, "system at row 2 has no id"),
        ({"system": ["A"]}, {}, "no item column"),
        (pd.DataFrame(), {}, "no rows"),
        (PEOPLE.set_index(pd.Index(["x", "y"])), {}, "has no name, and 'system' holds the ids"),
        ({"q1": [1], "q2": [1, 2]}, {}, "do not form a table"),
        (np.eye(2), {}, "The table is a ndarray"),
        ([[1, 0]], {}, "The table is a list"),
        (
            {"system": ["A"], "org": ["X"], "q1": [1]},
            {},
            r"item 'org' \(row 1, column 2\): 'X', not a number.*persons=",
        ),
        (
            {"system": ["A", "B"], "theta": [-0.26, float("-inf")]},
            {},
            r"-0\.26, negative.*leave the column out",
        ),
        ({"system": ["A"], "q1": [3]}, {}, r"item 'q1' \(row 1, column 2\): 3, more than one success"),
    ],
)
def test_wide_tables_that_are_refused(table: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        from_wide(table, **options)


def test_wide_covariates_and_trials() -> None:
    table = {"system": ["A", "B"], "org": ["x", "y"], "size": ["7", "70"], "q1": [3, 0], "q2": [NAN, 2]}
    r = Responses.from_wide(table, trials=3, persons=["org", "size"])
    assert r.trials.tolist() == [[3, 0], [3, 3]]
    assert r.persons is not None
    assert r.persons.to_dict("list") == {"org": ["x", "y"], "size": ["7", "70"]}
    trials = {"system": ["B", "A"], "q2": [2, 0], "q1": [4, 9]}
    r = from_wide(table, trials=trials, persons=["org", "size"])
    assert r.trials.tolist() == [[9, 0], [4, 2]]
    with pytest.raises(DataError, match="lacks systems 'A'"):
        from_wide(table, trials={"system": ["B", "C"], "q2": [2, 0], "q1": [4, 9]}, persons=["org", "size"])
    with pytest.raises(DataError, match="has items 'q3' too many"):
        from_wide(table, trials={**trials, "q3": [1, 1]}, persons=["org", "size"])


def test_a_text_that_rows_share_is_there_once() -> None:
    """As Parquet gives texts: pandas would make each row a copy, of 2 MB here and 4 GB together."""
    text = "x" * (1 << 21)
    frame = pd.DataFrame(
        {"system": pd.Categorical.from_codes([0] * 1_000 + [-1], pd.Index([text])), "item": range(1_001), "score": 1}
    )
    tracemalloc.start()
    with pytest.raises(DataError, match=r"no system id in 1 row of column 'system': row 1001"):
        from_long(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_empty_rows_and_columns_stay_in_place() -> None:
    r = from_wide({"system": ["A", "B", "C"], "q1": [1, NAN, 0], "q2": [NAN] * 3, "q3": [0, NAN, 1]})
    assert r.trials.tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]


def test_many_columns_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psychoeval.responses.frames._BLOCK_CELLS", 10)
    cells = np.random.default_rng(2).integers(0, 2, (4, 23))
    r = from_wide(pd.DataFrame(cells).add_prefix("q"))
    np.testing.assert_array_equal(r.successes, cells)
    cells[3, 17] = 5
    with pytest.raises(DataError, match=r"item 'q17' \(row 4, column 18\): 5"):
        from_wide(pd.DataFrame(cells).add_prefix("q"))


LONG = pd.DataFrame(
    {"model": ["B", "A", "B", "A"], "task": ["t2", "t1", "t1", "t3"], "score": [1, 0, None, 1], "tokens": [9, 8, 7, 6]}
)


@pytest.mark.parametrize("table", [LONG, LONG.set_index(["model", "task"]), LONG.convert_dtypes()])
def test_long_tables_keep_the_order_of_appearance(table: Any) -> None:
    r = Responses.from_long(table)
    assert (r.person_ids, r.item_ids, r.person_label) == (("B", "A"), ("t2", "t1", "t3"), "system")
    assert r.successes.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert r.trials.tolist() == [[1, 0, 0], [0, 1, 1]]
    assert r.notes == ("1 row without a score: left out, neither right nor wrong.", "Columns not used: 'tokens'.")


def test_long_wrong() -> None:
    r = from_long(LONG, missing="wrong")
    assert r.trials.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert r.successes.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert r.notes[0] == '1 row without a score and 2 absent pairs count as wrong (missing="wrong").'


EPOCHS = {"model": ["A"] * 4, "task": ["t", "t", "t", "u"], "score": [1, 0, 1, 1]}


def test_repeated_pairs_are_refused_or_settled_as_told() -> None:
    with pytest.raises(DataError, match=r"system 'A', item 't' \(row 1\) again in row 2") as caught:
        from_long(EPOCHS)
    assert 'duplicates="trials"' in caught.value.remedy
    counted = from_long(EPOCHS, duplicates="trials")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[2, 1]], [[3, 1]])
    assert counted.notes == ('2 repeated rows counted as further trials (duplicates="trials").',)
    assert from_long({**EPOCHS, "score": [0, 0, 1, 1]}, duplicates="first").successes.tolist() == [[0, 1]]
    last = from_long({**EPOCHS, "score": [0, 0, 1, 1]}, duplicates="last")
    assert (last.successes.tolist(), last.trials.tolist()) == ([[1, 1]], [[1, 1]])
    assert last.notes == ('2 repeated rows left out (duplicates="last").',)
    with pytest.raises(SettingsError, match="duplicates="):
        from_long(EPOCHS, duplicates="mean")  # type: ignore[arg-type]


def test_epochs_become_trials() -> None:
    r = from_long({**EPOCHS, "epoch": [1, 2, 3, 1]})
    assert (r.successes.tolist(), r.trials.tolist()) == ([[2, 1]], [[3, 1]])
    assert r.notes == ("Trials are counted from column 'epoch'.",)
    with pytest.raises(DataError, match="1 pair and trial more than once"):
        from_long({**EPOCHS, "epoch": [1, 2, 2, 1]})
    named = from_long({**EPOCHS, "seed": [1, 2, 3, 1]}, trial="seed")
    assert named.sha256 == r.sha256


def test_wrong_needs_equal_trials() -> None:
    table = {"model": ["A", "A", "B"], "task": ["t", "t", "u"], "epoch": [1, 2, 1], "score": [1, None, 0]}
    with pytest.raises(SettingsError, match="the others differ"):
        from_long(table, missing="wrong")


def test_counts_in_long_tables() -> None:
    table = {"model": ["A", "A", "B"], "task": ["t", "u", "t"], "successes": [3, 0, None], "trials": [4, 4, 0]}
    r = from_long(table)
    assert (r.successes.tolist(), r.trials.tolist()) == ([[3, 0], [0, 0]], [[4, 4], [0, 0]])
    for change, told in (
        ({"successes": [5, 0, None]}, r"more successes than trials in 1 row: system 'A', item 't' \(row 1\), trials 4"),
        ({"trials": [4, 4, 2]}, r"no number of successes in 1 row: system 'B', item 't' \(row 3\)"),
        ({"trials": [4, 4.5, 0]}, r"trials of system 'A', item 'u' \(row 2\): 4.5, a fraction"),
    ):
        with pytest.raises(DataError, match=told):
            from_long({**table, **change})


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"score": [0.5, 1, 1, 1]}, {}, r"system 'A', item 't' \(row 1\): 0.5, a fraction"),
        ({"score": ["C", "I", "C", "C"]}, {}, r"'C', not a number"),
        ({"task": ["t", None, "v", "u"]}, {}, "no item id in 1 row of column 'task': row 2"),
        ({"task": ["t", "", " ", "u"]}, {}, "no item id in 2 rows of column 'task': row 2, row 3"),
        ({"correct": [1, 0, 1, 1]}, {}, "'score', 'correct' could each be the score"),
        ({}, {"item": "question"}, "no column called 'question'"),
    ],
)
def test_long_tables_that_are_refused(change: dict[str, Any], options: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        from_long({**EPOCHS, "task": ["t", "s", "v", "u"], **change}, **options)


def test_long_columns_without_usual_names() -> None:
    table = {"who": ["x", "y"], "what": ["a", "a"], "hit": [1, 0]}
    with pytest.raises(DataError, match="no column has a usual name for person and item and score"):
        from_long(table)
    r = from_long(table, person="who", item="what", score="hit")
    assert (r.person_label, r.successes.tolist()) == ("person", [[1], [0]])
    with pytest.raises(SettingsError, match="score= was given beside"):
        from_long(table, person="who", item="what", score="hit", trials="hit")


def test_long_covariates() -> None:
    table = {"model": ["A", "B", "A"], "task": ["t", "t", "u"], "score": [1, 0, 1]}
    table |= {"org": ["x", "y", "x"], "topic": ["m", "m", "n"]}
    r = from_long(table, persons=["org"], items=["topic"])
    assert r.persons is not None
    assert r.items is not None
    assert (r.persons["org"].tolist(), r.items["topic"].tolist()) == (["x", "y"], ["m", "n"])
    for missing in (None, NAN, pd.NA, pd.NaT):
        blank = from_long({**table, "org": [missing, "y", missing]}, persons=["org"])
        assert blank.persons is not None
        assert blank.persons["org"].isna().tolist() == [True, False]
        with pytest.raises(DataError, match="system 'A' has two values of 'org'"):
            from_long({**table, "org": [missing, "y", "x"]}, persons=["org"])
    with pytest.raises(DataError, match=r"system 'A' has two values of 'org': 'x' \(row 1\) and 'z' \(row 3\)"):
        from_long({**table, "org": ["x", "y", "z"]}, persons=["org"])


def test_wide_and_long_agree() -> None:
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 2, (6, 9)).astype(float)
    cells[rng.random(cells.shape) < 0.3] = np.nan
    wide = pd.DataFrame(cells, index=[f"s{i}" for i in range(6)], columns=[f"q{j}" for j in range(9)])
    wide.index.name = "system"
    long = wide.reset_index().melt("system", var_name="item", value_name="score")
    assert from_wide(wide).sha256 == from_long(long).sha256
