"""Ctrl-C in the middle of a native search: raised, or answered with where the search stands."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.errors import ConvergenceWarning, SettingsError
from psychoeval.registry import make_estimator
from tests.unit.test_mml import responses

#: Estimator, and what it calls in every iteration.
SEARCHES = [
    ("map", "psychoeval.estimators.native.map_steps.newton_direction"),
    ("mml", "psychoeval.estimators.native.mml_search.em_map"),
    ("random-item", "psychoeval.estimators.native.random_item_search._line_search"),
    ("vi", "psychoeval.estimators.native.variational_search.extrapolated"),
]
every_search = pytest.mark.parametrize(("name", "called"), SEARCHES)


def interrupt(monkeypatch: pytest.MonkeyPatch, called: str, at: int) -> None:
    module, _, function = called.rpartition(".")
    given = getattr(__import__(module, fromlist=[function]), function)
    calls = itertools.count(1)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == at:
            raise KeyboardInterrupt
        return given(*args, **kwargs)

    monkeypatch.setattr(called, interrupted)


@every_search
def test_the_iterations_so_far_are_returned(name: str, called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pe.fit(responses(60, 20), name, model="2PL")
    interrupt(monkeypatch, called, 4)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = pe.fit(responses(60, 20), name, model="2PL", on_interrupt="return")
    assert found.convergence.status == "interrupted"
    assert 1 <= found.convergence.iterations < whole.convergence.iterations
    assert any(f"Interrupted after {found.convergence.iterations} iterations" in w for w in found.convergence.warnings)
    # Some way to the answer already, and not the answer.
    assert np.corrcoef(found.abilities.estimate, whole.abilities.estimate)[0, 1] > 0.95
    assert not np.allclose(found.abilities.estimate, whole.abilities.estimate, atol=1e-12, rtol=0)


@every_search
def test_ctrl_c_raises_where_nothing_else_was_asked_for(
    name: str, called: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, called, 2)
    with pytest.raises(KeyboardInterrupt):
        pe.fit(responses(60, 20), name, model="2PL")


@every_search
def test_other_answers_to_ctrl_c_are_refused(name: str, called: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: on_interrupt='stop' is unknown"):
        make_estimator(name, on_interrupt="stop")
