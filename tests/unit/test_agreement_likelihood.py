"""What log-likelihoods of one model say about who reached the maximum, and when they say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from tests.unit.agreement_fits import made, with_items

WEAK = ItemModel("2PL", Priors(log_discrimination=Normal(0, 0.5)))


def pair(first: FitResult, second: FitResult) -> PairComparison:
    return compare_pair(("one", "two"), (first, second))


def words(first: FitResult, second: FitResult) -> str:
    found = pair(first, second).likelihood
    assert found is not None
    return found.words


def test_the_higher_of_two_maxima_is_named() -> None:
    low = with_items(made("mirt-em", log_likelihood=-1003.0), a=lambda a: a / 1.077)
    text = words(made(), low)
    assert "one reaches -1000.0000 and two -1003.0000, 3 lower: two has not reached the maximum" in text
    assert "not known is that of one (the responses are not at hand) and of two" in text
    assert "All slopes of one are larger than those of two, by 7.7%" in text
    turned = words(low, made())
    assert "one has not reached the maximum" in turned
    assert "All slopes of two are larger than those of one, by 7.7%" in turned


def test_equal_parameters_with_unequal_likelihoods_are_a_matter_of_integration() -> None:
    found = pair(made(), made(log_likelihood=-1000.5))
    assert found.verdict == "agree"
    assert found.likelihood is not None
    assert "integrate differently" in found.likelihood.words


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
    found = pair(made(), other).likelihood
    assert found is None or (found.words, found.lower, found.remedy) == ("", "", "")


def test_penalised_fits_need_not_have_the_highest_likelihood() -> None:
    one, two = made(model=WEAK), with_items(made(model=WEAK, log_likelihood=-1003.0), a=lambda a: a / 1.077)
    assert pair(one, two).likelihood is None


def test_other_items_and_a_latent_law_that_was_estimated_are_other_likelihoods() -> None:
    fewer = with_items(made(log_likelihood=-900.0), a=lambda a: np.where(np.arange(a.size) == 3, np.nan, a))
    assert pair(made(), fewer).likelihood is None
    histogram = LatentDistribution(nodes=np.array([-1.0, 1.0]), weights=np.array([0.5, 0.5]))
    assert pair(made(), made(log_likelihood=-900.0, latent_distribution=histogram)).likelihood is None
