"""The one table of the numbers that decide, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PairKind = Literal[
    "same likelihood", "simulated", "both simulated", "same posterior", "posterior", "objective", "unknown",
    "proportion",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that decides, what it is about, and why it is what it is."""

    value: float
    about: str
    reason: str


#: How the limits of simulated fits were measured.
_SEEDS: Final = "mean + 3 SD over MH-RM's seeds 1 to 10 (mirt 1.48, its defaults, 1000 x 5) against EM"


def _of_both(one: Threshold) -> Threshold:
    return Threshold(
        round(2**0.5 * one.value, 2),
        one.about.replace("simulated against exact", "both simulated"),
        f"the difference of two independent errors: {one.value:g} times the root of 2",
    )


NUMERICAL_ITEM: Final = Threshold(
    3e-3,
    "largest difference of a slope, intercept or lower asymptote",
    "an EM that stops by its default criterion is up to 1.7e-3 off its optimum (mirt 1.48, third slope of LSAT 7)",
)
NUMERICAL_ABILITY: Final = Threshold(
    1.2e-2,
    "largest difference of an ability, in latent SDs",
    "what 3e-3 in a slope and an intercept can do to an ability within three SDs: 3e-3 (1 + 3)",
)
NUMERICAL_PROPORTION: Final = Threshold(
    1e-6, "largest difference of a proportion", "closed forms of the same mean differ by rounding only"
)
SAME_MEAN: Final = Threshold(
    0.2,
    "mean difference in standard errors, between two maxima of one likelihood or two samples of one posterior",
    "two that both stopped short of it; a fifth of a standard error costs a 95% interval half a point of coverage",
)
SAME_LARGEST: Final = Threshold(
    0.5,
    "largest difference in standard errors, between two maxima of one likelihood or two samples of one posterior",
    "half a standard error moves no conclusion",
)
SIMULATED_MEAN: Final = Threshold(
    0.32,
    "mean difference in standard errors, simulated against exact",
    f"slopes of LSAT 6, 2PL: .316 is {_SEEDS}; a shift of the origin counts in full (LSAT 7, Rasch: .262)",
)
SIMULATED_LARGEST: Final = Threshold(
    0.64, "largest difference in standard errors, simulated against exact", f"slopes of LSAT 6, 2PL: .631 is {_SEEDS}"
)
SIMULATED_UNIT: Final = Threshold(
    1.1,
    "difference in standard errors of a slope that all items share (the unit), simulated against exact",
    f"latent SD of LSAT 7, Rasch: 1.094 is {_SEEDS}; one number has no average to quiet it",
)
BOTH_SIMULATED_MEAN: Final = _of_both(SIMULATED_MEAN)
BOTH_SIMULATED_LARGEST: Final = _of_both(SIMULATED_LARGEST)
BOTH_SIMULATED_UNIT: Final = _of_both(SIMULATED_UNIT)
METHOD_MEAN: Final = Threshold(
    0.3,
    "mean difference in standard errors, between methods (joint, marginal, posterior)",
    "methods aim at different centers of the same evidence; .3 of an interval's SE costs it 1 point of coverage",
)
METHOD_LARGEST: Final = Threshold(
    1.0,
    "largest difference in standard errors, between methods",
    "at one standard error the two 95% intervals still share three quarters of their length",
)
METHOD_CORRELATION: Final = Threshold(
    0.995,
    "smallest correlation of intercepts and of abilities, between methods",
    "what is left beside a straight line is then a tenth of the SD",
)
MONTE_CARLO: Final = Threshold(
    4.0,
    "largest difference in Monte Carlo standard errors that chance explains between two posteriors that are one; where "
    "four of them exceed the limit itself, there are too few draws to tell",
    "with errors of a thousand parameters independent, the largest passes 4 in one comparison of sixteen",
)
NO_ERRORS: Final = Threshold(
    0.1,
    "RMSD in SDs of the parameter, where neither fit has standard errors",
    "a tenth of the SD is what a correlation of .995 leaves",
)
RANKS: Final = Threshold(
    0.9,
    "smallest Kendall tau-b for agreement of ranks",
    "one pair of persons in twenty changes places; at .60, one in five, a ranking is taken to have failed",
)
EXPECTED_SCORE: Final = Threshold(
    0.025,
    "largest mean difference of expected scores (stated, decides nothing alone)",
    "score errors of sound estimators mostly lie below it (arXiv:2607.15190)",
)
SIGN_HINT: Final = Threshold(
    -0.9,
    "correlation of locations or abilities below which the sign convention is asked about",
    "no two estimators of one quantity correlate so; easiness against difficulty does (-1)",
)
LIKELIHOOD: Final = Threshold(
    0.1,
    "difference of two marginal log-likelihoods that claim the same maximum",
    "an EM stopped by its default is within 1e-3; 1 is what AIC charges for a parameter",
)
PROPORTIONAL_SLOPES: Final = Threshold(
    0.01,
    "common ratio of the slopes of such a pair beyond which it is named",
    "an EM stopped by its default is at most 7e-4 off in scale; known failures start at 3.7%",
)

FRAME_SHARE: Final = Threshold(
    0.5,
    "share of a shortfall that origin and unit alone must make up for it to be named the scale direction",
    "the greater part; published fits of 5,041 x 249 and x 237 items (GSM8K): .99 and .96",
)
GRID_RISE: Final = Threshold(
    0.5,
    "rise towards the maximum on an engine's own grid, as a share of the true one, above which it stopped too early",
    "1 on a fine grid, 0 at a maximum of what a coarse one reads: -.003 and .02 for fits of GSM8K, where mirt stays",
)
KNOWN_GRID: Final = Threshold(
    0.01,
    "difference of a reported log-likelihood and that on a known grid below which it is taken to be of that grid",
    "tables give two decimals; what is misread is more than ten times as large (see above)",
)
MOST_MISREAD: Final = Threshold(
    0.01,
    "share of a log-likelihood beyond which it is not a grid that misreads it",
    "nodes h apart misread a person by about (h a)^2 J / 120, a response counts 1/2: .4% at h = .5; by mirt's .2 .07%",
)
MOST_SHORTFALL: Final = Threshold(
    0.5,
    "shortfall of log-likelihood a person beyond which a fit did not merely stop early",
    "a unit off by the factor s costs at most (log s)^2 a person: .05 at the largest on record (24%), .5 at a factor 2",
)

THRESHOLDS: Final[dict[str, Threshold]] = {
    "NUMERICAL_ITEM": NUMERICAL_ITEM,
    "NUMERICAL_ABILITY": NUMERICAL_ABILITY,
    "NUMERICAL_PROPORTION": NUMERICAL_PROPORTION,
    "SAME_MEAN": SAME_MEAN,
    "SAME_LARGEST": SAME_LARGEST,
    "SIMULATED_MEAN": SIMULATED_MEAN,
    "SIMULATED_LARGEST": SIMULATED_LARGEST,
    "SIMULATED_UNIT": SIMULATED_UNIT,
    "BOTH_SIMULATED_MEAN": BOTH_SIMULATED_MEAN,
    "BOTH_SIMULATED_LARGEST": BOTH_SIMULATED_LARGEST,
    "BOTH_SIMULATED_UNIT": BOTH_SIMULATED_UNIT,
    "METHOD_MEAN": METHOD_MEAN,
    "METHOD_LARGEST": METHOD_LARGEST,
    "METHOD_CORRELATION": METHOD_CORRELATION,
    "MONTE_CARLO": MONTE_CARLO,
    "NO_ERRORS": NO_ERRORS,
    "RANKS": RANKS,
    "EXPECTED_SCORE": EXPECTED_SCORE,
    "SIGN_HINT": SIGN_HINT,
    "LIKELIHOOD": LIKELIHOOD,
    "PROPORTIONAL_SLOPES": PROPORTIONAL_SLOPES,
    "FRAME_SHARE": FRAME_SHARE,
    "GRID_RISE": GRID_RISE,
    "KNOWN_GRID": KNOWN_GRID,
    "MOST_MISREAD": MOST_MISREAD,
    "MOST_SHORTFALL": MOST_SHORTFALL,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a pair of a kind is held to, once its numerical tolerance is exceeded.

    Parameters
    ----------
    words : str
        Why these limits and not others.
    mean, largest : Threshold
        In standard errors.
    unit : Threshold
        In standard errors, of a slope that all items share: one parameter, and no average over items.
    correlation : Threshold, optional
        Of intercepts and abilities (slopes may hardly vary, and their correlation is noise then).
    ranks_may_do : bool
        Whether agreement of ranks alone is agreement of a kind: not for fits that claim the same maximum.
    """

    words: str
    mean: Threshold
    largest: Threshold
    unit: Threshold
    correlation: Threshold | None
    ranks_may_do: bool


_METHOD: Final = (METHOD_MEAN, METHOD_LARGEST, METHOD_LARGEST, METHOD_CORRELATION)

LIMITS: Final[dict[PairKind, Limits]] = {
    "same likelihood": Limits(
        "both maximize the same likelihood", SAME_MEAN, SAME_LARGEST, SAME_LARGEST, None, ranks_may_do=False
    ),
    "simulated": Limits(
        "one maximizes the same likelihood by simulation",
        SIMULATED_MEAN,
        SIMULATED_LARGEST,
        SIMULATED_UNIT,
        None,
        ranks_may_do=False,
    ),
    "both simulated": Limits(
        "both maximize the same likelihood by simulation",
        BOTH_SIMULATED_MEAN,
        BOTH_SIMULATED_LARGEST,
        BOTH_SIMULATED_UNIT,
        None,
        ranks_may_do=False,
    ),
    "same posterior": Limits(
        "both sample the same posterior", SAME_MEAN, SAME_LARGEST, SAME_LARGEST, None, ranks_may_do=False
    ),
    "posterior": Limits("one is the center of a posterior", *_METHOD, ranks_may_do=True),
    "objective": Limits("they maximize different functions", *_METHOD, ranks_may_do=True),
    "unknown": Limits("what one of them maximized is not known", *_METHOD, ranks_may_do=True),
    "proportion": Limits("a proportion is compared by ranks and expected scores only", *_METHOD, ranks_may_do=True),
}

#: Kinds in which another seed gives another answer.
SIMULATED_KINDS: Final[tuple[PairKind, ...]] = ("simulated", "both simulated")
