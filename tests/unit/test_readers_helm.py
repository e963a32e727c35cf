"""Run folders of HELM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import records
from psychoeval.responses.readers.reading import read, read_log


def stat(name: str, mean: float | None, split: str = "test", **more: Any) -> dict[str, Any]:
    counted = {"count": 0} if mean is None else {"count": 1, "sum": mean, "mean": mean}
    return {"name": {"name": name, "split": split} | more} | counted


def entry(item: str, score: float | None = 1.0, trial: int = 0, **more: Any) -> dict[str, Any]:
    stats = [stat("num_prompt_tokens", 30), stat("num_completion_tokens", 4), stat("training_co2_cost", None)]
    return {"instance_id": item, "train_trial_index": trial, "stats": [*stats, stat("exact_match", score)]} | more


def request(item: str, text: str, answers: tuple[str, ...] = ("a", "b"), **more: Any) -> dict[str, Any]:
    references = [{"output": {"text": a}, "tags": []} for a in answers]
    instance = {"input": {"text": text}, "references": references, "split": "test", "id": item}
    return {"instance": instance, "train_trial_index": 0, "result": {"success": True}} | more


def run(
    folder: Path,
    entries: list[dict[str, Any]],
    model: str | None = "org/m",
    requests: list[dict[str, Any]] | None = None,
    scenario: str = "quiz:subject=sums",
) -> Path:
    folder.mkdir(parents=True)
    name = f"{scenario},method=joint,model={str(model).replace('/', '_')}"
    adapter = {"adapter_spec": {"method": "joint"} | ({"model": model} if model else {})}
    files: dict[str, Any] = {
        "per_instance_stats.json": entries,
        "run_spec.json": {"name": name, "scenario_spec": {"class_name": "Quiz"}} | adapter,
        "scenario.json": {"name": "quiz", "description": "sums", "tags": []},
        "stats.json": [stat("exact_match", 0.5)],
        "display_predictions.json": [
            {"instance_id": "id1", "train_trial_index": 0, "predicted_text": "x", "stats": {"exact_match": 1.0}}
        ],
    }
    if requests is not None:
        files["scenario_state.json"] = adapter | {"request_states": requests}
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content))
    return folder


def counts(path: Path, **options: Any) -> Responses:
    found = read(path, **options)
    assert isinstance(found, Responses)
    return found


def test_folders_of_two_models_are_two_systems_on_one_scenario(tmp_path: Path) -> None:
    run(tmp_path / "a", [entry("id1", 1.0), entry("id2", 0.0)], "org/a")
    run(tmp_path / "b", [entry("id2", 1.0), entry("id1", 0.0)], "lab/b")
    found = counts(tmp_path)
    assert found.person_ids == ("org/a", "lab/b")
    assert found.item_ids == ("id1", "id2")
    assert found.successes.tolist() == [[1, 0], [0, 1]]
    log = read_log(tmp_path)
    assert set(log.formats.values()) == {"helm"}
    assert log.levels("benchmark") == {"quiz:subject=sums,method=joint": 4}
    assert log.levels("family") == {"org": 2, "lab": 2}
    assert {r.tokens for r in records(log)} == {34.0}
    assert [d.n for d in log.dropped] == [12]
    assert log.n_read == 16


def test_a_stat_that_counted_nothing_was_not_judged(tmp_path: Path) -> None:
    found = counts(run(tmp_path / "a", [entry("id1", None), entry("id2", 0.0)]))
    assert found.trials.tolist() == [[0, 1]]
    assert any("1 wrong, 1 unscored" in n for n in found.notes)


def test_ids_of_two_scenarios_are_different_items(tmp_path: Path) -> None:
    run(tmp_path / "a", [entry("id1", 1.0)])
    run(tmp_path / "b", [entry("id1", 0.0)], scenario="quiz:subject=verbs")
    found = counts(tmp_path)
    assert found.item_ids == ("quiz:subject=sums,method=joint/id1", "quiz:subject=verbs,method=joint/id1")


def test_perturbations_are_filters_and_train_trials_are_trials(tmp_path: Path) -> None:
    typos = {"name": "typos", "robustness": True, "fairness": False, "prob": 0.1, "seed": 3}
    entries = [entry("id1", 1.0), entry("id1", 0.0, trial=1), entry("id1", 0.0, perturbation=typos)]
    folder = run(tmp_path / "a", entries)
    with pytest.raises(DataError, match=r"2 filters: 'original' \(2 rows\), 'typos\(prob=0.1\)' \(1 rows\)"):
        read(folder)
    found = counts(folder, filter="original")
    assert (found.successes.tolist(), found.trials.tolist()) == ([[1]], [[2]])
    assert read_log(folder).levels("trial") == {"0": 1, "1": 1, "0/3": 1}


def test_metrics_are_asked_about_without_the_bookkeeping(tmp_path: Path) -> None:
    item = entry("id1", 1.0)
    item["stats"] += [stat("rouge_l", 0.4), stat("finish_reason_stop", 1.0), stat("ifeval", 1.0, sub_split="hard")]
    folder = run(tmp_path / "a", [item])
    with pytest.raises(DataError, match=r"3 metrics: 'exact_match' .* 'rouge_l' .* 'ifeval/hard'"):
        read(folder)
    assert isinstance(read(folder, metric="rouge_l"), ContinuousResponses)


def test_what_was_asked_tells_items_apart_where_it_was_kept(tmp_path: Path) -> None:
    run(tmp_path / "a", [entry("id1", 1.0)], "a", [request("id1", "1+1")])
    run(tmp_path / "b", [entry("id1", 0.0)], "b", [request("id1", "2+2")])
    run(tmp_path / "c", [entry("id7", 0.0)], "c", [request("id7", "1+1", answers=("b", "a"))])
    found = counts(tmp_path)
    assert found.trials.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert all(i.startswith("id1#") for i in found.item_ids)


def test_a_folder_that_lost_its_requests_joins_by_id(tmp_path: Path) -> None:
    run(tmp_path / "a", [entry("id1", 1.0)], "a", [request("id1", "1+1")])
    run(tmp_path / "b", [entry("id1", 0.0)], "b")
    assert counts(tmp_path).successes.tolist() == [[1], [0]]


def test_requests_that_failed_are_no_wrong_answers(tmp_path: Path) -> None:
    refused = {"success": False, "error": "rejected by the content filter\nmore"}
    broken = {"success": False, "error": "Connection refused"}
    requests = [request("id1", "x", result=refused), request("id2", "y", result=broken), request("id3", "z")]
    folder = run(tmp_path / "a", [entry("id1", 0.0), entry("id2", 0.0), entry("id3", 0.0)], requests=requests)
    log = read_log(folder)
    assert log.outcomes() == {"scored": 1, "errored": 1, "refused": 1}
    assert "rejected by the content filter" in log.levels("error")


def test_a_run_without_its_model_asks_for_the_system(tmp_path: Path) -> None:
    folder = run(tmp_path / "quiz:subject=x,model=m", [entry("id1")], model=None)
    with pytest.raises(DataError, match="does not name its model") as refused:
        read(folder)
    assert "person=" in refused.value.remedy
    (folder / "run_spec.json").unlink()
    assert read_log(folder, person="mine").levels("benchmark") == {"quiz:subject=x": 1}


def test_other_files_of_a_run_hold_no_responses(tmp_path: Path) -> None:
    folder = run(tmp_path / "a", [entry("id1")], requests=[request("id1", "x")])
    for name in ("run_spec", "scenario", "scenario_state", "stats", "display_predictions"):
        with pytest.raises(DataError, match="is of helm run files: it holds no"):
            read(folder / f"{name}.json")


@pytest.mark.parametrize(
    ("broken", "named"),
    [({"stats": [{"name": "exact_match"}]}, "entry 2: the name of a stat is 'exact_match', not an object"),
     ({"stats": [stat("exact_match", 10**400)]}, "entry 2, exact_match: mean has more than 308 digits"),
     ({"instance_id": 3}, "entry 2: instance_id is '3', not a text"),
     ({"perturbation": "typos"}, "entry 2: perturbation")],
)  # fmt: skip
def test_a_broken_entry_is_named(tmp_path: Path, broken: dict[str, Any], named: str) -> None:
    with pytest.raises(DataError, match=rf"per_instance_stats\.json, {named}"):
        read(run(tmp_path / "a", [entry("id1"), entry("id2", 1.0, **broken)]))


def test_requests_too_large_to_read_leave_items_told_by_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run(tmp_path / "a", [entry("id1")], requests=[request("id1", "x")])
    assert "" not in read_log(folder).levels("content")
    monkeypatch.setattr("psychoeval.responses.readers.helm.MAX_WHOLE", 10)
    log = read_log(folder)
    assert set(log.levels("content")) == {""}
    assert any("scenario_state.json is larger" in n for n in log.notes)
