"""`map` against SciPy's L-BFGS-B on the same objective, gradient and start, one thread, in one run.

    python benchmarks/map_vs_lbfgsb.py

L-BFGS-B gets the value and gradient of `map` (no curvature computed) in its best coordinates (theta, log a, d) and in
the published ones (theta, b, log a). Times are CPU seconds: of both until the objective is within 1e-6 relative of
the minimum, and of `map` also to full convergence, and with standard errors, which L-BFGS-B does not give.
"""

from __future__ import annotations

import contextlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy loads

import time

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from psychoeval.estimators.native.map_covariance import joint_covariance
from psychoeval.estimators.native.map_hessian import arrow_hessian
from psychoeval.estimators.native.map_objective import JointObjective
from psychoeval.estimators.native.map_penalty import Penalty
from psychoeval.estimators.native.map_steps import minimize
from psychoeval.irt.models import Normal

CLOSE = 1e-6
REPEATS = 3


def simulate(n: int, j: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    theta, a, b = rng.normal(size=n), np.exp(rng.normal(0.0, 0.5, j)), rng.normal(size=j)
    return (rng.random((n, j)) < 1.0 / (1.0 + np.exp(-a * (theta[:, None] - b)))).astype(np.uint8)


class Close(Exception):
    """The objective is close enough."""


def lbfgsb_seconds(objective: JointObjective, minimum: float, *, published: bool) -> tuple[float, float, int]:
    """Return CPU seconds until close, the relative distance reached, and the evaluations used."""
    n, j = objective.n_persons, objective.n_items
    start, best, calls = time.process_time(), np.inf, 0

    def inner(point: np.ndarray) -> np.ndarray:
        theta, b, u = np.split(point, [n, n + j])
        return np.concatenate([theta, u, -np.exp(u) * b])

    def function(point: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, calls
        calls += 1
        at = objective.evaluate(inner(point) if published else point, curvature=False)
        best = min(best, at.value)
        if best - minimum <= CLOSE * abs(minimum):
            raise Close
        if not published:
            return at.value, at.gradient
        _, u, d = objective.split(at.point)
        by_theta, by_u, by_d = objective.split(at.gradient)
        return at.value, np.concatenate([by_theta, -np.exp(u) * by_d, by_u + d * by_d])

    theta, u, d = objective.split(objective.start())
    begin = np.concatenate([theta, -d * np.exp(-u), u]) if published else objective.start()
    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-8}
    with contextlib.suppress(Close):
        scipy_minimize(function, begin, jac=True, method="L-BFGS-B", options=options)
    return time.process_time() - start, (best - minimum) / abs(minimum), calls


def map_seconds(objective: JointObjective, max_iterations: int, *, errors: bool = False) -> float:
    begin = time.process_time()
    found = minimize(objective, objective.start(), tolerance=1e-6, max_iterations=max_iterations)
    if errors:
        joint_covariance(arrow_hessian(objective, found.at))
    return time.process_time() - begin


def main() -> None:
    penalty = Penalty(Normal(0.0, 0.5), Normal(0.0, 2.0), on_difficulty=True)
    for n, j in ((100, 1000), (1000, 1000)):
        x = simulate(n, j)
        objective = JointObjective(x, np.ones_like(x), penalty, slopes="free")
        found = minimize(objective, objective.start(), tolerance=1e-6, max_iterations=200)
        minimum = found.at.value
        gaps = (np.array(found.values) - minimum) / abs(minimum)
        steps = int(np.argmax(gaps <= CLOSE))
        runs = [
            (
                map_seconds(objective, steps),
                map_seconds(objective, 200),
                map_seconds(objective, 200, errors=True),
                lbfgsb_seconds(objective, minimum, published=False),
                lbfgsb_seconds(objective, minimum, published=True),
            )
            for _ in range(REPEATS)
        ]
        close, full, errors, theirs, published = (min(column) for column in zip(*runs, strict=True))
        print(
            f"{n} x {j}: F = {minimum:.6f}, gradient {found.gradient:.1e}\n"
            f"  map: within {gaps[steps]:.1e} after {steps} steps, {close:.3f} s; converged after {found.iterations}, "
            f"{full:.3f} s; with standard errors {errors:.3f} s"
        )
        for name, (seconds, distance, calls) in (("theta, log a, d", theirs), ("theta, b, log a", published)):
            print(
                f"  L-BFGS-B ({name}): within {distance:.1e} after {calls} evaluations, {seconds:.3f} s; "
                f"ratio {seconds / close:.2f} at equal objective, {seconds / full:.2f} to map's full convergence, "
                f"{seconds / errors:.2f} with its standard errors"
            )


if __name__ == "__main__":
    main()
