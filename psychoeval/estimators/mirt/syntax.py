"""Models and priors in mirt's own words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psychoeval.errors import ModelError
from psychoeval.estimators.mirt.curvature import CORRECTED
from psychoeval.estimators.mirt.design import Design
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, refuse_population


def check_model(model: ItemModel | None, estimator: str, standard_errors: str) -> ItemModel:
    """Return the model, if mirt can fit it and give these standard errors.

    Raises
    ------
    ModelError
        If there is none, or it has a prior that mirt lacks or computes wrongly.
    """
    if model is None:
        raise ModelError(f"{estimator} needs a model.", "Give an ItemModel, such as ItemModel('2PL').")
    refuse_population(model, estimator)
    if model.priors is not None and model.priors.difficulty is not None:
        raise ModelError(
            f"{estimator} cannot take the prior on the difficulty b: mirt has priors on the intercept d = -a b.",
            "Give a prior on the intercept, such as priors='weak', or use an estimator that takes this one ('map').",
        )
    if isinstance(model.guessing, Beta):
        # mirt 1.48 differentiates its `expbeta` by g where its parameter is logit g: what it returns is no maximum
        # (600 x 15, Beta(5, 17): gradient of the likelihood 3 to 11 times that of the prior, some of the same sign).
        raise ModelError(
            f"{estimator} cannot take a beta prior on guessing: mirt computes its derivative on the wrong scale and "
            "stops where there is no maximum.",
            "Give a normal prior on logit c, LogitNormal(mean, sd); LogitNormal(-1.1, 0.5) is the 3PL's default.",
        )
    if has_slope_curvature(model) and standard_errors not in CORRECTED:
        raise ModelError(
            f"{estimator} has no {standard_errors!r} standard errors under a prior on slopes: mirt's are wrong there, "
            "and only those of other kinds can be put right.",
            f"Choose standard_errors from {', '.join(CORRECTED)}.",
        )
    if variance_prior(model) is not None:
        _check_variance_prior(estimator, standard_errors)
    return model


def _check_variance_prior(estimator: str, standard_errors: str) -> None:
    if estimator == "mirt-mhrm":
        # mirt 1.48 gives the same bits with the prior and without (200 x 10, N(0, .05): 1.53, where EM has 1.13).
        raise ModelError(
            "mirt-mhrm cannot take a prior on the 1PL's common slope: mirt's MH-RM leaves it out, and would return the "
            "fit without it.",
            "Use 'mirt-em' or 'mml', or give priors without one on slopes (priors='none').",
        )
    if standard_errors not in ("oakes", "none"):
        # Against a numerical Hessian, 200 x 6, N(-.5, .2): Oakes within 1e-4, Richardson .96, crossprod .87, sandwich
        # 1.15 of it, and Louis has no information about the variance at all.
        raise ModelError(
            f"{estimator} has no {standard_errors!r} standard errors under a prior on the 1PL's common slope: mirt's "
            "do not hold it, or there are none.",
            "Choose standard_errors='oakes' or 'none'.",
        )


def item_type(model: ItemModel) -> str:
    """Return mirt's itemtype.

    mirt's own ``1PL`` is another model: the usual one is its ``Rasch``, rescaled. Its ``3PL`` estimates g even if a
    value is given; a fixed g is a ``2PL`` with ``guess``.
    """
    if model.name in ("Rasch", "1PL"):
        return "Rasch"
    return "3PL" if model.guessing_is_estimated else "2PL"


def fixed_guessing(model: ItemModel) -> float | None:
    """Return the value at which guessing is fixed, if it is."""
    return float(model.guessing) if isinstance(model.guessing, (int, float)) else None


def slope_prior(model: ItemModel) -> LogNormal | None:
    """Return the slope's prior as mirt's ``lnorm``, a density of a.

    Normal(m, s) on log a and LN(m + s^2, s) on a have the same mode: log LN(a; m + s^2, s) is
    -(log a - m)^2 / (2 s^2) plus a constant.
    """
    if model.priors is None:
        return None
    if model.priors.log_discrimination is not None:
        m, s = model.priors.log_discrimination.mean, model.priors.log_discrimination.sd
        return LogNormal(m + s**2, s)
    return model.priors.discrimination


def variance_prior(model: ItemModel) -> LogNormal | None:
    """Return the prior of the latent variance that is the 1PL's prior on its common slope.

    The 1PL is fitted as a Rasch model with variance v = a^2. Normal(m, s) on log a is Normal(2 m, 2 s) on log v, so,
    with the same mode, LN(2 m + 4 s^2, 2 s) on v.
    """
    if model.name != "1PL" or model.priors is None or model.priors.slope_on_log_scale is None:
        return None
    m, s = model.priors.slope_on_log_scale.mean, model.priors.slope_on_log_scale.sd
    return LogNormal(2 * m + 4 * s**2, 2 * s)


def has_slope_curvature(model: ItemModel) -> bool:
    """Whether mirt has the curvature of a log-normal prior wrong (see `psychoeval.estimators.mirt.curvature`).

    The 1PL's prior is on the latent variance, whose information mirt takes by differences of the likelihood with prior.
    """
    return model.name in ("2PL", "3PL") and slope_prior(model) is not None


def prior_without_effect(model: ItemModel) -> str:
    """Return a remark on a prior that says nothing in this model, or ""."""
    if model.name == "Rasch" and model.priors is not None and model.priors.has_slope:
        return "The Rasch model fixes every slope at 1, so the prior on slopes has no effect on it."
    return ""


def model_syntax(model: ItemModel, design: Design) -> str | None:
    """Return the text for ``mirt.model``: priors and equal-constrained columns; None where neither is needed."""
    constraints = _constraints(model, design) if design.expanded else []
    priors = _priors(model, [str(c + 1) for c in design.first_columns] if design.expanded else [_all(design)])
    if not constraints and not priors:
        return None
    lines = [f"F = {_all(design)}"]
    if constraints:
        lines.append(f"CONSTRAIN = {', '.join(constraints)}")
    if priors:
        lines.append(f"PRIOR = {', '.join(priors)}")
    return "\n".join(lines)


def _all(design: Design) -> str:
    return f"1-{int(design.columns.sum())}"


def _constraints(model: ItemModel, design: Design) -> list[str]:
    own = {"Rasch": ["d"], "2PL": ["a1", "d"], "3PL": ["a1", "d", "g"]}[item_type(model)]
    return [
        f"({first + 1}-{first + columns}, {parameter})"
        for first, columns in zip(design.first_columns.tolist(), design.columns.tolist(), strict=True)
        if columns > 1
        for parameter in own
    ]


def _priors(model: ItemModel, where: Sequence[str]) -> list[str]:
    at = ", ".join(where)
    out = []
    slope = slope_prior(model)
    if slope is not None and model.name in ("2PL", "3PL"):
        out.append(f"({at}, a1, lnorm, {_number(slope.meanlog)}, {_number(slope.sdlog)})")
    if model.priors is not None and model.priors.intercept is not None:
        out.append(f"({at}, d, norm, {_number(model.priors.intercept.mean)}, {_number(model.priors.intercept.sd)})")
    if isinstance(model.guessing, LogitNormal):
        out.append(f"({at}, g, norm, {_number(model.guessing.mean)}, {_number(model.guessing.sd)})")
    return out


def _number(value: float) -> str:
    # Positional: mirt.model reads 1e-05 as the range 1e to 5.
    return np.format_float_positional(value, trim="-")
