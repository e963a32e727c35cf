"""Responses and known items, matched by id."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from psychoeval.errors import DataError, PsychoevalWarning, SettingsError
from psychoeval.irt.models import MEAN_LIMIT, SD_LIMITS
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.wording import some

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """The items that take part in a scoring.

    Parameters
    ----------
    responses : Responses
        All N persons on the J items that take part.
    index : (J,) integer array
        Positions of these among the known items.
    items : KnownItems
        Their parameters.
    """

    responses: Responses
    index: NDArray[np.intp]
    items: KnownItems


def match(responses: Responses, items: ItemParameters, *, stacklevel: int = 3) -> Matched:
    """Return the known parameters of the items that were answered.

    Known items that are not among the responses were not administered. Items without finite parameters take no part,
    with a warning that names them.

    Raises
    ------
    DataError
        If items of the responses are unknown, all are without parameters, or a lower asymptote is not in [0, 1).
    """
    if not isinstance(responses, Responses):
        raise SettingsError(f"responses is a {type(responses).__name__}.", "Give a Responses object.")
    if not isinstance(items, ItemParameters):
        raise SettingsError(
            f"items is a {type(items).__name__}.",
            "Give ItemParameters: fit.item_parameters, or ItemParameters.from_difficulty.",
        )
    place = {name: i for i, name in enumerate(items.item_ids)}
    unknown = [i for i in responses.item_ids if i not in place]
    if unknown:
        raise DataError(
            f"{len(unknown)} of {responses.n_items} items of the responses are not among the known items: "
            f"{some(unknown)}.",
            "Leave them out (Responses.select), or give parameters for them.",
        )
    index = np.array([place[i] for i in responses.item_ids], dtype=np.intp)
    usable = items.estimated[index]
    lost = [i for i, good in zip(responses.item_ids, usable, strict=True) if not good]
    if len(lost) == responses.n_items:
        raise DataError("None of the items has parameters.", "Score on items that were estimated.")
    if lost:
        warnings.warn(
            f"{len(lost)} of {responses.n_items} items have no parameters and take no part in the scores: "
            f"{some(lost)}.",
            PsychoevalWarning,
            stacklevel=stacklevel,
        )
        responses, index = responses.select(items=np.flatnonzero(usable)), index[usable]
    c = items.guessing[index]
    wrong = [i for i, bad in zip(responses.item_ids, (c < 0) | (c >= 1), strict=True) if bad]
    if wrong:
        raise DataError(f"The lower asymptote of {some(wrong)} is not in [0, 1).", "Correct the known items.")
    return Matched(responses, index, KnownItems(items.discrimination[index], items.intercept[index], c))


def histogram(latent: LatentDistribution) -> Grid | None:
    """Return the nodes and log weights of a latent distribution that is a histogram, None for a normal one.

    Raises
    ------
    SettingsError
        If the distribution is none, or its nodes are not equally spaced.
    """
    if not isinstance(latent, LatentDistribution):
        raise SettingsError(
            f"latent is a {type(latent).__name__}.", "Give a LatentDistribution, such as fit.latent_distribution."
        )
    if latent.nodes is None:
        low, high = SD_LIMITS
        if not (_is_between(latent.mean, -MEAN_LIMIT, MEAN_LIMIT) and _is_between(latent.sd, low, high)):
            raise SettingsError(
                f"A distribution with mean {latent.mean!r} and SD {latent.sd!r} is none to score by.",
                f"Give a mean from {-MEAN_LIMIT:g} to {MEAN_LIMIT:g} and an SD from {low:g} to {high:g}.",
            )
        return None
    nodes, weights = _numbers(latent.nodes), _numbers(latent.weights)
    good = nodes.ndim == 1 and nodes.size > 2 and weights.shape == nodes.shape and np.isfinite(nodes).all()
    if not good or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise SettingsError(
            f"A histogram with {nodes.size} nodes and {weights.size} weights is no latent distribution.",
            "Give three or more nodes, and one weight each that is not negative.",
        )
    if not (np.abs(nodes) <= MEAN_LIMIT).all():
        raise SettingsError(
            f"The nodes of the distribution run from {nodes[0]:g} to {nodes[-1]:g}.",
            f"Give nodes from {-MEAN_LIMIT:g} to {MEAN_LIMIT:g}, in logits.",
        )
    gaps = np.diff(nodes)
    if gaps[0] < SD_LIMITS[0] or not np.allclose(gaps, gaps[0], rtol=1e-6, atol=0.0):
        raise SettingsError("The nodes of the distribution are not equally spaced.", "Give equally spaced nodes.")
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    return Grid(nodes, log_weights - logsumexp(log_weights))


def _is_between(value: object, low: float, high: float) -> bool:
    """Whether a value is a number, of Python's or NumPy's, within limits."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and bool(low <= value <= high)  # type: ignore[operator]


def _numbers(values: object) -> FloatArray:
    """Return values as an array; an empty one where they are no numbers."""
    try:
        return np.asarray([] if values is None else values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(0)
