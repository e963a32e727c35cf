"""12 systems, 200 items: Rasch and priors by marginal maximum likelihood, and the free 2PL refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from psychoeval.errors import ConvergenceWarning, ModelError
from psychoeval.fitting import fit
from psychoeval.irt.models import LogNormal, Normal, Priors
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "27"
EXPECTED = json.loads((DATA / "expected_mml.json").read_text())
PRIORS = Priors(discrimination=LogNormal(0.0, 0.5), intercept=Normal(0.0, 2.0))


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(DATA / "responses.csv")


def varying(responses: Responses) -> Responses:
    right = responses.successes.sum(axis=0)
    return responses.select(items=np.flatnonzero((right > 0) & (right < responses.n_persons)))


def test_rasch_is_mirts_and_finer(responses: Responses) -> None:
    found = fit(responses, "mml", model="Rasch", priors="none", tolerance=1e-8)
    items, abilities, latent = found.item_parameters, found.abilities, found.latent_distribution
    assert items is not None
    assert abilities is not None
    assert latent is not None
    assert found.convergence.status == "converged"
    assert sum(s.startswith("constant") for s in items.status) == 12
    # mirt's 61 nodes, .2 apart, are coarser than these posteriors (SD .17): 3.8e-5 in the variance, 4e-6 in the
    # log-likelihood, 5e-4 in the abilities.
    assert latent.sd**2 == pytest.approx(EXPECTED["rasch_variance"], abs=1e-4)
    assert found.log_likelihood == pytest.approx(EXPECTED["rasch_log_likelihood"], abs=1e-5)
    assert abilities.estimate == pytest.approx(EXPECTED["rasch_eap"], abs=1e-3)
    alone = varying(responses)
    d = items.intercept[np.isfinite(items.intercept)]
    fine = normal_grid(8001, 8.0, sd=latent.sd)
    exactly = marginal_posterior(alone.successes, alone.trials, np.ones(188), d, np.zeros(188), fine)
    assert found.log_likelihood == pytest.approx(exactly.log_marginal.sum(), abs=1e-7)
    assert abilities.estimate == pytest.approx(exactly.mean, abs=1e-7)


def test_the_common_slope_is_that_of_a_fine_grid(responses: Responses) -> None:
    # .7969 on 15 nodes, .937 on 31.
    found = fit(responses, "mml", model="1PL", priors="none", tolerance=1e-8).item_parameters
    assert found is not None
    assert np.nanmax(found.discrimination) == pytest.approx(EXPECTED["one_pl_slope"], abs=5e-5)


def test_priors_keep_the_2pl_and_the_ranking(responses: Responses) -> None:
    # mirt takes the 188 items that vary; with these priors the others have finite parameters here.
    found = fit(varying(responses), "mml", model="2PL", priors=PRIORS, tolerance=1e-8)
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    assert found.convergence.status == "converged"
    ends = [items.discrimination.min(), items.discrimination.max()]
    assert ends == pytest.approx(EXPECTED["prior_slopes"], abs=2e-5)
    assert abilities.estimate == pytest.approx(EXPECTED["prior_eap"], abs=3e-4)
    rho = spearmanr(abilities.estimate, EXPECTED["theta_true"]).statistic
    assert rho == pytest.approx(EXPECTED["prior_spearman"], abs=1e-9)
    assert found.label == "mml 2PL [a ~ LN(0, 0.5), d ~ N(0, 2)]"


def test_constant_items_get_finite_flagged_values_and_leave_the_ranking(responses: Responses) -> None:
    found = fit(responses, "mml", model="2PL", priors=PRIORS, tolerance=1e-8)
    items, abilities = found.item_parameters, found.abilities
    assert items is not None
    assert abilities is not None
    assert np.isfinite(items.intercept).all()
    assert sum(s.startswith("constant") for s in items.status) == 12
    rho = spearmanr(abilities.estimate, EXPECTED["theta_true"]).statistic
    assert rho == pytest.approx(EXPECTED["prior_spearman"], abs=1e-9)


def test_the_free_2pl_needs_an_override_and_is_not_believed(responses: Responses) -> None:
    with pytest.raises(ModelError, match="400 parameters for 12 systems and 200 items"):
        fit(responses, "mml", model="2PL", priors="none")
    with pytest.warns(ConvergenceWarning, match="ran away"):
        found = fit(
            responses, "mml", model="2PL", priors="none", allow_free_2pl=True, slopes="free", max_iterations=50,
            standard_errors="none",
        )  # fmt: skip
    assert found.item_parameters is not None
    assert not found.convergence.believed
    assert sum(s == "runaway" for s in found.item_parameters.status) >= 10
