"""Stan's Hamiltonian Monte Carlo as an estimator: StanHMC."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from psychoeval.errors import SettingsError
from psychoeval.estimators.progress import ChainLine
from psychoeval.estimators.settings import check_choice, check_flag, check_sampling, seed_or_drawn, usable_cores
from psychoeval.estimators.stan.backend import BackendName, Progress, Sampled, SamplingJob, choose_backend
from psychoeval.estimators.stan.data import check_model, program, stan_data, taking_part
from psychoeval.estimators.stan.posterior import read_draws
from psychoeval.estimators.stan.source import program_source
from psychoeval.estimators.stan.starts import initial_values
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.posterior import posterior_result
from psychoeval.results.provenance import Provenance

Starts = Literal["data", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StanHMC:
    """The posterior, sampled by Stan's No-U-Turn sampler.

    Parameters
    ----------
    chains : int
    warmup, samples : int
        Iterations of each chain before and after its adaptation ends; only the later ones are kept.
    seed : int, optional
        With the number of a chain it fixes the chain's draws, whatever `n_jobs`. None draws one; it is in the
        provenance.
    adapt_delta : float
        Acceptance rate that the step size aims at, between 0 and 1: nearer to 1 for fewer divergences, slower.
    max_treedepth : int
        Doublings of a trajectory.
    inits : {"data", "random"}
        Where the chains start: scattered about logits of proportions, twice as wide as the posterior is about to be, so
        that R-hat can see; or Stan's own, from (-2, 2) on its unconstrained scale.
    backend : {"auto", "cmdstan", "stanli"}
        ``"auto"``: CmdStan where one is installed, else stanli.
    log_likelihood : bool
        Whether each draw comes with every person's log-likelihood, the ability integrated out, which
        `psychoeval.loo` needs: chains x samples x N numbers.
    replicated_scores : bool
        Whether each draw comes with raw scores drawn anew, for a posterior predictive check.
    timeout : float, optional
        Seconds for all chains together.
    n_jobs : int, optional
        Chains at a time; by default one a core.
    output_dir : str or Path, optional
        Where the files of CmdStan are kept; by default they are removed.
    progress : bool, optional
        How far each chain is, on stderr: by default one line that is rewritten, on a terminal only; True prints a line
        for each change, False nothing.

    Raises
    ------
    SettingsError
        For a value that cannot be taken.

    Notes
    -----
    The programs are in ``stan/``; `describe` shows the one that runs. theta ~ N(0, 1), in the Rasch model N(0, sigma);
    items follow the priors of the model, by default a population of items whose means and SDs are estimated. Abilities
    are sampled as their sample mean, sample SD and standardised rest, and items in the unit of that rest: the same
    posterior, without the ridge along which origin and unit of abilities and items drift together. Missing cells are
    left out; counts are binomial. Items and persons without any response come back in place with their status;
    constant items are held by their priors. Estimates are posterior means, errors posterior SDs: abilities carry the
    items' uncertainty. `FitResult.draws` holds the draws, `FitResult.sampling` their diagnosis. Chains run in child
    processes. Source: Hoffman and Gelman (2014), Journal of Machine Learning Research 15, 1593-1623.
    """

    name: ClassVar[str] = "stan-hmc"
    chains: int = 4
    warmup: int = 500
    samples: int = 1000
    seed: int | None = 1
    adapt_delta: float = 0.9
    max_treedepth: int = 10
    inits: Starts = "data"
    backend: BackendName = "auto"
    log_likelihood: bool = False
    replicated_scores: bool = False
    timeout: float | None = None
    n_jobs: int | None = None
    output_dir: str | Path | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        check_sampling(self)
        check_choice("inits", self.inits, get_args(Starts))
        check_choice("backend", self.backend, get_args(BackendName))
        check_flag(log_likelihood=self.log_likelihood, replicated_scores=self.replicated_scores)
        if not isinstance(self.output_dir, (str, Path, type(None))):
            raise SettingsError(f"output_dir is a {type(self.output_dir).__name__}.", "Give a path or None.")

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit `model` to `responses`; see `psychoeval.estimators.base.Estimator.fit`."""
        checked = check_model(model, self.name)
        part = taking_part(responses)
        backend = choose_backend(self.backend)
        with ChainLine(self.name, self.chains, wanted=self.progress is None) as line:
            job = self._job(part, checked, seed_or_drawn(self.seed), self._say if self.progress else _told(line))
            sampled = backend.sample(job)
        return posterior_result(
            self.name,
            checked,
            responses,
            read_draws(sampled, part, checked, self.max_treedepth),
            Convergence("sampled", iterations=self.warmup + self.samples),
            _provenance(backend.name, job, sampled),
            failed=sampled.failed,
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return the settings and the Stan program that would run; without a model, the settings."""
        if model is None:
            return repr(self)
        return f"// {self!r}\n{program_source(program(check_model(model, self.name)))}"

    def _job(self, part: Responses, model: ItemModel, seed: int, progress: Progress) -> SamplingJob:
        data = stan_data(part, model, log_likelihood=self.log_likelihood, replicated_scores=self.replicated_scores)
        inits = initial_values(part, model, data, chains=self.chains, seed=seed) if self.inits == "data" else None
        return SamplingJob(
            program=program(model),
            data=data,
            inits=inits,
            chains=self.chains,
            warmup=self.warmup,
            samples=self.samples,
            seed=seed,
            adapt_delta=self.adapt_delta,
            max_treedepth=self.max_treedepth,
            timeout=self.timeout,
            n_jobs=self.n_jobs or usable_cores(),
            output_dir=None if self.output_dir is None else Path(self.output_dir),
            progress=progress,
        )

    def _say(self, chain: str, event: str) -> None:
        print(f"{self.name}: {chain}: {event}", file=sys.stderr, flush=True)


def _told(line: ChainLine) -> Progress:
    """Return what passes on to the line how far each chain is."""

    def tell(label: str, event: str) -> None:
        counts = event.rpartition(" ")[2].split("/")
        if len(counts) == 2:
            line.iteration(int(label.removeprefix("chain ")), int(counts[0]), int(counts[1]))
        elif label == "compilation" and event == "start":
            line.stage("compiling the program")

    return tell


def _provenance(backend: str, job: SamplingJob, sampled: Sampled) -> Provenance:
    source = program_source(job.program)
    details: dict[str, Any] = {
        "program": str(job.program),
        "program_sha256": hashlib.sha256(source.encode()).hexdigest(),
        "warmup_seconds": list(sampled.warmup_seconds),
        "sampling_seconds": list(sampled.sampling_seconds),
        "chains_used": list(sampled.chain_numbers),
        "return_codes": [sampled.return_codes[k] for k in sorted(sampled.return_codes)],
        "console": sampled.console,
        "files": [str(file) for file in sampled.files],
    }
    return Provenance(
        engine="stan", versions=sampled.versions, bridge=backend, seed=job.seed, call=source, details=details
    )
