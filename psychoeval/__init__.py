"""psychoeval: every serious IRT estimator on the same data, through one result, checked against each other.

Importing it starts no engine and loads no pandas: names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from psychoeval._version import __version__

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison, compare
    from psychoeval.agreement.concurrent import calibrate_together
    from psychoeval.agreement.external import import_fit
    from psychoeval.agreement.inference import compare_inference
    from psychoeval.agreement.inference_result import InferenceAgreement
    from psychoeval.agreement.linking import link
    from psychoeval.diagnostics import diagnose, dif
    from psychoeval.errors import PsychoevalError
    from psychoeval.estimators.brms.estimator import Brms
    from psychoeval.estimators.mirt.estimator import MirtEM, MirtMHRM
    from psychoeval.estimators.native.additive import Additive
    from psychoeval.estimators.native.cml import CML
    from psychoeval.estimators.native.ctt import CTT
    from psychoeval.estimators.native.map import MAP
    from psychoeval.estimators.native.mml import MML
    from psychoeval.estimators.native.random_item import RandomItem
    from psychoeval.estimators.native.simple_average import SimpleAverage
    from psychoeval.estimators.native.variational import VI
    from psychoeval.estimators.stan.estimator import StanHMC
    from psychoeval.fitting import Fits, FitStore, fit, fit_many, item_model
    from psychoeval.irt.models import (
        Beta,
        HalfNormal,
        ItemModel,
        ItemPopulation,
        LogitNormal,
        LogNormal,
        Normal,
        Priors,
    )
    from psychoeval.irt.parameters import Abilities, ItemParameters
    from psychoeval.report.html import report
    from psychoeval.responses.connections import connections
    from psychoeval.responses.continuous import ContinuousResponses
    from psychoeval.responses.datasets import datasets, load_dataset
    from psychoeval.responses.matrix import Responses
    from psychoeval.responses.readers.log import EvaluationLog
    from psychoeval.responses.readers.reading import read, read_log
    from psychoeval.responses.tables import read_table
    from psychoeval.responses.writing import write_table
    from psychoeval.results.draws import Draws
    from psychoeval.results.fit_result import FitResult, LatentDistribution
    from psychoeval.results.loo import loo, loo_difference
    from psychoeval.results.sampling import Sampling
    from psychoeval.scoring import expected_scores, plausible_values, read_item_parameters, score, test_information
    from psychoeval.trust.assessment import assess
    from psychoeval.trust.item_bootstrap import rank_over_items
    from psychoeval.trust.ranking import Ranking, rank

_PUBLIC = {
    "Abilities": "psychoeval.irt.parameters",
    "Additive": "psychoeval.estimators.native.additive",
    "Beta": "psychoeval.irt.models",
    "Brms": "psychoeval.estimators.brms.estimator",
    "CML": "psychoeval.estimators.native.cml",
    "CTT": "psychoeval.estimators.native.ctt",
    "Comparison": "psychoeval.agreement.comparison",
    "ContinuousResponses": "psychoeval.responses.continuous",
    "Draws": "psychoeval.results.draws",
    "EvaluationLog": "psychoeval.responses.readers.log",
    "FitResult": "psychoeval.results.fit_result",
    "FitStore": "psychoeval.fitting",
    "Fits": "psychoeval.fitting",
    "HalfNormal": "psychoeval.irt.models",
    "InferenceAgreement": "psychoeval.agreement.inference_result",
    "ItemModel": "psychoeval.irt.models",
    "ItemParameters": "psychoeval.irt.parameters",
    "ItemPopulation": "psychoeval.irt.models",
    "LatentDistribution": "psychoeval.results.fit_result",
    "LogNormal": "psychoeval.irt.models",
    "LogitNormal": "psychoeval.irt.models",
    "MAP": "psychoeval.estimators.native.map",
    "MML": "psychoeval.estimators.native.mml",
    "MirtEM": "psychoeval.estimators.mirt.estimator",
    "MirtMHRM": "psychoeval.estimators.mirt.estimator",
    "Normal": "psychoeval.irt.models",
    "Priors": "psychoeval.irt.models",
    "PsychoevalError": "psychoeval.errors",
    "RandomItem": "psychoeval.estimators.native.random_item",
    "Ranking": "psychoeval.trust.ranking",
    "Responses": "psychoeval.responses.matrix",
    "Sampling": "psychoeval.results.sampling",
    "SimpleAverage": "psychoeval.estimators.native.simple_average",
    "StanHMC": "psychoeval.estimators.stan.estimator",
    "VI": "psychoeval.estimators.native.variational",
    "assess": "psychoeval.trust.assessment",
    "calibrate_together": "psychoeval.agreement.concurrent",
    "compare": "psychoeval.agreement.comparison",
    "compare_inference": "psychoeval.agreement.inference",
    "connections": "psychoeval.responses.connections",
    "datasets": "psychoeval.responses.datasets",
    "diagnose": "psychoeval.diagnostics",
    "dif": "psychoeval.diagnostics",
    "expected_scores": "psychoeval.scoring",
    "fit": "psychoeval.fitting",
    "fit_many": "psychoeval.fitting",
    "import_fit": "psychoeval.agreement.external",
    "item_model": "psychoeval.fitting",
    "link": "psychoeval.agreement.linking",
    "load_dataset": "psychoeval.responses.datasets",
    "loo": "psychoeval.results.loo",
    "loo_difference": "psychoeval.results.loo",
    "plausible_values": "psychoeval.scoring",
    "rank": "psychoeval.trust.ranking",
    "rank_over_items": "psychoeval.trust.item_bootstrap",
    "read": "psychoeval.responses.readers.reading",
    "read_item_parameters": "psychoeval.scoring",
    "read_log": "psychoeval.responses.readers.reading",
    "read_table": "psychoeval.responses.tables",
    "report": "psychoeval.report.html",
    "score": "psychoeval.scoring",
    "test_information": "psychoeval.scoring",
    "write_table": "psychoeval.responses.writing",
}

__all__ = [
    "CML",
    "CTT",
    "MAP",
    "MML",
    "VI",
    "Abilities",
    "Additive",
    "Beta",
    "Brms",
    "Comparison",
    "ContinuousResponses",
    "Draws",
    "EvaluationLog",
    "FitResult",
    "FitStore",
    "Fits",
    "HalfNormal",
    "InferenceAgreement",
    "ItemModel",
    "ItemParameters",
    "ItemPopulation",
    "LatentDistribution",
    "LogNormal",
    "LogitNormal",
    "MirtEM",
    "MirtMHRM",
    "Normal",
    "Priors",
    "PsychoevalError",
    "RandomItem",
    "Ranking",
    "Responses",
    "Sampling",
    "SimpleAverage",
    "StanHMC",
    "__version__",
    "assess",
    "calibrate_together",
    "compare",
    "compare_inference",
    "connections",
    "datasets",
    "diagnose",
    "dif",
    "expected_scores",
    "fit",
    "fit_many",
    "import_fit",
    "item_model",
    "link",
    "load_dataset",
    "loo",
    "loo_difference",
    "plausible_values",
    "rank",
    "rank_over_items",
    "read",
    "read_item_parameters",
    "read_log",
    "read_table",
    "report",
    "score",
    "test_information",
    "write_table",
]


def __getattr__(name: str) -> Any:
    try:
        module = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module 'psychoeval' has no attribute {name!r}") from None
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_PUBLIC))
