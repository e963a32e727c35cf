from __future__ import annotations

import doctest

import pytest

from psychoeval import wording
from psychoeval.wording import shorten, some, some_of


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ((), ""),
        (("a",), "'a'"),
        (tuple("abcde"), "'a', 'b', 'c', 'd', 'e'"),
        (tuple("abcdef"), "'a', 'b', 'c', 'd', 'e' and 1 more"),
        ((3, "q'1", "\ud800"), "3, \"q'1\", '\\ud800'"),
    ],
)
def test_the_first_few_are_named_and_the_others_counted(ids: tuple[object, ...], told: str) -> None:
    assert some(ids) == told


def test_long_ids_are_cut() -> None:
    assert shorten("x" * 60) == "x" * 60
    assert some(["x" * 61]) == repr("x" * 57 + "...")


def test_phrases_that_are_all_shown_have_no_rest() -> None:
    assert some_of(["a: 1", "b: 2"], 2, "; ") == "a: 1; b: 2"
    assert some_of(["a: 1", "b: 2"], 3, "; ") == "a: 1; b: 2; and 1 more"


def test_examples() -> None:
    assert doctest.testmod(wording).failed == 0
