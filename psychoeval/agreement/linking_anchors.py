"""The table of anchors: what is common on both sides, what is left of its difference, and whether it drifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.linking_sides import Anchors, PersonAnchors
from psychoeval.irt.anchor_drift import differences, differences_with_errors, robust_limit, robust_z, wald
from psychoeval.irt.linking import Constants
from psychoeval.irt.linking_law import linked, linked_difficulty
from psychoeval.irt.paired import holm
from psychoeval.irt.parameters import UNSTABLE_SLOPE, readonly

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: Names of the tests in the column ``drift``.
WALD: Final = "Wald"
ROBUST: Final = "robust z"


@dataclass(frozen=True, slots=True)
class AnchorTable:
    """M anchors.

    Parameters
    ----------
    kind : {"item", "person"}
    ids : tuple of str, length M
    used : tuple of bool, length M
        Whether it took part in A and B.
    columns : mapping of name to (M,) array
        Of items: ``slope_`` and ``difficulty_`` ``given``, ``linked`` (given, on the scale of onto) and ``onto``;
        ``slope_difference`` and ``intercept_difference``, linked minus onto; ``wald`` with ``df``, ``p`` and ``p_holm``
        (adjusted for all anchors): whether these two are 0, the errors of A and B counted in, slope and intercept
        together; ``robust_z_slope`` of log |slope| and ``robust_z_difficulty``, which need no errors. Of persons:
        ``given``, ``linked``, ``onto``, ``difference``, ``robust_z``. NaN where a number does not exist.
    drift : tuple of str, length M
        Which say that it drifted: "", "Wald", "robust z" or both. The Wald tests are adjusted for their number; robust
        z is not, and of many anchors it points at some that are sound.
    """

    kind: str
    ids: tuple[str, ...]
    used: tuple[bool, ...]
    columns: Mapping[str, FloatArray]
    drift: tuple[str, ...]

    def __post_init__(self) -> None:
        fixed = {name: readonly(values, (len(self.ids),), name) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", fixed)

    @property
    def drifted(self) -> tuple[str, ...]:
        """Ids of the anchors that drifted: by the Wald test, or by robust z where there is no Wald test.

        An anchor that drifted also moves A and B, and so the others: exclude it and link again.
        """
        tested = self.columns.get("p_holm", np.full(len(self.ids), np.nan))
        pairs = zip(self.ids, self.drift, np.isfinite(tested), strict=True)
        return tuple(i for i, said, by_wald in pairs if (WALD if by_wald else ROBUST) in said)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an anchor."""
        import pandas as pd

        return pd.DataFrame({self.kind: self.ids, "used": self.used, **self.columns, "drift": self.drift})


def item_anchors(common: Anchors, constants: Constants, level: float) -> AnchorTable:
    """Return the table of common items."""
    first, second, a, b = common.first, common.second, constants.scale, constants.shift
    with np.errstate(divide="ignore", invalid="ignore"):
        b1, b2 = (-items[:, 1] / items[:, 0] for items in (first, second))
        ratio = np.log(np.abs(first[:, 0] / second[:, 0]))
        steep = np.minimum(np.abs(first[:, 0]), np.abs(second[:, 0])) >= UNSTABLE_SLOPE
        moved = np.where(steep, b2 - linked_difficulty(b1, a, b), np.nan)
        z = robust_z(np.where(steep, ratio, np.nan)), robust_z(moved)
    none = np.full(len(first), np.nan)
    statistic, df, p = none, none, none
    left = differences(first, second, a, b)
    if common.covariance is not None:
        statistic, degrees, p = wald(differences_with_errors(first, second, constants, common.covariance))
        df = degrees.astype(np.float64)
    adjusted = holm(p)
    columns = {
        "slope_given": first[:, 0], "slope_linked": linked(first, a, b)[:, 0], "slope_onto": second[:, 0],
        "difficulty_given": b1, "difficulty_linked": linked_difficulty(b1, a, b), "difficulty_onto": b2,
        "slope_difference": left[:, 0], "intercept_difference": left[:, 1],
        "wald": statistic, "df": df, "p": p, "p_holm": adjusted,
        "robust_z_slope": z[0], "robust_z_difficulty": z[1],
    }  # fmt: skip
    return AnchorTable("item", common.ids, _bools(common.used), columns, _drift(adjusted, z, level))


def person_anchors(common: PersonAnchors, scale: float, shift: float, level: float) -> AnchorTable:
    """Return the table of common persons; there is no Wald test of them."""
    moved = linked_difficulty(common.first, scale, shift)
    z = robust_z(common.second - moved)
    columns = {
        "given": common.first, "linked": moved, "onto": common.second, "difference": moved - common.second,
        "robust_z": z,
    }  # fmt: skip
    said = _drift(np.full(z.size, np.nan), (z,), level)
    return AnchorTable("person", common.ids, _bools(common.used), columns, said)


def _bools(used: NDArray[np.bool_]) -> tuple[bool, ...]:
    return tuple(bool(v) for v in used)


def _drift(p: FloatArray, z: tuple[FloatArray, ...], level: float) -> tuple[str, ...]:
    far = np.any([np.abs(v) > robust_limit(level) for v in z], axis=0)
    return tuple(
        ", ".join(name for name, said in ((WALD, a), (ROBUST, b)) if said)
        for a, b in zip(p < 1.0 - level, far, strict=True)
    )
