"""What a back end of Stan is given and gives back, and which one is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from psychoeval.availability import probe, require
from psychoeval.errors import EngineUnavailableError, SettingsError

FloatArray = NDArray[np.float64]

#: Called with ("chain 2", event); events are "start", "warmup 300/2000", "sampling 1100/2000", "done", "failed". Where
#: a program is compiled first, also with ("compilation", event).
Progress = Callable[[str, str], None]

BackendName = Literal["auto", "cmdstan", "stanli"]

#: Stan's names of what the sampler did -> ours, in ArviZ's words.
SAMPLE_STATS: Mapping[str, str] = {
    "lp__": "lp",
    "accept_stat__": "acceptance_rate",
    "stepsize__": "step_size",
    "treedepth__": "tree_depth",
    "n_leapfrog__": "n_steps",
    "divergent__": "diverging",
    "energy__": "energy",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingJob:
    """A program, its data, and how to sample from it.

    Parameters
    ----------
    program : str or Path
        The stem of a file in ``stan/``, or the path of another Stan program.
    data : mapping
        The program's data: numbers, lists, arrays.
    inits : tuple of mappings, optional
        One a chain, with every parameter on its own (constrained) scale. Without them Stan draws from (-2, 2) on its
        unconstrained scale.
    chains, warmup, samples : int
        Chains, and draws of each.
    seed : int
        With the number of the chain it gives the chain's random numbers.
    adapt_delta : float
        Acceptance rate aimed at, between 0 and 1.
    max_treedepth : int
    timeout : float, optional
        Seconds allowed to all of it, compilation included.
    n_jobs : int
        Chains at a time; the draws do not depend on it.
    output_dir : Path, optional
        Where CmdStan's files are kept; without it they are removed when the draws are in memory.
    progress : callable, optional
        See `Progress`. Called by the thread that samples.
    """

    program: str | Path
    data: Mapping[str, Any]
    inits: tuple[Mapping[str, Any], ...] | None = None
    chains: int
    warmup: int
    samples: int
    seed: int
    adapt_delta: float
    max_treedepth: int
    timeout: float | None = None
    n_jobs: int
    output_dir: Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if min(self.chains, self.samples, self.n_jobs, self.max_treedepth) < 1 or self.warmup < 0:
            raise SettingsError(
                f"chains, samples, n_jobs, max_treedepth and warmup are {self.chains}, {self.samples}, {self.n_jobs}, "
                f"{self.max_treedepth} and {self.warmup}.",
                "Give whole numbers above 0 (warmup may be 0).",
            )
        if self.inits is not None and len(self.inits) != self.chains:
            raise SettingsError(
                f"There are initial values for {len(self.inits)} chains, and {self.chains} chains.",
                "Give one mapping of initial values for each chain.",
            )


@dataclass(frozen=True, slots=True)
class Sampled:
    """The draws of the chains that gave any.

    Parameters
    ----------
    values : mapping
        Stan variable -> array (chains, samples, *shape). Variables of size 0 are not there.
    sample_stats : mapping
        lp, acceptance_rate, step_size, tree_depth, n_steps, diverging, energy -> array (chains, samples).
    chain_numbers : tuple of int
        From 1, of the chains in the arrays.
    failed : mapping
        Number of a chain without draws -> why, in one sentence.
    warmup_seconds, sampling_seconds : tuple of float
        Of each chain in the arrays, as Stan measures them; NaN where it did not say.
    versions : mapping
        Name -> version of what sampled.
    console : str
        What the chains printed.
    return_codes : mapping
        Number of each chain, also of a failed one -> exit status of its process, negative for a signal.
    files : tuple of Path
        Files that were kept (CmdStan with `output_dir`).
    """

    values: Mapping[str, FloatArray]
    sample_stats: Mapping[str, NDArray[Any]]
    chain_numbers: tuple[int, ...]
    failed: Mapping[int, str]
    warmup_seconds: tuple[float, ...]
    sampling_seconds: tuple[float, ...]
    versions: Mapping[str, str]
    console: str
    return_codes: Mapping[int, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


class Backend(Protocol):
    """Runs Stan's NUTS."""

    name: ClassVar[str]

    def sample(self, job: SamplingJob) -> Sampled:
        """Draw from the posterior.

        Raises
        ------
        EngineUnavailableError
            If the back end is not installed.
        EngineFailedError
            If Stan refuses the program, the data or every start, or no chain gives draws.
        FitTimeoutError
            If `job.timeout` is reached; the chains are ended.
        """
        ...


def choose_backend(name: BackendName = "auto") -> Backend:
    """Return a back end that can be used.

    Parameters
    ----------
    name : {"auto", "cmdstan", "stanli"}
        ``"auto"``: CmdStan where one is installed, else stanli. The network is never asked.

    Raises
    ------
    EngineUnavailableError
        With what is missing and how to get it; for ``"auto"`` both ways.
    SettingsError
        If there is no such back end.
    """
    if name not in ("auto", "cmdstan", "stanli"):
        raise SettingsError(f"There is no Stan back end {name!r}.", "Choose auto, cmdstan or stanli.")
    if name == "auto":
        cmdstan, stanli = probe("cmdstan"), probe("stanli")
        if not (cmdstan.available or stanli.available):
            raise EngineUnavailableError(
                f"Nothing here runs Stan. {stanli.problem} {cmdstan.problem}",
                f"One of the two is enough. stanli needs no compiler: {stanli.remedy} Or CmdStan: "
                f"{cmdstan.remedy} Check with: psychoeval doctor",
            )
        name = "cmdstan" if cmdstan.available else "stanli"
    require(name)
    if name == "cmdstan":
        from psychoeval.estimators.stan.backend_cmdstan import CmdStanBackend

        return CmdStanBackend()
    from psychoeval.estimators.stan.backend_stanli import StanliBackend

    return StanliBackend()
