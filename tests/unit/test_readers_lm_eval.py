"""Logs of the LM Evaluation Harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read, read_log

DATE = "2026-01-02T03-04-05.678"


def line(doc_id: int, score: Any, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": doc_id, "doc": {"q": f"{doc_id}+{doc_id}"}, "target": "x", "resps": [["y"]], "filtered_resps": ["y"],
        "filter": "none", "metrics": ["exact_match"], "doc_hash": f"hash{doc_id}", "exact_match": score,
    } | more  # fmt: skip


def write(folder: Path, rows: list[dict[str, Any]], model: str | None = "org/model", task: str = "sums") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{DATE}.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    if model is not None:
        results = {"results": {}, "configs": {}, "model_name": model, "higher_is_better": {task: {"exact_match": True}}}
        (folder / f"results_{DATE}.json").write_text(json.dumps(results))
    return path


def test_the_system_is_named_by_the_results_beside_the_samples(tmp_path: Path) -> None:
    for model, scores in (("org/a", (1.0, 0.0)), ("org/b", (True, True))):
        write(tmp_path / model.replace("/", "__"), [line(k, s) for k, s in enumerate(scores)], model)
    found = read(tmp_path)
    assert isinstance(found, Responses)
    assert found.person_ids == ("org/a", "org/b")
    assert found.successes.tolist() == [[1, 0], [1, 1]]
    log = read_log(tmp_path)
    assert set(log.formats.values()) == {"lm-eval"}
    assert log.levels("benchmark") == {"sums": 4}


def test_samples_alone_ask_for_the_system(tmp_path: Path) -> None:
    path = write(tmp_path, [line(0, 1)], model=None)
    with pytest.raises(DataError, match=rf"do not name their model, and no results_{DATE}") as refused:
        read(path)
    assert "person=" in refused.value.remedy
    assert read(path, person="mine").person_ids == ("mine",)


def test_two_filters_are_asked_about(tmp_path: Path) -> None:
    path = write(tmp_path, [line(0, 1, filter="strict"), line(0, 0, filter="loose")])
    with pytest.raises(DataError, match="2 filters: 'strict'"):
        read(path)
    loose = read(path, filter="loose")
    assert isinstance(loose, Responses)
    assert loose.successes.tolist() == [[0]]


def test_documents_are_joined_by_hash_and_not_by_position(tmp_path: Path) -> None:
    write(tmp_path / "a", [line(0, 1), line(1, 0)], "a")
    write(tmp_path / "b", [line(0, 0, doc_hash="hash1"), line(1, 1, doc_hash="hash0")], "b")
    found = read(tmp_path)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0], [1, 0]]


def test_older_rows_have_no_filter_and_no_list_of_metrics(tmp_path: Path) -> None:
    old = {"doc_id": 0, "doc": {"q": 1}, "target": "x", "arguments": [["p", "x"]], "resps": [["y"]], "acc": 1.0}
    log = read_log(write(tmp_path, [old]))
    assert log.levels("metric") == {"acc": 1}
    assert log.levels("filter") == {"none": 1}


def test_a_metric_over_the_whole_task_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, [line(0, 1), line(1, [["ref"], ["pred"]])])
    with pytest.raises(DataError, match=r"line 2: exact_match is .*not one number"):
        read(path)
    one = read(write(tmp_path, [line(0, [1.0])]))
    assert isinstance(one, Responses)
    assert one.successes.tolist() == [[1]]


def test_lower_is_better_comes_from_the_results(tmp_path: Path) -> None:
    path = write(tmp_path, [line(0, 0.0), line(1, 1.0)])
    results = json.loads((tmp_path / f"results_{DATE}.json").read_text())
    results["higher_is_better"]["sums"]["exact_match"] = False
    (tmp_path / f"results_{DATE}.json").write_text(json.dumps(results))
    found = read(path)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0]]
    assert any("Lower is better" in n for n in found.notes)


def test_results_alone_hold_no_responses(tmp_path: Path) -> None:
    write(tmp_path, [line(0, 1)])
    with pytest.raises(DataError, match="is of lm-eval results: it holds no responses"):
        read(tmp_path / f"results_{DATE}.json")


def test_a_line_that_was_cut_off_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, [line(0, 1), line(1, 0)])
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError, match="line 2 is no JSON"):
        read(path)


@pytest.mark.parametrize("said", [[1], {"sums": None}, {"sums": [1]}, "yes"])
def test_odd_words_on_what_is_better_say_nothing(tmp_path: Path, said: Any) -> None:
    path = write(tmp_path, [line(0, 1.0)])
    results = json.loads((tmp_path / f"results_{DATE}.json").read_text())
    (tmp_path / f"results_{DATE}.json").write_text(json.dumps(results | {"higher_is_better": said}))
    found = read(path)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1]]


def test_a_metric_that_is_no_name_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: a metric is"):
        read(write(tmp_path, [line(0, 1, metrics=[[1]])]))


def test_repeats_of_a_document_are_judged_together(tmp_path: Path) -> None:
    found = read(write(tmp_path, [line(0, 1, resps=[["x", "y", "x"]]), line(1, 0, resps=[["y"], ["y"], ["x"]])]))
    assert isinstance(found, Responses)
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1, 0]], [[1, 1]])
