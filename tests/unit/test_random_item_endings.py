"""How a search of `random-item` ends where it can go no further, or may not."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from benchmarks._interval_worlds import simulate
from psychoeval.errors import PsychoevalWarning
from psychoeval.estimators.native import random_item_search
from psychoeval.fitting import fit
from psychoeval.results.fit_result import FitResult


def three_pl(seed: int, **settings: float) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsychoevalWarning)
        return fit(simulate(30, 100, seed, guessing="common").responses, "random-item", model="3PL", **settings)


def test_a_search_that_stands_still_at_the_maximum_has_converged() -> None:
    found = three_pl(99)
    assert found.convergence.status == "converged"
    assert 1e-6 < found.convergence.gradient < 1e-4
    assert any("above the tolerance" in w and "quadrature_points" in w for w in found.convergence.warnings)
    # What more nodes move is far below the errors, which are about .2.
    finer = three_pl(99, quadrature_points=11)
    np.testing.assert_allclose(found.abilities.estimate, finer.abilities.estimate, atol=0.02)
    assert found.statistics["log_evidence"] == pytest.approx(finer.statistics["log_evidence"], abs=0.05)


def test_a_search_that_stands_still_far_from_it_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, given = itertools.count(1), random_item_search._line_search
    monkeypatch.setattr(random_item_search, "STAGES", ())
    monkeypatch.setattr(random_item_search, "_line_search", lambda *a: given(*a) if next(steps) < 4 else None)
    found = three_pl(99)
    assert found.convergence.status == "failed_check"
    assert found.convergence.gradient > 0.01
    assert any("stood still" in f for f in found.convergence.failures)
