"""Where a fit and its responses disagree: items, pairs of items and persons, and the model as a whole."""

from psychoeval.diagnostics.diagnosis import Diagnosis, diagnose
from psychoeval.diagnostics.dif import dif
from psychoeval.diagnostics.dif_result import DIF
from psychoeval.diagnostics.dimensionality import dimensionality
from psychoeval.diagnostics.dimensionality_result import Dimensionality
from psychoeval.diagnostics.item_fit import ItemFit, item_fit
from psychoeval.diagnostics.local_dependence import LocalDependence, local_dependence
from psychoeval.diagnostics.model_fit import ModelFit, model_fit
from psychoeval.diagnostics.person_fit import PersonFit, person_fit
from psychoeval.diagnostics.posterior_predictive import posterior_predictive
from psychoeval.diagnostics.predictive_result import PosteriorPredictive
from psychoeval.estimators.native.cml_andersen import AndersenTest, andersen_test

__all__ = [
    "DIF",
    "AndersenTest",
    "Diagnosis",
    "Dimensionality",
    "ItemFit",
    "LocalDependence",
    "ModelFit",
    "PersonFit",
    "PosteriorPredictive",
    "andersen_test",
    "diagnose",
    "dif",
    "dimensionality",
    "item_fit",
    "local_dependence",
    "model_fit",
    "person_fit",
    "posterior_predictive",
]
