"""stanli: Stan's compiler, mathematics and NUTS in one wheel, with no C++ toolchain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psychoeval.availability import require
from psychoeval.errors import SettingsError
from psychoeval.estimators.stan.backend import Sampled, SamplingJob
from psychoeval.estimators.stan.chains import Deadline, sample_chains, work_folder, write_job
from psychoeval.estimators.stan.source import program_name, program_source


@dataclass(frozen=True, slots=True)
class StanliBackend:
    """Runs stanli, one child process a chain."""

    name: ClassVar[str] = "stanli"

    def sample(self, job: SamplingJob) -> Sampled:
        """See `psychoeval.estimators.stan.backend.Backend.sample`."""
        deadline = Deadline(job.timeout)
        require("stanli")
        if job.output_dir is not None:
            raise SettingsError(
                "output_dir keeps the files of CmdStan, and stanli writes none.",
                'Leave it out, or choose backend="cmdstan".',
            )
        source = program_source(job.program)
        with work_folder(job) as folder:
            write_job(job, folder, source=source)
            return sample_chains(
                job, "psychoeval.estimators.stan.stanli_child", program_name(job.program), folder, deadline, {}
            )
