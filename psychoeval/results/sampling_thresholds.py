"""The one table of the numbers by which chains are graded, each with its reason.

``usable with care`` is what lies beyond a threshold of weight 1, ``do not use`` beyond one of weight 2; a run has the
grade of the worst that is found, and is ``good`` where nothing is. Any draw that is not finite, or a chain that is
suspect, is of weight 2; a single chain of weight 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that decides, what it is about, what being beyond it weighs, and why it is what it is."""

    value: float
    about: str
    weight: Literal[0, 1, 2]
    reason: str


RHAT_GOOD: Final = Threshold(
    1.01,
    "R-hat of a parameter, above",
    1,
    "Vehtari et al. (2021), doi:10.1214/20-BA1221, section 5",
)
RHAT_USABLE: Final = Threshold(
    1.05, "R-hat of a parameter, above", 2, "Stan's warning before that paper, and still rstan's"
)
ESS_GOOD: Final = Threshold(
    400.0,
    "bulk or tail ESS of a parameter, below",
    1,
    "the same paper: 50 for each half of four chains, so that R-hat and ESS are themselves trusted",
)
ESS_USABLE: Final = Threshold(
    100.0,
    "bulk or tail ESS of a parameter, below",
    2,
    "the Monte Carlo error of a mean is a tenth of the posterior SD; below, the figures themselves are guesses",
)
CHANCE_SHARE: Final = Threshold(
    0.01,
    "share of abilities, of slopes, ... that may lie beyond one of the four above by chance",
    0,
    "ours: of 3,000 independent parameters of four chains that mix, .1 % have an R-hat above 1.01 at a bulk ESS of "
    "1,300 each, 7 % at 700. A quantity of its own (a hyperparameter) and one of fewer than a hundred items have no "
    "allowance",
)
DIVERGENT_ANY: Final = Threshold(
    0.0,
    "share of draws that diverged, above",
    1,
    "any can mean a region that is not reached (Betancourt 2017, arXiv:1701.02434, section 6.2)",
)
DIVERGENT_SHARE: Final = Threshold(
    0.01, "share of draws that diverged, above", 2, "ours: more than one in a hundred draws is too many"
)
TREEDEPTH_SHARE: Final = Threshold(
    0.01,
    "share of draws that reached the limit of the tree's depth, above",
    1,
    "ours: they cost time and not validity; below, nothing is said",
)
EBFMI_LOW: Final = Threshold(
    0.3,
    "estimated Bayesian fraction of missing information of a chain, below",
    1,
    "Betancourt (2016), arXiv:1604.00695: the energies move too slowly to reach the tails",
)
SD_SMALL: Final = Threshold(
    0.1,
    "SDs of a chain's parameters in those of the other chains, at the middle parameter, below",
    2,
    "ours: a chain with the information of 3 independent draws still has .7 of them on average; a tenth is a step size "
    "that broke down",
)
LP_FAR: Final = Threshold(
    2.0,
    "mean log density of a chain from the others', in SDs within a chain, above",
    2,
    "ours: means of chains that mix differ by 1 / sqrt(ESS), .2 at an ESS of 25, which is little for a whole chain",
)
APART: Final = Threshold(
    1.05,
    "R-hat of an ability, above which chains are looked at for mirrors",
    0,
    "below, chains agree and none can be one",
)

THRESHOLDS: Final = (
    RHAT_GOOD, RHAT_USABLE, ESS_GOOD, ESS_USABLE, CHANCE_SHARE, DIVERGENT_ANY, DIVERGENT_SHARE, TREEDEPTH_SHARE,
    EBFMI_LOW, SD_SMALL, LP_FAR, APART,
)  # fmt: skip
