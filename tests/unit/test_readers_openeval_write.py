"""OpenEval: logs to items and tables and back, the checks of its schema, and the commands."""

from __future__ import annotations

import copy
import json
import math
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from psychoeval.cli.openeval import openeval
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.readers.log import ANY_METRIC, EvaluationLog, LogBuilder, Record, Scale, records
from psychoeval.responses.readers.openeval_files import load_items, save_items
from psychoeval.responses.readers.openeval_tables import from_tables, to_tables
from psychoeval.responses.readers.openeval_validate import Finding, validate
from psychoeval.responses.readers.openeval_write import to_items
from psychoeval.responses.readers.reading import read_log

WHEN = datetime(2026, 2, 20, 22, 48, 23, tzinfo=UTC)
TIME = "20260220T224823Z"

#: A valid item, written from the schema's own description.
VALID: dict[str, Any] = {
    "item_id": f"my-bench_{TIME}_0",
    "item_metadata": {
        "ingestion_time": TIME,
        "contributor": {"name": "someone"},
        "source": {"benchmark_name": "My_Bench", "benchmark_version": "", "benchmark_tags": ["math"]},
    },
    "item_content": {"input": ["2 + 2?", {"role": "user", "content": "ü"}], "references": [{"output": {"text": "4"}}]},
    "responses": [
        {
            "response_id": f"my-bench_{TIME}_0_gpt-4_0",
            "model": {
                "name": "GPT_4",
                "size": "7B",
                "model_adaptation": {
                    "system_instruction": "",
                    "generation_parameters": {
                        "temperature": 0, "do_sample": False, "top_k": 1, "top_p": 1.0, "max_tokens": 5,
                    },
                    "tools": [{"type": "search", "content": {"k": [1, None]}}],
                },
            },
            "item_adaptation": {
                "request_input": ["2 + 2?"],
                "demonstrations": ["1 + 1 = 2"],
                "external_resources": [{"type": "page", "content": "a text"}],
            },
            "response_content": [{"text": "4", "logprob": -0.5}],
            "scores": [
                {"metric": {"name": "em", "models": [], "extra_artifacts": []}, "value": 1.0},
                {
                    "metric": {
                        "name": "judge",
                        "models": ["gpt-4o"],
                        "extra_artifacts": [{"type": "rubric", "content": ["a", "b"]}, {"type": "n", "content": 3}],
                    },
                    "value": 0.5,
                },
            ],
        }
    ],
    "schema_version": "v0.1.0",
}  # fmt: skip


def log_of(*rows: Record, scales: dict[str, Scale] | None = None) -> EvaluationLog:
    builder = LogBuilder()
    for metric, scale in (scales or {}).items():
        builder.scale(metric, scale, "here")
    for row in rows:
        builder.add(row._replace(file="log.json", line=1))
    return builder.build()


def rich_log() -> EvaluationLog:
    """Return a log with all that a log can hold."""
    nan = math.nan
    rows = [
        Record("GPT_4", "q1", "em", 1.0, benchmark="B_x", content="abc", tokens=12.0, cost=0.5, date="2026-01-01"),
        Record("GPT_4", "q1", "f1", 0.25, benchmark="B_x", content="abc", tokens=12.0, cost=0.5, date="2026-01-01"),
        Record("GPT_4", "q1", "em", 0.0, trial="2", benchmark="B_x", content="abc", filter="strict"),
        Record("GPT_4", "q1", "em", 1.0, trial="2", benchmark="B_x", content="abc", filter="loose"),
        Record("gpt 4", "q1", "em", 0.0, benchmark="B_x", content="abc", family="openai"),  # the same slug
        Record("m", "q2", "em", nan, "errored", benchmark="B_x", content="def", error="crash: ü"),
        Record("m", "q2", "f1", 0.5, benchmark="B_x", content="def", error="crash: ü"),
        Record("m", "q3", ANY_METRIC, nan, "cancelled", benchmark="B_x"),
        Record("n", "q3", ANY_METRIC, nan, "unscored", benchmark="B_x"),
        Record("n", "q1", "em", 1.0, benchmark="other"),
        Record("n", "q1", "em", 1.0, benchmark="other"),  # a repeated row
    ]
    return log_of(*rows, scales={"f1": Scale(0, 1), "em": Scale(0, 1, higher_is_better=False)})


def facts(log: EvaluationLog) -> list[tuple[str, ...]]:
    """Return the rows without their place, sorted."""
    return sorted(tuple(map(repr, r._replace(file="", line=0))) for r in records(log))


@pytest.mark.parametrize("out", ["x.json", "x.jsonl", "tables"])
def test_a_log_comes_back_as_it_went_in(tmp_path: Path, out: str) -> None:
    log = rich_log()
    lost = save_items([("log", item) for item in to_items(log, when=WHEN)], tmp_path / out)
    assert not lost
    back = read_log(tmp_path / out)
    assert facts(back) == facts(log)
    assert back.scales == log.scales


def test_ids_are_made_by_the_rules_and_stay_apart() -> None:
    items = to_items(rich_log(), when=WHEN)
    assert [i["item_id"] for i in items] == [f"b-x_{TIME}_0", f"b-x_{TIME}_1", f"b-x_{TIME}_2", f"other_{TIME}_0"]
    ids = [r["response_id"] for i in items for r in i["responses"]]
    assert ids[:3] == [f"b-x_{TIME}_0_gpt-4_0", f"b-x_{TIME}_0_gpt-4_1", f"b-x_{TIME}_0_gpt-4_2"]
    assert len(set(ids)) == len(ids)


def test_ids_that_follow_the_rules_already_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([VALID]))
    items = to_items(read_log(tmp_path / "x.json"))
    assert [i["item_id"] for i in items] == [VALID["item_id"]]
    assert items[0]["responses"][0]["response_id"] == VALID["responses"][0]["response_id"]


def test_items_of_equal_content_are_one() -> None:
    log = log_of(
        Record("a", "1", "em", 1.0, benchmark="b", content="same"),
        Record("b", "7", "em", 0.0, benchmark="b", content="same"),
    )
    two = LogBuilder()
    for k, row in enumerate(records(log)):
        two.add(row._replace(file=f"{k}.json"))
    items = to_items(two.build(), when=WHEN)
    assert [len(i["responses"]) for i in items] == [2]


def test_a_benchmark_must_have_a_name() -> None:
    log = log_of(Record("a", "1", "em", 1.0))
    with pytest.raises(DataError, match=r"log\.json, line 1: the log names no benchmark"):
        to_items(log)
    assert to_items(log, benchmark="mine", when=WHEN)[0]["item_id"] == f"mine_{TIME}_0"


def test_what_the_log_does_not_know_is_not_made_up() -> None:
    found = {f.path for f in validate([("x", to_items(rich_log())[0])]) if not f.is_warning}
    assert {"item_content.input", "responses[0].response_content"} <= found
    assert "responses[0].model.model_adaptation.generation_parameters.temperature" in found
    assert not [path for path in found if "scores" in path or path.endswith("_id")]


def test_whole_items_survive_the_tables(tmp_path: Path) -> None:
    assert not save_items([("x", VALID)], tmp_path / "tables")
    assert [item for _, item in load_items(tmp_path / "tables")] == [VALID]
    schema = parquet.read_schema(tmp_path / "tables" / "response.parquet")
    assert str(schema.field("scores").type.field("value").type) == "list<element: double>"
    assert [f.name for f in schema] == ["response_id", "model", "item_adaptation", "response_content", "scores"]


def test_a_changed_byte_of_our_tables_is_no_other_score(tmp_path: Path) -> None:
    save_items([("x", VALID)], tmp_path)
    path = tmp_path / "response.parquet"
    raw = bytearray(path.read_bytes())
    raw[raw.index(struct.pack("<d", 0.5)) + 6] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"response\.parquet cannot be read as Parquet"):
        read_log(path)


def test_what_the_tables_cannot_hold_is_told() -> None:
    item = copy.deepcopy(VALID)
    item["item_metadata"]["source"]["benchmark_url"] = "x"
    item["responses"][0]["model"]["model_adaptation"]["generation_parameters"]["num_beams"] = 1  # kept as JSON
    item["responses"][0]["response_content"] = ['{"a": 1}']
    tables = to_tables([("x", item)])
    assert tables.lost == {
        "item_metadata.source.benchmark_url": 1,
        "texts that spell JSON, and are read back as what they spell": 1,
    }
    (back,) = from_tables(tables.bench, tables.item, [("y", r) for r in tables.response])
    assert back["responses"][0]["response_content"] == [{"a": 1}]
    assert back["responses"][0]["model"] == item["responses"][0]["model"]


def test_a_benchmark_of_two_descriptions_is_refused() -> None:
    other = copy.deepcopy(VALID)
    other["item_metadata"]["source"]["benchmark_version"] = "v2"
    with pytest.raises(DataError, match="y: benchmark 'My_Bench' is described otherwise"):
        to_tables([("x", VALID), ("y", other)])


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    bad = copy.deepcopy(VALID)
    bad["responses"][0]["scores"][0]["value"] = math.nan
    with pytest.raises(DataError, match="not finite"):
        save_items([("x", bad)], tmp_path / "x.json")
    bad["responses"][0]["scores"][0]["value"] = "1"
    with pytest.raises(DataError, match=r"x, responses\[0\]: scores\[\].value is '1', not a number"):
        save_items([("x", bad)], tmp_path / "tables")
    bad = copy.deepcopy(VALID)
    bad["item_metadata"]["contributor"] = "me"
    with pytest.raises(DataError, match="The table item cannot be written"):
        save_items([("x", bad)], tmp_path / "tables")
    with pytest.raises(SettingsError, match=r"ending \.csv"):
        save_items([("x", VALID)], tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def findings(item: Any) -> list[Finding]:
    return list(validate([("x", item)]))


def test_a_valid_item_has_no_finding() -> None:
    assert findings(VALID) == []


def place(item: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        item = item[step]
    return item


R0 = ("responses", 0)
S0 = (*R0, "scores", 0)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [(("item_metadata", "source", "benchmark_name"), " ", "is empty"),
     (("item_metadata", "source", "benchmark_version"), None, "is null"),
     (("item_content", "input"), [], "is empty"),
     (("item_content", "references"), ["a", 1], "is ['a', 1], not a list of texts and objects"),
     (("responses",), [], "is empty"),
     (("responses",), {}, "is {}, not a list"),
     ((*R0, "model", "name"), "", "is empty"),
     ((*R0, "model", "model_adaptation", "generation_parameters", "top_k"), 1.5, "is 1.5, not a whole number"),
     ((*R0, "model", "model_adaptation", "generation_parameters", "do_sample"), 0, "is 0, not true or false"),
     ((*R0, "item_adaptation", "request_input"), [], "is empty"),
     ((*R0, "response_content"), [], "is empty"),
     ((*S0, "metric", "name"), "", "is empty"),
     ((*S0, "metric", "models"), "gpt", "is 'gpt', not a list of texts"),
     ((*S0, "value"), "1", "is '1', not a finite number, true or false"),
     ((*S0, "value"), math.nan, "is nan, not a finite number, true or false"),
     ((*S0, "metric"), 3, "is 3, not an object")],
)  # fmt: skip
def test_every_violation_is_named_with_its_path(path: tuple[Any, ...], value: Any, problem: str) -> None:
    item = copy.deepcopy(VALID)
    place(item, path)[path[-1]] = value
    dotted = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).removeprefix(".")
    assert [(f.path, f.problem, f.is_warning) for f in findings(item)] == [(dotted, problem, False)]


@pytest.mark.parametrize("path", [("item_content",), (*R0, "scores"), (*S0, "value"), (*R0, "model", "name")])
def test_what_is_not_there_is_missing(path: tuple[Any, ...]) -> None:
    item = copy.deepcopy(VALID)
    del place(item, path)[path[-1]]
    (found,) = findings(item)
    assert found.problem == "is missing"
    assert found.path.endswith(str(path[-1]))


@pytest.mark.parametrize(
    "path", [("item_id",), ("schema_version",), (*R0, "response_id"), (*R0, "model", "size"),
             ("item_metadata", "source", "benchmark_tags"), (*R0, "item_adaptation", "demonstrations")],
)  # fmt: skip
def test_what_is_optional_or_filled_later_may_be_missing_or_null(path: tuple[Any, ...]) -> None:
    item = copy.deepcopy(VALID)
    place(item, path)[path[-1]] = None
    assert findings(item) == []
    del place(item, path)[path[-1]]
    assert findings(item) == []


def test_unknown_keys_and_odd_ids_are_warnings_and_repeated_ids_are_not() -> None:
    item = copy.deepcopy(VALID)
    item["responses"][0]["extra"] = 1
    item["item_id"] = f"another_{TIME}_0"
    found = {f.path: f for f in findings(item)}
    assert found["responses[0].extra"].is_warning
    assert found["item_id"].problem == "starts with 'another', not 'my-bench'"
    assert not found["responses[0].response_id"].is_warning
    twice = list(validate([("x", VALID), ("y", VALID)]))
    assert [str(f) for f in twice] == [
        "y: item_id repeats that of x, item_id",
        "y: responses[0].response_id repeats that of x, responses[0].response_id",
    ]


def test_the_command_validates(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.jsonl"
    good.write_text(json.dumps([VALID]))
    broken = copy.deepcopy(VALID)
    broken["item_content"]["input"] = []
    bad.write_text(f"{json.dumps(VALID)}\n{json.dumps(broken)}\n")
    run = CliRunner()
    fine = run.invoke(openeval, ["validate", str(good)])
    assert fine.exit_code == 0
    assert "1 items, 0 violations, 0 warnings" in fine.output
    wrong = run.invoke(openeval, ["validate", str(bad)])
    assert wrong.exit_code == 2
    assert f"violation: {bad}, line 2: item_content.input is empty" in wrong.output
    brief = run.invoke(openeval, ["validate", "--quiet", str(bad)])
    assert "violation: item_content.input is empty (1)" in brief.output


def test_the_command_converts_items_whole_and_other_logs_by_their_rows(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([VALID]))
    run = CliRunner()
    made = run.invoke(openeval, ["convert", str(tmp_path / "x.json"), str(tmp_path / "tables")])
    assert made.exit_code == 0, made.output
    back = run.invoke(openeval, ["convert", str(tmp_path / "tables"), str(tmp_path / "back.json")])
    assert back.exit_code == 0, back.output
    assert json.loads((tmp_path / "back.json").read_text()) == [VALID]
    (tmp_path / "irw.csv").write_text("id,item,resp\na,q1,1\nb,q1,0\n")
    other = run.invoke(openeval, ["convert", str(tmp_path / "irw.csv"), str(tmp_path / "irw.json")])
    assert other.exit_code == 0, other.output
    assert "not valid as it stands: item_content.input is empty (1)" in other.output
    log = read_log(tmp_path / "irw.json")
    assert (log.levels("person"), log.levels("item")) == ({"a": 1, "b": 1}, {"q1": 2})
