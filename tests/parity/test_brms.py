"""brms against a Stan program written by hand and run by stanli, and against marginal maximum likelihood."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.estimators.brms.estimator import Brms
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.curves import probability
from psychoeval.irt.models import HalfNormal, ItemModel, ItemPopulation, Normal, Priors, resolve_priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.results.sampling_figures import convergence_figures
from tests.gates import check, needs
from tests.parity import tolerances

#: As two_pl_population.stan has them.
PRIORS = Priors(
    population=ItemPopulation(
        mean_difficulty=Normal(0.0, 3.0),
        sd_difficulty=HalfNormal(3.0),
        mean_log_discrimination=Normal(0.0, 1.0),
        sd_log_discrimination=HalfNormal(1.0),
    )
)
#: Our quantity -> the program's, and what it is of it.
NAMES = {
    "ability": ("theta", np.asarray),
    "discrimination": ("log_a", np.exp),
    "difficulty": ("b", np.asarray),
    "mean_difficulty": ("mu_b", np.asarray),
    "sd_difficulty": ("sd_b", np.asarray),
    "mean_log_discrimination": ("mu_log_a", np.asarray),
    "sd_log_discrimination": ("sd_log_a", np.asarray),
}
N_PERSONS, N_ITEMS = 150, 6


def responses() -> Responses:
    """150 x 6 with missing cells, a person who saw nothing and an item that was never run."""
    rng = np.random.default_rng(21)
    p = probability(rng.normal(size=N_PERSONS), rng.lognormal(0.2, 0.35, N_ITEMS), rng.normal(0, 1, N_ITEMS))
    x = (rng.random(p.shape) < p).astype(float)
    x[rng.random(p.shape) < 0.08] = np.nan
    nobody, nothing = np.full((1, N_ITEMS), np.nan), np.full((N_PERSONS + 1, 1), np.nan)
    return Responses.from_array(np.hstack([nothing, np.vstack([nobody, x])]))


@cache
def fitted() -> FitResult:
    """Return the fit, one for this module and for test_stan_brms.py."""
    # 40 s of it are the C++ compiler's, unless the program is in the user's cache.
    fit = Brms(chains=2, warmup=400, samples=600, adapt_delta=0.9, seed=1, n_jobs=2, timeout=600.0)
    return fit.fit(responses(), ItemModel("2PL", PRIORS))


@pytest.fixture(scope="module")
def brms() -> FitResult:
    check("brms")
    return fitted()


def plain_draws(folder: Path) -> dict[str, NDArray[np.float64]]:
    """Return draws (chains, draws, ...) of the program written by hand, over the cells that were run."""
    import stanli

    given = responses()
    row, column = np.nonzero(given.trials[1:, 1:])
    y = given.successes[1:, 1:][row, column]
    data = {"N": N_PERSONS, "J": N_ITEMS, "K": len(row)}
    data |= {"person": (row + 1).tolist(), "item": (column + 1).tolist(), "y": y.astype(int).tolist()}
    (folder / "data.json").write_text(json.dumps(data))
    source = Path(__file__).with_name("two_pl_population.stan").read_text()
    model = stanli.Model(mir=stanli.stan_to_mir(source), data=folder / "data.json", seed=4)
    fit = model.sample(
        chains=4, parallel_chains=2, seed=4, warmup=600, samples=1000, delta=0.9, max_depth=10, refresh=0
    )
    return {name: np.asarray(fit.draws(name)) for name in fit.variables}


@needs("brms", "stanli", "arviz")
def test_the_posterior_is_that_of_a_program_written_by_hand(brms, tmp_path):
    plain = plain_draws(tmp_path)
    assert set(brms.draws.values) == {*NAMES, "intercept"}
    for name, (theirs, transform) in NAMES.items():
        expected = transform(plain[theirs])
        expected = expected.reshape(*expected.shape[:2], -1)
        found = np.atleast_1d(brms.draws.pooled(name).mean(axis=0))
        error = np.hypot(convergence_figures(expected).mcse_mean, np.atleast_1d(brms.sampling.mcse_mean[name]))
        distance = np.abs(found - expected.mean(axis=(0, 1))) / error
        assert distance.max() < tolerances.POSTERIOR_MCSE, name
        spread = np.atleast_1d(brms.draws.pooled(name).std(axis=0)) / expected.std(axis=(0, 1))
        assert np.abs(np.log(spread)).max() < tolerances.POSTERIOR_SPREAD, name


@needs("brms")
def test_the_answer_is_that_of_marginal_maximum_likelihood(brms):
    mml = MML().fit(responses(), ItemModel("2PL", resolve_priors("hierarchical")))
    one, other = brms.abilities, mml.abilities
    seen = np.isfinite(one.estimate)
    assert seen.sum() == N_PERSONS
    assert np.corrcoef(one.estimate[seen], other.estimate[seen])[0, 1] > tolerances.POSTERIOR_CORRELATION
    pairs = [(one.estimate[seen], other.estimate[seen], one.standard_error[seen])]
    errors = brms.item_parameters.standard_errors
    for term in ("discrimination", "intercept"):
        found, expected = getattr(brms.item_parameters, term), getattr(mml.item_parameters, term)
        pairs.append((found[1:], expected[1:], errors[term][1:]))
    for found, expected, error in pairs:
        assert (np.abs(found - expected) / error).max() < tolerances.POSTERIOR_SDS


@needs("brms")
def test_the_fit_says_how_it_was_made(brms):
    provenance = brms.provenance
    assert brms.convergence.status == "sampled"
    assert {"R", "brms", "rstan", "StanHeaders"} <= set(provenance.versions)
    assert (provenance.engine, provenance.bridge, provenance.seed) == ("r", "rscript", 1)
    assert "exp(loga) * (theta - b)" in provenance.call
    assert "generated with brms" in provenance.details["stan_code"]
    assert brms.abilities.status[0] == "no_responses"
    assert brms.item_parameters.status[0] == "no_responses"
    assert np.isnan(brms.item_parameters.intercept[0])
    assert brms.abilities.method == "EAP"
    assert brms.draws.sample_stats["lp"].shape == (2, 600)
    # The log density is a chain's own and moves with its draws: draws out of order would not.
    z = (brms.draws.values["ability"] ** 2).sum(axis=2)
    assert np.corrcoef(z.ravel(), brms.draws.sample_stats["lp"].ravel())[0, 1] < -0.3
