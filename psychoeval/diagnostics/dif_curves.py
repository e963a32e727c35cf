"""Columns of methods that give an item's parameters in both groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.diagnostics.dif_groups import TESTED
from psychoeval.irt.dif_area import Areas
from psychoeval.irt.parameters import in_place

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def curve_columns(
    focal: FloatArray, reference: FloatArray, area: Areas, usable: BoolArray, level: float
) -> dict[str, NDArray[Any]]:
    """Return parameters of both groups on one scale, and areas with intervals, in the places of the M usable items.

    Parameters
    ----------
    focal, reference : (M, 3) arrays
        a, d, c.
    area : Areas
        Of these.
    usable : (J,) bool array
    level : float
    """
    z = ndtri(0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        b1, b2 = (np.where(i[:, 0] != 0, -i[:, 1] / i[:, 0], np.nan) for i in (focal, reference))
    values = {
        "slope_reference": reference[:, 0], "slope_focal": focal[:, 0],
        "difficulty_reference": b2, "difficulty_focal": b1,
        "signed_area": area.signed, "signed_low": area.signed - z * area.signed_error,
        "signed_high": area.signed + z * area.signed_error,
        "unsigned_area": area.unsigned, "unsigned_low": np.maximum(area.unsigned - z * area.unsigned_error, 0),
        "unsigned_high": area.unsigned + z * area.unsigned_error,
    }  # fmt: skip
    out: dict[str, NDArray[Any]] = {name: in_place(v, usable, usable.size) for name, v in values.items()}
    out["area_status"] = np.full(usable.size, "not tested", dtype=object)
    out["area_status"][usable] = _area_status(focal, reference, area)
    return out


def _area_status(focal: FloatArray, reference: FloatArray, area: Areas) -> NDArray[Any]:
    infinite = focal[:, 2] != reference[:, 2]
    lacking = np.where(infinite, "infinite: the lower asymptotes differ", "a slope is flat or of another sign")
    without = np.where(np.isfinite(area.signed_error), TESTED, "no errors: the information is not positive definite")
    return np.where(np.isfinite(area.signed), without, lacking).astype(object)
