"""mirt 1.2.0 from PyPI (not R's) at its defaults, without item standard errors unless asked."""

from __future__ import annotations

from typing import Any

import mirt
import numpy as np
from child import main


def prepare(cells: np.ndarray[Any, Any], settings: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.where(cells == 255, np.nan, cells.astype(float))


def fit(x: np.ndarray[Any, Any], settings: dict[str, Any]) -> dict[str, Any]:
    result = mirt.fit_mirt(x, model="2PL", **{"compute_standard_errors": False, **settings})
    scores = mirt.fscores(result, x, method="EAP")
    parameters = result.model.parameters
    a, b = (np.asarray(parameters[name]).ravel() for name in ("discrimination", "difficulty"))
    return {
        "theta": np.asarray(scores.theta).ravel(),
        "theta_se": np.asarray(scores.standard_error).ravel(),
        "a": a,
        "d": -a * b,
        "log_likelihood": float(result.log_likelihood),
        "iterations": int(result.n_iterations),
        "status": "converged" if result.converged else "iteration_limit",
    }


if __name__ == "__main__":
    main(prepare, fit)
