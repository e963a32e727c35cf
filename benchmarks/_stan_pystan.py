"""One run of a Stan program in PyStan, in a process of its own: JOB.json ANSWER.npz."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

#: Beside the quantities asked for.
STATISTICS = ("n_leapfrog__", "divergent__")


def main() -> None:
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import stan

    began = time.perf_counter()
    posterior = stan.build(job["source"], data=job["data"], random_seed=job["seed"])
    built = time.perf_counter()
    fit = posterior.sample(
        num_chains=job["chains"],
        num_warmup=job["warmup"],
        num_samples=job["samples"],
        delta=job["adapt_delta"],
        init=job["inits"],
    )
    ended = time.perf_counter()
    # (..., chains x draws), chain after chain -> (chains, draws, ...)
    arrays = {
        name: np.moveaxis(fit[name].reshape(*fit[name].shape[:-1], job["chains"], job["samples"]), (-2, -1), (0, 1))
        for name in (*job["quantities"], *STATISTICS)
    }
    np.savez(sys.argv[2], build_seconds=built - began, seconds=ended - built, **arrays)


if __name__ == "__main__":
    main()
