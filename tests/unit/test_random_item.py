"""Items integrated out: against brute force on a grid, finite differences, and what must not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.native import random_item_search
from psychoeval.estimators.native.random_item import RandomItem
from psychoeval.estimators.native.random_item_cells import Cells
from psychoeval.estimators.native.random_item_population import Population
from psychoeval.estimators.native.random_item_prior import PopulationPrior
from psychoeval.estimators.native.random_item_search import Point, maximize, settle, start_point
from psychoeval.estimators.native.random_item_steps import Rule, evaluate
from psychoeval.fitting import fit
from psychoeval.irt.models import Beta, ItemModel, LogitNormal
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses

MODELS = ("Rasch", "2PL", "2PL by difficulty", "3PL")
GUESSING = 0.2


def population(model: str, *, free_guessing: bool = True) -> Population:
    slopes, guesses, by_difficulty = model != "Rasch", model == "3PL", model.endswith("difficulty")
    values = np.array([-1.0 if slopes else 0.0, 0.3, 0.4 if slopes else 0.0, 0.3, np.log(GUESSING / (1 - GUESSING))])
    return Population(
        values, np.array([slopes, True, slopes, True, guesses and free_guessing]), slopes, guesses, by_difficulty
    )


def draw(n: int, j: int, model: str, seed: int, *, most_trials: int = 1) -> tuple[np.ndarray, Cells]:
    rng = np.random.default_rng(seed)
    t, d = rng.normal(0, 1.2, n), rng.normal(0.3, 1.3, j)
    a = rng.lognormal(0, 0.4, j) if model != "Rasch" else np.ones(j)
    c = GUESSING if model == "3PL" else 0.0
    trials = rng.integers(0, most_trials + 1, (n, j)) if most_trials > 1 else np.ones((n, j), int)
    return t, Cells(rng.binomial(trials, c + (1 - c) * expit(a * t[:, None] + d)), trials)


def generator(n: int, j: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta, b, a = rng.normal(0, 1, n), rng.normal(0, 1.5, j), rng.lognormal(0, 0.3, j)
    return theta, a, b, (rng.random((n, j)) < expit(a * (theta[:, None] - b))).astype(float)


def brute_force(cells: Cells, t: np.ndarray, law: Population) -> tuple[np.ndarray, np.ndarray]:
    """Return log-likelihoods and posterior means of (p, d) by the trapezoid rule on a fine grid of all of the law."""
    c = law.guessing
    z = np.linspace(-8, 8, 161)
    mean, root = law.mean, np.sqrt(law.covariance)
    if law.has_slopes:
        first, second = (g.ravel() for g in np.meshgrid(z, z))
        spread = np.linalg.cholesky(law.covariance)
        p, d = spread[0, 0] * first, mean[1] + spread[1, 0] * first + spread[1, 1] * second
        d = d * np.exp(p) if law.by_difficulty else d
        weight = np.exp(-0.5 * (first**2 + second**2)) / (2 * np.pi) * (z[1] - z[0]) ** 2
    else:
        p, d = np.zeros(z.size), mean[1] + root[1, 1] * z
        weight = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    values, means = [], []
    for x, n in zip(cells.successes.T, cells.trials.T, strict=True):
        success = c + (1 - c) * expit(np.exp(p)[:, None] * t + d[:, None])
        failure = (1 - c) * expit(-np.exp(p)[:, None] * t - d[:, None])
        log_l = x @ np.log(success.T) + (n - x) @ np.log(failure.T)
        share = weight * np.exp(log_l - log_l.max())
        values.append(np.log(share.sum()) + log_l.max())
        means.append([share @ p / share.sum(), share @ d / share.sum()])
    return np.array(values), np.array(means)


# Gauss-Hermite around the mode loses accuracy where posteriors are skew: few persons, difficulties in place of
# intercepts, guessing. Largest errors of an item's log-likelihood and of a posterior mean, measured at 10 to 60
# persons: 7 nodes 6e-5 and 8e-4 (Rasch, 2PL), 2e-3 and 4e-3 (by difficulty, 3PL); 15 nodes 8e-5 and 2e-4 at most.
@pytest.mark.parametrize(
    ("model", "n", "points", "tolerance", "of_means"),
    [
        ("Rasch", 10, 7, 1e-4, 1e-3),
        ("2PL", 10, 7, 1e-4, 1e-3),
        ("2PL", 60, 7, 1e-4, 1e-3),
        ("2PL by difficulty", 10, 7, 2.5e-3, 5e-3),
        ("2PL by difficulty", 10, 15, 1e-4, 2.5e-4),
        ("3PL", 10, 7, 2.5e-3, 5e-3),
        ("3PL", 10, 15, 1e-4, 2.5e-4),
    ],
)
@pytest.mark.parametrize("most_trials", [1, 4])
def test_the_nodes_integrate_an_item_out(
    model: str, n: int, points: int, tolerance: float, of_means: float, most_trials: int
) -> None:
    t, cells = draw(n, 25, model, 1, most_trials=most_trials)
    law = population(model)
    found = evaluate(cells, t, law, Rule.of(points, has_slopes=law.has_slopes))
    values, means = brute_force(cells, t, law)
    assert found.by_item == pytest.approx(values, abs=tolerance, rel=0)
    assert found.means == pytest.approx(means, abs=of_means, rel=0)


@pytest.mark.parametrize("model", MODELS)
def test_derivatives_are_those_of_the_log_likelihood(model: str) -> None:
    t, cells = draw(9, 30, model, 2, most_trials=3)
    law, rng = population(model), np.random.default_rng(0)
    rule, n = Rule.of(35, has_slopes=law.has_slopes), t.size
    root = rng.normal(size=(n, n))
    spread = root @ root.T / n

    def at(vector):
        return evaluate(cells, vector[:n], replace(law, values=vector[n:]), rule, None, spread)

    center, h = np.concatenate([t, law.values]), 1e-4
    given = at(center)
    free = np.concatenate([np.ones(n, bool), law.free])
    for k in np.flatnonzero(free):
        step = h * (np.arange(center.size) == k)
        up, down = at(center + step), at(center - step)
        # Central differences: h^2 times third derivatives; and the nodes move with the items, by what they leave open.
        assert given.gradient[k] == pytest.approx((up.log_likelihood - down.log_likelihood) / (2 * h), abs=1e-4)
        assert given.hessian[free, k] == pytest.approx(((up.gradient - down.gradient) / (2 * h))[free], abs=1e-3)
        change = np.trace(spread @ (up.hessian - down.hessian)[:n, :n]) / (2 * h)
        assert given.bend[k] == pytest.approx(change, abs=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_the_gradient_of_the_evidence_follows_the_abilities(model: str) -> None:
    _, cells = draw(12, 40, model, 3)
    law = population(model)
    rule = Rule.of(21, has_slopes=law.has_slopes)
    prior = PopulationPrior(LogitNormal(-1.1, 0.5) if model == "3PL" else None)

    def settled(point: Point) -> Point:
        return settle(cells, point, rule, 1e-9)

    center = settled(start_point(cells, law, prior, rule))
    for k in np.flatnonzero(center.free):
        ends = []
        for h in (1e-4, -1e-4):
            step = h * (np.arange(6) == k)
            ends.append(
                settled(
                    replace(center, population=center.population.moved(step[:5]), log_sd=center.log_sd + step[5])
                ).evidence
            )
        # Differences of a sum of 500 in double precision, and what the nodes leave open (3PL).
        assert center.gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=2e-4)


def test_the_evidence_is_laplaces_integral_over_abilities() -> None:
    # Two persons: the integral over both abilities on a grid. Laplace's error is of the order 1/items.
    _, cells = draw(2, 400, "Rasch", 4)
    found = maximize(cells, population("Rasch"), PopulationPrior(), points=9, tolerance=1e-6, max_iterations=100).point
    s = found.sd
    errors = np.sqrt(np.diag(found.spread))
    grid = [np.linspace(t - 6 * e, t + 6 * e, 25) for t, e in zip(found.t, errors, strict=True)]
    rule = Rule.of(9, has_slopes=False)
    terms = np.array(
        [
            [
                evaluate(cells, np.array([u, v]), found.population, rule).log_likelihood - 0.5 * (u * u + v * v) / s**2
                for v in grid[1]
            ]
            for u in grid[0]
        ]
    )
    area = (grid[0][1] - grid[0][0]) * (grid[1][1] - grid[1][0]) / (2 * np.pi * s**2)
    exact = np.log(np.exp(terms - terms.max()).sum() * area) + terms.max()
    assert found.evidence == pytest.approx(exact, abs=5e-3)


@pytest.mark.parametrize("model", MODELS)
def test_every_step_raises_the_evidence(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nodes move with the items and the evidence is known to their accuracy, so many nodes from the start: 1e-6 an item.
    monkeypatch.setattr(random_item_search, "STAGES", ())
    monkeypatch.setattr(random_item_search, "SLACK", 1e-5)
    _, _, _, x = generator(20, 60, 5)
    found = maximize(
        Cells(x, np.ones_like(x)),
        population(model, free_guessing=False),
        PopulationPrior(),
        points=13,
        tolerance=1e-5,
        max_iterations=100,
    )
    assert found.converged
    assert min(after - before for before, after in found.values) >= -1e-5
    assert found.values[-1][1] > found.values[0][0] + 0.1
    assert found.point.largest_gradient <= 1e-5


def test_recovery_in_the_frame_of_the_sample() -> None:
    theta, a, b, x = generator(60, 400, 6)
    found = fit(Responses.from_array(x), "random-item", model="2PL")
    items = found.item_parameters
    assert items is not None
    assert found.convergence.status == "converged"
    standard = (theta - theta.mean()) / theta.std()
    # SE about .13, and the origin is known to 1.6 / sqrt(400) = .08.
    assert np.sqrt(np.mean((found.abilities.estimate - standard) ** 2)) < 0.19
    assert np.median(items.discrimination / (a * theta.std())) == pytest.approx(1.0, abs=0.07)
    assert np.corrcoef(items.difficulty, b)[0, 1] > 0.95
    assert found.statistics["log_slope_sd"] == pytest.approx(0.3, abs=0.08)  # SE .03 or so
    assert found.statistics["intercept_sd"] == pytest.approx(np.std(a * b), abs=0.15)


def test_constant_items_and_extreme_persons_are_finite_and_empty_ones_stay_in_place() -> None:
    _, _, _, x = generator(20, 120, 7)
    x[:, 3], x[:, 4], x[:, 5] = 1.0, 0.0, np.nan
    x[0, np.arange(120) != 4], x[1, np.arange(120) != 3], x[2] = 1.0, 0.0, np.nan
    x[0, 4] = x[1, 3] = np.nan
    x[:, 5] = np.nan
    found = fit(Responses.from_array(x), "random-item", model="2PL")
    items, abilities = found.item_parameters, found.abilities
    assert items.status[3:6] == ("constant_all_1", "constant_all_0", "no_responses")
    assert items.intercept[3] > items.intercept[6:].mean() > items.intercept[4]
    assert np.isnan([items.discrimination[5], items.intercept[5], abilities.estimate[2]]).all()
    assert abilities.status[:3] == ("extreme_all_1", "extreme_all_0", "no_responses")
    others = np.delete(abilities.estimate, 2)
    assert np.isfinite(others).all()
    assert np.argmax(others) == 0
    assert np.argmin(others) == 1
    assert any("2 of 120 items were answered alike" in w for w in found.convergence.warnings)


def test_a_cells_trials_are_columns_that_share_their_item() -> None:
    # Every trial doubled: the same likelihood as counts of 2, so only the counts path is compared with x repeated.
    _, cells = draw(15, 60, "2PL", 8)
    law, t = population("2PL"), np.linspace(-1, 1, 15)
    rule = Rule.of(7, has_slopes=True)
    doubled = evaluate(Cells(2 * cells.successes, 2 * cells.trials), t, law, rule).by_item
    stacked = evaluate(
        Cells(np.vstack([cells.successes] * 2), np.vstack([cells.trials] * 2)), np.tile(t, 2), law, rule
    ).by_item
    assert doubled == pytest.approx(stacked, abs=1e-9)


def test_relabelling_right_and_wrong_mirrors_the_fit() -> None:
    _, _, _, x = generator(25, 200, 9)
    one, other = (fit(Responses.from_array(y), "random-item", model="2PL") for y in (x, 1 - x))
    # Both stop within 1e-6 of the same optimum.
    assert other.abilities.estimate == pytest.approx(-one.abilities.estimate, abs=1e-5)
    assert other.item_parameters.intercept == pytest.approx(-one.item_parameters.intercept, abs=1e-5)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-4)


def test_rasch_is_reported_with_unit_slopes_and_a_free_sd() -> None:
    theta, _, b, _ = generator(40, 300, 10)
    x = np.random.default_rng(1).random((40, 300)) < expit(2.0 * theta[:, None] - b)
    found = fit(Responses.from_array(x.astype(float)), "random-item", model="Rasch")
    assert (found.item_parameters.discrimination == 1.0).all()
    assert found.latent_distribution.sd == pytest.approx(2.0 * theta.std(), rel=0.06)
    assert found.latent_distribution.sd_standard_error == pytest.approx(2.0 / np.sqrt(80), rel=0.3)


def test_the_population_may_be_one_of_difficulties() -> None:
    # The generator's: slopes and difficulties are independent, so that intercepts -a b and slopes are not normal.
    _, a, b, x = generator(90, 250, 16)
    found = {
        location: fit(Responses.from_array(x), "random-item", model="2PL", location=location, quadrature_points=5)
        for location in ("intercept", "difficulty")
    }
    log_a = {key: np.log(value.item_parameters.discrimination) for key, value in found.items()}
    assert found["difficulty"].statistics["log_evidence"] > found["intercept"].statistics["log_evidence"]
    assert np.corrcoef(log_a["difficulty"], a)[0, 1] > np.corrcoef(log_a["intercept"], a)[0, 1]
    assert found["difficulty"].statistics["difficulty_sd"] == pytest.approx(b.std(), abs=0.3)


def test_evidence_picks_the_model_that_made_the_data() -> None:
    theta, _, b, varied = generator(90, 250, 11)
    equal = (np.random.default_rng(2).random((90, 250)) < expit(theta[:, None] - b)).astype(float)
    for x, expected in ((varied, "2PL"), (equal, "Rasch")):
        evidence = {
            model: fit(Responses.from_array(x), "random-item", model=model, quadrature_points=5).statistics[
                "log_evidence"
            ]
            for model in ("Rasch", "2PL")
        }
        assert max(evidence, key=evidence.get) == expected


@pytest.mark.parametrize("seed", [11, 18])  # the evidence alone is largest at an SD of 0 here; the truth is .3
def test_few_persons_do_not_put_the_slopes_sd_at_0(seed: int) -> None:
    found = fit(Responses.from_array(generator(30, 100, seed)[-1]), "random-item", model="2PL")
    assert found.statistics["log_slope_sd"] > 0.1


def test_densities_of_the_population_have_their_gradient() -> None:
    law, step = replace(population("3PL"), values=np.array([-1.2, 0.4, 0.8, 0.3, -1.5])), 1e-5
    for prior in (PopulationPrior(), PopulationPrior(LogitNormal(-1.1, 0.5)), PopulationPrior(Beta(5.0, 17.0))):
        numeric = [
            (prior.value(law.moved(e)) - prior.value(law.moved(-e))) / (2 * step)
            for e in step * np.eye(law.values.size)
        ]
        np.testing.assert_allclose(prior.gradient(law), numeric, atol=1e-8)


def test_errors_that_take_an_unknown_slopes_sd_as_known_say_so() -> None:
    for n, j, expected in ((30, 100, True), (100, 300, False)):
        found = fit(Responses.from_array(generator(n, j, 1)[-1]), "random-item", model="2PL")
        assert any("Errors of slopes take it as known" in w for w in found.convergence.warnings) == expected


def test_a_wrong_key_is_named() -> None:
    _, a, b, x = generator(100, 150, 14)
    assert (a[17].round(2), b[17].round(2)) == (0.99, -0.28)  # an item that tells persons apart; a hard one hides it
    x[:, 17] = 1 - x[:, 17]
    found = fit(Responses.from_array(x, item_ids=[f"q{k}" for k in range(150)]), "random-item", model="2PL")
    assert any("pile up near slope 0" in w and "'q17'" in w for w in found.convergence.warnings)


@pytest.mark.parametrize("guessing", ["free", Beta(5.0, 17.0), LogitNormal(-1.1, 0.5), 0.2])
def test_guessing_is_common_to_all_items(guessing: object) -> None:
    theta, a, b, _ = generator(50, 120, 13)
    x = np.random.default_rng(3).random((50, 120)) < 0.2 + 0.8 * expit(a * (theta[:, None] - b))
    responses = Responses.from_array(x.astype(float))
    found = fit(responses, "random-item", model=ItemModel("3PL", guessing=guessing), quadrature_points=5)
    assert found.convergence.status == "converged"
    c = found.item_parameters.guessing
    assert np.ptp(c) == 0
    assert c[0] == pytest.approx(0.2, abs=0.0 if guessing == 0.2 else 0.1)  # SE .03
    assert (found.item_parameters.covariance[0, 2, 2] > 0) == (guessing != 0.2)


def test_what_is_refused_is_refused_by_name() -> None:
    responses = Responses.from_array(generator(10, 30, 14)[3])
    with pytest.raises(ModelError, match="random-item takes no priors on items"):
        fit(responses, "random-item", model="2PL", priors="weak")
    with pytest.raises(ModelError, match="does not fit the 1PL"):
        RandomItem().fit(responses, ItemModel("1PL"))
    for settings in ({"tolerance": 0.0}, {"quadrature_points": 1}, {"max_iterations": True}, {"location": "b"}):
        with pytest.raises(SettingsError, match="random-item"):
            RandomItem(**settings)


def test_a_search_that_is_cut_short_says_so() -> None:
    found = RandomItem(max_iterations=1).fit(Responses.from_array(generator(20, 60, 15)[3]), ItemModel("2PL"))
    assert found.convergence.status == "iteration_limit"
    assert found.convergence.gradient > 1e-6


def test_a_latent_sd_whose_error_is_not_known_has_none() -> None:
    """With five items for a thousand persons the approximate evidence bends the wrong way along the latent SD."""
    found = fit(load_dataset("lsat7"), "random-item", model="Rasch")
    assert found.latent_distribution is not None
    assert found.latent_distribution.sd_standard_error is None
    assert any("error of the latent SD is not known" in w for w in found.convergence.warnings)


@pytest.mark.parametrize(("model", "persons"), [("Rasch", 1), ("2PL", 1), ("2PL", 2)])
def test_persons_who_are_their_own_frame_have_no_errors(model: str, persons: int) -> None:
    x = np.array([[1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 0]])[:persons]
    found = fit(Responses.from_array(x), "random-item", model)
    assert found.abilities is not None
    assert found.abilities.standard_error is not None
    assert np.isfinite(found.abilities.estimate).all()
    assert np.isnan(found.abilities.standard_error).all()
    assert any("there are no standard errors of abilities" in sentence for sentence in found.convergence.warnings)


def test_two_persons_have_errors_where_the_unit_is_the_logit() -> None:
    x = np.array([[1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 0]])
    found = fit(Responses.from_array(x), "random-item", "Rasch")
    assert found.abilities is not None
    assert found.abilities.standard_error is not None
    assert (found.abilities.standard_error > 0).all()
