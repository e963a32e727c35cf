"""The sampling covariance of item parameters, from mirt's own of its own parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.mirt.curvature import correct_lognormal_curvature
from psychoeval.estimators.mirt.design import Design
from psychoeval.estimators.mirt.syntax import has_slope_curvature, slope_prior
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import in_place
from psychoeval.rbridge.protocol import Reply

FloatArray = NDArray[np.float64]

#: Parameters up to which their whole covariance is kept: 8 MB.
MAX_JOINT: Final = 1000

#: mirt numbers a1, d, g and u of each item one after the other.
_PARAMETERS_PER_ITEM: Final = 4
_KINDS: Final = {"a1": 0, "d": 1, "g": 2}
_LETTERS: Final = ("a", "d", "c")


@dataclass(frozen=True, slots=True)
class Errors:
    """Covariances by the delta method, as `psychoeval.irt.parameters.ItemParameters` takes them.

    Parameters
    ----------
    blocks : (J, 3, 3) array, optional
        Of (a, d, c), all items in place.
    joint : (P, P) array, optional
        Of all item parameters, where P is at most `MAX_JOINT`.
    labels : tuple of (item id, "a" | "d" | "c")
    sd_error : float, optional
        Standard error of the Rasch model's latent SD.
    reason : str
        Why there are none.
    """

    blocks: FloatArray | None = None
    joint: FloatArray | None = None
    labels: tuple[tuple[str, str], ...] = ()
    sd_error: float | None = None
    reason: str = ""


def read_errors(
    reply: Reply, design: Design, model: ItemModel, *, a: FloatArray, g: FloatArray, sd: float, asked: bool
) -> Errors:
    """Return the covariances that a reply holds.

    Parameters
    ----------
    reply, design, model
        Of the fit.
    a, g : arrays, one for each item that went
        mirt's slopes and guessing.
    sd : float
        mirt's latent SD.
    asked : bool
        Whether standard errors were asked for.
    """
    covariance, reason = _covariance(reply, asked)
    if covariance is None:
        return Errors(reason=reason)
    parameters = _Parameters.of(reply, design, a=a, g=g, sd=sd, one_pl=model.name == "1PL")
    if has_slope_curvature(model):
        covariance, reason = _inverted(_corrected(covariance, parameters, a, model))
        if covariance is None:
            return Errors(reason=reason)
    covariance = parameters.rescale(covariance)
    blocks = _blocks(covariance, parameters, design)
    return Errors(blocks, *_joint(covariance, parameters, design, model), _sd_error(covariance, parameters, model))


def numbers(reply: Reply, name: str) -> FloatArray:
    """Return a vector of the reply with ordinary NaNs."""
    # R's NA is a signaling NaN, at which arithmetic complains.
    values = np.array(reply[name], dtype=np.float64)
    values[np.isnan(values)] = np.nan
    return values


def _covariance(reply: Reply, asked: bool) -> tuple[FloatArray | None, str]:
    if not asked:
        return None, "Standard errors were not asked for."
    if reply.get("covariance") is None:
        return None, "mirt gave no covariance of its parameters."
    p = len(reply["covariance_names"])
    covariance = numbers(reply, "covariance").reshape(p, p)
    if not np.isfinite(covariance).all():
        return None, "mirt could not invert its information matrix."
    return covariance, ""


def _corrected(information: FloatArray, parameters: _Parameters, a: FloatArray, model: ItemModel) -> FloatArray:
    slope = slope_prior(model)
    assert slope is not None
    return correct_lognormal_curvature(information, parameters.position[:, 0], a, slope)


def _inverted(information: FloatArray) -> tuple[FloatArray | None, str]:
    information = (information + information.T) / 2
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return None, "mirt's information matrix is not positive definite: this is no proper maximum."
    return np.asarray(np.linalg.inv(information), dtype=np.float64), ""


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


def _sd_error(covariance: FloatArray, parameters: _Parameters, model: ItemModel) -> float | None:
    if parameters.group < 0 or model.name == "1PL":
        return None
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(covariance[parameters.group, parameters.group]))


def _blocks(covariance: FloatArray, parameters: _Parameters, design: Design) -> FloatArray:
    rows, columns = parameters.position[:, :, None], parameters.position[:, None, :]
    blocks = np.where((rows >= 0) & (columns >= 0), covariance[rows, columns], 0.0)
    return in_place(blocks, design.items, design.responses.n_items)


def _joint(
    covariance: FloatArray, parameters: _Parameters, design: Design, model: ItemModel
) -> tuple[FloatArray | None, tuple[tuple[str, str], ...]]:
    """Return the covariance of all item parameters; the Rasch model's latent SD has its error beside it."""
    if len(covariance) > MAX_JOINT:
        return None, ()
    labels: dict[int, tuple[str, str]] = {}
    if model.name == "1PL" and parameters.group >= 0:
        labels[parameters.group] = ("", "a")
    for item, row in zip(design.items.tolist(), parameters.position.tolist(), strict=True):
        for kind, p in enumerate(row):
            if p >= 0:
                labels.setdefault(p, (design.responses.item_ids[item], _LETTERS[kind]))
    keep = sorted(labels)
    return covariance[np.ix_(keep, keep)], tuple(labels[p] for p in keep)
