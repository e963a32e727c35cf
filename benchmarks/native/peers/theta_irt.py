"""theta-irt 0.1.1 at its defaults, with its compilation for this shape, which every new shape pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import theta
from child import main


def prepare(cells: np.ndarray[Any, Any], settings: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.where(cells == 255, np.nan, cells.astype(float))


def fit(x: np.ndarray[Any, Any], settings: dict[str, Any]) -> dict[str, Any]:
    model = theta.fit(x, "2PL", **settings)
    ability, error = model.score(x, method="EAP")
    a, b = np.asarray(model.a), np.asarray(model.b)
    return {
        "theta": np.asarray(ability),
        "theta_se": np.asarray(error),
        "a": a,
        "d": -a * b,
        "log_likelihood": float(model.loglik),
        "iterations": int(model.n_iter),
        "status": "converged" if model.converged else "iteration_limit",
    }


if __name__ == "__main__":
    main(prepare, fit)
