from __future__ import annotations

import pytest

from psychoeval.availability import EngineState
from psychoeval.errors import SettingsError
from psychoeval.rbridge import choice


@pytest.mark.parametrize(("there", "expected"), [(True, "rpy2"), (False, "rscript")])
def test_auto_takes_rpy2_where_it_starts(monkeypatch: pytest.MonkeyPatch, there: bool, expected: str) -> None:
    monkeypatch.setattr(choice, "started", lambda: False)
    monkeypatch.setattr(choice, "probe", lambda engine: EngineState(engine, there))
    assert choice.choose_bridge().name == expected


def test_a_started_r_is_not_probed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(engine: str) -> EngineState:
        raise AssertionError(engine)

    monkeypatch.setattr(choice, "started", lambda: True)
    monkeypatch.setattr(choice, "probe", never)
    assert choice.choose_bridge("auto").name == "rpy2"
    assert choice.choose_bridge("rscript").name == "rscript"
    assert choice.choose_bridge("auto", timeout=3.0).name == "rscript"


@pytest.mark.parametrize(("bridge", "timeout"), [("pipe", None), ("rpy2", 3.0), ("auto", 0.0), ("auto", -1.0)])
def test_what_does_not_go_together_is_refused(bridge: str, timeout: float | None) -> None:
    with pytest.raises(SettingsError):
        choice.check_bridge(bridge, timeout)
