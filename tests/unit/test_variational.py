"""`vi` against sums over nodes written here, and against what no bound may do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import beta as beta_law

import psychoeval as pe
from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.estimators.native.variational import VI
from psychoeval.estimators.native.variational_guessing import BetaGuessing, FixedGuessing, LogitNormalGuessing
from psychoeval.estimators.native.variational_search import maximize
from psychoeval.estimators.native.variational_steps import Factors, MeanField, slope_step
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses
from tests.unit.map_reference import simulated

WEAK = Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0))
GUESSING = {"beta": Beta(5.0, 17.0), "logit-normal": LogitNormal(-1.1, 0.5), "fixed": 0.2, "zero": 0.0}
FACTORS = {
    "none": None,
    "fixed": FixedGuessing(0.2),
    "beta": BetaGuessing(Beta(5.0, 17.0)),
    "logit-normal": LogitNormalGuessing(LogitNormal(-1.1, 0.5)),
}
MODELS = [
    pytest.param(ItemModel("1PL", WEAK), id="1PL"),
    pytest.param(ItemModel("2PL", WEAK), id="2PL"),
    *(pytest.param(ItemModel("3PL", WEAK, prior), id=f"3PL-{name}") for name, prior in GUESSING.items()),
]


def nodes(q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Hermite nodes and weights of N(0, 1)."""
    x, w = np.polynomial.hermite_e.hermegauss(q)
    return x, w / w.sum()


def draw_factors(problem: MeanField, seed: int = 0) -> Factors:
    rng = np.random.default_rng(seed)
    n, j = problem.n_persons, problem.n_items
    k = 1 if problem.common_slope else j
    guessing = np.zeros(0)
    if isinstance(problem.guessing, BetaGuessing):
        guessing = np.log(rng.uniform(2, 9, (2, j)))
    elif isinstance(problem.guessing, LogitNormalGuessing):
        guessing = np.stack([rng.normal(-1, 0.3, j), np.log(rng.uniform(0.2, 0.5, j))])
    return Factors(
        rng.normal(size=n), np.log(rng.uniform(0.3, 0.8, n)), rng.normal(0, 0.3, k), np.log(rng.uniform(0.1, 0.4, k)),
        rng.normal(size=j), np.log(rng.uniform(0.2, 0.6, j)), guessing,
    )  # fmt: skip


def guessing_nodes(problem: MeanField, at: Factors, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values of c_j and their weights under its factor."""
    match problem.guessing:
        case FixedGuessing(value):
            return np.array([value]), np.ones(1)
        case LogitNormalGuessing():
            x, w = nodes(60)
            return expit(at.guessing[0, j] + np.exp(at.guessing[1, j]) * x), w
    x, w = np.polynomial.legendre.leggauss(200)
    c = (x + 1) / 2
    return c, w / 2 * beta_law.pdf(c, *np.exp(at.guessing[:, j]))


def divergence(mean: np.ndarray, log_sd: np.ndarray, prior: Normal) -> float:
    """Return E[log q - log p] by quadrature, summed."""
    x, w = nodes(40)
    total = 0.0
    for m, s in zip(mean, np.exp(log_sd), strict=True):
        value = m + s * x
        log_q = -0.5 * x**2 - np.log(s)
        log_p = -0.5 * ((value - prior.mean) / prior.sd) ** 2 - np.log(prior.sd)
        total += float(w @ (log_q - log_p))
    return total


def cell_by_quadrature(right: float, wrong: float, problem: MeanField, at: Factors, i: int, j: int) -> np.ndarray:
    """Return the expectations of the bounded and of the true log-likelihood of one cell.

    The bounded one has the quadratic bound at its xi and the best factor of who guessed, found by search.
    """
    (t, wt), (u, wu), (z, wz) = nodes(40), nodes(40), nodes(40)
    k = 0 if problem.common_slope else j
    theta = at.theta[i] + np.exp(at.theta_log_sd[i]) * t
    a = np.exp(at.slope[k] + np.exp(at.slope_log_sd[k]) * u)
    d = at.intercept[j] + np.exp(at.intercept_log_sd[j]) * z
    eta = (a[:, None, None] * theta[:, None] + d).ravel()
    weight = (wu[:, None, None] * wt[:, None] * wz).ravel()
    xi = np.sqrt(weight @ eta**2)
    quadratic = -np.log(2 * np.cosh(xi / 2)) - np.tanh(xi / 2) / (4 * xi) * (eta**2 - xi**2)
    log_right, log_wrong = weight @ (quadratic + eta / 2), weight @ (quadratic - eta / 2)
    if problem.guessing is None:
        true = weight @ (right * log_expit(eta) + wrong * log_expit(-eta))
        return np.array([right * log_right + wrong * log_wrong, true])
    c, wc = guessing_nodes(problem, at, j)
    log_c, log_1_c = wc @ np.log(c), wc @ np.log1p(-c)
    knows = np.linspace(0, 1, 200_001)[1:-1]
    entropy = -knows * np.log(knows) - (1 - knows) * np.log1p(-knows)
    bounded = right * np.max(knows * log_right + (1 - knows) * (log_wrong + log_c) + entropy)
    kept = weight > 1e-9  # of 64,000 nodes
    p = expit(eta[kept])
    log_success = np.array([weight[kept] @ np.log(v + (1 - v) * p) for v in c])
    true = right * (wc @ log_success) + wrong * (weight @ log_expit(-eta) + log_1_c)
    return np.array([bounded + wrong * (log_wrong + log_1_c), true])


def guessing_divergence(problem: MeanField, at: Factors) -> float:
    match problem.guessing:
        case LogitNormalGuessing(prior):
            return divergence(at.guessing[0], at.guessing[1], Normal(prior.mean, prior.sd))
        case BetaGuessing(prior):
            total = 0.0
            for j in range(problem.n_items):
                c, w = guessing_nodes(problem, at, j)
                law = beta_law(*np.exp(at.guessing[:, j]))
                total += w @ (law.logpdf(c) - beta_law.logpdf(c, prior.alpha, prior.beta))
            return float(total)
    return 0.0


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("kind", FACTORS)
def test_the_bound_is_the_expectation_it_says(kind, common) -> None:
    x, trials = simulated(3, 2, trials=3, missing=0.2, seed=4)
    problem = MeanField(
        x, trials, Normal(0.1, 0.5), Normal(0.2, 2.0), common_slope=common, guessing=FACTORS[kind]
    )  # fmt: skip
    at = draw_factors(problem)
    found = problem.sweep(at)
    cells = [(i, j) for i, j in itertools.product(range(3), range(2)) if trials[i, j]]
    bounded, true = sum(
        cell_by_quadrature(float(x[i, j]), float(trials[i, j]) - float(x[i, j]), problem, at, i, j) for i, j in cells
    )
    distance = guessing_divergence(problem, at)
    distance += divergence(at.theta, at.theta_log_sd, Normal(0.0, 1.0))
    distance += divergence(at.slope, at.slope_log_sd, problem.slope)
    distance += divergence(at.intercept, at.intercept_log_sd, problem.intercept)
    # Sums over nodes of smooth functions are exact to 1e-9; the search for the share that knew misses by 1e-10.
    assert found.ability_divergence + found.item_divergence == pytest.approx(distance, abs=1e-7)
    assert found.elbo == pytest.approx(bounded - distance, abs=1e-7)
    assert found.elbo < true - distance


def test_the_bound_is_below_the_evidence() -> None:
    x, trials = simulated(4, 2, trials=4, seed=1)
    found = VI().fit(Responses.from_array(x, trials), ItemModel("2PL", WEAK))
    (t, wt), (u, wu), (z, wz) = nodes(30), nodes(16), nodes(16)
    eta = (np.exp(0.5 * u)[:, None, None] * t + 3.0 * z[:, None]).reshape(-1, t.size)  # (a, d) of an item x theta
    log_item = np.add.outer(np.log(wu), np.log(wz)).ravel()
    given = np.zeros((log_item.size, log_item.size))  # log-likelihood of all given both items
    for i in range(4):
        one, two = (
            np.exp(x[i, j] * log_expit(eta) + (float(trials[i, j]) - x[i, j]) * log_expit(-eta)) for j in (0, 1)
        )
        given += np.log((one * wt) @ two.T)
    exact = logsumexp(given + log_item[:, None] + log_item)
    assert found.log_likelihood < exact
    assert found.log_likelihood > exact - 5.0


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("kind", FACTORS)
def test_no_sweep_lowers_the_bound(kind, common) -> None:
    x, trials = simulated(25, 12, trials=3, missing=0.2, seed=2)
    x[:, 3], x[:, 5] = 0, trials[:, 5]
    x[4], x[6] = 0, trials[6]
    problem = MeanField(x, trials, Normal(0.0, 0.5), Normal(0.0, 3.0), common_slope=common, guessing=FACTORS[kind])
    for seed in range(5):
        at = draw_factors(problem, seed)
        bounds = []
        for _ in range(30):
            sweep = problem.sweep(at)
            bounds.append(sweep.elbo)
            at = sweep.next
        assert np.diff(bounds).min() > -1e-9  # rounding of sums of some hundreds
        assert np.diff(bounds)[0] > 1.0
    accelerated = maximize(problem, tolerance=1e-10, max_iterations=500)
    assert accelerated.converged
    assert np.diff(accelerated.bounds).min() > -1e-9
    assert accelerated.bounds[-1] >= bounds[-1] - 1e-9


@pytest.mark.parametrize("kind", FACTORS)
def test_the_answer_is_stationary_in_every_direction(kind) -> None:
    x, trials = simulated(12, 6, trials=3, missing=0.2, seed=3)
    problem = MeanField(x, trials, Normal(0.0, 0.5), Normal(0.0, 3.0), guessing=FACTORS[kind])
    at = maximize(problem, tolerance=1e-10, max_iterations=500).sweep.at
    point, h = at.vector, 1e-4
    for k in range(point.size):
        step = h * (np.arange(point.size) == k)
        up, here, down = (problem.sweep(at.with_vector(point + s * step)).elbo for s in (1, 0, -1))
        assert abs(up - down) / (2 * h) < 1e-6  # differences: h^2 and rounding / h
        assert up < here > down


def test_a_slope_step_climbs_from_anywhere() -> None:
    rng = np.random.default_rng(0)
    mean, log_sd = rng.normal(0, 2, 500), rng.normal(-1, 1, 500)
    linear, square, prior = rng.normal(0, 50, 500), rng.gamma(1, 50, 500), Normal(0.1, 0.5)

    def value(mean, log_sd):
        u, w = nodes(60)
        a = np.exp(mean[:, None] + np.exp(log_sd)[:, None] * u)
        z = (np.log(a) - prior.mean) / prior.sd
        return (linear[:, None] * a - square[:, None] * a**2 - z**2 / 2) @ w + log_sd

    for _ in range(100):  # from SDs of log a up to 8, steps of at most 1
        new = slope_step(mean, log_sd, linear, square, prior)
        usable = log_sd < -0.5  # beyond, 60 nodes are too few for E[a^2]
        before, after = value(mean, log_sd), value(*new)
        assert (after >= before - 1e-9 * (1 + np.abs(before)))[usable & (new[1] < -0.5)].all()
        mean, log_sd = new
    np.testing.assert_allclose(slope_step(mean, log_sd, linear, square, prior), (mean, log_sd), atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_another_order_or_empty_rows_give_the_same_answer(model) -> None:
    x, trials = simulated(30, 14, trials=2, missing=0.2)
    data = Responses.from_array(x, trials)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(14)
    one, two = VI().fit(data, model), VI().fit(data.select(rows, columns), model)
    tolerance = {"rtol": 0, "atol": 1e-9}  # converged to 1e-10
    np.testing.assert_allclose(two.abilities.estimate, one.abilities.estimate[rows], **tolerance)
    np.testing.assert_allclose(two.abilities.standard_error, one.abilities.standard_error[rows], **tolerance)
    for name in ("discrimination", "intercept", "guessing", "covariance"):
        np.testing.assert_allclose(
            getattr(two.item_parameters, name), getattr(one.item_parameters, name)[columns], **tolerance
        )
    wider = np.zeros((31, 15), dtype=np.uint8)
    more, more_trials = wider.copy(), wider.copy()
    more[:30, :14], more_trials[:30, :14] = x, trials
    three = VI().fit(Responses.from_array(more, more_trials), model)
    np.testing.assert_allclose(three.abilities.estimate[:30], one.abilities.estimate, **tolerance)
    np.testing.assert_allclose(
        three.item_parameters.discrimination[:14], one.item_parameters.discrimination, **tolerance
    )
    assert three.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-9)
    assert three.abilities.status[30] == three.item_parameters.status[14] == "no_responses"
    assert np.isnan([three.abilities.estimate[30], three.item_parameters.intercept[14]]).all()


@pytest.mark.parametrize("model", MODELS[:2])
def test_swapping_right_and_wrong_mirrors_the_answer(model) -> None:
    x, trials = simulated(30, 14, trials=2, missing=0.2)
    one, two = (VI().fit(Responses.from_array(v, trials), model) for v in (x, trials - x))
    tolerance = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(two.abilities.estimate, -one.abilities.estimate, **tolerance)
    np.testing.assert_allclose(two.item_parameters.intercept, -one.item_parameters.intercept, **tolerance)
    np.testing.assert_allclose(two.item_parameters.discrimination, one.item_parameters.discrimination, **tolerance)
    assert two.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-9)


def test_guessing_of_zero_is_the_2pl() -> None:
    x, trials = simulated(30, 14, trials=2)
    one, two = (
        VI().fit(Responses.from_array(x, trials), m) for m in (ItemModel("2PL", WEAK), ItemModel("3PL", WEAK, 0.0))
    )
    assert two.log_likelihood == one.log_likelihood
    # A guessing of nearly nothing costs what it takes out: the limit is smooth.
    three = VI().fit(Responses.from_array(x, trials), ItemModel("3PL", WEAK, 1e-9))
    np.testing.assert_allclose(three.abilities.estimate, one.abilities.estimate, atol=1e-6)


def test_known_answers_of_simulated_persons_come_back() -> None:
    rng = np.random.default_rng(5)
    theta, a, d = rng.normal(size=200), rng.lognormal(0, 0.3, 300), rng.normal(0, 1.2, 300)
    c = 0.2
    p = c + (1 - c) * expit(np.outer(theta, a) + d)
    data = Responses.from_array((rng.random(p.shape) < p).astype(float))
    found = VI().fit(data, ItemModel("3PL", WEAK, Beta(20.0, 80.0)))
    items = found.item_parameters
    assert np.corrcoef(found.abilities.estimate, theta)[0, 1] > 0.98
    assert np.corrcoef(items.intercept, d)[0, 1] > 0.9
    assert np.corrcoef(items.discrimination, a)[0, 1] > 0.6
    assert items.guessing.mean() == pytest.approx(c, abs=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_awkward_data_stay_finite_and_in_place(model) -> None:
    x, _ = simulated(40, 12)
    values = x.astype(float)
    values[:, 0], values[:, 1], values[2], values[3] = 0.0, 1.0, 1.0, 0.0
    values[2, 0] = values[3, 1] = np.nan
    found = VI().fit(Responses.from_array(values), model)
    assert found.convergence.status == "converged"
    assert found.item_parameters.status[:2] == ("constant_all_0", "constant_all_1")
    assert found.abilities.status[2:4] == ("extreme_all_1", "extreme_all_0")
    assert np.isfinite(found.abilities.estimate).all()
    assert np.isfinite(found.item_parameters.covariance).all()
    assert any("too small" in sentence for sentence in found.convergence.warnings)
    assert found.log_likelihood_kind == "elbo"
    assert found.aic is None
    parts = found.statistics
    assert found.log_likelihood == pytest.approx(
        parts["expected_log_likelihood"] - parts["ability_divergence"] - parts["item_divergence"], abs=1e-9
    )


def test_a_prior_of_a_is_the_same_law_of_log_a() -> None:
    x, trials = simulated(20, 8)
    data = Responses.from_array(x, trials)
    one, two = (
        VI().fit(data, ItemModel("2PL", Priors(intercept=Normal(0.0, 3.0), **slope)))
        for slope in ({"discrimination": LogNormal(0.2, 0.4)}, {"log_discrimination": Normal(0.2, 0.4)})
    )
    assert one.log_likelihood == two.log_likelihood


def test_stopping_early_says_so() -> None:
    x, trials = simulated(30, 14)
    data = Responses.from_array(x, trials)
    found = VI(max_iterations=3).fit(data, ItemModel("2PL", WEAK))
    assert found.convergence.status == "iteration_limit"
    assert found.convergence.iterations == 3
    assert found.convergence.last_change > 1e-10
    assert any("Raise max_iterations" in sentence for sentence in found.convergence.warnings)
    assert np.isfinite(found.abilities.estimate).all()


def test_slopes_without_a_number_fail() -> None:
    x, trials = simulated(10, 5)
    model = ItemModel("2PL", Priors(log_discrimination=Normal(800.0, 0.5), intercept=Normal(0.0, 3.0)))
    found = VI().fit(Responses.from_array(x, trials), model)
    assert found.convergence.status == "failed_check"
    assert "overflowed" in found.convergence.failures[0]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (None, "no model"),
        (ItemModel("Rasch", WEAK), "the Rasch"),
        (ItemModel("2PL"), "both slopes and intercepts"),
        (ItemModel("2PL", Priors(log_discrimination=Normal(0.0, 0.5))), "both slopes and intercepts"),
        (ItemModel("1PL", Priors(intercept=Normal(0.0, 3.0))), "both slopes and intercepts"),
        (pe.item_model("2PL", "published"), "not on the difficulty"),
        (pe.item_model("2PL", "hierarchical"), "means of priors"),
        (ItemModel("3PL", WEAK, "free"), "free"),
    ],
)
def test_what_it_cannot_fit_is_refused_by_name(model, says) -> None:
    x, trials = simulated(10, 5)
    with pytest.raises(ModelError, match=says) as refused:
        VI().fit(Responses.from_array(x, trials), model)
    assert refused.value.remedy


def test_data_without_responses_are_refused() -> None:
    with pytest.raises(DataError):
        VI().fit(Responses.from_array(np.full((4, 3), np.nan)), ItemModel("2PL", WEAK))


@pytest.mark.parametrize(
    "settings",
    [{"tolerance": 0.0}, {"tolerance": True}, {"tolerance": "x"}, {"max_iterations": 0}, {"max_iterations": 2.5}],
)
def test_settings_that_cannot_be_taken(settings) -> None:
    with pytest.raises(SettingsError, match=next(iter(settings))):
        VI(**settings)


def test_describe_names_the_bound_and_the_model() -> None:
    text = VI().describe(model=ItemModel("2PL", WEAK))
    assert "2PL [weak]" in text
    assert "Polya-Gamma" in text
