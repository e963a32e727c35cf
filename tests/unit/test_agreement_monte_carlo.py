"""Verdicts between sampled fits: Monte Carlo error explains a difference, does not, or leaves it open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from psychoeval.agreement.monte_carlo import monte_carlo_errors
from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.irt.models import PRIOR_PRESETS, ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import Grade

N, J, CHAINS = 12, 8, 4
MODEL = ItemModel("2PL", PRIOR_PRESETS["population"])


def sampled(
    seed: int, *, draws: int = 400, away: float = 0.0, grade: Grade | None = None, stickiness: float = 0.0
) -> FitResult:
    """Four chains of the same normal posterior (SD .2 items, .4 abilities), its means moved by `away` SDs."""
    of_law, rng = np.random.default_rng(7), np.random.default_rng(seed)

    def values(mean: Any, sd: float) -> Any:
        noise = rng.normal(size=(CHAINS, draws, len(mean)))
        if stickiness:  # each value stays for a while: fewer effective draws, the same distribution
            hold = int(1 / (1 - stickiness))
            noise = np.repeat(noise[:, ::hold], hold, axis=1)[:, :draws]
        return mean + sd * (noise + away)

    a, d, theta = of_law.uniform(1.5, 3.0, J), of_law.normal(0, 1.2, J), of_law.normal(size=N)
    known = {"discrimination": values(a, 0.2), "intercept": values(d, 0.2), "ability": values(theta, 0.4)}
    persons, items = (tuple(f"{what}{k}" for k in range(n)) for what, n in (("p", N), ("i", J)))
    found = Draws(values=known, person_ids=persons, item_ids=items, sample_stats={}, max_treedepth=10)
    blocks = np.zeros((J, 3, 3))
    blocks[:, 0, 0] = blocks[:, 1, 1] = 0.2**2
    run = found.diagnose()
    mean = {name: found.pooled(name).mean(axis=0) for name in known}
    return FitResult(
        "stan-hmc", MODEL, Convergence("sampled"), Provenance(data_sha256="data"),
        Abilities(persons, mean["ability"], np.full(N, 0.4), "EAP"),
        ItemParameters(items, mean["discrimination"], mean["intercept"], np.zeros(J), blocks),
        latent_distribution=LatentDistribution(), draws=found,
        sampling=run if grade is None else replace(run, grade=grade, reasons=("Bulk ESS is below 100.",)),
    )  # fmt: skip


def scarce(seed: int) -> FitResult:
    """Chains worth a few draws, whose grade somebody thought better of: else the grade alone would decide."""
    return sampled(seed, draws=20, stickiness=0.9, grade="usable with care")


def pair(first: FitResult, second: FitResult) -> PairComparison:
    return compare_pair(("one", "two"), (first, second))


def test_two_runs_of_one_posterior_agree_within_monte_carlo_error() -> None:
    found = pair(sampled(1), sampled(2))
    assert found.kind == "same posterior"
    assert found.verdict == "agree"
    assert found.reason.count("within Monte Carlo error (4 MCSE)") == 3
    slopes = found.term("discrimination")
    assert slopes is not None
    # Independent draws: the MCSE of a difference of two means of 1600 is SD sqrt(2 / 1600).
    assert slopes.aligned.monte_carlo_in_errors == pytest.approx(np.sqrt(2 / 1600), rel=0.1)
    assert slopes.aligned.largest_in_monte_carlo == pytest.approx(
        abs(slopes.aligned.largest) / (0.2 * np.sqrt(2 / 1600)), rel=0.25
    )


def test_beyond_monte_carlo_error_and_within_the_limits_it_is_convergence() -> None:
    found = pair(sampled(1, draws=2000), sampled(2, draws=2000, away=0.15))
    assert found.verdict == "agree up to convergence"
    assert "Close to one posterior, but further apart than Monte Carlo error." in found.reason


def test_beyond_the_limits_two_posteriors_disagree_whatever_the_ranks() -> None:
    one, two = sampled(1), sampled(2)
    assert two.item_parameters is not None
    steep = replace(two, item_parameters=replace(two.item_parameters, discrimination=np.linspace(3, 1.5, J)))
    apart = pair(one, steep)
    assert apart.ranks is not None
    assert apart.ranks.kendall is not None
    assert apart.ranks.kendall > 0.9
    assert apart.verdict == "disagree"


def test_few_draws_can_neither_agree_nor_disagree() -> None:
    few = pair(scarce(1), scarce(2))
    assert few.verdict == "not comparable"
    assert "but Monte Carlo error is too large to tell" in few.reason
    told = "Too few draws to tell: 4 Monte Carlo standard errors are more than the limit. Sample longer."
    assert few.reason.endswith(told)


def test_against_a_maximum_too_few_draws_are_said_and_no_disagreement() -> None:
    def maximum(away: float) -> FitResult:
        found = sampled(3, away=away)
        return replace(found, estimator="mml", convergence=Convergence("converged"), sampling=None, draws=None)

    noisy = scarce(1)
    assert pair(maximum(1.5), noisy).verdict == "not comparable"
    assert "too large to tell" in pair(maximum(1.5), noisy).reason
    clear = pair(maximum(1.5), sampled(1))
    assert "too large to tell" not in clear.reason
    assert " MCSE)" in clear.reason


def test_chains_not_to_be_used_never_agree() -> None:
    found = pair(sampled(1), sampled(2, grade="do not use"))
    assert found.verdict == "not comparable"
    assert found.reason == "two is not believed (chains: do not use): Bulk ESS is below 100."


def test_chains_to_be_used_with_care_are_named() -> None:
    found = pair(sampled(1), sampled(2, grade="usable with care"))
    assert found.verdict == "agree"
    assert "The chains of two are graded 'usable with care': Bulk ESS is below 100." in found.notes


def test_the_error_of_persons_tied_is_that_of_the_mean_of_their_draws() -> None:
    fit = sampled(1)
    assert fit.abilities is not None
    assert fit.sampling is not None
    tied = fit.abilities.estimate.copy()
    tied[:4] = tied[:4].mean()
    errors = monte_carlo_errors(replace(fit, abilities=replace(fit.abilities, estimate=tied)))["ability"]
    alone = fit.sampling.mcse_mean["ability"]
    assert errors[4:] == pytest.approx(alone[4:])
    assert errors[:4] == pytest.approx(0.4 / np.sqrt(4 * 1600), rel=0.15)  # four independent means
    without = replace(fit, abilities=replace(fit.abilities, estimate=tied), draws=None)
    assert monte_carlo_errors(without)["ability"] == pytest.approx(alone)


def test_a_rasch_posterior_has_errors_in_the_standard_frame() -> None:
    """Abilities that move in step with the latent SD have no error once they are divided by it."""
    fit = sampled(1)
    assert fit.draws is not None
    assert fit.item_parameters is not None
    assert fit.abilities is not None
    sd = 2 + 0.3 * np.random.default_rng(5).normal(size=(CHAINS, 400))
    standard = np.linspace(-1, 1, N)
    values = {"ability": sd[:, :, None] * standard, "intercept": fit.draws.values["intercept"], "latent_sd": sd}
    draws = replace(fit.draws, values=values)
    rasch = replace(
        fit, model=ItemModel("Rasch", PRIOR_PRESETS["population"]), draws=draws, sampling=draws.diagnose(),
        latent_distribution=LatentDistribution(sd=float(sd.mean())),
        abilities=replace(fit.abilities, estimate=draws.pooled("ability").mean(axis=0)),
    )  # fmt: skip
    errors = monte_carlo_errors(rasch)
    assert errors["ability"] == pytest.approx(np.zeros(N), abs=1e-12)
    assert errors["discrimination"] == pytest.approx(np.full(J, 0.3 / np.sqrt(1600)), rel=0.15)


def test_what_was_not_sampled_has_none() -> None:
    fit = replace(sampled(1), sampling=None)
    assert monte_carlo_errors(fit) == {}
    found = pair(fit, fit)
    slopes = cast(Any, found.term("discrimination"))
    assert slopes.aligned.largest_in_monte_carlo is None
