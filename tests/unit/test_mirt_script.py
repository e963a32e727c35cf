from __future__ import annotations

import re
import subprocess
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import SettingsError
from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM
from psychoeval.estimators.mirt.script import _name, _r
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.responses.matrix import Responses
from tests.gates import needs

HOSTILE = ['q"); system("touch pwned', "new\nline", "back\\slash'", "x" * 10_000, "émoji 😀"]


def responses(trials: int = 1) -> Responses:
    x = np.random.default_rng(0).integers(0, trials + 1, (12, 5)).astype(float)
    x[0, 0] = np.nan
    return Responses.from_array(x, None if trials == 1 else trials, item_ids=HOSTILE)


def test_names_appear_in_comments_only() -> None:
    script = MirtEM().describe(responses(), ItemModel("2PL"))
    code = [line for line in script.splitlines() if not line.startswith("#")]
    assert not any(word in line for line in code for word in ("system", "pwned", "moji", "xxx", "slash"))
    assert script.isascii()
    assert script.count("# i") == 5


def test_the_data_and_the_call_are_in_the_script() -> None:
    script = MirtEM(seed=3, engine_options={"technical": {"BURNIN": 10}, "optimizer": "BFGS"}).describe(
        responses(), ItemModel("3PL", guessing=0.2)
    )
    assert len(re.findall(r'^  "[01-]{5}",?$', script, re.MULTILINE)) == 12
    call = next(line for line in script.splitlines() if line.startswith("fit <- "))
    assert call == (
        'fit <- mirt(data = X, model = 1, itemtype = "2PL", method = "EM", SE = TRUE, SE.type = "Oakes", guess = 0.2, '
        "quadpts = 61, TOL = 0.0001, verbose = FALSE, technical = list(NCYCLES = 500, theta_lim = c(-6.0, 6.0), "
        'set.seed = 3, BURNIN = 10), optimizer = "BFGS")'
    )


def test_priors_counts_and_the_missing_seed_are_said() -> None:
    model = ItemModel("1PL", Priors(log_discrimination=Normal(0, 0.5)))
    script = MirtEM().describe(responses(trials=2), model)
    assert 'mirt.model("F = 1-10\\nCONSTRAIN = (1-2, d)' in script
    assert "customK = rep(2, 10)" in script
    assert 'start$prior.type[prior] <- "lnorm"' in script
    assert "wrong sign" not in script
    assert "No seed is given" in MirtMHRM(seed=None).describe(responses(), ItemModel("1PL"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(1e-05), "1e-05"),
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.bool_(True), "TRUE"),
        (float("nan"), "NaN"),
        (float("inf"), "Inf"),
        (-np.inf, "-Inf"),
        (np.array([1.5, np.nan]), "c(1.5, NaN)"),
        ([True, False], "c(TRUE, FALSE)"),
        ({"a b": np.float64(2.0), "c": None}, 'list("a b" = 2.0, c = NULL)'),
    ],
)
def test_values_are_r_literals(value: Any, text: str) -> None:
    assert _r(value) == text


@pytest.mark.parametrize(("key", "text"), [
    ("a.b_1", "a.b_1"), ("if", '"if"'), ("TRUE", '"TRUE"'), ("2x", '"2x"'), ("_x", '"_x"'), (".2", '".2"'),
    (".x", ".x"), ("a-b", '"a-b"'), ("\u00e9", '"\\u00e9"'),
])  # fmt: skip
def test_names_that_r_would_not_read_are_quoted(key: str, text: str) -> None:
    assert _name(key) == text


@pytest.mark.parametrize("value", [{1, 2}, object(), "nul\0", {"": 1}, 1j])
def test_what_r_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(SettingsError):
        _r(value)


def test_numpy_settings_make_a_script_that_names_no_numpy() -> None:
    script = MirtEM(tolerance=np.float64(1e-5), engine_options={"technical": {"x": np.float64(np.inf)}}).describe(
        responses(), ItemModel("2PL", Priors(intercept=Normal(np.float64(0.0), np.float64(2.0))))
    )
    assert "TOL = 1e-05" in script
    assert "x = Inf" in script
    assert "np." not in script


@needs("r")
def test_r_reads_every_script_literal() -> None:
    text = "\u00e9 \U0001f600 \\ud83d \n\t\" '"
    code = f"x <- {_r({'if': text, 'v': [np.float64(1e-5), np.inf]})}; cat(utf8ToInt(x$`if`)); cat('|', x$v)"
    said = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=True).stdout
    points, numbers = said.split("|")
    assert [int(p) for p in points.split()] == [ord(c) for c in text]
    assert numbers.split() == ["1e-05", "Inf"]
