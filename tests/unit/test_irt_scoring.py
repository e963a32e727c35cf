"""Scorers against dense tables of the likelihood that are written out here, probability by probability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from psychoeval.irt import quadrature, score_equations, score_posteriors, scoring
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_equations import KnownItems, solve
from psychoeval.irt.score_posteriors import draw
from psychoeval.irt.score_uncertainty import added_variance, added_variance_joint, mean_gradients, root_gradients

FloatArray = NDArray[np.float64]
Data = tuple[NDArray[np.int64], NDArray[np.int64], FloatArray, FloatArray, FloatArray]
#: The dense reference has this step; its maxima are refined by a parabola, its roots by a line.
STEP = 1e-3
WIDE = np.arange(-30.0, 30.0 + STEP / 2, STEP)


def data(n: int, j: int, seed: int, *, trials: int = 1, c: float = 0.0, negative: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    a, d = rng.lognormal(0, 0.4, j), rng.normal(0, 1.5, j)
    if negative:
        a[::4] *= -1
    guess = np.where(np.arange(j) % 3 == 0, 0.0, c)
    counts = rng.integers(0, trials + 1, (n, j)) if trials > 1 else (rng.random((n, j)) < 0.8).astype(np.int64)
    counts[:, 0] = 1
    p = guess + (1 - guess) / (1 + np.exp(-(np.outer(rng.normal(size=n), a) + d)))
    return rng.binomial(counts, p), counts, a, d, guess


def tables(a: FloatArray, d: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P, 1 - P and dP / d theta on the wide nodes."""
    tail = np.exp(-np.abs(np.outer(WIDE, a) + d))
    up = np.outer(WIDE, a) + d > 0
    right, wrong = np.where(up, 1, tail) / (1 + tail), np.where(up, tail, 1) / (1 + tail)
    return c + (1 - c) * right, (1 - c) * wrong, (1 - c) * a * right * wrong


def dense(sample: Data) -> FloatArray:
    x, n, a, d, c = sample
    p, q, _ = tables(a, d, c)
    return np.asarray(x @ np.log(p).T + (n - x) @ np.log(q).T)


def top(row: FloatArray) -> float:
    """The place of the maximum, by a parabola through three nodes."""
    i = int(np.argmax(row))
    left, here, right = row[i - 1 : i + 2]
    return float(WIDE[i] + STEP * 0.5 * (left - right) / (left - 2 * here + right))


SAMPLES = {
    "2PL": data(40, 12, 1),
    "counts": data(40, 12, 2, trials=5),
    "3PL": data(60, 12, 3, c=0.25),
    "both signs": data(60, 9, 4, negative=True),
    "3PL, both signs": data(60, 9, 5, c=0.2, negative=True),
}
every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())


@every
def test_eap_is_the_mean_of_a_dense_posterior(sample: Data) -> None:
    log_posterior = dense(sample) - 0.5 * ((WIDE - 0.3) / 1.4) ** 2
    weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ WIDE
    estimate, error = scoring.eap(*sample, mean=0.3, sd=1.4)
    # Both rules are exact to 1e-9 for curves this smooth (see `quadrature.posterior_grid`).
    assert estimate == pytest.approx(mean, abs=1e-8)
    assert error == pytest.approx(np.sqrt((weight * (WIDE - mean[:, None]) ** 2).sum(axis=1)), abs=1e-8)


@every
def test_map_is_the_highest_mode(sample: Data) -> None:
    log_posterior = dense(sample) - 0.5 * ((WIDE - 0.3) / 1.4) ** 2
    estimate, error = scoring.map_(*sample, mean=0.3, sd=1.4)
    # A parabola over 1e-3 errs by the third derivative: below 1e-6.
    assert estimate == pytest.approx([top(row) for row in log_posterior], abs=2e-6)
    assert error == pytest.approx((dense_information(sample, estimate) + 1.4**-2) ** -0.5, rel=2e-3)


def dense_information(sample: Data, theta: FloatArray) -> FloatArray:
    _, n, a, d, c = sample
    p, q, slope = tables(a, d, c)
    at = np.searchsorted(WIDE, theta)
    return np.asarray((n * (slope**2 / (p * q))[at]).sum(axis=1))


@every
def test_ml_is_the_supremum_also_at_infinity(sample: Data) -> None:
    x, n, a, _, c = sample
    table = dense(sample)
    # P in the two limits: at +inf 1 for positive slopes and c for negative ones.
    limits = []
    for sign in (-1, 1):
        p = np.where(sign * a > 0, 1.0, c)
        with np.errstate(divide="ignore", invalid="ignore"):
            right = np.where(x > 0, x * np.log(p), 0.0)
            wrong = np.where(n > x, (n - x) * np.log(1 - p), 0.0)
        limits.append((right + wrong).sum(axis=1))
    best = np.max(limits, axis=0)
    expected = np.array([top(row) if 0 < np.argmax(row) < len(row) - 1 else 0.0 for row in table])
    infinite = best >= table.max(axis=1) - 1e-11
    expected[infinite] = np.where(limits[1][infinite] > limits[0][infinite], np.inf, -np.inf)
    estimate, error = scoring.ml(*sample)
    assert estimate == pytest.approx(expected, abs=2e-5)
    assert np.isinf(error).tolist() == infinite.tolist()
    finite = ~infinite
    assert error[finite] == pytest.approx(dense_information(sample, estimate)[finite] ** -0.5, rel=2e-3)


def test_the_samples_hold_infinite_and_finite_estimates() -> None:
    counts = {name: int(np.isinf(scoring.ml(*sample)[0]).sum()) for name, sample in SAMPLES.items()}
    assert counts["3PL"] > 0
    assert counts["both signs"] > 0
    assert all(counts[name] < len(sample[0]) / 2 for name, sample in SAMPLES.items())


@every
def test_wle_is_the_largest_weighted_likelihood(sample: Data) -> None:
    _, n, a, d, c = sample
    p, q, slope = tables(a, d, c)
    curvature = np.gradient(slope, STEP, axis=0)
    information, bias = n @ (slope**2 / (p * q)).T, n @ (slope * curvature / (p * q)).T
    ratio = bias / (2 * information)
    log_weight = np.concatenate(
        (np.zeros((len(n), 1)), np.cumsum(0.5 * (ratio[:, 1:] + ratio[:, :-1]), axis=1) * STEP), 1
    )
    if not c.any():  # the weight is the root of the information there
        np.testing.assert_allclose(np.diff(log_weight), np.diff(0.5 * np.log(information)), atol=1e-5)
    estimate, _ = scoring.wle(*sample)
    # Differences of step 1e-3 in P'': 1e-6 in the ratio.
    assert estimate == pytest.approx([top(row) for row in dense(sample) + log_weight], abs=1e-5)


def test_wle_takes_off_the_bias_of_ml() -> None:
    rng = np.random.default_rng(11)
    a, d, c = np.full(60, 1.3), np.linspace(-2, 2, 60), np.full(60, 0.2)
    p = c + (1 - c) / (1 + np.exp(-(a * 1.0 + d)))
    x = (rng.random((20_000, 60)) < p).astype(np.int64)
    n = np.ones_like(x)
    ml, wle = scoring.ml(x, n, a, d, c)[0], scoring.wle(x, n, a, d, c)[0]
    error = wle.std() / np.sqrt(len(x))
    slope = (1 - c) * a * (p - c) / (1 - c) * (1 - p) / (1 - c)
    information = (slope**2 / (p * (1 - p))).sum()
    logistic = (p - c) / (1 - c)
    bias = -(slope**2 * a * (1 - 2 * logistic) / (p * (1 - p))).sum() / (2 * information**2)
    # Lord's bias is of the first order: the next is a tenth of it at 60 items.
    allowed = 3 * error + 0.15 * bias
    assert bias > 1.9 * allowed
    assert ml.mean() - 1.0 == pytest.approx(bias, abs=allowed)
    assert abs(wle.mean() - 1.0) < allowed


def test_a_limit_can_exceed_the_maximum_inside_and_the_reverse() -> None:
    a, d, c = np.array([3.0, 3.0, 3.0, 3.0]), np.array([3.0, 1.5, -6.0, -6.0]), np.full(4, 0.25)
    x = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    estimate, error = scoring.ml(x, np.ones_like(x), a, d, c)
    assert estimate[[0, 2, 3]].tolist() == [-np.inf, np.inf, -np.inf]
    assert error[[0, 2, 3]].tolist() == [np.inf] * 3
    assert estimate[1] == pytest.approx(top(dense((x[1:2], np.ones((1, 4), int), a, d, c))[0]), abs=2e-6)


def test_of_two_maxima_inside_the_higher_one_is_taken() -> None:
    # Easy items missed, hard ones solved: one maximum below the easy items, held there by an item without guessing,
    # and one among the hard ones.
    d = np.array([20.0, 0.0, 0.0, 0.0, -20.0, -24.0, -28.0])
    a, c = np.full(7, 4.0), np.array([0.0, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3])
    highest = []
    for right in ([1, 0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0]):
        sample = (np.array([right]), np.ones((1, 7), np.int64), a, d, c)
        row = dense(sample)[0]
        highest.append(top(row))
        assert scoring.ml(*sample)[0][0] == pytest.approx(highest[-1], abs=2e-6)
    assert np.ptp(highest) > 3  # the patterns do choose different ones


def test_ml_far_from_all_items_is_found() -> None:
    # 1 of 400 wrong on items at 0: log(399).
    x = np.ones((2, 400), np.int64)
    x[0, 7] = 0
    x[1, :399] = 0
    zero, one = np.zeros(400), np.ones(400)
    estimate, error = scoring.ml(x, np.ones_like(x), one, zero, zero)
    assert estimate == pytest.approx([np.log(399), -np.log(399)], abs=1e-9)
    assert error == pytest.approx(1 / np.sqrt(400 * (399 / 400) * (1 / 400)), rel=1e-9)


def test_wle_of_perfect_scores_has_its_closed_form_at_any_length() -> None:
    for j in (1, 3, 20, 5000):
        x = np.ones((1, j), np.int64)
        estimate, _ = scoring.wle(x, x, np.full(j, 0.5), np.full(j, -20.0), np.zeros(j))
        assert estimate[0] == pytest.approx(40 + 2 * np.log((j + 0.5) / 0.5), abs=1e-8)


def test_persons_without_trials_and_without_slopes() -> None:
    a, d, c = np.array([0.0, 1.0]), np.array([0.5, 0.0]), np.zeros(2)
    x, n = np.array([[0, 0], [1, 0], [1, 1]]), np.array([[0, 0], [1, 0], [1, 1]])
    for score in (scoring.eap, scoring.map_, scoring.ml, scoring.wle):
        estimate, error = score(x, n, a, d, c)
        assert np.isnan([estimate[0], error[0]]).all()
    for score in (scoring.ml, scoring.wle):
        assert np.isnan([values[1] for values in score(x, n, a, d, c)]).all()
    for score in (scoring.eap, scoring.map_):  # an item without a slope leaves the prior
        assert [values[1] for values in score(x, n, a, d, c)] == pytest.approx([0.0, 1.0], abs=1e-9)


@pytest.mark.parametrize("score", [scoring.eap, scoring.map_, scoring.ml, scoring.wle])
def test_order_mirror_and_blocks_change_nothing(score: Callable[..., tuple[FloatArray, FloatArray]]) -> None:
    x, n, a, d, c = SAMPLES["3PL, both signs"]
    estimate, error = score(x, n, a, d, c)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(x)), rng.permutation(len(a))
    moved = score(x[rows][:, columns], n[rows][:, columns], a[columns], d[columns], c[columns])
    assert moved[0] == pytest.approx(estimate[rows], abs=1e-9)
    turned = score(x, n, -a, d, c)  # theta -> -theta
    assert turned[0] == pytest.approx(-estimate, abs=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        for module in (quadrature, score_equations):
            patch.setattr(module, "BLOCK_CELLS", 300)
        small = score(x, n, a, d, c)
    assert small[0] == pytest.approx(estimate, abs=1e-9)
    assert small[1] == pytest.approx(error, abs=1e-9)


def test_splitting_trials_into_equal_items_changes_nothing() -> None:
    x, n = np.array([[2, 1]]), np.array([[3, 1]])
    a, d, c = np.array([1.2, 0.7]), np.array([0.3, -1.0]), np.array([0.2, 0.0])
    wide = np.array([[1, 1, 0, 1]])
    index = [0, 0, 0, 1]
    for score in (scoring.eap, scoring.map_, scoring.ml, scoring.wle):
        whole, parts = score(x, n, a, d, c), score(wide, np.ones_like(wide), a[index], d[index], c[index])
        assert whole[0] == pytest.approx(parts[0], abs=1e-9)
        assert whole[1] == pytest.approx(parts[1], abs=1e-9)


@pytest.mark.parametrize(("slope", "place"), [(50.0, 0.05), (400.0, 0.0233), (30_000.0, 0.0233)])
def test_eap_of_one_very_steep_item_is_that_of_a_cut_normal(slope: float, place: float) -> None:
    # E(theta | theta > b) = phi(b) / (1 - Phi(b)), up to (pi / a)^2 / 6; b lies between coarse nodes. The last slope
    # asks for more nodes than there may be: the trapezoid rule then errs by half a step at the jump.
    x = np.ones((1, 1), np.int64)
    estimate, _ = scoring.eap(x, x, [slope], [-slope * place], [0.0])
    expected = norm.pdf(place) / norm.sf(place)
    assert estimate[0] == pytest.approx(expected, abs=2 * (np.pi / slope) ** 2 / 6 if slope < 1e4 else 12 / 40_000)


def test_eap_on_a_long_test_reaches_beyond_ten_latent_sds() -> None:
    x = np.ones((1, 200), np.int64)
    estimate, error = scoring.eap(x, x, np.full(200, 2.0), np.full(200, -30.0), np.zeros(200))
    row = 200 * -np.log1p(np.exp(-(2 * WIDE - 30))) - WIDE**2 / 2
    weight = np.exp(row - row.max())
    weight /= weight.sum()
    assert estimate[0] == pytest.approx(weight @ WIDE, abs=1e-8)
    assert error[0] == pytest.approx(np.sqrt(weight @ (WIDE - weight @ WIDE) ** 2), abs=1e-8)


def polygon() -> Grid:
    nodes = np.linspace(-4, 4, 17)
    weights = np.exp(-0.5 * (nodes - 1) ** 2) + 0.5 * np.exp(-2 * (nodes + 2) ** 2)
    return Grid(nodes, np.log(weights / weights.sum()))


def dense_polygon(sample: Data) -> FloatArray:
    law = polygon()
    density = np.interp(WIDE, law.nodes, np.exp(law.log_weights), left=0.0, right=0.0)
    table = dense(sample)
    weight = np.exp(table - table.max(axis=1, keepdims=True)) * density
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def test_eap_under_a_histogram_law() -> None:
    sample = data(30, 200, 8)
    weight = dense_polygon(sample)
    mean = weight @ WIDE
    estimate, error = scoring.eap(*sample, law=polygon())
    # At corners the trapezoid rule errs by h^2 / 12 times the jump of the slope: h is an eighth of an SD.
    assert estimate == pytest.approx(mean, abs=1e-4)
    assert error == pytest.approx(np.sqrt((weight * (WIDE - mean[:, None]) ** 2).sum(axis=1)), rel=1e-3)


@pytest.mark.parametrize("law", [None, polygon()], ids=["normal", "histogram"])
def test_draws_are_from_the_posterior(law: Grid | None) -> None:
    x, n, a, d, c = SAMPLES["3PL"]
    x, n = x[:6].copy(), n[:6].copy()
    x[2] = n[2] = 0
    many = 20_000
    draws = draw(x, n, KnownItems(a, d, c), many, np.random.default_rng(3), law=law)
    assert draws.shape == (many, 6)
    assert np.isnan(draws[:, 2]).all()
    seen = [0, 1, 3, 4, 5]
    sample = (x[seen], n[seen], a, d, c)
    if law is None:
        log_posterior = dense(sample) - WIDE**2 / 2
        weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
    else:
        weight = dense_polygon(sample)
    below = np.cumsum(weight, axis=1)
    for values, cumulative in zip(draws[:, seen].T, below, strict=True):
        ordered = np.sort(values)
        distance = np.abs(np.interp(ordered, WIDE, cumulative) - (np.arange(many) + 0.5) / many).max()
        assert distance < 1.95 / np.sqrt(many)  # Kolmogorov, one in a thousand


def test_draws_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, n, a, d, c = SAMPLES["2PL"]
    items = KnownItems(a, d, c)
    whole = draw(x, n, items, 5, np.random.default_rng(1))
    for module in (quadrature, score_equations):
        monkeypatch.setattr(module, "BLOCK_CELLS", 500)
    assert draw(x, n, items, 5, np.random.default_rng(1)) == pytest.approx(whole, abs=1e-9)


def test_solve_finds_steep_flat_and_missing_roots() -> None:
    root = np.array([3.0, -40.0, 0.0, 0.0])
    scale = np.array([50.0, 0.01, 1.0, 1.0])

    def equation(theta: FloatArray, who: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        value = -np.tanh(scale[who] * (theta - root[who]))
        slope = scale[who] * (1 - value**2)
        never = who == 3
        return np.where(never, 1.0, value), np.where(never, 0.0, slope)

    found = solve(equation, np.array([-5.0, 5.0, 0.0, 1.0]), np.full(4, 0.5))
    assert found == pytest.approx([3.0, -40.0, 0.0, np.inf], abs=1e-8)


def numerical(sample: Data, score: Callable[..., tuple[FloatArray, FloatArray]], h: float = 1e-4) -> FloatArray:
    """Derivatives (3, N, J) by scoring again at moved items."""
    x, n, *parameters = sample
    out = np.zeros((3, *x.shape))
    for k in range(3):
        for j in range(x.shape[1]):
            moved = []
            for sign in (1, -1):
                values = [v.copy() for v in parameters]
                values[k][j] += sign * h
                moved.append(score(x, n, *values)[0])
            out[k, :, j] = (moved[0] - moved[1]) / (2 * h)
    return out


def gradients_of(sample: Data, kind: str) -> FloatArray:
    x, n, a, d, c = sample
    items = KnownItems(a, d, c)
    out = np.full((3, *x.shape), np.nan)
    if kind == "EAP":
        blocks = mean_gradients(x, n, items, mean=0.2, sd=1.1)
    elif kind == "MAP":
        blocks = root_gradients(x, n, scoring.map_(*sample, mean=0.2, sd=1.1)[0], items, precision=1.1**-2)
    else:
        blocks = root_gradients(x, n, scoring.ml(*sample)[0], items)
    for who, g in blocks:
        out[:, who] = g
    return out


SCORERS: dict[str, Callable[..., tuple[FloatArray, FloatArray]]] = {
    "EAP": lambda *s: scoring.eap(*s, mean=0.2, sd=1.1),
    "MAP": lambda *s: scoring.map_(*s, mean=0.2, sd=1.1),
    "ML": scoring.ml,
}


def every_item_guessed() -> Data:
    x, n, a, d, _ = data(25, 14, 21, trials=6, c=0.2)
    return x, n, a, d, np.full(14, 0.2)


@pytest.mark.parametrize("kind", ["EAP", "MAP", "ML"])
def test_derivatives_by_the_items_are_those_of_scoring_again(kind: str) -> None:
    sample = every_item_guessed()
    expected, found = numerical(sample, SCORERS[kind]), gradients_of(sample, kind)
    finite = np.isfinite(scoring.ml(*sample)[0]) if kind == "ML" else np.ones(25, bool)
    assert finite.sum() > 15
    # Central differences of step 1e-4: h^2 times third derivatives.
    np.testing.assert_allclose(found[:, finite], expected[:, finite], atol=2e-6)
    assert np.abs(expected[:, finite]).max() > 0.1


@pytest.mark.parametrize("kind", ["EAP", "MAP"])
def test_a_fixed_asymptote_of_zero_has_no_derivative_and_the_others_theirs(kind: str) -> None:
    sample = data(20, 10, 22)
    found = gradients_of(sample, kind)
    assert (found[2] == 0).all()
    x, n, a, d, c = sample
    for k, move in ((0, "a"), (1, "d")):
        h = 1e-4
        up = (a + h * (np.arange(10) == 4), d) if move == "a" else (a, d + h * (np.arange(10) == 4))
        down = (a - h * (np.arange(10) == 4), d) if move == "a" else (a, d - h * (np.arange(10) == 4))
        difference = (SCORERS[kind](x, n, *up, c)[0] - SCORERS[kind](x, n, *down, c)[0]) / (2 * h)
        np.testing.assert_allclose(found[k, :, 4], difference, atol=2e-6)


@pytest.mark.parametrize("kind", ["EAP", "MAP"])
def test_added_variance_is_that_of_scores_on_sampled_items(kind: str) -> None:
    x, n, a, d, c = every_item_guessed()
    rng = np.random.default_rng(5)
    root = rng.normal(0, 0.03, (14, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    covariance[:, 2, :] *= 0.3
    covariance[:, :, 2] *= 0.3
    items = KnownItems(a, d, c)
    if kind == "EAP":
        blocks = mean_gradients(x, n, items, mean=0.2, sd=1.1)
    else:
        theta = scoring.map_(x, n, a, d, c, mean=0.2, sd=1.1)[0]
        blocks = root_gradients(x, n, theta, items, precision=1.1**-2)
    found = added_variance(len(x), blocks, covariance)
    factor = np.linalg.cholesky(covariance + 1e-14 * np.eye(3))
    many = 1500
    moved = np.einsum("jkm,sjm->skj", factor, rng.normal(size=(many, 14, 3)))
    scores = np.array([SCORERS[kind](x, n, a + m[0], d + m[1], c + m[2])[0] for m in moved])
    # Five Monte Carlo errors of a variance.
    np.testing.assert_allclose(scores.var(axis=0), found, rtol=5 * np.sqrt(2 / many))


def test_a_joint_covariance_holds_blocks_and_what_items_share() -> None:
    x, n, a, d, c = sample = every_item_guessed()
    items = KnownItems(a, d, c)
    g = gradients_of(sample, "EAP")
    rng = np.random.default_rng(6)
    root = rng.normal(0, 0.1, (15, 15))
    joint = root @ root.T
    kind, item = np.array([0] + [1] * 14), np.array([-1, *range(14)])
    found = added_variance_joint(len(x), mean_gradients(x, n, items, mean=0.2, sd=1.1), joint, kind, item)
    for i in range(len(x)):
        own = np.concatenate(([g[0, i].sum()], g[1, i]))
        assert found[i] == pytest.approx(own @ joint @ own, rel=1e-9)
    blocks = np.zeros((14, 3, 3))
    blocks[:, 1, 1] = 0.04
    independent = np.diag([0.0] + [0.04] * 14)
    assert added_variance(len(x), mean_gradients(x, n, items), blocks) == pytest.approx(
        added_variance_joint(len(x), mean_gradients(x, n, items), independent, kind, item), rel=1e-9
    )


def test_nodes_of_the_posteriors_are_few_for_one_person() -> None:
    sample = data(1, 3000, 9)
    (_, grid, _), *more = score_posteriors.posteriors(sample[0], sample[1], KnownItems(*sample[2:]))
    assert not more
    # 10 latent SDs each way at this step would be 800 nodes.
    assert grid.nodes.size < 150
