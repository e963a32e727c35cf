from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from psychoeval.errors import DisconnectedDataError
from psychoeval.responses.connectivity import components, coverage, require_connected, shared_items
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses

NAN = float("nan")


def masked(mask: np.ndarray) -> Responses:
    return Responses.from_array(np.zeros(mask.shape), mask.astype(int))


def test_complete_data_are_one_component() -> None:
    found = components(load_dataset("swebench-lite"))
    assert found.n == 1
    assert not found.person_component.any()
    assert not found.item_component.any()


def test_two_benchmarks_without_a_bridge() -> None:
    cells = np.full((12, 20), np.nan)
    cells[:6, :10] = 1
    cells[6:, 10:] = 0
    persons = [f"team{'AB'[i // 6]}_{i}" for i in range(12)]
    items = [f"{'algebra' if j < 10 else 'chem'}_{j}" for j in range(20)]
    r = Responses.from_array(cells, person_ids=persons, item_ids=items, person_label="system")
    with pytest.raises(DisconnectedDataError) as caught:
        require_connected(r)
    assert "2 components that have no system and no item in common" in caught.value.problem
    assert "(1) 6 systems ('teamA_0'" in caught.value.problem
    assert "(2) 6 systems ('teamB_6'" in caught.value.problem
    assert "10 items ('chem_10'" in caught.value.problem
    cells[0, 15] = 1
    require_connected(Responses.from_array(cells))


def test_empty_persons_and_items_belong_to_no_component() -> None:
    r = Responses.from_array([[1, NAN, 0], [NAN, NAN, NAN], [0, NAN, 1]])
    found = components(r)
    assert (found.n, found.person_component.tolist(), found.item_component.tolist()) == (1, [0, -1, 0], [0, -1, 0])
    require_connected(r)
    nothing = Responses.from_array([[NAN, NAN]])
    assert components(nothing).n == 0
    require_connected(nothing)


def test_many_components_are_named_in_part() -> None:
    with pytest.raises(DisconnectedDataError, match=r"9 components .*; and 5 more"):
        require_connected(masked(np.eye(9, dtype=bool)))


def test_a_long_chain_is_connected() -> None:
    mask = np.eye(300, dtype=bool) | np.eye(300, k=1, dtype=bool)
    assert components(masked(mask[:, ::-1])).n == 1


@pytest.mark.parametrize("seed", range(30))
def test_against_a_graph_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, j = rng.integers(1, 25, 2)
    mask = rng.random((n, j)) < rng.choice([0.02, 0.06, 0.2])
    rows, columns = np.nonzero(mask)
    graph = coo_array((np.ones(len(rows)), (rows, columns + n)), shape=(n + j, n + j))
    _, labels = connected_components(graph, directed=False)
    found = components(masked(mask))
    ours = np.concatenate([found.person_component, found.item_component])
    used = np.concatenate([mask.any(axis=1), mask.any(axis=0)])
    np.testing.assert_array_equal(ours >= 0, used)
    ours, theirs = ours[used], labels[used]
    np.testing.assert_array_equal(ours[:, None] == ours, theirs[:, None] == theirs)
    assert found.n == len(set(ours.tolist()))


def test_shared_items_are_counted_pair_by_pair() -> None:
    mask = np.random.default_rng(3).random((9, 40)) < 0.5
    expected = [[sum(a and b for a, b in zip(x, y, strict=True)) for y in mask] for x in mask]
    np.testing.assert_array_equal(shared_items(masked(mask)), expected)


def test_coverage_and_the_weakest_link() -> None:
    found = coverage(Responses.from_array([[1, 0, NAN, 1], [0, NAN, NAN, NAN], [NAN, 1, 1, NAN], [NAN] * 4]))
    assert found.fraction == 6 / 16
    assert found.items_per_person.tolist() == [3, 1, 2, 0]
    assert found.persons_per_item.tolist() == [2, 2, 1, 1]
    assert found.linking_items.tolist() == [2, 1, 1, 0]
    assert found.weakest_link == 1
