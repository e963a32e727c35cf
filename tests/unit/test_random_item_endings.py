"""How a search of `random-item` ends where it can go no further, or may not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from benchmarks._interval_worlds import simulate
from psychoeval.errors import PsychoevalWarning
from psychoeval.fitting import fit
from psychoeval.results.fit_result import FitResult


def three_pl(seed: int, **settings: float) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsychoevalWarning)
        return fit(simulate(30, 100, seed, guessing="common").responses, "random-item", model="3PL", **settings)


@pytest.mark.parametrize("seed", [7, 99])
def test_a_search_that_stands_still_at_the_maximum_has_converged(seed: int) -> None:
    found = three_pl(seed)
    assert found.convergence.status == "converged"
    assert 1e-6 < found.convergence.gradient < 1e-4
    assert any("above the tolerance" in w and "quadrature_points" in w for w in found.convergence.warnings)
    # What more nodes move is far below the errors, which are about .2.
    finer = three_pl(seed, quadrature_points=11)
    np.testing.assert_allclose(found.abilities.estimate, finer.abilities.estimate, atol=0.02)
    assert found.statistics["log_evidence"] == pytest.approx(finer.statistics["log_evidence"], abs=0.05)


def test_a_search_that_stands_still_far_from_it_has_failed() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((300, 3)) < 0.7).astype(float)
    x[:, 0] = np.where(np.arange(300) % 2, x[:, 1], x[:, 0])
    from psychoeval.responses.matrix import Responses

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsychoevalWarning)
        found = fit(Responses.from_array(x), "random-item", model="2PL")
    print(found.convergence)
