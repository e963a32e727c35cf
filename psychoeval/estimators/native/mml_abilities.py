"""Scores of the persons of a marginal fit, and what the errors of its items add to theirs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_law import Nodes
from psychoeval.estimators.native.mml_steps import Expectation
from psychoeval.irt import scoring
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import AbilityMethod
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_equations import KnownItems
from psychoeval.irt.score_uncertainty import (
    Gradients,
    added_variance,
    in_frame_of_persons,
    mean_gradients,
    root_gradients,
)
from psychoeval.results.judgement import Judgement

FloatArray = NDArray[np.float64]
ItemUncertainty = Literal["auto"] | bool

#: Below so many persons ``"auto"`` carries the items' errors into those of the abilities; below the second where c is
#: estimated: 3PL abilities of 100 persons on 200 items, .3 of the cells missing, are covered at
#: .918 without and .939 with them.
FEW_PERSONS: Final = 100
FEW_PERSONS_WITH_GUESSING: Final = 200
#: Log-likelihood that nodes which are too far apart may miss before a fit fails.
MISSED: Final = 0.01


def few_persons(model: ItemModel | None) -> int:
    """Return the number of persons below which ``"auto"`` carries the items' errors into those of abilities."""
    return FEW_PERSONS_WITH_GUESSING if model is not None and model.guessing_is_estimated else FEW_PERSONS


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores of the persons (N,) that took part, in the unit of the search: a latent SD of 1.

    Parameters
    ----------
    cells : Cells
    items : KnownItems
        Already turned by `sign`.
    counts : Expectation
        Of the last E-step.
    sign : float
        -1 where the answer is turned round.
    method : {"EAP", "MAP", "ML", "WLE"}
    empirical : bool
        Whether the latent distribution was estimated: its density is then that of the nodes.
    """

    cells: Cells
    items: KnownItems
    counts: Expectation
    sign: float
    method: AbilityMethod
    empirical: bool

    def scores(self) -> tuple[FloatArray, FloatArray]:
        """Return estimates and their errors with the items held fixed, (N,) each."""
        if self.method == "EAP":
            return self.posterior if self.counts.nodes.capped else (self.sign * self.counts.mean, self.counts.sd)
        score = {"MAP": scoring.map_, "ML": scoring.ml, "WLE": scoring.wle}[self.method]
        return score(self.cells.successes, self.cells.trials, self.items.a, self.items.d, self.items.c)

    @cached_property
    def posterior(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means and SDs, (N,) each, on nodes of each person's own where those of the search are too few."""
        law = _law(self.counts.nodes, self.sign) if self.empirical else None
        x, n, k = self.cells.successes, self.cells.trials, self.items
        return scoring.eap(x, n, k.a, k.d, k.c, law=law)

    def judged(self) -> Judgement:
        """Return what the search's nodes miss where there were not enough of them.

        For a normal posterior of SD s the trapezoid rule errs by 2 exp(-2 pi^2 s^2 / h^2) with nodes h apart.
        """
        nodes = self.counts.nodes
        if not nodes.capped:
            return Judgement()
        sd = self.posterior[1]
        missed = float(np.sum(2.0 * np.exp(-2.0 * (np.pi * sd / nodes.step) ** 2)))
        if missed <= MISSED:
            return Judgement(
                warnings=(
                    f"Steep slopes or many trials ask for more than {nodes.theta.size} nodes, which is the limit: the "
                    "likelihood may be off in its decimals.",
                )
            )
        return Judgement(
            failures=(
                f"Posterior SDs of abilities go down to {sd.min():.2g}, and the {nodes.theta.size} nodes, which is the "
                f"limit, are {nodes.step:.2g} apart: the log-likelihood, and with it the items, are misread. Where so "
                "many trials are the reason, take map or cml, which need no nodes.",
            )
        )

    def items_share(self, estimate: FloatArray, covariance: FloatArray, *, unit_known: bool) -> FloatArray:
        """Return the variance that the items' errors add, (N,), in the frame of these persons.

        Parameters
        ----------
        estimate : (N,) array
        covariance : (J, 3, 3) array
            Of (a, d, c) of each item. Correlations between items are left out: in this frame, what all items have in
            common does not count, and the rest is small.
        unit_known : bool
            Whether only the persons' mean, and not their SD, is that of the frame.
        """

        def gradients() -> Gradients:
            x, n = self.cells.successes, self.cells.trials
            if self.method == "EAP":
                law = _law(self.counts.nodes, self.sign) if self.empirical else None
                return mean_gradients(x, n, self.items, law=law)
            return root_gradients(x, n, estimate, self.items, precision=1.0 if self.method == "MAP" else 0.0)

        own = in_frame_of_persons(estimate, gradients, unit_known=unit_known)
        return added_variance(estimate.size, own, covariance)


def _law(nodes: Nodes, sign: float) -> Grid:
    log_weights = nodes.log_weights if sign > 0 else nodes.log_weights[::-1]
    theta = nodes.theta if sign > 0 else -nodes.theta[::-1]
    return Grid(theta, log_weights)
