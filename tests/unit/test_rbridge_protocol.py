from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import EngineFailedError, SettingsError
from psychoeval.rbridge.protocol import INTEGER_NA, integers, plain_job, refuse_sentinel


def test_numbers_of_every_type_go_as_doubles() -> None:
    job = plain_job({"i": 3, "f": 0.5, "list": [1, 2.5], "counts": np.array([1, 2], dtype=np.uint8)})
    for value in job.values():
        assert isinstance(value, np.ndarray)
        assert value.dtype == np.float64
    assert isinstance(job["counts"], np.ndarray)
    assert job["counts"].tolist() == [1.0, 2.0]


def test_text_truth_none_and_mappings() -> None:
    assert plain_job({"t": "EM", "b": True, "n": None, "m": {"s": ["a", "b"]}}) == {
        "t": ["EM"],
        "b": [True],
        "n": None,
        "m": {"s": ["a", "b"]},
    }


@pytest.mark.parametrize("value", [object(), [], [1, "a"], [True, 2], np.zeros((2, 2)), np.array(["a"]), 1j])
def test_what_r_has_no_vector_for_is_refused_by_name(value: object) -> None:
    with pytest.raises(SettingsError, match="odd="):
        plain_job({"odd": value})


def test_integer_na_becomes_nan() -> None:
    read = integers(np.array([1, INTEGER_NA, 0], dtype=np.int32))
    np.testing.assert_array_equal(read, [1.0, np.nan, 0.0])


def test_the_sentinel_among_doubles_is_refused_where_it_stands() -> None:
    refuse_sentinel({"a": np.array([0.0, 1.0]), "b": {"c": np.array([np.nan])}})
    with pytest.raises(EngineFailedError, match=r"ability\[2\]"):
        refuse_sentinel({"scores": {"ability": np.array([0.0, -2147483648.0])}})
