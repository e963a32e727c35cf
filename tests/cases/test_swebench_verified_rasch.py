"""A bundled data set of AI systems as it is: 35 systems, 500 tasks, 110 of which nobody solved."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.datasets import load_dataset
from tests.gates import needs

pytestmark = needs("mirt")


def test_rasch_by_mirt() -> None:
    found = fit(load_dataset("swebench-verified"), "mirt-em", model="Rasch", standard_errors="none")
    # Taken from mirt 1.48 called in R; printed with three decimals.
    assert found.log_likelihood == pytest.approx(-4822.553, abs=1e-3)
    assert found.convergence.status == "converged"
    items = found.item_parameters
    assert items is not None
    usable = np.array(items.status) == "estimated"
    assert usable.sum() == 390
    assert (np.isfinite(items.difficulty) == usable).all()
    assert set(np.array(items.status)[~usable]) == {"constant_all_0"}
    assert found.n_parameters == 391
