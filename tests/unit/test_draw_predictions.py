"""Marginal log-likelihoods and replicated scores of draws, against integrals and distributions that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, digamma, expit, gammaln, polygamma

from psychoeval.irt import draw_predictions
from psychoeval.irt.draw_predictions import marginal_log_likelihoods, replicated_scores
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.draws import Draws
from psychoeval.results.predictive import with_log_likelihood, with_replicated_scores

D, N, J = 6, 9, 5


def made(seed: int = 1) -> dict[str, Any]:
    """Counts with missing cells, of which two persons have none but the same ones; items that differ by draw."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(0, 4, size=(N, J))
    successes = rng.binomial(trials, 0.5)
    trials[3], successes[3] = trials[7], successes[7]
    trials[5] = successes[5] = 0
    return {
        "successes": successes.astype(np.uint8),
        "trials": trials.astype(np.uint8),
        "discrimination": np.exp(rng.normal(0, 0.6, size=(D, J))),
        "intercept": rng.normal(0, 1.5, size=(D, J)),
        "guessing": rng.uniform(0.05, 0.4, size=(D, J)),
        "latent_sd": np.exp(rng.normal(0, 0.4, size=D)),
    }


def integrals(given: dict[str, Any]) -> Any:
    """By SciPy's adaptive rule, a person and a draw at a time."""
    out = np.empty((D, N))
    for k in range(D):
        a, d, c, sd = (given[name][k] for name in ("discrimination", "intercept", "guessing", "latent_sd"))

        def density(t: float, i: int, a: Any = a, d: Any = d, c: Any = c, sd: float = sd) -> Any:
            p = c + (1 - c) * expit(a * t + d)
            x, n = given["successes"][i].astype(int), given["trials"][i].astype(int)
            return np.prod(p**x * (1 - p) ** (n - x)) * np.exp(-0.5 * (t / sd) ** 2) / (sd * np.sqrt(2 * np.pi))

        for i in range(N):
            value = quad(density, -12 * sd, 12 * sd, args=(i,), epsabs=0, epsrel=1e-11, limit=400)[0]
            out[k, i] = np.log(value)
    return out


@pytest.mark.parametrize("guessing", ["none", "some", "all"])
def test_log_likelihoods_are_the_integrals(guessing: str) -> None:
    given = made()
    if guessing != "all":
        given["guessing"][:, :: 1 if guessing == "none" else 2] = 0.0
    found = marginal_log_likelihoods(**given)
    np.testing.assert_allclose(found, integrals(given), rtol=0, atol=3e-9)  # the rule's own bound for one item
    assert (found[:, 3] == found[:, 7]).all()
    np.testing.assert_allclose(found[:, 5], 0.0, atol=1e-14)  # nothing was observed


def test_a_steep_item_and_a_far_person_are_integrated_too() -> None:
    given = made()
    given["discrimination"][2, 1] = 60.0  # a step
    given["intercept"][4] = -45.0  # far above all abilities that the distribution makes likely
    given["successes"][0] = given["trials"][0] = 3
    found = marginal_log_likelihoods(**given)
    # quad misses the step where it does not know of it.
    nodes = np.linspace(-80, 80, 2_000_001)
    for k, i in ((2, 1), (4, 0)):
        a, d, c, sd = (given[name][k] for name in ("discrimination", "intercept", "guessing", "latent_sd"))
        total = -0.5 * (nodes / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
        for j in range(J):
            p = c[j] + (1 - c[j]) * expit(a[j] * nodes + d[j])
            x, n = int(given["successes"][i, j]), int(given["trials"][i, j])
            total = total + x * np.log(p) + (n - x) * np.log1p(-np.minimum(p, 1 - 1e-16))
        expected = np.log(np.exp(total - total.max()).sum() * (nodes[1] - nodes[0])) + total.max()
        assert found[k, i] == pytest.approx(expected, abs=1e-7)


def test_blocks_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = made()
    whole = marginal_log_likelihoods(**given)
    scores = {name: given[name] for name in ("trials", "discrimination", "intercept", "guessing")}
    ability = np.random.default_rng(0).normal(size=(D, N))
    drawn = replicated_scores(ability=ability, seed=4, **scores)
    monkeypatch.setattr(draw_predictions, "BLOCK_CELLS", 1)
    np.testing.assert_allclose(marginal_log_likelihoods(**given), whole, rtol=0, atol=3e-9)
    np.testing.assert_array_equal(replicated_scores(ability=ability, seed=4, **scores), drawn)


def test_replicated_scores_have_the_mean_and_variance_of_their_law() -> None:
    given, draws = made(), 20_000
    a, d, c = (given[name][0] for name in ("discrimination", "intercept", "guessing"))
    theta = np.random.default_rng(2).normal(size=N)
    a_all, d_all, c_all = (np.broadcast_to(v, (draws, J)) for v in (a, d, c))
    found, other = (
        replicated_scores(given["trials"], np.broadcast_to(theta, (draws, N)), a_all, d_all, c_all, seed)
        for seed in (3, 4)
    )
    p = c + (1 - c) * expit(theta[:, None] * a + d)
    mean, variance = (given["trials"] * p).sum(axis=1), (given["trials"] * p * (1 - p)).sum(axis=1)
    off = (found.mean(axis=0) - mean)[variance > 0] / np.sqrt(variance[variance > 0] / draws)
    assert np.abs(off).max() < 4.0
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=6 * np.sqrt(2 / draws))
    assert found[:, 5].max() == 0  # took nothing
    assert (other != found).any()


def test_what_the_model_fixes_is_filled_in() -> None:
    given = made()
    part = Responses.from_array(given["successes"], given["trials"])
    values = {
        "ability": np.random.default_rng(0).normal(size=(2, 3, N)),
        "intercept": given["intercept"].reshape(2, 3, J),
        "latent_sd": given["latent_sd"].reshape(2, 3),
    }
    draws = Draws(values=values, person_ids=part.person_ids, item_ids=part.item_ids, sample_stats={}, max_treedepth=10)
    given["discrimination"][:] = 1.0
    given["guessing"][:] = 0.0
    found = with_log_likelihood(draws, part, ItemModel("Rasch"))
    assert found.log_likelihood is not None
    expected = marginal_log_likelihoods(**given)
    np.testing.assert_array_equal(found.log_likelihood, expected.reshape(2, 3, N))
    scored = with_replicated_scores(found, part, ItemModel("Rasch"), 5)
    assert scored.log_likelihood is not None
    assert scored.replicated_scores is not None
    assert (scored.replicated_scores <= given["trials"].sum(axis=1)).all()
    given["guessing"][:] = 0.25
    fixed = with_log_likelihood(draws, part, ItemModel("3PL", guessing=0.25)).log_likelihood
    np.testing.assert_array_equal(fixed, marginal_log_likelihoods(**given).reshape(2, 3, N))


def test_scores_beyond_32_bits_are_kept() -> None:
    trials = np.full((1, 3), 10**9)
    found = replicated_scores(trials, np.full((4, 1), 30.0), np.ones((4, 3)), np.zeros((4, 3)), np.zeros((4, 3)), 1)
    assert (found > 2.99e9).all()
    assert replicated_scores(trials // 2, *(np.zeros((4, k)) for k in (1, 3, 3, 3)), 1).dtype == np.int32


@pytest.mark.parametrize("trials", [10**6, 10**9])
def test_marginal_likelihoods_of_many_trials_are_those_of_a_beta_density(trials: int) -> None:
    """Of one item p^x (1 - p)^(n - x) is a density so narrow that the abilities' is constant on it, nearly."""
    x, n = np.array([[trials // 3], [trials // 20], [0]]), np.array([[trials], [trials], [0]])
    one = np.ones((1, 1))
    found = marginal_log_likelihoods(x, n, one, 0.5 * one, 0.0 * one, np.ones(1))[0]
    k, m = x[:2, 0], (n - x)[:2, 0]
    center = digamma(k) - digamma(m) - 0.5
    bend = 0.5 * (polygamma(1, k) + polygamma(1, m)) * (center**2 - 1)  # the second term, of the normal density's bend
    expected = betaln(k, m) - 0.5 * center**2 - 0.5 * np.log(2 * np.pi) + bend
    rounding = 2.0**-52 * float(gammaln(trials))  # of the reference, a difference of such numbers
    np.testing.assert_allclose(found[:2], expected, atol=1e-6 + rounding, rtol=0)
    assert found[2] == pytest.approx(0.0, abs=1e-9)
