"""R mirt as estimators: MirtEM and MirtMHRM."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from psychoeval.availability import require
from psychoeval.errors import EngineWarning, SettingsError
from psychoeval.estimators.mirt.contract import JobSettings, check_reply, make_job
from psychoeval.estimators.mirt.design import make_design
from psychoeval.estimators.mirt.result import make_result
from psychoeval.estimators.mirt.script import r_script
from psychoeval.estimators.mirt.settings import ScoringMethod, check_ability_method, check_engine_options
from psychoeval.estimators.mirt.syntax import check_model
from psychoeval.estimators.settings import (
    check_choice,
    check_positive,
    check_seed,
    check_timeout,
    check_whole,
    seed_or_drawn,
)
from psychoeval.irt.models import ItemModel
from psychoeval.rbridge.choice import BridgeName, check_bridge, choose_bridge
from psychoeval.resources import resource
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

EMErrors = Literal["oakes", "louis", "crossprod", "sandwich", "richardson", "none"]
MHRMErrors = Literal["mhrm", "fmhrm", "none"]

_SE_TYPES: Final[dict[str, str | None]] = {
    "oakes": "Oakes",
    "louis": "Louis",
    "crossprod": "crossprod",
    "sandwich": "sandwich",
    "richardson": "Richardson",
    "mhrm": "MHRM",
    "fmhrm": "FMHRM",
    "none": None,
}
_EM_ERRORS: Final = ("oakes", "louis", "crossprod", "sandwich", "richardson", "none")
_MHRM_ERRORS: Final = ("mhrm", "fmhrm", "none")

#: Packages that this process has already seen R load.
_seen: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class MirtEM:
    """Marginal maximum likelihood by EM, computed by R mirt.

    Parameters
    ----------
    tolerance : float
        Largest change of a parameter at which EM stops; mirt's default.
    max_iterations : int
        EM cycles.
    quadrature_points : int
        Nodes of the ability, equally spaced.
    quadrature_limit : float
        They go from minus to plus this, in logits.
    standard_errors : {"oakes", "louis", "crossprod", "sandwich", "richardson", "none"}
        From which information matrix.
    ability_method : {"EAP", "MAP", "ML", "WLE"}
    seed : int, optional
        EM draws nothing; for engine options that do.
    timeout : float, optional
        Seconds, R's start included; R then runs in a child process.
    bridge : {"auto", "rpy2", "rscript"}
        See `psychoeval.rbridge.choice.choose_bridge`.
    engine_options : mapping
        mirt's own ``technical``, ``optimizer``, ``accelerate``, ``control``, ``draws``, ``GenRandomPars``.

    Raises
    ------
    SettingsError
        For a value that cannot be taken.

    Notes
    -----
    Items that are constant or were never run, and persons without responses on the others, are not given to mirt and
    come back in place with their status. Counts go as equal-constrained binary items. The 1PL (common slope,
    theta ~ N(0, 1)) is fitted as the Rasch model with free variance: a = sd, theta / sd. The answer is turned so that
    more ability means more success (``provenance.details["flipped"]``) and judged by
    `psychoeval.results.checks.judge_marginal_fit`. The log-likelihood is without the priors' densities.
    Source: Chalmers (2012), doi:10.18637/jss.v048.i06.
    """

    name: ClassVar[str] = "mirt-em"
    tolerance: float = 1e-4
    max_iterations: int = 500
    quadrature_points: int = 61
    quadrature_limit: float = 6.0
    standard_errors: EMErrors = "oakes"
    ability_method: ScoringMethod = "EAP"
    seed: int | None = None
    timeout: float | None = None
    bridge: BridgeName = "auto"
    engine_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, _EM_ERRORS)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit `model` to `responses`; see `psychoeval.estimators.base.Estimator.fit`."""
        return _fit(self, "EM", responses, model)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return the R script that repeats the fit; without responses and model, the settings."""
        return _describe(self, "EM", responses, model)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirtMHRM:
    """Marginal maximum likelihood by Metropolis-Hastings Robbins-Monro, computed by R mirt.

    Its log-likelihood is simulated; ``log_likelihood_error`` is its Monte Carlo standard error.

    Parameters
    ----------
    tolerance : float
        Largest change of a parameter, averaged over the last cycles, at which it stops; mirt's default.
    max_iterations : int
        MH-RM cycles.
    quadrature_points, quadrature_limit
        Of the abilities' scoring; as in `MirtEM`.
    standard_errors : {"mhrm", "fmhrm", "none"}
        During the fit, or afterwards from a fixed number of draws.
    ability_method, timeout, bridge, engine_options
        As in `MirtEM`.
    seed : int, optional
        The same seed gives the same answer. None draws one; it is in the provenance.

    Raises
    ------
    SettingsError
        For a value that cannot be taken.

    Notes
    -----
    As for `MirtEM`; the 1PL takes no prior on its slope, which mirt's MH-RM leaves out.
    Source: Cai (2010), doi:10.1007/s11336-009-9136-x.
    """

    name: ClassVar[str] = "mirt-mhrm"
    tolerance: float = 1e-3
    max_iterations: int = 2000
    quadrature_points: int = 61
    quadrature_limit: float = 6.0
    standard_errors: MHRMErrors = "mhrm"
    ability_method: ScoringMethod = "EAP"
    seed: int | None = 1
    timeout: float | None = None
    bridge: BridgeName = "auto"
    engine_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, _MHRM_ERRORS)

    def fit(self, responses: Responses, model: ItemModel | None = None) -> FitResult:
        """Fit `model` to `responses`; see `psychoeval.estimators.base.Estimator.fit`."""
        return _fit(dataclasses.replace(self, seed=seed_or_drawn(self.seed)), "MHRM", responses, model)

    def describe(self, responses: Responses | None = None, model: ItemModel | None = None) -> str:
        """Return the R script that repeats the fit; without responses and model, the settings."""
        return _describe(self, "MHRM", responses, model)


_Estimator = MirtEM | MirtMHRM
_Method = Literal["EM", "MHRM"]


def _check(estimator: _Estimator, errors: tuple[str, ...]) -> None:
    check_positive(tolerance=estimator.tolerance, quadrature_limit=estimator.quadrature_limit)
    check_whole(max_iterations=estimator.max_iterations, quadrature_points=estimator.quadrature_points)
    if estimator.quadrature_points < 3:
        raise SettingsError("quadrature_points is below 3.", "mirt's default is 61.")
    check_choice("standard_errors", estimator.standard_errors, errors)
    check_ability_method(estimator.ability_method)
    check_seed(estimator.seed)
    check_timeout(estimator.timeout)
    check_bridge(estimator.bridge, estimator.timeout)
    check_engine_options(estimator.engine_options)


def _job_settings(estimator: _Estimator, method: _Method) -> JobSettings:
    return JobSettings(
        method=method,
        tolerance=estimator.tolerance,
        max_iterations=estimator.max_iterations,
        quadrature_points=estimator.quadrature_points,
        quadrature_limit=estimator.quadrature_limit,
        se_type=_SE_TYPES[estimator.standard_errors],
        ability_method=estimator.ability_method,
        seed=estimator.seed,
        engine_options=estimator.engine_options,
    )


def _describe(estimator: _Estimator, method: _Method, responses: Responses | None, model: ItemModel | None) -> str:
    if responses is None or model is None:
        return repr(estimator)
    checked = check_model(model, estimator.name, estimator.standard_errors)
    return r_script(make_design(responses, checked), checked, _job_settings(estimator, method))


def _fit(estimator: _Estimator, method: _Method, responses: Responses, model: ItemModel | None) -> FitResult:
    checked = check_model(model, estimator.name, estimator.standard_errors)
    design = make_design(responses, checked)
    settings = _job_settings(estimator, method)
    job = make_job(design, checked, settings)
    if "mirt" not in _seen:
        require("mirt")
        _seen.add("mirt")
    bridge = choose_bridge(estimator.bridge, timeout=estimator.timeout)
    reply = bridge.call(resource("r_scripts", "mirt_job.R"), "run_mirt_job", job, timeout=estimator.timeout)
    check_reply(reply)
    if reply.get("warnings"):
        warnings.warn(f"mirt warned: {' '.join(reply['warnings'])}", EngineWarning, stacklevel=3)
    return make_result(estimator.name, settings, design, checked, reply, bridge.name)
