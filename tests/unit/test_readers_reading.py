"""What a reading without responses says: which file, and what to give instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.readers.formats import FORMATS
from psychoeval.responses.readers.log import LogBuilder
from psychoeval.responses.readers.reading import read, read_log
from psychoeval.responses.readers.selection import select
from psychoeval.responses.readers.sources import NoSamplesError


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


HEADER = {"version": 2, "status": "cancelled", "eval": {"model": "m", "task": "t"}, "plan": {}}
LM_EVAL = {"results": {"t": {"acc": 0.5}}, "configs": {}, "model_name": "m"}
HELM = {"name": "mmlu:model=m", "scenario_spec": {}, "adapter_spec": {"model": "m"}, "metric_specs": []}


def test_every_format_that_goes_with_others_says_with_which() -> None:
    assert [f.name for f in FORMATS if (f.read is None) != bool(f.needs)] == []


def test_a_file_of_means_is_named_and_so_is_what_it_goes_with(tmp_path: Path) -> None:
    path = write(tmp_path / "results_x.json", LM_EVAL)
    with pytest.raises(DataError, match=r"results_x\.json is of lm-eval results: it holds no responses") as refused:
        read(path)
    assert "samples_*.jsonl, which lm_eval --log_samples writes" in refused.value.remedy
    write(tmp_path / "run_spec.json", HELM)
    with pytest.raises(
        DataError, match=r"results and helm run files \(.results_x\.json., .run_spec\.json.\) among 2"
    ) as refused:
        read(tmp_path)
    assert "samples_*.jsonl" in refused.value.remedy
    assert "per_instance_stats.json" in refused.value.remedy


def test_a_folder_of_logs_without_samples_says_what_was_wrong_with_them(tmp_path: Path) -> None:
    write(tmp_path / "a.json", HEADER)
    write(tmp_path / "notes.txt", "none")
    with pytest.raises(NoSamplesError, match=r"a\.json holds no samples") as refused:
        read_log(tmp_path)
    assert "--log-samples" in refused.value.remedy


def test_tables_in_a_folder_are_to_be_given_one_by_one(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(tmp_path / "a long name of a folder that fills the line of a message" / f"{name}.csv", "system,a\nm,1\n")
    with pytest.raises(DataError, match=r"None of 2 files is of a known log format: 'first\.csv', 'second\.csv'") as no:
        read(tmp_path)
    assert no.value.remedy.startswith("Give each table by itself")
    write(tmp_path / "sub" / "log.jsonl", {"subject_id": "s", "responses": {"a": 1}})
    assert any("'second.csv'" in n for n in read_log(tmp_path).notes)


def test_a_log_all_of_whose_rows_were_left_out_says_why() -> None:
    builder = LogBuilder()
    builder.drop("stats of HELM that judge no response", "x.json", 170)
    with pytest.raises(DataError, match="no response: 170 rows left out: stats of HELM that judge no response"):
        select(builder.build())
