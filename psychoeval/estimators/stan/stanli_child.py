"""One chain of stanli, in a child process: its `sample` has no time limit and prints to stdout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stanli

from psychoeval.estimators.stan.child import Answer, StageError, run, say_size, stage


def sample(job: Mapping[str, Any], folder: Path) -> Answer:
    """Compile, read the data, start and sample; the folder's name is the number of the chain."""
    with stage("program"):
        compiled = stanli.stan_to_mir(job["source"])
    with stage("data"):
        model = stanli.Model(mir=compiled, data=folder.parent / "data.json", seed=job["seed"])
    start = None
    if job["inits"]:
        with stage("start"):
            start = model.unconstrain(folder / "inits.json")
    say_size(len(model._column_names()[0]))
    _begin_with_chain(int(folder.name))
    try:
        fit = model.sample(
            chains=1,
            parallel_chains=1,
            seed=job["seed"],
            warmup=job["warmup"],
            samples=job["samples"],
            delta=job["adapt_delta"],
            max_depth=job["max_treedepth"],
            refresh=job["refresh"],
            inits=start,
        )
    except RuntimeError as error:
        raise StageError("start" if "initialization failed" in str(error) else "sampling", str(error)) from error
    return Answer(
        {name: fit.draws(name)[0] for name in fit.variables},
        dict(zip(stanli.SAMPLER_COLUMNS, fit.sampler_stats[0].T, strict=True)),
        {"stanli": f"{stanli.__version__} ({stanli.build_id()})"},
    )


def _begin_with_chain(number: int) -> None:
    """Let the first chain have a number other than 1, and so the random numbers of that chain.

    stanli's library can, as Stan can; its `sample` does not say so. Chain 2 alone then gives the very draws that it
    gives beside chain 1.
    """
    prepare = stanli._lib.stanli_sample_opts_init

    def numbered(options: Any) -> None:
        prepare(options)
        options._obj.chain_id = number

    stanli._lib.stanli_sample_opts_init = numbered


if __name__ == "__main__":
    run(sample)
