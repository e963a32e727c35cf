"""What log-likelihoods of one model say about who reached the maximum, and when they say nothing."""

from __future__ import annotations

import pytest

from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from tests.unit.agreement_fits import made, with_items

WEAK = ItemModel("2PL", Priors(log_discrimination=Normal(0, 0.5)))


def pair(first: FitResult, second: FitResult) -> PairComparison:
    return compare_pair(("one", "two"), (first, second))


def test_the_higher_of_two_maxima_is_named() -> None:
    low = with_items(made("mirt-em", log_likelihood=-1003.0), a=lambda a: a / 1.077)
    found = pair(made(), low)
    text = " ".join(found.notes)
    assert "one reaches -1000.0000 and two -1003.0000, 3 lower: two has not reached the maximum" in text
    assert "All slopes of one are larger than those of two, by 7.7%" in text
    turned = " ".join(pair(low, made()).notes)
    assert "one has not reached the maximum" in turned
    assert "All slopes of two are larger than those of one, by 7.7%" in turned


def test_equal_parameters_with_unequal_likelihoods_are_a_matter_of_integration() -> None:
    found = pair(made(), made(log_likelihood=-1000.5))
    assert found.verdict == "agree"
    assert "integrate differently" in found.notes[0]


@pytest.mark.parametrize(
    "other",
    [
        made(log_likelihood=-1000.09),
        made(log_likelihood=-900.0, log_likelihood_kind="joint"),
        made(log_likelihood=-900.0, log_likelihood_kind="simulated"),
        made(log_likelihood=-900.0, model=WEAK),
        made(log_likelihood=-900.0, provenance=Provenance(data_sha256="other")),
        made(log_likelihood=float("nan")),
        made(log_likelihood=None),
    ],
)
def test_likelihoods_of_different_kinds_models_and_data_never_compare(other: FitResult) -> None:
    assert not any("likelihood" in n for n in pair(made(), other).notes)


def test_penalised_fits_need_not_have_the_highest_likelihood() -> None:
    one, two = made(model=WEAK), with_items(made(model=WEAK, log_likelihood=-1003.0), a=lambda a: a / 1.077)
    assert not any("likelihood" in n for n in pair(one, two).notes)
