"""What the conditions of `psychoeval.trust.conditions` are held to: each number with its source.

A source that says *choice* is ours: what is published gives no number there.
"""

from __future__ import annotations

from typing import Final

from psychoeval.agreement.thresholds import Threshold
from psychoeval.responses.screening.families import FEW
from psychoeval.responses.screening.missingness import LEVEL
from psychoeval.responses.screening.saturation import EASY, SATURATED

SYSTEMS: Final = Threshold(
    30, "fewest systems of any claim", "the smallest N that was studied; below it nothing is known (arXiv:2607.15190)"
)
SYSTEMS_FOR_ITEMS: Final = Threshold(
    100, "fewest systems of a claim about single items", "advice of arXiv:2607.15190: N >= 100 before items are audited"
)
EFFECTIVE_SHARE: Final = Threshold(
    FEW,
    "smallest share of the systems that count as independent",
    "choice: that of the screening; errors that take systems as independent are then 13% too small (root of .75)",
)
SHARE_FOR_ITEMS: Final = Threshold(
    0.90,
    "smallest share of the systems that count as independent of a supported claim about items",
    "choice, measured in the worlds of benchmarks/verdict_calibration.py, 5 seeds each: 60 data sets of 100 "
    "independent systems and one ability had .907 to 1; 10 of families of ten that are a little alike .79 to .84, "
    "where printed intervals of items held .83 to .85; 10 of two abilities .86 to .94",
)
CONNECTED: Final = Threshold(
    1, "most components of the graph of systems and items", "nothing observed compares abilities across components"
)
SPARSITY: Final = Threshold(
    0.70, "largest sparsity S", "edge of the published grid, where the mean rank correlation of a 2PL stays above .99 "
    "(arXiv:2605.11205, 100 trials a cell)",
)  # fmt: skip
DIFFICULTY_GAP: Final = Threshold(
    5.0, "largest difficulty gap D in logits, where cells are missing", "edge of the same grid (arXiv:2605.11205)"
)
MISSING_AT_RANDOM: Final = Threshold(
    LEVEL,
    "level of the tests whether cells are missing by ability",
    "choice: that of the screening; the smaller p of its two permutation tests, 999 permutations each",
)
EASY_ITEMS: Final = Threshold(
    SATURATED,
    f"share of items with p >= {EASY:g} from which a benchmark is saturated",
    f"p >= {EASY:g} as in arXiv:2604.03244; half of the items is a choice",
)
RELIABILITY: Final = Threshold(
    0.80,
    "smallest reliability, marginal or empirical",
    "Nunnally and Bernstein (1994): .80 to compare groups, .90 to decide on single ones; with normal abilities "
    "estimates of .80 and truth have tau 2/pi asin(root of .80) = .70, and .60, a failed ranking, at .65",
)
SKEWNESS: Final = Threshold(
    0.5, "largest absolute skewness", "Bulmer (1979): below .5 fairly symmetrical, above 1 highly skewed"
)
NEAR: Final = Threshold(
    0.2, "distance in latent SDs within which an item is near a system", "definition of arXiv:2607.15190"
)
FEW_ITEMS: Final = Threshold(
    5, "most items near a system that has insufficient coverage", "definition of arXiv:2607.15190"
)
FEW_COVERED: Final = Threshold(
    0.10,
    "largest share of systems with insufficient difficulty coverage",
    "choice: one system in ten; arXiv:2607.15190 has the share as a predictor of failure, without a limit",
)
CONVERGED: Final = Threshold(1, "whether the fit may be believed", "estimates of a fit that stopped early are none")

#: Of the claims of `psychoeval.trust.verdict`.
REFITS: Final = Threshold(
    20, "fewest refits of a supported claim", "choice: the SD of 20 refits is itself known to a sixth (1 / root of 38)"
)
TAU_SUPPORTED: Final = Threshold(
    0.80,
    "smallest tau of a supported ranking, at the lower limit of a single data set",
    "choice: (1 - tau) / 2, one pair in ten, is out of order",
)
TAU_FAILED: Final = Threshold(
    0.60, "tau below which a ranking failed", "definition of arXiv:2607.15190; one pair in five is out of order"
)
APART: Final = Threshold(
    0.80, "smallest share of neighbors told apart that leaves a statement with care", "choice: all but one in five"
)
CONFIDENT: Final = Threshold(
    0.95, "smallest probability of a supported statement", "choice: the usual level, here for the whole statement"
)
LIKELY: Final = Threshold(0.80, "smallest probability of a statement with care", "choice: wrong one time in five")
PARAMETERS_FOUND: Final = Threshold(
    0.90, "smallest mean correlation with the truth in refits of supported item parameters",
    "choice: four fifths of the variance are those of the truth; published values of good estimators at N = 100 are "
    ".85 to .98 (arXiv:2607.15190)",
)  # fmt: skip
PARAMETERS_LOST: Final = Threshold(
    0.70, "correlation below which item parameters are not found", "choice: half of the variance is noise"
)
INTERVALS_HOLD: Final = Threshold(
    0.90, "smallest coverage of printed 95% intervals in refits", "choice: twice the error rate that is printed"
)
INTERVALS_FAIL: Final = Threshold(
    0.70, "coverage below which printed intervals say nothing", "choice: six times the error rate that is printed"
)
FAILURES: Final = Threshold(
    0.10,
    "largest share of refits that gave nothing",
    "choice: figures of the rest say little of a fit that often fails",
)
UNLIKE: Final = Threshold(
    0.05,
    "level at which data are unlike data of the fitted model, all statistics together",
    "choice: the usual level, divided by the number of statistics (Bonferroni)",
)
GUESSING: Final = Threshold(
    0.0,
    "largest gain in log-likelihood of a 3PL over a 2PL",
    "choice: the likelier one; of 27 simulated data sets of 30 to 1000 systems without guessing none had a gain, of 27 "
    "with c near .25 it was 20",
)
