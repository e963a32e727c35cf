"""Diagnostics of draws against R's posterior, and leave-one-out against R's loo (tests/golden/make_posterior.R)."""

import csv
import json

import numpy as np
import pytest

from psychoeval.results.draws import Draws
from psychoeval.results.loo import loo
from psychoeval.results.sampling import diagnose
from psychoeval.results.sampling_figures import Figures, convergence_figures
from tests.gates import needs
from tests.golden import FOLDER, numbers, reference, sha256
from tests.parity.tolerances import LOO, SAMPLING

pytestmark = needs("arviz")

GOLDEN = reference("posterior_draws")
NAMES = list(GOLDEN["figures"])


@pytest.fixture(scope="module")
def values():
    with (FOLDER / "data" / "draws.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[name]) for name in NAMES] for row in rows]).reshape(4, 100, -1)


def test_the_reference_was_made_by_the_script_that_is_here():
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    script = "tests/golden/make_posterior.R"
    assert manifest["further_generators"][script] == sha256(FOLDER.parents[1] / script)


@pytest.mark.parametrize("figure", Figures._fields)
def test_the_figures_are_those_of_posterior(values, figure):
    expected = numbers([GOLDEN["figures"][name][figure] for name in NAMES])
    np.testing.assert_allclose(getattr(convergence_figures(values), figure), expected, rtol=SAMPLING)


def test_r_hat_of_one_chain_is_that_of_posterior(values):
    expected = numbers([GOLDEN["figures"][name]["rhat_one_chain"] for name in NAMES])
    np.testing.assert_allclose(convergence_figures(values[:1]).rhat, expected, rtol=SAMPLING)


def test_a_run_reports_the_same_figures(values):
    draws = Draws(values={"ability": values}, person_ids=NAMES, item_ids=(), sample_stats={}, max_treedepth=10)
    run = diagnose(draws)
    np.testing.assert_allclose(run.rhat["ability"], [GOLDEN["figures"][n]["rhat"] for n in NAMES], rtol=SAMPLING)
    assert run.grade == "do not use"
    assert list(run.suspect_chains) == [2]  # one_chain_still


def test_leave_one_out_is_that_of_loo(values):
    golden = GOLDEN["leave_one_out"]
    which = [k for k, name in enumerate(NAMES) if name.startswith("log_lik")]
    part = values[:, :, which]
    draws = Draws(
        values={"ability": part}, person_ids=[NAMES[k] for k in which], item_ids=(), sample_stats={},
        max_treedepth=10, log_likelihood=part,
    )  # fmt: skip
    found = loo(draws)
    assert golden["relative_ess"] > 1  # so that both smooth the same 60 draws: ArviZ rounds their number down, loo up
    np.testing.assert_allclose(found.elpd_by_person, golden["elpd"], rtol=LOO)
    np.testing.assert_allclose(found.p_loo_by_person, golden["p_loo"], rtol=LOO)
    np.testing.assert_allclose(found.pareto_k, golden["pareto_k"], rtol=LOO)
    np.testing.assert_allclose([found.elpd, found.standard_error], golden["total"], rtol=LOO)
    assert "'log_lik_6'" in found.warnings[0]
