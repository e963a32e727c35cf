"""Observed information of items and groups' distributions together, and the covariance of what is reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.estimators.native.mml_groups import Multigroup
from psychoeval.estimators.native.mml_groups_search import GroupMaximum
from psychoeval.estimators.native.mml_information import observed_information
from psychoeval.estimators.native.mml_priors import log_prior, taken_by_means
from psychoeval.estimators.native.mml_terms import complete_terms

FloatArray = NDArray[np.float64]

#: The matrix is made and inverted whole: up to so many parameters, 72 MB each.
MOST_PARAMETERS: Final = 3000
LETTERS: Final = ("a", "d", "c")


@dataclass(frozen=True, slots=True, eq=False)
class GroupCovariance:
    """Covariance of F items' (a, d, c) and of G groups' means and SDs.

    Parameters
    ----------
    blocks : (F, 3, 3) array
        0 for fixed parameters, NaN for those that stopped at a bound.
    joint : (P, P) array
        Of the items' free parameters, in the order of `labels`.
    labels : tuple of (place of the item or -1 for all, "a" | "d" | "c")
    laws : (2 G, 2 G) array
        Of all means, then all SDs; 0 for fixed ones, NaN for SDs that stopped at a bound.
    """

    blocks: FloatArray
    joint: FloatArray
    labels: tuple[tuple[int, str], ...]
    laws: FloatArray


def group_information(data: Multigroup, found: GroupMaximum) -> FloatArray:
    """Return minus the Hessian of the penalised marginal log-likelihood, (F p + 2 G, F p + 2 G).

    By log a, d (and logit c) of the items that are estimated, one after another, then all means mu, then all log SDs.
    The likelihood of a group is that of the items u + log s, d + a mu under N(0, 1): its information in these (Louis
    1982) is taken to the parameters by the chain rule, to which the second derivatives of d + exp(u) mu add.
    """
    where, p = found.where, data.form.n_columns
    n_items, n_groups = len(where.items), len(data.groups)
    out = np.zeros((n_items * p + 2 * n_groups,) * 2)
    for k in range(n_groups):
        at, part = _of_group(data, found, k)
        out[np.ix_(at, at)] += part
    if n_items:
        prior = log_prior(data.form, where.items)
        index = np.arange(n_items * p).reshape(n_items, p)
        out[index[:, :, None], index[:, None, :]] += prior.curvature
        if data.form.estimated_means:
            out[: n_items * p, : n_items * p] -= taken_by_means(prior)
    return out


def _of_group(data: Multigroup, found: GroupMaximum, k: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the places of the parameters that a group knows of, and its information about them."""
    group, where, counts = data.groups[k], found.where, found.counts[k]
    form = replace(data.form, penalty=Penalty(None, None, False), guessing_prior=None, estimated_means=False)
    items = data.all_items(where)
    own, p = data.seen_by(k, where, items), form.n_columns
    n, a = group.columns.size, form.discrimination(items[group.columns])
    shift = a * where.mean[k]  # d(d + a mu) / du
    information = observed_information(group.cells, form, own, counts)
    by_law = np.zeros((n * p, 2))
    by_law[1::p, 0], by_law[::p, 1] = a, 1.0
    cross = (information @ by_law).reshape(n, p, 2)
    of_law = by_law.T @ cross.reshape(n * p, 2)
    rows = information.reshape(n, p, n * p)
    rows[:, 0] += shift[:, None] * rows[:, 1]
    columns = information.reshape(n * p, n, p)
    columns[:, :, 0] += columns[:, :, 1] * shift
    cross[:, 0] += shift[:, None] * cross[:, 1]
    of_intercept = complete_terms(group.cells, form, own, counts)[0][:, 1]
    first = np.arange(n) * p
    information[first, first] -= of_intercept * shift
    cross[:, 0, 0] -= of_intercept * a
    free = data.free[group.columns]
    kept = (first[free, None] + np.arange(p)).ravel()
    n_items = len(where.items)
    at_items = (data.place[group.columns[free], None] * p + np.arange(p)).ravel()
    at = np.concatenate([at_items, [n_items * p + k, n_items * p + len(data.groups) + k]]).astype(np.intp)
    beside = cross.reshape(n * p, 2)[kept]
    return at, np.block([[information[np.ix_(kept, kept)], beside], [beside.T, of_law]])


def group_covariance(data: Multigroup, found: GroupMaximum, *, unit_is_logit: bool) -> GroupCovariance | None:
    """Return the inverse information in the parameters that are reported, None where it is not positive definite.

    Parameters
    ----------
    data : Multigroup
    found : GroupMaximum
    unit_is_logit : bool
        Whether slopes are reported as 1, and means and SDs times the common slope (Rasch).
    """
    spread, labels = _free_parameters(data, found)
    try:
        free = spread.T @ group_information(data, found) @ spread
        np.linalg.cholesky(free)
    except np.linalg.LinAlgError:
        return None
    reported = _derivatives(data, found, unit_is_logit) @ spread
    every = reported @ np.linalg.inv(free) @ reported.T
    n_items, n_groups = len(found.where.items), len(data.groups)
    p = data.form.n_columns
    blocks = np.zeros((n_items, 3, 3))
    index = np.arange(n_items * p).reshape(n_items, p)
    known = data.form.slope_is_known
    stopped = found.pinned & ~(known & (np.arange(p) == 0))
    bare = every[index[:, :, None], index[:, None, :]]
    blocks[:, :p, :p] = np.where(stopped[:, :, None] | stopped[:, None, :], np.nan, bare)
    labels = tuple(label for label in labels if not (unit_is_logit and label[1] == "a"))
    at = [max(i, 0) * p + LETTERS.index(t) for i, t in labels]
    laws = every[n_items * p :, n_items * p :].copy()
    bound = n_groups + np.flatnonzero(found.pinned_sd)
    laws[bound], laws[:, bound] = np.nan, np.nan
    return GroupCovariance(blocks, every[np.ix_(at, at)], labels, laws)


def _free_parameters(data: Multigroup, found: GroupMaximum) -> tuple[FloatArray, tuple[tuple[int, str], ...]]:
    """Return the matrix that spreads free parameters over all, and labels of those that are items'."""
    n_items, p = found.where.items.shape
    moving = np.concatenate([data.moving, data.moving & ~found.pinned_sd])
    free = np.concatenate([~found.pinned.ravel(), moving])
    labels = [(j, LETTERS[t]) for j in range(n_items) for t in range(p)]
    if data.form.slopes == "free" or data.form.slope_is_known or not n_items:
        return np.eye(free.size)[:, free], tuple(x for x, kept in zip(labels, free, strict=False) if kept)
    first = np.zeros(free.size, dtype=bool)
    first[: n_items * p : p] = True
    spread = np.column_stack([first.astype(np.float64), np.eye(free.size)[:, free & ~first]])
    own = tuple(x for x, kept in zip(labels, free & ~first, strict=False) if kept)
    return spread, ((-1, "a"), *own)


def _derivatives(data: Multigroup, found: GroupMaximum, unit_is_logit: bool) -> FloatArray:
    """Return the derivatives of (a, d, c), means and SDs by log a, d, logit c, means and log SDs."""
    where, form = found.where, data.form
    n_items, p = where.items.shape
    scale = np.ones((n_items, p))
    scale[:, 0] = 0.0 if unit_is_logit else form.slope_jacobian(where.items)
    if p == 3:
        c = form.asymptote(where.items)
        scale[:, 2] = c * (1.0 - c)
    sd = np.exp(where.log_sd)
    unit = float(np.exp(where.items[0, 0])) if unit_is_logit and n_items else 1.0
    out = np.diag(np.concatenate([scale.ravel(), np.full(sd.size, unit), unit * sd]))
    if unit_is_logit and n_items:  # by the common slope, which its first row stands for
        out[n_items * p :, 0] = unit * np.concatenate([where.mean, sd])
    return out
