"""The job that R is sent, and what its reply means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import EngineFailedError, ModelError
from psychoeval.estimators.mirt.curvature import correct_lognormal_curvature
from psychoeval.estimators.mirt.design import Design
from psychoeval.estimators.mirt.settings import ScoringMethod
from psychoeval.estimators.mirt.syntax import fixed_guessing, item_type, model_syntax, slope_prior, variance_prior
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters, ItemStatus
from psychoeval.irt.quadrature import Grid, normal_grid
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.checks import RUNAWAY_INTERCEPT, RUNAWAY_SLOPE
from psychoeval.results.fit_result import LatentDistribution

FloatArray = NDArray[np.float64]

#: Parameters up to which their whole covariance is kept: 8 MB.
MAX_JOINT: Final = 1000

#: mirt numbers a1, d, g and u of each item one after the other.
_PARAMETERS_PER_ITEM: Final = 4
_KINDS: Final = {"a1": 0, "d": 1, "g": 2}
_LETTERS: Final = ("a", "d", "c")


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
        For anything else.
    """
    error = reply.get("error")
    if not error:
        return
    text = " ".join(str(error[0]).split())
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
    a, d, g = (_numbers(reply, name)[first] for name in ("a", "d", "g"))
    fixed = fixed_guessing(model)
    if fixed is not None:
        # mirt holds logit g, from which .25 comes back as .24999999999999994.
        g = np.full(len(a), fixed)
    sd = float(np.sqrt(_numbers(reply, "variance")[0]))
    parameters = _Parameters.of(reply, design, a=a, g=g, sd=sd, one_pl=model.name == "1PL")
    covariance, reason = _covariance(reply, settings)
    if covariance is not None:
        covariance = _corrected(covariance, parameters, a, sd, model)
    rescaled = sd if model.name == "1PL" else 1.0
    a = a * rescaled
    latent = LatentDistribution(sd=sd / rescaled, sd_standard_error=_sd_error(covariance, parameters, model))
    n = design.responses.n_items
    items = ItemParameters(
        design.responses.item_ids,
        _in_place(a, design.items, n),
        _in_place(d, design.items, n),
        _in_place(g, design.items, n),
        None if covariance is None else _blocks(covariance, parameters, design),
        _status(design, a, d),
        reason,
        *_joint(covariance, parameters, design, model),
    )
    grid = normal_grid(settings.quadrature_points, settings.quadrature_limit, sd=sd)
    starts = _starts(reply, design, model)
    ability, error = _abilities(reply, len(design.persons))
    return Answer(
        items, latent, Grid(grid.nodes / rescaled, grid.log_weights), *starts, ability / rescaled, error / rescaled
    )


def _numbers(reply: Reply, name: str) -> FloatArray:
    # R's NA is a signaling NaN, at which arithmetic complains.
    values = np.array(reply[name], dtype=np.float64)
    values[np.isnan(values)] = np.nan
    return values


def _in_place(values: FloatArray, positions: NDArray[np.intp], n: int) -> FloatArray:
    out = np.full((n, *values.shape[1:]), np.nan)
    out[positions] = values
    return out


def _status(design: Design, a: FloatArray, d: FloatArray) -> tuple[ItemStatus, ...]:
    status = list(design.item_status)
    for position in design.items[(np.abs(a) > RUNAWAY_SLOPE) | (np.abs(d) > RUNAWAY_INTERCEPT)]:
        status[position] = "runaway"
    return tuple(status)


def _covariance(reply: Reply, settings: JobSettings) -> tuple[FloatArray | None, str]:
    if settings.se_type is None:
        return None, "Standard errors were not asked for."
    if reply.get("covariance") is None:
        return None, "mirt gave no covariance of its parameters."
    p = len(reply["covariance_names"])
    covariance = _numbers(reply, "covariance").reshape(p, p)
    if not np.isfinite(covariance).all():
        return None, "mirt could not invert its information matrix."
    return covariance, ""


def _corrected(
    covariance: FloatArray, parameters: _Parameters, a: FloatArray, sd: float, model: ItemModel
) -> FloatArray:
    slope, variance = slope_prior(model), variance_prior(model)
    if variance is not None:
        return correct_lognormal_curvature(covariance, np.array([parameters.group]), np.array([sd**2]), variance)
    if slope is not None and model.name in ("2PL", "3PL"):
        return correct_lognormal_curvature(covariance, parameters.position[:, 0], a, slope)
    return covariance


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Where each parameter of an item stands in mirt's covariance, (J', 3) with -1 for fixed ones; its rescaling."""

    position: NDArray[np.intp]
    group: int
    derivative: FloatArray

    @classmethod
    def of(cls, reply: Reply, design: Design, *, a: FloatArray, g: FloatArray, sd: float, one_pl: bool) -> _Parameters:
        position = np.full((len(a), 3), -1, dtype=np.intp)
        group = -1
        names = reply.get("covariance_names") or []
        derivative = np.ones(len(names))
        item_of = np.repeat(np.arange(len(a)), design.columns)
        for p, name in enumerate(names):
            # "a1.1", "d.2", "COV_11.21"; equal-constrained ones as "a1.1.5.9": the first column's number comes first.
            kind, number, *_ = name.split(".")
            if kind not in _KINDS:
                group = p
                # d sd / d variance
                derivative[p] = 0.5 / sd
                continue
            item = item_of[(int(number) - 1) // _PARAMETERS_PER_ITEM]
            position[item, _KINDS[kind]] = p
            if kind == "g":
                # mirt's covariance is that of logit g.
                derivative[p] = g[item] * (1.0 - g[item])
        if one_pl:
            position[:, 0] = group
        return cls(position, group, derivative)

    def rescale(self, covariance: FloatArray) -> FloatArray:
        return self.derivative[:, None] * covariance * self.derivative


def _sd_error(covariance: FloatArray | None, parameters: _Parameters, model: ItemModel) -> float | None:
    if covariance is None or parameters.group < 0 or model.name == "1PL":
        return None
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(parameters.rescale(covariance)[parameters.group, parameters.group]))


def _blocks(covariance: FloatArray, parameters: _Parameters, design: Design) -> FloatArray:
    rows, columns = parameters.position[:, :, None], parameters.position[:, None, :]
    blocks = np.where((rows >= 0) & (columns >= 0), parameters.rescale(covariance)[rows, columns], 0.0)
    return _in_place(blocks, design.items, design.responses.n_items)


def _joint(
    covariance: FloatArray | None, parameters: _Parameters, design: Design, model: ItemModel
) -> tuple[FloatArray | None, tuple[tuple[str, str], ...]]:
    """Return the covariance of all item parameters; the Rasch model's latent SD has its error beside it."""
    if covariance is None or len(covariance) > MAX_JOINT:
        return None, ()
    labels: dict[int, tuple[str, str]] = {}
    if model.name == "1PL" and parameters.group >= 0:
        labels[parameters.group] = ("", "a")
    for item, row in zip(design.items.tolist(), parameters.position.tolist(), strict=True):
        for kind, p in enumerate(row):
            if p >= 0:
                labels.setdefault(p, (design.responses.item_ids[item], _LETTERS[kind]))
    keep = sorted(labels)
    return parameters.rescale(covariance)[np.ix_(keep, keep)], tuple(labels[p] for p in keep)


def _starts(reply: Reply, design: Design, model: ItemModel) -> tuple[FloatArray | None, FloatArray | None]:
    if reply.get("start_d") is None:
        return None, None
    n, first = design.responses.n_items, design.first_columns
    a, d = _numbers(reply, "start_a")[first], _numbers(reply, "start_d")[first]
    intercepts = _in_place(d, design.items, n)
    if model.name == "Rasch":
        return None, intercepts
    if model.name == "1PL":
        a = a * np.sqrt(reply["start_variance"][0])
    return _in_place(a, design.items, n), intercepts


def _abilities(reply: Reply, n: int) -> tuple[FloatArray, FloatArray]:
    if reply.get("ability") is None:
        return np.full(n, np.nan), np.full(n, np.nan)
    ability, error = _numbers(reply, "ability"), _numbers(reply, "ability_error")
    if len(ability) != n:
        raise EngineFailedError(
            f"mirt gave {len(ability)} abilities for {n} persons.", "Please report this with the data."
        )
    return ability, error
