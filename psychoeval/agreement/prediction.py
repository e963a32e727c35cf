"""Which sampled model predicts persons it has not seen best: leave-one-out, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psychoeval.errors import PsychoevalError
from psychoeval.results.fit_result import FitResult
from psychoeval.results.loo import Loo, LooDifference, loo, loo_difference


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well one sampled model predicts persons left out, and how far below the best that is.

    Parameters
    ----------
    name : str
    loo : Loo, optional
        None where it could not be computed.
    below_best : LooDifference, optional
        Its density minus the best one's, 0 or less; None for the best itself, and where there is none.
    problem : str
        Why there is no number, "" if there is.
    """

    name: str
    loo: Loo | None
    below_best: LooDifference | None = None
    problem: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before reading the numbers."""
        of_difference = () if self.below_best is None else self.below_best.warnings
        return (*(() if self.loo is None else self.loo.warnings), *of_difference)


def predictions(names: Sequence[str], fits: Sequence[FitResult]) -> tuple[Prediction, ...]:
    """Compare sampled models by leave-one-person-out predictive density, the best first.

    Parameters
    ----------
    names, fits : sequences of length K
        Those with draws of each person's log-likelihood are taken; nothing is compared where they are fewer than two.

    Returns
    -------
    tuple of Prediction
        Those that give no number come last, with the reason; the best is compared with those of the same data only.
    """
    pairs = zip(names, fits, strict=True)
    asked = [(n, f) for n, f in pairs if f.draws is not None and f.draws.log_likelihood is not None]
    if len(asked) < 2:
        return ()
    found = sorted((_alone(n, f) for n, f in asked), key=lambda p: -p.loo.elpd if p.loo is not None else float("inf"))
    data = {n: f.provenance.data_sha256 for n, f in asked}
    return tuple(_beside(found[0], p, data) for p in found)


def _alone(name: str, fit: FitResult) -> Prediction:
    try:
        return Prediction(name, loo(fit))
    except PsychoevalError as error:
        return Prediction(name, None, problem=f"{error.problem} {error.remedy}")


def _beside(best: Prediction, one: Prediction, data: dict[str, str]) -> Prediction:
    if one is best or one.loo is None or best.loo is None:
        return one
    if data[best.name] != data[one.name]:
        return Prediction(one.name, one.loo, problem=f"{best.name} and {one.name} were fitted to different data.")
    try:
        return Prediction(one.name, one.loo, loo_difference(one.loo, best.loo))
    except PsychoevalError as error:
        return Prediction(one.name, one.loo, problem=f"{error.problem} {error.remedy}")
