"""The first thing a methodologist tries: the five items of LSAT7, in every form they are printed in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.fitting import fit
from psychoeval.responses.datasets import load_dataset
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
#: By mirt 1.47 at TOL 1e-8, on 61 nodes; figures of the parameters are printed with five decimals.
EXPECTED = json.loads((Path(__file__).parent / "data" / "03" / "expected.json").read_text())
PATTERNS = ((0, 0, 0, 0, 0), (1, 0, 1, 0, 1), (1, 1, 1, 1, 1))
#: mirt at TOL 1e-8 is 1e-5 or so from its optimum along lsat7's slowest direction.
PRINTED_5 = 2e-5


def lsat7(model: str, **settings: Any) -> FitResult:
    return fit(load_dataset("lsat7"), "mirt-em", model=model, **settings)


def tight(model: str, **settings: Any) -> FitResult:
    return lsat7(model, tolerance=1e-8, max_iterations=5000, **settings)


def printed(table: dict[str, float]) -> np.ndarray:
    return np.array([table[f"Item.{j}"] for j in range(1, 6)])


@pytest.fixture(scope="module")
def two_pl() -> FitResult:
    return tight("2PL")


def test_log_likelihood_and_slope_intercept_form(two_pl: FitResult) -> None:
    assert two_pl.convergence.status == "converged"
    assert two_pl.log_likelihood == pytest.approx(EXPECTED["logLik"], abs=1e-6)
    items = two_pl.item_parameters
    assert items.discrimination == pytest.approx(printed(EXPECTED["items"]["a1"]), abs=PRINTED_5)
    assert items.intercept == pytest.approx(printed(EXPECTED["items"]["d"]), abs=PRINTED_5)
    assert (items.guessing == 0).all()


def test_difficulty_form(two_pl: FitResult) -> None:
    b = [-1.87926, -0.74754, -1.05724, -0.63530, -2.52076]
    assert two_pl.item_parameters.difficulty == pytest.approx(b, abs=2 * PRINTED_5)


def test_errors_in_both_forms(two_pl: FitResult) -> None:
    errors, covariance = two_pl.item_parameters.standard_errors, two_pl.item_parameters.covariance
    for j, item in enumerate(EXPECTED["se"].values()):
        assert errors["discrimination"][j] == pytest.approx(item["a1"], abs=PRINTED_5)
        assert errors["intercept"][j] == pytest.approx(item["d"], abs=PRINTED_5)
    assert covariance[0, :2, :2] == pytest.approx(np.array(EXPECTED["vcov_item1"]), abs=PRINTED_5)
    # With the covariance of slope and intercept; .3625 without.
    assert errors["difficulty"][0] == pytest.approx(0.2640, abs=5e-5)


def test_tables_say_which_form_a_row_is_in(two_pl: FitResult) -> None:
    table = two_pl.item_table()
    assert set(table["term"]) == {"discrimination", "difficulty", "intercept", "guessing"}
    assert table.loc[table["term"] != "guessing", "std_error"].notna().all()


@pytest.mark.parametrize("method", ["EAP", "MAP", "WLE", "ML"])
def test_scores_of_three_patterns(method: str) -> None:
    found = tight("2PL", ability_method=method, standard_errors="none").abilities
    responses = load_dataset("lsat7").successes
    for pattern, text in zip(PATTERNS, EXPECTED[f"score_{method}"], strict=True):
        estimate = found.estimate[np.flatnonzero((responses == pattern).all(axis=1))]
        assert estimate == pytest.approx(np.full(len(estimate), float(text)), abs=5 * PRINTED_5)


def test_every_printed_eap_with_its_error(two_pl: FitResult) -> None:
    responses = load_dataset("lsat7").successes
    for *pattern, estimate, error in EXPECTED["eap"]:
        person = int(np.flatnonzero((responses == pattern).all(axis=1))[0])
        assert two_pl.abilities.estimate[person] == pytest.approx(estimate, abs=PRINTED_5)
        assert two_pl.abilities.standard_error[person] == pytest.approx(error, abs=PRINTED_5)


def test_rasch_and_1pl_are_one_model_in_two_metrics() -> None:
    rasch, one_pl, expected = tight("Rasch"), tight("1PL"), EXPECTED["rasch"]
    assert rasch.log_likelihood == pytest.approx(expected["logLik"], abs=1e-6)
    assert rasch.latent_distribution.sd**2 == pytest.approx(expected["var"], abs=PRINTED_5)
    assert rasch.item_parameters.intercept == pytest.approx(printed(expected["items"]["d"]), abs=PRINTED_5)
    assert (rasch.item_parameters.discrimination == 1).all()
    assert one_pl.log_likelihood == pytest.approx(rasch.log_likelihood, abs=1e-9)
    assert one_pl.item_parameters.discrimination == pytest.approx(np.full(5, 1.01127), abs=PRINTED_5)
    assert one_pl.latent_distribution.sd == 1
    assert rasch.n_parameters == one_pl.n_parameters == 6


def test_nothing_is_shown_that_was_not_computed(two_pl: FitResult) -> None:
    # Marginal and empirical reliability, M2 and RMSEA are no part of a fit; whatever computes them has its own test.
    assert two_pl.statistics is None or not {"CFI", "TLI", "RMSEA"} & set(two_pl.statistics)


def test_guessing_without_information_comes_with_a_warning() -> None:
    found, expected = lsat7("3PL", guessing="free"), EXPECTED["tpl"]
    # The reference stopped at mirt's default, the optimum still 2e-4 of log-likelihood and .02 of a slope away: the
    # same path stops at the same place, and the bound is the five decimals printed, with room for rounding.
    items = found.item_parameters
    assert found.log_likelihood == pytest.approx(expected["logLik"], abs=1e-6)
    assert items.discrimination == pytest.approx(printed(expected["items"]["a1"]), abs=PRINTED_5)
    assert items.intercept == pytest.approx(printed(expected["items"]["d"]), abs=PRINTED_5)
    assert items.guessing == pytest.approx(printed(expected["items"]["g"]), abs=PRINTED_5)
    warning = [w for w in found.convergence.warnings if "guessing of 5 of 5 items" in w]
    assert len(warning) == 1
    assert "'item-2' (0.295, standard error 0.14)" in warning[0]


def test_printed_with_three_decimals_at_mirts_default() -> None:
    found = lsat7("2PL")
    assert found.log_likelihood == pytest.approx(-2658.805, abs=1e-3)
    assert found.item_parameters.discrimination == pytest.approx([0.988, 1.081, 1.706, 0.765, 0.736], abs=1e-3)
    assert found.item_parameters.intercept == pytest.approx([1.856, 0.808, 1.804, 0.486, 1.855], abs=1e-3)
