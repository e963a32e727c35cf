"""What MirtEM costs over the same mirt() and fscores() called inside R: 1,000 x 100 2PL, in one run.

python benchmarks/mirt_overhead.py [--errors] [--repeats 5]

Processor time of this process, in which R runs too (rpy2), so that other programs on the machine do not count; fits
alternate. What starting R costs, through both bridges, is printed apart. Ends with 1 if the ratio exceeds 1.05.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from psychoeval.estimators.mirt.estimator import MirtEM
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rpy2 import Rpy2Bridge, start
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.responses.matrix import Responses

LIMIT = 1.05

INSIDE_R = """
inside <- function(job) {
  X <- matrix(job$x, job$n)
  colnames(X) <- paste0("i", seq_len(ncol(X)))
  before <- proc.time()
  fit <- mirt::mirt(X, 1, itemtype = "2PL", SE = job$errors, verbose = FALSE)
  scores <- mirt::fscores(fit, full.scores = TRUE, full.scores.SE = TRUE, verbose = FALSE)
  used <- proc.time() - before
  list(seconds = used[["user.self"]] + used[["sys.self"]], log_likelihood = fit@Fit$logLik)
}
empty <- function(job) {
  loadNamespace("mirt")
  list(done = TRUE)
}
"""


def simulate(n: int, j: int) -> Responses:
    rng = np.random.default_rng(1)
    theta, a, d = rng.normal(size=n), rng.lognormal(0, 0.3, j), rng.normal(size=j)
    return Responses.from_array((rng.random((n, j)) < 1 / (1 + np.exp(-(np.outer(theta, a) + d)))).astype(float))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--errors", action="store_true", help="with standard errors, which take most of mirt's time")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    responses, model = simulate(1000, 100), ItemModel("2PL")
    estimator = MirtEM(bridge="rpy2", standard_errors="oakes" if options.errors else "none")
    job = {"x": np.ravel(responses.proportions, order="F"), "n": responses.n_persons, "errors": options.errors}

    began = time.perf_counter()
    start()
    print(f"start-up of R in this process: {time.perf_counter() - began:.2f} s (once; its probe included)")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "inside.R"
        script.write_text(INSIDE_R)
        RscriptBridge().call(script, "empty", {})
        began = time.perf_counter()
        RscriptBridge().call(script, "empty", {})
        print(
            f"start-up of R in a child process: {time.perf_counter() - began:.2f} s (each fit; mirt's loading included)"
        )

        bridge = Rpy2Bridge()
        inside, outside = [], []
        for repeat in range(options.repeats + 2):
            reply = bridge.call(script, "inside", job)
            before = time.process_time()
            fit = estimator.fit(responses, model)
            used = time.process_time() - before
            assert fit.log_likelihood == reply["log_likelihood"][0], "the two did not compute the same"
            if repeat >= 2:  # R compiles its functions in the first two calls
                inside.append(float(reply["seconds"][0]))
                outside.append(used)
    ratio = statistics.median(outside) / statistics.median(inside)
    print(f"inside R:  {statistics.median(inside):.3f} s ({min(inside):.3f} to {max(inside):.3f})")
    print(f"MirtEM:    {statistics.median(outside):.3f} s ({min(outside):.3f} to {max(outside):.3f})")
    print(f"ratio:     {ratio:.3f} (at most {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
