"""Whether the priors explain a difference, held against published posteriors and spoiled ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.agreement import own_mode as own_mode_module
from psychoeval.agreement.own_mode import OwnMode, own_mode, stated_model
from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.irt.models import PRIOR_PRESETS, ItemModel, LogNormal, Normal, Priors
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.responses.tables import read_table
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance

CASE = Path(__file__).parent.parent / "cases" / "data" / "42"
PUBLISHED = json.loads((CASE / "expected.json").read_text())  # rstan and a direct maximization, neither of them ours
OF_THE_CASE = Priors(discrimination=LogNormal(0.0, 0.5), intercept=Normal(0.0, 2.0))
#: LSAT 7 under the population of items, by brms 2.18.0 with rstan 2.21.7 (4 chains x 1000 draws): means and SDs.
BRMS = {
    "a": [1.032, 1.014, 1.394, 0.831, 0.863], "d": [1.875, 0.798, 1.650, 0.502, 1.904],
    "a_sd": [0.156, 0.147, 0.286, 0.141, 0.142], "d_sd": [0.128, 0.089, 0.181, 0.077, 0.119],
}  # fmt: skip
POPULATION: dict[str, Any] = {
    "mean_difficulty": -1.286,
    "sd_difficulty": 1.003,
    "mean_log_discrimination": -0.007,
    "sd_log_discrimination": 0.342,
}


def told(
    estimator: str, item_ids: tuple[str, ...], a: Any, d: Any, errors: tuple[Any, Any], priors: Any, **changes: Any
) -> FitResult:
    """A fit of items alone, as another program told it."""
    blocks = np.zeros((len(item_ids), 3, 3))
    blocks[:, 0, 0], blocks[:, 1, 1] = np.square(errors[0]), np.square(errors[1])
    return replace(
        FitResult(
            estimator,
            ItemModel("2PL", priors),
            Convergence("sampled"),
            Provenance(),
            item_parameters=ItemParameters(item_ids, np.array(a), np.array(d), np.zeros(len(item_ids)), blocks),
            latent_distribution=LatentDistribution(),
        ),
        **changes,
    )


@pytest.fixture(scope="module")
def case_42() -> Responses:
    return read_table(CASE / "responses.csv")


def of_case_42(responses: Responses, *, slopes: float = 1.0) -> tuple[FitResult, FitResult]:
    """The published maximum (its slopes multiplied) and the published posterior."""
    mean, sd = np.array(PUBLISHED["hmc_mean"]), np.array(PUBLISHED["hmc_sd"])
    posterior = told("stan-hmc", responses.item_ids, mean[:6], mean[6:], (sd[:6], sd[6:]), OF_THE_CASE)
    maximum = told(
        "mirt-em", responses.item_ids, slopes * np.array(PUBLISHED["mml_a"]), PUBLISHED["mml_d"],
        (sd[:6], sd[6:]), None, convergence=Convergence("converged"), log_likelihood_kind="marginal",
    )  # fmt: skip
    return maximum, posterior


def lsat7(**spoiled: Any) -> tuple[FitResult, FitResult, Responses]:
    """The maximum without priors (the native estimator's, as a stand-in of mirt's), brms's posterior, and the data."""
    responses = load_dataset("lsat7")
    free = own_mode(told("mirt-em", responses.item_ids, *[[1.0] * 5] * 2, ([0.1] * 5,) * 2, None), responses)
    assert isinstance(free, OwnMode)
    maximum = replace(free.fit, estimator="mirt-em", abilities=None)
    now = BRMS | spoiled
    posterior = told(
        "brms", responses.item_ids, now["a"], now["d"], (now["a_sd"], now["d_sd"]), PRIOR_PRESETS["population"],
        statistics=POPULATION,
    )  # fmt: skip
    return maximum, posterior, responses


def compared(first: FitResult, second: FitResult, responses: Responses | None) -> PairComparison:
    return compare_pair(("one", "two"), (first, second), responses)


def test_the_published_shrinkage_is_what_the_priors_do(case_42: Responses) -> None:
    found = compared(*of_case_42(case_42), case_42)
    assert "over the limit (mean 0.3 SE)" in found.reason
    assert found.verdict == "agree up to priors"
    assert found.prior_effect is not None
    assert found.prior_effect.explained
    assert "The priors explain it: mml under the priors of two (log a ~ N(0, 0.5), d ~ N(0, 2)) lies" in found.reason
    assert "mml without priors, as one, equals it" in found.reason


def test_the_other_order_says_the_same(case_42: Responses) -> None:
    maximum, posterior = of_case_42(case_42)
    turned = compared(posterior, maximum, case_42)
    assert turned.verdict == "agree up to priors"
    assert "mml without priors, as two, equals it" in turned.reason


def test_the_mode_is_taken_in_log_a_where_the_fit_is_a_posterior(case_42: Responses) -> None:
    _, posterior = of_case_42(case_42)
    model = stated_model(posterior)
    assert isinstance(model, ItemModel)
    assert model.priors == Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 2.0))
    mode = own_mode(posterior, case_42)
    assert isinstance(mode, OwnMode)
    assert mode.fit.item_parameters is not None
    assert posterior.item_parameters is not None
    # The modes in a are published, and lie further from the means.
    in_a = np.abs(np.array(PUBLISHED["map_a"]) - posterior.item_parameters.discrimination)
    in_log_a = np.abs(mode.fit.item_parameters.discrimination - posterior.item_parameters.discrimination)
    assert np.all(in_log_a < in_a)
    # A maximum keeps the density as it is stated.
    assert stated_model(replace(posterior, convergence=Convergence("converged"))) == posterior.model


def test_a_first_fit_that_stopped_elsewhere_is_not_excused(case_42: Responses) -> None:
    maximum, posterior = of_case_42(case_42, slopes=1.35)
    found = compared(maximum, posterior, case_42)
    assert found.verdict == "not comparable"
    assert found.prior_effect is not None
    assert found.prior_effect.explained is False
    assert "The priors do not explain one: " in found.reason
    assert "mml without priors, as one, is apart from it (slopes" in found.reason


def test_a_population_of_few_items_shrinks_them_as_it_should() -> None:
    found = compared(*lsat7())
    assert found.verdict == "agree up to priors"
    assert "(log a ~ N(-0.007, 0.342), b ~ N(-1.286, 1.003), at the posterior means of its population)" in found.reason


def test_a_posterior_that_is_not_where_its_priors_put_it_is_not_excused() -> None:
    # The third slope as without priors, and more.
    maximum, posterior, responses = lsat7(a=[1.032, 1.014, 1.9, 0.831, 0.863])
    found = compared(maximum, posterior, responses)
    assert found.verdict != "agree up to priors"
    assert "The priors do not explain two: mml under the priors of two" in found.reason
    assert "is apart from it (slopes" in found.reason


def test_what_agrees_as_it_is_needs_no_explanation(case_42: Responses) -> None:
    _, posterior = of_case_42(case_42)
    near = replace(posterior, estimator="mml", model=ItemModel("2PL"), convergence=Convergence("converged"))
    found = compared(near, posterior, case_42)
    assert found.verdict == "agree up to priors"
    assert found.prior_effect is None


def other_data(fit: FitResult) -> FitResult:
    return replace(fit, provenance=Provenance(data_sha256="other"))


def of_random_items(fit: FitResult) -> FitResult:
    return replace(fit, log_likelihood_kind="item_marginal")


@pytest.mark.parametrize(
    ("change", "why"),
    [(other_data, "the responses at hand are others"), (of_random_items, "integrates the items out")],
)
def test_where_it_cannot_be_told_the_verdict_stays(case_42: Responses, change: Any, why: str) -> None:
    maximum, posterior = of_case_42(case_42)
    found = compared(change(maximum), posterior, case_42)
    assert found.verdict == "not comparable"
    assert found.prior_effect is not None
    assert found.prior_effect.explained is None
    assert "Whether the priors explain it is not known: mml gives no mode under those of one (" in found.reason
    assert why in found.reason


def test_it_says_what_is_missing(case_42: Responses, monkeypatch: pytest.MonkeyPatch) -> None:
    _, posterior = of_case_42(case_42)
    assert own_mode(posterior, None) == "the responses are not at hand"
    unknown = replace(posterior, model=ItemModel("2PL", PRIOR_PRESETS["population"]), statistics={"sd_difficulty": 1.0})
    assert own_mode(unknown, case_42) == "the posterior mean of mean_difficulty is not known"
    monkeypatch.setattr(own_mode_module, "MOST_CELLS", 100)
    assert own_mode(posterior, case_42) == "the data have more than 100 cells"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Rasch", Priors(difficulty=Normal(-1.286, 1.003))),
        ("1PL", Priors(difficulty=Normal(-1.286, 1.003), log_discrimination=Normal(0.0, 1.0))),
        ("3PL", Priors(difficulty=Normal(-1.286, 1.003), log_discrimination=Normal(-0.007, 0.342))),
    ],
)
def test_a_population_becomes_densities(name: Any, expected: Priors) -> None:
    _, posterior, _ = lsat7()
    model = stated_model(replace(posterior, model=ItemModel(name, PRIOR_PRESETS["population"])))
    assert isinstance(model, ItemModel)
    assert model.priors == expected
    assert model.name == name


def test_means_held_over_few_persons_are_no_stand_in_for_a_population() -> None:
    """35 systems on 500 tasks: held means, not the systems, set origin and unit; the posterior's own means move."""
    responses = load_dataset("swebench-verified")
    n = responses.n_items
    known = {  # posterior means by stan-hmc (stanli, 2 chains x 300 draws)
        "mean_difficulty": 1.109,
        "sd_difficulty": 1.311,
        "mean_log_discrimination": 0.856,
        "sd_log_discrimination": 0.389,
    }
    posterior = told(
        "stan-hmc", responses.item_ids, [1.0] * n, [0.0] * n, ([0.1] * n,) * 2, PRIOR_PRESETS["population"],
        statistics=known,
    )  # fmt: skip
    found = own_mode(posterior, responses)
    assert isinstance(found, str)
    assert "set origin and unit of the scale, which the posterior leaves to the persons" in found
