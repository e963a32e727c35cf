"""Result lists of SWE-bench and Multi-SWE-bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log

REPORT: dict[str, Any] = {
    "total_instances": 6, "submitted_instances": 5, "resolved_instances": 1, "unresolved_instances": 1,
    "completed_ids": ["a", "b"], "incomplete_ids": ["f"], "empty_patch_ids": ["c"],
    "submitted_ids": ["a", "b", "c", "d", "e"], "resolved_ids": ["a"], "unresolved_ids": ["b"], "error_ids": ["d"],
    "schema_version": 2,
}  # fmt: skip


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def ends(path: Path, **options: Any) -> dict[str, tuple[str, float | None]]:
    rows = records(read_log(path, **options))
    return {r.item: (r.outcome, None if r.score != r.score else r.score) for r in rows}


def test_failed_errored_and_never_attempted_are_three_things(tmp_path: Path) -> None:
    path = write(tmp_path / "org__model.run1.json", REPORT)
    assert ends(path) == {
        "a": ("scored", 1.0), "b": ("scored", 0.0), "c": ("scored", 0.0), "d": ("errored", None),
        "e": ("unscored", None), "f": ("not attempted", None),
    }  # fmt: skip
    unlisted = "in no list of what became of it"
    assert read_log(path).levels("error") == {"": 3, "empty patch": 1, "error_ids": 1, unlisted: 1}
    missing, wrong = read(path), read(path, errors="wrong")
    assert isinstance(missing, Responses)
    assert isinstance(wrong, Responses)
    assert (missing.successes.sum(), missing.trials.sum(), wrong.trials.sum()) == (1, 3, 6)


def test_the_system_is_named_by_its_file_or_folder_or_by_the_user(tmp_path: Path) -> None:
    for name in (
        "m1.results.json",
        "m2_results.json",
        "20250101_m3/results/results.json",
        "m4/report.json",
        "m5.run.json",
    ):
        write(tmp_path / name, REPORT)
    log = read_log(tmp_path)
    assert set(log.levels("person")) == {"m1", "m2", "20250101_m3", "m4", "m5.run"}
    assert [n for n in log.notes if "names of their files" in n] == list(log.notes)
    assert set(read_log(tmp_path / "m1.results.json", person="mine").levels("person")) == {"mine"}


def test_multi_swe_bench_says_resolved(tmp_path: Path) -> None:
    content = {k: v for k, v in REPORT.items() if k != "resolved_ids"} | {"resolved": ["a"], "unstopped_containers": []}
    assert ends(write(tmp_path / "m.results.json", content))["a"] == ("scored", 1.0)


def test_a_list_of_what_was_resolved_does_not_say_what_failed(tmp_path: Path) -> None:
    submission = {"no_generation": ["n"], "no_logs": ["l"], "resolved": ["a"]}
    path = write(tmp_path / "sys" / "results" / "results.json", submission)
    with pytest.raises(DataError, match="not what was tried: the failures are not known") as refused:
        read(path)
    assert "all_preds.jsonl" in refused.value.remedy
    predictions = [{"model_name_or_path": "sys", "instance_id": i, "model_patch": "+"} for i in ("a", "b", "l", "n")]
    (tmp_path / "sys" / "all_preds.jsonl").write_text("".join(json.dumps(p) + "\n" for p in predictions))
    expected = {"a": ("scored", 1.0), "b": ("scored", 0.0), "l": ("errored", None), "n": ("not attempted", None)}
    assert ends(path) == expected
    assert ends(tmp_path) == expected
    (tmp_path / "sys" / "all_preds.jsonl").unlink()
    assert ends(write(path, submission | {"submitted_ids": ["a", "b", "l", "n"]})) == expected


def test_the_oldest_lists_name_what_was_generated(tmp_path: Path) -> None:
    content = {
        "generated": ["a", "b", "c", "d"], "with_logs": ["a", "b", "c"], "applied": ["a", "b"], "no_apply": ["c"],
        "no_logs": ["d"], "test_timeout": ["b"], "test_errored": ["b"], "resolved": ["a"], "no_generation": ["e"],
    }  # fmt: skip
    assert ends(write(tmp_path / "m.json", content)) == {
        "a": ("scored", 1.0), "b": ("errored", None), "c": ("scored", 0.0), "d": ("errored", None),
        "e": ("not attempted", None),
    }  # fmt: skip


@pytest.mark.parametrize(("one", "two"), [("resolved_ids", "error_ids"), ("unresolved_ids", "incomplete_ids")])
def test_contradictions_are_refused(tmp_path: Path, one: str, two: str) -> None:
    path = write(tmp_path / "m.json", REPORT | {one: [*REPORT[one], "x"], two: ["x"]})
    with pytest.raises(DataError, match=rf"'x' are in ({one} and in {two}|{two} and in {one})"):
        read(path)


def test_repeats_and_counts_that_differ_are_told(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "m.json", REPORT | {"resolved_ids": ["a", "a"], "resolved_instances": 2}))
    assert [(d.reason, d.n) for d in log.dropped] == [("instances named twice in one list", 1)]
    assert any("says that 2 instances are resolved, and lists 1" in n for n in log.notes)
    assert log.n_read == 7


def test_leaderboards_of_the_site(tmp_path: Path) -> None:
    details = {"a": {"resolved": True, "cost": 0.5, "api_calls": 3}, "b": {"resolved": False, "cost": None}}
    results = [{"name": "m1", "date": "2025-01-01", "tags": ["Org: Lab"], "per_instance_details": details},
               {"name": "m2", "resolved": 40.0}]  # fmt: skip
    path = write(tmp_path / "leaderboards.json", {"leaderboards": [{"name": "bash", "results": results}]})
    log = read_log(path)
    first = next(records(log))
    assert (first.person, first.family, first.filter, first.cost, first.score) == ("m1", "Lab", "bash", 0.5, 1.0)
    assert any("1 of 2 results are only means" in n for n in log.notes)
    only = write(tmp_path / "means.json", {"leaderboards": [{"name": "bash", "results": results[1:]}]})
    with pytest.raises(DataError, match="holds only means"):
        read(only)


@pytest.mark.parametrize(
    ("broken", "named"),
    [({"resolved_ids": "a"}, "resolved_ids is 'a', not a list"), ({"error_ids": [3]}, "an id in error_ids is '3'")],
)
def test_a_broken_list_is_named(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    with pytest.raises(DataError, match=rf"m\.json: {named}"):
        read(write(tmp_path / "m.json", REPORT | broken))


SUBMISSION = {"no_generation": ["n"], "no_logs": ["l"], "resolved": ["a"]}


@pytest.mark.parametrize(
    "text",
    [
        "a\nb\nl\n\nn\nz\n",
        "instance_id\na\nb\nl\nn\nz\n",
        '["a", "b", "l", "n", "z"]',
        '[{"instance_id": "a"}, {"instance_id": "b"}, "l", "n", "z"]',
        '{"instance_id": "a", "repo": "r"}\n{"item_id": "b"}\n{"task_id": "l"}\n{"id": "n"}\n{"id": "z"}\n',
    ],
)
def test_items_in_no_list_failed_where_nothing_says_what_was_tried(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "m.json", SUBMISSION)
    (tmp_path / "items.txt").write_text(text)
    for items in (tmp_path / "items.txt", str(tmp_path / "items.txt"), ["a", "b", "l", "n", "z"]):
        assert ends(path, items=items) == {
            "a": ("scored", 1.0), "b": ("scored", 0.0), "l": ("errored", None), "n": ("not attempted", None),
            "z": ("scored", 0.0),
        }  # fmt: skip
    log = read_log(path, items=["a", "b", "l", "n", "z"])
    assert any("does not say what was tried: of items= those in no list count as wrong" in n for n in log.notes)


def test_items_in_no_list_were_not_attempted_where_the_report_says_what_was(tmp_path: Path) -> None:
    report = write(tmp_path / "m.json", REPORT)
    items = ["z", *"abcdef"]
    assert ends(report, items=items) == ends(report) | {"z": ("not attempted", None)}
    missing, wrong = read(report, items=items), read(report, items=items, errors="wrong")
    assert isinstance(missing, Responses)
    assert isinstance(wrong, Responses)
    assert (missing.trials.sum(), wrong.trials.sum(), wrong.successes.sum()) == (3, 7, 1)
    submission = write(tmp_path / "sys" / "results.json", SUBMISSION)
    predictions = [{"instance_id": i, "model_patch": "+"} for i in ("a", "b", "l", "n")]
    (tmp_path / "sys" / "all_preds.jsonl").write_text("".join(json.dumps(p) + "\n" for p in predictions))
    assert ends(submission, items=["a", "b", "l", "n", "z"])["z"] == ("not attempted", None)


def test_systems_of_one_benchmark_get_the_same_items(tmp_path: Path) -> None:
    write(tmp_path / "m1.json", {"resolved": ["a"], "no_logs": []})
    write(tmp_path / "m2.json", {"resolved": ["b", "c"], "no_logs": []})
    found = read(tmp_path, items=["a", "b", "c", "d"])
    assert isinstance(found, Responses)
    assert (found.item_ids, found.successes.tolist()) == (("a", "b", "c", "d"), [[1, 0, 0, 0], [0, 1, 1, 0]])
    assert found.trials.min() == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\nb\n", r"m\.json: 'l', 'n' are not among the 2 items"),
        ("", "items.txt holds no id"),
        ("a,1\n", r"items\.txt, line 1 is 'a,1': more than one cell"),
        ("a\n\xff\n", r"items\.txt, line 2 is no text in UTF-8"),
        ("[3]", r"items\.txt, entry 1 is 3, not the id of an item"),
        ('{"name": "a"}\n', r"items\.txt, line 1 is .*, not the id of an item"),
    ],
)
def test_items_that_are_none_are_named(tmp_path: Path, text: str, named: str) -> None:
    path = write(tmp_path / "m.json", SUBMISSION)
    (tmp_path / "items.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=named):
        read(path, items=tmp_path / "items.txt")


def test_items_mean_nothing_to_other_formats_and_tables(tmp_path: Path) -> None:
    other = tmp_path / "m.jsonl"
    other.write_text('{"subject_id": "s", "responses": {"a": 1}}\n')
    table = tmp_path / "t.csv"
    table.write_text("system,a\nm,1\n")
    with pytest.raises(SettingsError, match="no list of results is among the files"):
        read(other, items=["a"])
    with pytest.raises(SettingsError, match="is a table: items would mean nothing"):
        read(table, items=["a"])
    with pytest.raises(DataError, match=r"items=.*none\.txt is no file"):
        read(write(tmp_path / "m.json", SUBMISSION), items=tmp_path / "none.txt")
    with pytest.raises(SettingsError, match="items holds 3, no id"):
        read(write(tmp_path / "m.json", SUBMISSION), items=["a", 3])  # type: ignore[list-item]
