from __future__ import annotations

import numpy as np
import pytest

from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status, screen, trailing_failures

NAN = float("nan")


def test_status_of_items_and_persons() -> None:
    cells = [[1, 0, 1, NAN, NAN], [1, 0, 0, NAN, NAN], [NAN, NAN, NAN, NAN, NAN], [1, NAN, NAN, NAN, 1]]
    r = Responses.from_array(cells)
    assert item_status(r) == ("constant_all_1", "constant_all_0", "estimated", "no_responses", "constant_all_1")
    assert person_status(r) == ("estimated", "estimated", "no_responses", "extreme_all_1")
    assert person_status(Responses.from_array([[0, NAN], [1, 0]])) == ("extreme_all_0", "estimated")


def test_status_with_counts() -> None:
    r = Responses.from_array([[3, 2, 0], [1, 1, 0]], trials=[[3, 3, 2], [1, 1, 300]])
    assert item_status(r) == ("constant_all_1", "estimated", "constant_all_0")
    assert person_status(r) == ("estimated", "estimated")


def test_sums_of_small_types_do_not_wrap() -> None:
    r = Responses.from_array(np.ones((256, 256), dtype=np.uint8))
    assert set(item_status(r)) == {"constant_all_1"}
    assert set(person_status(r)) == {"extreme_all_1"}


def test_findings_name_all_ids() -> None:
    r = Responses.from_array([[1, 0, 1, NAN], [NAN] * 4, [0, 0, 1, NAN]], person_ids=["A", "B", "C"])
    found = {(f.kind, f.ids): f for f in screen(r).findings}
    assert found[("never_run_items", ("item-4",))].severity == "warning"
    assert found[("empty_persons", ("B",))].severity == "warning"
    assert found[("constant_items", ("item-2",))].sentence == "1 item that no person got right: 'item-2'."
    assert found[("constant_items", ("item-3",))].severity == "note"
    assert all(f.severity == "warning" for f in screen(r).warnings)


def test_duplicates_need_enough_cells_to_be_telling() -> None:
    cells = np.random.default_rng(4).integers(0, 2, (30, 25))
    cells[:, 7] = cells[:, 2]
    cells[9] = cells[1]
    found = {f.kind: f.ids for f in screen(Responses.from_array(cells)).findings}
    assert found["duplicate_items"] == ("item-8",)
    assert found["duplicate_persons"] == ("person-10",)
    assert "duplicate_items" not in {f.kind for f in screen(Responses.from_array(cells[:10])).findings}
    same_successes = Responses.from_array(cells, trials=np.where(np.arange(25) == 7, 2, 1) * np.ones((30, 1), int))
    assert "duplicate_items" not in {f.kind for f in screen(same_successes).findings}


def test_ids_that_look_alike() -> None:
    r = Responses.from_array([[1, 0], [0, 1], [1, 1]], person_ids=["GPT-4", "gpt-4 ", "other"])
    (finding,) = [f for f in screen(r).findings if f.kind == "similar_ids"]
    assert finding.ids == ("GPT-4", "gpt-4 ")


def test_components_and_thin_overlap() -> None:
    r = Responses.from_array([[1, 0, NAN, NAN], [0, 1, NAN, NAN], [NAN, NAN, 1, 0]])
    found = {f.kind: f for f in screen(r).warnings}
    assert "2 components" in found["disconnected"].sentence
    assert found["thin_overlap"].ids == ("person-3",)


def test_coverage_and_what_two_persons_share_are_said() -> None:
    r = Responses.from_array([[1, 0, 1, NAN], [0, 1, NAN, NAN], [NAN, NAN, 1, 0]])
    found = {f.kind: f for f in screen(r).findings}
    assert found["coverage"].severity == "note"
    assert found["coverage"].sentence == (
        "Coverage: a person was given 2 to 3 items, an item to 1 to 2 persons. Two persons share 0 to 2 items, 1 in "
        "the middle; 1 of 3 pairs share none."
    )
    assert "coverage" not in {f.kind for f in screen(load_dataset("lsat6")).findings}


def test_length_of_the_last_run() -> None:
    r = Responses.from_array([[1, 0, 0, NAN], [0, 0, 0, 0], [1, 1, 1, 1], [NAN, 1, NAN, 0], [NAN] * 4])
    assert trailing_failures(r).tolist() == [2, 4, 0, 1, 0]


def simulated(rng: np.random.Generator) -> np.ndarray:
    """200 x 60 under Rasch, items in order of difficulty: runs of failures at the end are the rule."""
    ability, difficulty = rng.normal(size=(200, 1)), np.sort(rng.normal(size=60))
    return (rng.random((200, 60)) < 1 / (1 + np.exp(difficulty - ability))).astype(int)


def test_hard_items_at_the_end_are_no_alarm_and_items_not_reached_are() -> None:
    rng = np.random.default_rng(5)
    false, hits, flagged = 0, 0, 0
    for _ in range(20):
        cells = simulated(rng)
        false += sum(len(f.ids) for f in screen(Responses.from_array(cells)).findings if f.kind == "trailing_failures")
        stopped = rng.choice(200, 20, replace=False)
        cells[stopped, 30:] = 0
        ids = {i for f in screen(Responses.from_array(cells)).findings if f.kind == "trailing_failures" for i in f.ids}
        hits += len(ids & {f"person-{i + 1}" for i in stopped})
        flagged += len(ids)
    assert false <= 4  # .05 expected in each of 20 sets: P(more than 4) = .004
    assert hits > 150  # of 400
    assert flagged - hits <= 4


@pytest.mark.parametrize(("name", "constant"), [("swebench-verified", 110), ("swebench-lite", 90)])
def test_real_data(name: str, constant: int) -> None:
    r = load_dataset(name)
    (finding,) = [f for f in screen(r).findings if f.kind == "constant_items"]
    assert len(finding.ids) == constant
    assert "no system got right" in finding.sentence
    assert screen(r).warnings == ()
