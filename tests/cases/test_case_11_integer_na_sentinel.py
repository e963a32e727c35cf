"""R's integer NA, -2147483648, in a file of responses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import DataError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table

FILE = Path(__file__).parent / "data" / "11" / "responses.csv"


def test_both_cells_are_refused_by_row_column_and_value() -> None:
    with pytest.raises(DataError, match="looks like an R integer NA") as caught:
        read_table(FILE)
    assert caught.value.problem.startswith(f"{FILE}: 2 cells are not 0, 1 or missing: ")
    assert re.findall(r"system '(\w+)', item '(\w+)' \(line (\d), column (\d)\): (-\d+)", caught.value.problem) == [
        ("A", "q3", "2", "4", "-2147483648"),
        ("C", "q2", "4", "3", "-2147483648"),
    ]


def test_the_same_in_an_integer_array() -> None:
    rows = [line.split(",") for line in FILE.read_text().splitlines()[1:]]
    with pytest.raises(DataError, match=r"\(row 1, column 3\): -2147483648, looks like an R integer NA"):
        Responses.from_array(np.array([row[1:] for row in rows], dtype=np.int32))


def test_after_repair_the_counts_are_right(tmp_path: Path) -> None:
    repaired = tmp_path / "repaired.csv"
    repaired.write_text(FILE.read_text().replace("-2147483648", ""))
    responses = read_table(repaired)
    assert responses.n_observed == 22
    assert responses.trials.sum(axis=0).tolist() == [6, 5, 5, 6]
    means = responses.successes.sum(axis=0) / responses.trials.sum(axis=0)
    # q2 is 0 0 . 1 1 0, q3 is . 1 1 0 1 0. A printed mean of .6 for q2 (3/5) is wrong; the file has 2/5.
    np.testing.assert_allclose(means, [3 / 6, 2 / 5, 3 / 5, 4 / 6], atol=1e-12)
    coded = read_table(FILE, coding={-2147483648: None})
    assert coded.sha256 == responses.sha256
