from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import lognorm, norm

from psychoeval.errors import ModelError
from psychoeval.estimators.mirt.design import Design, make_design
from psychoeval.estimators.mirt.syntax import (
    check_model,
    fixed_guessing,
    item_type,
    model_syntax,
    prior_without_effect,
    slope_prior,
    variance_prior,
)
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses

WEAK = Priors(log_discrimination=Normal(0.0, 0.5), intercept=Normal(0.0, 3.0))


def design(model: ItemModel, trials: int = 1) -> Design:
    x = np.random.default_rng(0).integers(0, trials + 1, (30, 5))
    return make_design(Responses.from_array(x, trials), model)


@pytest.mark.parametrize(
    ("model", "kind", "guess"),
    [
        (ItemModel("Rasch"), "Rasch", None),
        (ItemModel("1PL"), "Rasch", None),
        (ItemModel("2PL"), "2PL", None),
        (ItemModel("3PL", guessing=0.25), "2PL", 0.25),
        (ItemModel("3PL", guessing="free"), "3PL", None),
        (ItemModel("3PL"), "3PL", None),
    ],
)
def test_item_types(model: ItemModel, kind: str, guess: float | None) -> None:
    assert item_type(model) == kind
    assert fixed_guessing(model) == guess


def test_without_priors_there_is_nothing_to_say() -> None:
    model = ItemModel("2PL")
    assert model_syntax(model, design(model)) is None


def test_priors_in_mirts_words() -> None:
    model = ItemModel("3PL", WEAK, LogitNormal(-1.1, 1e-5))
    assert model_syntax(model, design(model)) == (
        "F = 1-5\nPRIOR = (1-5, a1, lnorm, 0.25, 0.5), (1-5, d, norm, 0, 3), (1-5, g, norm, -1.1, 0.00001)"
    )


def test_counts_share_parameters_and_have_one_prior_each() -> None:
    model = ItemModel("2PL", WEAK)
    text = model_syntax(model, design(model, trials=2))
    assert text is not None
    lines = text.splitlines()
    assert lines[0] == "F = 1-10"
    assert lines[1].startswith("CONSTRAIN = (1-2, a1), (1-2, d), (3-4, a1), (3-4, d)")
    assert lines[2] == "PRIOR = (1, 3, 5, 7, 9, a1, lnorm, 0.25, 0.5), (1, 3, 5, 7, 9, d, norm, 0, 3)"


def test_slope_prior_has_the_mode_of_the_density_of_log_a() -> None:
    prior = slope_prior(ItemModel("2PL", Priors(log_discrimination=Normal(0.3, 0.4))))
    assert prior is not None
    # The penalty -log density differs by a constant from that of Normal(.3, .4) on log a.
    a = np.array([0.5, 1.0, 2.0, 4.0])
    ours = norm(0.3, 0.4).logpdf(np.log(a))
    mirts = lognorm(prior.sdlog, scale=math.exp(prior.meanlog)).logpdf(a)
    np.testing.assert_allclose(np.ptp(ours - mirts), 0.0, atol=1e-12)
    assert slope_prior(ItemModel("2PL", Priors(discrimination=LogNormal(0.1, 0.2)))) == LogNormal(0.1, 0.2)


def test_variance_prior_is_the_prior_of_the_common_slope() -> None:
    prior = variance_prior(ItemModel("1PL", Priors(log_discrimination=Normal(0.3, 0.4))))
    assert prior is not None
    a = np.array([0.5, 1.0, 2.0, 4.0])
    ours = norm(0.3, 0.4).logpdf(np.log(a))
    mirts = lognorm(prior.sdlog, scale=math.exp(prior.meanlog)).logpdf(a**2)
    np.testing.assert_allclose(np.ptp(ours - mirts), 0.0, atol=1e-12)


def test_variance_prior_from_a_density_of_a_itself() -> None:
    prior = variance_prior(ItemModel("1PL", Priors(discrimination=LogNormal(0.3, 0.4))))
    assert prior is not None
    found = minimize_scalar(
        lambda v: -lognorm(prior.sdlog, scale=math.exp(prior.meanlog)).logpdf(v), bounds=(0.1, 5), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    # The mode of LN(.3, .4) is exp(.3 - .16).
    assert math.sqrt(found.x) == pytest.approx(math.exp(0.14), abs=1e-6)


def test_only_the_1pl_has_a_variance_prior() -> None:
    assert variance_prior(ItemModel("Rasch", WEAK)) is None
    assert variance_prior(ItemModel("2PL", WEAK)) is None
    assert variance_prior(ItemModel("1PL", Priors(intercept=Normal(0, 3)))) is None
    assert "no effect" in prior_without_effect(ItemModel("Rasch", WEAK))
    assert prior_without_effect(ItemModel("1PL", WEAK)) == ""


def test_refused_by_name() -> None:
    with pytest.raises(ModelError, match="needs a model"):
        check_model(None, "mirt-em", "oakes")
    with pytest.raises(ModelError, match=r"prior on the difficulty b.*weak"):
        check_model(ItemModel("2PL", Priors(difficulty=Normal(0, 2))), "mirt-em", "oakes")
    with pytest.raises(ModelError, match=r"beta prior on guessing.*LogitNormal"):
        check_model(ItemModel("3PL", guessing=Beta(5, 17)), "mirt-em", "oakes")
    with pytest.raises(ModelError, match=r"'sandwich' standard errors.*oakes, louis"):
        check_model(ItemModel("2PL", WEAK), "mirt-em", "sandwich")
    with pytest.raises(ModelError, match=r"common slope: mirt's MH-RM leaves it out.*'mirt-em' or 'mml'"):
        check_model(ItemModel("1PL", WEAK), "mirt-mhrm", "mhrm")
    assert check_model(ItemModel("1PL", Priors(intercept=Normal(0, 3))), "mirt-mhrm", "mhrm").name == "1PL"
    for kind in ("louis", "richardson", "crossprod", "sandwich"):
        with pytest.raises(ModelError, match=rf"'{kind}' standard errors under a prior on the 1PL's.*'oakes'"):
            check_model(ItemModel("1PL", WEAK), "mirt-em", kind)
    # The Rasch model has no slope for the prior to bend.
    assert check_model(ItemModel("Rasch", WEAK), "mirt-em", "sandwich").name == "Rasch"
