"""Two items hold fewer degrees of freedom than a model has parameters.

The conditional difference of the two, ln(15 / 25) with error sqrt(1 / 15 + 1 / 25), is that of the conditional
estimator: see test_case_26_cml.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import ModelError
from psychoeval.fitting import fit
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "26"


@pytest.mark.parametrize(("model", "parameters"), [("2PL", 4), ("Rasch", 3), ("1PL", 3)])
@pytest.mark.parametrize("name", ["mirt-em", "mirt-mhrm"])
def test_refused_with_the_count_before_r_is_needed(name: str, model: str, parameters: int) -> None:
    sentence = rf"has {parameters} parameters, and the responses only 3 degrees of freedom"
    with pytest.raises(ModelError, match=sentence) as caught:
        fit(read_table(DATA / "responses.csv"), name, model=model)
    assert "ctt" in caught.value.remedy


def test_proportions_need_no_more() -> None:
    responses = read_table(DATA / "responses.csv")
    average = fit(responses, "simple-average").abilities
    assert average is not None
    # 20 neither, 40 one of the two, 40 both.
    assert np.unique(average.estimate, return_counts=True)[0].tolist() == [0, 0.5, 1]
    assert np.unique(average.estimate, return_counts=True)[1].tolist() == [20, 40, 40]
    result = fit(responses, "ctt")
    assert result.item_statistics is not None
    # 40 both, 25 the first only, 15 the second only, 20 neither.
    assert result.item_statistics.proportion_correct == pytest.approx([0.65, 0.55], abs=1e-12)
