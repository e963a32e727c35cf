"""What of the items is estimated, on which scale, and under which priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from psychoeval.errors import ModelError
from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, Normal, refuse_population

FloatArray = NDArray[np.float64]

#: logit c is kept above this (c = 1e-6, which no data tell from 0): without a prior c can run to 0.
LOWEST_LOGIT_GUESSING: Final = float(logit(1e-6))
#: Slopes without end stop at the first, and their intercepts at the second; such items are called runaway at 10.
#: Positive slopes that want to be negative stop at the last; such items are called flat at .05.
STEEPEST: Final = 50.0
FLATTEST: Final = 1e-4
FARTHEST: Final = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The parameters of J items as a point, (J, 2) or (J, 3): slope, intercept d, and logit c where it is estimated.

    Parameters
    ----------
    slopes : {"common", "free"}
        One slope for all items (then equal in all rows), or one an item.
    signed : bool
        Whether the slope parameter is a, of either sign; otherwise it is u = log a.
    guessing : float, optional
        Fixed c; None where it is estimated.
    penalty : Penalty
        Of slopes and locations.
    guessing_prior : LogitNormal or Beta, optional
    estimated_means : bool
        Whether the means of the penalty follow the items.
    slope_is_known : bool
        Whether the common slope keeps its value.
    """

    slopes: Literal["common", "free"]
    signed: bool
    guessing: float | None
    penalty: Penalty
    guessing_prior: LogitNormal | Beta | None = None
    estimated_means: bool = False
    slope_is_known: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of a point."""
        return 3 if self.guessing is None else 2

    @property
    def is_linear(self) -> bool:
        """Whether log odds are linear in ability: then weighted scores are sufficient."""
        return self.guessing == 0.0

    def discrimination(self, point: FloatArray) -> FloatArray:
        """Return a, (J,)."""
        return point[:, 0] if self.signed else np.exp(point[:, 0])

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest value of each column, (p,): of slopes, |d| <= 500, 1e-6 <= c <= 1 - 1e-6."""
        low = [-STEEPEST if self.signed else np.log(FLATTEST), -FARTHEST, LOWEST_LOGIT_GUESSING]
        high = [STEEPEST if self.signed else np.log(STEEPEST), FARTHEST, -LOWEST_LOGIT_GUESSING]
        return np.array(low[: self.n_columns]), np.array(high[: self.n_columns])

    def held(self, point: FloatArray) -> FloatArray:
        """Return `point` inside the bounds."""
        return np.clip(point, *self.bounds)

    def pinned(self, point: FloatArray, gradient: FloatArray) -> NDArray[np.bool_]:
        """Return which parameters stay: at a bound that the gradient points out of, (J, p); a common slope if known."""
        low, high = self.bounds
        out: NDArray[np.bool_] = ((point <= low) & (gradient < 0)) | ((point >= high) & (gradient > 0))
        if self.slopes == "common":
            out[:, 0] = self.slope_is_known
        return out

    def asymptote(self, point: FloatArray) -> FloatArray:
        """Return c, (J,)."""
        return expit(point[:, 2]) if self.guessing is None else np.full(len(point), self.guessing)

    def slope_jacobian(self, point: FloatArray) -> FloatArray:
        """Return the derivative of a by the slope parameter, (J,)."""
        return np.ones(len(point)) if self.signed else np.exp(point[:, 0])


def make_form(model: ItemModel, *, signed: bool) -> Form:
    """Return the form of a model. The Rasch model is the common-slope form: a is then the latent SD.

    Raises
    ------
    ModelError
        If slopes of either sign have a prior on log a, or the means and SDs of priors have densities.
    """
    refuse_population(model, "mml")
    priors = model.priors
    signed = signed and model.name in ("2PL", "3PL")  # one slope for all has no sign of its own
    penalty = Penalty(None, None, False)
    if priors is not None:
        slope = None if model.name == "Rasch" else priors.slope_on_log_scale
        location, on_difficulty = priors.difficulty or priors.intercept, priors.difficulty is not None
        if model.name == "Rasch" and priors.difficulty is not None:  # b = -d
            location, on_difficulty = Normal(-priors.difficulty.mean, priors.difficulty.sd), False
        penalty = Penalty(slope, location, on_difficulty)
    if signed and (penalty.slope is not None or penalty.on_difficulty):
        raise ModelError(
            "Slopes of either sign were asked for under priors on log a or on the difficulty -d / a, which hold for "
            "positive slopes only.",
            'Take slopes="positive", or priors="none".',
        )
    estimated = model.guessing_is_estimated
    given = model.guessing
    return Form(
        slopes="common" if model.name in ("Rasch", "1PL") else "free",
        signed=signed,
        guessing=None if estimated else (float(given) if isinstance(given, (int, float)) else 0.0),
        penalty=penalty,
        guessing_prior=given if isinstance(given, (Beta, LogitNormal)) else None,
        estimated_means=priors is not None and priors.estimated_means,
    )
