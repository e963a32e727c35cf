"""Systems with everything wrong, half right and everything right, on 20 known items of difficulty 0 and slope 1."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.scoring import ScoringMethod, score

N = 20
IDS = [f"q{j}" for j in range(N)]
X = np.arange(N) < np.array([[0], [10], [20]])
#: The figures are printed with six decimals.
PRINTED_6 = 6e-7


def scored(method: ScoringMethod) -> Abilities:
    responses = Responses.from_array(X.astype(float), item_ids=IDS, person_ids=["none", "half", "all"])
    return score(responses, ItemParameters.from_difficulty(IDS, 1.0, np.zeros(N)), method=method)


def errors(abilities: Abilities) -> np.ndarray:
    assert abilities.standard_error is not None
    return abilities.standard_error


def test_ml_is_infinite_exactly_and_says_so() -> None:
    found = scored("ML")
    assert found.estimate.tolist() == [-np.inf, 0.0, np.inf]
    assert errors(found)[[0, 2]].tolist() == [np.inf, np.inf]
    assert errors(found)[1] == pytest.approx(1 / np.sqrt(5), abs=1e-12)
    assert found.status == ("ml_infinite", "estimated", "ml_infinite")


def test_wle_has_its_closed_form() -> None:
    x = np.array([0, 10, 20])
    found = scored("WLE")
    assert found.estimate == pytest.approx(np.log((x + 0.5) / (N - x + 0.5)), abs=1e-9)
    assert found.estimate[2] == pytest.approx(3.713572, abs=PRINTED_6)
    assert found.status == ("extreme_all_0", "estimated", "extreme_all_1")


def test_map_and_its_error() -> None:
    found = scored("MAP")
    assert found.estimate == pytest.approx([-2.128035, 0, 2.128035], abs=PRINTED_6)
    assert errors(found) == pytest.approx([0.587057, 0.408248, 0.587057], abs=PRINTED_6)


def test_eap_and_its_sd() -> None:
    found = scored("EAP")
    # The case's 61 nodes end at 6 and err by 3e-7 here: twice the rounding.
    assert found.estimate == pytest.approx([-2.214551, 0, 2.214551], abs=2 * PRINTED_6)
    assert errors(found) == pytest.approx([0.598318, 0.415333, 0.598318], abs=2 * PRINTED_6)


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML", "WLE"])
def test_the_perfect_system_is_first_with_the_larger_error(method: ScoringMethod) -> None:
    found = scored(method)
    assert found.method == method
    assert np.argsort(found.estimate).tolist() == [0, 1, 2]
    assert errors(found)[[0, 2]].min() > errors(found)[1]
