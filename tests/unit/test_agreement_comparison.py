from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from psychoeval.agreement.comparison import Comparison, compare
from psychoeval.errors import NotComparableError
from psychoeval.fitting import FitFailure, Fits, fit_many
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import LatentDistribution
from tests.unit.agreement_fits import J, N, ids, made, proportions, with_items, with_theta


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    failed = made("mirt-em", convergence=Convergence("failed_check", failures=("It ran away.",)))
    failed = with_theta(failed, lambda t: -t)
    x = (np.arange(N)[:, None] > np.linspace(0, N, J)).astype(float)
    responses = Responses.from_array(x, person_ids=list(ids("p", N)), item_ids=list(ids("i", J)))
    failure = FitFailure("mirt-mhrm", ItemModel("2PL"), "FitTimeoutError", "It took too long.", "Wait.", 1.0)
    return compare(Fits(responses, (made(), failed, proportions(), made()), (failure,)))


def test_it_keeps_everything(comparison: Comparison) -> None:
    assert comparison.names == ("mml 2PL (1)", "mirt-em 2PL", "simple-average", "mml 2PL (2)")
    assert [(p.first, p.second) for p in comparison.pairs] == [
        (a, b) for i, a in enumerate(comparison.names) for b in comparison.names[i + 1 :]
    ]
    assert comparison.responses is not None
    assert comparison.failures[0].label == "mirt-mhrm 2PL"
    assert comparison.pair("mml 2PL (2)", "mml 2PL (1)").verdict == "agree"
    with pytest.raises(NotComparableError, match=r"no pair 'x', 'y'"):
        comparison.pair("x", "y")


def test_verdict_table(comparison: Comparison) -> None:
    table = comparison.verdict_table()
    assert list(table.columns) == ["first", "second", "verdict", "tau_b", "n_persons", "n_items", "reason"]
    assert list(table["verdict"]) == [
        "not comparable", "agree up to ranks", "agree", "not comparable", "not comparable", "agree up to ranks",
    ]  # fmt: skip
    assert list(table["tau_b"]) == pytest.approx([-1, 1, 1, -1, -1, 1])
    assert table["n_items"][0] == J


def test_ranks_side_by_side_are_ordered_by_the_believed_fits(comparison: Comparison) -> None:
    table = comparison.rank_table()
    assert list(table["person"]) == list(ids("p", N))[::-1]
    assert list(table["mean_rank"]) == list(range(1, N + 1))
    assert list(table["mirt-em 2PL rank"]) == list(range(N, 0, -1))
    first = comparison.fits[0].abilities
    assert first is not None
    assert table["mml 2PL (1) estimate"][0] == first.estimate[-1]
    assert table["mml 2PL (1) conf_high"][0] == pytest.approx(first.estimate[-1] + 1.959964 * 0.3, abs=1e-6)
    assert table["simple-average estimate"][0] == 0.9
    narrow = comparison.rank_table(("rank",), level=0.5)
    assert list(narrow.columns) == ["person", "mean_rank", *(f"{n} rank" for n in comparison.names)]


def test_the_rank_table_is_in_the_standard_frame() -> None:
    rasch = made(model=ItemModel("Rasch"), latent_distribution=LatentDistribution(0.0, 2.0))
    table = compare([rasch, made()]).rank_table()
    np.testing.assert_allclose(2 * table["mml Rasch estimate"], table["mml 2PL estimate"])


def test_parameter_table(comparison: Comparison) -> None:
    table = comparison.parameter_table()
    assert len(table) == sum(len(p.terms) for p in comparison.pairs)
    away = compare({"a": made(), "b": with_items(made(), d=lambda d: d + 0.01)})
    row = away.parameter_table().set_index("term").loc["intercept"]
    assert (row["first"], row["second"], row["n"]) == ("a", "b", J)
    assert row["mean_difference"] == pytest.approx(-0.01)
    assert row["rmsd"] == pytest.approx(0.01)
    assert row["largest_in_errors"] == pytest.approx(0.1)


def test_the_content_is_standard_json(comparison: Comparison) -> None:
    content = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert [f["believed"] for f in content["fits"]] == [True, False, True, True]
    assert content["failures"][0]["problem"] == "It took too long."
    assert content["pairs"][2]["verdict"] == "agree"
    assert content["pairs"][0]["ranks"]["kendall_tau_b"] == pytest.approx(-1)
    assert len(content["ranks"]) == N
    assert content["thresholds"]["RANKS"]["value"] == 0.9


def test_infinities_and_nan_survive_as_json() -> None:
    odd = with_theta(made(), lambda t: np.where(np.arange(N) == 0, -np.inf, np.where(np.arange(N) == 1, np.nan, t)))
    content = compare([odd, made("other", log_likelihood=float("nan"))]).to_dict()
    json.dumps(content, allow_nan=False)
    assert content["fits"][1]["log_likelihood"] is None
    values = {row["person"]: row["mml 2PL estimate"] for row in content["ranks"]}
    assert (values["p0"], values["p1"]) == ("-inf", None)


def test_summary_says_it_in_words(comparison: Comparison) -> None:
    text = comparison.summary()
    assert "not believed: mirt-em 2PL (failed_check)" in text
    assert "no result: mirt-mhrm 2PL: It took too long." in text
    assert "mml 2PL (1) / mml 2PL (2): agree" in text


def test_the_standardised_fits() -> None:
    rasch = made(model=ItemModel("Rasch"), latent_distribution=LatentDistribution(0.0, 2.0))
    one, two = compare([rasch, proportions()]).standardised
    assert one.latent_distribution == LatentDistribution(0.0, 1.0)
    assert two.abilities is not None
    assert two.abilities.estimate[0] == 0.1


def test_one_fit_none_and_something_else() -> None:
    alone = compare([made()])
    assert alone.pairs == ()
    assert list(alone.verdict_table().columns)[:3] == ["first", "second", "verdict"]
    assert len(alone.rank_table()) == N
    with pytest.raises(NotComparableError, match="There is no fit to compare"):
        compare([])
    for wrong in ([made(), 3], {"a": "b"}):
        with pytest.raises(NotComparableError, match=r"is a (int|str)"):
            compare(wrong)  # type: ignore[arg-type]


def test_only_failures_are_still_a_comparison() -> None:
    failure = FitFailure("mirt-em", None, "EngineUnavailableError", "R is missing.", "Install it.", 0.0)
    responses = Responses.from_array([[1, 0], [0, 1]])
    empty = compare(Fits(responses, (), (failure,)))
    assert empty.rank_table().empty
    assert empty.parameter_table().empty
    assert "R is missing." in empty.summary()


def test_persons_of_one_fit_only_stay_in_the_table() -> None:
    fit = made()
    assert fit.abilities is not None
    a = fit.abilities
    fewer = replace(a, person_ids=a.person_ids[1:], estimate=a.estimate[1:], standard_error=None, status=())
    table = compare([fit, replace(fit, estimator="b", abilities=fewer)]).rank_table(("rank",)).set_index("person")
    assert table.loc["p0", "mml 2PL rank"] == N
    assert np.isnan(table.loc["p0", "b 2PL rank"])


def test_it_compares_what_fit_many_returns() -> None:
    x = (np.arange(30)[:, None] + np.arange(8) * 3) % 11 < 6
    found = compare(fit_many(Responses.from_array(x.astype(float)), ["simple-average", "additive", "ctt"]))
    assert [p.verdict for p in found.pairs] == ["agree"] * 3


def test_comparing_loads_no_pandas() -> None:
    code = (
        "import sys; from tests.unit.agreement_fits import made; from psychoeval.agreement.comparison import compare;"
        "c = compare([made(), made('b')]); c.summary(); c.pairs; sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
