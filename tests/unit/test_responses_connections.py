"""Components, what would join them, and what hangs by one item or person: by hand and by taking each out in turn."""

from __future__ import annotations

import json

import numpy as np

import psychoeval as pe
from psychoeval.responses.connections import connections
from psychoeval.responses.connectivity import components
from psychoeval.responses.screening import screen

NAN = float("nan")


def blocks(*shapes: tuple[int, int], empty_items: int = 0, empty_persons: int = 0) -> np.ndarray:
    """Return scores of blocks of persons and items that share nothing, and rows and columns without responses."""
    rng = np.random.default_rng(1)
    n, j = sum(s[0] for s in shapes) + empty_persons, sum(s[1] for s in shapes) + empty_items
    out, row, column = np.full((n, j), NAN), 0, 0
    for persons, items in shapes:
        out[row : row + persons, column : column + items] = rng.integers(0, 2, (persons, items))
        row, column = row + persons, column + items
    return out


def test_two_components_are_named_with_what_would_join_them() -> None:
    scores = blocks((4, 4), (3, 4))
    scores[:4, :4] = [
        [1, 1, 0, 0],
        [1, 1, 0, 1],
        [1, 0, 0, 0],
        [1, 0, 0, 1],
    ]  # 1 and 3 are constant
    scores[4:, 4:] = [[1, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 1]]
    found = connections(pe.Responses.from_array(scores))
    assert not found.is_connected
    assert [len(p.person_ids) for p in found.parts] == [4, 3]
    assert found.parts[0].linking_items[:2] == ("item-2", "item-4")
    assert found.parts[1].linking_persons[0] == "person-6"  # 2 of 4 right: of middle ability
    assert "person-5" not in found.parts[1].linking_persons[:2]  # all right
    (remedy,) = found.remedies
    assert "To join component 2 to component 1" in remedy
    for name in ("'item-2'", "'item-4'", "'item-5'", "'person-6'"):
        assert name in remedy
    assert "2 components" in found.problem
    assert "not comparable" in found.problem


def test_items_that_most_have_run_are_proposed_first() -> None:
    scores = blocks((4, 3), (2, 2))
    scores[:4, :3] = [[1, NAN, 1], [0, NAN, 0], [1, 1, 1], [0, 0, NAN]]  # 4, 2 and 3 persons, half right or more
    assert connections(pe.Responses.from_array(scores)).parts[0].linking_items == ("item-1", "item-3", "item-2")


def test_each_of_three_components_is_joined_to_the_largest() -> None:
    found = connections(pe.Responses.from_array(blocks((2, 3), (5, 3), (3, 3))))
    assert [p.number for p in found.parts] == [1, 2, 3]
    assert [r.partition(":")[0] for r in found.remedies] == [
        "To join component 1 to component 2", "To join component 3 to component 2",
    ]  # fmt: skip


def test_an_isolated_person_is_a_component_and_one_without_responses_in_none() -> None:
    found = connections(pe.Responses.from_array(blocks((3, 3), (1, 2), empty_items=2, empty_persons=1)))
    assert [len(p.person_ids) for p in found.parts] == [3, 1]
    assert found.parts[1].linking_persons == ("person-4",)
    assert found.without_responses == ("person-5",)
    assert found.never_run == ("item-6", "item-7")
    proposed = {i for p in found.parts for i in p.linking_items}
    assert not proposed & set(found.never_run)
    json.dumps(found.to_dict(), allow_nan=False)


def test_many_components_are_counted_and_a_few_named() -> None:
    found = connections(pe.Responses.from_array(blocks(*[(2, 2)] * 9)))
    assert found.remedies[-1] == "4 more components are to be joined in the same way."
    assert found.problem.count("persons (") == 4


def test_one_item_that_two_groups_share_is_a_weak_link() -> None:
    scores = blocks((3, 4), (3, 4))
    scores[3:, 3] = [1, 0, 1]
    found = connections(pe.Responses.from_array(scores))
    assert found.is_connected
    (link,) = found.weak_links or ()
    assert (link.kind, link.id) == ("item", "item-4")
    assert link.sides == (("person-1", "person-2", "person-3"), ("person-4", "person-5", "person-6"))
    warning = next(f for f in screen(pe.Responses.from_array(scores)).warnings if f.kind == "weak_link")
    assert warning.ids == ("item-4",)
    assert "Item 'item-4' alone links 3 persons" in warning.sentence


def test_one_person_that_two_groups_share_is_a_weak_link() -> None:
    scores = blocks((3, 4), (3, 4))
    scores[0, 4:] = [1, 0, 1, 1]
    (link,) = connections(pe.Responses.from_array(scores)).weak_links or ()
    assert (link.kind, link.id) == ("person", "person-1")
    assert [len(s) for s in link.sides] == [3, 2]


def test_two_items_in_common_are_no_weak_link() -> None:
    scores = blocks((3, 4), (3, 4))
    scores[3:, 2:4] = 1
    assert connections(pe.Responses.from_array(scores)).weak_links == ()


def falls_apart(scores: np.ndarray, axis: int, k: int) -> bool:
    """Whether persons of one component are in several without row or column k, counting those with responses left."""
    before = components(pe.Responses.from_array(scores)).person_component
    rest = scores.copy()
    rest[(slice(None), k) if axis else k] = NAN
    after = components(pe.Responses.from_array(rest)).person_component
    pairs = {(b, a) for b, a in zip(before.tolist(), after.tolist(), strict=True) if a >= 0}
    return len(pairs) > len({b for b, _ in pairs})


def test_weak_links_are_those_found_by_taking_each_out() -> None:
    kinds = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = np.where(rng.random((11, 9)) < 0.22, rng.integers(0, 2, (11, 9)), NAN)
        scores[0, 0] = 1.0
        found = {(w.kind, w.id) for w in connections(pe.Responses.from_array(scores)).weak_links or ()}
        persons = {("person", f"person-{k + 1}") for k in range(11) if falls_apart(scores, 0, k)}
        items = {("item", f"item-{k + 1}") for k in range(9) if falls_apart(scores, 1, k)}
        assert found == persons | items
        kinds += [kind for kind, _ in found]
    assert kinds.count("item") > 20
    assert kinds.count("person") > 5
