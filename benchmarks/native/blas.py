"""Where the limit lies: the share of the machine's matrix-product rate that marginal fits reach.

Complete 2PL data enter an E-step by sums alone, so there is no product of data and nodes to measure. With missing cells
persons do not share their curves, and an E-step has two: trials (N, J) with the curves (J, Q) at Q nodes, and its
transpose with the posterior weights (N, Q), 2 N J Q operations each.
"""

from __future__ import annotations

from benchmarks.native.data import Size, simulate
from benchmarks.native.programs import Program
from benchmarks.native.runs import run

SIZE = Size(1000, 5000, missing=0.4)


def share_of_peak(program: Program, limit: float) -> str:
    """Return the sentence for `program`, measured in one child process on data with missing cells."""
    found = run(program, simulate(SIZE, 0), size=SIZE.name, seed=0, limit=limit, likelihood=False)
    if found.problem:
        return f"{SIZE.name}: {found.problem}"
    flops, peak, steps = (float(found.facts[name]) for name in ("product_flops", "blas_peak", "step_cpu"))
    cpu = found.values["cpu"]
    return (
        f"Products of data and nodes: none in complete data. With {SIZE.missing:.0%} of {SIZE.n_persons} x "
        f"{SIZE.n_items} missing {flops / 1e9:.1f} GFLOP; at the {peak / 1e9:.0f} GFLOP/s that dgemm has here, "
        f"they would be {flops / peak:.2f} of the {steps:.2f} CPU s of the E-steps ({flops / peak / steps:.0%}) and of "
        f"the {cpu:.2f} CPU s of fit, errors and scores ({flops / peak / cpu:.0%})."
    )
