"""Coverage of the 95 % intervals on the proportion scale: simple-average, additive, ctt.

Run: python benchmarks/coverage_proportions.py [seeds]. A 2PL world, theta and b standard normal, log a normal with SD
0.3. Targets: the expected score on these items (additive, ctt: items fixed) and on all items like these
(simple-average: items sampled). Monte Carlo errors are clustered by seed.
"""

from __future__ import annotations

import sys

import numpy as np

from psychoeval.errors import DisconnectedDataError
from psychoeval.fitting import fit
from psychoeval.responses.matrix import Responses

POPULATION = 4000


def probability(theta: np.ndarray, items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    b, a = rng.normal(size=items), np.exp(rng.normal(0, 0.3, items))
    return 1 / (1 + np.exp(-a * (theta[:, None] - b))), b


def seen(kind: str, share: float, theta: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "complete":
        return np.ones((theta.size, b.size), dtype=bool)
    weight = np.exp(-((theta[:, None] - b) ** 2) / 2) if kind == "near own level" else np.ones((theta.size, b.size))
    return rng.random(weight.shape) < np.minimum(1, weight * share / weight.mean())


def one(seed: int, n: int, j: int, trials: int, kind: str, share: float) -> list[float] | None:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    p, b = probability(theta, j, rng)
    here = seen(kind, share, theta, b, rng)
    if not (here.any(axis=0).all() and here.any(axis=1).all()):
        return None
    population = probability(theta, POPULATION, rng)[0].mean(axis=1)
    responses = Responses.from_array(np.where(here, rng.binomial(trials, p), 0), trials=trials * here)
    covered = []
    for name, target in (("simple-average", population), ("additive", p.mean(axis=1)), ("ctt", p.mean(axis=1))):
        abilities = fit(responses, name).abilities
        assert abilities is not None
        low, high = abilities.interval()
        covered.append(float(np.mean((low <= target) & (target <= high))))
    return covered


DESIGNS = (
    (10, 20, 1, "complete", 1.0),
    (30, 100, 1, "complete", 1.0),
    (200, 20, 1, "complete", 1.0),
    (30, 100, 10, "complete", 1.0),
    (10, 10, 100, "complete", 1.0),
    (30, 100, 1, "at random", 0.5),
    (200, 20, 1, "at random", 0.5),
    (30, 100, 10, "at random", 0.5),
    (10, 10, 100, "at random", 0.5),
    (30, 100, 1, "near own level", 0.4),
    (30, 100, 10, "near own level", 0.4),
    (10, 10, 100, "near own level", 0.5),
)


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("persons items trials cells           used  simple-average  additive        ctt")
    for design in DESIGNS:
        results = []
        for seed in range(seeds):
            try:
                found = one(seed, *design)
            except DisconnectedDataError:
                continue
            if found is not None:
                results.append(found)
        values = np.array(results)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        shown = "  ".join(f"{m:.3f} (se {e:.3f})" for m, e in zip(values.mean(axis=0), error, strict=True))
        n, j, trials, kind, _ = design
        print(f"{n:7d} {j:5d} {trials:6d} {kind:15s} {len(values):4d}  {shown}", flush=True)


if __name__ == "__main__":
    main()
