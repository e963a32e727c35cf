"""Samples of Every Eval Ever with their aggregates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import Scale, records
from psychoeval.responses.readers.reading import read, read_log


def line(item: str, score: Any = 1.0, question: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0", "evaluation_id": "run/1", "model_id": "org/m", "evaluation_name": "quiz",
        "evaluation_result_id": "quiz.acc", "sample_id": item, "sample_hash": f"recipe {item}",
        "interaction_type": "single_turn", "input": {"raw": question or f"What is {item}?", "reference": ["x"]},
        "output": {"raw": ["y"]}, "answer_attribution": [], "evaluation": {"score": score, "is_correct": score == 1.0},
        "token_usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    } | more  # fmt: skip


def result(result_id: str = "quiz.acc", metric: str = "accuracy", **config: Any) -> dict[str, Any]:
    given = {"metric_id": metric, "score_type": "continuous", "min_score": 0, "max_score": 1, "lower_is_better": False}
    return {"evaluation_result_id": result_id, "evaluation_name": "quiz", "metric_config": given | config}


def write(path: Path, rows: list[dict[str, Any]], results: list[dict[str, Any]] | None = None, **more: Any) -> Path:
    samples = path.with_name(f"{path.name}_samples.jsonl")
    samples.write_text("".join(json.dumps(r) + "\n" for r in rows))
    if results is not None:
        head = {
            "schema_version": "0.3.0", "evaluation_id": "run/1", "evaluation_timestamp": "1750000000",
            "model_info": {"name": "m", "id": "org/m", "developer": "Org"}, "evaluation_results": results,
        }  # fmt: skip
        path.with_name(f"{path.name}.json").write_text(json.dumps(head | more))
    return samples


def test_the_aggregate_says_what_scores_mean(tmp_path: Path) -> None:
    write(tmp_path / "a", [line("q1"), line("q2", 0.0)], [result()])
    log = read_log(tmp_path)
    assert set(log.formats.values()) == {"every-eval-ever"}
    assert log.scales == {"accuracy": Scale(0.0, 1.0)}
    first = next(records(log))
    assert (first.person, first.benchmark, first.family, first.date) == ("org/m", "quiz", "Org", "2025-06-15")
    assert (first.tokens, first.line) == (3.0, 1)
    found = read(tmp_path)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0]]


def test_samples_are_told_by_what_was_asked_and_not_by_their_hashes(tmp_path: Path) -> None:
    other = {"model_id": "org/n"}
    write(tmp_path / "a", [line("0", 1.0, "one"), line("1", 0.0, "two")], [result()])
    moved = [line("0", 1.0, "two", sample_hash=None, **other), line("1", 0.0, "one", sample_hash="z", **other)]
    write(tmp_path / "b", moved, [result()])
    found = read(tmp_path)
    assert isinstance(found, Responses)
    assert found.successes.tolist() == [[1, 0], [0, 1]]


def test_one_row_a_metric_asks_for_the_metric(tmp_path: Path) -> None:
    rows = [line("q1"), line("q1", 0.3, evaluation_result_id="quiz.f1")]
    samples = write(tmp_path / "a", rows, [result(), result("quiz.f1", "f1")])
    with pytest.raises(DataError, match=r"2 metrics: 'accuracy' .* 'f1'"):
        read(samples)
    assert isinstance(read(samples, metric="f1"), ContinuousResponses)


def test_bounds_levels_and_direction(tmp_path: Path) -> None:
    names = ["poor", "fair", "good"]
    levels: dict[str, Any] = {"score_type": "levels", "level_names": names, "has_unknown_level": True}
    rows = [line("q1", 2), line("q2", -1), line("q3", 1)]
    found = read(write(tmp_path / "a", rows, [result(**levels)]))
    assert isinstance(found, ContinuousResponses)
    assert (found.lower, found.upper) == (0.0, 2.0)
    assert any("1 unscored" in n for n in found.notes)
    worse = result(lower_is_better=True, min_score=0, max_score=10)
    found = read(write(tmp_path / "b", [line("q1", 2.0), line("q2", 10.0)], [worse]))
    assert isinstance(found, ContinuousResponses)
    assert found.scores.tolist() == [[8.0, 0.0]]
    unbounded = result(min_score="-Infinity", max_score="Infinity")
    with pytest.raises(DataError, match="does not say between which bounds"):
        read(write(tmp_path / "c", [line("q1", 7.0)], [unbounded]))


def test_an_error_is_no_wrong_answer(tmp_path: Path) -> None:
    rows = [line("q1", 0.0, error="timeout after 60 s\ntrace"), line("q2", 0.0, error="refusal"), line("q3", 0.0)]
    log = read_log(write(tmp_path / "a", rows, [result()]))
    assert log.outcomes() == {"scored": 1, "errored": 1, "refused": 1}
    assert set(log.levels("error")) == {"timeout after 60 s", "refusal", ""}


def test_filters_of_lm_eval_are_no_benchmarks_and_epochs_of_inspect_are_trials(tmp_path: Path) -> None:
    rows = [
        line("0", 1.0, evaluation_name="quiz/strict", evaluation_result_id=None, metadata={"filter": "strict"}),
        line("0", 0.0, evaluation_name="quiz/loose", evaluation_result_id=None, metadata={"filter": "loose"}),
    ]
    samples = write(tmp_path / "a", rows)
    with pytest.raises(DataError, match="'quiz' has 2 filters"):
        read(samples)
    log = read_log(write(tmp_path / "b", [line("0", 1.0, metadata={"epoch": "1"}), line("0", metadata={"epoch": "2"})]))
    assert log.levels("trial") == {"1": 1, "2": 1}


def test_without_an_aggregate_the_result_names_the_metric(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "a", [line("q1"), line("q2", evaluation_result_id=None)]))
    assert log.levels("metric") == {"quiz.acc": 1, "score": 1}
    assert log.scales == {}
    several = [result(), result("quiz.f1", "f1")]
    named = read_log(write(tmp_path / "b", [line("q1", evaluation_result_id=None)], several))
    assert named.levels("metric") == {"score": 1}


def test_an_aggregate_of_another_run_is_refused(tmp_path: Path) -> None:
    samples = write(tmp_path / "a", [line("q1")], [result()], evaluation_id="run/2")
    with pytest.raises(DataError, match=r"line 1: evaluation_id is 'run/1', and in the aggregate beside it 'run/2'"):
        read(samples)


def test_aggregates_and_lists_of_files_hold_no_responses(tmp_path: Path) -> None:
    write(tmp_path / "a", [line("q1")], [result()])
    (tmp_path / "list.jsonl").write_text(json.dumps({"record_type": "aggregate", "object_uuid": "a"}) + "\n")
    for name in ("a.json", "list.jsonl"):
        with pytest.raises(DataError, match="is of every-eval-ever aggregates: it holds no"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("broken", "named"),
    [({"evaluation": {"score": "high"}}, "evaluation.score is 'high', not a number"), ({"model_id": None}, "model_id"),
     ({"evaluation": None}, "evaluation is nothing"), ({"evaluation": {"score": 10**400}}, "more than 308 digits")],
)  # fmt: skip
def test_a_broken_row_is_named(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    samples = write(tmp_path / "a", [line("q1"), line("q2") | broken], [result()])
    with pytest.raises(DataError, match=rf"_samples\.jsonl, line 2: .*{named}"):
        read(samples)
