"""Factors of items, their number, rotation and clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psychoeval.audit.clusters import associate, cluster_items, correlate_subscores
from psychoeval.audit.factors import analyze_factors, parallel_analysis
from psychoeval.audit.low_rank import choose_rank, fit_low_rank
from psychoeval.audit.rotation import varimax
from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.matrix import Responses

GROUPS = np.repeat([0, 1, 2], 60)


def three_factors(seed: int = 0, missing: float = 0.0) -> tuple[Responses, np.ndarray]:
    """Return 50 persons on three groups of 60 items, each group with a trait of its own."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(50, 3))
    eta = 1.7 * theta[:, GROUPS] - rng.normal(0, 1, 180)
    cells = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    cells[rng.random(cells.shape) < missing] = np.nan
    return Responses.from_array(cells), theta


def one_factor(seed: int) -> Responses:
    rng = np.random.default_rng(seed)
    eta = rng.lognormal(0, 0.3, 150) * (rng.normal(size=(40, 1)) - rng.normal(0, 1.5, 150))
    return Responses.from_array((rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(int))


def test_parallel_analysis_counts_beyond_the_general_factor() -> None:
    found = [parallel_analysis(one_factor(seed), replications=40, seed=seed).n_factors for seed in range(10)]
    # Each has a second factor by chance with P = .05: more than 3 of 10 with P = .001.
    assert sum(n > 1 for n in found) <= 3
    assert parallel_analysis(three_factors()[0], replications=40).n_factors == 3
    assert parallel_analysis(three_factors(missing=0.3)[0], replications=40).n_factors == 3
    with pytest.raises(SettingsError, match="no 95 % quantile"):
        parallel_analysis(one_factor(0), replications=10)


def test_few_persons_on_many_items_have_no_factor_too_many() -> None:
    # Margins of 12 persons are spread too far, so that unscaled limits lie below all singular values.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        eta = rng.normal(size=(12, 1)) - rng.normal(0, 1.5, 3000)
        data = Responses.from_array((rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(int))
        assert parallel_analysis(data, replications=20, seed=seed).n_factors == 1


def test_factors_of_large_data_are_counted_on_a_draw_of_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psychoeval.audit.factors._MOST_CELLS", 45 * 180)
    monkeypatch.setattr("psychoeval.audit.factors._FEWEST_PERSONS", 10)
    found = parallel_analysis(three_factors()[0], replications=20)
    assert found.n_factors == 3
    assert found.notes == ("Factors were counted on 45 of 50 persons, drawn at random.",)


def test_leading_factors_are_those_of_the_whole_decomposition() -> None:
    data = three_factors()[0]
    data = data.select(items=np.ptp(data.proportions, axis=0) > 0)
    x = data.proportions
    x -= x.mean(axis=0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    found = analyze_factors(data, 3, rotation="none")
    expected = vt[:3].T * s[:3] / np.sqrt(49) / x.std(axis=0, ddof=1)[:, None]
    np.testing.assert_allclose(np.abs(found.loadings), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(np.abs(found.scores), np.abs(u[:, :3]) * 7, atol=1e-9)
    again = analyze_factors(data, 3, rotation="none")
    assert np.array_equal(found.loadings, again.loadings)


@pytest.mark.parametrize(("method", "missing"), [("svd", 0.0), ("logistic", 0.0), ("logistic", 0.3)])
def test_factors_find_the_groups(method: str, missing: float) -> None:
    responses, theta = three_factors(1, missing)
    found = analyze_factors(responses, 3, method=method)  # type: ignore[arg-type]
    match = np.abs(np.corrcoef(found.scores.T, theta.T)[:3, 3:])
    assert (match.max(axis=1) > 0.85).all()
    assert sorted(match.argmax(axis=1).tolist()) == [0, 1, 2]
    clusters = cluster_items(found, 3)
    association = associate(clusters, GROUPS)
    assert association.cramers_v > 0.8
    assert association.p_value == pytest.approx(0.001)


def test_svd_loadings_are_correlations_of_items_with_scores() -> None:
    responses, _ = three_factors(2)
    found = analyze_factors(responses, 3)
    varying = np.isfinite(found.loadings[:, 0])
    r = np.corrcoef(responses.proportions[:, varying].T, found.scores.T)[: varying.sum(), varying.sum() :]
    assert found.loadings[varying] == pytest.approx(r, abs=1e-10)
    assert found.scores.mean(axis=0) == pytest.approx(0, abs=1e-10)
    assert found.scores.std(axis=0, ddof=1) == pytest.approx(1)


def test_oblimin_lets_factors_correlate_and_explains_as_much() -> None:
    responses, theta = three_factors(2)
    straight, oblique = (analyze_factors(responses, 3, rotation=r) for r in ("varimax", "oblimin"))  # type: ignore[arg-type]
    assert straight.correlation == pytest.approx(np.eye(3))
    assert oblique.correlation == pytest.approx(np.corrcoef(oblique.scores.T), abs=1e-10)
    assert oblique.share.sum() == pytest.approx(straight.share.sum())
    both = [f.loadings @ f.scores.T for f in (straight, oblique)]
    assert both[0] == pytest.approx(both[1], abs=1e-8)
    assert (np.abs(np.corrcoef(oblique.scores.T, theta.T)[:3, 3:]).max(axis=1) > 0.85).all()
    with pytest.raises(SettingsError, match="rotation='promax' is unknown"):
        analyze_factors(responses, 3, rotation="promax")  # type: ignore[arg-type]


def test_subscores_that_do_not_vary_have_no_correlation() -> None:
    responses, _ = three_factors(2)
    found = analyze_factors(responses, 2)
    for c in correlate_subscores(found, responses, {"same": np.ones(50)}):
        assert np.isnan([c.correlation, c.low, c.high]).all()
    exact = correlate_subscores(analyze_factors(responses, 1), responses, {"mean": responses.proportions.mean(axis=1)})
    assert (exact[0].correlation, exact[0].low, exact[0].high) == pytest.approx((1, 1, 1), abs=1e-6)


def test_svd_refuses_missing_cells_and_names_the_other_method() -> None:
    with pytest.raises(DataError, match="cells are missing") as refused:
        analyze_factors(three_factors(missing=0.1)[0], 2)
    assert "logistic" in refused.value.remedy


def test_constant_items_have_no_loadings_and_are_noted() -> None:
    cells = three_factors(3)[0].successes.astype(int)
    cells[:, 5] = 1
    found = analyze_factors(Responses.from_array(cells), 2)
    assert np.isnan(found.loadings[5]).all()
    assert found.notes == ("1 items that are constant or were never run have no loadings.",)
    assert "item-6" not in set(found.top_items(200)["item"])
    assert cluster_items(found, 2).cluster[5] == -1


def test_varimax_undoes_a_rotation() -> None:
    rng = np.random.default_rng(4)
    simple = np.zeros((30, 3))
    simple[np.arange(30), np.arange(30) % 3] = rng.uniform(0.5, 0.9, 30)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotated, rotation = varimax(simple @ turn)
    assert rotation.T @ rotation == pytest.approx(np.eye(3), abs=1e-12)
    # The criterion stands still to 1e-10, angles to about its root.
    assert rotated == pytest.approx(simple[:, np.argsort(-(simple**2).sum(axis=0))], abs=1e-5)


def test_the_low_rank_model_is_at_a_stationary_point() -> None:
    responses, _ = three_factors(5, missing=0.2)
    fit = fit_low_rank(responses.successes, responses.trials, 2)
    assert fit.converged
    p = 1 / (1 + np.exp(-(fit.intercept + fit.persons @ fit.items.T)))
    residual = responses.successes - responses.trials * p
    # It stops where a sweep gains 1e-7 of the objective: gradients are then small beside those of the start (10 to 50).
    assert np.abs(residual.sum(axis=0) - fit.intercept / 25).max() < 0.05
    assert np.abs(residual @ fit.items - fit.persons).max() < 0.2
    assert np.abs(residual.T @ fit.persons - fit.items).max() < 0.2


def test_held_out_likelihood_chooses_the_rank() -> None:
    choice = choose_rank(three_factors(6)[0], most=4, folds=3)
    assert choice.rank == choice.best == 3
    assert choose_rank(one_factor(7), most=3, folds=3).rank == 1
    with pytest.raises(DataError, match="cells can be held out"):
        choose_rank(Responses.from_array([[1, 0, 1], [0, 1, 1], [1, 1, 0]]), most=1)


def test_silhouette_against_its_definition() -> None:
    found = analyze_factors(three_factors(8)[0], 2)
    clusters = cluster_items(found, 3)
    x = found.loadings[clusters.cluster >= 0]
    labels = clusters.cluster[clusters.cluster >= 0]
    widths = []
    for i in range(len(x)):
        distance = np.linalg.norm(x - x[i], axis=1)
        means = [distance[labels == k].mean() for k in range(3) if k != labels[i]]
        own = distance[labels == labels[i]].sum() / ((labels == labels[i]).sum() - 1)
        widths.append((min(means) - own) / max(min(means), own))
    assert clusters.silhouette == pytest.approx(np.mean(widths), abs=1e-6)


def test_an_unrelated_property_is_not_associated() -> None:
    clusters = cluster_items(analyze_factors(three_factors(9)[0], 2), 2)
    letters = np.random.default_rng(10).choice(list("ABCD"), 180)
    found = associate(clusters, letters)
    assert found.p_value > 0.05
    assert abs(found.cramers_v - found.expected) < 0.15
    gaps = [None if k % 2 else v for k, v in enumerate(letters)]
    assert associate(clusters, gaps).n_items <= 90
    with pytest.raises(DataError, match="do not vary"):
        associate(clusters, ["A"] * 180)
    with pytest.raises(DataError, match="3 values for 180 items"):
        associate(clusters, ["A", "B", "C"])


def test_subscores_converge_where_they_should() -> None:
    responses, theta = three_factors(11)
    found = analyze_factors(responses, 3)
    rows = correlate_subscores(found, responses, {f"trait {k}": theta[:, k] for k in range(3)})
    best = {r.factor: max((x for x in rows if x.factor == r.factor), key=lambda x: x.correlation) for r in rows}
    assert len({r.external for r in best.values()}) == 3
    for row in best.values():
        assert row.correlation > 0.85
        assert row.low < row.correlation < row.high
    with pytest.raises(DataError, match="2 values for 50 persons"):
        correlate_subscores(found, responses, {"x": [1, 2]})


def test_counts_are_taken_as_proportions() -> None:
    responses, _ = three_factors(12)
    twice = Responses(responses.successes * 2, responses.trials * 2, responses.person_ids, responses.item_ids)
    one, two = (analyze_factors(r, 2) for r in (responses, twice))
    assert one.loadings == pytest.approx(two.loadings, abs=1e-10)
    assert replace(one, notes=()).to_frame().shape == (180, 2)


def test_settings_that_mean_nothing_are_refused() -> None:
    responses, _ = three_factors(13)
    for seed in (-1, 0.5):
        with pytest.raises(SettingsError, match="seed is"):
            parallel_analysis(responses, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="n_factors"):
        analyze_factors(responses, 1.5)  # type: ignore[arg-type]
