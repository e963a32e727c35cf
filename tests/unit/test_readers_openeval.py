"""OpenEval: items with their responses, and the released tables."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from psychoeval.errors import DataError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.openeval_ids import (
    make_item_id,
    make_response_id,
    slug,
    split_response_id,
)
from psychoeval.responses.readers.reading import read, read_log
from psychoeval.responses.readers.sources import NoSamplesError

TIME = "20260220T224823Z"


def score(metric: str, value: Any, *judges: str) -> dict[str, Any]:
    return {"metric": {"name": metric, "models": list(judges), "extra_artifacts": []}, "value": value}


def response(item: str, model: str, *scores: dict[str, Any], trial: int = 0) -> dict[str, Any]:
    return {
        "response_id": make_response_id(item, model, trial),
        "model": {"name": model, "size": None, "model_adaptation": {"tools": []}},
        "item_adaptation": {"request_input": ["q"], "external_resources": []},
        "response_content": [{"text": "a"}],
        "scores": list(scores),
    }


def item(k: int, *responses: dict[str, Any], bench: str = "My_Bench") -> dict[str, Any]:
    return {
        "item_id": make_item_id(bench, TIME, k),
        "item_metadata": {"source": {"benchmark_name": bench, "benchmark_version": ""}},
        "item_content": {"input": [f"question {k}"], "references": []},
        "responses": list(responses),
        "schema_version": "v0.1.0",
    }


def items() -> list[dict[str, Any]]:
    one, two = (make_item_id("My_Bench", TIME, k) for k in (0, 1))
    return [
        item(0, *(response(one, m, score("em", v)) for m, v in (("GPT 4", 1), ("b", False)))),
        item(1, response(two, "GPT 4", score("em", 0.0)), response(two, "b", score("em", True))),
    ]


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def counts(path: Path, **options: Any) -> Responses:
    found = read(path, **options)
    assert isinstance(found, Responses)
    return found


def test_ids_follow_the_rules() -> None:
    assert slug("GPT_4 Turbo") == "gpt-4-turbo"
    made = make_item_id("Truthful_QA", TIME, 3)
    assert made == f"truthful-qa_{TIME}_3"
    assert make_response_id(made, "Org/GPT_4", 2) == f"truthful-qa_{TIME}_3_org/gpt-4_2"


@pytest.mark.parametrize(
    ("response_id", "model", "item_id"),
    [(f"b_{TIME}_0_gpt-4_7", "GPT 4", f"b_{TIME}_0"),
     (f"b_{TIME}_0_GPT_4_7", "GPT_4", f"b_{TIME}_0"),  # the name itself, not its slug
     (f"b_{TIME}_0_other-name_7", "GPT 4", f"b_{TIME}_0"),  # neither: the time tells
     ("odd_id_gpt-4_7", "gpt-4", "odd_id"),  # no time: the name tells
     (f"b_{TIME}_0_b_{TIME}_1_7", f"b_{TIME}_1", f"b_{TIME}_0")],
)  # fmt: skip
def test_the_item_of_a_response_is_told_from_its_id(response_id: str, model: str, item_id: str) -> None:
    assert split_response_id(response_id, model, "here") == (item_id, "7")


@pytest.mark.parametrize("response_id", ["odd_id_other_7", f"b_{TIME}_0_gpt-4", "gpt-4_7", f"b_{TIME}_0_gpt-4_x", ""])
def test_an_id_that_names_no_item_is_refused(response_id: str) -> None:
    with pytest.raises(DataError, match=r"here: response_id .* is not <item_id>_<model>_<trial>"):
        split_response_id(response_id, "gpt-4", "here")


@pytest.mark.parametrize("form", ["array", "lines", "single"])
def test_nested_items_are_read_from_json_and_jsonl(tmp_path: Path, form: str) -> None:
    path = tmp_path / "items.json"
    if form == "lines":
        path.write_text("".join(json.dumps(i) + "\n" for i in items()))
    else:
        put(path, items() if form == "array" else items()[0])
    found = counts(path)
    assert found.person_ids == ("GPT 4", "b")
    assert found.successes.tolist() == ([[1], [0]] if form == "single" else [[1, 0], [0, 1]])
    assert found.item_ids[0] == f"my-bench_{TIME}_0"
    assert read_log(path).levels("benchmark") == {"My_Bench": 2 if form == "single" else 4}


def test_replicates_are_trials(tmp_path: Path) -> None:
    one = make_item_id("b", TIME, 0)
    replicates = [response(one, "m", score("em", v), trial=t) for t, v in enumerate((1, 0, 1))]
    found = counts(put(tmp_path / "x.json", [item(0, *replicates, bench="b")]))
    assert (found.successes.tolist(), found.trials.tolist()) == ([[2]], [[3]])


def test_ids_that_are_still_to_be_given_are_not_needed(tmp_path: Path) -> None:
    given = items()
    for number, one in enumerate(given):
        del one["item_id"]
        for r in one["responses"]:
            r["response_id"] = "" if number else None
    given[0]["responses"].append(copy.deepcopy(given[0]["responses"][0]))
    found = counts(put(tmp_path / "x.json", given))
    assert found.successes.tolist() == [[2, 0], [0, 1]]
    assert found.trials.tolist() == [[2, 1], [1, 1]]


def test_judges_are_the_filter(tmp_path: Path) -> None:
    one = make_item_id("b", TIME, 0)
    path = put(
        tmp_path / "x.json",
        item(0, response(one, "m", score("win", 1, "gpt-4o"), score("win", 0, "claude", "human")), bench="b"),
    )
    with pytest.raises(DataError, match="2 filters: 'gpt-4o'"):
        read(path)
    assert counts(path, filter="claude, human").successes.tolist() == [[0]]


def test_a_response_that_nobody_scored_is_no_wrong_answer(tmp_path: Path) -> None:
    given = items()
    given[0]["responses"][0]["scores"] = []
    given[1]["responses"][0]["scores"][0]["value"] = None
    found = counts(put(tmp_path / "x.json", given))
    assert found.trials.tolist() == [[0, 0], [1, 1]]
    assert any("2 unscored" in n for n in found.notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [(lambda r: r["model"].pop("name"), r"entry 0, responses\[1\]: model.name is nothing"),
     (lambda r: r["scores"][0].update(value="1"), r"responses\[1\], scores\[0\]: value is '1', not a number"),
     (lambda r: r["scores"][0].update(value=10**400), r"scores\[0\]: value has 401 digits"),
     (lambda r: r["scores"][0]["metric"].update(name=None), r"metric.name is nothing"),
     (lambda r: r.update(scores={"value": [1], "metric": []}), r"the lists of scores differ in length"),
     (lambda r: r.update(response_id="x"), r"response_id 'x' is not")],
)  # fmt: skip
def test_what_breaks_the_schema_is_named_with_its_path(tmp_path: Path, change: Any, problem: str) -> None:
    given = items()
    change(given[0]["responses"][1])
    with pytest.raises(DataError, match=problem):
        read_log(put(tmp_path / "x.json", given))


def released(folder: Path, *, names: bool = True) -> Path:
    """Write tables as the release has them, with long texts and keys that nobody asked for."""
    rows = [
        {
            "response_id": r["response_id"],
            "model": {"name": r["model"]["name"], "extra": "x"},
            "response_content": ["text " * 1000],
            "scores": {
                "metric": [{"name": s["metric"]["name"], "models": s["metric"]["models"]} for s in r["scores"]],
                "value": [float(s["value"]) for s in r["scores"]],
            },
        }
        for one in items()
        for r in one["responses"]
    ]
    (folder / "response").mkdir(parents=True)
    path = folder / "response" / "train-00000.parquet"
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    if names:
        (folder / "item").mkdir()
        table = [
            {"item_id": i["item_id"], "item_metadata": {"source": "My_Bench"}, "item_content": {"input": ["q"]}}
            for i in items()
        ]
        parquet.write_table(arrow.Table.from_pylist(table), folder / "item" / "train-00000.parquet")
    return path


def test_released_tables_give_what_the_nested_items_do(tmp_path: Path) -> None:
    nested = counts(put(tmp_path / "x.json", items()))
    released(tmp_path / "hub")
    found = counts(tmp_path / "hub")
    assert (found.person_ids, found.item_ids) == (nested.person_ids, nested.item_ids)
    assert found.successes.tolist() == nested.successes.tolist()
    assert any("holds items, and no responses" in n for n in found.notes)
    assert read_log(tmp_path / "hub").levels("benchmark") == {"My_Bench": 4}


def test_without_the_table_of_items_benchmarks_are_named_as_in_ids(tmp_path: Path) -> None:
    log = read_log(released(tmp_path, names=False))
    assert log.levels("benchmark") == {"my-bench": 4}


def test_the_table_of_items_alone_holds_no_responses(tmp_path: Path) -> None:
    released(tmp_path)
    with pytest.raises(NoSamplesError, match="holds items, and no responses"):
        read_log(tmp_path / "item" / "train-00000.parquet")


def test_texts_of_responses_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = released(tmp_path)
    asked: list[list[str]] = []
    read_batches = parquet.ParquetFile.iter_batches

    def spy(self: Any, *args: Any, **options: Any) -> Any:
        asked.append(options["columns"])
        return read_batches(self, *args, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", spy)
    read_log(path)
    columns = {name for names in asked for name in names}
    assert "response_id" in columns
    assert not [name for name in columns if name.startswith(("response_content", "item_content", "model.extra"))]


def test_a_table_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = released(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"train-00000\.parquet"):
        read_log(path)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_log(path, format="openeval table")


def test_rows_of_the_tables_are_read_as_json(tmp_path: Path) -> None:
    rows = [r for one in items() for r in one["responses"]]
    for r in rows:
        r["scores"] = {"metric": [s["metric"] for s in r["scores"]], "value": [s["value"] for s in r["scores"]]}
    table = [{"item_id": i["item_id"], "item_metadata": {"source": "My_Bench"}, "item_content": {}} for i in items()]
    whole = put(tmp_path / "three.json", {"bench": [{"benchmark_name": "My_Bench"}], "item": table, "response": rows})
    assert counts(whole).successes.tolist() == [[1, 0], [0, 1]]
    assert read_log(whole).levels("benchmark") == {"My_Bench": 4}
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert read_log(lines).levels("benchmark") == {"my-bench": 4}
    assert read_log(lines).where(2) == f"{lines}, line 3"


def test_partial_scores_are_continuous(tmp_path: Path) -> None:
    one = make_item_id("b", TIME, 0)
    path = put(tmp_path / "x.json", [item(0, response(one, "m", score("f1", 0.25)), bench="b")])
    found = read(path)
    assert isinstance(found, ContinuousResponses)
    assert found.scores.tolist() == [[0.25]]
