import numpy as np
import pytest
from scipy import integrate, stats

from psychoeval.irt import quadrature
from psychoeval.irt.curves import node_log_likelihood, probability
from psychoeval.irt.quadrature import Grid, marginal_posterior, normal_grid, posterior, posterior_grid


def _data(n, j, seed=0, trials=1, missing=0.0):
    rng = np.random.default_rng(seed)
    a, d = rng.lognormal(0, 0.3, j), rng.normal(0, 1.5, j)
    counts = np.full((n, j), trials, dtype=np.uint8)
    counts[rng.random((n, j)) < missing] = 0
    successes = rng.binomial(counts, probability(rng.normal(size=n), a, d)).astype(np.uint8)
    return successes, counts, a, d, np.zeros(j)


def _exact(successes, trials, a, d, c, mean=0.0, sd=1.0):
    """Marginal probability, posterior mean and SD of one person by adaptive integration around its mode."""
    grid = np.linspace(mean - 30 * sd, mean + 30 * sd, 20001)
    table = node_log_likelihood(successes[None], trials[None], grid, a, d, c)[0] + stats.norm.logpdf(grid, mean, sd)
    top, mode = table.max(), grid[table.argmax()]

    def density(t):
        log_likelihood = node_log_likelihood(successes[None], trials[None], [t], a, d, c)[0, 0]
        return np.exp(log_likelihood + stats.norm.logpdf(t, mean, sd) - top)

    inside = grid[table > top - 40]

    def moment(k, center=0.0):
        value, _ = integrate.quad(
            lambda t: (t - center) ** k * density(t), inside[0], inside[-1], points=[mode], epsabs=1e-13, limit=400
        )
        return value

    total = moment(0)
    first = moment(1) / total
    return top + np.log(total), first, np.sqrt(moment(2, first) / total)


def test_normal_grid_is_the_normal_density_normalised():
    grid = normal_grid(61, 6.0, mean=0.3, sd=1.7)
    density = stats.norm.pdf(np.linspace(-6, 6, 61), 0.3, 1.7)
    assert np.exp(grid.log_weights) == pytest.approx(density / density.sum(), rel=1e-13)
    assert grid.step == pytest.approx(0.2)


def test_posterior_of_a_normal_likelihood_is_the_conjugate_one():
    grid = normal_grid(401, 10.0)
    observed = np.array([-1.0, 0.5])
    found = posterior(stats.norm.logpdf(observed[:, None], grid.nodes, 0.5), grid)
    assert found.mean == pytest.approx(observed * 0.8, abs=1e-12)
    assert found.sd == pytest.approx(np.full(2, np.sqrt(0.2)), abs=1e-12)
    assert found.log_marginal == pytest.approx(stats.norm.logpdf(observed, 0, np.sqrt(1.25)), abs=1e-12)


@pytest.mark.parametrize(("j", "trials", "missing"), [(5, 1, 0.0), (40, 1, 0.3), (400, 1, 0.0), (30, 9, 0.4)])
def test_posterior_grid_is_exact(j, trials, missing):
    successes, counts, a, d, c = _data(6, j, trials=trials, missing=missing)
    _, found = posterior_grid(successes, counts, a, d, c, sd=1.3)
    for i in range(6):
        log_marginal, mean, sd = _exact(successes[i], counts[i], a, d, c, sd=1.3)
        assert found.log_marginal[i] == pytest.approx(log_marginal, abs=1e-7)
        assert found.mean[i] == pytest.approx(mean, abs=1e-7)
        assert found.sd[i] == pytest.approx(sd, rel=1e-6)


def test_posterior_grid_with_guessing_is_exact():
    successes, counts, a, d, _ = _data(5, 30, seed=3)
    c = np.full(30, 0.25)
    _, found = posterior_grid(successes, counts, a, d, c)
    exact = np.array([_exact(successes[i], counts[i], a, d, c) for i in range(5)])
    assert found.log_marginal == pytest.approx(exact[:, 0], abs=1e-7)
    assert found.sd == pytest.approx(exact[:, 2], rel=1e-6)


def test_no_posterior_is_narrower_than_the_bound():
    successes, counts, a, d, c = _data(50, 200, seed=5)
    bound = quadrature.smallest_posterior_sd(counts, a, d, limit=10.0)
    _, found = posterior_grid(successes, counts, a, d, c)
    assert bound <= found.sd.min()
    assert bound > 0.8 * found.sd.min()


def test_posterior_grid_widens_for_somebody_beyond_it():
    # All of 200 items at b = 15 solved: the posterior lies beyond 10 latent SDs.
    a, d, c = np.full(200, 2.0), np.full(200, -30.0), np.zeros(200)
    ones = np.ones((1, 200), dtype=np.uint8)
    grid, found = posterior_grid(ones, ones, a, d, c)
    assert grid.nodes[-1] > quadrature.FIRST_LIMIT
    exact = _exact(ones[0], ones[0], a, d, c, sd=1.0)
    assert found.mean[0] == pytest.approx(exact[1], abs=1e-6)
    assert found.edge_mass.max() < quadrature.EDGE_MASS


def test_blocks_of_persons_change_nothing(monkeypatch):
    data = _data(23, 7, missing=0.2)
    grid = normal_grid()
    whole = marginal_posterior(*data, grid)
    monkeypatch.setattr(quadrature, "BLOCK_CELLS", 5 * 61)
    assert len(quadrature.person_blocks(23, 61)) == 5
    blocks = marginal_posterior(*data, grid)
    for name in ("log_marginal", "mean", "sd", "edge_mass"):
        assert getattr(blocks, name) == pytest.approx(getattr(whole, name), abs=1e-12)


def test_marginal_probabilities_of_all_patterns_sum_to_one():
    a, d, c = np.array([0.7, 1.2, 2.0]), np.array([0.5, -1.0, 0.2]), np.array([0.0, 0.1, 0.3])
    patterns = np.array([[i >> k & 1 for k in range(3)] for i in range(8)], dtype=np.uint8)
    found = marginal_posterior(patterns, np.ones_like(patterns), a, d, c, normal_grid())
    assert np.exp(found.log_marginal).sum() == pytest.approx(1.0, abs=1e-14)


def test_edge_mass_is_the_weight_of_the_outermost_nodes():
    grid = Grid(np.array([-1.0, 0.0, 1.0]), np.log(np.array([0.25, 0.5, 0.25])))
    found = posterior(np.log(np.array([[1.0, 1.0, 2.0]])), grid)
    assert found.edge_mass[0] == pytest.approx(0.75 / 1.25)
