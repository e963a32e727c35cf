from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import DataError, ModelError
from psychoeval.estimators.mirt.design import MAX_COUNT_COLUMNS, make_design
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses

NAN = float("nan")
RASCH = ItemModel("Rasch")


def test_constant_and_unseen_stay_behind_in_place() -> None:
    x = [
        # right  a  wrong  b  never  c
        [1, 0, 0, 1, NAN, 1],
        [1, 1, 0, 0, NAN, NAN],
        [1, NAN, 0, NAN, NAN, NAN],
        [1, 1, 0, 1, NAN, 1],
        [1, 0, 0, 0, NAN, 0],
        [NAN, NAN, NAN, NAN, NAN, NAN],
    ]
    design = make_design(Responses.from_array(x), RASCH)
    assert design.item_status == (
        "constant_all_1", "estimated", "constant_all_0", "estimated", "no_responses", "estimated",
    )  # fmt: skip
    # The third has responses, but on constant items only.
    assert design.person_status == (
        "estimated", "estimated", "no_responses", "extreme_all_1", "extreme_all_0", "no_responses",
    )  # fmt: skip
    assert design.items.tolist() == [1, 3, 5]
    assert design.persons.tolist() == [0, 1, 3, 4]
    np.testing.assert_array_equal(design.matrix, [[0, 1, 1], [1, 0, NAN], [1, 1, 1], [0, 0, 0]])
    assert not design.expanded


def test_counts_become_columns_with_the_same_totals() -> None:
    successes = np.array([[2, 1], [0, 0], [3, 0], [1, 1]])
    trials = np.array([[3, 1], [2, 1], [3, 0], [1, 1]])
    design = make_design(Responses.from_array(successes, trials), RASCH)
    assert design.columns.tolist() == [3, 1]
    assert design.first_columns.tolist() == [0, 3]
    assert design.expanded
    first = design.matrix[:, :3]
    assert np.nansum(first, axis=1).tolist() == [2, 0, 3, 1]
    assert np.count_nonzero(~np.isnan(first), axis=1).tolist() == [3, 2, 3, 1]
    np.testing.assert_array_equal(design.matrix[:, 3], [1, 0, NAN, 1])


def test_counts_beyond_the_limit_are_refused_by_name() -> None:
    rng = np.random.default_rng(1)
    trials = MAX_COUNT_COLUMNS // 4
    with pytest.raises(ModelError, match=r"625 of them.*map"):
        make_design(Responses.from_array(rng.integers(0, trials + 1, (20, 5)), trials), RASCH)


def test_nothing_varies() -> None:
    with pytest.raises(DataError, match="None of the 2 items varies"):
        make_design(Responses.from_array([[1, 0], [1, 0]]), RASCH)


@pytest.mark.parametrize(
    ("n_items", "model", "fits"),
    [
        (1, RASCH, False),
        (2, RASCH, False),  # 3 degrees of freedom, 3 parameters
        (2, ItemModel("2PL"), False),
        (3, RASCH, True),
        (3, ItemModel("2PL"), True),
        (3, ItemModel("3PL", guessing="free"), False),  # 7 and 9
        (4, ItemModel("3PL", guessing="free"), True),  # 15 and 12
        (3, ItemModel("3PL", guessing=0.2), True),
        (2000, ItemModel("2PL"), True),
    ],
)
def test_degrees_of_freedom(n_items: int, model: ItemModel, fits: bool) -> None:
    x = np.tile([[0.0], [1.0]], (1, n_items))
    responses = Responses.from_array(x)
    if fits:
        assert len(make_design(responses, model).items) == n_items
    else:
        with pytest.raises(ModelError, match="Too few degrees of freedom"):
            make_design(responses, model)


def test_counts_bring_more_degrees_of_freedom() -> None:
    # 2 items of 2 trials: 9 patterns, 4 parameters.
    responses = Responses.from_array([[0, 1], [2, 1], [1, 2]], 2)
    assert len(make_design(responses, ItemModel("2PL")).items) == 2
