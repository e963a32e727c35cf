"""Who reached the maximum: fits that stopped early, that a coarse grid holds, and that misread their own likelihood."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit

import psychoeval as pe
from psychoeval.agreement.comparison import Comparison, compare
from psychoeval.agreement.likelihood import LikelihoodComparison
from psychoeval.agreement.own_likelihood import OwnLikelihood, own_likelihood
from psychoeval.cli.output import print_comparison
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import posterior_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from tests.unit.marginal_fits import as_imported, fixed_grid_em, reporting, simulated


def maximum(responses: Responses) -> FitResult:
    return pe.fit(responses, "mml", model="2PL", priors="none", standard_errors="none")


def items_of(fit: FitResult) -> ItemParameters:
    assert fit.item_parameters is not None
    return fit.item_parameters


def told(responses: Responses, mml: FitResult, engine: FitResult) -> LikelihoodComparison:
    found = compare({"mml": mml, "engine": engine}, responses=responses).pairs[0].likelihood
    assert found is not None
    return found


@pytest.fixture(scope="module")
def short_test() -> tuple[Responses, FitResult]:
    responses = simulated(1000, 60, 1)
    return responses, maximum(responses)


@pytest.fixture(scope="module")
def stopped_early(short_test: tuple[Responses, FitResult]) -> FitResult:
    """Six cycles on a grid that is fine enough, from slopes that are all 15 % too small."""
    return fixed_grid_em(*short_test, n_nodes=61, limit=6.0, slopes=0.85, tolerance=1e-4, cycles=6)


@pytest.fixture(scope="module")
def long_test() -> tuple[Responses, FitResult]:
    responses = simulated(500, 150, 1)
    return responses, maximum(responses)


def test_two_that_reached_one_maximum(short_test: tuple[Responses, FitResult]) -> None:
    responses, mml = short_test
    found = told(responses, mml, maximum(responses))
    assert (found.higher, found.lower, found.cause, found.words, found.remedy) == ("", "", "", "", "")
    assert found.shortfall == 0.0
    assert found.slope_ratio == 1.0
    assert np.abs(found.misread).max() < 1e-5


def test_a_fit_that_stopped_early_on_the_scale(
    short_test: tuple[Responses, FitResult], stopped_early: FitResult
) -> None:
    responses, mml = short_test
    found = told(responses, mml, stopped_early)
    a, d = items_of(stopped_early).discrimination, items_of(stopped_early).intercept
    counts = (responses.successes, responses.trials)
    exact = posterior_grid(*counts, a, d, np.zeros_like(a))[1].log_marginal.sum()
    assert found.integrated[1] == pytest.approx(exact, abs=1e-5)
    assert (found.higher, found.lower, found.cause) == ("mml", "engine", "stopped early")
    assert found.shortfall == pytest.approx((mml.log_likelihood or 0.0) - exact, abs=1e-4)
    assert found.shortfall > 1.0
    ratio = np.median(items_of(mml).discrimination / a)
    assert found.slope_ratio == pytest.approx(ratio)
    assert found.frame_unit == pytest.approx(ratio, abs=2e-3)
    assert found.frame_share is not None
    assert found.frame_share > 0.99
    assert "engine stopped too early." in found.words
    assert "It is the scale" in found.words
    assert f"{100 * (ratio - 1):.1f}% (median" in found.words
    assert "misread" not in found.words
    assert "tolerance=1e-6, max_iterations=5000" in found.remedy
    assert "quadrature_points" not in found.remedy


def test_the_order_of_the_pair_does_not_matter(
    short_test: tuple[Responses, FitResult], stopped_early: FitResult
) -> None:
    responses, mml = short_test
    one = told(responses, mml, stopped_early)
    two = compare({"engine": stopped_early, "mml": mml}, responses=responses).pairs[0].likelihood
    assert two is not None
    assert (two.higher, two.lower, two.shortfall, two.words) == (one.higher, one.lower, one.shortfall, one.words)
    assert two.slope_ratio == pytest.approx(1.0 / (one.slope_ratio or np.nan))


def test_a_coarse_grid_misreads_the_maximum_itself(long_test: tuple[Responses, FitResult]) -> None:
    responses, mml = long_test
    items = items_of(mml)
    point = np.column_stack([items.discrimination, items.intercept])
    engine = reporting(responses, items.item_ids, point, n_nodes=21, limit=6.0)
    found = told(responses, mml, engine)
    assert (found.lower, found.cause, found.frame_share) == ("", "", None)
    assert found.shortfall < 1e-4
    misread = found.misread[1]
    assert misread is not None
    assert abs(misread) > 1.0
    assert f"its grid misreads its own likelihood by {abs(misread):.2f}" in found.words
    assert "21 nodes from -6 to 6, its own grid, give exactly this value" in found.words
    assert "short of" not in found.words
    assert "quadrature_points=241" in found.remedy
    assert "max_iterations" not in found.remedy


def test_a_maximum_that_only_a_coarse_grid_has(long_test: tuple[Responses, FitResult]) -> None:
    responses, mml = long_test
    engine = fixed_grid_em(*long_test, n_nodes=21, limit=6.0, slopes=0.95, tolerance=1e-5, cycles=300)
    found = told(responses, mml, engine)
    assert (found.lower, found.cause) == ("engine", "grid")
    assert "stands on a maximum that only its grid has" in found.words
    assert "cycles alone do not help" in found.remedy
    gap = found.reported[0] - found.reported[1]
    rest = gap - found.shortfall
    assert rest == pytest.approx(-(found.misread[1] or 0.0), abs=1e-4)
    assert f"Of the {gap:.2f} between the reported values, {found.shortfall:.2f} is falling short" in found.words
    assert f"{rest:.2f} is misreading" in found.words


def test_both_faults_at_once(long_test: tuple[Responses, FitResult]) -> None:
    responses, mml = long_test
    engine = fixed_grid_em(*long_test, n_nodes=21, limit=6.0, slopes=0.8, tolerance=1e-5, cycles=3)
    found = told(responses, mml, engine)
    assert found.cause == "stopped early"
    assert "On that grid too the likelihood still rises" in found.words
    assert "quadrature_points=241" in found.remedy
    assert "max_iterations=5000" in found.remedy
    unknown = told(responses, mml, as_imported(engine))
    assert unknown.cause == "stopped early or grid"
    assert "stopped too early, or stands on a maximum that only its grid has" in unknown.words
    assert "ten times the cycles" in unknown.remedy


def test_a_grid_can_make_the_lower_fit_look_higher(long_test: tuple[Responses, FitResult]) -> None:
    responses, mml = long_test
    engine = fixed_grid_em(*long_test, n_nodes=21, limit=6.0, slopes=0.8, tolerance=1e-5, cycles=3)
    found = told(responses, mml, replace(engine, log_likelihood=(mml.log_likelihood or 0.0) + 2.0))
    assert found.lower == "engine"
    assert "By the reported values engine would be the higher, by 2.00" in found.words


def test_the_default_grid_of_mirt_is_known_by_its_value() -> None:
    responses = simulated(300, 600, 2)
    a, d = np.full(600, 1.0), np.zeros(600)
    engine = as_imported(reporting(responses, responses.item_ids, np.column_stack([a, d]), n_nodes=61, limit=6.0))
    found = told(responses, as_imported(replace(engine, log_likelihood=(engine.log_likelihood or 0.0) + 5.0)), engine)
    assert "engine reports" in found.words
    assert "61 nodes from -6 to 6, the default of R's mirt, give exactly this value" in found.words
    assert found.shortfall == 0.0


def test_tables_that_cannot_be_what_they_are_said_to_be(short_test: tuple[Responses, FitResult]) -> None:
    responses, mml = short_test
    items = items_of(mml)
    backwards = replace(mml, item_parameters=replace(items, intercept=-items.intercept))
    found = told(responses, mml, backwards)
    assert "too far below for a fit that missed it" in found.words
    assert (found.cause, found.frame_share) == ("", None)
    deviance = told(responses, mml, replace(mml, log_likelihood=-2 * (mml.log_likelihood or 0.0)))
    assert "more than a coarse grid explains" in deviance.words
    assert (deviance.lower, deviance.remedy) == ("", "")


def counts_with_gaps() -> Responses:
    rng = np.random.default_rng(3)
    trials = rng.integers(0, 4, (12, 5)).astype(np.uint8)
    trials[:, 0] = 1
    return Responses.from_array(rng.binomial(trials, 0.6).astype(np.uint8), trials)


@pytest.mark.parametrize(("model", "sd", "c"), [("2PL", 1.0, 0.0), ("Rasch", 1.7, 0.0), ("3PL", 1.0, 0.2)])
def test_the_likelihood_of_known_items_is_that_of_an_adaptive_integrator(model: str, sd: float, c: float) -> None:
    responses = counts_with_gaps()
    mean = 0.4 if model == "Rasch" else 0.0
    a = np.ones(5) if model == "Rasch" else np.array([0.5, 1.0, 2.0, -0.7, 3.0])
    d, guessing = np.array([0.0, 1.0, -1.0, 0.5, 2.0]), np.array([c, c, 0.0, c, c])
    fit = FitResult(
        "engine",
        ItemModel(model, guessing="free") if model == "3PL" else ItemModel(model),
        pe.fit(responses, "simple-average").convergence,
        Provenance(),
        item_parameters=ItemParameters(responses.item_ids, a, d, guessing),
        latent_distribution=LatentDistribution(mean, sd),
    )
    x, n = responses.successes.astype(float), responses.trials.astype(float)

    def density(t: float, i: int) -> float:
        p = guessing + (1 - guessing) * expit(a * t + d)
        weight = np.exp(-0.5 * ((t - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        return float(np.prod(p ** x[i] * (1 - p) ** (n[i] - x[i])) * weight)

    wanted = sum(np.log(quad(density, -20, 20, args=(i,), epsabs=0, epsrel=1e-11, limit=400)[0]) for i in range(12))
    found = own_likelihood(fit, responses)
    assert isinstance(found, OwnLikelihood)
    assert found.log_likelihood == pytest.approx(wanted, abs=1e-8)


def test_the_best_frame_is_the_maximum_over_origin_and_unit() -> None:
    responses = simulated(300, 20, 5)
    mml = maximum(responses)
    items = items_of(mml)
    a, d = 0.9 * items.discrimination, items.intercept + 0.2 * items.discrimination
    found = own_likelihood(replace(mml, item_parameters=replace(items, discrimination=a, intercept=d)), responses)
    assert isinstance(found, OwnLikelihood)
    counts, zero = (responses.successes, responses.trials), np.zeros_like(a)

    def loss(at: np.ndarray) -> float:
        return -float(posterior_grid(*counts, a, d, zero, mean=at[0], sd=np.exp(at[1]))[1].log_marginal.sum())

    wanted = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    frame = found.best_frame
    assert frame.log_likelihood == pytest.approx(-wanted.fun, abs=2e-3)
    assert (frame.mean, frame.sd) == pytest.approx((wanted.x[0], np.exp(wanted.x[1])), abs=2e-3)
    step = 1e-4
    ahead = -loss(np.array([step * frame.mean, np.log1p(step * (frame.sd - 1))]))
    assert found.rise(frame) == pytest.approx((ahead + loss(np.zeros(2))) / step, rel=0.02)


def test_why_a_likelihood_is_not_known(short_test: tuple[Responses, FitResult]) -> None:
    responses, mml = short_test
    bare = as_imported(mml)
    other = Responses.from_array(responses.successes, item_ids=[f"other{j}" for j in range(60)])
    persons = Responses.from_array(responses.successes, person_ids=[f"other{i}" for i in range(1000)])
    swapped = Responses.from_array(1 - responses.successes)
    assert own_likelihood(mml, None) == "the responses are not at hand"
    assert own_likelihood(replace(bare, latent_distribution=None), responses) == "its latent distribution is not stated"
    assert own_likelihood(replace(mml, item_parameters=None), responses) == "it has no item parameters"
    assert "is not in the responses" in str(own_likelihood(bare, other))
    assert own_likelihood(bare, persons) == "its persons are not those of the responses"
    assert "other data" in str(own_likelihood(mml, swapped))


def test_it_stands_in_every_form_of_the_comparison(
    short_test: tuple[Responses, FitResult], stopped_early: FitResult, capsys: pytest.CaptureFixture[str]
) -> None:
    responses, mml = short_test
    comparison: Comparison = compare({"mml": mml, "engine": stopped_early}, responses=responses)
    found = comparison.pairs[0].likelihood
    assert found is not None
    assert f"Log-likelihoods: {found.words} What to do: {found.remedy}" in comparison.summary()
    content = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))["pairs"][0]["likelihood"]
    assert (content["lower"], content["cause"], content["remedy"]) == ("engine", "stopped early", found.remedy)
    assert content["integrated"] == list(found.integrated)
    print_comparison(comparison, responses, "verdicts", "table")
    out = capsys.readouterr().out
    assert f"mml / engine: {found.advice}\n" in out
    assert f"{found.shortfall:.4f}" in out


def test_the_report_says_it_at_its_head_and_among_the_log_likelihoods(
    short_test: tuple[Responses, FitResult],
    stopped_early: FitResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jinja2")
    from psychoeval.report import pictures
    from psychoeval.report.html import report

    monkeypatch.setattr(pictures, "pictures", lambda *_: [])
    responses, mml = short_test
    comparison = compare({"mml": mml, "engine": stopped_early}, responses=responses)
    found = comparison.pairs[0].likelihood
    assert found is not None
    text = html.unescape(report(comparison, tmp_path / "r.html").read_text(encoding="utf-8"))
    head, section = text.split('<section id="status">')[0], text.split('<section id="likelihood">')[1]
    assert f"engine claims a maximum of the likelihood and is {found.shortfall:.2f} short of what mml reaches" in head
    assert found.remedy in head
    assert found.words in section
    assert f"<td>{found.integrated[1]:.4f}</td>" in section
    equal = report(compare({"one": mml, "two": mml}, responses=responses), tmp_path / "e.html").read_text("utf-8")
    assert "Nothing to mend: the values of each pair agree to 0.1." in equal
    assert "short of what" not in equal
