from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from psychoeval.errors import NotComparableError
from psychoeval.results import sampling_thresholds as bounds
from psychoeval.results.draws import Draws
from psychoeval.results.loo import loo, loo_difference
from psychoeval.results.sampling import Sampling, diagnose
from psychoeval.results.sampling_figures import convergence_figures
from tests.gates import needs
from tests.unit.synthetic_draws import made_up

pytestmark = needs("arviz")


@pytest.fixture(scope="module")
def good() -> Draws:
    return made_up(persons=12, items=8)  # 48 parameters


def with_values(draws: Draws, **values: Any) -> Draws:
    return dataclasses.replace(draws, values={**draws.values, **values})


def with_stats(draws: Draws, **stats: Any) -> Draws:
    return dataclasses.replace(draws, sample_stats={**draws.sample_stats, **stats})


def copy(draws: Draws, name: str) -> Any:
    return np.array(draws.values[name])


def said(run: Sampling) -> str:
    return " | ".join(run.reasons)


def test_chains_that_mix_are_good(good: Draws) -> None:
    run = diagnose(good)
    assert (run.grade, run.reasons, run.remedies, dict(run.suspect_chains)) == ("good", (), (), {})
    assert run.divergences == run.treedepth_hits == (0, 0, 0, 0)
    assert all(1.5 < e < 2.5 for e in run.ebfmi)  # independent energies: E (x' - x)^2 / var = 2
    assert run.rhat["ability"].shape == (12,)
    assert run.rhat["mean_difficulty"].shape == ()
    table = run.table()
    assert len(table) == 12 + 4 * 8 + 4
    assert list(table.columns) == ["parameter", "id", "rhat", "ess_bulk", "ess_tail", "mcse_mean"]
    assert table.set_index(["parameter", "id"]).loc[("guessing", "i7"), "rhat"] == run.rhat["guessing"][7]


def test_figures_of_independent_draws_are_known() -> None:
    values = np.random.default_rng(3).normal(2.0, 3.0, size=(4, 1000, 50))
    figures = convergence_figures(values)
    assert abs(figures.rhat - 1).max() < 0.005
    np.testing.assert_allclose(figures.ess_bulk.mean(), 4000, rtol=0.03)
    np.testing.assert_allclose(figures.mcse_mean.mean(), 3.0 / np.sqrt(4000), rtol=0.03)


def test_ess_of_an_autoregression_is_known() -> None:
    # ESS of the mean of AR(1): n (1 - r) / (1 + r).
    shocks = np.random.default_rng(4).normal(size=(4, 2100, 30)) * np.sqrt(1 - 0.6**2)
    values = lfilter([1.0], [1.0, -0.6], shocks, axis=1)[:, 100:]
    figures = convergence_figures(values)
    np.testing.assert_allclose(figures.ess_bulk.mean(), 8000 * 0.4 / 1.6, rtol=0.05)
    np.testing.assert_allclose(figures.mcse_mean.mean(), 1 / np.sqrt(2000), rtol=0.05)


def test_constants_have_no_r_hat_and_no_error_and_do_not_count(good: Draws) -> None:
    slopes = np.ones_like(good.values["discrimination"])
    slopes[..., 3] = 0.1 + 0.2
    slopes[:, ::2, 3] = 0.3  # the same up to rounding
    run = diagnose(with_values(good, discrimination=slopes))
    assert run.grade == "good"
    assert np.isnan(run.rhat["discrimination"]).all()
    assert np.isnan(run.ess_tail["discrimination"]).all()
    assert (run.mcse_mean["discrimination"] == 0).all()
    assert all(p.quantity != "discrimination" for p in run.worst(1000))


def test_a_slope_common_to_all_items_is_judged_once_and_told_for_all(good: Draws) -> None:
    slope = good.values["discrimination"][..., :1]
    common = with_values(good, discrimination=np.broadcast_to(slope, (4, 500, 8)))
    rhat = diagnose(common).rhat["discrimination"]
    assert rhat.shape == (8,)
    assert (rhat == convergence_figures(slope).rhat[0]).all()


def test_one_chain_is_judged_by_its_halves_and_never_good(good: Draws) -> None:
    one = Draws(
        values={k: v[:1] for k, v in good.values.items()}, person_ids=good.person_ids, item_ids=good.item_ids,
        sample_stats={k: v[:1] for k, v in good.sample_stats.items()}, max_treedepth=10,
    )  # fmt: skip
    run = diagnose(one)
    assert run.grade == "usable with care"
    assert "There is one chain" in said(run)
    assert np.isfinite(run.rhat["ability"]).all()
    drift = copy(one, "ability")
    drift[0, :, 4] += np.linspace(0, 3, 500)
    worse = diagnose(with_values(one, ability=drift))
    assert worse.grade == "do not use"
    assert worse.worst(1)[0].label == "ability['p4']"


def test_a_parameter_that_does_not_mix_is_named(good: Draws) -> None:
    slopes = copy(good, "discrimination")
    slopes[2, :, 6] += 0.6
    run = diagnose(with_values(good, discrimination=slopes))
    assert run.grade == "do not use"
    assert "R-hat of 1 of 48 parameters is above 1.01: discrimination['i6'] (" in said(run)
    assert "Bulk ESS of 1 of 48 parameters is below 400: discrimination['i6']" in said(run)
    worst = run.worst(1)[0]
    assert (worst.label, worst.quantity, worst.place) == ("discrimination['i6']", "discrimination", 6)
    assert any("Sample longer" in remedy for remedy in run.remedies)
    assert run.reasons[0].startswith(("R-hat", "Bulk ESS"))


@pytest.mark.parametrize(("shift", "grade"), [(0.0, "good"), (0.35, "usable with care"), (2.0, "do not use")])
def test_a_hyperparameter_has_no_allowance(good: Draws, shift: float, grade: str) -> None:
    values = copy(good, "mean_difficulty")
    values[0] += shift * values.std()
    assert diagnose(with_values(good, mean_difficulty=values)).grade == grade


def test_one_of_a_hundred_items_may_lie_beyond_by_chance() -> None:
    slopes = 1 + 0.2 * np.random.default_rng(6).normal(size=(4, 400, 200))
    many = Draws(values={"discrimination": slopes}, person_ids=(), item_ids=tuple(f"i{k}" for k in range(200)),
                 sample_stats={}, max_treedepth=10)  # fmt: skip
    slopes[0, :, :2] += 0.3
    within = diagnose(with_values(many, discrimination=slopes))
    assert (within.rhat["discrimination"] > bounds.RHAT_GOOD.value).sum() == 2
    assert within.grade == "good"
    assert within.worst(3)[0].place < 2
    slopes[0, :, 2] += 0.3
    assert diagnose(with_values(many, discrimination=slopes)).grade == "do not use"


def test_divergences_tree_depth_and_energy_are_told(good: Draws) -> None:
    diverging = np.zeros((4, 500), dtype=bool)
    diverging[1, :3] = True
    run = diagnose(with_stats(good, diverging=diverging))
    assert run.grade == "usable with care"
    assert run.divergences == (0, 3, 0, 0)
    assert "3 of 2000 draws diverged" in said(run)
    diverging[1, :30] = True
    assert diagnose(with_stats(good, diverging=diverging)).grade == "do not use"

    depth = np.full((4, 500), 5)
    depth[:, :6] = 10
    deep = diagnose(with_stats(good, tree_depth=depth))
    assert deep.treedepth_hits == (6, 6, 6, 6)
    assert (deep.grade, "24 of 2000 draws reached the limit of the tree depth, 10" in said(deep)) == (
        "usable with care",
        True,
    )

    slow = np.cumsum(np.random.default_rng(0).normal(size=(4, 500)), axis=1)
    energy = np.array(good.sample_stats["energy"])
    energy[2] = slow[2]
    low = diagnose(with_stats(good, energy=energy))
    assert low.grade == "usable with care"
    assert low.ebfmi[2] < 0.3
    np.testing.assert_allclose(low.ebfmi[2], np.mean(np.diff(slow[2]) ** 2) / slow[2].var(ddof=1))
    assert "in chain 3)" in said(low)


def test_a_mirrored_chain_is_named_and_not_averaged(good: Draws) -> None:
    ability = copy(good, "ability")
    ability[2] *= -1
    run = diagnose(dataclasses.replace(with_values(good, ability=ability), chain_numbers=(1, 2, 5, 6)))
    assert run.grade == "do not use"
    assert list(run.suspect_chains) == [5]
    assert run.reasons[0].startswith("Chain 5: it is mirrored (its mean abilities correlate -")
    assert run.reasons[0].endswith("with those of chains 1, 2, 6).")


@pytest.mark.parametrize(("mirrored", "named"), [((1,), [2]), ((0, 1, 2), [4]), ((0, 1), [3, 4]), ((2, 3), [3, 4])])
def test_of_mirrored_chains_the_smaller_part_is_named(good: Draws, mirrored: tuple[int, ...], named: list[int]) -> None:
    ability = copy(good, "ability")
    ability[list(mirrored)] *= -1
    assert list(diagnose(with_values(good, ability=ability)).suspect_chains) == named


def test_of_two_chains_that_point_apart_the_second_is_named(good: Draws) -> None:
    two = Draws(
        values={k: v[:2] * (np.array([1, -1]).reshape(2, *(1,) * (v.ndim - 1)) if k == "ability" else 1)
                for k, v in good.values.items()},
        person_ids=good.person_ids, item_ids=good.item_ids, sample_stats={}, max_treedepth=10,
    )  # fmt: skip
    assert list(diagnose(two).suspect_chains) == [2]


def test_abilities_without_information_are_no_mirror() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        ability = rng.normal(size=(4, 500, 3))  # chain means are noise, and their correlations anything
        draws = Draws(values={"ability": ability}, person_ids=("a", "b", "c"), item_ids=(), sample_stats={},
                      max_treedepth=10)  # fmt: skip
        assert diagnose(draws).suspect_chains == {}


def test_a_chain_that_stands_still_is_named(good: Draws) -> None:
    still = {}
    for name, values in good.values.items():
        still[name] = np.array(values)
        still[name][1] = values[1, :1]
    run = diagnose(dataclasses.replace(good, values=still))
    assert run.grade == "do not use"
    assert run.reasons[0] == ("Chain 2: it never moved (48 of 48 parameters have the same value in all its draws).")
    every = {name: np.broadcast_to(v[:, :1], v.shape) for name, v in good.values.items()}
    assert list(diagnose(dataclasses.replace(good, values=every)).suspect_chains) == [1, 2, 3, 4]


def test_a_chain_in_another_mode_is_named_by_its_density(good: Draws) -> None:
    density = np.array(good.sample_stats["lp"])
    density[3] -= 40
    run = diagnose(with_stats(good, lp=density))
    assert list(run.suspect_chains) == [4]
    assert "Chain 4: it is elsewhere (its log density averages -5" in run.reasons[0]
    two = {k: v[:2] for k, v in good.values.items()}
    lower = np.array(good.sample_stats["lp"][:2])
    lower[0] -= 40
    pair = Draws(values=two, person_ids=good.person_ids, item_ids=good.item_ids, sample_stats={"lp": lower},
                 max_treedepth=10)  # fmt: skip
    assert list(diagnose(pair).suspect_chains) == [1]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_draws_that_are_not_finite_are_named(good: Draws, odd: float) -> None:
    difficulty = copy(good, "difficulty")
    difficulty[1, 17, 6] = odd
    run = diagnose(with_values(good, difficulty=difficulty))
    assert run.grade == "do not use"
    assert "draws that are not finite: difficulty['i6']." in said(run)
    assert np.isnan(run.rhat["difficulty"][6])
    assert np.isfinite(np.delete(run.rhat["difficulty"], 6)).all()
    assert run.worst(1)[0].label == "difficulty['i6']"


def test_three_draws_cannot_be_judged() -> None:
    run = diagnose(made_up(draws=3))
    assert run.grade == "do not use"
    assert "too few draws" in said(run)


def test_a_variable_of_two_values_is_judged_without_a_warning() -> None:
    values = np.random.default_rng(2).integers(0, 2, size=(4, 500, 3)).astype(float)
    figures = convergence_figures(values)
    assert abs(figures.rhat - 1).max() < 0.01
    assert (figures.ess_bulk > 1000).all()


def test_thousands_of_parameters_take_seconds() -> None:
    values = np.random.default_rng(0).normal(size=(4, 1000, 200))
    convergence_figures(values[:, :, :2])  # ArviZ is loaded
    start = time.process_time()
    convergence_figures(values)
    assert time.process_time() - start < 200 * 0.01  # 2 ms each measured


def test_leave_one_out_of_a_normal_mean_is_known() -> None:
    # x_i ~ N(mu, 1), flat prior: x_i | x_-i ~ N(mean of the others, 1 + 1 / (n - 1)).
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    mu = rng.normal(x.mean(), 1 / np.sqrt(x.size), size=(4, 2500))
    density = -0.5 * (x - mu[..., None]) ** 2 - 0.5 * np.log(2 * np.pi)
    draws = Draws(values={"ability": mu[..., None] + np.zeros(40)}, person_ids=tuple(f"p{k}" for k in range(40)),
                  item_ids=(), sample_stats={}, max_treedepth=10, log_likelihood=density)  # fmt: skip
    others = (x.sum() - x) / (x.size - 1)
    variance = 1 + 1 / (x.size - 1)
    exact = -0.5 * (x - others) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    found = loo(draws)
    np.testing.assert_allclose(found.elpd_by_person, exact, atol=0.01)
    np.testing.assert_allclose(found.standard_error, np.sqrt(40 * exact.var(ddof=1)), rtol=0.01)
    with_all = -0.5 * (x - x.mean()) ** 2 / (1 + 1 / x.size) - 0.5 * np.log(2 * np.pi * (1 + 1 / x.size))
    np.testing.assert_allclose(found.p_loo_by_person, with_all - exact, atol=0.01)
    assert found.warnings == ()
    assert found.k_limit == 0.7


@pytest.mark.parametrize("scale", [1.0, 30.0])  # of the second, one draw has all the weight
def test_a_person_that_decides_is_named_by_pareto_k(good: Draws, scale: float) -> None:
    density = np.array(good.log_likelihood)
    density[..., 9] = -30 - scale * np.exp(np.random.default_rng(1).normal(size=density.shape[:2]))
    found = loo(dataclasses.replace(good, log_likelihood=density))
    assert found.pareto_k[9] > 0.7
    assert (found.pareto_k[9] == np.inf) == (scale > 1)
    assert np.isfinite(found.elpd)
    rest = np.arange(12) != 9
    np.testing.assert_allclose(found.elpd_by_person[rest], loo(good).elpd_by_person[rest], rtol=1e-3)
    assert found.warnings[0].startswith("Pareto k of 1 of 12 persons is above 0.70")
    assert "'p9'" in found.warnings[0]
    empty = np.array(good.log_likelihood)
    empty[..., 2] = 0.0  # nothing observed
    alone = loo(dataclasses.replace(good, log_likelihood=empty))
    assert (alone.elpd_by_person[2], alone.p_loo_by_person[2], alone.warnings) == (0.0, 0.0, ())


def test_models_are_compared_person_by_person(good: Draws) -> None:
    first = loo(good)
    assert good.log_likelihood is not None
    order = np.random.default_rng(0).permutation(12)
    shuffled = dataclasses.replace(
        good, person_ids=tuple(np.array(good.person_ids)[order]), log_likelihood=(good.log_likelihood - 1)[..., order]
    )
    gap = loo_difference(first, loo(shuffled))
    np.testing.assert_allclose(gap.elpd_difference, 12.0)
    assert gap.standard_error < 1e-6
    assert ["12 persons" in w for w in gap.warnings] == [True]
    assert "predict alike" in loo_difference(first, first).warnings[0]
    other = dataclasses.replace(good, person_ids=(*good.person_ids[:-1], "new"))
    with pytest.raises(NotComparableError, match="'new', 'p11' are in one of them"):
        loo_difference(first, loo(other))


def test_what_leave_one_out_cannot_use_is_refused(good: Draws) -> None:
    with pytest.raises(NotComparableError, match="no draws of the log-likelihood"):
        loo(dataclasses.replace(good, log_likelihood=None))
    density = np.array(good.log_likelihood)
    density[0, 0, 4] = -np.inf
    with pytest.raises(NotComparableError, match="'p4' is not finite"):
        loo(dataclasses.replace(good, log_likelihood=density))
    alike = np.array(good.log_likelihood)
    alike[2:] = alike.min() - 5.0  # two chains stand still where they explain the data worst
    with pytest.raises(NotComparableError, match="the same value in many draws"):
        loo(dataclasses.replace(good, log_likelihood=alike))
    with pytest.raises(NotComparableError, match="20 draws, too few"):
        loo(made_up(draws=5))


def test_every_threshold_stands_in_the_table_once() -> None:
    named = [value for value in vars(bounds).values() if isinstance(value, bounds.Threshold)]
    assert sorted(map(repr, named)) == sorted(map(repr, bounds.THRESHOLDS))
    assert all(threshold.reason and threshold.about for threshold in named)
