"""Several groups of persons on common items: the data, the parameters, and the E-step of all groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells, CountArray
from psychoeval.estimators.native.mml_form import Form
from psychoeval.estimators.native.mml_grid import expect, first_nodes, renewed
from psychoeval.estimators.native.mml_law import Law, Nodes
from psychoeval.estimators.native.mml_newton import rescaled
from psychoeval.estimators.native.mml_search import start
from psychoeval.estimators.native.mml_steps import Expectation

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

#: In units of the frame: a group whose SD wants to be smaller does not vary by more than chance.
LOG_SD_LIMITS: Final = (float(np.log(0.02)), float(np.log(50.0)))
FARTHEST_MEAN: Final = 50.0
STANDARD: Final = Law()


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The persons of one group on the items that any of them ran.

    Parameters
    ----------
    cells : Cells
        (n, K) responses.
    columns : (K,) int array
        Places of its items among all J.
    rows : (n,) int array
        Places of its persons among all N.
    """

    cells: Cells
    columns: IntArray
    rows: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """A point of the search: items, and the normal distribution of the abilities of each group.

    Parameters
    ----------
    items : (F, p) array
        Of the items that are estimated, as `Form` has them.
    mean, log_sd : (G,) arrays
    """

    items: FloatArray
    mean: FloatArray
    log_sd: FloatArray


@dataclass(frozen=True, eq=False)
class Multigroup:
    """Items of J columns, F of them estimated, met by G groups.

    Parameters
    ----------
    form : Form
    groups : tuple of Group, length G
    known : (J, p) array
        Values of the items that are not estimated, in their rows.
    free : (J,) array of bool
        Which items are estimated.
    pooled : Cells
        Responses of all groups to the items that are estimated, of the persons that have any.
    reference : int, optional
        The group of distribution N(0, 1); None where known items set the frame.
    """

    form: Form
    groups: tuple[Group, ...]
    known: FloatArray
    free: BoolArray
    pooled: Cells
    reference: int | None

    @cached_property
    def moving(self) -> BoolArray:
        """Which groups' means and SDs are estimated, (G,)."""
        return np.asarray(np.arange(len(self.groups)) != (-1 if self.reference is None else self.reference))

    @cached_property
    def place(self) -> IntArray:
        """Place of each item among those that are estimated, (J,)."""
        return np.cumsum(self.free) - 1

    def all_items(self, where: Where) -> FloatArray:
        """Return all items, (J, p)."""
        out = self.known.copy()
        out[self.free] = where.items
        return out

    def seen_by(self, k: int, where: Where, items: FloatArray) -> FloatArray:
        """Return the items of group k on the scale on which its abilities are N(0, 1), (K, p)."""
        own = items[self.groups[k].columns]
        return rescaled(self.form, own, float(where.mean[k]), float(where.log_sd[k]))

    def expect(self, where: Where, before: Sequence[Expectation] | None = None) -> list[Expectation]:
        """Return the E-step of each group on its own scale, from the grids of the one before."""
        items, out = self.all_items(where), []
        for k, group in enumerate(self.groups):
            own = self.seen_by(k, where, items)
            nodes = (
                first_nodes(group.cells, self.form, own, STANDARD)
                if before is None
                else renewed(group.cells, self.form, own, before[k], STANDARD)
            )
            out.append(expect(group.cells, self.form, own, nodes, STANDARD))
        return out

    def moments(self, where: Where, counts: Sequence[Expectation]) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the mixed posteriors of each group, (G,) each: what EM moves its law to."""
        mean = np.array([c.mean.mean() for c in counts])
        variance = np.array([np.mean(c.sd**2 + (c.mean - m) ** 2) for c, m in zip(counts, mean, strict=True)])
        sd = np.exp(where.log_sd)
        return where.mean + sd * mean, sd**2 * variance

    def stacked(self, where: Where, counts: Sequence[Expectation]) -> Expectation:
        """Return the expected counts of all groups on the common scale, their nodes after one another.

        The items' expected complete-data likelihood is a sum over groups and nodes, and knows of no distance between
        nodes: what one group is to the M-step, several are.
        """
        sizes = [c.nodes.theta.size for c in counts]
        theta = np.concatenate(
            [m + np.exp(s) * c.nodes.theta for m, s, c in zip(where.mean, where.log_sd, counts, strict=True)]
        )
        n_free, form = int(self.free.sum()), self.form
        slopes = np.zeros(n_free) if form.is_linear else None
        successes = None if form.is_linear else np.zeros((n_free, theta.size))
        shared = all(c.node_trials.ndim == 1 and g.columns.size == self.free.size for c, g in self._pairs(counts))
        trials = np.concatenate([c.node_trials for c in counts]) if shared else np.zeros((n_free, theta.size))
        ends = np.cumsum(sizes)
        for k, (c, group) in enumerate(self._pairs(counts)):
            own, nodes = self.free[group.columns], slice(ends[k] - sizes[k], ends[k])
            at = self.place[group.columns[own]]
            if not shared:
                trials[at, nodes] = c.node_trials if c.node_trials.ndim == 1 else c.node_trials[own]
            if slopes is not None and c.slope_successes is not None:
                moved = where.mean[k] * group.cells.item_successes + np.exp(where.log_sd[k]) * c.slope_successes
                slopes[at] += moved[own]
            if successes is not None and c.node_successes is not None:
                successes[at, nodes] = c.node_successes[own]
        return Expectation(
            Nodes(theta, np.concatenate([c.nodes.log_weights for c in counts])),
            sum(c.log_likelihood for c in counts),
            np.concatenate([c.mean for c in counts]), np.concatenate([c.sd for c in counts]),
            max(c.edge for c in counts), np.concatenate([c.mass for c in counts]), trials, slopes, successes,
        )  # fmt: skip

    def _pairs(self, counts: Sequence[Expectation]) -> list[tuple[Expectation, Group]]:
        return list(zip(counts, self.groups, strict=True))

    def vector(self, where: Where) -> FloatArray:
        """Return all that the search moves, (P,)."""
        return np.concatenate([where.items.ravel(), where.mean[self.moving], where.log_sd[self.moving]])

    def where(self, vector: FloatArray) -> Where:
        """Return the point of a vector, inside the bounds."""
        n, moved = int(self.free.sum()) * self.form.n_columns, int(self.moving.sum())
        mean, log_sd = np.zeros(self.moving.size), np.zeros(self.moving.size)
        mean[self.moving] = np.clip(vector[n : n + moved], -FARTHEST_MEAN, FARTHEST_MEAN)
        log_sd[self.moving] = np.clip(vector[n + moved :], *LOG_SD_LIMITS)
        return Where(self.form.held(vector[:n].reshape(-1, self.form.n_columns)), mean, log_sd)

    def start(self) -> Where:
        """Return a start: `mml`'s for the items, N(0, 1) for every group."""
        zeros, items = np.zeros(len(self.groups)), np.zeros((0, self.form.n_columns))
        if self.free.any():
            items = start(self.pooled, self.form)
        if self.form.slope_is_known and self.free.any():
            items[:, 0] = self.known[~self.free][0, 0]
        return Where(items, zeros, zeros)


def make_multigroup(
    successes: CountArray,
    trials: CountArray,
    codes: IntArray,
    form: Form,
    known: FloatArray,
    free: BoolArray,
    *,
    reference: int | None,
    n_threads: int,
) -> Multigroup:
    """Return the data by group.

    Parameters
    ----------
    successes, trials : (N, J) integer arrays
        Every person and item has a response.
    codes : (N,) int array
        Group of each person, 0 to G - 1.
    form : Form
    known : (J, p) array
    free : (J,) array of bool
    reference : int, optional
    n_threads : int
    """
    groups = []
    for k in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == k)
        columns = np.flatnonzero(trials[rows].any(axis=0))
        at = np.ix_(rows, columns)
        groups.append(Group(Cells(successes[at], trials[at], n_threads), columns, rows))
    met = np.flatnonzero(trials[:, free].any(axis=1))
    at = np.ix_(met, np.flatnonzero(free))
    return Multigroup(form, tuple(groups), known, free, Cells(successes[at], trials[at], n_threads), reference)
