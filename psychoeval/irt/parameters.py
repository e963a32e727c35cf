"""Item parameters and abilities: labelled arrays with uncertainty and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import DataError
from psychoeval.irt.intervals import wald_interval, wilson_interval

FloatArray = NDArray[np.float64]

ItemStatus = Literal["estimated", "runaway", "constant_all_0", "constant_all_1", "no_responses"]
PersonStatus = Literal["estimated", "extreme_all_0", "extreme_all_1", "no_responses", "ml_infinite"]
AbilityMethod = Literal["EAP", "MAP", "ML", "WLE", "mean", "least squares", "imported"]
AbilityScale = Literal["logit", "proportion"]
Uncertainty = Literal["items fixed", "items estimated", "items sampled"]

#: Below this |a| the difficulty -d/a is dominated by the error of a (case: a = .02 gives b = -55).
UNSTABLE_SLOPE = 0.05
_SLOPE_INTERCEPT = ("slope", "intercept", "guessing")


def readonly(values: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return `values` as a read-only float64 array of the given shape.

    Raises
    ------
    DataError
        If the shape differs.
    """
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise DataError(f"{what} has shape {array.shape}, not {shape}.", "Give one value for each id.")
    array.flags.writeable = False
    return array


def in_place(values: NDArray[np.generic], places: NDArray[np.intp] | NDArray[np.bool_], n: int) -> FloatArray:
    """Return (n, ...) with `values` at `places`, positions or a mask, and NaN elsewhere."""
    out = np.full((n, *values.shape[1:]), np.nan)
    out[places] = values
    return out


@dataclass(frozen=True, slots=True)
class ItemParameters:
    """Parameters of J items, stored as slope, intercept and lower asymptote.

    P(x = 1 | theta) = c + (1 - c) / (1 + exp(-(a theta + d))), D = 1, and b = -d / a.

    Parameters
    ----------
    item_ids : tuple of str, length J
    discrimination, intercept, guessing : (J,) arrays
        a, d and c in logits and probability; NaN where an item has no estimate (see `status`).
    covariance : (J, 3, 3) array, optional
        Sampling covariance of (a, d, c) of each item; rows and columns of fixed parameters are 0.
    status : tuple of str, length J
    no_errors_because : str
        Why `covariance` is missing.
    joint_covariance : (P, P) array, optional
        Covariance of all free parameters together, in the order of `joint_labels`.
    joint_labels : tuple of (item id, "a" | "d" | "c")
        A parameter common to all items has the item id "".
    """

    item_ids: tuple[str, ...]
    discrimination: FloatArray
    intercept: FloatArray
    guessing: FloatArray
    covariance: FloatArray | None = None
    status: tuple[ItemStatus, ...] = ()
    no_errors_because: str = ""
    joint_covariance: FloatArray | None = None
    joint_labels: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        n = len(self.item_ids)
        for name in ("discrimination", "intercept", "guessing"):
            object.__setattr__(self, name, readonly(getattr(self, name), (n,), name))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", readonly(self.covariance, (n, 3, 3), "covariance"))
        if self.joint_covariance is not None:
            p = len(self.joint_labels)
            object.__setattr__(self, "joint_covariance", readonly(self.joint_covariance, (p, p), "joint_covariance"))
        if not self.status:
            object.__setattr__(self, "status", ("estimated",) * n)
        if len(self.status) != n or len(set(self.item_ids)) != n:
            raise DataError("Item ids repeat, or do not match the statuses.", "Give unique ids and one status each.")

    @property
    def n_items(self) -> int:
        """Number of items J."""
        return len(self.item_ids)

    @property
    def difficulty(self) -> FloatArray:
        """B = -d / a, (J,); infinite or huge where a is near 0 (see `difficulty_is_stable`)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -self.intercept / self.discrimination

    @property
    def difficulty_is_stable(self) -> NDArray[np.bool_]:
        """Whether |a| is at least .05, (J,): below it b says nothing about the item."""
        return np.abs(self.discrimination) >= UNSTABLE_SLOPE

    @property
    def standard_errors(self) -> dict[str, FloatArray] | None:
        """Standard errors of ``discrimination``, ``intercept``, ``guessing`` and ``difficulty``, each (J,).

        That of b is by the delta method, var b = (var d + b^2 var a + 2 b cov(a, d)) / a^2.
        None without a covariance; NaN for items without an estimate, 0 for fixed parameters.
        """
        if self.covariance is None:
            return None
        variance = self.covariance
        b = self.difficulty
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            var_b = (variance[:, 1, 1] + b**2 * variance[:, 0, 0] + 2 * b * variance[:, 0, 1]) / self.discrimination**2
            return {
                "discrimination": np.sqrt(variance[:, 0, 0]),
                "intercept": np.sqrt(variance[:, 1, 1]),
                "guessing": np.sqrt(variance[:, 2, 2]),
                "difficulty": np.sqrt(var_b),
            }

    @property
    def estimated(self) -> NDArray[np.bool_]:
        """Which items have finite parameters, (J,)."""
        return np.isfinite(self.discrimination) & np.isfinite(self.intercept) & np.isfinite(self.guessing)

    @classmethod
    def from_difficulty(
        cls,
        item_ids: Sequence[str],
        discrimination: ArrayLike,
        difficulty: ArrayLike,
        guessing: ArrayLike = 0.0,
        *,
        standard_errors: dict[str, ArrayLike] | None = None,
    ) -> ItemParameters:
        """Make parameters from a, b and c.

        Parameters
        ----------
        item_ids : sequence of str, length J
        discrimination, difficulty, guessing : array-like, (J,) or scalar
        standard_errors : dict, optional
            ``discrimination``, ``difficulty``, ``guessing``; errors of a and b are taken as independent.
        """
        n = len(item_ids)
        a, b, c = (np.broadcast_to(np.asarray(v, float), (n,)) for v in (discrimination, difficulty, guessing))
        covariance = None
        if standard_errors is not None:
            se = {k: np.broadcast_to(np.asarray(v, float), (n,)) for k, v in standard_errors.items()}
            zero = np.zeros(n)
            var_a, var_b = se.get("discrimination", zero) ** 2, se.get("difficulty", zero) ** 2
            covariance = np.zeros((n, 3, 3))
            covariance[:, 0, 0] = var_a
            covariance[:, 1, 1] = a**2 * var_b + b**2 * var_a
            covariance[:, 0, 1] = covariance[:, 1, 0] = -b * var_a
            covariance[:, 2, 2] = se.get("guessing", zero) ** 2
        return cls(tuple(item_ids), a, -a * b, c, covariance)

    @classmethod
    def from_slope_intercept(
        cls,
        item_ids: Sequence[str],
        slope: ArrayLike,
        intercept: ArrayLike,
        guessing: ArrayLike = 0.0,
        *,
        standard_errors: dict[str, ArrayLike] | None = None,
    ) -> ItemParameters:
        """Make parameters from a, d and c in P = c + (1 - c) / (1 + exp(-(a theta + d))), logits with D = 1.

        Parameters
        ----------
        item_ids : sequence of str, length J
        slope, intercept, guessing : array-like, (J,) or scalar
        standard_errors : dict, optional
            ``slope``, ``intercept``, ``guessing``; taken as independent, and 0 where not given.

        Examples
        --------
        >>> ItemParameters.from_slope_intercept(["q1", "q2"], [1.0, 2.0], [0.5, 1.0]).difficulty
        array([-0.5, -0.5])
        """
        n = len(item_ids)
        a, d, c = (np.broadcast_to(np.asarray(v, float), (n,)) for v in (slope, intercept, guessing))
        covariance = None
        if standard_errors is not None:
            if unknown := [name for name in standard_errors if name not in _SLOPE_INTERCEPT]:
                raise DataError(
                    f"There is no parameter {unknown[0]!r} to have errors.", f"Name {', '.join(_SLOPE_INTERCEPT)}."
                )
            errors = [np.broadcast_to(np.asarray(standard_errors.get(k, 0.0), float), (n,)) for k in _SLOPE_INTERCEPT]
            covariance = np.stack(errors, axis=1)[:, :, None] ** 2 * np.eye(3)
        return cls(tuple(item_ids), a, d, c, covariance)

    def select(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> ItemParameters:
        """Return the chosen items, in the given order; the joint covariance is dropped."""
        index = np.arange(self.n_items)[keep]
        return ItemParameters(
            tuple(self.item_ids[i] for i in index),
            self.discrimination[index],
            self.intercept[index],
            self.guessing[index],
            None if self.covariance is None else self.covariance[index],
            tuple(self.status[i] for i in index),
            self.no_errors_because,
        )


@dataclass(frozen=True, slots=True)
class Abilities:
    """Abilities, or their stand-ins on the proportion scale, of N persons.

    Parameters
    ----------
    person_ids : tuple of str, length N
    estimate : (N,) array
        NaN where a person has none; +-inf where maximum likelihood has no finite value.
    standard_error : (N,) array, optional
        Posterior SD for EAP. inf where the estimate is infinite.
    method : str
        How they were scored.
    scale : {"logit", "proportion"}
    uncertainty : {"items fixed", "items estimated", "items sampled"}
        What the standard error holds of the items. ``"items fixed"``: nothing, these items as if known. ``"items
        estimated"``: the errors of their parameters; it is about these items still. ``"items sampled"``: which items
        were drawn, about items like these. Errors of different kinds are not set side by side.
    status : tuple of str, length N
    covariance : (N, N) array, optional
        Where known; needed for the error of a difference when estimates share something.
    effective_n : (N,) array, optional
        Proportions only: how many independent 0/1 items the estimate is worth. Where given, intervals are Wilson's
        with it, asymmetric and inside [0, 1], instead of estimate -+ z SE.
    n_units : (N,) array, optional
        Proportions only: items, or clusters of items, that each estimate rests on. Differences are tested with what so
        few allow (`psychoeval.irt.ranking.few_units_p`).
    """

    person_ids: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray | None
    method: AbilityMethod
    scale: AbilityScale = "logit"
    uncertainty: Uncertainty = "items fixed"
    status: tuple[PersonStatus, ...] = ()
    covariance: FloatArray | None = None
    effective_n: FloatArray | None = None
    n_units: FloatArray | None = None

    def __post_init__(self) -> None:
        n = len(self.person_ids)
        object.__setattr__(self, "estimate", readonly(self.estimate, (n,), "estimate"))
        if self.standard_error is not None:
            object.__setattr__(self, "standard_error", readonly(self.standard_error, (n,), "standard_error"))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", readonly(self.covariance, (n, n), "covariance"))
        if self.effective_n is not None:
            object.__setattr__(self, "effective_n", readonly(self.effective_n, (n,), "effective_n"))
        if self.n_units is not None:
            object.__setattr__(self, "n_units", readonly(self.n_units, (n,), "n_units"))
        if not self.status:
            object.__setattr__(self, "status", ("estimated",) * n)
        if len(self.status) != n or len(set(self.person_ids)) != n:
            raise DataError("Person ids repeat, or do not match the statuses.", "Give unique ids and one status each.")

    @property
    def n_persons(self) -> int:
        """Number of persons N."""
        return len(self.person_ids)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits, (N,) each: Wilson's where `effective_n` is given, else estimate -+ z SE.

        Parameters
        ----------
        level : float
            Confidence level in (0, 1).

        Returns
        -------
        low, high : (N,) arrays
            NaN where there is no estimate or no standard error.
        """
        if self.effective_n is not None:
            return wilson_interval(self.estimate, self.effective_n, level)
        error = np.full(self.estimate.shape, np.nan) if self.standard_error is None else self.standard_error
        return wald_interval(self.estimate, error, level)
