"""Item-marginal empirical Bayes: abilities as parameters, items integrated out over a population of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.native.modeled import modeled
from psychoeval.estimators.native.random_item_cells import Cells
from psychoeval.estimators.native.random_item_population import Population
from psychoeval.estimators.native.random_item_prior import PopulationPrior
from psychoeval.estimators.native.random_item_report import Report
from psychoeval.estimators.native.random_item_search import maximize
from psychoeval.estimators.native.settings import OnInterrupt, check_choice, check_on_interrupt, check_tolerance
from psychoeval.irt.models import Beta, ItemModel, LogitNormal
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

Location = Literal["difficulty", "intercept"]
MODELS = ("Rasch", "2PL", "3PL")
#: Logit of c where the search starts, if it is free.
START_LOGIT_GUESSING = float(np.log(0.1 / 0.9))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomItem:
    """Few systems on many items: items integrated out, for Rasch, 2PL and 3PL.

    The mirror of marginal maximum likelihood. Items are a sample from a population, log slope and location bivariate
    normal with estimated means, SDs and correlation (Rasch: locations normal); each is integrated out on nodes that
    follow its posterior.
    Abilities theta ~ N(0, 1) have their posterior means given the population (Rasch: a = 1 and N(0, s)), from mode and
    curvature to first order; the population is where the evidence with abilities integrated out (Laplace) is largest.
    Maximising over both at once has no maximum: smaller abilities and larger slopes of equal probabilities always have
    the larger density. Since the
    population holds the items, no prior on them is taken, constant items take part, and 2PL slopes do not run away
    however few the systems. Densities keep the population off its edges: 3 (1 - rho^2) / 4 of the correlation,
    s exp(-s) of the SD of log slopes (`PopulationPrior`).

    The lower asymptote of the 3PL is common to all items: fixed, free, or with the model's density counted once.

    Item parameters are posterior means of (log a, d), given the abilities and the population, with a = exp of the
    former, and posterior covariances by the delta method. Standard errors of abilities are the inverse information of
    the item-marginal likelihood and the prior, given the population. They hold the uncertainty of the items, as items
    sampled from that population, and are about abilities in the frame of these systems (mean 0, SD 1; Rasch: mean 0),
    whose own origin and unit they leave out; where other systems of the abilities' distribution would lie has the error
    of these besides (about 1 and .7 over the root of their number).

    Parameters
    ----------
    quadrature_points : int
        Gauss-Hermite nodes a dimension (product rule) around each item's posterior mode.
    tolerance : float
        Converged when no element of the gradient (of the evidence by the population, of the log posterior by abilities
        in units of their SD) and no change of a parameter in the last iteration exceeds it; also where the search can
        go no further and no element exceeds .01, with a warning.
    max_iterations : int
        Of quasi-Newton steps of the population, each with Newton steps of the abilities.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: raise, or return where the search stands, with the status ``interrupted``.
    location : {"intercept", "difficulty"}
        What is bivariate normal with log a: the intercept d, or the difficulty b = -d / a (the same for Rasch).
        ``log_evidence`` tells which suits the data.

    Raises
    ------
    SettingsError
        If a setting cannot be taken.

    Notes
    -----
    7 nodes integrate an item out to 6e-5 log-likelihood units or better (Rasch and 2PL by intercept, 10 persons or
    more), and to 2e-3 by difficulty or with guessing, where 15 nodes reach 1e-4. A 2PL of 100 x 1000 takes about 1.3
    CPU seconds, half of them in eight or nine evaluations of the cells at 49 nodes.

    Measured by ``benchmarks/random_item_recovery.py`` beside ``map`` (published priors): 2PL, theta ~ N(0, 1),
    b ~ N(0, 1.5), a ~ LN(0, .3), complete binary data, 100 seeds (`random-item` at 100 x 300: 24). Coverage of nominal
    95 % intervals of abilities, against the truth standardised by the sample's mean and SD / as drawn; that of a and d
    against the former; slope is the median of estimate over standardised truth:

    ========= ============ ===== ===== ===== ===== =========== ==========
    size      location     tau   r_b   r_a   slope abilities   a, d
    ========= ============ ===== ===== ===== ===== =========== ==========
    30 x 100  intercept    .844  .929  .36   .99   .939 / .863  .871, .932
    30 x 100  difficulty   .845  .934  .45   1.01  .943 / .863  .900, .942
    30 x 100  map          .844  .930  .46   1.24  .915 / .931  .992, .964
    100 x 300 intercept    .915  .970  .65   1.00  .945 / .856  .932, .940
    100 x 300 difficulty   .915  .973  .69   1.01  .948 / .857  .947, .950
    100 x 300 map          .911  .970  .69   1.21  .828 / .868  .962, .962
    ========= ============ ===== ===== ===== ===== =========== ==========

    Monte Carlo errors of coverage are at most .01, and .02 as drawn. Errors of slopes take the population as known, and
    with few systems are too small; the result says so where the slopes' SD is hardly determined. Part of what the
    slopes at 30 x 100 lack is the population's error (with it, by finite differences, .90; 3PL .86), the rest that
    shrunken slopes are not normal: of the highest third .7 are covered, of the others .9 to .98. Without the density of
    the slopes' SD that came out as 0 in one data set of ten (3PL: of four), and slopes were covered at .75 (3PL: .55).

    ``benchmarks/interval_coverage.py`` (one trial a cell and ten; complete and 30 % missing): at 30 x 100 (100 seeds)
    and 100 x 200 (60) abilities .932-.951, difficulties .936-.953, intercepts .928-.953, latent SDs .87-.95; slopes .86
    with one trial and .93 with ten at 30 x 100, and at 100 x 200 .94 with ten, and with one .90-.91 by intercept, .93
    by difficulty (30 seeds), which is the right population there: in these data b and a are independent. 3PL at 30 x
    100 (100 seeds): abilities .930-.943, slopes .85-.89, intercepts .90-.91, c .90-.99.
    """

    name: ClassVar[str] = "random-item"
    quadrature_points: int = 7
    tolerance: float = 1e-6
    max_iterations: int = 200
    on_interrupt: OnInterrupt = "raise"
    location: Location = "intercept"

    def __post_init__(self) -> None:
        for name, low, high in (("quadrature_points", 2, 41), ("max_iterations", 1, 10**6)):
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, int) and low <= value <= high):
                raise SettingsError(f"random-item: {name}={value!r}.", f"Give a whole number from {low} to {high}.")
        check_choice(self, "location", get_args(Location))
        check_tolerance(self)
        check_on_interrupt(self)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit abilities and the population of items.

        Parameters
        ----------
        responses : Responses
            Binary or counts, cells may be missing.
        model : ItemModel
            Rasch, 2PL or 3PL without priors on items.

        Returns
        -------
        FitResult
            `log_likelihood` is item-marginal: at the abilities' mode, without their log density and without the
            binomial constants of counts. `statistics` holds the population (see `Report.statistics`) and
            ``log_evidence``, which compares Rasch, 2PL and 3PL of one data set.

        Raises
        ------
        ModelError
            For the 1PL (it is the Rasch model here), or with priors on the items.
        DataError
            If no item was ever run.
        """
        model = _checked(model)
        taking = modeled(responses, constant_items=True)
        part = taking.part
        cells = Cells(part.successes, part.trials)
        population = _start(model, self.location)
        guessing = model.guessing if isinstance(model.guessing, (Beta, LogitNormal)) else None
        optimum = maximize(
            cells,
            population,
            PopulationPrior(guessing),
            points=self.quadrature_points,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            return_interrupted=self.on_interrupt == "return",
        )
        n_free = int(population.free.sum()) + 1
        return Report(taking, model, cells, optimum, n_free, self.quadrature_points).result(self.name, self.tolerance)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return what would be computed, in words."""
        what = "Rasch, 2PL or 3PL" if model is None else model.label
        return (
            f"random-item: {what}; items integrated out over an estimated normal population, "
            f"{self.quadrature_points} adaptive Gauss-Hermite nodes a dimension; posterior means of abilities; "
            f"population of greatest evidence to gradient and change <= {self.tolerance:g}, at most "
            f"{self.max_iterations} steps; standard errors with the items' uncertainty"
        )


def _checked(model: ItemModel | None) -> ItemModel:
    if model is None or model.name not in MODELS:
        what = "no model" if model is None else f"the {model.name}"
        raise ModelError(
            f"random-item does not fit {what}.",
            f"It fits {', '.join(MODELS)}; the 1PL is its Rasch model in another unit.",
        )
    if model.priors is not None:
        raise ModelError(
            f"random-item takes no priors on items ({model.label}): it estimates the population that they come from.",
            'Give priors="none" (--priors none), or take an estimator that takes priors (map, mml).',
        )
    return model


def _start(model: ItemModel, location: Location) -> Population:
    """Return which parameters of the population are free, and the guessing to start from."""
    has_slopes, given = model.name != "Rasch", model.guessing
    values = np.zeros(5)
    if isinstance(given, (int, float)) and given > 0:
        values[4] = np.log(given / (1.0 - given))
    elif model.guessing_is_estimated:
        values[4] = given.mean if isinstance(given, LogitNormal) else START_LOGIT_GUESSING
    free = np.array([has_slopes, True, has_slopes, True, model.guessing_is_estimated])
    return Population(
        values, free, has_slopes, model.name == "3PL" and given != 0, has_slopes and location == "difficulty"
    )
