"""StanHMC: settings, names, places, ties, failures of chains."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.estimators.stan.backend import Sampled, SamplingJob
from psychoeval.estimators.stan.estimator import StanHMC
from psychoeval.estimators.stan.posterior import read_draws
from psychoeval.fitting import fit
from psychoeval.irt.models import ItemModel, resolve_priors
from psychoeval.responses.matrix import Responses
from tests.gates import needs

MODEL = ItemModel("2PL", resolve_priors("population"))
CHAINS, DRAWS = 2, 50


class Canned:
    """A back end whose draws are known."""

    name = "canned"

    def __init__(self, failed: dict[int, str] | None = None) -> None:
        self.failed = failed or {}
        self.job: SamplingJob | None = None

    def sample(self, job: SamplingJob) -> Sampled:
        self.job = job
        rng, n, j = np.random.default_rng(5), job.data["N"], job.data["J"]
        shape = (CHAINS, DRAWS)
        a, d = np.exp(0.1 * rng.normal(size=(*shape, j))), rng.normal(np.linspace(-1, 1, j), 0.1, (*shape, j))
        values = {
            "theta": rng.normal(np.linspace(-1, 1, n), 0.3, (*shape, n)),
            "a": a,
            "d": d,
            "b": -d / a,
            "z": rng.normal(size=(*shape, n)),
            **{name: rng.lognormal(size=(*shape, 1)) for name in ("mu_b", "sd_b", "mu_log_a", "sd_log_a")},
        }
        stats = {"diverging": np.zeros(shape, bool), "lp": rng.normal(size=shape), "energy": rng.normal(size=shape)}
        return Sampled(values, stats, (1, 3), self.failed, (1.0, 1.0), (1.0, 1.0), {"canned": "1"}, "said")


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> Canned:
    backend = Canned({2: "it was killed."})
    monkeypatch.setattr("psychoeval.estimators.stan.estimator.choose_backend", lambda name: backend)
    return backend


def responses() -> Responses:
    """Five persons with responses, the first and the last alike, and one without; an item that was never run."""
    x = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]], dtype=float)
    x = np.insert(x, 1, np.nan, axis=1)
    return Responses.from_array(np.insert(x, 2, np.nan, axis=0))


def test_estimates_are_posterior_means_in_the_places_of_all(canned: Canned) -> None:
    found = StanHMC(chains=3, seed=4).fit(responses(), MODEL)
    assert found.item_parameters is not None
    assert found.abilities is not None
    assert found.draws is not None
    kept = [0, 2, 3]
    d = found.draws.pooled("intercept")
    assert found.item_parameters.intercept[kept] == pytest.approx(d.mean(axis=0))
    assert np.isnan(found.item_parameters.intercept[1])
    assert found.item_parameters.status[1] == "no_responses"
    a = found.draws.pooled("discrimination")
    assert found.item_parameters.covariance is not None
    assert found.item_parameters.covariance[2, :2, :2] == pytest.approx(np.cov(a[:, 1], d[:, 1]))
    assert found.item_parameters.covariance[2, 2].tolist() == [0, 0, 0]
    assert found.abilities.status[2] == "no_responses"
    theta = found.draws.pooled("ability")
    assert found.abilities.estimate[[1, 3, 4]] == pytest.approx(theta.mean(axis=0)[1:4])
    assert found.abilities.standard_error is not None
    assert found.abilities.standard_error[[1, 3, 4]] == pytest.approx(theta.std(axis=0, ddof=1)[1:4])
    assert found.abilities.uncertainty == "items estimated"  # each draw has items of its own


def test_persons_with_the_same_responses_are_tied(canned: Canned) -> None:
    found = StanHMC(chains=3).fit(responses(), MODEL)
    assert found.abilities is not None
    assert found.draws is not None
    theta = found.draws.pooled("ability")[:, [0, 4]]
    assert found.abilities.estimate[0] == found.abilities.estimate[5] == pytest.approx(theta.mean())
    assert found.abilities.standard_error is not None
    # Their draws as one sample: the divisor is of each half.
    assert found.abilities.standard_error[0] == pytest.approx(theta.std(), rel=0.02)


def test_a_chain_that_failed_is_said_and_left_out(canned: Canned) -> None:
    found = StanHMC(chains=3).fit(responses(), MODEL)
    assert found.draws is not None
    assert found.draws.chain_numbers == (1, 3)
    assert "Chain 2 of 3 failed and is left out: it was killed." in found.convergence.warnings
    assert found.provenance.details["chains_used"] == [1, 3]


def test_the_job_holds_the_settings(canned: Canned) -> None:
    StanHMC(chains=3, warmup=7, samples=9, seed=4, n_jobs=2, timeout=50.0).fit(responses(), MODEL)
    job = canned.job
    assert job is not None
    assert (job.program, job.chains, job.warmup, job.samples, job.seed) == ("two_pl", 3, 7, 9, 4)
    assert (job.n_jobs, job.timeout, len(job.inits or ())) == (2, 50.0, 3)
    StanHMC(inits="random").fit(responses(), MODEL)
    assert canned.job is not None
    assert canned.job.inits is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"chains": 0}, {"samples": 3}, {"warmup": True}, {"seed": -1}, {"adapt_delta": 1.0}, {"inits": "map"},
        {"backend": "pystan"}, {"log_likelihood": 1}, {"timeout": 0.0}, {"n_jobs": 0}, {"output_dir": 3},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_taken_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        StanHMC(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_sampled_is_refused_before_anything_runs(canned: Canned) -> None:
    with pytest.raises(ModelError, match="needs a model"):
        StanHMC().fit(responses())
    with pytest.raises(ModelError, match="stan-hmc"):
        StanHMC().fit(responses(), ItemModel("2PL"))
    with pytest.raises(DataError, match="too few"):
        StanHMC().fit(responses().select(persons=np.arange(2)), MODEL)
    assert canned.job is None


def test_describe_shows_the_program() -> None:
    text = StanHMC(seed=9).describe(responses(), MODEL)
    assert "seed=9" in text
    assert "sum_softplus" in text
    assert "#include" not in text


@needs("stanli", "arviz")
def test_a_recovery_with_log_likelihood_and_replicated_scores() -> None:
    rng = np.random.default_rng(2)
    theta, d = rng.normal(size=60), rng.normal(size=12)
    x = Responses.from_array((rng.random((60, 12)) < 1 / (1 + np.exp(-theta[:, None] - d))).astype(float))
    found = fit(x, "stan-hmc", model="Rasch", chains=2, warmup=300, samples=600, log_likelihood=True,
                replicated_scores=True)  # fmt: skip
    assert found.draws is not None
    assert found.draws.log_likelihood is not None
    assert found.draws.replicated_scores is not None
    assert found.item_parameters is not None
    assert found.item_parameters.standard_errors is not None
    off = (found.item_parameters.intercept - d) / found.item_parameters.standard_errors["intercept"]
    assert np.abs(off).max() < 3.5  # of twelve
    # Each person's marginal log-likelihood at the posterior means, on another grid.
    again = fit(x, "mml", model="Rasch")
    assert found.draws.log_likelihood.mean(axis=(0, 1)).sum() == pytest.approx(again.log_likelihood, abs=12.0)
    assert found.draws.log_likelihood.sum(axis=2).max() < again.log_likelihood  # none is above the maximum
    scores = found.draws.replicated_scores
    assert scores.mean() == pytest.approx(found.draws.observed_scores.mean(), abs=0.3)
    assert found.sampling is not None
    assert not found.sampling.suspect_chains


def test_replicated_scores_of_more_than_32_bits_are_kept() -> None:
    part = Responses.from_array(np.full((1, 3), 10**9), np.full((1, 3), 10**9))
    for score, kind in ((3e9, np.int64), (2e9, np.int32)):
        scores = np.full((1, 4, 1), score)
        values = {"theta": np.zeros((1, 4, 1)), "score_rep": scores}
        draws = read_draws(Sampled(values, {}, (1,), {}, (1.0,), (1.0,), {}, ""), part, MODEL, 10)
        assert draws.replicated_scores is not None
        assert draws.replicated_scores.dtype == kind
        assert (draws.replicated_scores == score).all()
