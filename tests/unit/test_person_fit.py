"""lz and lz* against enumeration of all patterns and Snijders' formula, and on true and false answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from psychoeval import ItemParameters, LatentDistribution, Responses, fit, import_fit, load_dataset
from psychoeval.diagnostics import person_fit
from psychoeval.diagnostics.fitted import Ability
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.paired import holm
from psychoeval.irt.person_fit import log_likelihood_fit
from psychoeval.irt.score_equations import KnownItems
from psychoeval.irt.scoring import map_, ml, wle

ITEMS = {
    "Rasch": KnownItems(np.ones(6), np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0]), np.zeros(6)),
    "2PL": KnownItems(
        np.array([0.5, 0.8, 1.0, 1.4, 2.0, -0.7]), np.array([-1.0, 1.0, 0.0, 0.5, 1.0, 2.0]), np.zeros(6)
    ),
    "3PL": KnownItems(np.array([0.5, 0.8, 1.0, 1.4, 2.0, 1.2]), np.array([-1, 1, 0, 0.5, 1, -2.0]), np.full(6, 0.2)),
}
PATTERNS = np.array(list(itertools.product((0, 1), repeat=6)), dtype=np.uint8)


def known_fit(items: KnownItems, model: str = "2PL"):
    ids = [f"item-{k + 1}" for k in range(items.a.size)]
    parameters = ItemParameters.from_slope_intercept(ids, items.a, items.d, items.c)
    guessing = float(items.c[0]) if model == "3PL" else None
    return import_fit(parameters, model=ItemModel(model, guessing=guessing), latent_distribution=LatentDistribution())


def drawn(rng: np.random.Generator, items: KnownItems, theta: np.ndarray) -> np.ndarray:
    return (rng.random((theta.size, items.a.size)) < probability(theta, items.a, items.d, items.c)).astype(float)


@pytest.mark.parametrize("model", ITEMS)
def test_lz_is_the_log_likelihood_standardized_over_all_patterns(model: str) -> None:
    items, theta = ITEMS[model], 0.7
    p = probability([theta], items.a, items.d, items.c)[0]
    log_likelihood = np.where(PATTERNS == 1, np.log(p), np.log(1 - p)).sum(axis=1)
    mass = np.exp(log_likelihood)
    mean = mass @ log_likelihood
    sd = np.sqrt(mass @ (log_likelihood - mean) ** 2)
    found = log_likelihood_fit(PATTERNS, np.ones_like(PATTERNS), np.full(64, theta), items)
    np.testing.assert_allclose(found.lz, (log_likelihood - mean) / sd, atol=1e-12)
    assert mass @ found.lz == pytest.approx(0, abs=1e-12)
    assert mass @ found.lz_star == pytest.approx(0, abs=1e-12)
    assert mass @ found.lz_star**2 == pytest.approx(1, abs=1e-12)
    for z, p_as_low in ((found.lz, found.p_lz), (found.lz_star, found.p_lz_star)):
        exact = np.array([mass[z <= value + 1e-12].sum() for value in z])
        assert p_as_low[z.argmin()] == pytest.approx(exact[z.argmin()], rel=1e-6)
        assert np.corrcoef(p_as_low, exact)[0, 1] > 0.97


@pytest.mark.parametrize("method", ["ML", "MAP", "WLE"])
@pytest.mark.parametrize("model", ITEMS)
def test_lz_star_is_snijders(model: str, method: str) -> None:
    """(W + c r0) / sqrt(n tau^2), with r0 of each estimating equation, as Magis, Raiche and Beland (2012) write it."""
    items = ITEMS[model]
    scorer = {"ML": ml, "MAP": map_, "WLE": wle}[method]
    ones = np.ones_like(PATTERNS)
    theta = scorer(PATTERNS, ones, items.a, items.d, items.c)[0]
    inside = np.isfinite(theta)
    x, t = PATTERNS[inside].astype(float), theta[inside]
    a, c = items.a, items.c
    p = probability(t, a, items.d, c)
    star = (p - c) / (1 - c)
    first = a * (1 - c) * star * (1 - star)
    second = a * first * (1 - 2 * star)
    r, w = first / (p * (1 - p)), np.log(p / (1 - p))
    information = (first**2 / (p * (1 - p))).sum(axis=1)
    bias = (first * second / (p * (1 - p))).sum(axis=1)
    r0 = {"ML": np.zeros(t.size), "MAP": -t, "WLE": bias / (2 * information)}[method]
    share = (first * w).sum(axis=1) / (first * r).sum(axis=1)
    tau = ((w - share[:, None] * r) ** 2 * p * (1 - p)).sum(axis=1)
    expected = (((x - p) * w).sum(axis=1) + share * r0) / np.sqrt(tau)
    found = log_likelihood_fit(PATTERNS[inside], ones[inside], t, items).lz_star
    if model == "3PL" and method == "MAP":  # a posterior with two modes has several roots: any will do
        assert inside.all()
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_count_is_so_many_responses() -> None:
    items = ITEMS["2PL"]
    three = KnownItems(*(np.repeat(v, 3) for v in (items.a, items.d, items.c)))
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (20, 18)).astype(np.uint8)
    trials = rng.integers(0, 2, (20, 18)).astype(np.uint8)
    x *= trials
    theta = rng.normal(size=20)
    apart = log_likelihood_fit(x, trials, theta, three)
    together = log_likelihood_fit(
        x.reshape(20, 6, 3).sum(axis=2, dtype=np.uint8),
        trials.reshape(20, 6, 3).sum(axis=2, dtype=np.uint8),
        theta,
        items,
    )
    np.testing.assert_allclose(apart.lz, together.lz, atol=1e-12)
    np.testing.assert_allclose(apart.lz_star, together.lz_star, atol=1e-12)


@pytest.mark.parametrize("ability", ["EAP", "WLE", "ML"])
def test_lz_star_is_nearly_standard_normal_for_true_answers_and_lz_is_not(ability: Ability) -> None:
    """Of 20 items: about 5 % of p of lz* below .05, about half as many of lz."""
    rng = np.random.default_rng(2)
    n, j = 3000, 20
    items = KnownItems(rng.lognormal(0, 0.3, j), rng.normal(0, 1, j), np.zeros(j))
    found = person_fit(known_fit(items), Responses.from_array(drawn(rng, items, rng.normal(size=n))), ability=ability)
    judged = np.array([s == "judged" for s in found.status])
    assert judged.mean() > 0.95
    assert 0.035 < np.mean(found.p[judged] < 0.05) < 0.07
    assert np.mean(found.p_lz[judged] < 0.05) < 0.04
    assert 0.94 < found.lz_star[judged].std() < 1.06


def test_few_items_are_no_misfit_of_many_persons() -> None:
    """30 true data sets, 8 items x 500 persons: the normal distribution calls persons out in a third of them.

    (60 sets each of 8, 15, 30, 100 and 400 items: .33, .40, .33, .18, .07.)
    """
    rng = np.random.default_rng(5)
    false, by_normal, p = 0, 0, []
    for _ in range(30):
        items = KnownItems(rng.lognormal(0, 0.3, 8), rng.normal(0, 1, 8), np.zeros(8))
        data = Responses.from_array(drawn(rng, items, rng.normal(size=500)))
        found = person_fit(known_fit(items), data, ability="WLE")
        false += bool(np.nanmin(found.p_adjusted) <= 0.05)
        judged = np.isfinite(found.p)
        by_normal += bool(holm(ndtr(found.lz_star[judged])).min() <= 0.05)
        p.append(found.p[judged])
    assert false <= 3
    assert by_normal >= 5
    assert 0.035 < np.mean(np.concatenate(p) <= 0.05) < 0.055
    assert np.mean(np.concatenate(p) <= 0.001) < 0.002


def test_answers_by_chance_and_upside_down_are_found() -> None:
    rng = np.random.default_rng(3)
    n, j = 400, 40
    items = KnownItems(rng.lognormal(0, 0.2, j), rng.normal(0, 1.5, j), np.zeros(j))
    x = drawn(rng, items, rng.normal(size=n))
    x[:20] = rng.random((20, j)) < 0.5
    order = np.argsort(items.d)
    x[20, order[:20]], x[20, order[20:]] = 1, 0  # the hard ones right, the easy ones wrong
    responses = Responses.from_array(x)
    found = person_fit(fit(responses, "mml", model=ItemModel("2PL")), responses)
    assert np.mean(found.p[:20] < 0.05) > 0.9
    assert found.lz_star.argmin() == 20
    assert found.p_adjusted[20] < 1e-6
    assert found.outfit[20] > 2
    assert np.mean(found.p[21:] < 0.05) < 0.08
    assert found.zh is found.lz


def test_every_person_is_judged_or_has_a_reason() -> None:
    x = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [np.nan] * 4, [1, 0, 1, 0], [1, np.nan, 0, np.nan]])
    responses = Responses.from_array(x)
    alike = KnownItems(np.ones(4), np.zeros(4), np.zeros(4))
    one_pattern, nobody = "all or none right: one pattern only", "no responses"
    found = person_fit(known_fit(alike, "Rasch"), responses)
    assert found.status[:3] == (one_pattern, one_pattern, nobody)
    # At an ability of 0 every pattern has probability 1/16.
    assert found.status[3] == "every pattern is equally likely"
    unlike = KnownItems(np.ones(4), np.array([0.5, 0.5, 0.5, 0.5]), np.zeros(4))
    found = person_fit(known_fit(unlike, "Rasch"), responses)
    assert found.status[3] == "judged"
    # All right at a posterior mean: lz exists, and no p of it.
    assert np.isfinite(found.lz[0])
    assert np.isnan([found.p_lz[0], found.p[0]]).all()
    assert found.lz_star_status[3] == "every pattern of the same sum of slopes is equally likely"
    assert np.isnan(found.lz_star[3])
    apart = KnownItems(np.ones(4), np.array([-1.0, 0.0, 0.5, 2.0]), np.zeros(4))
    found = person_fit(known_fit(apart, "Rasch"), responses, ability="ML")
    assert found.status[0] == found.status[1] == "the ML ability is not finite"
    assert np.isnan(found.lz[[0, 1, 2]]).all()
    assert found.lz_star_status[3:] == ("judged", "judged")
    for values in (found.lz, found.lz_star, found.p, found.infit, found.infit_z, found.outfit, found.outfit_z):
        np.testing.assert_array_equal(np.isfinite(values), [s == "judged" for s in found.lz_star_status])
    assert found.to_frame().index.tolist() == list(responses.person_ids)


def test_persons_in_another_order_get_the_same() -> None:
    rng = np.random.default_rng(4)
    items = ITEMS["3PL"]
    responses = Responses.from_array(drawn(rng, items, rng.normal(size=50)))
    order = rng.permutation(50)
    first, second = (person_fit(known_fit(items, "3PL"), r) for r in (responses, responses.select(persons=order)))
    np.testing.assert_allclose(first.lz_star[order], second.lz_star, atol=1e-9)


def test_other_responses_than_those_of_the_fit_are_told() -> None:
    lsat7 = load_dataset("lsat7")
    fitted = fit(lsat7, "mml", model="Rasch")
    assert not any("not those of the fit" in note for note in person_fit(fitted, lsat7).notes)
    other = Responses.from_array(lsat7.successes[:500], item_ids=lsat7.item_ids)
    assert any("not those of the fit" in note for note in person_fit(fitted, other).notes)
