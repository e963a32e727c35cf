"""R's brms as an estimator: Brms."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from psychoeval.availability import require
from psychoeval.errors import EngineWarning, FitTimeoutError
from psychoeval.estimators.brms.contract import JobSettings, check_reply, make_job
from psychoeval.estimators.brms.design import make_design
from psychoeval.estimators.brms.progress import Progress
from psychoeval.estimators.brms.result import make_result
from psychoeval.estimators.brms.script import call_text, r_script
from psychoeval.estimators.brms.settings import cache_folder, check_engine_options
from psychoeval.estimators.brms.syntax import check_model, make_program
from psychoeval.estimators.progress import ChainLine
from psychoeval.estimators.settings import check_flag, check_sampling, seed_or_drawn, usable_cores
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.rbridge.protocol import Reply
from psychoeval.resources import resource
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Brms:
    """The posterior, sampled by R's brms and Stan: slow, and the published reference.

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
    log_likelihood : bool
        Whether each draw comes with every person's log-likelihood, the ability integrated out, which
        `psychoeval.loo` needs: chains x samples x N numbers.
    replicated_scores : bool
        Whether each draw comes with raw scores drawn anew, for a posterior predictive check.
    timeout : float, optional
        Seconds for the whole job, R's start and the building of the program (about 40) included.
    n_jobs : int, optional
        Chains at a time; by default one a core.
    progress : bool, optional
        How far each chain is, on stderr: by default one line that is rewritten, on a terminal only; True prints a line
        for each change, False nothing.
    engine_options : mapping
        rstan's own ``init`` (``"random"`` or ``"0"``), ``init_r`` and ``control``.

    Raises
    ------
    SettingsError
        For a value that cannot be taken.

    Notes
    -----
    Rasch, 1PL, 2PL and 3PL as non-linear multilevel formulas (Bürkner 2021, doi:10.18637/jss.v100.i05); persons are
    N(0, 1), in the Rasch model N(0, sigma), items follow the priors of the model. Missing cells are left out; counts
    are binomial. Items and persons without any response come back in place with their status; constant items are held
    by their priors. R always runs in a child process. A program that was built is kept in the user's cache
    (`psychoeval.estimators.brms.settings.cache_folder`), under a name made of its text and the versions it depends on.
    Estimates are posterior means; `FitResult.draws` holds the draws, `FitResult.sampling` their diagnosis.
    """

    name: ClassVar[str] = "brms"
    chains: int = 4
    warmup: int = 500
    samples: int = 1000
    seed: int | None = 1
    adapt_delta: float = 0.8
    max_treedepth: int = 10
    log_likelihood: bool = False
    replicated_scores: bool = False
    timeout: float | None = None
    n_jobs: int | None = None
    progress: bool | None = None
    engine_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_sampling(self)
        check_flag(log_likelihood=self.log_likelihood, replicated_scores=self.replicated_scores)
        check_engine_options(self.engine_options)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit `model` to `responses`; see `psychoeval.estimators.base.Estimator.fit`."""
        checked, priors = check_model(model, self.name)
        design = make_design(responses)
        program = make_program(checked, priors, trials=not responses.is_binary)
        settings = self._settings(seed_or_drawn(self.seed))
        require("brms")
        reply = self._call(make_job(design, program, settings, *cache_folder()))
        check_reply(reply)
        if reply.get("warnings"):
            warnings.warn(f"brms warned: {' '.join(reply['warnings'])}", EngineWarning, stacklevel=2)
        return make_result(
            self.name,
            settings,
            design,
            checked,
            program,
            reply,
            call_text(program, settings),
            log_likelihood=self.log_likelihood,
            replicated_scores=self.replicated_scores,
        )

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return the R script that repeats the fit: formula, densities, data; without responses, the settings."""
        if responses is None or model is None:
            return repr(self)
        checked, priors = check_model(model, self.name)
        program = make_program(checked, priors, trials=not responses.is_binary)
        return r_script(make_design(responses), checked, program, self._settings(self.seed))

    def _settings(self, seed: int | None) -> JobSettings:
        return JobSettings(
            chains=self.chains,
            warmup=self.warmup,
            samples=self.samples,
            seed=seed,
            adapt_delta=self.adapt_delta,
            max_treedepth=self.max_treedepth,
            n_jobs=self.n_jobs or usable_cores(),
            options=self.engine_options,
        )

    def _call(self, job: Mapping[str, Any]) -> Reply:
        with ChainLine(self.name, self.chains, wanted=self.progress is None) as line:
            progress = Progress(self.name, show=bool(self.progress), line=line)
            bridge = RscriptBridge(listen=progress)
            try:
                return bridge.call(resource("r_scripts", "brms_job.R"), "run_brms_job", job, timeout=self.timeout)
            except FitTimeoutError as error:
                raise FitTimeoutError(
                    f"brms did not finish within {self.timeout:g} s and was stopped while {progress.text}.",
                    "Allow more time (timeout=), fewer iterations (warmup=, samples=), or fewer items and persons.",
                ) from error
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"brms was stopped while {progress.text}; no draws are kept.") from None
