"""Both ways to R give the same bits, survive hostile surroundings, and can be stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import EngineFailedError, FitTimeoutError
from psychoeval.estimators.mirt.contract import JobSettings, make_job
from psychoeval.estimators.mirt.design import make_design
from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rpy2 import Rpy2Bridge
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.rbridge.protocol import RBridge
from psychoeval.resources import resource
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt", "rpy2")
BRIDGES = [Rpy2Bridge(), RscriptBridge()]
#: Differ between any two runs.
CLOCKS = {"fit_seconds", "scoring_seconds"}


def responses(n: int = 200, j: int = 6, *, missing: bool = True, seed: int = 5) -> Responses:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    x = (rng.random((n, j)) < 1 / (1 + np.exp(-(theta[:, None] - np.linspace(-1, 1, j))))).astype(float)
    if missing:
        x[rng.random(x.shape) < 0.05] = np.nan
    return Responses.from_array(x)


def a_job(given: Responses, model: ItemModel | None = None, **changes: Any) -> dict[str, Any]:
    model = model or ItemModel("2PL")
    settings: dict[str, Any] = {
        "method": "EM", "tolerance": 1e-4, "max_iterations": 500, "quadrature_points": 61, "quadrature_limit": 6.0,
        "se_type": "Oakes", "ability_method": "EAP", "seed": None, "engine_options": {},
    }  # fmt: skip
    return make_job(make_design(given, model), model, JobSettings(**settings)) | changes


def run(bridge: RBridge, job: dict[str, Any]) -> dict[str, Any]:
    return bridge.call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", job)


def same_bits(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_bits(one[k], other[k]) for k in one)
    return bool(one == other)


def fits_equal(one: FitResult, other: FitResult) -> bool:
    def parts(fit: FitResult) -> list[Any]:
        items, abilities = fit.item_parameters, fit.abilities
        assert items is not None
        assert abilities is not None
        return [
            items.discrimination, items.intercept, items.guessing, items.covariance, items.joint_covariance,
            abilities.estimate, abilities.standard_error, np.array([fit.log_likelihood, fit.log_likelihood_error or 0]),
        ]  # fmt: skip

    return all(same_bits(a, b) for a, b in zip(parts(one), parts(other), strict=True))


ECHO = """
echo <- function(job) list(
  x = job$x, na = c(1, NA, NaN, Inf, -Inf, 5e-324), text = c("a", "\\u00e9\\U0001f600", NA), truth = c(TRUE, NA, FALSE),
  whole = c(1L, NA), nothing = NULL, inner = list(y = job$inner$y, b = job$inner$b), bare = list(1, "a"),
  missing = sum(is.na(job$x)))
"""


def test_every_bit_and_every_kind_crosses_both_ways(tmp_path: Path) -> None:
    script = tmp_path / "echo.R"
    script.write_text(ECHO)
    x = np.concatenate([np.random.default_rng(0).normal(size=1000), [np.nan, -0.0, 5e-324, 1 / 3, np.inf]])
    job = {"x": x, "inner": {"y": ["\"q'", "new\nline", "é😀"], "b": True}}
    replies = [bridge.call(script, "echo", job) for bridge in BRIDGES]
    assert same_bits(*replies)
    reply = replies[0]
    assert same_bits(reply["x"], x)
    assert reply["missing"].tolist() == [1.0]
    # R's NA is the not-a-number with 1954 in it; NaN is another.
    assert reply["na"].view(np.uint64)[1:3].tolist() == [0x7FF00000000007A2, 0x7FF8000000000000]
    assert reply["text"] == ["a", "é😀", None]
    assert reply["truth"] == [True, None, False]
    np.testing.assert_array_equal(reply["whole"], [1.0, np.nan])
    assert reply["nothing"] is None
    assert reply["inner"] == {"y": ["\"q'", "new\nline", "é😀"], "b": [True]}
    assert reply["bare"][1] == ["a"]


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (ItemModel("Rasch"), {}),
        (ItemModel("2PL"), {}),
        (ItemModel("3PL"), {"ability_method": "MAP"}),
        (
            ItemModel("2PL"),
            {
                "method": "MHRM",
                "se_type": "MHRM",
                "tolerance": 1e-3,
                "max_iterations": 50,
                "seed": 7,
                "arguments": {"draws": 100},
            },
        ),
    ],
)
def test_replies_are_equal_to_the_last_bit(model: ItemModel, changes: dict[str, Any]) -> None:
    job = a_job(responses(), model, **changes)
    one, other = ({k: v for k, v in run(bridge, job).items() if k not in CLOCKS} for bridge in BRIDGES)
    assert "error" not in one
    assert same_bits(one, other)


def test_results_are_equal_to_the_last_bit() -> None:
    given, model = responses(), ItemModel("2PL")
    one, other = (MirtEM(bridge=name).fit(given, model) for name in ("rpy2", "rscript"))
    assert (one.provenance.bridge, other.provenance.bridge) == ("rpy2", "rscript")
    assert fits_equal(one, other)


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda b: b.name)
def test_missing_cells_are_counted_on_the_other_side(bridge: RBridge) -> None:
    given = responses()
    lost = run(bridge, a_job(given, n_missing=3))
    assert f"with {given.trials.size - given.n_observed} missing cells instead of 3" in lost["error"][0]
    wrong = a_job(given)
    wrong["x"][0] = -2147483648
    assert "neither 0, 1 nor missing" in run(bridge, wrong)["error"][0]


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda b: b.name)
def test_the_sentinel_in_a_reply_is_refused(bridge: RBridge, tmp_path: Path) -> None:
    script = tmp_path / "sentinel.R"
    script.write_text("sentinel <- function(job) list(ability = c(0, -2147483648))")
    with pytest.raises(EngineFailedError, match=r"-2147483648 at ability\[2\]"):
        bridge.call(script, "sentinel", {})


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda b: b.name)
def test_errors_of_r_are_one_python_error(bridge: RBridge, tmp_path: Path) -> None:
    script = tmp_path / "broken.R"
    script.write_text("broken <- function(job) stop('a bad thing')")
    with pytest.raises(EngineFailedError, match="a bad thing"):
        bridge.call(script, "broken", {})


@pytest.mark.parametrize("name", ["rpy2", "rscript"])
def test_names_from_data_stay_here(name: Any, tmp_path: Path) -> None:
    target = tmp_path / "pwned"
    ids = [f'"); file.create("{target}"); ("', "a b'c\"", "new\nline\t`x`", "é😀 \\", "x" * 10_000, "i1"]
    given = responses()
    named = Responses(given.successes, given.trials, tuple(f"{i}{ids[0]}" for i in given.person_ids), tuple(ids))
    fit = MirtEM(bridge=name).fit(named, ItemModel("Rasch"))
    assert fit.item_parameters is not None
    assert fit.item_parameters.item_ids == tuple(ids)
    assert not target.exists()
    plain = MirtEM(bridge=name).fit(given, ItemModel("Rasch"))
    assert fits_equal(fit, plain)


def test_the_generator_of_the_session_is_restored(tmp_path: Path) -> None:
    script = tmp_path / "seeded.R"
    script.write_text(
        f"source({json.dumps(str(resource('r_scripts', 'mirt_job.R')))}, local = TRUE)\n"
        "seeded <- function(job) {\n"
        "  set.seed(11); expected <- runif(3)\n"
        "  set.seed(11); run_mirt_job(job); after <- runif(3)\n"
        "  rm('.Random.seed', envir = globalenv()); run_mirt_job(job)\n"
        "  list(expected = expected, after = after, left = exists('.Random.seed', globalenv(), inherits = FALSE))\n"
        "}\n"
    )
    job = a_job(
        responses(), method="MHRM", se_type=None, tolerance=1e-2, max_iterations=20, seed=3, arguments={"draws": 100}
    )
    reply = RscriptBridge().call(script, "seeded", job)
    assert same_bits(reply["expected"], reply["after"])
    assert reply["left"] == [False]


def test_same_seed_same_answer_and_the_seed_is_kept() -> None:
    given, model = responses(), ItemModel("Rasch")
    options = {"draws": 100, "technical": {"BURNIN": 20, "SEMCYCLES": 20}}
    one = MirtMHRM(seed=5, engine_options=options).fit(given, model)
    assert fits_equal(one, MirtMHRM(seed=5, engine_options=options).fit(given, model))
    other = MirtMHRM(engine_options=options).fit(given, model)
    assert other.provenance.seed is not None
    assert not fits_equal(one, other)
    assert fits_equal(other, MirtMHRM(seed=other.provenance.seed, engine_options=options).fit(given, model))


@pytest.mark.parametrize("name", ["rpy2", "rscript"])
def test_eight_threads_give_eight_right_answers(name: Any) -> None:
    sets = [responses(seed=seed) for seed in range(8)]
    model = ItemModel("Rasch")
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda r: MirtEM(bridge=name).fit(r, model), sets))
    for given, fit in zip(sets, together, strict=True):
        assert fits_equal(fit, MirtEM(bridge="rpy2").fit(given, model))


def test_profiles_do_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile = tmp_path / "profile.R"
    profile.write_text(f"cat('noise\\n'); file.create({json.dumps(str(tmp_path / 'ran'))}); options(digits = 3)")
    fits = RscriptBridge()
    expected = run(fits, a_job(responses()))
    monkeypatch.setenv("R_PROFILE", str(profile))
    monkeypatch.setenv("R_PROFILE_USER", str(profile))
    (tmp_path / "ran").unlink(missing_ok=True)
    from psychoeval.availability import require

    require("r")  # the probe may run them: it looks at R as the user has it
    (tmp_path / "ran").unlink(missing_ok=True)
    reply = run(fits, a_job(responses()))
    assert not (tmp_path / "ran").exists()
    assert same_bits(reply["a"], expected["a"])


def long_job() -> dict[str, Any]:
    """A fit that takes minutes."""
    job = a_job(responses(1000, 60, missing=False), se_type=None)
    return job | {"tolerance": 1e-14, "max_iterations": 100_000, "quadrature_points": 2001}


def running_r() -> list[int]:
    """Return the processes below this one that are R."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if b"run_job.R" in command and state[0] != "Z" and int(state[1]) == os.getpid():
                found.append(int(entry.name))
    return found


def test_time_limit_on_a_real_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    began = time.monotonic()
    with pytest.raises(FitTimeoutError, match="within 6 s"):
        RscriptBridge().call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", long_job(), timeout=6.0)
    assert time.monotonic() - began < 12
    assert running_r() == []
    assert list(tmp_path.iterdir()) == []


def test_r_killed_in_the_middle_of_a_fit() -> None:
    failures: list[Exception] = []

    def work() -> None:
        try:
            run(RscriptBridge(), long_job())
        except EngineFailedError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 30
    while not (children := running_r()) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    os.kill(children[0], signal.SIGKILL)
    thread.join(20)
    assert [type(f) for f in failures] == [EngineFailedError]
    assert "killed by SIGKILL" in str(failures[0])


IN_A_PROCESS = """
import json, signal, sys
from pathlib import Path
import numpy as np
from psychoeval.rbridge.bridge_rpy2 import Rpy2Bridge
from psychoeval.resources import resource
job = json.loads(Path(sys.argv[1]).read_text())
job["x"] = np.array(job["x"], dtype=float)
signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
bridge = Rpy2Bridge()
short = {**job, "tolerance": 1e-2, "quadrature_points": 31, "max_iterations": 20}
bridge.call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", short)
print("started", flush=True)
try:
    bridge.call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", job)
except KeyboardInterrupt:
    print("interrupted", flush=True)
reply = bridge.call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", short)
print("again", len(reply["a"]), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_signals_interrupt_r_inside_python(tmp_path: Path, number: signal.Signals) -> None:
    job = long_job()
    job["x"] = [float(v) for v in job["x"]]
    (tmp_path / "job.json").write_text(json.dumps(job))
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(IN_A_PROCESS), str(tmp_path / "job.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(3)
        sent = time.monotonic()
        process.send_signal(number)
        assert process.stdout.readline() == "interrupted\n"
        waited = time.monotonic() - sent
        rest, errors = process.communicate(timeout=60)
    assert waited < 10
    assert rest == "again 60\n"
    assert errors == ""
