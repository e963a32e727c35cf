from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from psychoeval.agreement.matching import match
from psychoeval.agreement.ranks import compare_ranks, rank_words, ranks, ranks_within, tied_groups
from tests.unit.agreement_fits import ids


def tau_by_counting(x: np.ndarray, y: np.ndarray) -> float:
    signs = [(np.sign(x[i] - x[k]), np.sign(y[i] - y[k])) for i, k in combinations(range(len(x)), 2)]
    untied_x, untied_y = sum(s != 0 for s, _ in signs), sum(t != 0 for _, t in signs)
    return float(sum(s * t for s, t in signs) / np.sqrt(untied_x * untied_y))


def test_matching_is_by_id() -> None:
    found = match(("a", "b", "c"), ("d", "c", "a"))
    assert found.ids == ("a", "c")
    assert list(found.first) == [0, 2]
    assert list(found.second) == [2, 1]
    assert found.only_first == ("b",)
    assert found.only_second == ("d",)
    assert not found.is_complete
    assert match((), ("a",)).n == 0


def test_tau_b_with_ties_and_infinities() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, 40).astype(float), rng.integers(0, 6, 40).astype(float)
    expected = tau_by_counting(x, y)
    found = compare_ranks(ids("p", 40), x, y)
    assert found is not None
    assert found.kendall == pytest.approx(expected, abs=1e-14)
    x[x == 5], x[x == 0] = np.inf, -np.inf
    infinite = compare_ranks(ids("p", 40), x, y)
    assert infinite is not None
    assert infinite.kendall == pytest.approx(expected, abs=1e-14)


def test_search_noise_is_a_tie_and_a_real_difference_is_not() -> None:
    values = np.array([0.0707955, 0.0707938, 1.0, -1.0, 0.0717])
    assert list(tied_groups(values)) == [1, 1, 3, 0, 2]
    assert tied_groups(np.array([])).size == 0


def test_ranks_start_at_the_best() -> None:
    np.testing.assert_array_equal(ranks(np.array([0.5, np.nan, 2.0, -np.inf, 0.5])), [2.5, np.nan, 1, 4, 2.5])


def test_overlap_at_the_top_by_hand() -> None:
    first = np.array([9.0, 8, 7, 6, 5, 4])
    second = np.array([8.0, 9, 5, 7, 4, 6])
    found = compare_ranks(ids("p", 6), first, second)
    assert found is not None
    assert found.top == {1: 0.0, 3: pytest.approx(2 / 3), 5: pytest.approx(4 / 5)}
    # p5 goes from 6 to 4, p2 from 3 to 5; then ties in order.
    assert found.moved[:2] == (("p2", 3.0, 5.0), ("p5", 6.0, 4.0))


def test_everybody_tied_with_the_kth_is_at_the_top() -> None:
    first, second = np.array([3.0, 3, 1, 0]), np.array([3.0, 2, 1, 0])
    found = compare_ranks(ids("p", 4), first, second)
    assert found is not None
    assert found.top == {1: 0.5, 3: 1.0}


def test_single_ties_and_few_persons() -> None:
    assert compare_ranks(("a", "b"), np.array([1.0, np.nan]), np.array([1.0, 2.0])) is None
    flat = compare_ranks(("a", "b"), np.array([1.0, 1.0]), np.array([1.0, 2.0]))
    assert flat is not None
    assert flat.kendall is None
    assert flat.spearman is None


def test_ranks_of_components_are_compared_within_each() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 6, 14).astype(float), rng.integers(0, 6, 14).astype(float)
    component = np.repeat([1, 2, 3, -1], [6, 5, 2, 1])
    found = compare_ranks(ids("p", 14), x, y, component)
    assert found is not None
    above = concordant = untied_x = untied_y = 0
    for i, k in combinations(range(13), 2):
        if component[i] == component[k]:
            dx, dy = np.sign(x[i] - x[k]), np.sign(y[i] - y[k])
            concordant += dx * dy
            untied_x, untied_y, above = untied_x + abs(dx), untied_y + abs(dy), above + 1
    assert above == 15 + 10 + 1
    assert found.kendall == pytest.approx(concordant / np.sqrt(untied_x * untied_y), abs=1e-12)
    assert (found.n, found.top) == (13, {})
    assert max(max(a, b) for _, a, b in found.moved) <= 6
    # The same order within each, and nothing else: perfect agreement whatever stands across.
    shifted = x + 100 * component
    same = compare_ranks(ids("p", 14), x, shifted, component)
    assert same is not None
    assert (same.kendall, same.spearman) == pytest.approx((1.0, 1.0))


def test_equal_ranks_of_two_components_are_no_tie() -> None:
    component = np.array([1, 1, 1, 2, 2, -1])
    found = ranks_within(np.array([3.0, 3.0, 1.0, 5.0, 4.0, 9.0]), component)
    assert rank_words(found, component) == ["1-2", "1-2", "3", "1", "2", ""]
