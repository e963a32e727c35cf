"""Chains of the sampled fits: grade, why, what to do, the worst parameters and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psychoeval import plots
from psychoeval.agreement.prediction import Prediction
from psychoeval.agreement.sampled import WORST, chains_row
from psychoeval.report.pictures import Picture, picture
from psychoeval.report.shrinkage import Shrinkage, shrinkage
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.sampling import Parameter, Sampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychoeval.agreement.comparison import Comparison

#: With more sampled fits than this their pictures are folded.
FEW: Final = 2
#: Rows of the pictures of chains and of ranks: a page holds them.
_TRACES, _RANKS = 3, 40


@dataclass(frozen=True, slots=True)
class Worst:
    """One of the parameters that are farthest from good; `error_in_sd` is its MCSE in posterior SDs."""

    figures: Parameter
    error_in_sd: float


@dataclass(frozen=True, slots=True)
class Run:
    """The chains of one fit."""

    label: str
    row: dict[str, Any]
    sampling: Sampling
    worst: tuple[Worst, ...]
    pictures: tuple[Picture, ...]
    no_pictures: str


@dataclass(frozen=True, slots=True)
class SamplingSection:
    """All sampled fits; `n_pictures` of them are numbered before those of the section of pictures."""

    runs: tuple[Run, ...]
    shrinkage: tuple[Shrinkage, ...]
    predictions: tuple[Prediction, ...]
    folded: bool

    @property
    def n_pictures(self) -> int:
        """How many pictures there are."""
        return sum(len(r.pictures) for r in self.runs)


def sampling_section(comparison: Comparison, noun: str) -> SamplingSection | None:
    """Return what the report says of chains, None where no fit was sampled."""
    named = [(n, f, f.sampling) for n, f in zip(comparison.names, comparison.fits, strict=True)]
    runs = tuple(_run(n, f, run, noun) for n, f, run in named if run is not None)
    if not runs:
        return None
    return SamplingSection(runs, shrinkage(comparison), comparison.predictions, len(runs) > FEW)


def _run(name: str, fit: FitResult, run: Sampling, noun: str) -> Run:
    worst = tuple(Worst(p, _in_sd(fit.draws, p)) for p in run.worst(WORST))
    shown: tuple[Picture, ...] = () if fit.draws is None else tuple(_pictures(name, fit, fit.draws, run, noun))
    why = "The draws were not kept, so there is nothing to draw." if fit.draws is None else ""
    return Run(name, chains_row(run), run, worst, shown, why)


def _in_sd(draws: Draws | None, of: Parameter) -> float:
    """Return the Monte Carlo error of a parameter's mean in posterior SDs; NaN where the draws were not kept."""
    if draws is None:
        return float("nan")
    sd = float(draws.pooled(of.quantity).reshape(draws.n_chains * draws.n_draws, -1)[:, of.place].std(ddof=1))
    return of.mcse_mean / sd if sd > 0 else float("nan")


def _pictures(name: str, fit: FitResult, draws: Draws, run: Sampling, noun: str) -> Sequence[Picture]:
    wanted: list[tuple[str, str, str, Callable[[], Figure]]] = [
        (
            f"Chains of {name}: the parameters that mix worst",
            "Chains that lie over one another, and flat histograms of ranks, are what good chains look like.",
            f"Traces and rank histograms by chain of the parameters of {name} that are farthest from good; their R-hat "
            "and ESS are in the table of the worst parameters.",
            lambda: plots.chain_traces(draws, run, limit=_TRACES),
        ),
        (
            f"How sure the ranks of {name} are",
            f"A narrow dark band: the rank of that {noun} is known; a wide pale one: many ranks are possible.",
            f"Heat map of the posterior probability of each rank of each {noun} by {name}.",
            lambda: plots.rank_probabilities(draws, noun=noun, limit=_RANKS),
        ),
    ]
    for term, what in (("discrimination", "slopes"), ("guessing", "guessing")):
        if term in draws.values and fit.model is not None and fit.model.name in ("2PL", "3PL"):
            wanted.append(_of_prior(name, fit, term, what))
    if draws.replicated_scores is not None:
        wanted.append(
            (
                f"Raw scores as observed and as {name} expects them",
                f"Bars outside the band are scores that more, or fewer, {noun}s have than the model expects.",
                f"Observed raw scores of the {noun}s with the posterior predictive interval of {name}.",
                lambda: plots.score_check(draws, noun=noun),
            )
        )
    return [picture(*w) for w in wanted]


def _of_prior(name: str, fit: FitResult, term: Any, what: str) -> tuple[str, str, str, Callable[[], Figure]]:
    return (
        f"What the data add to the prior of {what}: {name}",
        "Where the blue distribution lies on the grey one, the data say little about that item beyond its prior.",
        f"Prior and posterior densities of the {what} of a few items by {name}, with their overlap.",
        lambda: plots.prior_posterior(fit, term),
    )
