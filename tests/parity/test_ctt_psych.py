"""Classical statistics against R's psych (complete data; r_scripts/make_golden.R)."""

import numpy as np
import pytest

from psychoeval.estimators.native.ctt import CTT
from tests.golden import data, reference
from tests.parity import tolerances


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_item_statistics_and_alpha_are_psychs(name):
    expected = reference(f"psych_{name}")
    found = CTT().fit(data(name))
    exactly = {"rel": 0, "abs": tolerances.CLASSICAL}
    statistics = found.item_statistics
    assert statistics.item_ids == tuple(expected["items"])
    assert statistics.proportion_correct == pytest.approx(np.array(expected["proportion_correct"]), **exactly)
    assert statistics.item_rest_correlation == pytest.approx(np.array(expected["item_rest_correlation"]), **exactly)
    assert found.statistics["alpha"] == pytest.approx(expected["alpha"], **exactly)


@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_alpha_without_each_item_is_psychs(name):
    expected = reference(f"psych_{name}")["alpha_if_dropped"]
    responses = data(name)
    found = [CTT().fit(responses.select(items=np.arange(5) != j)).statistics["alpha"] for j in range(5)]
    assert found == pytest.approx(expected, rel=0, abs=tolerances.CLASSICAL)
