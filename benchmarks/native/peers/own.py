"""Our estimators, by registry name."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from child import main  # beside this script

import psychoeval as pe
from psychoeval.estimators.native import mml_grid

#: Operations of the products of data and nodes, and CPU seconds of the E-steps they are in, since `fit` began.
_spent = {"product_flops": 0.0, "step_cpu": 0.0}


def prepare(cells: np.ndarray[Any, Any], settings: dict[str, Any]) -> pe.Responses:
    missing = cells == 255
    if missing.any():
        return pe.Responses.from_array(np.where(missing, 0, cells), trials=(~missing).astype(np.uint8))
    return pe.Responses.from_array(cells)


def count_products() -> None:
    """Count what the E-steps of `mml` spend."""
    e_step = mml_grid.e_step

    def counted(cells: Any, form: Any, point: Any, nodes: Any) -> Any:
        began = time.process_time()
        found = e_step(cells, form, point, nodes)
        _spent["step_cpu"] += time.process_time() - began
        products = 0 if cells.equal_trials and form.is_linear else 2
        _spent["product_flops"] += products * 2.0 * cells.n_persons * cells.n_items * nodes.theta.size
        return found

    mml_grid.e_step = counted


def fit(responses: pe.Responses, settings: dict[str, Any]) -> dict[str, Any]:
    _spent.update(product_flops=0.0, step_cpu=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the status
        result = pe.fit(responses, model="2PL", allow_free_2pl=True, **settings)
    items, abilities = result.item_parameters, result.abilities
    assert items is not None
    assert abilities is not None
    errors = items.standard_errors or {}
    return {
        "theta": abilities.estimate,
        "theta_se": abilities.standard_error,
        "a": items.discrimination,
        "d": items.intercept,
        "a_se": errors.get("discrimination"),
        "b_se": errors.get("difficulty"),
        "log_likelihood": result.log_likelihood,
        "status": result.convergence.status,
        "iterations": result.convergence.iterations,
        **_spent,
    }


def blas_peak(n: int = 1536, repeats: int = 6) -> float:
    """Return the float64 operations a second of CPU that a large matrix product reaches in this process."""
    x = np.ones((n, n))
    x @ x
    start = time.process_time()
    for _ in range(repeats):
        x @ x
    return repeats * 2.0 * n**3 / (time.process_time() - start)


if __name__ == "__main__":
    count_products()
    main(prepare, fit, after=lambda: {"blas_peak": blas_peak()})
