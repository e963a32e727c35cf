"""The chains of sampled fits in the report, on the command line and as plain content."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from psychoeval.agreement.comparison import Comparison, compare
from psychoeval.agreement.prediction import predictions
from psychoeval.agreement.sampled import chains_row, chains_words, extremes
from psychoeval.cli.output import print_comparison, print_fit
from psychoeval.irt.models import PRIOR_PRESETS, ItemModel
from psychoeval.report import pictures, sampling
from psychoeval.report.html import report
from psychoeval.report.pictures import Picture
from psychoeval.report.sampling import sampling_section
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.posterior import posterior_result
from psychoeval.results.provenance import Provenance
from tests.unit.synthetic_draws import made_up
from tests.unit.test_report import Page

GOOD, STUCK = "stan-hmc 2PL [population]", "brms 2PL [population]"


@pytest.fixture(scope="module")
def responses() -> Responses:
    x = np.random.default_rng(3).integers(0, 2, size=(30, 20))
    ids = made_up(persons=30, items=20, draws=4)
    return Responses.from_array(x, person_ids=ids.person_ids, item_ids=ids.item_ids, person_label="system")


def fitted(estimator: str, draws: Draws, responses: Responses) -> FitResult:
    values = {n: v for n, v in draws.values.items() if n != "guessing"}
    return posterior_result(
        estimator, ItemModel("2PL", PRIOR_PRESETS["population"]), responses, replace(draws, values=values),
        Convergence("sampled"), Provenance(data_sha256=responses.sha256), failed={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def fits(responses: Responses) -> tuple[FitResult, FitResult]:
    """One whose chains mix, and one with divergences and a chain that lies elsewhere; they predict differently."""
    good = made_up(seed=1)
    other = made_up(seed=2)
    assert other.log_likelihood is not None
    ability = other.values["ability"].copy()
    ability[0] += 4
    stats: dict[str, Any] = {**other.sample_stats, "diverging": np.arange(4 * 500).reshape(4, 500) % 50 == 0}
    stuck = replace(
        other, values={**other.values, "ability": ability}, sample_stats=stats, log_likelihood=other.log_likelihood - 1
    )
    return fitted("stan-hmc", good, responses), fitted("brms", stuck, responses)


@pytest.fixture(scope="module")
def comparison(fits: tuple[FitResult, FitResult], responses: Responses) -> Comparison:
    return compare(fits, responses=responses)


@pytest.fixture(scope="module")
def html(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "pictures", lambda *_: [])
        return report(comparison, tmp_path_factory.mktemp("out") / "r.html").read_text(encoding="utf-8")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawing, which takes most of the time."""
    monkeypatch.setattr(sampling, "picture", lambda title, reading, alt, _: Picture(title, reading, alt, "", "undrawn"))


def test_the_worst_figures_are_over_all_parameters(fits: tuple[FitResult, FitResult]) -> None:
    run = fits[0].sampling
    assert run is not None
    table = run.table()
    found = extremes(run)
    assert found["rhat"] == table["rhat"].max()
    assert found["ess_bulk"] == table["ess_bulk"].min()
    assert chains_row(run)["grade"] == "good"
    assert chains_words(run).startswith("good (4 x 500 draws; R-hat ")


def test_a_section_of_the_report_tells_grade_reasons_and_what_to_do(html: str, comparison: Comparison) -> None:
    section = html[html.index('<section id="sampling">') : html.index('<section id="pictures">')]
    assert "✓ good" in section
    assert "✗ do not use" in section
    run = comparison.fits[1].sampling
    assert run is not None
    for sentence in (*run.reasons, *run.remedies):
        assert sentence.replace("'", "&#39;") in section
    assert "40 of 2000 draws diverged" in section
    assert "7 Chains of the sampled fits" in html
    assert "8 Pictures" in html
    assert "9 How to repeat it" in html
    assert '<a href="#sampling">' in html


def test_each_sampled_fit_has_its_pictures(html: str) -> None:
    assert html.count("<figcaption>") == 8  # traces, ranks, slopes and raw scores of each
    assert html.count('src="data:image/') == 8
    assert f"Figure 5. Chains of {STUCK}: the parameters that mix worst." in html
    assert "Not drawn" not in html
    found = Page(html)
    assert found.open == []
    assert all(a["alt"] for tag, a in found.tags if tag == "img")


def test_pictures_are_numbered_through(comparison: Comparison, undrawn: None) -> None:
    shown = sampling_section(comparison, "system")
    assert shown is not None
    assert shown.n_pictures == 8


def test_monte_carlo_error_of_the_worst_is_given_in_posterior_sds(comparison: Comparison, undrawn: None) -> None:
    shown = sampling_section(replace(comparison, fits=comparison.fits[:1], names=comparison.names[:1]), "system")
    assert shown is not None
    (run,) = shown.runs
    for worst in run.worst:
        # The mean of n independent draws has SD / sqrt(n): ESS is about that n.
        assert worst.error_in_sd == pytest.approx(worst.figures.ess_bulk**-0.5, rel=0.25)


def test_without_draws_the_figures_stay(fits: tuple[FitResult, FitResult], responses: Responses) -> None:
    shown = sampling_section(compare([replace(fits[0], draws=None)], responses=responses), "system")
    assert shown is not None
    assert shown.runs[0].pictures == ()
    assert shown.runs[0].no_pictures.startswith("The draws were not kept")
    assert np.isnan(shown.runs[0].worst[0].error_in_sd)


def test_without_a_sampled_fit_there_is_no_section(responses: Responses) -> None:
    from psychoeval.fitting import fit

    assert sampling_section(compare([fit(responses, "simple-average")], responses=responses), "system") is None


def test_models_are_compared_by_leave_one_out(comparison: Comparison, html: str) -> None:
    best, other = comparison.predictions
    assert (best.name, other.name) == (GOOD, STUCK)
    assert best.below_best is None
    assert best.loo is not None
    assert other.loo is not None
    assert other.below_best is not None
    # Every draw of each of 30 persons is 1 lower.
    assert other.below_best.elpd_difference == pytest.approx(-30, abs=3)
    assert other.below_best.elpd_difference == pytest.approx(other.loo.elpd - best.loo.elpd)
    assert any("With 30 persons the standard error is too small" in w for w in other.warnings)
    assert "Which model predicts best" in html
    assert "With 30 persons the standard error is too small" in html


def test_leave_one_out_says_what_it_cannot_do(fits: tuple[FitResult, FitResult]) -> None:
    one, two = fits
    assert one.draws is not None
    assert predictions(["a", "b"], [one, replace(two, draws=None)]) == ()
    elsewhere = predictions(["a", "b"], [one, replace(two, provenance=Provenance(data_sha256="other"))])
    assert elsewhere[1].problem == "a and b were fitted to different data."
    assert elsewhere[1].below_best is None
    assert one.draws.log_likelihood is not None
    broken = one.draws.log_likelihood.copy()
    broken[0, 0, 0] = np.nan
    first, last = predictions(["a", "b"], [replace(one, draws=replace(one.draws, log_likelihood=broken)), two])
    assert (first.name, last.name) == ("b", "a")
    assert last.loo is None
    assert "is not finite" in last.problem


def test_a_fit_that_is_not_to_be_used_never_agrees(comparison: Comparison) -> None:
    assert comparison.pairs[0].verdict == "not comparable"
    assert f"{STUCK} is not believed" in comparison.pairs[0].reason


def test_the_command_line_shows_grades(
    comparison: Comparison, responses: Responses, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(comparison, responses, "verdicts", "table")
    text = capsys.readouterr().out
    assert "Chains of the sampled fits" in text
    assert "do not use" in text
    assert f"What to do about the chains of {STUCK}: " in text
    assert f"  {GOOD}: elpd " in text
    print_fit(comparison.fits[0], "items", "table")
    assert "Chains of the sampled fits" in capsys.readouterr().out


def test_json_holds_grades_and_predictions(
    comparison: Comparison, responses: Responses, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(comparison, responses, "verdicts", "json")
    content = json.loads(capsys.readouterr().out)
    good, stuck = (f["sampling"] for f in content["fits"])
    assert good["grade"] == "good"
    assert stuck["grade"] == "do not use"
    assert stuck["divergences"] == [10, 10, 10, 10]
    assert len(stuck["worst"]) == 5
    assert [p["name"] for p in content["predictions"]] == [GOOD, STUCK]
    print_fit(comparison.fits[0], "items", "json")
    assert json.loads(capsys.readouterr().out)["sampling"]["grade"] == "good"
    assert "chains of brms" in comparison.summary()
