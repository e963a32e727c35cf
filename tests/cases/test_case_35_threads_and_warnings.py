"""Worker threads, console noise, R's warnings."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from psychoeval.errors import EngineWarning
from psychoeval.estimators.mirt import estimator as module
from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.choice import BridgeName
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt", "rpy2")
BRIDGES: tuple[BridgeName, ...] = ("rpy2", "rscript")


def responses() -> Responses:
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(80, 1))
    return Responses.from_array((rng.random((80, 6)) < 1 / (1 + np.exp(-theta))).astype(float))


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_fit_from_a_thread_is_silent_and_leaves_signals_alone(
    bridge: BridgeName, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    results: list[FitResult] = []

    def work() -> None:
        results.append(MirtEM(bridge=bridge).fit(responses(), ItemModel("Rasch")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results[0].convergence.status == "converged"
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("bridge", BRIDGES)
def test_what_r_says_is_collected_and_warned_once(
    bridge: BridgeName, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    noisy = f"{tmp_path}/noisy.R"
    original = module.resource("r_scripts", "mirt_job.R").read_text()
    # The fit, with everything R can say put before it.
    original = original.replace(
        '  loadNamespace("mirt")',
        '  warning("hello"); message("by the way"); cat("printed\\n"); loadNamespace("mirt")',
        1,
    )
    with open(noisy, "w") as file:
        file.write(original)
    from pathlib import Path

    monkeypatch.setattr(module, "resource", lambda folder, name: Path(noisy))
    with pytest.warns(EngineWarning, match="mirt warned: hello") as caught:
        result = MirtEM(bridge=bridge).fit(responses(), ItemModel("Rasch"))
    assert len(caught) == 1
    assert result.convergence.messages == ("by the way", "hello", "printed")
    assert capfd.readouterr() == ("", "")
