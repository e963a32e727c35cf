"""stan-hmc beside programs that share none of its code: mml under the same priors, and brms."""

from __future__ import annotations

import numpy as np

from psychoeval.fitting import fit
from psychoeval.responses.datasets import load_dataset
from tests.gates import needs
from tests.parity import tolerances


@needs("stanli", "arviz")
def test_lsat7_posterior_means_are_near_the_mode_of_the_marginal_posterior() -> None:
    responses = load_dataset("lsat7")
    sampled = fit(responses, "stan-hmc", model="2PL", priors="weak", chains=2)
    mode = fit(responses, "mml", model="2PL", priors="weak")
    assert sampled.convergence.status == "sampled"
    assert sampled.abilities is not None
    assert mode.abilities is not None
    assert sampled.item_parameters is not None
    assert mode.item_parameters is not None
    assert sampled.abilities.standard_error is not None
    r = np.corrcoef(sampled.abilities.estimate, mode.abilities.estimate)[0, 1]
    assert r > tolerances.POSTERIOR_CORRELATION
    off = (sampled.abilities.estimate - mode.abilities.estimate) / sampled.abilities.standard_error
    assert np.abs(off).max() < tolerances.POSTERIOR_SDS
    errors = sampled.item_parameters.standard_errors
    assert errors is not None
    for name in ("discrimination", "intercept"):
        off = (getattr(sampled.item_parameters, name) - getattr(mode.item_parameters, name)) / errors[name]
        assert np.abs(off).max() < tolerances.POSTERIOR_SDS
    # Patterns alike are tied, as they are in mml.
    assert len(np.unique(sampled.abilities.estimate)) == len(np.unique(responses.successes, axis=0))
