"""The marginal log-likelihood of a fit's own parameters, integrated finely, whatever the fit reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from psychoeval.agreement.alignment import standardisation, standardised
from psychoeval.agreement.matching import is_of_other_data, match
from psychoeval.estimators.native.mml_cells import Cells
from psychoeval.estimators.native.mml_form import Form, make_form
from psychoeval.estimators.native.mml_grid import expect, first_nodes, renewed
from psychoeval.estimators.native.mml_law import Law, Nodes
from psychoeval.estimators.native.mml_newton import rescaled
from psychoeval.estimators.native.mml_steps import Expectation, e_step
from psychoeval.estimators.native.mml_terms import complete_terms
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.irt.quadrature import normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult, LatentDistribution

FloatArray = NDArray[np.float64]

#: Gain of log-likelihood below which origin and unit are found: a hundredth of what is named at all.
ENOUGH: Final = 1e-3
MOST_STEPS: Final = 100


@dataclass(frozen=True, slots=True)
class EngineGrid:
    """Equally spaced nodes as an engine has them, with normal weights that sum to 1.

    Parameters
    ----------
    n_nodes : int
    limit : float
        Largest node, in logits of the fit's own scale.
    whose : str
        In words.
    """

    n_nodes: int
    limit: float
    whose: str

    @property
    def words(self) -> str:
        """What it is."""
        return f"{self.n_nodes} nodes from {-self.limit:g} to {self.limit:g}, {self.whose},"


#: What R's mirt takes for one dimension unless told otherwise.
MIRT_GRID: Final = EngineGrid(61, 6.0, "the default of R's mirt")


def engine_grid(fit: FitResult) -> EngineGrid:
    """Return the grid that a fit's settings name, else the one that most imported fits have."""
    n, limit = (fit.provenance.settings.get(k) for k in ("quadrature_points", "quadrature_limit"))
    if isinstance(n, int) and isinstance(limit, (int, float)):
        return EngineGrid(n, float(limit), "its own grid")
    return MIRT_GRID


@dataclass(frozen=True, slots=True)
class Frame:
    """The origin and unit that suit a fit's items best, on the fit's own standard scale.

    Parameters
    ----------
    mean, sd : float
        Of the normal distribution of the abilities under which the likelihood is largest, all curves of the items held.
        At a maximum they are 0 and 1; an SD of 1.08 says that all slopes are 8 % too small.
    log_likelihood : float
        There.
    """

    mean: float
    sd: float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class OwnLikelihood:
    """The marginal likelihood of known items under a normal distribution, as a function that can be asked.

    Parameters
    ----------
    cells : Cells
        The N persons and J items that take part.
    form : Form
    point : (J, p) array
        The items, on the scale on which the distribution is N(0, 1).
    latent : LatentDistribution
        The distribution on the fit's own scale.
    """

    cells: Cells
    form: Form
    point: FloatArray
    latent: LatentDistribution

    @cached_property
    def _counts(self) -> Expectation:
        return self._expect(self.point, None)

    @property
    def log_likelihood(self) -> float:
        """At the fit's parameters, without the binomial constant; the trapezoid rule errs by 5e-9 a person or less."""
        return self._counts.log_likelihood

    @property
    def is_capped(self) -> bool:
        """Whether slopes are so steep that the grid is at its limit, and the value may be off in its decimals."""
        return self._counts.nodes.capped

    @cached_property
    def best_frame(self) -> Frame:
        """Origin and unit by maximum likelihood, by EM: the mean and SD of the mixed posteriors, again and again."""
        mean, sd, counts = 0.0, 1.0, self._counts
        for _ in range(MOST_STEPS):
            m = float(counts.mean.mean())
            s = float(np.sqrt(np.mean(counts.sd**2 + (counts.mean - m) ** 2)))
            mean, sd = mean + sd * m, sd * s
            new = self._expect(self._moved(mean, sd), counts)
            gain, counts = new.log_likelihood - counts.log_likelihood, new
            if gain < ENOUGH:
                break
        return Frame(mean, sd, counts.log_likelihood)

    def on_grid(self, grid: EngineGrid) -> float:
        """Return the log-likelihood that an engine with this grid reads at the items."""
        return self._on(grid).log_likelihood

    def rise(self, frame: Frame, grid: EngineGrid | None = None) -> float:
        """Return the derivative of the log-likelihood along the straight way from the items to those of a frame.

        Parameters
        ----------
        frame : Frame
            At the end of the way, of length 1: the items move as an engine that goes on iterating moves them.
        grid : EngineGrid, optional
            Of the likelihood as an engine reads it; without it as it is. At a maximum of what it reads it is 0.
        """
        counts = self._counts if grid is None else self._on(grid)
        gradient = complete_terms(self.cells, self.form, self.point, counts)[0]  # Fisher's identity
        way = (self._moved(frame.mean, frame.sd) - self.point)[:, :2]
        return float(np.vdot(gradient[:, :2], way))

    def _on(self, grid: EngineGrid) -> Expectation:
        given = normal_grid(grid.n_nodes, grid.limit, mean=self.latent.mean, sd=self.latent.sd)
        nodes = Nodes((given.nodes - self.latent.mean) / self.latent.sd, given.log_weights)
        return e_step(self.cells, self.form, self.point, nodes)

    def _moved(self, mean: float, sd: float) -> FloatArray:
        return rescaled(self.form, self.point, mean, float(np.log(sd)))

    def _expect(self, point: FloatArray, near: Expectation | None) -> Expectation:
        law = Law()
        if near is None:
            near = expect(self.cells, self.form, point, first_nodes(self.cells, self.form, point, law), law)
        return expect(self.cells, self.form, point, renewed(self.cells, self.form, point, near, law), law)


def own_likelihood(fit: FitResult, responses: Responses | None) -> OwnLikelihood | str:
    """Return the likelihood of a fit's own items on the data, or why it cannot be computed.

    Parameters
    ----------
    fit : FitResult
        With item parameters and a normal latent distribution; what it reports is not looked at.
    responses : Responses, optional
        What it was fitted to.
    """
    if responses is None:
        return "the responses are not at hand"
    items = standardised(fit)[0].item_parameters
    if items is None or not items.estimated.any():
        return "it has no item parameters"
    if standardisation(fit) is None:
        return "its latent distribution is not stated"
    estimated = [i for i, known in zip(items.item_ids, items.estimated, strict=True) if known]
    columns = match(estimated, responses.item_ids)
    if columns.only_first:
        return f"its item {columns.only_first[0]!r} is not in the responses"
    if fit.abilities is not None and set(fit.abilities.person_ids) != set(responses.person_ids):
        return "its persons are not those of the responses"
    if is_of_other_data(fit, responses):
        return "it was fitted to other data than the responses, or to these in another order"
    cells = _cells(responses, columns.second)
    return OwnLikelihood(cells, *_as_point(items), fit.latent_distribution or LatentDistribution())


Own = Callable[[FitResult], OwnLikelihood | str]


def cached_likelihoods(responses: Responses | None) -> Own:
    """Return `own_likelihood` on the responses, computed once for each fit."""
    known: dict[int, OwnLikelihood | str] = {}

    def own(fit: FitResult) -> OwnLikelihood | str:
        if id(fit) not in known:
            known[id(fit)] = own_likelihood(fit, responses)
        return known[id(fit)]

    return own


def _cells(responses: Responses, columns: NDArray[np.intp]) -> Cells:
    """Return the cells of some items and of the persons who saw any of them; the data themselves if that is all."""
    every = np.array_equal(columns, np.arange(responses.n_items))
    successes, trials = ((x if every else x[:, columns]) for x in (responses.successes, responses.trials))
    seen = trials.any(axis=1)
    return Cells(successes, trials) if seen.all() else Cells(successes[seen], trials[seen])


def _as_point(items: ItemParameters) -> tuple[Form, FloatArray]:
    """Return the estimated items as the marginal estimator holds them."""
    known = items.estimated
    a, d, c = items.discrimination[known], items.intercept[known], items.guessing[known]
    linear = not c.any()
    form = make_form(ItemModel("2PL") if linear else ItemModel("3PL", guessing="free"), signed=True)
    return form, np.column_stack([a, d] if linear else [a, d, logit(c)])
