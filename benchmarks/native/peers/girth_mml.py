"""girth 0.8.0 at its defaults; it returns no standard errors."""

from __future__ import annotations

from typing import Any

import girth
import numpy as np
from child import main


def prepare(cells: np.ndarray[Any, Any], settings: dict[str, Any]) -> np.ndarray[Any, Any]:
    items_by_persons = np.ascontiguousarray(cells.T.astype(int))
    if (cells == 255).any():
        items_by_persons[items_by_persons == 255] = -1
        return np.asarray(girth.tag_missing_data(items_by_persons, [0, 1]))
    return items_by_persons


def fit(x: np.ndarray[Any, Any], settings: dict[str, Any]) -> dict[str, Any]:
    found = girth.twopl_mml(x, **settings)
    a, b = np.asarray(found["Discrimination"]), np.asarray(found["Difficulty"])
    return {"theta": np.asarray(girth.ability_eap(x, b, a)), "a": a, "d": -a * b, "status": "not told"}


if __name__ == "__main__":
    main(prepare, fit)
