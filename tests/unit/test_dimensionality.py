"""Contrasts among residuals: by hand, quiet where one dimension is true, loud where there are two, and what is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from psychoeval import FitResult, Responses, fit, import_fit
from psychoeval.diagnostics import Dimensionality, dimensionality
from psychoeval.errors import DataError, NotComparableError, SettingsError
from psychoeval.irt.contrasts import adjusted_rand, detect, leading_contrasts
from psychoeval.irt.curves import probability


def drawn(seed: int, n: int = 400, j: int = 16, *, together: float = 1.0) -> Responses:
    """Two halves of Rasch items on abilities that correlate `together`."""
    rng = np.random.default_rng(seed)
    one, d = rng.normal(size=n), rng.normal(0, 1, j)
    other = together * one + np.sqrt(1 - together**2) * rng.normal(size=n)
    p = np.where(np.arange(j) < j // 2, probability(one, np.ones(j), d), probability(other, np.ones(j), d))
    return Responses.from_array((rng.random((n, j)) < p).astype(float))


def looked(responses: Responses, model: str = "Rasch", **how: Any) -> Dimensionality:
    found = fit(responses, "mml", model, priors="none", standard_errors="none")
    return dimensionality(found, responses, **({"replications": 20} | how))


def test_contrasts_are_eigenvalues_of_what_is_known() -> None:
    r = np.array([[1, 0.5, 0.9], [0.5, 1, -0.2], [0.9, -0.2, 1]])
    tested = ~np.eye(3, dtype=bool)
    values, loadings = leading_contrasts(r, tested, 5)
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvalsh(r))[::-1])
    np.testing.assert_allclose(r @ loadings, values[0] * loadings)
    assert (loadings**2).sum() == pytest.approx(values[0])
    assert loadings[np.abs(loadings).argmax()] > 0
    tested[0, 2] = tested[2, 0] = False
    known = np.array([[1, 0.5, 0], [0.5, 1, -0.2], [0, -0.2, 1]])
    np.testing.assert_allclose(leading_contrasts(r, tested, 2)[0], np.sort(np.linalg.eigvalsh(known))[:0:-1])


def test_detect_adds_within_and_takes_off_between() -> None:
    covariance = np.array([[9, 0.02, -0.01, 5], [0.02, 9, 0.03, 5], [-0.01, 0.03, 9, 5], [5, 5, 5, 9]])
    tested = ~np.eye(4, dtype=bool)
    found = detect(covariance, tested, np.array([0, 0, 1, -1]))
    assert found == (pytest.approx(100 * (0.02 + 0.01 - 0.03) / 3, abs=1e-12), pytest.approx(0, abs=1e-12))
    assert detect(covariance, tested, np.array([0, 0, 1, 1]))[0] == pytest.approx(100 * (0.02 + 0.01 - 0.03 - 5) / 6)
    assert np.isnan(detect(covariance, tested, np.full(4, -1))).all()


def test_the_rand_index_is_hubert_and_arabies() -> None:
    # Their formula on 6 objects by hand: 2 pairs are together in both, of 4 and 7 together in each.
    first, second = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 1])
    expected = 3 * 6 / 15
    assert adjusted_rand(first, second) == pytest.approx((2 - expected) / ((3 + 6) / 2 - expected))
    assert adjusted_rand(first, first + 7) == 1
    assert np.isnan(adjusted_rand(np.zeros(4, int), np.zeros(4, int)))
    rng = np.random.default_rng(0)
    chance = [adjusted_rand(rng.integers(0, 2, 30), rng.integers(0, 3, 30)) for _ in range(400)]
    assert abs(np.mean(chance)) < 0.01


def test_one_dimension_is_enough_where_it_is_true() -> None:
    """Of 24 data sets of 500 x 20 one had p <= .05: more than two of seven by chance has a chance of .004."""
    found = [looked(drawn(seed), seed=seed, refit=seed < 2) for seed in range(7)]
    assert sum(f.p_first <= 0.05 for f in found) <= 2
    assert 0.2 < np.mean([f.p_first for f in found]) < 0.8
    assert abs(np.mean([f.detect_excess for f in found])) < 0.2
    quiet = max(found, key=lambda f: f.p_first)
    assert quiet.verdict.endswith("One dimension is enough as far as these data tell.")
    assert quiet.contrasts_frame()["share"].iloc[0] == pytest.approx(quiet.share)


def test_two_dimensions_are_found_and_their_items_named() -> None:
    for seed in range(2):
        found = looked(drawn(seed, together=0.5), seed=seed, refit=seed == 0)
        assert found.p_first == pytest.approx(1 / 21)
        assert found.n_contrasts >= 1
        assert found.detect_excess > 0.2
        assert found.agreement > 0.5
        sides = [{int(name.split("-")[1]) <= 8 for name in side} for side in found.strongest(3)]
        assert sorted(map(tuple, sides)) == [(False,), (True,)]
        assert found.verdict.startswith("There is more than one dimension")
        assert "are much like the clusters of the audit's factors" in found.verdict


def test_few_systems_cannot_show_that_one_is_enough() -> None:
    found = looked(drawn(3, n=40, j=60), refit=False)
    assert found.too_few
    assert found.p_first > 0.05
    assert "That does not show that one is enough: 40 persons on 60 items" in found.verdict


def test_a_given_partition_is_judged() -> None:
    responses = drawn(4, together=0.5)
    halves = ["math"] * 8 + ["code"] * 8
    right = looked(responses, clusters=halves, refit=False)
    wrong = looked(responses, clusters=["a", "b"] * 8, refit=False)
    assert right.clusters_given
    assert right.p_detect == pytest.approx(1 / 21)
    assert right.detect_excess > wrong.detect_excess + 0.3
    assert wrong.p_detect > 0.05
    assert "the given clusters" in right.verdict
    none = looked(responses, clusters=[None] * 16, refit=False)
    assert np.isnan([none.detect, none.p_detect, none.agreement]).all()
    assert "Its size is not known" in none.verdict


@pytest.mark.filterwarnings("ignore::psychoeval.errors.ConvergenceWarning")
def test_every_item_has_a_status_and_missing_cells_are_told() -> None:
    rng = np.random.default_rng(5)
    x = drawn(5, n=120, j=10, together=0.3).successes.astype(float)
    x[:, 3] = 1
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:112, 0] = np.nan
    responses = Responses.from_array(x)
    found = looked(responses, refit=False)
    table = found.to_frame()
    assert table.loc["item-4", "status"] == "without parameters: all responses to it are right"
    np.testing.assert_array_equal(table["loading"].notna(), table["status"] == "judged")
    assert table["cluster"].notna().sum() == 9
    assert any("their correlation counts as 0" in note for note in found.notes)


def test_what_cannot_be_judged_is_refused() -> None:
    responses = drawn(6, n=60, j=6)
    found = fit(responses, "mml", "Rasch", priors="none")
    with pytest.raises(SettingsError, match="replications=10"):
        dimensionality(found, responses, replications=10)
    with pytest.raises(DataError, match="2 clusters for 6 items"):
        dimensionality(found, responses, clusters=["a", "b"])
    with pytest.raises(NotComparableError, match="other responses"):
        dimensionality(found, drawn(7, n=60, j=6))
    with pytest.raises(NotComparableError, match="no distribution"):
        dimensionality(fit(responses, "cml", "Rasch"), responses)


def test_an_imported_fit_is_not_run_again() -> None:
    responses = drawn(8, n=100, j=8)
    found: FitResult = fit(responses, "mml", "Rasch", priors="none")
    given = import_fit(found.item_parameters, model="1PL", latent_distribution=found.latent_distribution)
    assert any("not fitted again" in note for note in dimensionality(given, responses, replications=20).notes)
    with pytest.raises(NotComparableError, match="another program"):
        dimensionality(given, responses, replications=20, refit=True)


def test_words_follow_the_size() -> None:
    found = looked(drawn(9, together=0.5), refit=False)
    for excess, words in ((0.1, "matters little"), (0.3, "is weak"), (0.6, "is moderate"), (1.5, "is strong")):
        changed = replace(found, detect=found.detect_chance + excess, p_first=0.01)
        assert words in changed.verdict
    assert replace(found, replications=0).verdict.startswith("Not known")
