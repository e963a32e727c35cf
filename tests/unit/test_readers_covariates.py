"""What logs know of systems and items besides scores, and the texts of items."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log_covariates import item_texts
from psychoeval.responses.readers.reading import read


def lm_eval(folder: Path, task: str, questions: list[str], system: str = "m/a") -> None:
    date = "2025-01-01T00-00-00.000000"
    folder.mkdir(exist_ok=True)
    (folder / f"results_{date}.json").write_text(
        json.dumps({"results": {task: {}}, "configs": {}, "model_name": system, "date": 1.0})
    )
    rows = [
        {"doc_id": k, "doc": {"question": q}, "target": "x", "resps": [["y"]], "filter": "none",
         "metrics": ["acc"], "acc": float(k % 2), "doc_hash": f"{task}{k}", "prompt_hash": "p", "target_hash": "t"}
        for k, q in enumerate(questions)
    ]  # fmt: skip
    (folder / f"samples_{task}_{date}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def inspect_sample(k: int) -> dict[str, Any]:
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"text": f"What is {k}?"}]}]
    return {"id": k, "epoch": 1, "input": asked, "scores": {"s": {"value": "C" if k % 2 else "I"}}}


INSPECT = {"status": "success", "eval": {"model": "m", "task": "t"}, "plan": {}, "results": {"scores": [{"name": "s"}]}}


def test_benchmarks_and_texts_of_lm_eval(tmp_path: Path) -> None:
    lm_eval(tmp_path / "a", "easy", ["one  plus\none?", "two?"])
    lm_eval(tmp_path / "b", "hard", ["three?", "w" * 300])
    found = read(tmp_path)
    assert isinstance(found, Responses)
    codes, names = group_codes(found, "benchmark", "items")
    assert names == ("easy", "hard")
    assert codes.tolist() == [0, 0, 1, 1]
    assert found.persons is None
    texts = item_texts(found, found.item_ids, longest=50)
    assert texts["easy/0"] == "one plus one?"
    assert texts["hard/0"] == "three?"
    assert texts["hard/1"] == "w" * 49 + "…"


@pytest.mark.parametrize("ending", [".json", ".eval"])
def test_texts_of_inspect_are_the_users(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    samples = [inspect_sample(k) for k in range(3)]
    if ending == ".json":
        path.write_text(json.dumps(INSPECT | {"samples": samples}))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(INSPECT))
            for k, sample in enumerate(samples):
                archive.writestr(f"samples/{k}_epoch_1.json", json.dumps(sample))
    found = read(path)
    assert isinstance(found, Responses)
    assert item_texts(found, ["2", "0"]) == {"2": "What is 2?", "0": "What is 0?"}


def test_openeval_has_texts_and_benchmarks(tmp_path: Path) -> None:
    def item(k: int) -> dict[str, Any]:
        score = {"metric": {"name": "acc"}, "value": k % 2}
        response = {"response_id": f"b_20260101T000000Z_{k}_m_0", "model": {"name": "m"}, "scores": [score]}
        return {
            "item_id": f"b_20260101T000000Z_{k}",
            "item_metadata": {"source": {"benchmark_name": "B"}},
            "item_content": {"input": [f"Question {k}"], "references": []},
            "responses": [response],
        }

    (tmp_path / "x.json").write_text(json.dumps([item(k) for k in range(3)]))
    found = read(tmp_path / "x.json")
    assert isinstance(found, Responses)
    assert item_texts(found, [found.item_ids[1]]) == {found.item_ids[1]: "Question 1"}
    assert group_codes(found, "benchmark", "items")[1] == ("B",)


def test_logs_that_went_away_have_no_texts_and_tables_none(tmp_path: Path) -> None:
    lm_eval(tmp_path / "a", "easy", ["one?", "two?"])
    found = read(tmp_path)
    assert isinstance(found, Responses)
    for path in (tmp_path / "a").iterdir():
        path.unlink()
    assert item_texts(found, found.item_ids) == {}
    assert item_texts(Responses.from_array([[1, 0]]), ["item-1"]) == {}


def test_families_where_logs_name_them(tmp_path: Path) -> None:
    results = [
        {"name": name, "folder": name, "resolved": 50.0, "date": "2025-01-01", "os_model": True,
         "tags": [f"Org: {org}"] if org else [],
         "per_instance_details": {"i1": {"resolved": True}, "i2": {"resolved": False}}}
        for name, org in (("A", "One"), ("B", ""), ("C", "Two"))
    ]  # fmt: skip
    (tmp_path / "board.json").write_text(json.dumps({"leaderboards": [{"name": "Verified", "results": results}]}))
    found = read(tmp_path / "board.json")
    assert isinstance(found, Responses)
    assert found.persons is not None
    assert found.persons["family"].tolist() == ["One", None, "Two"]
