"""A and B of every method: closed forms, brute force, derivatives, what anchors cannot determine."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from psychoeval.errors import NotComparableError
from psychoeval.irt.linking import Constants, LinkingMethod, has_one_slope, linking_constants, normal_nodes
from psychoeval.irt.linking_curves import Direction
from psychoeval.irt.linking_persons import person_constants

METHODS: tuple[LinkingMethod, ...] = ("mean-mean", "mean-sigma", "haebara", "stocking-lord")
CURVES: tuple[LinkingMethod, ...] = ("haebara", "stocking-lord")
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "both")


def items(n: int = 8, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.lognormal(0, 0.3, n), rng.normal(0, 1, n), rng.uniform(0, 0.3, n)], axis=1)


def moved(given: np.ndarray, scale: float, shift: float, noise: float = 0.0, seed: int = 2) -> np.ndarray:
    """The law, written out once more: a / A, d - (B / A) a, c."""
    a, d, c = given.T
    out = np.stack([a / scale, d - shift / scale * a, c], axis=1)
    return out + np.random.default_rng(seed).normal(0, noise, out.shape) * (1, 1, 0.2)


def curve(theta: np.ndarray, one: np.ndarray) -> np.ndarray:
    a, d, c = one
    return np.asarray(c + (1 - c) / (1 + np.exp(-(a * theta + d))))


def criterion(method: str, direction: str, first: np.ndarray, second: np.ndarray, scale: float, shift: float) -> float:
    """Haebara's and Stocking and Lord's sums, as they are written in their papers."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    total = 0.0
    for way, sign in (("forward", 1), ("backward", -1)):
        if direction not in (way, "both"):
            continue
        # Transform the parameters and compare at the same abilities.
        one = moved(first, scale, shift) if sign > 0 else first
        two = second if sign > 0 else moved(second, 1 / scale, -shift / scale)
        gaps = np.array([curve(nodes, x) - curve(nodes, y) for x, y in zip(two, one, strict=True)])
        squares = (gaps**2).sum(axis=0) if method == "haebara" else gaps.sum(axis=0) ** 2
        total += float(weights @ squares)
    return total


@pytest.mark.parametrize("law", [(1.0, 0.0), (1.3, -0.4), (0.4, 2.0), (-0.8, 0.3)])
@pytest.mark.parametrize("method", METHODS)
def test_a_known_transformation_is_found(method: LinkingMethod, law: tuple[float, float]) -> None:
    found = linking_constants(items(), moved(items(), *law), method)
    assert (found.scale, found.shift) == pytest.approx(law, abs=1e-8)


def test_moment_methods_are_their_formulas() -> None:
    first, second = items(), moved(items(), 1.3, -0.4, 0.05)
    b1, b2 = (-x[:, 1] / x[:, 0] for x in (first, second))
    mean = linking_constants(first, second, "mean-mean")
    assert mean.scale == pytest.approx(first[:, 0].mean() / second[:, 0].mean(), rel=1e-14)
    assert mean.shift == pytest.approx(b2.mean() - mean.scale * b1.mean(), rel=1e-13)
    sigma = linking_constants(first, second, "mean-sigma")
    assert sigma.scale == pytest.approx(b2.std() / b1.std(), rel=1e-14)
    assert sigma.shift == pytest.approx(b2.mean() - sigma.scale * b1.mean(), rel=1e-13)


@pytest.mark.parametrize(("method", "direction"), list(product(CURVES, DIRECTIONS)))
def test_curve_methods_are_at_the_least_of_a_grid(method: LinkingMethod, direction: Direction) -> None:
    first, second = items(6), moved(items(6), 1.3, -0.4, 0.15)
    found = linking_constants(first, second, method, direction=direction)
    at = criterion(method, direction, first, second, found.scale, found.shift)
    coarse = product(np.linspace(0.3, 3.0, 28), np.linspace(-2, 2, 21))
    assert at <= min(criterion(method, direction, first, second, *u) for u in coarse)
    near = product(found.scale + np.linspace(-2e-3, 2e-3, 5), found.shift + np.linspace(-2e-3, 2e-3, 5))
    values = {u: criterion(method, direction, first, second, *u) for u in near}
    assert min(values, key=values.get) == pytest.approx((found.scale, found.shift), abs=1e-12)  # type: ignore[arg-type]


def noisy(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Anchors with errors of a whole logit, whose criterion has several minima."""
    second = moved(items(n, seed), 1.3, -0.4, 1.0, seed + 1)
    second[:, 0], second[:, 2] = np.maximum(second[:, 0], 0.2), np.clip(second[:, 2], 0, 0.5)
    return items(n, seed), second


@pytest.mark.parametrize(("seed", "n", "direction"), [(1378, 5, "backward"), (218, 5, "both"), (1915, 6, "backward")])
def test_of_several_minima_the_least_is_taken_and_the_next_is_named(seed: int, n: int, direction: Direction) -> None:
    """A search from medians alone ends in a minimum that lies above points of a grid."""
    first, second = noisy(seed, n)
    found = linking_constants(first, second, "haebara", direction=direction)
    grid = product(np.geomspace(0.2, 12, 25), np.linspace(-8, 8, 41))
    least = min(criterion("haebara", direction, first, second, *u) for u in grid)
    at = criterion("haebara", direction, first, second, found.scale, found.shift)
    assert at <= least
    assert found.rival is not None
    other = criterion("haebara", direction, first, second, found.rival.scale, found.rival.shift)
    assert other == pytest.approx(found.rival.ratio * at, rel=1e-9)
    near = product((-1e-3, 0, 1e-3), repeat=2)
    u = found.rival.scale, found.rival.shift
    assert other == min(criterion("haebara", direction, first, second, u[0] + a, u[1] + b) for a, b in near)


def test_one_minimum_has_no_rival() -> None:
    for method in METHODS:
        assert linking_constants(items(), moved(items(), 1.3, -0.4, 0.05), method).rival is None


def test_directions_and_nodes_change_the_answer() -> None:
    first, second = items(6), moved(items(6), 1.3, -0.4, 0.15)
    found = [linking_constants(first, second, "haebara", direction=d).scale for d in DIRECTIONS]
    assert min(np.abs(np.diff(found))) > 1e-4
    assert min(found[:2]) < found[2] < max(found[:2])
    grid = np.linspace(-4, 4, 40), np.ones(40)
    assert abs(linking_constants(first, second, "haebara", quadrature=grid).scale - found[0]) > 1e-4


def test_backward_is_the_inverse_of_forward_with_the_sides_exchanged() -> None:
    first, second = items(6), moved(items(6), 1.3, -0.4, 0.15)
    for method in CURVES:
        there = linking_constants(first, second, method, direction="backward")
        back = linking_constants(second, first, method, direction="forward")
        assert (1 / there.scale, -there.shift / there.scale) == pytest.approx((back.scale, back.shift), abs=1e-9)


@pytest.mark.parametrize("unit", ["free", "slopes", 1.1])
@pytest.mark.parametrize(
    ("method", "direction"),
    [("mean-mean", "forward"), ("mean-sigma", "forward"), *product(CURVES, ("forward", "both"))],
)
def test_derivatives_are_those_of_the_constants(method: LinkingMethod, direction: Direction, unit: object) -> None:
    first, second = items(3), moved(items(3), 1.3, -0.4, 0.1)

    def at(step: float, k: int, j: int, p: int) -> np.ndarray:
        both = [first.copy(), second.copy()]
        both[k][j, p] += step
        found = linking_constants(both[0], both[1], method, unit=unit, direction=direction)  # type: ignore[arg-type]
        return np.array([found.scale, found.shift])

    found = linking_constants(first, second, method, unit=unit, direction=direction)  # type: ignore[arg-type]
    for k, j, p in product(range(2), range(3), range(3)):
        difference = (at(1e-5, k, j, p) - at(-1e-5, k, j, p)) / 2e-5
        np.testing.assert_allclose(found.jacobian[:, k, j, p], difference, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_covariance_is_the_spread_over_draws_and_its_intervals_cover(method: LinkingMethod) -> None:
    """500 draws of the items' estimates: the SD within three of its errors (3.2 %), coverage within three of its."""
    rng = np.random.default_rng(7)
    truth = items(12), moved(items(12), 1.3, -0.4)
    sd = np.array([0.06, 0.05, 0.0])
    loading = rng.normal(0, 0.5, (2, 36)) * np.tile(sd, 12)
    covariance = [np.diag(np.tile(sd, 12) ** 2) + np.outer(v, v) for v in loading]
    inside, found = np.zeros(2), []
    for _ in range(500):
        noisy = [
            t + rng.multivariate_normal(np.zeros(36), c).reshape(12, 3) for t, c in zip(truth, covariance, strict=True)
        ]
        one = linking_constants(noisy[0], noisy[1], method)
        errors = np.sqrt(np.diag(one.covariance(*covariance)))
        inside += np.abs(np.array([one.scale, one.shift]) - (1.3, -0.4)) <= 1.96 * errors
        found.append((one.scale, one.shift))
    expected = linking_constants(*truth, method).covariance(*covariance)
    np.testing.assert_allclose(np.std(found, axis=0), np.sqrt(np.diag(expected)), rtol=0.096)
    assert (np.abs(inside / 500 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 500)).all()


def test_blocks_and_the_whole_matrix_with_zeros_between_are_one() -> None:
    first, second = items(4), moved(items(4), 1.3, -0.4, 0.05)
    blocks = np.random.default_rng(3).normal(size=(2, 4, 3, 3))
    blocks = 0.01 * blocks @ blocks.transpose(0, 1, 3, 2)
    whole = np.zeros((2, 12, 12))
    for k, j in product(range(2), range(4)):
        whole[k, 3 * j : 3 * j + 3, 3 * j : 3 * j + 3] = blocks[k, j]
    found = linking_constants(first, second, "haebara")
    np.testing.assert_allclose(found.covariance(*blocks), found.covariance(*whole), rtol=1e-12)


@pytest.mark.parametrize("method", ["mean-mean", "haebara", "stocking-lord"])
def test_one_anchor_gives_its_own_transformation(method: LinkingMethod) -> None:
    found = linking_constants(items(1), moved(items(1), 1.3, -0.4), method)
    assert (found.scale, found.shift) == pytest.approx((1.3, -0.4), abs=1e-8)


def test_mean_sigma_needs_two_difficulties() -> None:
    with pytest.raises(NotComparableError, match="mean-sigma needs difficulties that differ"):
        linking_constants(items(1), moved(items(1), 1.3, -0.4), "mean-sigma")
    equal = np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 0.0]])
    with pytest.raises(NotComparableError, match="differ"):
        linking_constants(equal, equal, "mean-sigma")


@pytest.mark.parametrize("b", [0.7, 0.1, 1.3, 2.3, 1000.1])
def test_difficulties_that_differ_by_rounding_give_no_unit(b: float) -> None:
    """-d / a of six slopes are not one number to the last bit: the ratio of such spreads was any number."""
    a = np.random.default_rng(1).lognormal(0, 0.3, 6)
    one, two = (np.stack([s, -s * d, 0 * s], axis=1) for s, d in ((a, b), (1.3 * a, b / 1.3 + 0.2)))
    for first, second in ((one, two), (one, items(6)), (items(6), two)):
        with pytest.raises(NotComparableError, match=r"mean-sigma needs difficulties that differ, .* 6 anchors do not"):
            linking_constants(first, second, "mean-sigma")


def test_slopes_that_cancel_but_for_rounding_give_no_unit() -> None:
    a = np.array([0.1, 0.2, -0.3, 0.1, 0.2, -0.3])
    assert a.sum() != 0  # rounding
    first, second = items(6), items(6)
    first[:, 0], second[:, 0] = a, np.abs(a)
    with pytest.raises(NotComparableError, match="mean 0"):
        linking_constants(first, second, "mean-mean")


@pytest.mark.parametrize("method", METHODS)
def test_anchors_with_negative_slopes_link_as_the_others(method: LinkingMethod) -> None:
    first = items()
    first[:4, 0] *= -1  # of plain means 0 would be left
    found = linking_constants(first, moved(first, 1.3, -0.4), method)
    assert (found.scale, found.shift) == pytest.approx((1.3, -0.4), abs=1e-8)


def test_flat_curves_determine_nothing() -> None:
    flat = np.array([[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])
    with pytest.raises(NotComparableError, match="found no minimum"):
        linking_constants(flat, flat, "haebara", unit=1.0)
    with pytest.raises(NotComparableError, match="mean 0"):
        linking_constants(flat, flat, "haebara")


def test_a_given_unit_stays() -> None:
    first, second = items(), moved(items(), 1.3, -0.4, 0.05)
    for method in METHODS:
        found = linking_constants(first, second, method, unit=0.9)
        assert found.scale == 0.9
        assert not found.jacobian[0].any()


def test_nodes_are_those_of_the_standard_normal() -> None:
    nodes, weights = normal_nodes(30)
    assert [float(weights @ nodes**k) for k in range(7)] == pytest.approx([1, 0, 1, 0, 3, 0, 15], abs=1e-10)


def test_one_slope_is_recognised_but_for_rounding() -> None:
    assert has_one_slope(np.full(3, 0.1) * np.array([1, 1 + 1e-15, 1]))
    assert not has_one_slope(np.array([1.0, 1.0 + 1e-9]))
    assert not has_one_slope(np.array([]))


def test_covariance_of_nothing_known_is_nothing() -> None:
    found = Constants(1.0, 0.0, np.zeros((2, 2, 3, 3)))
    assert not found.covariance(np.ones((3, 3, 3)), np.ones((9, 9))).any()


def test_persons_link_by_means_and_true_sds() -> None:
    """Estimates that are true values with errors, or drawn to the mean, give the true unit; their own SDs do not."""
    rng = np.random.default_rng(5)
    theta = rng.normal(0.3, 1.2, 40_000)
    noisy = theta + rng.normal(0, 0.6, theta.size)
    shrink = 1.2**2 / (1.2**2 + 0.8**2)
    second = 1.5 * theta - 0.7
    eap = (1.5 * 0.3 - 0.7) + shrink * (second + 1.5 * rng.normal(0, 0.8, theta.size) - (1.5 * 0.3 - 0.7))
    variances = np.full(theta.size, -(0.6**2)), np.full(theta.size, 1.5**2 * 1.2**2 * (1 - shrink))
    scale, shift, covariance = person_constants(noisy, eap, variances)
    errors = np.sqrt(np.diag(covariance))
    assert (np.abs(np.array([scale, shift]) - (1.5, -0.7)) < 3 * errors).all()
    assert (errors < 0.02).all()
    assert abs(eap.std() / noisy.std() - 1.5) > 0.3


def test_errors_by_persons_are_the_spread_over_samples() -> None:
    rng = np.random.default_rng(6)
    found, errors = [], []
    for _ in range(600):
        theta = rng.normal(0.3, 1.2, 80)
        x, y = theta + rng.normal(0, 0.5, 80), 1.5 * theta - 0.7 + rng.normal(0, 0.6, 80)
        scale, shift, covariance = person_constants(x, y, (np.full(80, -0.25), np.full(80, -0.36)))
        found.append((scale, shift))
        errors.append(np.sqrt(np.diag(covariance)))
    np.testing.assert_allclose(np.std(found, axis=0), np.mean(errors, axis=0), rtol=0.09)  # three errors of an SD


def test_persons_who_do_not_differ_give_no_unit() -> None:
    same, none = np.zeros(5), np.zeros(5)
    with pytest.raises(NotComparableError, match="no true spread"):
        person_constants(same, np.arange(5.0), (none, none))
    with pytest.raises(NotComparableError, match="no true spread"):
        person_constants(np.arange(5.0), np.array([0.1, 0.1, 0.1 + 1e-16, 0.1, 0.1]), (none, none))
    with pytest.raises(NotComparableError, match="1 common persons"):
        person_constants(same[:1], same[:1], (none[:1], none[:1]))
    scale, shift, covariance = person_constants(same, np.arange(5.0), (none, none), scale=1.0)
    assert (scale, shift) == (1.0, 2.0)
    assert covariance[0, 0] == 0
    assert covariance[1, 1] == pytest.approx(np.var(np.arange(5.0), ddof=1) / 5)
