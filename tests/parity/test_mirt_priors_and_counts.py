"""What mirt returns under priors and for counts, against the same objective maximized and differentiated in NumPy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.availability import require
from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM
from psychoeval.irt.models import ItemModel, LogitNormal, LogNormal, Normal, Priors
from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
CASES = Path(__file__).parents[1] / "cases" / "data"
FloatArray = NDArray[np.float64]
Objective = Callable[[FloatArray], float]

#: Largest gradient of the penalized log-likelihood at mirt's answer, TOL 1e-8; logits. 2e-4 measured.
GRADIENT = 2e-3
#: Relative, of standard errors from Oakes' identity against second differences of step 2e-3. 1e-5 measured.
ERRORS = 2e-4
TIGHT = MirtEM(tolerance=1e-8, max_iterations=5000)


@pytest.fixture(scope="module")
def responses() -> Responses:
    return read_table(CASES / "28" / "responses.csv").select(items=np.arange(8))


def log_likelihood(responses: Responses, a: FloatArray, d: FloatArray, c: FloatArray) -> float:
    found = marginal_posterior(responses.successes, responses.trials, a, d, c, normal_grid())
    return float(found.log_marginal.sum())


def normal(x: FloatArray, mean: float, sd: float) -> float:
    return float(-(((x - mean) / sd) ** 2).sum() / 2)


def lognormal(a: FloatArray, meanlog: float, sdlog: float) -> float:
    return float(-np.log(a).sum()) + normal(np.log(a), meanlog, sdlog)


def gradient(f: Objective, x: FloatArray, h: float = 1e-4) -> FloatArray:
    steps = np.eye(len(x)) * h
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps])


def errors(f: Objective, x: FloatArray, h: float = 2e-3) -> FloatArray:
    n = len(x)
    steps, hessian = np.eye(n) * h, np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            s, t = steps[i], steps[j]
            hessian[i, j] = hessian[j, i] = (f(x + s + t) - f(x + s - t) - f(x - s + t) + f(x - s - t)) / (4 * h * h)
    return np.sqrt(np.diag(np.linalg.inv(-hessian)))


def point(fit: FitResult) -> FloatArray:
    assert fit.item_parameters is not None
    return np.concatenate([fit.item_parameters.discrimination, fit.item_parameters.intercept])


def reported(fit: FitResult) -> FloatArray:
    assert fit.item_parameters is not None
    se = fit.item_parameters.standard_errors
    assert se is not None
    return np.concatenate([se["discrimination"], se["intercept"]])


@pytest.mark.parametrize(
    ("priors", "slope", "intercept"),
    [
        (Priors(discrimination=LogNormal(0.0, 0.5)), (0.0, 0.5), None),
        (Priors(discrimination=LogNormal(-1.0, 0.25)), (-1.0, 0.25), None),
        # A density of log a, as one of a with the same mode.
        (Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0)), (0.25, 0.5), (0.0, 3.0)),
        (Priors(intercept=Normal(0.5, 0.5)), None, (0.5, 0.5)),
    ],
)
def test_2pl_with_priors_is_the_penalized_maximum_with_its_errors(
    responses: Responses, priors: Priors, slope: tuple[float, float] | None, intercept: tuple[float, float] | None
) -> None:
    def objective(x: FloatArray) -> float:
        a, d = x[:8], x[8:]
        value = log_likelihood(responses, a, d, np.zeros(8))
        value += lognormal(a, *slope) if slope else 0.0
        return value + (normal(d, *intercept) if intercept else 0.0)

    fit = TIGHT.fit(responses, ItemModel("2PL", priors))
    assert np.abs(gradient(objective, point(fit))).max() < GRADIENT
    np.testing.assert_allclose(reported(fit), errors(objective, point(fit)), rtol=ERRORS)
    # The log-likelihood is without the priors.
    assert fit.log_likelihood == pytest.approx(
        log_likelihood(responses, point(fit)[:8], point(fit)[8:], np.zeros(8)), abs=1e-6
    )


@pytest.mark.parametrize("kind", ["louis", "oakes"])
def test_corrected_curvature_of_both_kinds_that_allow_it(responses: Responses, kind: str) -> None:
    def objective(x: FloatArray) -> float:
        return log_likelihood(responses, x[:8], x[8:], np.zeros(8)) + lognormal(x[:8], -1.0, 0.25)

    estimator = MirtEM(tolerance=1e-8, max_iterations=5000, standard_errors=kind)  # type: ignore[arg-type]
    fit = estimator.fit(responses, ItemModel("2PL", Priors(discrimination=LogNormal(-1.0, 0.25))))
    assert fit.provenance.details["slope_prior_curvature_corrected"] is True
    np.testing.assert_allclose(reported(fit), errors(objective, point(fit)), rtol=ERRORS)


@pytest.mark.parametrize("kind", ["mhrm", "fmhrm"])
def test_mhrm_errors_under_a_slope_prior(responses: Responses, kind: str) -> None:
    def objective(x: FloatArray) -> float:
        return log_likelihood(responses, x[:8], x[8:], np.zeros(8)) + lognormal(x[:8], -1.0, 0.25)

    estimator = MirtMHRM(seed=3, standard_errors=kind, engine_options={"draws": 100})  # type: ignore[arg-type]
    fit = estimator.fit(responses, ItemModel("2PL", Priors(discrimination=LogNormal(-1.0, 0.25))))
    ratio = reported(fit)[:8] / errors(objective, point(fit))[:8]
    # Uncorrected they are .68 to .78 of what they should be; the rest is Monte Carlo error, also without priors.
    assert ratio.mean() == pytest.approx(1.0, abs=0.06)
    assert ratio.min() > 0.85


def test_1pl_slope_prior_is_on_its_common_slope(responses: Responses) -> None:
    prior = Normal(0.0, 0.2)

    def objective(x: FloatArray) -> float:
        # mirt's nodes lie at +-6 / a on this scale: the same nodes as those of its Rasch model.
        sd = float(x[0])
        grid = normal_grid(61, 6.0, sd=sd)
        found = marginal_posterior(responses.successes, responses.trials, np.ones(8), x[1:], np.zeros(8), grid)
        return float(found.log_marginal.sum()) + normal(np.log(x[:1]), prior.mean, prior.sd)

    fit = TIGHT.fit(responses, ItemModel("1PL", Priors(log_discrimination=prior)))
    items = fit.item_parameters
    assert items is not None
    assert len(set(items.discrimination)) == 1
    x = np.concatenate([items.discrimination[:1], items.intercept])
    assert np.abs(gradient(objective, x)).max() < 0.05  # mirt's variance stops farther off than its slopes
    assert items.standard_errors is not None
    own = np.concatenate([items.standard_errors["discrimination"][:1], items.standard_errors["intercept"]])
    # 2.1e-5 measured; corrected as the 2PL's are, the slope's were 10 to 45 % too large (200 x 6).
    np.testing.assert_allclose(own, errors(objective, x), rtol=ERRORS)
    free = TIGHT.fit(responses, ItemModel("1PL")).item_parameters
    assert free is not None
    # The prior pulls log a toward 0 by far more than that.
    assert abs(np.log(x[0])) < abs(np.log(free.discrimination[0])) - 0.02
    assert gradient(objective, np.concatenate([free.discrimination[:1], free.intercept]))[0] < -1.0


def test_guessing_prior_is_on_its_logit_and_errors_on_the_probability() -> None:
    responses = read_table(CASES / "24" / "responses.csv").select(items=np.arange(6))

    def objective(x: FloatArray) -> float:
        a, d, c = np.split(x, 3)
        return log_likelihood(responses, a, d, c) + normal(np.log(c / (1 - c)), -1.1, 0.5)

    fit = TIGHT.fit(responses, ItemModel("3PL", Priors(log_discrimination=Normal(0, 0.5)), LogitNormal(-1.1, 0.5)))
    items = fit.item_parameters
    assert items is not None
    assert items.standard_errors is not None
    x = np.concatenate([items.discrimination, items.intercept, items.guessing])

    def penalized(x: FloatArray) -> float:
        return objective(x) + lognormal(x[:6], 0.25, 0.5)

    assert np.abs(gradient(penalized, x, 1e-5)).max() < 20 * GRADIENT  # that of c is c (1 - c) times steeper

    def on_mirts_scale(y: FloatArray) -> float:
        # Errors are mirt's, from the curvature in logit c, then brought to c.
        return penalized(np.concatenate([y[:12], 1 / (1 + np.exp(-y[12:]))]))

    logit = np.concatenate([x[:12], np.log(x[12:] / (1 - x[12:]))])
    expected = errors(on_mirts_scale, logit)[12:] * x[12:] * (1 - x[12:])
    np.testing.assert_allclose(items.standard_errors["guessing"], expected, rtol=5e-3)


def test_counts_are_the_binomial_likelihood() -> None:
    rng = np.random.default_rng(3)
    theta, a, d = rng.normal(size=150), np.array([1.0, 1.5, 0.8, 1.2]), np.array([0.5, 0.0, -0.5, 1.0])
    trials = rng.integers(0, 5, (150, 4))
    successes = rng.binomial(trials, 1 / (1 + np.exp(-(np.outer(theta, a) + d))))
    counts = Responses.from_array(successes, trials)

    def objective(x: FloatArray) -> float:
        return log_likelihood(counts, x[:4], x[4:], np.zeros(4))

    fit = TIGHT.fit(counts, ItemModel("2PL"))
    assert fit.provenance.details["columns_given"] == 16
    assert fit.n_parameters == 8
    assert fit.log_likelihood == pytest.approx(objective(point(fit)), abs=1e-6)
    assert np.abs(gradient(objective, point(fit))).max() < GRADIENT
    np.testing.assert_allclose(reported(fit), errors(objective, point(fit)), rtol=ERRORS)


@pytest.mark.parametrize(
    "model",
    [
        ItemModel("2PL"),
        ItemModel("1PL", Priors(log_discrimination=Normal(0, 0.3))),
        ItemModel("3PL", Priors(intercept=Normal(0, 3)), 0.2),
    ],
    ids=lambda m: m.label,
)
def test_the_script_of_describe_repeats_the_fit(responses: Responses, model: ItemModel, tmp_path: Path) -> None:
    estimator = MirtEM(tolerance=1e-6)
    script = tmp_path / "fit.R"
    script.write_text(
        estimator.describe(responses, model)
        + "\ncat('\\n', sprintf('%.17g', c(extract.mirt(fit, 'logLik'), abilities)), file = 'out', sep = ' ')\n"
    )
    state = require("r")
    subprocess.run([state.paths["Rscript"], "--vanilla", str(script)], check=True, cwd=tmp_path, capture_output=True)
    found = np.array((tmp_path / "out").read_text().split(), dtype=float)
    fit = estimator.fit(responses, model)
    assert fit.abilities is not None
    assert found[0] == fit.log_likelihood
    sd = fit.item_parameters.discrimination[0] if model.name == "1PL" and fit.item_parameters else 1.0
    np.testing.assert_allclose(found[1 : 1 + 200] / sd, fit.abilities.estimate, rtol=1e-12)


def test_an_answer_upside_down_is_turned() -> None:
    # Most items reversed: mirt, which starts with positive slopes, may end either way; the rule decides.
    rng = np.random.default_rng(4)
    theta = rng.normal(size=400)
    sign = np.array([-1, -1, -1, -1, -1, -1, 1])
    x = rng.random((400, 7)) < 1 / (1 + np.exp(-1.5 * np.outer(theta, sign)))
    fit = MirtEM().fit(Responses.from_array(x.astype(float)), ItemModel("2PL"))
    assert fit.abilities is not None
    assert fit.item_parameters is not None
    assert np.corrcoef(fit.abilities.estimate, x.mean(axis=1))[0, 1] > 0
    assert fit.item_parameters.discrimination.mean() > 0
    assert fit.item_parameters.discrimination[6] < 0
    assert fit.provenance.details["flipped"] in (True, False)
    assert fit.convergence.failures == ()
