"""Links of marginal fits of simulated groups: errors that cover, and one law in two parametrisations."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import pytest

from psychoeval.agreement.linking import link
from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

#: Mean and SD of the second group; the first is standard normal.
MEAN, SD = 0.5, 1.25
J, COMMON, N = 12, 8, 400


def two_fits(seed: int, model: Literal["Rasch", "1PL", "2PL"]) -> tuple[FitResult, FitResult]:
    """Two groups of N persons on J items each, of which they have some in common."""
    items = np.random.default_rng(99)
    a, b = items.lognormal(0, 0.25, 2 * J - COMMON), items.normal(0, 1, 2 * J - COMMON)
    rng, fits = np.random.default_rng(seed), []
    for k, (start, mean, sd) in enumerate(((0, 0.0, 1.0), (J - COMMON, MEAN, SD))):
        at = np.arange(start, start + J)
        theta = mean + sd * rng.normal(size=(N, 1))
        values = (rng.random((N, J)) < 1 / (1 + np.exp(-a[at] * (theta - b[at])))).astype(float)
        ids = [f"group {k} {i}" for i in range(N)]
        responses = Responses.from_array(values, item_ids=[f"i{j}" for j in at], person_ids=ids)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits.append(fit(responses, "mml", model=model, priors="none"))
    return fits[0], fits[1]


def test_errors_of_the_constants_are_those_of_calibrations() -> None:
    """Squared distance from the truth in errors, over 40 pairs: 1 within three of its errors sqrt(2 / 40)."""
    truth = np.array([1 / SD, -MEAN / SD])
    squares = []
    for seed in range(40):
        found = link(*two_fits(seed, "2PL"), method="stocking-lord")
        assert found.covariance is not None
        squares.append((np.array([found.scale, found.shift]) - truth) ** 2 / np.diag(found.covariance))
    assert (np.abs(np.mean(squares, axis=0) - 1) < 3 * np.sqrt(2 / 40)).all()
    assert np.mean(np.array(squares) < 1.96**2) > 0.88


def test_a_rasch_model_and_its_1pl_are_linked_alike() -> None:
    """theta of the 1PL is theta of the Rasch model over the latent SD, on either side; so are the constants."""
    rasch, one_pl = two_fits(3, "Rasch"), two_fits(3, "1PL")
    logits, units = link(*rasch, method="mean-mean"), link(*one_pl, method="mean-mean")
    latent = [f.latent_distribution for f in rasch]
    assert latent[0] is not None
    assert latent[1] is not None
    assert units.scale == pytest.approx(latent[0].sd / latent[1].sd, rel=1e-4)
    assert units.shift == pytest.approx(logits.shift / latent[1].sd, rel=1e-3)
    assert (logits.scale, logits.scale_error) == (1.0, 0.0)
    errors = [one.sd_standard_error for one in latent if one is not None]
    assert errors[0] is not None
    assert errors[1] is not None
    relative = np.hypot(errors[0] / latent[0].sd, errors[1] / latent[1].sd)
    assert units.scale_error == pytest.approx(units.scale * relative, rel=1e-3)
    # A link puts the two populations where they are: half a logit or so apart, by the errors it gives.
    assert logits.shift_error is not None
    assert abs(logits.shift + MEAN) < 3 * logits.shift_error
