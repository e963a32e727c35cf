"""Marginal log-likelihoods that the Stan programs put out, beside adaptive quadrature: steep items, long tests."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import log_expit

from psychoeval.estimators.stan.source import program_source
from tests.gates import needs

pytestmark = needs("stanli")

#: What the rule can be off by, of one trial of a steep item (see the program); largest measured 5e-9.
TOLERANCE: Final = 2e-7


@pytest.fixture(scope="module")
def by_program() -> Any:
    import stanli

    return stanli.Function("marginal_log_likelihood", stan_code=program_source("three_pl"))


def by_quad(x: NDArray[Any], n: NDArray[Any], a: NDArray[Any], d: NDArray[Any], c: NDArray[Any], sd: float) -> float:
    """Return a person's marginal log-likelihood by adaptive quadrature between the steps of all items."""

    def log_joint(t: Any) -> Any:
        logits = np.multiply.outer(t, a) + d
        with np.errstate(divide="ignore"):
            success = np.logaddexp(np.log(c), np.log1p(-c) + log_expit(logits))
        return (x * success + (n - x) * (np.log1p(-c) + log_expit(-logits))).sum(-1) - 0.5 * (t / sd) ** 2

    near = np.union1d(np.linspace(-20 * sd, 20 * sd, 4001), -d / a)
    values = log_joint(near)
    top = values.max()
    at = np.flatnonzero(values > top - 45)
    ends = near[max(at[0] - 1, 0)], near[min(at[-1] + 1, near.size - 1)]
    steps = np.add.outer(-d / a, [-8, -2, 0, 2, 8] / a.max()).ravel() if a.size < 50 else []
    cuts = np.unique(np.clip(np.concatenate([np.linspace(*ends, 25), steps]), *ends))
    pieces = [
        quad(lambda t: float(np.exp(log_joint(t) - top)), *piece, epsabs=0, epsrel=1e-11)[0] for piece in pairwise(cuts)
    ]
    return float(top + np.log(sum(pieces)) - 0.5 * np.log(2 * np.pi) - np.log(sd))


def largest_error(
    by_program: Any, a: NDArray[Any], c: float | None = None, *, trials: int = 1, missing: float = 0.0, sd: float = 1.0
) -> float:
    """Return how far the program is off for persons with every item right, none right, at random, and by the model."""
    rng = np.random.default_rng(4)
    theta, b = np.array([2.0, -2.0, 0.0, *rng.normal(size=3)]) * sd, rng.normal(0.3, 1.2, a.size)
    guessing = np.full(a.size, c or 0.0)
    n = np.where(rng.random((6, a.size)) < missing, 0, trials)
    n[:, 0] = trials
    p = guessing + (1 - guessing) * np.exp(log_expit(a * (theta[:, None] - b)))
    x = rng.binomial(n, p)
    x[0], x[1], x[2] = n[0], 0, rng.binomial(n[2], 0.5)
    d = -a * b
    found = by_program(
        theta=theta, successes=x, trials=n, a=a, d=d, c=guessing if c is not None else guessing[:0], sd=sd
    )
    return float(max(abs(f - by_quad(x[i], n[i], a, d, guessing, sd)) for i, f in enumerate(found)))


@pytest.mark.parametrize("steepest", [1.0, 4.0, 8.0, 16.0, 30.0, 60.0, 200.0])
@pytest.mark.parametrize("guessing", [None, 0.2])
def test_steep_items_are_integrated(by_program: Any, steepest: float, guessing: float | None) -> None:
    slopes = np.random.default_rng(5).uniform(0.3, 1.0, 5) * steepest
    slopes[0] = steepest
    for items in (slopes[:1], slopes):
        assert largest_error(by_program, items, guessing) < TOLERANCE


@pytest.mark.parametrize(
    ("slopes", "settings"),
    [
        (np.exp(np.random.default_rng(1).normal(-0.2, 0.5, 1000)), {}),
        (np.exp(np.random.default_rng(2).normal(-0.2, 0.5, 1000)), {"missing": 0.5}),
        (np.exp(np.random.default_rng(3).normal(-0.2, 0.5, 1000)), {"c": 0.25}),
        (np.exp(np.random.default_rng(4).normal(-0.2, 0.5, 200)), {"trials": 10}),
        (np.r_[np.full(5, 56.0), np.ones(195)], {}),
        (np.full(1000, 0.2), {}),  # all right: the posterior is about 14, far beyond any ability drawn here
    ],
    ids=["1000 items", "half missing", "guessing", "10 trials a cell", "5 of 200 steep", "flat"],
)
def test_long_tests_are_integrated(by_program: Any, slopes: NDArray[Any], settings: dict[str, Any]) -> None:
    assert largest_error(by_program, slopes, **settings) < TOLERANCE


@pytest.mark.parametrize("sd", [0.01, 3.0, 30.0])
def test_the_latent_sd_sets_the_scale(by_program: Any, sd: float) -> None:
    assert largest_error(by_program, np.ones(5), sd=sd) < TOLERANCE


def test_a_chain_that_is_stuck_far_off_gets_numbers(by_program: Any) -> None:
    x = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]])
    known = {"successes": x, "trials": np.ones_like(x), "a": np.ones(3), "d": np.zeros(3), "c": np.empty(0), "sd": 1.0}
    near, far = (by_program(theta=np.array(theta), **known) for theta in ([0.0, 0.0, 0.0], [300.0, -300.0, 0.0]))
    np.testing.assert_allclose(far, near, rtol=0, atol=TOLERANCE)


def test_what_is_no_number_ends(by_program: Any) -> None:
    x = np.array([[1, 0], [0, 1], [1, 1]])
    known = {"successes": x, "trials": np.ones_like(x), "d": np.zeros(2), "c": np.empty(0), "sd": 1.0}
    assert np.isnan(by_program(theta=np.zeros(3), a=np.array([1.0, np.nan]), **known)).all()
