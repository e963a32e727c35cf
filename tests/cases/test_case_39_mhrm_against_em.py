"""How far MH-RM may be from EM: in standard errors, not in decimals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import SettingsError
from psychoeval.fitting import fit
from psychoeval.responses.tables import read_table
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

pytestmark = needs("mirt")
DATA = Path(__file__).parent / "data" / "39"
EXPECTED = json.loads((DATA / "expected.json").read_text())


#: Three of the reference's ten seeds, the worst (8) among them. That a seed repeats itself is in the contract tests.
SEEDS = (2, 6, 8)


@pytest.fixture(scope="module")
def em() -> FitResult:
    return fit(read_table(DATA / "responses.csv"), "mirt-em", model="2PL", tolerance=1e-8)


@pytest.fixture(scope="module")
def mhrm() -> dict[int, FitResult]:
    responses = read_table(DATA / "responses.csv")
    return {s: fit(responses, "mirt-mhrm", model="2PL", seed=s, standard_errors="none") for s in SEEDS}


def test_em_against_em(em: FitResult) -> None:
    items = em.item_parameters
    assert items is not None
    errors = items.standard_errors
    assert errors is not None
    # Five decimals are printed, of the errors four; as much again for another BLAS.
    assert items.discrimination == pytest.approx(EXPECTED["a"], abs=1e-5)
    assert items.intercept == pytest.approx(EXPECTED["d"], abs=1e-5)
    assert errors["discrimination"] == pytest.approx(EXPECTED["se_a"], abs=1e-4)
    assert errors["intercept"] == pytest.approx(EXPECTED["se_d"], abs=1e-4)
    assert em.log_likelihood == pytest.approx(EXPECTED["log_likelihood"], abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_mhrm_is_within_half_a_standard_error(em: FitResult, mhrm: dict[int, FitResult], seed: int) -> None:
    one, other = em.item_parameters, mhrm[seed].item_parameters
    assert one is not None
    assert other is not None
    off = np.concatenate(
        [
            np.abs(other.discrimination - one.discrimination) / EXPECTED["se_a"],
            np.abs(other.intercept - one.intercept) / EXPECTED["se_d"],
        ]
    )
    # The worst of the reference's ten seeds is .36 standard errors off.
    assert off.max() < 0.5
    assert off.mean() < 0.2
    assert off.max() > 1e-3  # it is another estimate, not EM's under another name


@pytest.mark.parametrize("seed", SEEDS)
def test_its_abilities_are_those_of_em(em: FitResult, mhrm: dict[int, FitResult], seed: int) -> None:
    one, other = em.abilities, mhrm[seed].abilities
    assert one is not None
    assert one.standard_error is not None
    assert other is not None
    off = np.abs(other.estimate - one.estimate)
    # The worst of the reference's ten seeds is seed 8, with .0405 and a correlation of .99991: less than a tenth of the
    # smallest standard error. It is repeated to all digits; the rest is room for another BLAS.
    assert off.max() <= EXPECTED["mhrm_worst_eap"] + 1e-4
    assert off.max() < 0.1 * one.standard_error.min()
    assert np.corrcoef(one.estimate, other.estimate)[0, 1] > EXPECTED["mhrm_worst_correlation"] - 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulated_log_likelihood_has_its_error(em: FitResult, mhrm: dict[int, FitResult], seed: int) -> None:
    found = mhrm[seed]
    assert (em.log_likelihood_kind, em.log_likelihood_error) == ("marginal", None)
    assert found.log_likelihood_kind == "simulated"
    assert found.log_likelihood is not None
    assert found.log_likelihood_error is not None
    assert 0 < found.log_likelihood_error < 0.5
    assert found.aic is None
    # Up to .497 over the reference's ten seeds. mirt states an error of .02, which is too small: with seed 8 the value
    # is .26 below the exact one at the same parameters. Hence the bound is the spread over seeds.
    assert abs(found.log_likelihood - EXPECTED["log_likelihood"]) <= EXPECTED["mhrm_worst_log_likelihood"] + 1e-3
    assert found.provenance.seed == seed


def test_an_error_type_of_another_method_is_refused_not_replaced() -> None:
    with pytest.raises(SettingsError, match="mhrm, fmhrm, none"):
        fit(read_table(DATA / "responses.csv"), "mirt-mhrm", model="2PL", standard_errors="oakes")
