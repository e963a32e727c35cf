"""CmdStan through cmdstanpy, where a CmdStan is installed. The network is never used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from psychoeval.availability import EngineState, require
from psychoeval.children import writing
from psychoeval.errors import EngineFailedError, StoredFileError
from psychoeval.estimators.stan.backend import Sampled, SamplingJob
from psychoeval.estimators.stan.chains import (
    Deadline,
    our_stats,
    run_children,
    sample_chains,
    work_folder,
    write_job,
)
from psychoeval.estimators.stan.compiled import (
    CPP_OPTIONS,
    STANC_OPTIONS,
    check_cache,
    check_cache_room,
    executable,
    keep,
    workshop,
)
from psychoeval.estimators.stan.refusals import refusal
from psychoeval.estimators.stan.source import program_name, program_source

_CHILD = "psychoeval.estimators.stan.cmdstan_child"


@dataclass(frozen=True, slots=True)
class CmdStanBackend:
    """Compiles a program once for each user, then runs one CmdStan process a chain.

    Parameters
    ----------
    exe_file : Path, optional
        A program that is already compiled, for machines where nothing can be; then no CmdStan need be installed.
    """

    name: ClassVar[str] = "cmdstan"

    exe_file: Path | None = None

    def sample(self, job: SamplingJob) -> Sampled:
        """See `psychoeval.estimators.stan.backend.Backend.sample`."""
        deadline = Deadline(job.timeout)
        if self.exe_file is None:
            state = require("cmdstan")
            exe_file, environment = compiled(job, state, deadline), {"CMDSTAN": state.paths["cmdstan"]}
        else:
            exe_file, environment = self.exe_file, {}
        output = None if job.output_dir is None else _made(job.output_dir)
        with work_folder(job) as folder:
            write_job(job, folder, exe_file=str(exe_file), output_dir=None if output is None else str(output))
            return sample_chains(job, _CHILD, program_name(job.program), folder, deadline, environment)


def compiled(job: SamplingJob, state: EngineState, deadline: Deadline) -> Path:
    """Return the compiled program of a job, from the cache where it is there.

    Raises
    ------
    EngineFailedError
        If it cannot be compiled or the cache cannot be written.
    FitTimeoutError
        If the time is over.
    """
    name, source = program_name(job.program), program_source(job.program)
    cmdstan, version = state.paths["cmdstan"], state.versions["cmdstan"]
    target = executable(name, source, cmdstan, version)
    check_cache()
    if target.is_file():
        return target
    check_cache_room()
    with workshop() as folder:
        stan_file = folder / f"{name}.stan"
        with writing(folder, "CmdStan"):
            stan_file.write_text(source, encoding="utf-8")
            (folder / "compilation").mkdir()
        options = {"stanc_options": dict(STANC_OPTIONS), "cpp_options": dict(CPP_OPTIONS)}
        write_job(job, folder, stan_file=str(stan_file), **options)
        ended = run_children(
            _CHILD,
            {"compilation": folder / "compilation"},
            deadline,
            progress=job.progress,
            environment={"CMDSTAN": cmdstan},
        )["compilation"]
        if ended.stage:
            raise refusal({0: (ended.stage, ended.status, ended.reply, ended.console)}, name, 1)
        keep(folder / target.name, stan_file, target)
    return target


def read_csv(files: Sequence[Path]) -> Sampled:
    """Return the draws in CSV files that CmdStan wrote, one a chain.

    Raises
    ------
    StoredFileError
        If one is not such a file, or is cut short.
    """
    import cmdstanpy

    from psychoeval.estimators.stan.cmdstan_child import arrays

    with cmdstanpy.disable_logging():
        try:
            fit: Any = cmdstanpy.from_csv([str(file) for file in files], method="sample")
            values, stats = arrays(fit)
        except (ValueError, OSError) as error:
            because = f"{error} ({error.__cause__})" if error.__cause__ else str(error).rstrip(".")
            problem = f"These files are not the output of CmdStan's sampler: {because}."
            raise StoredFileError(problem, "Give the CSV files of one finished run.") from error
    version = ".".join(str(fit.metadata[f"stan_version_{part}"]) for part in ("major", "minor", "patch"))
    return Sampled(
        values=values,
        sample_stats=our_stats(stats),
        chain_numbers=tuple(range(1, len(files) + 1)),
        failed={},
        warmup_seconds=tuple(float(times.get("warmup", np.nan)) for times in fit.time),
        sampling_seconds=tuple(float(times.get("sampling", np.nan)) for times in fit.time),
        versions={"cmdstan": version, "cmdstanpy": metadata.version("cmdstanpy")},
        console="",
        files=tuple(files),
    )


def _made(folder: Path) -> Path:
    """Return the folder for CmdStan's files, which is there and can be written."""
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".psychoeval-{time.time_ns()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise EngineFailedError(
            f"output_dir {folder} cannot be written: {error.strerror or error}.", "Choose another folder."
        ) from error
    return folder
