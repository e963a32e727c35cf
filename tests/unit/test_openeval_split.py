"""Governed releases of OpenEval: blocks, parts and their metadata, and the commands."""

from __future__ import annotations

import copy
import csv
import json
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.readers.log import LogBuilder, Record
from psychoeval.responses.readers.openeval_blocks import NO_BAND, deal_blocks, difficulty_bands
from psychoeval.responses.readers.openeval_files import load_items, save_items, stated_part
from psychoeval.responses.readers.openeval_release import release_of
from psychoeval.responses.readers.openeval_split import Split, save_split, split_items
from psychoeval.responses.readers.openeval_validate import validate
from psychoeval.responses.readers.openeval_write import to_items
from psychoeval.responses.readers.reading import read

TIME = "20260220T224823Z"
EMBARGO = "2027-06-01"


def item(bench: str, k: int, scores: dict[str, float], metric: str = "em") -> tuple[str, dict[str, Any]]:
    """Return a valid item with one response a system."""
    item_id = f"{bench}_{TIME}_{k}"
    generation = {"temperature": 0, "do_sample": False, "top_k": 1, "top_p": 1.0, "max_tokens": 5}
    adaptation = {"system_instruction": "", "generation_parameters": generation, "tools": []}
    responses = [
        {
            "response_id": f"{item_id}_{model}_0",
            "model": {"name": model, "size": "7B", "model_adaptation": adaptation},
            "item_adaptation": {"request_input": ["?"], "demonstrations": [], "external_resources": []},
            "response_content": ["4"],
            "scores": [{"metric": {"name": metric, "models": [], "extra_artifacts": []}, "value": value}],
        }
        for model, value in scores.items()
    ]
    source = {"benchmark_name": bench, "benchmark_version": "", "benchmark_tags": ["math"]}
    found = {
        "item_id": item_id,
        "item_metadata": {"ingestion_time": TIME, "contributor": {"name": "x"}, "source": source},
        "item_content": {"input": [f"{bench} {k}?"], "references": ["4"]},
        "responses": responses,
        "schema_version": "v0.1.0",
    }
    return f"file, entry {k}", found


def benchmarks(seed: int = 0) -> list[tuple[str, dict[str, Any]]]:
    """Return 50 items of one and 23 of another benchmark, of every difficulty."""
    rng = np.random.default_rng(seed)
    sizes = [("alpha", 50), ("beta", 23)]
    return [
        item(bench, k, {f"m{i}": float(rng.random() < (k + 1) / n) for i in range(6)})
        for bench, n in sizes
        for k in range(n)
    ]


def parts_of(split: Split) -> dict[str, str]:
    return dict(zip(split.item_ids, split.parts, strict=True))


def test_blocks_are_even_in_every_stratum_and_at_random_within() -> None:
    keys = [f"k{j}" for j in range(100)]
    strata = [(f"b{j % 3}", f"d{j % 7}") for j in range(100)]
    counts = np.zeros((100, 4))
    for seed in range(400):
        blocks = deal_blocks(keys, strata, 4, seed)
        for wanted in (lambda s: s, lambda s: s[0], lambda s: ""):
            for label in {wanted(s) for s in strata}:
                n = np.bincount(blocks[[wanted(s) == label for s in strata]], minlength=4)
                assert np.ptp(n) <= 1
        counts[np.arange(100), blocks] += 1
    # Each item in each block equally often: chi-square of 300 degrees of freedom.
    chi = float(((counts - 100) ** 2 / 100).sum())
    assert abs(chi - 300) < 4 * np.sqrt(600)
    together = np.mean([np.equal(*deal_blocks(keys, [("x",)] * 100, 4, s)[[0, 1]]) for s in range(2000)])
    assert together == pytest.approx(24 / 99, abs=4 * np.sqrt(0.25 * 0.75 / 2000))


def test_blocks_do_not_depend_on_the_order_of_items() -> None:
    keys, strata = [f"k{j}" for j in range(60)], [(f"b{j % 4}",) for j in range(60)]
    order = np.random.default_rng(0).permutation(60)
    shuffled = deal_blocks([keys[j] for j in order], [strata[j] for j in order], 5, 3)
    assert shuffled.tolist() == deal_blocks(keys, strata, 5, 3)[order].tolist()
    with pytest.raises(SettingsError, match="one key"):
        deal_blocks(["a", "a"], [("",)] * 2, 2, 0)
    with pytest.raises(SettingsError, match="3 items cannot make 4 blocks"):
        deal_blocks(["a", "b", "c"], [("",)] * 3, 4, 0)


def test_bands_are_within_benchmarks_and_equal_items_share_one() -> None:
    p = np.array([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 0.1, 0.2, 0.3, 0.4, np.nan])
    bands = difficulty_bands(p, ["a"] * 6 + ["b"] * 5, 2)
    assert bands[:3] == ["01 of 2"] * 3
    assert bands[3:6] == ["02 of 2"] * 3
    assert bands[6:] == ["01 of 2", "01 of 2", "02 of 2", "02 of 2", NO_BAND]


@pytest.mark.parametrize("rotating", ["held-out", "public"])
def test_rotations_are_disjoint_and_cover_all_items(rotating: Any) -> None:
    items = benchmarks()
    rotations = [split_items(items, embargo=EMBARGO, rotation=(k, 4), rotating=rotating, seed=7) for k in (1, 2, 3, 4)]
    blocks = [[i["item_id"] for _, i in getattr(r, rotating.replace("-", "_"))] for r in rotations]
    assert sorted(i for block in blocks for i in block) == sorted(i["item_id"] for _, i in items)
    assert [len(b) for b in blocks] in ([18, 18, 18, 19], [18, 18, 19, 18], [18, 19, 18, 18], [19, 18, 18, 18])
    for found in rotations:
        assert len(found.public) + len(found.held_out) == 73
        inside = [p == rotating for p in found.parts]
        for labels in (found.benchmarks, found.strata):
            total, here = Counter(labels), Counter(x for x, i in zip(labels, inside, strict=True) if i)
            assert all(abs(here[x] - n / 4) < 1 for x, n in total.items())
    assert (rotations[0].blocks == rotations[3].blocks).all()
    assert parts_of(rotations[0]) != parts_of(split_items(items, embargo=EMBARGO, seed=8))


def test_parts_do_not_depend_on_the_order_of_items_or_on_trial_order() -> None:
    items = benchmarks()
    order = np.random.default_rng(1).permutation(len(items))
    shuffled = [copy.deepcopy(items[k]) for k in order]
    for _, entry in shuffled:
        entry["responses"].reverse()
    one, other = (split_items(x, embargo=EMBARGO, seed=2) for x in (items, shuffled))
    assert parts_of(one) == parts_of(other)


@pytest.mark.parametrize("out", ["{}.json", "{}.jsonl", "{}"])
def test_what_the_release_is_stands_in_both_parts_and_nothing_is_lost(tmp_path: Path, out: str) -> None:
    items = benchmarks()
    before = copy.deepcopy(items)
    found = split_items(items, embargo=date(2027, 6, 1), rotation=(2, 4), seed=5, bands=3)
    assert items == before  # those given are left as they are
    paths = [tmp_path / out.format(name) for name in ("public", "held-out")]
    assert not save_split(found, *paths)
    original = {i["item_id"]: i for _, i in items}
    n_hidden = len(found.held_out)
    for part, path in zip(("public", "held-out"), paths, strict=True):
        back = load_items(path)
        assert not list(validate(back))
        for _, entry in back:
            assert release_of(entry) == {
                "part": part,
                "embargo": EMBARGO,
                "seed": "5",
                "rotation": "2 of 4 (held-out rotates)",
                "share": f"{n_hidden / 73:.4f} ({n_hidden} of 73 items held out)",
                "strata": "benchmark, 3 bands of difficulty",
            }
            entry["item_metadata"]["source"]["benchmark_tags"] = entry["item_metadata"]["source"]["benchmark_tags"][:1]
            assert entry == original.pop(entry["item_id"])
    assert not original


def test_logs_split_alike_whenever_they_are_converted() -> None:
    builder = LogBuilder()
    for q in range(40):
        for m in range(5):
            builder.add(Record(f"m{m}", f"q{q}", "em", float(q > 8 * m), benchmark="B", file="log.json"))
    log = builder.build()
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
    one, two = (split_items([("log", i) for i in to_items(log, when=t)], embargo=EMBARGO) for t in times)
    assert one.item_ids != two.item_ids
    assert one.names == two.names == tuple(f"q{q}" for q in range(40))
    assert one.parts == two.parts


def test_items_of_equal_content_go_together() -> None:
    builder = LogBuilder()
    for q in range(40):
        for m in range(3):
            # Every question stands in two files, under another number.
            for file, number in (("a", q), ("b", 39 - q)):
                builder.add(
                    Record(f"{m}{file}", f"{file}{number}", "em", 1.0, benchmark="B", content=f"c{q}", file=file)
                )
    items = [("log", i) for i in to_items(builder.build())]
    assert len(items) == 40
    twins = copy.deepcopy(items)
    for place, entry in twins:
        entry["item_id"] = entry["item_id"] + "0000"
        for response in entry["responses"]:
            head, _, tail = response["response_id"].rpartition("Z_")
            number, _, rest = tail.partition("_")
            response["response_id"] = f"{head}Z_{number}0000_{rest.rpartition('_')[0]}_1"
            response["item_adaptation"]["external_resources"][0]["content"]["trial"] = "2"
        assert place == "log"
    found = split_items([*items, *twins], embargo=EMBARGO)
    assert found.parts[:40] == found.parts[40:]
    assert found.notes[-2] == "40 items have the content of another and went with it."
    assert len(found.to_frame()) == 40


def test_strata_of_the_user_and_items_without_responses() -> None:
    items = benchmarks()
    for _, entry in items[:20]:
        entry["responses"] = []
    labels = {i["item_id"]: "even" if k % 2 else "odd" for k, (_, i) in enumerate(items)}
    found = split_items(items, embargo=EMBARGO, strata=labels, bands=1)
    assert Counter(found.strata) == {"alpha | odd": 25, "alpha | even": 25, "beta | odd": 12, "beta | even": 11}
    with_bands = split_items(items, embargo=EMBARGO)
    assert set(with_bands.strata[:20]) == {f"alpha | {NO_BAND}"}
    assert all(NO_BAND not in s for s in with_bands.strata[20:])
    nobody = [(place, {**entry, "responses": []}) for place, entry in items]
    assert "difficulty is not known" in " ".join(split_items(nobody, embargo=EMBARGO).notes)
    del labels[items[3][1]["item_id"]]
    with pytest.raises(DataError, match="1 items have no label"):
        split_items(items, embargo=EMBARGO, strata=labels)


def test_difficulty_is_of_the_metric_that_is_chosen() -> None:
    items = [item("b", k, {"m": float(k)}) for k in range(12)]
    for k, (_, entry) in enumerate(items):
        other = copy.deepcopy(entry["responses"][0]["scores"][0])
        other["metric"]["name"], other["value"] = "rank", float(-k)
        entry["responses"][0]["scores"].append(other)
    with pytest.raises(DataError, match="metric"):
        split_items(items, embargo=EMBARGO)
    em = split_items(items, embargo=EMBARGO, bands=2, metric="em", bounds=(0, 12))
    rank = split_items(items, embargo=EMBARGO, bands=2, metric="rank", bounds=(-12, 0))
    assert em.strata == ("b | 01 of 2",) * 6 + ("b | 02 of 2",) * 6
    assert rank.strata == em.strata[::-1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embargo": "1 June 2027"}, "embargo is '1 June 2027'"),
        ({"embargo": "2027-02-30"}, "embargo"),
        ({"embargo": "20270601"}, "embargo"),
        ({"rotation": (0, 4)}, "rotation is"),
        ({"rotation": (5, 4)}, "rotation is"),
        ({"rotation": (1, 1)}, "rotation is"),
        ({"rotation": (1, 100)}, "73 items cannot make 100 blocks"),
        ({"rotating": "both"}, "rotating is"),
        ({"seed": -1}, "seed is"),
        ({"bands": 0}, "bands is"),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        split_items(benchmarks(), **{"embargo": EMBARGO, **changes})


def test_items_that_cannot_be_split() -> None:
    items = benchmarks()
    with pytest.raises(DataError, match="part of a release already"):
        split_items(split_items(items, embargo=EMBARGO).public, embargo=EMBARGO)
    with pytest.raises(DataError, match="is that of file, entry 3 too"):
        split_items([*items, items[3]], embargo=EMBARGO)
    items[0][1]["item_metadata"]["source"]["benchmark_tags"] = ["release-date: 2024"]  # a tag of its own
    assert len(split_items(items, embargo=EMBARGO).item_ids) == 73
    items[0][1]["item_metadata"]["source"]["benchmark_tags"] = "math"
    with pytest.raises(DataError, match="benchmark_tags"):
        split_items(items, embargo=EMBARGO)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(w) for w in words], catch_exceptions=True)


def test_what_is_read_is_never_replaced(tmp_path: Path) -> None:
    source, tables = tmp_path / "all.json", tmp_path / "tables"
    save_items(benchmarks(), source)
    save_items(benchmarks(), tables)
    content, held = source.read_bytes(), tmp_path / "held.json"
    to: dict[str, tuple[object, ...]] = {
        "would be replaced": (source, "--public", source, "--held-out", held),
        "be replaced": (tables, "--public", held, "--held-out", tmp_path / "." / "tables"),
        "would be one file": (source, "--public", held, "--held-out", tmp_path / "x" / ".." / "held.json"),
        "replaced": (source, "--public", tmp_path / "p.json", "--held-out", held, "--table", tables / "item.parquet"),
    }
    for message, words in to.items():
        found = run("openeval", "split", *words, "--embargo", EMBARGO)
        if message == "replaced":
            assert found.exit_code == 0  # not what this run reads
            continue
        assert isinstance(found.exception, SettingsError)
        assert message in str(found.exception)
        assert not held.exists()
    assert source.read_bytes() == content


def test_commands_from_a_file_to_its_drift(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    ability = np.linspace(-1, 1, 12)
    hard = rng.normal(size=200)
    right = rng.random((12, 200)) < 1 / (1 + np.exp(hard - ability[:, None]))
    items = [item("quiz", k, {f"m{i}": float(right[i, k]) for i in range(12)}) for k in range(200)]
    whole = tmp_path / "all.json"
    save_items(items, whole)
    names = [tmp_path / n for n in ("public.json", "held.jsonl", "split.csv")]
    words = ("--public", names[0], "--held-out", names[1], "--table", names[2], "--embargo", EMBARGO)
    assert run("openeval", "split", whole, *words, "--rotation", "2/4", "--seed", 1).exit_code == 0
    with names[2].open() as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["part"] for row in rows) == {"public": 150, "held-out": 50}
    assert [row["item"] for row in rows] == list(read(whole).item_ids)
    # One system learns the public part by heart.
    public = load_items(names[0])
    for _, entry in public:
        entry["responses"][4]["scores"][0]["value"] = 1.0
    leaked, merged = tmp_path / "leaked.json", tmp_path / "merged.json"
    save_items(public, leaked)
    save_items([*public, *load_items(names[1])], merged)
    two = run("openeval", "drift", leaked, names[1], "--format", "json")
    one = run("openeval", "drift", merged, "--parts", names[2], "--format", "json", "--picture", tmp_path / "d.svg")
    found = json.loads(two.stdout)
    assert found["signals"] == ["m4"]
    assert {s["id"]: s["drift"] for s in json.loads(one.stdout)["systems"]} == pytest.approx(
        {s["id"]: s["drift"] for s in found["systems"]}
    )
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")
    table = run("openeval", "drift", leaked, names[1])
    assert "1 of 12 systems signal at .05: m4." in table.stdout
    assert "A signal is no proof" in table.stdout
    assert run("openeval", "drift", leaked, names[1], "--format", "csv").stdout.startswith("id,status,public_mean")
    clean = run("openeval", "drift", names[0], names[1], "--format", "json")
    assert json.loads(clean.stdout)["signals"] == []


@pytest.mark.parametrize(("public", "held"), [("p.json", "h.jsonl"), ("p", "h")])
def test_parts_that_changed_places_are_refused(tmp_path: Path, public: str, held: str) -> None:
    """The sign of every difference would be the other."""
    if not Path(public).suffix:
        pytest.importorskip("pyarrow")
    save_items(benchmarks(), tmp_path / "all.json")
    parts = tmp_path / public, tmp_path / held
    words = ("--public", parts[0], "--held-out", parts[1], "--embargo", EMBARGO)
    assert run("openeval", "split", tmp_path / "all.json", *words).exit_code == 0
    assert [stated_part(path) for path in parts] == ["public", "held-out"]
    assert stated_part(tmp_path / "all.json") == ""
    assert run("openeval", "drift", *parts).exit_code == 0
    refused = run("openeval", "drift", *parts[::-1]).exception
    assert isinstance(refused, DataError)
    assert f"{parts[1]} is given as the public part, and its release says held-out" in str(refused)


def test_strata_from_a_table_and_commands_that_cannot_be(tmp_path: Path) -> None:
    whole, topics = tmp_path / "all.json", tmp_path / "topics.csv"
    items = benchmarks()
    save_items(items, whole)
    topics.write_text("item,topic\n" + "".join(f"{i['item_id']},t{k % 3}\n" for k, (_, i) in enumerate(items)))
    words = ("openeval", "split", whole, "--public", tmp_path / "p.json", "--held-out", tmp_path / "h.json",
             "--embargo", EMBARGO)  # fmt: skip
    assert run(*words, "--items", topics, "--by", "topic", "--table", tmp_path / "s.csv").exit_code == 0
    tags = load_items(tmp_path / "h.json")[0][1]["item_metadata"]["source"]["benchmark_tags"]
    assert "release-strata: benchmark, label, 5 bands of difficulty" in tags
    for more, message in (
        (("--rotation", "1:4"), "is not k/n"),
        (("--by", "topic"), "go together"),
        (("--items", topics, "--by", "author"), "no column 'author'"),
        (("--read", "item=x"), "--read item is unknown"),
    ):
        assert message in str(run(*words, *more).exception)
    for words, message in (
        ((whole,), "not two parts"),
        ((whole, whole, "--parts", topics), "not two parts"),
        ((whole, "--parts", topics), "no row has the id"),  # which is alpha/alpha_... where there are two benchmarks
        ((whole, "--parts", tmp_path / "s.csv", "--part", "where"), "no covariate 'where'"),
        ((whole, whole), "in both parts"),
        ((whole, whole, "--picture", tmp_path / "x.txt"), "is no picture"),
    ):
        assert message in str(run("openeval", "drift", *words).exception)
