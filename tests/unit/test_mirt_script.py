from __future__ import annotations

import re

import numpy as np

from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.responses.matrix import Responses

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
    script = MirtMHRM(seed=None).describe(responses(trials=2), model)
    assert 'mirt.model("F = 1-10\\nCONSTRAIN = (1-2, d)' in script
    assert "customK = rep(2, 10)" in script
    assert 'start$prior.type[prior] <- "lnorm"' in script
    assert "No seed is given" in script
