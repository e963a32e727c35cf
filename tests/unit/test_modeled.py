from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import DataError
from psychoeval.estimators.native.modeled import modeled
from psychoeval.responses.matrix import Responses

NAN = np.nan
#: Items: varied, all right, all wrong, never run, varied. The third person has only the item that is all right, the
#: fourth nothing.
DATA = Responses.from_array([
    [1, 1, 0, NAN, 0],
    [0, 1, 0, NAN, 1],
    [NAN, 1, NAN, NAN, NAN],
    [NAN, NAN, NAN, NAN, NAN],
    [1, NAN, 0, NAN, 1],
])  # fmt: skip
STATUS = ("estimated", "constant_all_1", "constant_all_0", "no_responses", "estimated")


@pytest.mark.parametrize(
    ("constant_items", "items", "persons"),
    [(False, [0, 4], [0, 1, 4]), (True, [0, 1, 2, 4], [0, 1, 2, 4])],
)
def test_chooses_items_that_can_be_estimated_and_persons_who_met_them(constant_items, items, persons) -> None:
    found = modeled(DATA, constant_items=constant_items)
    assert np.flatnonzero(found.items).tolist() == items
    assert np.flatnonzero(found.persons).tolist() == persons
    assert found.item_status == STATUS
    assert found.person_status == ("estimated", "estimated", "extreme_all_1", "no_responses", "estimated")
    assert found.responses is DATA
    np.testing.assert_array_equal(found.part.successes, DATA.successes[np.ix_(persons, items)])
    np.testing.assert_array_equal(found.part.trials, DATA.trials[np.ix_(persons, items)])
    assert found.part.item_ids == tuple(DATA.item_ids[i] for i in items)


def test_fills_back_in_place_with_nan_elsewhere() -> None:
    found = modeled(DATA, constant_items=False)
    np.testing.assert_array_equal(found.fill_items(np.array([1.0, 2.0])), [1, NAN, NAN, NAN, 2])
    np.testing.assert_array_equal(found.fill_persons(np.array([1, 2, 3])), [1, 2, NAN, NAN, 3])
    blocks = found.fill_items(np.arange(8.0).reshape(2, 2, 2))
    assert blocks.shape == (5, 2, 2)
    np.testing.assert_array_equal(blocks[4], [[4, 5], [6, 7]])
    assert np.isnan(blocks[1:4]).all()


def test_complete_data_are_not_copied() -> None:
    data = Responses.from_array([[1, 0], [0, 1], [1, 1]])
    assert modeled(data, constant_items=False).part is data


@pytest.mark.parametrize(
    ("array", "constant_items"), [([[1, 0], [1, 0]], False), ([[NAN, NAN], [NAN, NAN]], True), ([[1, 0]], False)]
)
def test_nothing_to_estimate_is_refused(array, constant_items) -> None:
    with pytest.raises(DataError, match="None of the 2 items can be estimated"):
        modeled(Responses.from_array(array), constant_items=constant_items)


def test_constant_items_take_part_where_they_are_held() -> None:
    found = modeled(Responses.from_array([[1, 0], [1, 0]]), constant_items=True)
    assert found.items.all()
    assert found.item_status == ("constant_all_1", "constant_all_0")
