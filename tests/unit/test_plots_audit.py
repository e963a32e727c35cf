from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from psychoeval.audit.clusters import cluster_items
from psychoeval.audit.curves import bin_curves
from psychoeval.audit.difficulty_bins import bin_difficulty
from psychoeval.audit.factors import analyze_factors, parallel_analysis
from psychoeval.audit.paired import compare_pairs
from psychoeval.audit.resampling import leave_groups_out, resample_systems
from psychoeval.audit.system_means import average_systems
from psychoeval.errors import NotComparableError
from psychoeval.plots.binned_curves import binned_curves
from psychoeval.plots.difficulty_bins import difficulty_bins
from psychoeval.plots.factor_loadings import factor_loadings
from psychoeval.plots.pair_differences import pair_differences
from psychoeval.plots.scree import scree
from psychoeval.plots.stability import stability
from psychoeval.plots.system_means import system_means
from psychoeval.responses.matrix import Responses

pytest.importorskip("matplotlib")


def sample(n: int = 60, j: int = 40, **labels: object) -> Responses:
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(1.5 * rng.normal(size=(n, 1)) - rng.normal(size=j))))
    x = (rng.random((n, j)) < p).astype(float)
    x[:, 3] = 1 - x[:, 3]
    x[:, 5], x[:, 6] = 1, np.nan
    families = pd.DataFrame({"family": [f"$f_{i % 4}" for i in range(n)]})
    return Responses.from_array(x, item_ids=[f"$x^{k}" for k in range(j)], persons=families, **labels)


def drawn(figure) -> int:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getbuffer().nbytes


def test_binned_curves_draw_the_falling_item_first_at_its_values() -> None:
    curves = bin_curves(sample(300))
    assert np.flatnonzero(curves.clearly_decreasing).tolist() == [3]
    figure = binned_curves(curves, noun="system")
    assert drawn(figure) > 10_000
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert shown[0].get_title(loc="left").startswith("$x^3")
    line = shown[0].lines[0]
    there = curves.n_persons[3] > 0
    assert line.get_ydata() == pytest.approx(curves.proportion[3][there])
    assert line.get_markerfacecolor() == line.get_color()  # clearly: filled
    assert len(shown) == 6


def test_binned_curves_of_named_items() -> None:
    curves = bin_curves(sample())
    figure = binned_curves(curves, ["$x^5", "$x^6"])  # constant, never run
    assert "no trend" in figure.axes[0].get_title(loc="left")
    assert drawn(figure) > 5_000
    with pytest.raises(NotComparableError, match="no item 'q'"):
        binned_curves(curves, ["q"])
    with pytest.raises(NotComparableError, match="do not vary"):
        binned_curves(bin_curves(Responses.from_array(np.ones((5, 3)))))


def test_difficulty_bins_draw_means_and_counts() -> None:
    one, two = bin_difficulty(sample(name="$one")), bin_difficulty(Responses.from_array(np.eye(6), name="hard"))
    figure = difficulty_bins([one, two])
    assert drawn(figure) > 10_000
    above, below = figure.axes
    assert above.lines[0].get_ydata() == pytest.approx(one.mean, nan_ok=True)
    heights = [bar.get_height() for bar in below.patches[: one.mean.size + 2]]
    assert heights == [one.n_never, *one.n_items, one.n_always]
    with pytest.raises(NotComparableError, match="same bins"):
        difficulty_bins([one, bin_difficulty(sample(), edges=(0, 0.5, 1))])


def test_pair_differences_draw_the_clearest_pairs() -> None:
    pairs = compare_pairs(sample(8))
    figure = pair_differences(pairs, limit=10)
    assert drawn(figure) > 10_000
    ax = figure.axes[0]
    points = np.concatenate([line.get_xdata() for line in ax.lines[1:]])
    wanted = pairs.difference[np.argsort(pairs.p_adjusted, kind="stable")]
    assert points.size == 10
    assert np.abs(points).max() == pytest.approx(np.abs(wanted[0]))


def test_pairs_without_a_difference_leave_a_picture() -> None:
    x = [[1, 0, np.nan], [1, 0, np.nan], [np.nan, np.nan, 1]]
    assert drawn(pair_differences(compare_pairs(Responses.from_array(x)))) > 5_000


@pytest.mark.parametrize("group", [None, "family"])
def test_stability_draws_every_correlation(group: str | None) -> None:
    data = sample()
    found = resample_systems(data, replications=50) if group is None else leave_groups_out(data, group=group)
    figure = stability(found)
    assert drawn(figure) > 10_000
    assert sum(bar.get_height() for bar in figure.axes[2].patches) == found.n_left.size


def test_scree_fills_what_is_counted() -> None:
    found = parallel_analysis(sample(), replications=20)
    found = replace(found, n_factors=3)
    figure = scree(found, limit=10)
    limit, line, filled, hollow = figure.axes[0].lines
    assert limit.get_ydata() == pytest.approx(found.limit[:10])
    assert line.get_ydata() == pytest.approx(found.observed[:10])
    assert filled.get_xdata().tolist() == [1, 2]
    assert hollow.get_xdata().tolist() == list(range(3, 11))
    assert drawn(figure) > 5_000


def test_loadings_are_drawn_by_cluster_and_in_a_table() -> None:
    found = analyze_factors(sample(), 3, method="logistic")
    clusters = cluster_items(found, 3)
    figure = factor_loadings(found, clusters, top=4)
    plane, table = figure.axes
    points = [line for line in plane.lines if line.get_linestyle() == "None"]
    assert [line.get_xdata().size for line in points] == np.bincount(clusters.cluster[clusters.cluster >= 0]).tolist()
    assert points[0].get_ydata() == pytest.approx(found.loadings[clusters.cluster == 0, 1])
    best = int(np.nanargmax(np.abs(found.loadings[:, 0])))
    assert table.get_yticklabels()[0].get_text() == found.item_ids[best]
    assert np.asarray(table.images[0].get_array())[0] == pytest.approx(found.loadings[best])
    assert drawn(figure) > 10_000
    assert drawn(factor_loadings(found)) > 10_000
    with pytest.raises(NotComparableError, match="one factor"):
        factor_loadings(analyze_factors(sample(), 1, method="logistic"))


def test_means_are_drawn_best_first_and_thinned_by_rank() -> None:
    means = average_systems(sample(120))
    figure = system_means(means, limit=30)
    x = figure.axes[0].lines[-1].get_xdata()
    assert x.size == 30
    assert (np.diff(x) <= 0).all()
    assert x[[0, -1]] == pytest.approx([means.mean.max(), means.mean.min()])
    assert "30 of 120 persons" in figure.get_supxlabel()
    assert drawn(system_means(average_systems(sample(8)))) > 5_000
