"""False signals and power of `measure_drift`: rates under a 2PL world with and without contaminated systems.

Run: python benchmarks/drift_error.py [replications]. theta and b standard normal, log a normal with SD 0.3; a
contaminated system knows each public item by heart with probability `share`. Splits: stratified, as `openeval split`
makes them (bands of the observed difficulty), and unlike, where public items are the easier ones. Rates at .05 are
over systems; Monte Carlo errors are between replications. Signals are one-sided after Holm's correction.
"""

from __future__ import annotations

import sys
from typing import Literal, NamedTuple

import numpy as np

from psychoeval.audit.drift import measure_drift
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.openeval_blocks import deal_blocks, difficulty_bands

Split = Literal["stratified", "unlike"]


class Design(NamedTuple):
    """A world: N systems, J items, one of `blocks` held out, so many contaminated systems, and how it is analyzed."""

    n: int
    j: int
    blocks: int = 4
    split: Split = "stratified"
    bands: int = 5
    contaminated: int = 0
    share: float = 0.2
    trials: int = 1
    missing: float = 0.0
    clean_pool: bool = False


def one(design: Design, seed: int) -> tuple[float, ...]:
    """Return rates of p below .05: one-sided, two-sided, any signal among clean systems, power, coverage."""
    rng = np.random.default_rng(seed)
    n, j = design.n, design.j
    a, b, theta = np.exp(rng.normal(0, 0.3, j)), rng.normal(size=j), rng.normal(size=(n, 1))
    p = 1 / (1 + np.exp(-a * (theta - b)))
    seen = design.trials * (rng.random((n, j)) >= design.missing)
    clean = Responses.from_array(rng.binomial(seen, p), seen)
    if design.split == "stratified":  # made before any contamination
        strata = [(s,) for s in difficulty_bands(np.nanmean(clean.proportions, axis=0), [""] * j, 5)]
        hidden = deal_blocks(clean.item_ids, strata, design.blocks, seed) == 0
    else:
        hidden = rng.random(j) < 2 / design.blocks / (1 + np.exp(-b))
    known = (np.arange(n) < design.contaminated)[:, None] & ~hidden
    answers = rng.binomial(seen, np.where(known, p + design.share * (1 - p), p))
    responses = Responses.from_array(answers, seen)
    ids = [name for name, h in zip(responses.item_ids, hidden, strict=True) if h]
    pool = responses.person_ids[design.contaminated :] if design.clean_pool else None
    found = measure_drift(responses, ids, bands=design.bands, reference=pool)
    guilty = np.arange(n) < design.contaminated
    below = [np.asarray(v[~guilty] < 0.05) for v in (found.p_better_on_public, found.p_two_sided, found.p_adjusted)]
    covered = (found.low <= 0) & (found.high >= 0)
    power = float((found.p_adjusted[guilty] < 0.05).mean()) if guilty.any() else float("nan")
    return float(below[0].mean()), float(below[1].mean()), float(below[2].any()), power, float(covered[~guilty].mean())


def rates(design: Design, replications: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean rates and their Monte Carlo errors."""
    found = np.array([one(design, seed) for seed in range(replications)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(replications)


NULL = (
    Design(10, 100), Design(30, 100), Design(30, 400), Design(100, 400), Design(30, 400, bands=1),
    Design(30, 400, blocks=10), Design(30, 400, trials=5), Design(30, 400, missing=0.4),
    Design(30, 400, split="unlike", bands=1), Design(30, 400, split="unlike", bands=5),
    Design(30, 400, split="unlike", bands=10), Design(100, 400, split="unlike", bands=10),
)  # fmt: skip
CONTAMINATED = tuple(
    Design(30, j, contaminated=c, share=share, clean_pool=pool)
    for j in (200, 1000) for c, share, pool in ((1, 0.1, False), (1, 0.2, False), (1, 0.4, False), (6, 0.2, False),
                                                (6, 0.2, True))
)  # fmt: skip


def main(replications: int) -> None:
    """Print one line a design."""
    print(f"{replications} replications; rate (Monte Carlo error)")
    names = ("better on public < .05", "two-sided < .05", "any false signal", "power", "coverage of 0")
    print("; ".join(("design", *names)))
    for design in (*NULL, *CONTAMINATED):
        mean, error = rates(design, replications)
        shown = ", ".join(
            f"{k}={v}" for k, v in design._asdict().items() if k in "nj" or v != Design._field_defaults[k]
        )
        print(f"{shown}: " + "; ".join(f"{m:.3f} ({e:.3f})" for m, e in zip(mean, error, strict=True)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
