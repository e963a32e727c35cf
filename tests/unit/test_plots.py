from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from psychoeval import plots
from psychoeval.agreement.alignment import standardised
from psychoeval.errors import EngineUnavailableError, NotComparableError
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.plots import bump, by_id, canvas, curves
from psychoeval.plots.binning import bin_persons
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, ItemStatistics, LatentDistribution
from psychoeval.results.provenance import Provenance

THETA = np.array([1.5, 0.5, 0.0, -0.5, -1.5])
PERSONS = ("ann", "bob", "cy", "dee", "eve")
ITEMS = ("i1", "i2", "i3", "i4")
DIFFICULTY = np.array([-1.0, 0.0, 0.5, 2.0])


def logit_fit(
    name="map",
    theta=THETA,
    persons=PERSONS,
    *,
    items=ITEMS,
    slopes=(1.0, 1.2, 0.7, 1.5),
    difficulty=DIFFICULTY,
    status="converged",
    se=0.3,
    model="2PL",
):
    theta = np.asarray(theta, float)
    error = None if se is None else np.where(np.isfinite(theta), se, np.inf)
    return FitResult(
        name,
        ItemModel(model),
        Convergence(status, failures=("It ran away.",) if status == "failed_check" else ()),
        Provenance(),
        abilities=Abilities(tuple(persons), theta, error, "MAP"),
        item_parameters=ItemParameters.from_difficulty(tuple(items), slopes, difficulty),
    )


def proportion_fit(name="simple-average", values=(0.9, 0.7, 0.5, 0.3, 0.1), persons=PERSONS):
    return FitResult(
        name,
        None,
        Convergence("not_iterative"),
        Provenance(),
        abilities=Abilities(tuple(persons), values, np.full(len(values), 0.1), "mean", "proportion", "items sampled"),
    )


def drawn(figure):
    """Render to pixels: layout and text are only checked when drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()
    return figure


def all_pictures(fits, responses):
    return [
        plots.ability_forest(fits),
        plots.ability_scatter(fits),
        plots.item_scatter(fits),
        plots.item_curves(fits, responses),
        plots.item_plane(fits),
        plots.rank_bump(fits),
    ]


@pytest.fixture
def responses():
    rng = np.random.default_rng(5)
    p = probability(THETA, [1.0, 1.2, 0.7, 1.5], -np.array([1.0, 1.2, 0.7, 1.5]) * DIFFICULTY)
    return Responses.from_array(rng.binomial(8, p), 8, person_ids=PERSONS, item_ids=ITEMS)


@pytest.fixture
def fits():
    return [
        logit_fit(),
        logit_fit("mirt-em", THETA + 0.1, status="failed_check", slopes=(1.0, 1.2, 48.0, 1.5)),
        proportion_fit(),
    ]


def test_every_picture_is_a_figure_that_draws_without_a_warning(fits, responses):
    from matplotlib.figure import Figure

    for figure in all_pictures(fits, responses):
        assert isinstance(drawn(figure), Figure)


def test_pyplot_is_never_imported(tmp_path):
    code = """
        import sys
        import numpy as np
        from psychoeval import plots
        from tests.unit.test_plots import logit_fit, proportion_fit
        fits = [logit_fit(), logit_fit("mirt-em"), proportion_fit()]
        for figure in (plots.ability_forest(fits), plots.rank_bump(fits), plots.ability_scatter(fits)):
            figure.savefig(sys.argv[1], format="svg")
        assert "matplotlib.pyplot" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "out.svg")], check=True)


def test_logits_and_proportions_never_share_an_axis(fits):
    logits, proportions = plots.ability_forest(fits).axes
    assert logits.get_xlabel() == "ability (logits / latent SD)"
    assert proportions.get_xlabel() == "proportion correct"
    assert logits.get_xlim()[0] < -1.5
    values = np.concatenate([line.get_xdata() for line in proportions.lines])
    assert sorted(values) == [0.1, 0.3, 0.5, 0.7, 0.9]


def test_an_axis_says_which_abilities_are_not_in_latent_sds():
    normal = logit_fit()
    law_free = logit_fit("cml", slopes=1.0, model="Rasch")  # no latent distribution: its unit is the logit
    known = replace(law_free, estimator="mml", latent_distribution=LatentDistribution(sd=1.7))
    moved, _ = standardised(known)
    assert plots.ability_forest([normal, moved]).axes[0].get_xlabel() == "ability (logits / latent SD)"
    assert plots.ability_forest([law_free, known]).axes[0].get_xlabel() == "ability (logits)"
    both = plots.ability_forest([normal, law_free]).axes[0].get_xlabel()
    assert both == "ability (logits / latent SD; cml Rasch: logits)"
    caption = plots.ability_scatter([normal, law_free]).get_supxlabel().replace("\n", " ")
    assert caption.startswith("Ability in logits / latent SD; cml Rasch: logits;")


def test_what_is_not_believed_is_hollow_grey_and_named(fits):
    good, bad, _ = canvas.looks(fits).values()
    assert good.face == good.color != canvas.GREY
    assert (bad.face, bad.color) == ("white", canvas.GREY)
    assert bad.label == "mirt-em 2PL (not believed: failed a check)"
    texts = [t.get_text() for t in plots.ability_forest(fits).legends[0].get_texts()]
    assert bad.label in texts


def test_no_two_of_many_fits_look_alike():
    many = [logit_fit() for _ in range(77)]
    assert len({(s.color, s.marker) for s in canvas.looks(many).values()}) == 77


def test_fits_may_be_named_by_the_caller(fits):
    shown = canvas.looks(fits, ["ours", "theirs", "the average"])
    assert [s.short for s in shown.values()] == ["ours", "theirs (not believed)", "the average"]
    with pytest.raises(NotComparableError, match="2 names for 3 fits"):
        canvas.looks(fits, ["ours", "theirs"])


def test_persons_are_matched_by_id_and_not_by_position():
    order = [3, 0, 4, 2, 1]
    shuffled = logit_fit("mirt-em", THETA[order], [PERSONS[k] for k in order])
    panel = plots.ability_scatter([logit_fit(), shuffled]).axes[2]
    points = next(line for line in panel.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(points.get_xdata(), points.get_ydata())


def test_ids_of_one_fit_only_have_no_value_in_the_other():
    table = by_id.abilities([logit_fit(), logit_fit("b", [1.0, 2.0], ["zoe", "bob"])])
    assert table.ids == (*PERSONS, "zoe")
    np.testing.assert_array_equal(table.values[:, 1], [np.nan, 2.0, np.nan, np.nan, np.nan, 1.0])


def test_text_from_data_is_never_markup():
    name = r"$\frac{x$ \alpha"
    fit = logit_fit(persons=(name, "tab\there", "日本語", "x" * 10_000, "_e"))
    figure = drawn(plots.ability_forest([fit]))
    labels = figure.axes[0].get_yticklabels()
    assert [t.get_text() for t in labels] == [name, "tab here", "□□□", canvas.cut("x" * 10_000, 36), "_e"]
    assert not any(t.get_parse_math() for t in labels)
    drawn(plots.rank_bump([fit]))


def test_cut_keeps_both_ends_and_the_length():
    assert canvas.cut("abcdefghij", 6) == "abc…ij"
    assert len(canvas.cut("x" * 500, 36)) == 36
    assert canvas.cut("short", 36) == "short"


def test_infinite_abilities_are_arrows_at_the_edge():
    fit = logit_fit(theta=[np.inf, 0.5, 0.0, -0.5, -np.inf])
    axes = drawn(plots.ability_forest([fit])).axes[0]
    arrows = {line.get_marker(): line for line in axes.lines if line.get_marker() in "<>"}
    assert arrows[">"].get_xdata() == axes.get_xlim()[1]
    assert arrows["<"].get_xdata() == axes.get_xlim()[0]


def test_runaway_slopes_do_not_set_the_axis(fits):
    figure = drawn(plots.item_plane(fits))
    assert all(ax.get_ylim()[1] < 3 for ax in figure.axes[:2])
    assert "triangles: 1." in figure.get_supxlabel().replace("\n", " ")


def test_fits_with_one_slope_have_no_plane_and_are_named():
    rasch = logit_fit("mirt-em", slopes=1.0, model="Rasch")
    assert "mirt-em Rasch" in plots.item_plane([logit_fit(), rasch]).get_supxlabel()
    with pytest.raises(NotComparableError, match="No fit has slopes"):
        plots.item_plane([rasch])


def test_classical_statistics_have_axes_of_their_own():
    ctt = FitResult(
        "ctt",
        None,
        Convergence("not_iterative"),
        Provenance(),
        item_statistics=ItemStatistics(ITEMS, [0.9, 0.5, 0.2, 1.0], [0.3, 0.4, 0.2, np.nan], {}),
    )
    axes = drawn(plots.item_plane([logit_fit(), ctt])).axes
    assert [ax.get_ylabel() for ax in axes if ax.get_visible()] == ["discrimination a", "item-rest correlation"]


def test_choosing_rows_takes_all_then_distinct_then_evenly_spaced():
    few = by_id.abilities([logit_fit()])
    assert list(by_id.choose(few, 5, "person").rows) == [0, 1, 2, 3, 4]
    ids = [f"p{k}" for k in range(1000)]
    alike = by_id.abilities([logit_fit(theta=np.repeat([2.0, 1.0, 0.0, -1.0], 250), persons=ids)])
    chosen = by_id.choose(alike, 40, "person")
    assert [alike.ids[k] for k in chosen.rows] == ["p0", "p250", "p500", "p750"]
    assert chosen.suffixes == (" × 250",) * 4
    many = by_id.abilities([logit_fit(theta=np.linspace(3, -3, 1000), persons=ids)])
    rows = by_id.choose(many, 40, "person").rows
    assert (rows.size, rows[0], rows[-1]) == (40, 0, 999)
    assert np.ptp(np.diff(rows)) <= 1


def test_the_order_is_that_of_the_believed_fits():
    wrong = logit_fit("mirt-em", -THETA, status="failed_check")
    table = by_id.abilities([wrong, logit_fit()])
    assert list(by_id.choose(table, 5, "person").rows) == [0, 1, 2, 3, 4]
    only_wrong = by_id.abilities([wrong])
    assert list(by_id.choose(only_wrong, 5, "person").rows) == [4, 3, 2, 1, 0]


def test_ties_share_their_mean_rank_in_the_bump_chart():
    figure = plots.rank_bump([logit_fit(), proportion_fit(values=(0.5, 0.9, 0.5, 0.2, 0.1))])
    ends = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert sorted(ends) == ["ann  1", "bob  2", "cy  3", "dee  4", "eve  5"]
    lines = [line.get_ydata() for line in figure.axes[0].lines if line.get_linewidth() == 1.8]
    assert [1.0, 2.5] in [list(y) for y in lines]


def test_labels_that_collide_are_spread_in_order():
    places = bump._spread(np.array([3.0, 3.0, 1.0, 3.1, 9.0]), 1.0)
    np.testing.assert_allclose(np.sort(places)[1:] - np.sort(places)[:-1] >= 1.0 - 1e-9, True)
    assert places[2] == 1.0
    assert places[4] == 9.0
    np.testing.assert_allclose(places[[0, 1, 3]].mean(), (3.0 + 3.0 + 3.1) / 3)
    assert places[0] < places[1] < places[3]


def test_binned_proportions_have_wilson_intervals():
    # Wilson's interval of 8 in 10: Agresti & Coull 1998, eq. 2, by hand: (.8 + .19207 -+ .22697) / 1.38415.
    data = Responses.from_array([[8]], 10, person_ids=["ann"], item_ids=["i1"])
    binned = bin_persons(data, logit_fit(theta=[0.0], persons=["ann"], items=["i1"], slopes=[1.0], difficulty=[0.0]))
    p, low, high = binned.proportions(0)
    assert p[0] == 0.8
    np.testing.assert_allclose([low[0], high[0]], [0.4901625, 0.9433178], atol=1e-6)


def test_groups_hold_everybody_once_and_equal_abilities_together():
    theta = np.repeat([-1.0, 0.0, 2.0], [20, 30, 10])
    persons = [f"p{k}" for k in range(60)]
    x = (np.arange(60)[:, None] % [2, 3, 5, 7] == 0).astype(int)
    data = Responses.from_array(x, person_ids=persons, item_ids=ITEMS)
    binned = bin_persons(data, logit_fit(theta=theta[::-1], persons=persons[::-1]))
    np.testing.assert_allclose(binned.ability, [-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(binned.trials[:, 0], [20, 30, 10])
    np.testing.assert_array_equal(binned.successes.sum(axis=0), x.sum(axis=0))


def test_items_are_picked_for_stated_reasons(responses):
    picks = curves.pick_items([logit_fit()], responses, limit=4)
    reasons = {p.item: p.why for p in picks}
    assert len(reasons) == len(picks) == 4
    assert "hardest" in reasons["i4"]
    assert "steepest" in reasons["i4"]
    assert "easiest" in reasons["i1"]
    assert "flattest" in reasons["i3"]
    other = logit_fit("mirt-em", difficulty=DIFFICULTY + np.array([0, 2.5, 0, 0]))
    assert "believed fits differ most" in curves.pick_items([logit_fit(), other], responses, 4)[0].why
    assert curves.pick_items([logit_fit(), other], responses, 4)[0].item == "i2"


def test_the_reference_of_curves_is_a_believed_fit():
    bad = logit_fit("mirt-em", status="failed_check")
    assert curves.reference_fit([bad, logit_fit()]).estimator == "map"
    assert curves.reference_fit([bad]).estimator == "mirt-em"


def test_what_cannot_be_drawn_is_refused_by_name(responses):
    with pytest.raises(NotComparableError, match="No fit has item curves"):
        plots.item_curves([proportion_fit()], responses)
    with pytest.raises(NotComparableError, match="no item"):
        plots.item_curves([logit_fit()], responses, ["i9"])
    with pytest.raises(NotComparableError, match="needs two"):
        plots.ability_scatter([logit_fit(), proportion_fit()])
    with pytest.raises(NotComparableError, match="No fit has abilities"):
        plots.rank_bump([FitResult("x", None, Convergence("imported"), Provenance())])


@pytest.mark.parametrize("draw", [plots.ability_forest, plots.rank_bump, plots.item_plane])
def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    canvas._drawable.cache_clear()
    with pytest.raises(EngineUnavailableError, match=r"pip install psychoeval\[report\]"):
        draw([logit_fit()])


def test_a_thousand_persons_on_five_items_and_thirty_five_systems_draw():
    rng = np.random.default_rng(3)
    for n, j in ((1000, 5), (35, 500)):
        theta, b = rng.normal(size=n), rng.normal(size=j)
        persons, items = [f"p{k}" for k in range(n)], [f"i{k}" for k in range(j)]
        x = rng.binomial(1, probability(theta, np.ones(j), -b))
        data = Responses.from_array(x, person_ids=persons, item_ids=items)
        pair = [
            logit_fit(e, theta + shift, persons, items=items, slopes=np.exp(rng.normal(size=j) / 4), difficulty=b)
            for e, shift in (("map", 0.0), ("mirt-em", 0.2))
        ]
        for figure in all_pictures(pair, data):
            width, height = drawn(figure).get_size_inches()
            assert width < 8
            assert height < 13


def test_curves_are_brought_onto_the_scale_of_the_points_and_that_is_said(responses):
    # The same answer in another frame: theta* = 2 theta + 1, so a* = a / 2 and b* = 2 b + 1.
    other = logit_fit(
        "mirt-em", 2 * THETA + 1, slopes=np.array([1.0, 1.2, 0.7, 1.5]) / 2, difficulty=2 * DIFFICULTY + 1
    )
    figure = plots.item_curves([logit_fit(), other], responses, ["i2"])
    mine, theirs = (line.get_ydata() for line in figure.axes[0].lines if line.get_marker() == "None")
    np.testing.assert_allclose(mine, theirs, atol=1e-12)
    assert "mirt-em 2PL × 0.5 - 0.5" in figure.get_supxlabel().replace("\n", " ")


def test_items_the_data_say_nothing_about_are_not_drawn():
    items = ItemParameters(
        ITEMS,
        [1.0, 1.2, 0.7, 1.5],
        [1.0, 0.0, -0.5, -9.0],
        np.zeros(4),
        status=("estimated",) * 3 + ("constant_all_0",),
    )
    fit = FitResult("map", ItemModel("2PL"), Convergence("converged"), Provenance(), item_parameters=items)
    points = max((line.get_xdata() for line in plots.item_plane([fit]).axes[0].lines), key=len)
    np.testing.assert_allclose(points, [-1.0, 0.0, 0.5 / 0.7])
    assert np.isnan(by_id.item_term([fit], "difficulty").values[3, 0])
