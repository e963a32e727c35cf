"""The verdict: grades from reasons, and what it says of data whose truth is known."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import psychoeval as pe
from benchmarks._interval_worlds import simulate
from psychoeval.cli.commands import app
from psychoeval.cli.console import plain
from psychoeval.errors import DataError, DisconnectedDataError, ModelError, NotComparableError, SettingsError
from psychoeval.irt.ranking import best_together
from psychoeval.trust import Assessment, assess, assess_comparison, describe_conditions
from psychoeval.trust.claims import Claim, Reason, graded
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.guessing import guessing_gain
from psychoeval.trust.thresholds import TAU_FAILED, TAU_SUPPORTED
from psychoeval.trust.verdict import claims, facts


@pytest.fixture(scope="module")
def long_test() -> Assessment:
    """30 systems on 400 items of one slope: much is known of the order, little of single items."""
    return assess(simulate(30, 400, 0, slopes=False).responses, replications=20, top=1)


@pytest.fixture(scope="module")
def many_systems() -> Assessment:
    """400 systems on 8 items: little is known of the order."""
    return assess(simulate(400, 8, 0).responses, replications=30)


def test_a_claim_has_the_worst_grade_of_its_reasons() -> None:
    good, fair, bad = Reason("a", "supported"), Reason("b", "with care", "x"), Reason("c", "not supported", "y")
    claim = Claim("ranking", "s", (good, fair, bad))
    assert claim.grade == "not supported"
    assert claim.deciding == (bad,)
    assert claim.against == (bad, fair)
    assert Claim("ranking", "s", (good,)).deciding == (good,)


@pytest.mark.parametrize(
    ("value", "grade"),
    [(0.8, "supported"), (0.79, "with care"), (0.6, "with care"), (0.59, "not supported"), (math.nan, "not supported")],
)
def test_a_value_is_held_to_two_limits(value: float, grade: str) -> None:
    reason = graded(value, TAU_SUPPORTED, TAU_FAILED, "words", "change")
    assert reason.allows == grade
    assert bool(reason.change) == (grade != "supported")
    assert "arXiv:2607.15190" in reason.threshold


def test_noise_lowers_a_grade_and_never_raises_it() -> None:
    def grade(value: float, error: float, low: float | None = None) -> str:
        return graded(value, TAU_SUPPORTED, TAU_FAILED, "words", "change", error=error, low=low).allows

    assert [grade(v, 0.04) for v in (0.85, 0.83, 0.65, 0.63)] == [
        "supported", "with care", "with care", "not supported",
    ]  # fmt: skip
    assert grade(0.9, math.inf) == "not supported"
    order = ["supported", "with care", "not supported"]
    for value in np.linspace(0.5, 1, 51):
        found = [order.index(grade(float(value), error)) for error in (0.0, 0.01, 0.1, 0.5, math.inf)]
        assert found == sorted(found)
    # A statement about single data sets is held to their limit, not to the mean.
    assert [grade(0.9, 0.01, low) for low in (0.81, 0.79)] == ["supported", "with care"]


def with_refits(found: Evidence, rows: list[dict[str, float]]) -> Evidence:
    """Return evidence with other figures of refits."""
    assert found.refitting is not None
    kept = tuple({**row, "believed": 1.0} for row in rows)
    replications = dataclasses.replace(found.refitting.replications, rows=kept, n_wanted=len(rows))
    return dataclasses.replace(found, refitting=dataclasses.replace(found.refitting, replications=replications))


def test_few_refits_support_nothing(long_test: Assessment) -> None:
    good = {"tau": 0.95, "r_difficulty": 0.97, "difficulty_coverage": 0.95}
    for n, grade in ((1, "not supported"), (2, "with care"), (19, "with care"), (20, "supported")):
        order, _, _, _, difficulties, *_ = claims(with_refits(long_test.evidence, [good] * n), 1)
        assert order.grade == grade, n
        told = " ".join(r.words for r in (*order.against, *difficulties.against))
        assert told.count("too few to support") == 2 * (n < 20)


def test_the_order_is_held_to_single_data_sets_and_its_statement_says_what_was_found(long_test: Assessment) -> None:
    """Tau .74 is 13% of the pairs; a mean of .85 whose single values fall to .75 supports nothing."""
    low = claims(with_refits(long_test.evidence, [{"tau": t} for t in (0.73, 0.75)] * 20), 1)[0]
    assert "right but for about 13% of the pairs, at the limit of a single data set 14%" in low.statement
    assert low.grade == "with care"
    wide = claims(with_refits(long_test.evidence, [{"tau": t} for t in (0.79, 0.91)] * 20), 1)[0]
    assert (wide.grade, wide.against[0].words[:5]) == ("with care", "In 40")
    narrow = claims(with_refits(long_test.evidence, [{"tau": t} for t in (0.84, 0.86)] * 20), 1)[0]
    assert narrow.grade == "supported"


def test_few_systems_with_many_items_know_their_order_but_no_items_to_remove(long_test: Assessment) -> None:
    assert long_test["ranking"].grade != "not supported"
    assert long_test["ranking"].reasons[0].allows == "supported"
    assert long_test["difficulties"].grade == "with care"
    assert "100 or so" in long_test["difficulties"].against[0].change
    for name in ("discriminations", "removing_items"):
        assert long_test[name].grade == "not supported"
        assert "equally discriminating" in long_test[name].against[0].words


def test_many_systems_with_few_items_know_the_items_but_not_the_order(many_systems: Assessment) -> None:
    assert many_systems.evidence.fit.model is not None
    assert many_systems.evidence.fit.model.name == "2PL"
    for name in ("ranking", "top", "neighbors", "pairs"):
        assert many_systems[name].grade == "not supported"
    assert many_systems["difficulties"].grade != "not supported"
    assert many_systems["difficulties"].reasons[0].allows == "supported"
    mean = many_systems.evidence.recovered("tau")[0]
    assert f"tau with the true order {mean:.2f} (+- 0.0" in many_systems["ranking"].deciding[0].words
    assert mean < 0.6


def test_a_fit_that_did_not_converge_supports_nothing(many_systems: Assessment) -> None:
    found = many_systems.evidence
    conditions = tuple(
        dataclasses.replace(c, value=0.0) if c.name == "convergence" else c for c in found.conditions.conditions
    )
    broken = dataclasses.replace(found, conditions=dataclasses.replace(found.conditions, conditions=conditions))
    assert {c.grade for c in claims(broken, 3)} == {"not supported"}


def test_other_orders_and_missing_parts_ask_for_care(long_test: Assessment) -> None:
    found = dataclasses.replace(long_test.evidence, agreement={"additive": 0.5})
    assert any("additive (tau 0.50)" in r.words for r in claims(found, 1)[0].against)
    without = dataclasses.replace(
        long_test.evidence, over_items=None, refitting=None, missing={"over_items": "Why not.", "refitting": "No."}
    )
    ranking, top, *_ = claims(without, 1)
    # Without refits the reliability says what tau to expect: 2 / pi asin(root of it).
    reliability = without.conditions["empirical_reliability"].value
    expected = 2 / math.pi * math.asin(math.sqrt(reliability))
    assert f"No. With normal abilities an empirical reliability of {reliability:.2f} means a tau of {expected:.2f}" in (
        ranking.reasons[0].words
    )
    # What no simulation has shown is not supported outright.
    assert reliability > 0.95
    assert ranking.grade == "with care"
    assert "Why not." in [r.words for r in top.reasons]
    nobody = dataclasses.replace(long_test.evidence, ranking=None, missing={"ranking": "Nobody."})
    assert [c.grade for c in claims(nobody, 1)[1:3]] == ["not supported"] * 2


def told_apart(found: Evidence, apart: int) -> Evidence:
    """Return evidence in which that many pairs of neighbors are told apart, for these items and others like them."""
    made = []
    for ranking in (found.ranking, found.over_items):
        assert ranking is not None
        order = np.argsort(-ranking.estimate, kind="stable")
        p = np.ones(ranking.p_adjusted.shape)
        p[order[:apart], order[1 : apart + 1]] = p[order[1 : apart + 1], order[:apart]] = 0.0
        made.append(dataclasses.replace(ranking, p_adjusted=p))
    return dataclasses.replace(found, ranking=made[0], over_items=made[1])


@pytest.mark.parametrize(
    ("apart", "grade", "words"),
    [
        (29, "supported", "29 of 29 pairs of neighbors are told apart."),
        (24, "with care", "24 of 29 pairs of neighbors are told apart, all but "),
        (23, "not supported", "23 of 29 pairs of neighbors are told apart: "),
        (1, "not supported", "1 of 29 pairs of neighbors are told apart: 'person-22 > "),
        (0, "not supported", "0 of 29 pairs of neighbors are told apart."),
    ],
)
def test_neighbors_want_all_pairs_and_care_four_in_five(
    long_test: Assessment, apart: int, grade: str, words: str
) -> None:
    found = told_apart(long_test.evidence, apart)
    claim = claims(found, 1)[2]
    assert claim.grade == grade
    assert f"For these items, {words}" in claim.reasons[0].words


def test_pairs_told_apart_are_a_claim_of_their_own(long_test: Assessment) -> None:
    """Those that both tests tell apart in the same direction; few systems and an untrue model do not touch them."""
    one, other = long_test.evidence.ranking, long_test.evidence.over_items
    assert one is not None
    assert other is not None
    both = sum(
        one.told_apart[i, j]
        and other.told_apart[i, j]
        and (one.estimate[i] > one.estimate[j]) == (other.estimate[i] > other.estimate[j])
        for i in range(30)
        for j in range(i)
    )
    claim = long_test["pairs"]
    assert (claim.grade, claim.statement) == ("supported", f"{both} of 435 pairs of persons are told apart.")
    assert "268 of 435 pairs are told apart; the chance that any of these is false is at most 0.05 (Holm)." in (
        claim.reasons[0].words
    )
    turned = dataclasses.replace(other, estimate=-other.estimate)
    claim = claims(dataclasses.replace(long_test.evidence, over_items=turned), 1)[3]
    assert (claim.grade, claim.statement) == ("not supported", "Some pairs of persons are told apart.")
    # In another order of persons the pairs are the same.
    back = np.arange(30)[::-1]
    same = dataclasses.replace(
        other, person_ids=tuple(other.person_ids[i] for i in back), estimate=other.estimate[back],
        p_adjusted=other.p_adjusted[np.ix_(back, back)],
    )  # fmt: skip
    assert (
        claims(dataclasses.replace(long_test.evidence, over_items=same), 1)[3].statement == long_test["pairs"].statement
    )
    alone = dataclasses.replace(long_test.evidence, over_items=None, missing={"over_items": "Why not."})
    assert (claims(alone, 1)[3].grade, claims(alone, 1)[3].statement[:10]) == ("with care", "268 of 435")


def test_the_best_k_are_judged_together() -> None:
    """P of all k at once, from draws one after another; of k others only a bound is known."""
    random = np.random.default_rng(0)
    mean, draws = np.array([2.0, 1.4, 1.0, 0.2, 0.0]), random.normal(size=(300, 5))
    draws += mean
    order = np.argsort(-mean)
    expected = [np.mean([set(np.argsort(-d)[:k]) == set(order[:k]) for d in draws]) for k in range(1, 5)]
    assert best_together(draws, order).tolist() == pytest.approx(expected)
    assert best_together(np.repeat(draws, 2, axis=0), order).tolist() == pytest.approx(expected)
    # Tied in every draw with one who is left out: never the best for certain.
    assert best_together(np.zeros((10, 3)), np.arange(3)).tolist() == [0.0, 0.0]


def test_the_claim_of_the_best_is_their_joint_probability(long_test: Assessment) -> None:
    ranking = long_test.evidence.ranking
    assert ranking is not None
    claim = claims(long_test.evidence, 3)[1]
    assert f"P(these 3 are the best 3, all together) is {ranking.best_together[2]:.2f}." in claim.reasons[0].words
    bound = 1 - np.sum(1 - np.sort(ranking.top(3))[-3:])
    assert ranking.best_together[2] > bound
    # The other ranking has another order: no draws of these three, and a bound that says so.
    other = dataclasses.replace(ranking, estimate=-ranking.estimate)
    turned = claims(dataclasses.replace(long_test.evidence, over_items=other), 3)[1]
    assert f"is {max(bound, 0):.2f} or more." in turned.reasons[1].words


def test_a_tie_at_the_border_of_the_best_is_named(long_test: Assessment) -> None:
    ranking = long_test.evidence.ranking
    assert ranking is not None
    order = np.argsort(-ranking.estimate)
    estimate = ranking.estimate.copy()
    estimate[order[3]] = estimate[order[2]] * (1 + 1e-15)
    found = dataclasses.replace(long_test.evidence, ranking=dataclasses.replace(ranking, estimate=estimate))
    claim = claims(found, 3)[1]
    names = [ranking.person_ids[i] for i in order[:4]]
    assert claim.grade == "not supported"
    assert all(repr(name) in claim.statement for name in names)
    assert claim.reasons[0].words.startswith("2 persons are tied for the last of 3 places: ")
    assert all(repr(name) in claim.reasons[0].words for name in names[2:])
    # Where all of them are among the best, a tie is none.
    assert claims(found, 4)[1].reasons[0].words.startswith("For these items, P(these 4 are")


def test_who_cannot_order_otherwise_is_no_evidence(long_test: Assessment) -> None:
    """Of complete data simple averages and Rasch go by sums; with a missing cell or slopes they may differ."""
    found = long_test.evidence
    assert found.forced == ("simple-average", "additive")
    assert "mml 2PL [hierarchical]" in found.agreement
    words = [r.words for r in long_test["ranking"].reasons if "shows nothing" in r.words]
    assert len(words) == 1
    assert words[0].startswith("Of complete data simple-average and additive can only give the order of mml Rasch")
    assert "simple-average 1.00 (it cannot differ)" in " ".join(long_test.facts)
    cells = np.asarray(found.responses.successes, dtype=float)[:12, :40]
    whole = pe.Responses.from_array(cells)
    cells[0, 0] = np.nan
    for data, model, forced in (
        (whole, "Rasch", ("simple-average", "map Rasch [published]")),
        (whole, "2PL", ()),
        (pe.Responses.from_array(cells), "Rasch", ()),
    ):
        judged = assess(data, "mml", model, replications=1, others=["simple-average", "map Rasch"]).evidence
        assert judged.forced == forced
        assert set(judged.agreement) == {"simple-average", "map Rasch [published]"}


def test_clones_count_once_in_every_claim() -> None:
    """120 systems that are ten copies each of twelve: nothing is known that twelve would not tell."""
    random = np.random.default_rng(2)
    theta, b = random.normal(size=(12, 1)), random.normal(size=60)
    cells = np.repeat((random.random((12, 60)) < 1 / (1 + np.exp(b - theta))).astype(float), 10, axis=0)
    found = assess(pe.Responses.from_array(cells, person_label="system"), "mml", "Rasch", replications=20, top=1)
    assert found.evidence.conditions["systems"].value < 13
    for name in ("ranking", "difficulties", "top", "neighbors"):
        assert "120 systems with responses, which count as" in " ".join(r.words for r in found[name].against)
    assert found["difficulties"].grade == "not supported"
    # Errors are root of 10 too small: +-1.96 of them hold 46%.
    decides = found["difficulties"].deciding[0].words
    assert 0.40 < float(decides.split("about ")[1].rstrip("%.")) / 100 < 0.50
    assert {found[name].grade for name in ("discriminations", "removing_items")} == {"not supported"}
    # Independent systems are counted as they are, though the estimate of their number is a little lower.
    alone = (random.random((120, 60)) < 1 / (1 + np.exp(b - random.normal(size=(120, 1))))).astype(float)
    conditions = describe_conditions(*(lambda r: (r, pe.fit(r, "mml", "Rasch")))(pe.Responses.from_array(alone)))
    assert conditions["systems_for_items"].value == 120
    assert conditions["effective_systems"].value < 120


def test_systems_that_are_a_little_alike_leave_no_supported_claim_about_items() -> None:
    """Families of ten that share what they know of each item: no pair stands out, and item errors are too small."""
    random = np.random.default_rng(5)
    b, known = random.normal(size=100), np.repeat(random.normal(size=(12, 100)), 10, axis=0)
    theta = random.normal(size=(120, 1))
    grades = []
    for shared in (known, 0.0):
        cells = (random.random((120, 100)) < 1 / (1 + np.exp(b - theta - shared))).astype(float)
        found = assess(pe.Responses.from_array(cells, person_label="system"), "mml", "Rasch", replications=20, top=1)
        assert found.evidence.conditions["effective_systems"].met
        grades.append(found["difficulties"].grade)
    assert grades == ["with care", "supported"]


def test_few_systems_and_unlike_data_ask_for_care_with_the_best_and_neighbors(long_test: Assessment) -> None:
    found = told_apart(long_test.evidence, 29)
    conditions = tuple(
        dataclasses.replace(c, value=29.0) if c.name == "systems" else c for c in found.conditions.conditions
    )
    few = dataclasses.replace(found, conditions=dataclasses.replace(found.conditions, conditions=conditions))
    assert [c.grade for c in claims(found, 1)[1:3]] == ["with care", "supported"]
    assert claims(few, 1)[2].grade == "with care"
    assert any(r.words.startswith("Number of persons: ") for r in claims(few, 1)[1].against)
    gap = tuple(
        dataclasses.replace(c, value=6.0, not_applicable="") if c.name == "difficulty_gap" else c
        for c in found.conditions.conditions
    )
    missing = dataclasses.replace(found, conditions=dataclasses.replace(found.conditions, conditions=gap))
    assert [c.grade for c in claims(missing, 1)[1:4]] == ["with care"] * 3
    assert found.refitting is not None
    observed = {**found.refitting.observed, "item_rest_sd": 5.0}
    unlike = dataclasses.replace(found, refitting=dataclasses.replace(found.refitting, observed=observed))
    for claim in claims(unlike, 1)[1:3]:
        assert any("SD of the item-rest correlations" in r.words for r in claim.against)


def test_guessing_asks_for_care_that_no_refit_would_ask_for(long_test: Assessment) -> None:
    """With c near .25 a 3PL is likelier than a 2PL, without it far from it."""
    for seed in range(3):
        assert guessing_gain(simulate(200, 100, seed, guessing="own").responses) > 0
        assert guessing_gain(simulate(200, 100, seed).responses) < -5
        assert guessing_gain(simulate(30, 100, seed).responses) < -5
    found = long_test.evidence
    assert found.guessing < -5
    assert "a 3PL raises" not in " ".join(r.words for c in long_test.claims for r in c.reasons)
    guessed = claims(dataclasses.replace(told_apart(found, 29), guessing=3.0), 1)
    assert [c.grade for c in guessed[:5]] == ["with care", "with care", "with care", "supported", "with care"]
    assert "a 3PL raises the log-likelihood of a 2PL by 3.0" in guessed[0].deciding[0].words
    with pytest.raises(NotComparableError):
        guessing_gain(pe.Responses.from_array(np.ones((4, 4))))


def test_claims_about_items_say_of_how_many(long_test: Assessment) -> None:
    fit = long_test.evidence.fit
    assert fit.item_parameters is not None
    n = int(fit.item_parameters.estimated.sum())
    assert n < 400
    assert f"The Rasch difficulties of {n} of 400 items (the others have none" in long_test["difficulties"].statement


def test_the_simple_average_of_simulated_data_is_set_beside(long_test: Assessment) -> None:
    rows = [{"tau": 0.9 + e, "tau_simple_average": 0.8 + e} for e in (0.0, 0.01)] * 10
    told = " ".join(facts(with_refits(long_test.evidence, rows)))
    assert "tau of 0.81 with the true order; that of mml Rasch is 0.100 (+- " in told
    assert "higher: the average is worse." in told
    assert "is the same, as it must be: the average is no worse." in " ".join(long_test.facts)


def test_what_nothing_shows_is_not_supported() -> None:
    """Averages of five items, which nothing refits, order nobody; nor do three systems on three items."""
    found = assess(pe.load_dataset("lsat6"), "simple-average", replications=2, others=())
    assert found["ranking"].grade == "not supported"
    assert "no item parameters to simulate from" in found["ranking"].against[0].words
    tiny = assess(pe.Responses.from_array([[1, 0, 1], [1, 0, 0], [0, 1, 1]]), replications=3, top=1, others=())
    assert {c.grade for c in tiny.claims} == {"not supported"}


def test_disconnected_data_have_no_order() -> None:
    cells = np.full((20, 40), np.nan)
    random = np.random.default_rng(0)
    cells[:10, :20], cells[10:, 20:] = random.integers(0, 2, (2, 10, 20))
    responses = pe.Responses.from_array(cells, person_label="system")
    with pytest.raises(DisconnectedDataError, match="fall into 2 components"):
        assess(responses, replications=2)
    found = assess(responses, "simple-average", replications=2, others=())
    assert found["ranking"].grade == "not supported"
    assert "2 components" in " ".join(r.words for r in found["ranking"].deciding)
    assert "over_items" in found.evidence.missing


def test_the_report_and_json_hold_every_reason(long_test: Assessment, tmp_path: Path) -> None:
    told = json.loads(json.dumps(plain(long_test.to_dict())))
    assert [c["grade"] for c in told["claims"]] == [c.grade for c in long_test.claims]
    assert all(len(c["reasons"]) == len(o.reasons) for c, o in zip(told["claims"], long_test.claims, strict=True))
    assert told["refits"] == 20
    assert told["facts"] == list(long_test.facts)
    assert list(long_test.to_frame().index) == [c.name for c in long_test.claims]


@pytest.mark.needs("report")
def test_the_report_begins_with_the_claims(long_test: Assessment, tmp_path: Path) -> None:
    page = pe.report(long_test, tmp_path / "t.html", title="Title").read_text(encoding="utf-8")
    assert "<h1>Title</h1>" in page
    assert page.index("1 What may be claimed") < page.index("With care: ") < page.index("2 What is known beside")
    first = page[: page.index("3 Reasons")]
    assert "268 of 435 pairs are told apart" in first
    assert "Skewness of the estimated abilities: -0.14, 95% interval" in first
    assert "mml 2PL [hierarchical] 0.98" in first
    for words in ("r_difficulty", "r difficulty", "item rest", "item_rest", "item_coverage"):
        assert words not in page
    assert "difficulties: correlation with the true ones" in page
    assert "Hatched: persons with few items near their ability" in page
    assert "Thin blue: 95% interval of each rank on its own. Thick grey" in page
    assert "No model is fitted here" not in page
    assert "Not drawn" not in page
    assert page.count("data:image/") == 3


@pytest.mark.needs("report")
def test_the_report_of_a_comparison_begins_with_the_claims(tmp_path: Path) -> None:
    path, page = tmp_path / "d.csv", tmp_path / "c.html"
    pe.write_table(simulate(12, 30, 0).responses, path)
    options = ["compare", str(path), "--estimators", "mml,simple-average", "--report", str(page)]
    printed = CliRunner().invoke(app, options)
    assert printed.exit_code == 0, printed.output
    text = page.read_text(encoding="utf-8")
    assert text.index("What may be claimed") < text.index("Can these results be believed?")
    assert text.count("<strong>not supported</strong>") >= 2
    assert "Kendall&#39;s tau of the order" in text
    CliRunner().invoke(app, [*options[:3], "simple-average", *options[4:]])
    assert "What may be claimed" not in page.read_text(encoding="utf-8")


def test_what_is_no_comparison_and_no_assessment_is_not_reported(long_test: Assessment, tmp_path: Path) -> None:
    for wrong in (None, long_test.evidence.fit, "x"):
        with pytest.raises(DataError, match="comparison is a"):
            pe.report(wrong, tmp_path / "t.html")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="twice"):
        pe.report(long_test, tmp_path / "t.html", assessment=long_test)
    assert not list(tmp_path.iterdir())


def test_a_comparison_is_assessed_by_its_fit_of_mml_or_says_why_not() -> None:
    responses = simulate(12, 30, 0).responses
    fits = pe.fit_many(responses, ["mml", "simple-average"], "Rasch")
    found = assess_comparison(pe.compare(fits))
    assert found.evidence.fit is fits.results[0]
    with pytest.raises(NotComparableError, match="no believed fit of mml"):
        assess_comparison(pe.compare(pe.fit_many(responses, ["additive", "simple-average"])))
    three = pe.fit_many(responses.select(persons=np.arange(3)), ["mml", "simple-average"], "Rasch")
    believed = dataclasses.replace(three.results[0], convergence=fits.results[0].convergence)
    with pytest.raises(NotComparableError, match="Fewer than four"):
        assess_comparison(pe.compare([believed, three.results[1]], responses=three.responses))


@pytest.mark.needs("report")
def test_an_assessment_of_other_data_is_no_first_page(long_test: Assessment, tmp_path: Path) -> None:
    other = simulate(12, 30, 0).responses
    comparison = pe.compare(pe.fit_many(other, ["simple-average", "additive"]))
    with pytest.raises(NotComparableError, match="other data"):
        pe.report(comparison, tmp_path / "c.html", assessment=long_test)


def test_the_command_prints_grades_and_goes_on_from_its_store(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    pe.write_table(simulate(12, 30, 0).responses, path)
    options = ["trust", str(path), "--replications", "3", "--store", str(tmp_path / "rows.jsonl")]
    options += ["--others", "additive, map 2PL"]
    printed = CliRunner().invoke(app, options)
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.count("SUPPORTED: ") + printed.stdout.count("WITH CARE: ") == 7
    assert "What would change it: " in printed.stdout
    assert "other estimators: additive 1.00 (it cannot differ), map 2PL [published] 0." in printed.stdout
    kept = (tmp_path / "rows.jsonl").read_text().splitlines()
    again = CliRunner().invoke(app, [*options, "--format", "csv"])
    assert again.stdout.splitlines()[0] == "claim,statement,grade,because,change"
    assert (tmp_path / "rows.jsonl").read_text().splitlines() == kept
    assert sum("believed" in line for line in kept) == 3


def test_bad_settings_are_refused() -> None:
    responses = simulate(12, 30, 0).responses
    with pytest.raises(SettingsError, match="top is 12"):
        assess(responses, top=12)
    with pytest.raises(SettingsError, match="no estimator 'foo'"):
        assess(responses, others=["additive", "foo"])
    with pytest.raises(ModelError, match="9PL"):
        assess(responses, others=["mml 9PL"])
    with pytest.raises(SettingsError, match="replications"):
        assess(responses, replications=0)
    with pytest.raises(DataError):
        assess(np.eye(3))  # type: ignore[arg-type]
