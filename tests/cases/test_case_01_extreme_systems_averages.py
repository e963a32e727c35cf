"""Systems that answer everything wrong, half, and everything right, under the estimators on the proportion scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses

DATA = Path(__file__).parent / "data" / "01" / "responses.csv"


@pytest.fixture(scope="module")
def responses() -> Responses:
    table = pd.read_csv(DATA, index_col=0)
    return Responses.from_array(table.to_numpy(), person_ids=list(table.index), item_ids=list(table.columns))


@pytest.mark.parametrize("name", ["simple-average", "additive", "ctt"])
def test_finite_scores_with_errors_and_status(responses: Responses, name: str) -> None:
    abilities = fit(responses, name).abilities
    assert abilities is not None
    assert abilities.person_ids == ("floor", "half", "ceiling")
    assert abilities.estimate == pytest.approx([0, 0.5, 1], abs=1e-12)
    assert abilities.status == ("extreme_all_0", "estimated", "extreme_all_1")
    assert abilities.standard_error is not None
    assert np.all(abilities.standard_error > 0)


def test_intervals_of_the_average_stay_on_the_scale(responses: Responses) -> None:
    table = fit(responses, "simple-average").ability_table()
    # R 4.2.2: prop.test(c(0, 20), 20, correct = FALSE).
    assert table["conf_low"].iloc[[0, 2]].tolist() == pytest.approx([0, 0.838874841947], abs=1e-9)
    assert table["conf_high"].iloc[[0, 2]].tolist() == pytest.approx([0.161125158053, 1], abs=1e-9)
    half = np.sqrt(20 / 19 * 0.25 / 20)
    assert table["std_error"].iloc[1] == pytest.approx(half, rel=1e-12)
