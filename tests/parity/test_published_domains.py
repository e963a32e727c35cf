"""Rank correlations with the truth in four published domains (arXiv 2605.11205), 20 seeds each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import spearmanr

from psychoeval.fitting import fit
from tests.domains import DOMAINS, Domain


@dataclass(frozen=True)
class Claim:
    """What an estimator must reach: a published row to its rounding, or a mean of at least `least`."""

    estimator: str
    model: str | None = None
    row: str = ""
    least: float = -1.0


# An estimator joins by a line.
CLAIMS = (
    Claim("simple-average", row="rho_avg"),
    Claim("map", "2PL", row="rho_2pl", least=0.99),
)

#: Half a unit of the third digit: what the published figures have.
ROUNDING = 5e-4


def rank_correlations(domain: Domain, name: str, model: str | None = None) -> np.ndarray:
    values = []
    for responses in domain.all_responses():
        abilities = fit(responses, name, model).abilities
        assert abilities is not None
        values.append(spearmanr(abilities.estimate, domain.theta).statistic)
    return np.array(values)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.name)
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.estimator)
def test_domain(domain: Domain, claim: Claim) -> None:
    rho = rank_correlations(domain, claim.estimator, claim.model)
    if claim.row:
        mean, sd = getattr(domain, claim.row)
        assert rho.mean() == pytest.approx(mean, abs=ROUNDING)
        assert rho.std() == pytest.approx(sd, abs=ROUNDING)
    assert rho.mean() >= claim.least


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.name)
def test_published_stopping_rule_ranks_as_the_maximum_does(domain: Domain) -> None:
    rho = []
    for responses in domain.all_responses():
        abilities = fit(responses, "map", "2PL", stopping="published").abilities
        assert abilities is not None
        rho.append(spearmanr(abilities.estimate, domain.theta).statistic)
    assert np.mean(rho) == pytest.approx(domain.rho_2pl[0], abs=ROUNDING)


@pytest.mark.parametrize("domain", [d for d in DOMAINS if not d.mask.all()], ids=lambda d: d.name)
def test_additive_ranks_better_than_the_average_on_sparse_masks(domain: Domain) -> None:
    assert rank_correlations(domain, "additive").mean() > domain.rho_avg[0] + 0.03


def test_masks_have_the_published_fill() -> None:
    assert {d.name: int(d.mask.sum()) for d in DOMAINS} == {"glue": 96, "clinical": 39, "av": 36, "cyber": 32}
