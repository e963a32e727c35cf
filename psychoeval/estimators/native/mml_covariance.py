"""Covariance of the items of a marginal fit: whole or by item, in the reported parameters (a, d, c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_information import FULL_PARAMETERS, block_covariance, observed_information
from psychoeval.estimators.native.mml_search import Maximum

FloatArray = NDArray[np.float64]
Labels = tuple[tuple[str, str], ...]

NO_MAXIMUM: Final = "The observed information is not positive definite where the search ended."
BLOCKS_FAIL: Final = "Blocks by item do not hold for so few items or persons: take standard_errors='full'."


@dataclass(frozen=True, slots=True, eq=False)
class ItemErrors:
    """Covariance of the J items that took part.

    Parameters
    ----------
    blocks : (J, 3, 3) array or None
        Of (a, d, c), a that of the search, also for the Rasch model (the latent SD); 0 for fixed parameters, NaN for
        those that stopped at a bound.
    joint : (P, P) array, optional
        Of all free parameters, in the order of `labels`.
    labels : tuple of (item id, "a" | "d" | "c")
        As `ItemParameters.joint_labels`.
    because : str
        Why there is none.
    """

    blocks: FloatArray | None
    joint: FloatArray | None = None
    labels: Labels = ()
    because: str = ""


def item_errors(
    cells: Cells,
    form: Form,
    maximum: Maximum,
    sign: float,
    how: Literal["auto", "full", "blocks"],
    item_ids: Sequence[str],
) -> ItemErrors:
    """Return the inverse observed information at the maximum.

    Parameters
    ----------
    cells : Cells
    form : Form
    maximum : Maximum
    sign : float
        -1 where slopes are turned round.
    how : {"auto", "full", "blocks"}
        The whole matrix, or its blocks alone; ``"auto"`` by the number of parameters.
    item_ids : sequence of str, length J
    """
    point, counts, pinned = maximum.point, maximum.counts, maximum.pinned
    scale = _jacobian(form, point, sign)
    if how == "blocks" or (how == "auto" and point.size > FULL_PARAMETERS):
        covariance = block_covariance(cells, form, point, counts, pinned, maximum.law)
        if not (np.einsum("jpp->jp", covariance) > 0).all():
            return ItemErrors(None, because=BLOCKS_FAIL)
        return ItemErrors(_reported(covariance, scale, pinned))
    information = observed_information(cells, form, point, counts)
    expansion, labels = _free_parameters(form, pinned, item_ids)
    free = expansion.T @ information @ expansion
    try:
        np.linalg.cholesky(free)
    except np.linalg.LinAlgError:
        return ItemErrors(None, because=NO_MAXIMUM)
    joint = np.linalg.inv(free)
    every = expansion @ joint @ expansion.T
    index = np.arange(point.size).reshape(point.shape)
    by_label = np.einsum("pf,p->f", expansion, scale.ravel()) / expansion.sum(axis=0)
    blocks = _reported(every[index[:, :, None], index[:, None, :]], scale, pinned)
    return ItemErrors(blocks, joint * np.multiply.outer(by_label, by_label), labels)


def _jacobian(form: Form, point: FloatArray, sign: float) -> FloatArray:
    """Return the derivatives of (a, d, c) by the parameters of the search, (J, p)."""
    scale = np.ones(point.shape)
    scale[:, 0] = sign * form.slope_jacobian(point)
    if point.shape[1] == 3:
        c = form.asymptote(point)
        scale[:, 2] = c * (1.0 - c)
    return scale


def _reported(covariance: FloatArray, scale: FloatArray, pinned: NDArray[np.bool_]) -> FloatArray:
    """Return (J, 3, 3) blocks of (a, d, c), with NaN where a parameter stopped at a bound: it has no error."""
    j, p = scale.shape
    out = np.zeros((j, 3, 3))
    known = covariance * scale[:, :, None] * scale[:, None, :]
    out[:, :p, :p] = np.where(pinned[:, :, None] | pinned[:, None, :], np.nan, known)
    return out


def _free_parameters(form: Form, pinned: NDArray[np.bool_], item_ids: Sequence[str]) -> tuple[FloatArray, Labels]:
    """Return the (J p, F) matrix that spreads free parameters over the items, and their labels."""
    j, p = pinned.shape
    if form.slopes == "free":
        free = ~pinned.ravel()
        every = [(i, t) for i in item_ids for t in ("a", "d", "c")[:p]]
        return np.eye(j * p)[:, free], tuple(label for label, kept in zip(every, free, strict=True) if kept)
    expansion = np.zeros((j * p, 1 + j))
    expansion[::p, 0] = 1.0
    expansion[np.arange(j) * p + 1, 1 + np.arange(j)] = 1.0
    return expansion, (("", "a"), *((i, "d") for i in item_ids))
