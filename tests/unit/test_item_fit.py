"""S-X2, infit and outfit against enumeration of all patterns, by hand, and on data of true and false models."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from psychoeval import FitResult, ItemParameters, LatentDistribution, Responses, fit, import_fit
from psychoeval.diagnostics import item_fit
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt.curves import probability
from psychoeval.irt.item_fit import (
    ScoreTable,
    chi_squared,
    expected_shares,
    right_with_score,
    score_distribution,
    score_grid,
    score_table,
)
from psychoeval.irt.models import ItemModel
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.residual_fit import mean_squares, residual_sums
from psychoeval.irt.score_equations import KnownItems

FIVE = {
    "Rasch": KnownItems(np.ones(5), np.array([-2.0, -0.5, 0.0, 1.0, 3.0]), np.zeros(5)),
    "2PL": KnownItems(np.array([0.4, 1.0, 1.7, 3.0, -0.6]), np.array([1.0, -0.5, 0.0, 2.0, 0.3]), np.zeros(5)),
    "3PL": KnownItems(np.array([0.8, 1.2, 2.0, 1.0, 1.0]), np.array([1.0, -1.0, 0.0, -2.0, 0.5]), np.full(5, 0.2)),
}


def enumerated(items: KnownItems, density, low: float, high: float) -> np.ndarray:
    """Return P(item right | score) for scores 1 to J - 1 by adding up all patterns, each integrated by `quad`."""
    n = items.a.size
    right, total = np.zeros((n + 1, n)), np.zeros(n + 1)
    for pattern in itertools.product((0, 1), repeat=n):
        x = np.array(pattern)

        def likelihood(t: float, x: np.ndarray = x) -> float:
            p = probability([t], items.a, items.d, items.c)[0]
            return float(np.prod(np.where(x == 1, p, 1 - p)) * density(t))

        mass = quad(likelihood, low, high, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
        total[x.sum()] += mass
        right[x.sum()] += mass * x
    return right[1:n] / total[1:n, None]


def known_fit(items: KnownItems, model: str = "2PL", guessing: float | None = None, sd: float = 1.0) -> FitResult:
    parameters = ItemParameters.from_slope_intercept(
        [f"item-{k + 1}" for k in range(items.a.size)], items.a, items.d, items.c
    )
    return import_fit(
        parameters, model=ItemModel(model, guessing=guessing), latent_distribution=LatentDistribution(0.0, sd)
    )


def drawn(rng: np.random.Generator, items: KnownItems, n: int) -> np.ndarray:
    return (rng.random((n, items.a.size)) < probability(rng.normal(size=n), items.a, items.d, items.c)).astype(float)


def many(rng: np.random.Generator, j: int, model: str = "2PL") -> KnownItems:
    a = np.ones(j) if model == "Rasch" else rng.lognormal(0, 0.3, j)
    return KnownItems(a, rng.normal(0, 1, j), np.zeros(j))


@pytest.mark.parametrize("model", FIVE)
def test_expected_shares_are_those_of_all_patterns(model: str) -> None:
    items, sd = FIVE[model], 1.3
    found = expected_shares(items, score_grid(items, sd=sd), np.arange(1, 5))
    np.testing.assert_allclose(found, enumerated(items, lambda t: norm.pdf(t, scale=sd), -13, 13), rtol=1e-7)


def test_expected_shares_under_a_histogram_are_those_of_all_patterns() -> None:
    items = FIVE["2PL"]
    nodes = np.linspace(-3, 3, 7)
    weights = np.array([0.02, 0.3, 0.1, 0.05, 0.3, 0.2, 0.03])
    law = Grid(nodes, np.log(weights))
    found = expected_shares(items, score_grid(items, distribution=law), np.arange(1, 5))
    # The trapezoid rule errs by h^2 at the corners of the density, h = .03.
    expected = enumerated(items, lambda t: float(np.interp(t, nodes, weights)), -3, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize(("n_items", "spread"), [(2, 1.0), (12, 3.0), (40, 1.0), (40, 8.0)])
def test_scores_without_an_item_keep_all_digits(n_items: int, spread: float) -> None:
    rng = np.random.default_rng(n_items)
    a, d = rng.lognormal(0, 0.6, n_items) * spread**0.3, rng.normal(0, spread, n_items)
    p = probability(np.linspace(-9, 9, 19), a, d)
    q = probability(np.linspace(-9, 9, 19), -a, -d)
    table = score_distribution(p, q)
    for node in range(19):  # node by node, so that no other one covers an error
        one = slice(node, node + 1)
        found = right_with_score(p[one], q[one], table[one], np.ones(1))
        for j in range(n_items):
            rest = score_distribution(np.delete(p[one], j, 1), np.delete(q[one], j, 1))
            # What is 1e-250 of 1 comes from numbers that lost digits on the way down to 1e-308.
            np.testing.assert_allclose(found[:, j], p[node, j] * rest[0], rtol=1e-12, atol=1e-250)


def test_certain_items_do_no_harm() -> None:
    p = np.array([[1.0, 1e-300, 0.5, 1e-9]])
    q = np.array([[1e-300, 1.0, 0.5, 1.0]])
    found = right_with_score(p, q, score_distribution(p, q), np.ones(1))
    for j in range(4):
        rest = score_distribution(np.delete(p, j, 1), np.delete(q, j, 1))[0]
        np.testing.assert_allclose(found[:, j], p[0, j] * rest, rtol=1e-12, atol=1e-290)


def test_scores_of_alike_items_are_binomial() -> None:
    p = np.full((1, 6), 0.3)
    expected = [comb(6, k) * 0.3**k * 0.7 ** (6 - k) for k in range(7)]
    np.testing.assert_allclose(score_distribution(p, 1 - p)[0], expected, rtol=1e-13)


def test_observed_counts_leave_out_the_extreme_scores() -> None:
    items = FIVE["2PL"]
    x = np.array([[0] * 5, [1] * 5, [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=np.uint8)
    table = score_table(x, items, score_grid(items))
    assert table.scores.tolist() == [1, 3]
    assert table.persons.tolist() == [2, 1]
    assert table.right.tolist() == [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    # Each person of score s has s right answers, expected ones too.
    np.testing.assert_allclose(table.expected.sum(axis=1), [2.0, 3.0], rtol=1e-12)


def one_item(persons: list[float], right: list[float], expected: list[float]) -> tuple[float, int]:
    columns = (np.array(v)[:, None] for v in (right, expected))
    table = ScoreTable(np.arange(1, len(persons) + 1), np.array(persons), *columns)
    statistic, classes = chi_squared(table)
    return float(statistic[0]), int(classes[0])


def test_the_statistic_by_hand() -> None:
    found = one_item([10, 20], [2, 15], [4, 12])
    assert found == (pytest.approx(4 / 4 + 4 / 6 + 9 / 12 + 9 / 8, rel=1e-14), 2)


@pytest.mark.parametrize(
    ("persons", "right", "expected", "joined"),
    [
        # One person goes to the next score, the last one to the score before.
        ([1, 9, 20, 1], [1, 2, 15, 1], [0.5, 3.5, 12, 0.9], ([10, 21], [3, 16], [4, 12.9])),
        # Too few right answers expected in the first class, too few wrong ones in the last.
        ([5, 10, 20, 4], [0, 2, 15, 4], [0.3, 4, 12, 3.5], ([15, 24], [2, 19], [4.3, 15.5])),
        # In the middle: to the neighbor with fewer persons, to the lower one of equals.
        ([30, 5, 10, 20], [9, 1, 4, 15], [8, 0.5, 4, 12], ([30, 15, 20], [9, 5, 15], [8, 4.5, 12])),
        ([10, 5, 10, 20], [3, 1, 4, 15], [4, 0.5, 4, 12], ([15, 10, 20], [4, 4, 15], [4.5, 4, 12])),
        # A class that stays too small when joined takes the next one too.
        ([2, 3, 10, 20], [0, 0, 4, 15], [0.1, 0.2, 4, 12], ([15, 20], [4, 15], [4.3, 12])),
    ],
)
def test_scores_are_joined_by_the_rule(
    persons: list[float], right: list[float], expected: list[float], joined: tuple[list[float], ...]
) -> None:
    n, o, e = (np.array(v) for v in joined)
    statistic = float(np.sum((o - e) ** 2 / e + (o - e) ** 2 / (n - e)))
    assert one_item(persons, right, expected) == (pytest.approx(statistic, rel=1e-12), n.size)


def test_one_class_that_is_too_small_is_none() -> None:
    assert one_item([3, 4], [1, 0], [0.2, 0.3]) == (0.0, 0)


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_p_values_of_a_true_model_are_uniform(model: str) -> None:
    """Of 2,000 items each: 5.7 % and 5.4 % below .05 with known items (500 x 20)."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(25):
        items = many(rng, 20, model)
        found = item_fit(known_fit(items, model), Responses.from_array(drawn(rng, items, 500)), parameters_per_item=0)
        p.append(found.p)
    values = np.concatenate(p)
    assert 0.03 < np.mean(values < 0.05) < 0.08  # 500 values: three standard errors are .029
    assert 0.45 < values.mean() < 0.55


@pytest.mark.parametrize(("model", "own"), [("Rasch", 1), ("2PL", 2)])
def test_p_values_of_fitted_items_are_uniform_with_the_items_own_parameters_taken_off(model: str, own: int) -> None:
    """Mean p .500 of 2,000 Rasch items and .497 of 1,200 items of the 2PL; with one parameter more .445 and lower."""
    rng = np.random.default_rng(6)
    values, more = [], []
    for _ in range(15):
        items = many(rng, 20, model)
        responses = Responses.from_array(drawn(rng, items, 500))
        found = fit(responses, "mml", model=ItemModel(model), standard_errors="none")
        values.append(item_fit(found, responses).p)
        more.append(item_fit(found, responses, parameters_per_item=own + 1).p)
    p, lower = np.concatenate(values), np.concatenate(more)
    assert 0.02 < np.mean(p < 0.05) < 0.09  # 300 values: three standard errors are .038
    assert abs(p.mean() - 0.5) < 0.045
    assert lower.mean() < p.mean() - 0.03


def test_an_item_with_guessing_does_not_fit_the_rasch_model() -> None:
    rng = np.random.default_rng(7)
    items = many(rng, 20, "Rasch")
    items.d[0] = -2.0
    guessed = KnownItems(items.a, items.d, np.where(np.arange(20) == 0, 0.3, 0.0))
    responses = Responses.from_array(drawn(rng, guessed, 2000))
    found = item_fit(fit(responses, "mml", model=ItemModel("Rasch")), responses)
    assert found.p_adjusted.argmin() == 0
    assert found.p_adjusted[0] < 1e-6
    assert np.sort(found.p_adjusted)[1] > 0.05
    assert found.outfit.argmax() == 0


def test_degrees_of_freedom_are_classes_less_parameters() -> None:
    rng = np.random.default_rng(8)
    items = many(rng, 10)
    responses = Responses.from_array(drawn(rng, items, 400))
    free, known = (item_fit(known_fit(items), responses, parameters_per_item=k) for k in (None, 0))
    np.testing.assert_array_equal(known.df - free.df, 2)
    np.testing.assert_array_equal(known.s_x2, free.s_x2)
    np.testing.assert_allclose(free.p, chi2.sf(free.s_x2, free.df), rtol=1e-12)
    three = known_fit(items, "3PL")  # guessing is estimated
    np.testing.assert_array_equal(known.df - item_fit(three, responses).df, 3)
    fixed = known_fit(items, "3PL", guessing=0.0)
    np.testing.assert_array_equal(item_fit(fixed, responses).df, free.df)


def test_tables_of_persons_with_the_same_missing_cells_add_up() -> None:
    rng = np.random.default_rng(9)
    items = many(rng, 15)
    x = drawn(rng, items, 600)
    book = np.arange(600) % 2
    x[np.ix_(book == 0, np.arange(5))] = np.nan
    x[np.ix_(book == 1, np.arange(10, 15))] = np.nan
    x[:3, 7] = np.nan
    responses = Responses.from_array(x)
    found = item_fit(known_fit(items), responses, parameters_per_item=0)
    full = np.isfinite(x[:, 7])
    first, second = (
        item_fit(
            known_fit(items),
            responses.select(persons=np.flatnonzero(full & (book == k)), items=columns),
            parameters_per_item=0,
        )
        for k, columns in ((0, np.arange(5, 15)), (1, np.arange(10)))
    )
    np.testing.assert_allclose(found.s_x2[:5], second.s_x2[:5], rtol=1e-10)
    np.testing.assert_allclose(found.s_x2[5:10], first.s_x2[:5] + second.s_x2[5:], rtol=1e-10)
    np.testing.assert_array_equal(found.df[5:10], first.df[:5] + second.df[5:])
    np.testing.assert_array_equal(found.n_s_x2, np.repeat([299, 597, 298], 5))
    assert any("leaves out 3 of 600 persons" in note for note in found.notes)


def test_cells_missing_here_and_there_leave_no_table() -> None:
    rng = np.random.default_rng(10)
    items = many(rng, 12)
    x = drawn(rng, items, 200)
    x[rng.random(x.shape) < 0.3] = np.nan
    found = item_fit(known_fit(items), Responses.from_array(x))
    assert set(found.s_x2_status) == {"fewer than 20 persons share their missing cells"}
    assert np.isnan(found.p).all()
    assert set(found.residual_status) == {"judged"}
    assert np.isfinite(found.infit_z).all()


def reasons(found) -> list[tuple[str, str]]:
    """Return both statuses of each item, having checked that values are missing exactly where one is a reason."""
    for values in (found.s_x2, found.df, found.p, found.p_adjusted, found.rmsea):
        np.testing.assert_array_equal(np.isfinite(values), [s == "judged" for s in found.s_x2_status])
    for values in (found.infit, found.infit_z, found.outfit, found.outfit_z):
        np.testing.assert_array_equal(np.isfinite(values), [s == "judged" for s in found.residual_status])
    assert found.to_frame().index.tolist() == list(found.item_ids)
    return list(zip(found.s_x2_status, found.residual_status, strict=True))


@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")
def test_every_item_is_judged_or_has_a_reason() -> None:
    rng = np.random.default_rng(11)
    items = many(rng, 8, "Rasch")
    x = drawn(rng, items, 150)
    x[:, 3], x[:, 5], x[:, 6] = 1, 0, np.nan
    responses = Responses.from_array(x)
    found = reasons(item_fit(fit(responses, "mml", model=ItemModel("Rasch")), responses))
    assert found[0] == ("judged", "judged")
    assert [found[k][0] for k in (3, 5, 6)] == [
        "without parameters: all responses to it are right",
        "without parameters: all responses to it are wrong",
        "without parameters: it has no responses",
    ]
    cml = item_fit(fit(responses, "cml", model=ItemModel("Rasch")), responses)
    assert cml.ability == "WLE"
    assert reasons(cml)[0] == ("the fit has no distribution of abilities", "judged")
    two = responses.select(items=np.array([0, 1]))
    assert reasons(item_fit(known_fit(KnownItems(items.a[:2], items.d[:2], items.c[:2]), "Rasch"), two))[0] == (
        "there are fewer than 3 items",
        "judged",
    )
    three = responses.select(items=np.array([0, 1, 2]))
    assert reasons(item_fit(known_fit(KnownItems(items.a[:3], items.d[:3], items.c[:3]), "2PL"), three))[0] == (
        "2 classes of scores, no more than the 2 taken off for parameters",
        "judged",
    )


def test_counts_have_mean_squares_and_no_s_x2() -> None:
    rng = np.random.default_rng(12)
    items = many(rng, 6)
    p = probability(rng.normal(size=300), items.a, items.d)
    responses = Responses.from_array(rng.binomial(4, p), np.full(p.shape, 4))
    found = item_fit(known_fit(items), responses)
    assert reasons(found)[0] == ("some cells have more than one trial", "judged")
    # Four trials a cell are judged on the same scale: mean squares of a true model are near 1.
    assert np.abs(found.outfit - 1).max() < 0.35


def test_mean_squares_are_their_definition_for_counts_too() -> None:
    rng = np.random.default_rng(13)
    items = FIVE["3PL"]
    theta = rng.normal(size=7)
    trials = rng.integers(0, 4, (7, 5)).astype(np.uint8)
    trials[0] = 0
    theta[1] = np.inf
    p = probability(theta, items.a, items.d, items.c)
    successes = rng.binomial(trials, np.nan_to_num(p)).astype(np.uint8)
    of_items, of_persons = residual_sums(successes, trials, theta, items)
    moments = np.zeros((7, 5, 2))  # E r^2 and E r^4, by adding up the binomial distribution
    for i, j in itertools.product(range(7), range(5)):
        n, k = int(trials[i, j]), np.arange(trials[i, j] + 1)
        mass = np.array([comb(n, int(m)) for m in k]) * p[i, j] ** k * (1 - p[i, j]) ** (n - k)
        moments[i, j] = mass @ (k - n * p[i, j]) ** 2, mass @ (k - n * p[i, j]) ** 4
    r, (w, c) = successes - trials * p, np.moveaxis(moments, 2, 0)
    seen = (trials > 0) & np.isfinite(theta)[:, None]
    for sums, axis in ((of_items, 0), (of_persons, 1)):
        with np.errstate(invalid="ignore", divide="ignore"):
            cells = seen.sum(axis=axis)
            infit = np.where(seen, r**2, 0).sum(axis=axis) / np.where(seen, w, 0).sum(axis=axis)
            outfit = np.where(seen, r**2 / w, 0).sum(axis=axis) / cells
            q_in = np.sqrt(np.where(seen, c - w**2, 0).sum(axis=axis)) / np.where(seen, w, 0).sum(axis=axis)
            q_out = np.sqrt(np.where(seen, c / w**2, 0).sum(axis=axis) / cells**2 - 1 / cells)
        found = mean_squares(sums)
        for value, z, mean_square, q in (
            (found.infit, found.infit_z, infit, q_in),
            (found.outfit, found.outfit_z, outfit, q_out),
        ):
            np.testing.assert_allclose(value, mean_square, rtol=1e-12)
            q = np.minimum(q, 1.4142)
            np.testing.assert_allclose(z, (np.cbrt(mean_square) - 1) * 3 / q + q / 3, rtol=1e-10)


def test_p_values_of_mean_squares_see_noise_and_not_the_rest() -> None:
    rng = np.random.default_rng(14)
    items = many(rng, 12, "Rasch")
    x = drawn(rng, items, 400)
    x[:, 4] = rng.random(400) < 0.5  # answered by chance
    found = item_fit(known_fit(items, "Rasch"), Responses.from_array(x), replications=99, seed=3)
    assert found.outfit_p[4] == found.outfit_p.min() == pytest.approx(2 / 100)
    assert np.median(np.delete(found.outfit_p, 4)) > 0.1
    again = item_fit(known_fit(items, "Rasch"), Responses.from_array(x), replications=99, seed=3)
    np.testing.assert_array_equal(found.infit_p, again.infit_p)
    none = item_fit(known_fit(items, "Rasch"), Responses.from_array(x))
    assert np.isnan(none.infit_p).all()
    assert any("no p values" in note for note in none.notes)


def test_persons_with_an_infinite_ability_take_no_part() -> None:
    rng = np.random.default_rng(15)
    items = many(rng, 6)
    x = drawn(rng, items, 120)
    x[0], x[1] = 1, 0
    extreme = int(np.isin(x.sum(axis=1), (0, 6)).sum())
    found = item_fit(known_fit(items), Responses.from_array(x), ability="ML")
    assert found.n_persons.tolist() == [120 - extreme] * 6
    assert f"{extreme} persons have an infinite ML ability and take no part in infit and outfit." in found.notes
    reasons(found)


def test_what_cannot_be_judged_is_refused() -> None:
    items = FIVE["2PL"]
    found = known_fit(items)
    responses = Responses.from_array(drawn(np.random.default_rng(0), items, 60))
    other = Responses.from_array(np.eye(3), item_ids=["item-1", "x", "y"])
    with pytest.raises(DataError, match="'x', 'y'"):
        item_fit(found, other)
    with pytest.raises(DataError, match="Responses"):
        item_fit(found, np.eye(5))  # type: ignore[arg-type]
    with pytest.raises(NotComparableError, match="no item parameters"):
        item_fit(fit(responses, "ctt"), responses)
    for wrong in ({"min_expected": 0}, {"parameters_per_item": -1}, {"ability": "SUM"}, {"replications": -1}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            item_fit(found, responses, **wrong)  # type: ignore[arg-type]
    without = import_fit(found.item_parameters, model="2PL")
    with pytest.raises(SettingsError, match="distribution"):
        item_fit(without, responses, ability="EAP")


def test_five_hundred_by_five_hundred_is_quick_and_small() -> None:
    """1000 x 1000 takes six to eight times as long: 4 s measured, 70 MiB; asked are 20 s and 1 GB."""
    rng = np.random.default_rng(16)
    items = many(rng, 500)
    responses = Responses.from_array(drawn(rng, items, 500))
    found_for = known_fit(items)
    tracemalloc.start()
    start = time.process_time()
    found = item_fit(found_for, responses)
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 6
    assert peak < 2**27
    assert 0.02 < np.mean(found.p < 0.05) < 0.10
