"""Logs of Inspect, as JSON and as archives."""

from __future__ import annotations

import importlib.util
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from psychoeval.errors import DataError, EngineUnavailableError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.reading import read, read_log


def sample(given_id: int | str, value: Any = None, epoch: int = 1, **more: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"id": given_id, "epoch": epoch, "input": f"question {given_id}", "target": "x"}
    if value is not None:
        out["scores"] = {"match": {"value": value, "answer": "x"}}
    return out | more


def content(samples: list[dict[str, Any]], model: str = "org/m", status: str = "success") -> dict[str, Any]:
    return {
        "version": 2, "status": status, "eval": {"model": model, "task": "quiz", "created": "2026-01-02"}, "plan": {},
        "results": {"scores": [{"name": "match", "scorer": "match"}]}, "samples": samples,
    }  # fmt: skip


def write(path: Path, samples: list[dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps(content(samples, **more)))
    return path


def archive(
    path: Path, samples: list[dict[str, Any]], module: Any = zipfile, method: int = zipfile.ZIP_DEFLATED
) -> Path:
    head = content([])
    del head["samples"]
    with module.ZipFile(path, "w", method) as out:
        out.writestr("_journal/start.json", json.dumps({"version": 2, "eval": head["eval"]}))
        for s in samples:
            out.writestr(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s))
        out.writestr("header.json", json.dumps(head))
    return path


def counts(path: Path, **options: Any) -> Responses:
    found = read(path, **options)
    assert isinstance(found, Responses)
    return found


def test_letters_are_scores(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, "C"), sample(2, "I"), sample(3, "N"), sample(4, True), sample(5, 0)])
    assert counts(path).successes.tolist() == [[1, 0, 0, 1, 0]]


def test_partial_credit_is_half(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, "C"), sample(2, "P")])
    assert read(path).scores.tolist() == [[1, 0.5]]  # type: ignore[union-attr]
    assert counts(path, threshold=1).successes.tolist() == [[1, 0]]


def test_an_errored_sample_is_not_a_wrong_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, "C"), sample(2, error={"message": "no network"}), sample(3, "I")])
    log = read_log(path)
    assert log.outcomes() == {"scored": 2, "errored": 1}
    assert "no network" in log.levels("error")
    assert counts(path).trials.tolist() == [[1, 0, 1]]


def test_epochs_are_trials(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", [sample(1, "C"), sample(1, "I", epoch=2), sample("b_2", "C", epoch=1)])
    found = counts(path)
    assert found.successes.tolist() == [[1, 1]]
    assert found.trials.tolist() == [[2, 1]]
    assert found.item_ids == ("1", "b_2")


def test_a_cancelled_run_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, "C"), sample(2)], status="cancelled")
    found = counts(path)
    assert any("status 'cancelled'" in n for n in found.notes)
    assert any("1 cancelled" in n for n in found.notes)


def test_no_samples_is_an_error_alone_and_a_note_in_a_folder(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.json", [])
    with pytest.raises(DataError, match="holds no samples, only their means"):
        read(empty)
    write(tmp_path / "full.json", [sample(1, "C")])
    assert any("Passed over" in n and "empty.json" in n for n in counts(tmp_path).notes)


def test_a_value_that_is_an_object_holds_several_metrics(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, {"form": 1, "fact": 0})])
    with pytest.raises(DataError, match="'match/form'"):
        read(path)
    assert counts(path, metric="match/fact").successes.tolist() == [[0]]


def test_a_value_without_a_number_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sample 1: match is 'excellent', neither a number nor one of C, I, P, N"):
        read(write(tmp_path / "log.json", [sample(1, "excellent")]))


def test_logs_of_2024_have_one_score(tmp_path: Path) -> None:
    assert counts(write(tmp_path / "log.json", [sample(1, score={"value": "C"})])).successes.tolist() == [[1]]


def test_an_archive_without_header_is_read_from_its_start(tmp_path: Path) -> None:
    whole = archive(tmp_path / "log.eval", [sample(1, "C")])
    cut = tmp_path / "cut.eval"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(cut, "w") as new:
        for name in old.namelist():
            if name != "header.json":
                new.writestr(name, old.read(name))
    found = counts(cut)
    assert found.successes.tolist() == [[1]]
    assert any("status 'started'" in n for n in found.notes)


def zstandard() -> Any:
    if sys.version_info >= (3, 14):
        return zipfile
    if importlib.util.find_spec("backports.zstd") is None:
        pytest.skip("backports.zstd is not installed (extra logs)")
    from backports.zstd import zipfile as module

    return module


def test_members_packed_with_zstandard(tmp_path: Path) -> None:
    module = zstandard()
    path = archive(tmp_path / "log.eval", [sample(1, "C")], module, 93)
    with module.ZipFile(path) as made:
        assert {m.compress_type for m in made.infolist()} == {93}
    assert counts(path).successes.tolist() == [[1]]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_without_zstandard_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "log.eval", [sample(1, "C")], zstandard(), 93)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    with pytest.raises(EngineUnavailableError, match="packed with Zstandard") as refused:
        read(path)
    assert "psychoeval[logs]" in refused.value.remedy


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", [sample(1, "C")])
    raw = bytearray(path.read_bytes())
    place = raw.index(b"samples/1_epoch_1.json") + 40
    raw[place : place + 20] = bytes(20)
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"log\.eval"):
        read(path)


def test_samples_that_are_not_there_are_told(tmp_path: Path) -> None:
    whole = content([sample(1, "C")])
    whole["results"]["total_samples"] = 2
    path = tmp_path / "log.json"
    path.write_text(json.dumps(whole))
    assert any("had 2 samples; the log holds 1" in n for n in counts(path).notes)
    odd = tmp_path / "odd.eval"
    with zipfile.ZipFile(archive(tmp_path / "log.eval", [sample(1, "C")])) as old, zipfile.ZipFile(odd, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        new.writestr("samples/2_epoch_1.jsoN", json.dumps(sample(2, "C")))
    assert any("1 rows left out: members of Inspect's samples" in n for n in counts(odd).notes)


def test_members_of_other_names_are_told(tmp_path: Path) -> None:
    """A sample whose name was damaged is one sample less, also where no header says how many there were."""
    path = archive(tmp_path / "log.eval", [sample(1, "C"), sample(2, "C")])
    with zipfile.ZipFile(path, "a") as out:
        for known in ("_journal/summaries/1.json", "reductions.json", "extra/"):
            out.writestr(known, "[]")
    assert not any("not known" in note for note in read_log(path).notes)
    path.write_bytes(path.read_bytes().replace(b"samples/2_epoch_1.json", b"tamples/2_epoch_1.json"))
    log = read_log(path)
    assert len(log) == 1
    assert any("log.eval: members that are not known" in n and "'tamples/2_epoch_1.json'" in n for n in log.notes)


def test_the_option_person_renames_no_system(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [sample(1, "C")], model="a")
    write(tmp_path / "b.json", [sample(1, "I")], model="b")
    assert counts(tmp_path, person="mine").person_ids == ("a", "b")


def test_a_value_that_is_a_list_holds_several_metrics(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", [sample(1, ["C", "I"]), sample(2, ["I", "P"])])
    with pytest.raises(DataError, match="'match/1'"):
        read(path)
    assert counts(path, metric="match/1").successes.tolist() == [[1, 0]]
    assert read(path, metric="match/2").scores.tolist() == [[0, 0.5]]  # type: ignore[union-attr]
