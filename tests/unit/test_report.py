from __future__ import annotations

import base64
import dataclasses
import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import psychoeval
from psychoeval.agreement.comparison import compare
from psychoeval.errors import EngineUnavailableError, NotComparableError, SettingsError
from psychoeval.fitting import FitFailure, Fits
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.report import html as html_module
from psychoeval.report import numbers, pictures, words
from psychoeval.report.frame import in_standard_frame
from psychoeval.report.html import report
from psychoeval.report.items import items_table
from psychoeval.report.likelihood import likelihood_row
from psychoeval.report.systems import systems_section
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

THETA = np.array([1.5, 0.5, 0.0, -0.5, -1.5, 1.0])
SYSTEMS = ("<script>alert('x')</script>", 'quo"te', "日本語 🚀", "y" * 10_000, "nul\x00 and tab\t", "plain")
ITEMS = ("{{ 7 * 7 }}", "a & b", "<b>bold</b>", "i4", "all wrong")
STATUS = ("estimated",) * 4 + ("constant_all_0",)
FAILURE = "2 of 4 items ran away: '<b>bold</b>' (slope 48). Fit the Rasch model."


def irt(name, *, model="2PL", status="converged", shift=0.0, kind="marginal", latent=None, warnings=()):
    a = np.array([1.0, 1.2, 0.7, 1.5, np.nan])
    d = np.array([1.0, 0.0, -0.5, -2.0, np.nan])
    covariance = np.zeros((5, 3, 3))
    covariance[:4, 0, 0] = covariance[:4, 1, 1] = 0.04
    covariance[4] = np.nan
    return FitResult(
        name,
        ItemModel(model),
        Convergence(
            status,
            iterations=17,
            failures=(FAILURE,) if status == "failed_check" else (),
            warnings=warnings,
            messages=("EM <stopped>",),
        ),
        Provenance(versions={"mirt": "1.48"}, seed=11, call="mirt(data, 1, '2PL')", seconds=1.5, peak_memory_mb=99.0),
        abilities=Abilities(SYSTEMS, THETA + shift, np.full(6, 0.3), "EAP"),
        item_parameters=ItemParameters(ITEMS, a, d, [0.0, 0.0, 0.0, 0.0, np.nan], covariance, STATUS),
        latent_distribution=latent or LatentDistribution(),
        log_likelihood=-17.25,
        log_likelihood_kind=kind,
        n_parameters=8,
        n_persons=6,
    )


def average():
    return FitResult(
        "simple-average",
        None,
        Convergence("not_iterative"),
        Provenance(),
        abilities=Abilities(
            SYSTEMS,
            [0.8, 0.6, 0.4, 0.2, 0.0, 0.7],
            np.full(6, 0.1),
            "mean",
            "proportion",
            "items sampled",
            ("estimated",) * 4 + ("extreme_all_0", "estimated"),
            effective_n=np.full(6, 5.0),
        ),
    )


@pytest.fixture(scope="module")
def responses():
    x = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]])
    trials = np.ones_like(x)
    trials[2, 0] = 0
    x = x * trials
    return Responses.from_array(
        x, trials, person_ids=SYSTEMS, item_ids=ITEMS, person_label="system", name="Ten <tasks>", source="made & up"
    )


@pytest.fixture(scope="module")
def comparison(responses):
    results = (
        irt("mirt-em", warnings=("The grid is coarse.",)),
        irt("map", shift=0.01),
        irt("mirt-mhrm", status="failed_check"),
        average(),
    )
    failed = FitFailure("mirt-em", ItemModel("3PL"), "FitTimeoutError", "It ran 60 s & more.", "Raise <timeout>.", 60.2)
    return compare(Fits(responses, results, (failed,)))


@pytest.fixture(scope="module")
def html(comparison, tmp_path_factory):
    return report(comparison, tmp_path_factory.mktemp("out") / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the pictures, which take most of the time of a report."""
    monkeypatch.setattr(pictures, "pictures", lambda *_: [])


class Page(HTMLParser):
    """Tags with attributes, text by section, and whether every tag is closed."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.open, self.section = [], {}, [], "head"
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = dict(attrs)["id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text[self.section] = self.text.get(self.section, "") + data


@pytest.fixture(scope="module")
def page(html):
    found = Page(html)
    assert found.open == []
    return found


def of(page, tag):
    return [attributes for name, attributes in page.tags if name == tag]


def flat(text):
    return re.sub(r"\s+", " ", text)


def test_the_file_needs_nothing_else(html, page):
    assert {name for name, _ in page.tags}.isdisjoint({"script", "link", "iframe", "object", "form"})
    for attributes in (a for _, a in page.tags):
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert attributes.get("href", "#").startswith("#")
        assert not any(key.startswith("on") for key in attributes)
    assert "@import" not in html
    assert "url(" not in html
    assert len(html) < 5e6


def test_sections_come_in_their_order(page):
    order = ["status", "data", "side", "agreement", "items", "likelihood", "pictures", "repeat"]
    assert [a["id"] for a in of(page, "section")] == order


def test_names_from_data_are_text_and_never_markup(html, page):
    assert "alert" not in str([t for t in page.tags if t[0] not in ("bdi", "img")])
    side, items = page.text["side"], page.text["items"]
    assert "<script>alert('x')</script>" in side
    assert 'quo"te' in side
    assert "日本語 🚀" in side
    assert "{{ 7 * 7 }}" in items
    assert "<b>bold</b>" in items
    assert "nul\ufffd and tab" in side
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", html)


def test_long_names_are_cut_with_a_bounded_tooltip(html, page):
    assert "y" * 1000 not in html
    titles = [a["title"] for a in of(page, "bdi") if "title" in a]
    assert titles
    assert all(t.endswith("(10,000 characters in all)") for t in titles)
    assert numbers.tooltip("z" * 500) == "z" * 500


def test_the_first_paragraph_says_what_was_compared_and_what_to_believe(page):
    lead = flat(page.text["head"])
    assert "4 analyses of one data set side by side: Ten <tasks>, 6 systems on 5 items, 29 of 30 cells observed" in lead
    assert "mirt-em 2PL, map 2PL and simple-average may be believed as answers of their methods" in lead
    assert "mirt-em 2PL with the notes in section 1" in lead
    assert "mirt-mhrm 2PL may not be believed" in lead
    assert "All believed results put <script>alert('x')</script> first." in lead
    assert "It estimates 8 parameters, and nothing holds them, from 6 systems." in lead
    assert (
        "mirt-em 3PL, c ~ logit-N(-1.1, 0.5) gave no result: It ran 60 s & more. What to do: Raise <timeout>." in lead
    )


def test_what_failed_is_told_in_full_with_what_to_do(page):
    status = flat(page.text["status"])
    assert FAILURE in status
    assert "✗ failed a check" in status
    assert 'priors="weak" (--priors weak)' in status
    assert "The grid is coarse." in status
    assert "EM <stopped>" in status
    assert "FitTimeoutError after 60 s" in status
    assert status.index("✗ failed a check") < status.index(FAILURE)


def test_the_data_are_described(page, responses):
    data = flat(page.text["data"])
    for words_ in (
        "6 systems × 5 items", "29 of 30 cells (96.7 %)", "1 constant all 0: all wrong", "1 extreme all 0", "made & up",
        responses.sha256, "one component",
    ):  # fmt: skip
        assert words_ in data


def test_systems_stand_side_by_side_with_rank_estimate_and_interval(page):
    side = flat(page.text["side"])
    assert "3 Systems side by side" in side
    assert "person" not in side
    assert "1 · 1.500[0.912, 2.088]" in side
    assert "items fixed" in side
    assert "Wilson, items sampled" in side
    # Wilson's interval of 0 in 5 ends at z^2 / (5 + z^2) = 3.841459 / 8.841459.
    assert "6 · 0.000[0.000, 0.434]extreme all 0" in side


def test_rasch_abilities_are_given_in_latent_sds():
    fit = irt("mirt-em", model="Rasch", latent=LatentDistribution(0.5, 2.0))
    moved, said = in_standard_frame(fit)
    np.testing.assert_allclose(moved.abilities.estimate, (THETA - 0.5) / 2)
    np.testing.assert_allclose(moved.abilities.standard_error, 0.15)
    assert said == "× 0.5 - 0.25"
    assert in_standard_frame(irt("map"))[1] == "as given"


def test_verdicts_are_words_for_every_pair(page, comparison):
    agreement = flat(page.text["agreement"])
    assert len(comparison.pairs) == 6
    for pair in comparison.pairs:
        assert pair.verdict in agreement
        assert flat(pair.reason) in agreement
    assert "∅ not comparable" in agreement


def test_every_item_has_a_row_with_its_status(page, comparison):
    table = items_table("x", comparison.fits[0], comparison.responses)
    assert [row[1] for row in table.rows] == list(ITEMS)
    assert [row[4] for row in table.rows] == ["estimated"] * 4 + ["constant all 0"]
    assert [row[0] for row in table.rows] == [1, 2, 3, 4, 5]
    assert [row[2] for row in table.rows] == [5, 6, 6, 6, 6]
    assert table.terms == ("a", "b", "d")
    assert table.common == ("c = 0.000 for all items",)
    # var b = (var d + b^2 var a) / a^2 with a = 1, b = -1, both variances .04.
    np.testing.assert_allclose(table.rows[0][5], [(1.0, 0.2), (-1.0, np.sqrt(0.08)), (1.0, 0.2)])
    assert page.text["items"].count("all wrong") == 3
    assert page.text["items"].count("constant all 0") == 3


def test_a_long_item_table_is_closed_and_complete(tmp_path, undrawn):
    items = [f"item {k}" for k in range(120)]
    rng = np.random.default_rng(1)
    data = Responses.from_array(rng.integers(0, 2, (8, 120)), item_ids=items)
    fit = FitResult(
        "map",
        ItemModel("2PL"),
        Convergence("converged"),
        Provenance(),
        abilities=Abilities(data.person_ids, rng.normal(size=8), np.ones(8), "MAP"),
        item_parameters=ItemParameters.from_difficulty(items, rng.uniform(0.5, 2, 120), rng.normal(size=120)),
    )
    text = report(compare([fit], responses=data), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<summary>map 2PL: 120 items, 120 estimated</summary>" in text
    section = text[text.index('<section id="items">') : text.index('<section id="likelihood">')]
    assert section.count('<th scope="row">') == 120
    assert "There is no pair of fits to compare." in text


@pytest.mark.parametrize(
    ("fit", "why"),
    [
        (irt("mirt-em"), ""),
        (irt("map", kind="joint"), "joint, not marginal"),
        (irt("mirt-em", status="failed_check"), "not believed"),
        (average(), "no likelihood"),
        (dataclasses.replace(irt("mirt-em"), model=psychoeval.item_model("2PL[weak]")), "held by priors"),
    ],
)
def test_aic_and_bic_only_where_they_are_defined(fit, why):
    row = likelihood_row(fit.label, fit)
    assert row.no_criteria.startswith(why)
    assert (row.aic is None) == (row.bic is None) == bool(why)
    if not why:
        assert row.aic == 2 * 8 + 2 * 17.25
        assert row.bic == pytest.approx(8 * np.log(6) + 34.5)


def test_pictures_are_inside_with_words_for_those_who_cannot_see_them(page):
    images = of(page, "img")
    assert len(images) >= 6
    for image in images:
        assert len(image["alt"]) > 30
        kind, content = image["src"].split(";base64,")
        data = base64.b64decode(content, validate=True)
        assert data.startswith(b"<?xml" if kind.endswith("svg+xml") else b"\x89PNG")
    assert "Not drawn: There is one fit with ability as proportion correct" in flat(page.text["pictures"])


def test_tables_have_headers_and_the_page_a_language(page):
    assert of(page, "html") == [{"lang": "en"}]
    assert len(of(page, "h1")) == 1
    assert all(a.get("scope") in ("col", "row") for a in of(page, "th"))
    assert len(of(page, "thead")) == len(of(page, "table"))


def test_what_is_needed_to_repeat_it_is_there(page):
    repeat = flat(page.text["repeat"])
    for words_ in ("mirt 1.48", "Seed11", "mirt(data, 1, '2PL')", "1.5 s, 99 MiB"):
        assert words_ in repeat


def test_folders_are_made_and_a_file_is_replaced_whole(comparison, tmp_path, undrawn):
    path = tmp_path / "a" / "b" / "report.html"
    assert report(comparison, path, title="First & foremost \udc80") == path
    assert "<h1>First &amp; foremost \ufffd</h1>" in path.read_text(encoding="utf-8")
    report(comparison, str(path))
    assert "First" not in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_a_file_that_cannot_be_written_is_named(comparison, tmp_path, monkeypatch, undrawn):
    with pytest.raises(SettingsError, match="is a folder"):
        report(comparison, tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match="cannot be written"):
        report(comparison, tmp_path / "file" / "report.html")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("psychoeval.files.os.replace", full)
    with pytest.raises(SettingsError, match="No space left on device"):
        report(comparison, tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_pipe_is_refused_before_anything_is_drawn(comparison, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "report.html")
    monkeypatch.setattr(html_module, "content", lambda *_: pytest.fail("was drawn"))
    for name in ("report.html", "x" * 300):
        with pytest.raises(SettingsError, match=r"pipe|cannot be written"):
            report(comparison, tmp_path / name)
    assert (tmp_path / "report.html").is_fifo()


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib.figure"])
def test_without_its_extras_the_error_says_what_to_install(comparison, tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(EngineUnavailableError, match=r"pip install psychoeval\[report\]"):
        report(comparison, tmp_path / "report.html")


def test_without_the_data_there_is_no_report(tmp_path):
    with pytest.raises(NotComparableError, match="does not hold the data"):
        report(compare([irt("map")]), tmp_path / "report.html")


def test_the_public_name_stays_callable_after_the_package_is_imported(comparison, tmp_path, undrawn):
    import psychoeval.report as package

    assert package(comparison, tmp_path / "a.html").exists()
    assert psychoeval.report(comparison, tmp_path / "b.html").exists()


def test_no_believed_result_is_said_plainly(responses):
    fits = [irt("mirt-em", status="iteration_limit")]
    assert "None of the results may be believed." in words.opening(responses, ["x"], fits)
    ((what, todo),) = words.cautions(responses, ["x"], fits, ())
    assert what.startswith("x stopped at the iteration limit.")
    assert "Rasch" in todo


def many(responses, n):
    fits = [irt(f"engine{k:02d}") for k in range(n)]
    return compare([*fits, average()], responses=responses)


def test_many_fits_stand_in_tables_no_wider_than_the_page(responses, tmp_path, undrawn):
    text = report(many(responses, 9), tmp_path / "r.html").read_text(encoding="utf-8")
    tables = text.split('<section id="side">')[1].split("</section>")[0].split("<table>")[1:]
    columns = [re.findall(r'<th scope="col"[^>]*>(engine\d+ 2PL|simple-average)</th>', t) for t in tables]
    assert [len(c) for c in columns] == [5, 5]
    assert sorted(label for c in columns for label in c) == sorted(
        [*(f"engine{k:02d} 2PL" for k in range(9)), "simple-average"]
    )
    assert all(t.count('<th scope="row">') == 4 + len(SYSTEMS) for t in tables)


def test_many_fits_are_counted_and_their_pairs_grouped(responses, tmp_path, undrawn):
    text = flat(report(many(responses, 9), tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "All 10 may be believed as answers of their methods." in text
    short = text.split("The same in short")[1].split("<h3>The reasons</h3>")[0]
    assert "group A</th><td>36</td>" in short
    assert "group A with simple-average" in short
    open_, folded = text.split("<h3>The reasons</h3>")[1].split("<summary>All pairs: 45</summary>")
    assert '<th scope="row">' not in open_
    assert folded.split('<p class="how">')[0].count('<th scope="row">engine') == 45
    few = flat(report(many(responses, 3), tmp_path / "f.html").read_text(encoding="utf-8"))
    assert "engine00 2PL, engine01 2PL, engine02 2PL and simple-average may be believed" in few
    assert "The same in short" not in few
    assert "<summary>All pairs" not in few


def test_pairs_that_disagree_are_unfolded(responses, tmp_path, undrawn):
    odd = irt("odd")
    moved = replace(odd.item_parameters, intercept=odd.item_parameters.intercept[[1, 2, 3, 0, 4]])
    fits = [*(irt(f"engine{k}") for k in range(3)), replace(odd, item_parameters=moved)]
    found = compare([*fits, average()], responses=responses)
    unlike = [p for p in found.pairs if p.verdict == "disagree"]
    assert len(unlike) == 3
    text = flat(report(found, tmp_path / "r.html").read_text(encoding="utf-8"))
    open_, folded = text.split("<h3>The reasons</h3>")[1].split("<summary>All other pairs: 7</summary>")
    assert all(flat(p.reason) in open_ for p in unlike)
    assert "disagree" not in folded.split('<p class="how">')[0]


def test_a_tie_is_written_as_the_ranks_it_shares(responses, tmp_path, undrawn):
    fit = average()
    tied = replace(fit.abilities, estimate=np.array([0.5, 0.5, 0.2, 0.9, 0.2, 0.2]))
    section = systems_section(["x"], [replace(fit, abilities=tied)], "system")
    assert [cells[0].rank for _, _, cells in section.rows] == ["1", "2-3", "2-3", "4-6", "4-6", "4-6"]


def test_an_origin_other_than_the_abilities_is_said(responses):
    fit = replace(irt("cml"), statistics={"identification": "difficulties sum to 0 over the estimated items"})
    table = items_table("cml", fit, responses)
    assert "the origin of b and d: difficulties sum to 0 over the estimated items, not the mean of the abilities" in (
        table.common
    )


def test_failures_of_one_kind_are_told_once(responses):
    failures = [FitFailure(n, ItemModel("2PL"), "ModelError", "Too few.", "Do less.", 0.0) for n in ("a", "b")]
    failures.insert(1, FitFailure("c", None, "ModelError", "Other.", "", 0.0))
    assert [[f.label for f in g] for g in words.grouped(failures)] == [["a 2PL", "b 2PL"], ["c"]]
    assert words.cautions(responses, [], [], failures) == (
        ("a 2PL and b 2PL gave no result: Too few.", "Do less."),
        ("c gave no result: Other.", "See the message."),
    )


def test_logits_without_a_latent_law_are_not_called_latent_sds(responses):
    cml = dataclasses.replace(irt("cml", model="Rasch", kind="conditional"), latent_distribution=None)
    section = systems_section(["cml", "map"], [cml, irt("map")], "system")
    assert [c.scale for c in section.columns] == ["logits", "logits / latent SD"]
    assert words.as_given([("cml", cml), ("map", irt("map")), ("average", average())]) == "cml"


def test_kinds_of_likelihood_are_words():
    assert likelihood_row("x", irt("random-item", kind="item_marginal")).kind == "items integrated out"
    assert likelihood_row("x", irt("vi", kind="elbo")).no_criteria == "lower bound (ELBO), not marginal"
    assert numbers.seconds(6e-5) == "< 0.001 s"


def test_what_another_program_gave_is_not_called_believed(responses):
    foreign = irt("their mirt", status="imported")
    told = " ".join(words.opening(responses, ["map", "theirs"], [irt("map"), foreign]))
    assert "map may be believed as an answer of its method. Taken from other programs as given, and not judged" in told
    assert told.count("theirs") == 1
    assert words.advice(foreign).startswith("It was not judged here")
    bad = " ".join(words.opening(responses, ["x", "theirs"], [irt("map", status="failed_check"), foreign]))
    assert "x may not be believed" in bad
    assert "None of" not in bad


def test_one_pair_is_told_in_a_sentence(responses, tmp_path, undrawn):
    text = flat(report(compare([irt("a"), irt("b")], responses=responses), tmp_path / "r.html").read_text("utf-8"))
    assert "The two agree.</p>" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.23456, "1.235"), (float("nan"), "–"), (None, "–"), (float("inf"), "∞"), (-np.inf, "-∞"), (0.0, "0.000"),
     (0.00012, "0.00012"), (-4822.5531, "-4822.553"), (3.2e9, "3.2e+09")],
)  # fmt: skip
def test_numbers_are_written_so_that_they_say_something(value, text):
    assert numbers.number(value) == text


@pytest.mark.parametrize(("share", "text"), [(1.0, "100.0 %"), (0.0, "0.0 %"), (0.9999, ">99.9 %"), (0.0001, "0.01 %")])
def test_shares_are_never_rounded_to_none_or_all(share, text):
    assert numbers.percent(share) == text
