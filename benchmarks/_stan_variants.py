"""The programs of stan/ with a few lines put in the place of others, for posteriors published under other priors."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.stan.backend import Sampled, SamplingJob
from psychoeval.estimators.stan.backend_stanli import StanliBackend
from psychoeval.estimators.stan.data import program, stan_data
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.sampling_figures import convergence_figures

FloatArray = NDArray[np.float64]


def with_lines(source: str, lines: Mapping[str, str]) -> str:
    """Return a program with each line, named by its whole text but for blanks around it, replaced.

    Raises
    ------
    ValueError
        If a line is not there exactly once: the program has changed.
    """
    text = source.splitlines()
    for old, new in lines.items():
        found = [k for k, line in enumerate(text) if line.strip() == old]
        if len(found) != 1:
            raise ValueError(f"The program does not have the line {old!r} exactly once.")
        text[found[0]] = new
    return "\n".join(text) + "\n"


def sample_variant(
    lines: Mapping[str, str],
    responses: Responses,
    model: ItemModel,
    *,
    chains: int,
    warmup: int,
    samples: int,
    adapt_delta: float,
    seed: int = 1,
    more_starts: Mapping[str, float] | None = None,
) -> Sampled:
    """Sample a variant of the model's program as `stan-hmc` samples the program: its data, starts and back end."""
    data = stan_data(responses, model)
    starts = initial_values(responses, model, data, chains=chains, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "variant.stan")
        path.write_text(with_lines(program_source(program(model)), lines))
        job = SamplingJob(
            program=path,
            data=data,
            inits=tuple({**start, **(more_starts or {})} for start in starts),
            chains=chains,
            warmup=warmup,
            samples=samples,
            seed=seed,
            adapt_delta=adapt_delta,
            max_treedepth=10,
            n_jobs=2,
        )
        return StanliBackend().sample(job)


def mean_and_sd(draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return mean and SD of P parameters from (C, S, P) draws, and the Monte Carlo standard error of each.

    The SD's by the delta method, from that of the mean of squared deviations: SE(s) = SE(s^2) / (2 s).
    """
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    of_square = convergence_figures((draws - mean) ** 2).mcse_mean
    return mean, sd, convergence_figures(draws).mcse_mean, of_square / (2.0 * sd)
