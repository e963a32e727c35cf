"""Fit one estimator, or many side by side."""

from psychoeval.fitting.many import FitFailure, Fits, FitsInterrupted, Progress, fit_many
from psychoeval.fitting.one import describe_fit, estimator_of, fit, item_model
from psychoeval.fitting.store import FitStore

__all__ = [
    "FitFailure",
    "FitStore",
    "Fits",
    "FitsInterrupted",
    "Progress",
    "describe_fit",
    "estimator_of",
    "fit",
    "fit_many",
    "item_model",
]
