from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from psychoeval import plots
from psychoeval.errors import DataError, EngineUnavailableError, NotComparableError
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors
from psychoeval.plots import canvas
from psychoeval.plots.prior_posterior import overlap, prior_law
from psychoeval.plots.score_check import _counts, _edges
from psychoeval.report.pictures import image_uri
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from tests.gates import needs
from tests.unit.synthetic_draws import made_up
from tests.unit.test_plots import drawn

THREE_PL = ItemModel("3PL", Priors(log_discrimination=Normal(0.0, 0.5)), Beta(5, 17))


@pytest.fixture(scope="module")
def draws() -> Draws:
    return made_up(persons=12, items=8, draws=200)


def fit_of(draws: Draws, model: ItemModel | None = THREE_PL) -> FitResult:
    return FitResult("stan-hmc", model, Convergence("sampled"), Provenance(), draws=draws)


def caption(figure: Any) -> str:
    return figure.get_supxlabel().replace("\n", " ")


def without(draws: Draws, *names: str) -> Draws:
    return dataclasses.replace(draws, values={k: v for k, v in draws.values.items() if k not in names})


@needs("arviz")
def test_the_worst_parameters_are_traced_by_chain(draws: Draws) -> None:
    slopes = np.array(draws.values["discrimination"])
    slopes[2, :, 5] += 1.5
    figure = drawn(plots.chain_traces(dataclasses.replace(draws, values={**draws.values, "discrimination": slopes}),
                                      limit=2))  # fmt: skip
    trace, ranks = figure.axes[:2]
    assert trace.get_title(loc="left").startswith("discrimination['i5']   R-hat 1.")
    pieces = slopes[2, :, 5].reshape(40, 5)
    np.testing.assert_allclose(trace.lines[2].get_ydata(), pieces.mean(1), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trace.lines[2].get_xdata(), np.arange(2, 200, 5))
    outline = trace.collections[2].get_paths()[0].vertices
    for edge in (pieces.min(1), pieces.max(1)):
        assert np.isin(edge, outline[:, 1]).all()
    counts = [patch.get_data().values for patch in ranks.patches]
    assert [c.sum() for c in counts] == [200] * 4
    assert counts[2][15:].sum() > 180  # the chain apart has the upper ranks
    np.testing.assert_array_equal(np.sum(counts, axis=0), 40)
    assert "2 of 48 parameters" in caption(figure)
    assert "Grade of the run: do not use" in caption(figure)


@needs("arviz")
def test_traces_of_long_chains_stay_small_in_a_report() -> None:
    figure = plots.chain_traces(made_up(persons=12, items=8, draws=1003), limit=3)
    assert len(image_uri(figure)) < 250_000
    assert figure.axes[0].lines[0].get_ydata().size == 40


@needs("arviz")
def test_traces_are_drawn_of_what_is_asked_for(draws: Draws) -> None:
    figure = drawn(plots.chain_traces(draws, parameters=[("ability", "p3"), ("mean_difficulty", "")]))
    titles = [ax.get_title(loc="left") for ax in figure.axes[::2]]
    assert titles[0].startswith("ability['p3']")
    assert titles[1].startswith("mean_difficulty ")
    for wrong in (("ability", "i3"), ("theta", "p3")):
        with pytest.raises(NotComparableError, match="no draws of"):
            plots.chain_traces(draws, parameters=[wrong])


@needs("arviz")
def test_suspect_chains_and_draws_that_are_not_finite_are_marked(draws: Draws) -> None:
    values = {k: np.array(v) for k, v in draws.values.items()}
    values["ability"][1] *= -1
    values["difficulty"][0, 0, 0] = np.inf
    figure = drawn(plots.chain_traces(dataclasses.replace(draws, values=values)))
    names = [t.get_text() for t in figure.legends[0].get_texts()]
    assert names == ["chain 1", "chain 2 (suspect)", "chain 3", "chain 4"]
    assert figure.axes[1].texts[0].get_text() == "some draws are not finite"


def test_the_map_holds_the_probabilities_best_first(draws: Draws) -> None:
    figure = drawn(plots.rank_probabilities(draws, noun="system"))
    axes = figure.axes[0]
    shares = np.square(axes.collections[0].get_array())
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    expected = shares @ np.arange(1, 13)
    assert (np.diff(expected) >= -1e-9).all()
    means = draws.pooled("ability").mean(axis=0)
    assert axes.get_yticklabels()[0].get_text().startswith(f"p{np.argmax(means)} ")
    assert caption(figure).startswith("All 12 systems, by expected rank")


def test_of_many_persons_rows_are_chosen_and_ranks_share_columns() -> None:
    many = made_up(persons=250, items=3, draws=30)
    figure = drawn(plots.rank_probabilities(many, limit=20))
    shares = np.square(figure.axes[0].collections[0].get_array())
    assert shares.shape == (20, 84)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert "20 of 250 persons" in caption(figure)
    with pytest.raises(DataError, match="no draws of 'ability'"):
        plots.rank_probabilities(without(many, "ability"))


def test_score_counts_are_those_of_each_replication(draws: Draws) -> None:
    assert draws.replicated_scores is not None
    assert draws.observed_scores is not None
    replicated = draws.replicated_scores.reshape(-1, 12)
    edges = _edges(replicated, draws.observed_scores)
    expected = np.array([np.histogram(r, edges)[0] for r in replicated])
    np.testing.assert_array_equal(_counts(replicated, edges), expected)
    figure = drawn(plots.score_check(draws))
    low, high = np.quantile(expected, [0.05, 0.95], axis=0)
    observed = np.histogram(draws.observed_scores, edges)[0]
    inside = ((observed >= low) & (observed <= high)).sum()
    assert f"{inside} of {observed.size} observed counts" in caption(figure)


def test_a_model_that_does_not_fit_is_seen_in_the_scores(draws: Draws) -> None:
    assert draws.observed_scores is not None
    apart = dataclasses.replace(draws, observed_scores=np.where(np.arange(12) % 2, 0, 8))
    figure = drawn(plots.score_check(apart))
    assert "observed, outside" in [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert "larger than observed in 0% of" in caption(figure)
    with pytest.raises(NotComparableError, match="no replicated scores"):
        plots.score_check(dataclasses.replace(draws, replicated_scores=None))


def test_overlap_of_two_normals_is_known() -> None:
    # Of N(0, 1) and N(m, 1): 2 Phi(-m / 2); counted in cells of prior mass 1/25.
    values = np.random.default_rng(0).normal([0.0, 1.0, 6.0], 1.0, size=(40_000, 3))
    shared = overlap(values, stats.norm.cdf)
    np.testing.assert_allclose(shared[:2], 2 * stats.norm.cdf([0.0, -0.5]), atol=0.02)
    assert shared[2] == 1 / 25


@pytest.mark.parametrize(
    ("model", "term", "exact"),
    [
        (THREE_PL, "guessing", stats.beta(5, 17).cdf),
        (ItemModel("3PL", None, LogitNormal(-1.1, 0.5)), "guessing", None),
        (THREE_PL, "discrimination", stats.lognorm(0.5).cdf),
        (ItemModel("2PL", Priors(discrimination=LogNormal(0.2, 0.3))), "discrimination",
         stats.lognorm(0.3, scale=np.exp(0.2)).cdf),
    ],
)  # fmt: skip
def test_the_law_of_a_stated_prior(draws: Draws, model: ItemModel, term: str, exact: Any) -> None:
    law, words = prior_law(without(draws, "mean_log_discrimination"), model, term)
    x = np.array([0.0, 0.05, 0.25, 0.6, 1.0])
    if exact is None:
        exact = lambda c: stats.norm.cdf((np.log(c / (1 - c)) + 1.1) / 0.5)  # noqa: E731
        x = x[1:-1]
    np.testing.assert_allclose(law(x), exact(x), atol=1e-12)
    assert words == "prior"


def test_the_law_of_sampled_hyperparameters_is_their_mixture(draws: Draws) -> None:
    law, words = prior_law(draws, THREE_PL, "discrimination")
    m, s = draws.pooled("mean_log_discrimination"), draws.pooled("sd_log_discrimination")
    x = np.array([0.3, 0.8, 1.0, 1.7, 3.0])
    np.testing.assert_allclose(law(x), stats.norm.cdf((np.log(x)[:, None] - m) / s).mean(axis=1), atol=0.01)
    assert words == "distribution of the slopes of further items"
    assert law(np.array([0.0, -1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("term", ["discrimination", "guessing"])
def test_items_the_data_say_most_and_least_about_are_drawn(draws: Draws, term: Any) -> None:
    figure = drawn(plots.prior_posterior(fit_of(draws), term, limit=4))
    shared = overlap(draws.pooled(term), prior_law(draws, THREE_PL, term)[0])
    order = np.argsort(-shared, kind="stable")
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()][1:]
    assert [t.split()[0] for t in titles] == [f"i{k}" for k in [*order[:2], *order[-2:]]]
    assert titles[0].endswith(f"{shared[order[0]]:.2f}")
    one = plots.prior_posterior(fit_of(draws), term, items=["i3"])
    assert one.axes[1].get_title(loc="left").startswith("i3 ")


def test_what_has_no_prior_or_does_not_move_is_refused(draws: Draws) -> None:
    with pytest.raises(NotComparableError, match="no draws of guessing"):
        plots.prior_posterior(fit_of(without(draws, "guessing")), "guessing")
    with pytest.raises(NotComparableError, match="no prior of guessing"):
        plots.prior_posterior(fit_of(draws, ItemModel("3PL", None, "free")), "guessing")
    with pytest.raises(NotComparableError, match="no draws of item 'i99'"):
        plots.prior_posterior(fit_of(draws), items=["i99"])
    fixed = dataclasses.replace(draws, values={**draws.values, "discrimination": np.ones((4, 200, 8))})
    with pytest.raises(NotComparableError, match="do not move"):
        plots.prior_posterior(fit_of(fixed))


@needs("arviz")
def test_text_from_data_is_never_markup(draws: Draws) -> None:
    name = r"$\frac{x$"
    odd = dataclasses.replace(draws, person_ids=(name, *draws.person_ids[1:]), item_ids=(name, *draws.item_ids[1:]))
    drawn(plots.chain_traces(odd, parameters=[("ability", name)]))
    drawn(plots.rank_probabilities(odd))
    drawn(plots.prior_posterior(fit_of(odd), items=[name]))


@pytest.mark.parametrize("draw", [plots.rank_probabilities, plots.score_check])
def test_without_matplotlib_the_error_says_what_to_install(
    draws: Draws, monkeypatch: pytest.MonkeyPatch, draw: Any
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    canvas._drawable.cache_clear()
    with pytest.raises(EngineUnavailableError, match=r"pip install psychoeval\[report\]"):
        draw(draws)
