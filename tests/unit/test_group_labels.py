"""Labels of groups, in every form in which they are given: by id where there are ids, never by chance."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.agreement.concurrent import calibrate_together
from psychoeval.agreement.concurrent_data import find_codes
from psychoeval.diagnostics import dif
from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses

IDS = ["s0", "s1", "s2", "s3"]
DATA = Responses.from_array([[1, 0], [0, 1], [1, 1], [0, 0]], person_ids=IDS)
LABELS = ["new", "old", "old", "new"]
BY_ID = pd.Series(LABELS, index=IDS)


@pytest.mark.parametrize(
    "groups",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        pd.Series(LABELS),
        pd.Series(LABELS, index=[0, 1, 2, 3]),
        pd.Categorical(LABELS),
        dict(zip(IDS, LABELS, strict=True)),
        OrderedDict(zip(IDS[::-1], LABELS[::-1], strict=True)),
        BY_ID,
        BY_ID.iloc[[2, 0, 3, 1]],
        BY_ID.iloc[::-1].to_frame("kind"),
    ],
)
def test_labels_find_their_persons(groups: Any) -> None:
    codes, names = find_codes(DATA, groups)
    assert [names[k] for k in codes] == LABELS


def test_a_series_is_matched_by_id_in_dif_and_calibration() -> None:
    rng = np.random.default_rng(1)
    x = (rng.random((120, 6)) < 0.5).astype(int)
    data = Responses.from_array(x)
    labels = ["a"] * 60 + ["b"] * 60
    shuffled = pd.Series(labels, index=list(data.person_ids)).iloc[rng.permutation(120)]
    np.testing.assert_array_equal(dif(data, shuffled).tested.p, dif(data, labels).tested.p)
    one, two = (calibrate_together(data, g, "Rasch", reference="a", n_threads=1) for g in (shuffled, labels))
    assert one.person_groups == two.person_groups
    assert one.log_likelihood == two.log_likelihood


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (pd.Series(LABELS, index=[3, 1, 0, 2]), "groups names '3', '1', '0', '2': no such person"),
        (pd.Series(LABELS, index=["s0", "s1", "s2", "x"]), "groups names 'x'"),
        (BY_ID.iloc[:3], "no label for 1 persons: 's3'"),
        (pd.Series(LABELS, index=["s0", "s1", "s2", "s2"]), "index of groups has 's2' more than once"),
        (pd.Series(LABELS[:3]), "groups names '0', '1', '2'"),
        (pd.DataFrame({"a": LABELS, "b": LABELS}), "a table of 2 columns: 'a', 'b'"),
        (LABELS[:3], "3 group labels for 4 persons"),
        ({"s0": "a", "z": "b"}, "groups names 'z'"),
        ({"a", "b", "c", "d"}, "groups is a set"),
        (np.array([LABELS]), r"groups is a ndarray of shape \(1, 4\)"),
        (5, "groups is a int"),
        (None, "groups is a NoneType"),
        (b"abcd", "groups is a bytes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(groups: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        find_codes(DATA, groups)


def test_a_mapping_of_many_persons_takes_no_square_of_their_number() -> None:
    """A set of all ids built once for each of them took 10 s of 8,000 persons."""
    n = 20_000
    data = Responses.from_array(np.tile([1, 0], (n, 1)))
    groups = {i: k % 2 for k, i in enumerate(data.person_ids)}
    start = time.process_time()
    find_codes(data, groups)
    assert time.process_time() - start < 5
