"""The job that R is sent, and what its reply means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import EngineFailedError, ModelError
from psychoeval.estimators.mirt.covariance import numbers, read_errors
from psychoeval.estimators.mirt.design import Design
from psychoeval.estimators.mirt.settings import ScoringMethod
from psychoeval.estimators.mirt.syntax import (
    fixed_guessing,
    has_slope_curvature,
    item_type,
    model_syntax,
    variance_prior,
)
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters, ItemStatus, in_place
from psychoeval.irt.quadrature import Grid, normal_grid
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.results.item_checks import RUNAWAY_INTERCEPT, RUNAWAY_SLOPE

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Settings of a job, in mirt's words; `se_type` None for no standard errors."""

    method: str
    tolerance: float
    max_iterations: int
    quadrature_points: int
    quadrature_limit: float
    se_type: str | None
    ability_method: ScoringMethod
    seed: int | None
    engine_options: Mapping[str, Any]


def make_job(design: Design, model: ItemModel, settings: JobSettings) -> dict[str, Any]:
    """Return the job for ``run_mirt_job``: numbers and mirt's words only; names of items and persons stay here."""
    prior = variance_prior(model)
    n_persons, n_items = design.matrix.shape
    arguments = {key: value for key, value in settings.engine_options.items() if key != "technical"}
    return {
        "x": np.ravel(design.matrix, order="F"),
        "n_persons": n_persons,
        "n_items": n_items,
        "n_missing": int(np.count_nonzero(np.isnan(design.matrix))),
        "expanded": design.expanded,
        "information": has_slope_curvature(model),
        "itemtype": item_type(model),
        "guess": fixed_guessing(model),
        "syntax": model_syntax(model, design),
        "variance_prior": None if prior is None else [prior.meanlog, prior.sdlog],
        "method": settings.method,
        "se_type": settings.se_type,
        "tolerance": settings.tolerance,
        "max_iterations": settings.max_iterations,
        "quadrature_points": settings.quadrature_points,
        "quadrature_limit": settings.quadrature_limit,
        "ability_method": settings.ability_method,
        "seed": settings.seed,
        "technical": settings.engine_options.get("technical") or None,
        "arguments": arguments or None,
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """What mirt found, in our words.

    Parameters
    ----------
    items : ItemParameters
        All J items, in place.
    latent : LatentDistribution
    grid : Grid
        mirt's, on the scale of `items`.
    start_slopes, start_intercepts : (J,) arrays, optional
    ability, ability_error : arrays, one for each person that went
    """

    items: ItemParameters
    latent: LatentDistribution
    grid: Grid
    start_slopes: FloatArray | None
    start_intercepts: FloatArray | None
    ability: FloatArray
    ability_error: FloatArray


def check_reply(reply: Reply, engine: str = "mirt") -> None:
    """Raise what R stopped with.

    Raises
    ------
    ModelError
        If mirt counted too few degrees of freedom.
    EngineFailedError
        For anything else; that of a latent variance below 0 says so.
    """
    error = reply.get("error")
    if not error:
        return
    text = " ".join(str(error[0]).split())
    if "negative eigenvalues" in text:
        raise EngineFailedError(
            f"{engine} stopped: {text}. The variance of the abilities fell below 0: no common factor was found.",
            "Check for reversed items and wrong keys; without a common factor these data give proportions only (ctt, "
            "simple-average).",
        )
    if "degrees of freedom" in text:
        raise ModelError(text, "Give more items, or a model with fewer parameters.")
    said = [*(reply.get("warnings") or []), *(reply.get("messages") or []), *(reply.get("console") or [])]
    raise EngineFailedError(
        f"{engine} stopped: {text}" + (f" Before that it said: {' '.join(said)[-1000:]}" if said else ""),
        "describe() shows the R script of this fit, to try it in R.",
    )


def read_answer(reply: Reply, design: Design, model: ItemModel, settings: JobSettings) -> Answer:
    """Return what a reply without error means."""
    first = design.first_columns
    a, d, g = (numbers(reply, name)[first] for name in ("a", "d", "g"))
    fixed = fixed_guessing(model)
    if fixed is not None:
        # mirt holds logit g, from which .25 comes back as .24999999999999994.
        g = np.full(len(a), fixed)
    sd = float(np.sqrt(numbers(reply, "variance")[0]))
    errors = read_errors(reply, design, model, a=a, g=g, sd=sd, asked=settings.se_type is not None)
    rescaled = sd if model.name == "1PL" else 1.0
    a = a * rescaled
    latent = LatentDistribution(sd=sd / rescaled, sd_standard_error=errors.sd_error)
    n = design.responses.n_items
    items = ItemParameters(
        design.responses.item_ids,
        in_place(a, design.items, n),
        in_place(d, design.items, n),
        in_place(g, design.items, n),
        errors.blocks,
        _status(design, a, d),
        errors.reason,
        errors.joint,
        errors.labels,
    )
    grid = normal_grid(settings.quadrature_points, settings.quadrature_limit, sd=sd)
    starts = _starts(reply, design, model)
    ability, error = _abilities(reply, len(design.persons))
    return Answer(
        items, latent, Grid(grid.nodes / rescaled, grid.log_weights), *starts, ability / rescaled, error / rescaled
    )


def _status(design: Design, a: FloatArray, d: FloatArray) -> tuple[ItemStatus, ...]:
    status = list(design.item_status)
    for position in design.items[(np.abs(a) > RUNAWAY_SLOPE) | (np.abs(d) > RUNAWAY_INTERCEPT)]:
        status[position] = "runaway"
    return tuple(status)


def _starts(reply: Reply, design: Design, model: ItemModel) -> tuple[FloatArray | None, FloatArray | None]:
    if reply.get("start_d") is None:
        return None, None
    n, first = design.responses.n_items, design.first_columns
    a, d = numbers(reply, "start_a")[first], numbers(reply, "start_d")[first]
    intercepts = in_place(d, design.items, n)
    if model.name == "Rasch":
        return None, intercepts
    if model.name == "1PL":
        a = a * np.sqrt(reply["start_variance"][0])
    return in_place(a, design.items, n), intercepts


def _abilities(reply: Reply, n: int) -> tuple[FloatArray, FloatArray]:
    if reply.get("ability") is None:
        return np.full(n, np.nan), np.full(n, np.nan)
    ability, error = numbers(reply, "ability"), numbers(reply, "ability_error")
    if len(ability) != n:
        raise EngineFailedError(
            f"mirt gave {len(ability)} abilities for {n} persons.", "Please report this with the data."
        )
    return ability, error
