"""DIF by logistic regression against R's glm: all items' regressions, missing cells, counts with overdispersion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval import Responses
from psychoeval.diagnostics import dif
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.parity import tolerances

pytestmark = needs("r")


def simulated(trials: int, seed: int, missing: float = 0.1) -> tuple[Responses, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], [70, 50])
    theta = rng.normal(-0.5 * group, 1.0)
    logit = theta[:, None] * rng.uniform(0.6, 1.6, 10) - rng.normal(0, 0.8, 10)
    logit[group == 1, 2] += 0.9
    logit += rng.normal(0, 0.8, logit.shape) * (trials > 1)  # interaction: overdispersion
    n = np.where(rng.random(logit.shape) < missing, 0, trials)
    return Responses.from_array(rng.binomial(n, 1 / (1 + np.exp(-logit))), n), group


@pytest.mark.parametrize(("trials", "item"), [(1, 2), (1, 7), (6, 2), (6, 7)])
def test_tests_and_estimates_are_glms(trials: int, item: int) -> None:
    responses, group = simulated(trials, seed=trials)
    table = dif(responses, group.tolist(), purify=False, reference="0").to_frame()
    x, n = responses.successes.astype(float), responses.trials.astype(float)
    seen = n[:, item] > 0
    score = x.sum(1)[seen]
    job = {
        "score": score,
        "x": x[seen, item],
        "n": n[seen, item],
        "m": (x.sum(1) / n.sum(1))[seen],
        "group": group[seen].astype(float),
    }
    reply = RscriptBridge().call(Path(__file__).with_name("dif_glm.R"), "dif_glm", job, timeout=120)
    alone, uniform, full = reply["deviance"]
    row = table.iloc[item]
    near: dict[str, Any] = {"rel": tolerances.GLM, "abs": tolerances.GLM}
    assert row.status == "tested"
    assert (row.statistic, row.df) == pytest.approx((alone - full, 2), **near)
    assert (row.chi2_uniform, row.chi2_nonuniform) == pytest.approx((alone - uniform, uniform - full), **near)
    phi = max(reply["phi"][0], 1.0) if trials > 1 else 1.0
    assert row.log_odds_ratio == pytest.approx(reply["uniform"][0], **near)
    assert (row.high - row.low) / (2 * 1.959963984540054) == pytest.approx(reply["uniform"][1] * phi**0.5, **near)
    assert row.slope_difference == pytest.approx(reply["slope"][0], **near)
    assert row.slope_difference_error == pytest.approx(reply["slope"][1] * phi**0.5, **near)
    if trials > 1:
        assert row.overdispersion == pytest.approx(phi, **near)
        assert row.overdispersion > 1  # not cut off at 1: the comparison says something
        assert (row.statistic / 2 / phi, row.p) == pytest.approx(tuple(reply["f"]), **near)


def test_mantel_haenszel_is_mantelhaens() -> None:
    responses, group = simulated(1, seed=3, missing=0.0)
    table = dif(responses, group.tolist(), purify=False, reference="0").to_frame()
    x, n, score = responses.successes.astype(float), np.ones(len(group)), responses.proportions.sum(axis=1)
    for item in (2, 7):
        job = {"score": score, "x": x[:, item], "n": n, "m": score, "group": group.astype(float)}
        reply = RscriptBridge().call(Path(__file__).with_name("dif_glm.R"), "dif_glm", job, timeout=120)
        row = table.iloc[item]
        ours = (row.mh_log_odds_ratio, row.mh_low, row.mh_high, row.mh_p)
        assert ours == pytest.approx(tuple(reply["mh"]), rel=tolerances.CLASSICAL * 10)
