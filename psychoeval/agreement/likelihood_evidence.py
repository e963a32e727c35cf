"""What is known of two log-likelihoods that claim one maximum, as questions with answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import standardised
from psychoeval.agreement.matching import match
from psychoeval.agreement.own_likelihood import EngineGrid, Frame, OwnLikelihood, engine_grid
from psychoeval.agreement.terms import Pair
from psychoeval.agreement.thresholds import FRAME_SHARE, GRID_RISE, KNOWN_GRID, LIKELIHOOD, MOST_MISREAD, MOST_SHORTFALL
from psychoeval.irt.parameters import UNSTABLE_SLOPE

Cause = Literal["", "stopped early", "grid", "stopped early or grid"]


@dataclass(frozen=True, eq=False)
class LikelihoodEvidence:
    """Two fits that claim one maximum, what each reports, and the likelihood of each one's own parameters.

    Fits are named by position, 0 and 1.

    Parameters
    ----------
    names, fits, reported : (first, second)
    own : (first, second)
        The likelihood of each fit's own items, or why it is not known.
    """

    names: tuple[str, str]
    fits: Pair
    reported: tuple[float, float]
    own: tuple[OwnLikelihood | str, OwnLikelihood | str]

    @property
    def is_known(self) -> bool:
        """Whether the likelihood of both fits' own parameters is known."""
        return all(isinstance(x, OwnLikelihood) for x in self.own)

    def integrated(self, k: int) -> float | None:
        """Return the log-likelihood of a fit's own parameters, None where it is not known."""
        own = self.own[k]
        return own.log_likelihood if isinstance(own, OwnLikelihood) else None

    def value(self, k: int) -> float:
        """Return the integrated log-likelihood where both are known, the reported one otherwise."""
        own = self.integrated(k)
        return own if own is not None and self.is_known else self.reported[k]

    @property
    def high(self) -> int:
        """The fit with the larger value."""
        return 0 if self.value(0) >= self.value(1) else 1

    @property
    def low(self) -> int:
        """The other one."""
        return 1 - self.high

    @property
    def shortfall(self) -> float:
        """How far the lower lies below the higher; 0 or more."""
        return self.value(self.high) - self.value(self.low)

    @property
    def is_apart(self) -> bool:
        """Whether that is more than two fits that reached one maximum may differ by."""
        return self.shortfall > LIKELIHOOD.value

    @property
    def is_too_far(self) -> bool:
        """Whether the lower is further down than a fit that only stopped early."""
        own = self.own[self.low]
        return isinstance(own, OwnLikelihood) and self.shortfall > MOST_SHORTFALL.value * own.cells.n_persons

    @cached_property
    def frame(self) -> Frame | None:
        """Origin and unit that suit the items of the lower best, where it stopped short."""
        own = self.own[self.low]
        wanted = self.is_known and self.is_apart and not self.is_too_far
        return own.best_frame if wanted and isinstance(own, OwnLikelihood) else None

    @property
    def frame_gain(self) -> float:
        """What they add to its log-likelihood, all its curves held."""
        return 0.0 if self.frame is None else self.frame.log_likelihood - self.value(self.low)

    @property
    def is_scale(self) -> bool:
        """Whether the shortfall is, for the greater part, a matter of origin and unit."""
        return self.frame is not None and self.frame_gain >= FRAME_SHARE.value * self.shortfall

    def misread(self, k: int) -> float:
        """Return reported minus integrated; 0 where the latter is not known."""
        own = self.integrated(k)
        return 0.0 if own is None else self.reported[k] - own

    def misreads(self, k: int) -> bool:
        """Whether the reported log-likelihood is not that of the fit's parameters."""
        return abs(self.misread(k)) > LIKELIHOOD.value

    def is_no_grid(self, k: int) -> bool:
        """Whether it is further off than a coarse grid explains."""
        return abs(self.misread(k)) > MOST_MISREAD.value * abs(self.value(k))

    def has_coarse_grid(self, k: int) -> bool:
        """Whether it is off, and a coarse grid may be the cause."""
        return self.misreads(k) and not self.is_no_grid(k)

    def known_grid(self, k: int) -> EngineGrid | None:
        """Return the grid that gives the reported value, where that is known."""
        own, grid = self.own[k], engine_grid(self.fits[k])
        known = isinstance(own, OwnLikelihood) and abs(own.on_grid(grid) - self.reported[k]) <= KNOWN_GRID.value
        return grid if known else None

    @cached_property
    def cause(self) -> Cause:
        """Why the lower is not at the maximum."""
        own, grid = self.own[self.low], self.known_grid(self.low)
        if not self.is_known or not self.is_apart or self.is_too_far or not isinstance(own, OwnLikelihood):
            return ""
        if not self.misreads(self.low):
            return "stopped early"
        if self.frame is None or not self.is_scale or grid is None:
            return "stopped early or grid"
        rises = own.rise(self.frame, grid) >= GRID_RISE.value * own.rise(self.frame)
        return "stopped early" if rises else "grid"

    def ratios(self, over: int, under: int) -> NDArray[np.float64]:
        """Return the ratios of their slopes in the frame of N(0, 1), (M,): of the items whose slopes allow it."""
        one, two = (standardised(self.fits[k])[0].item_parameters for k in (over, under))
        if one is None or two is None:
            return np.empty(0)
        common = match(one.item_ids, two.item_ids)
        a, b = one.discrimination[common.first], two.discrimination[common.second]
        usable = np.isfinite(a + b) & (np.abs(a) >= UNSTABLE_SLOPE) & (np.abs(b) >= UNSTABLE_SLOPE)
        return np.asarray(a[usable] / b[usable])
