"""Every estimator of the registry with a model it fits, on one small awkward data set."""

import warnings
from functools import cache

import numpy as np
import pytest

from psychoeval.errors import PsychoevalWarning
from psychoeval.fitting import fit
from psychoeval.irt.curves import probability
from psychoeval.registry import REGISTRY, make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs

#: What an engine, or an estimator with an engine of its own, is probed as.
GATES = {"r": "mirt", "stan": "stanli", "brms": "brms"}
#: Models of the slow rows; of the others all.
MODELS = {"mirt-em": ("Rasch", "1PL", "2PL"), "mirt-mhrm": ("2PL",), "stan-hmc": ("2PL",), "brms": ("Rasch",)}
#: Of estimators that sample: enough draws for the contract, which asks how a result looks.
SHORT = {"chains": 2, "warmup": 150, "samples": 150}

EXTREME_RIGHT, EXTREME_WRONG, EMPTY = 0, 3, 7
CONSTANT_WRONG, CONSTANT_RIGHT, NEVER_RUN = 1, 4, 8


def rows():
    """Return a parameter (name, model) for each row and model, gated by the engine."""
    out = []
    for name, row in REGISTRY.items():
        gate = GATES.get(name, GATES.get(row.engine))
        marks = [needs(gate)] if gate else []
        for model in MODELS.get(name, row.models) or (None,):
            out.append(pytest.param(name, model, marks=marks, id=f"{name}-{model}" if model else name))
    return out


@cache
def awkward() -> Responses:
    """200 x 9 with missing cells, an empty row, two extreme persons, two constant items and one never run."""
    rng = np.random.default_rng(7)
    a, d = rng.lognormal(0, 0.3, 9), rng.normal(0, 1, 9)
    values = (rng.random((200, 9)) < probability(rng.normal(size=200), a, d)).astype(float)
    values[rng.random((200, 9)) < 0.15] = np.nan
    values[EXTREME_RIGHT], values[EXTREME_WRONG] = 1.0, 0.0
    values[:, CONSTANT_WRONG] = np.where(np.isnan(values[:, CONSTANT_WRONG]), np.nan, 0.0)
    values[:, CONSTANT_RIGHT] = np.where(np.isnan(values[:, CONSTANT_RIGHT]), np.nan, 1.0)
    values[EXTREME_RIGHT, CONSTANT_WRONG] = values[EXTREME_WRONG, CONSTANT_RIGHT] = np.nan
    values[:, NEVER_RUN] = np.nan
    values[EMPTY] = np.nan
    return Responses.from_array(values)


@cache
def counts() -> Responses:
    """80 x 5 with 0 to 4 trials a cell."""
    rng = np.random.default_rng(8)
    trials = rng.integers(0, 5, (80, 5))
    p = probability(rng.normal(size=80), rng.lognormal(0, 0.3, 5), rng.normal(0, 1, 5))
    return Responses.from_array(rng.binomial(trials, p), trials)


@cache
def person_order() -> np.ndarray:
    return np.random.default_rng(9).permutation(awkward().n_persons)


@cache
def item_order() -> np.ndarray:
    return np.random.default_rng(10).permutation(awkward().n_items)


def settings(name: str) -> dict[str, int]:
    """Return the settings that make a row repeat itself."""
    fields = make_estimator(name).__dataclass_fields__
    return {key: value for key, value in {"seed": 11, **SHORT}.items() if key in fields}


@cache
def fitted(name: str, model: str | None, variant: str = "as given") -> FitResult:
    """Return a fit of the awkward data, or of a permutation of it, or of counts."""
    responses = {
        "as given": awkward,
        "again": awkward,
        "persons permuted": lambda: awkward().select(persons=person_order()),
        "items permuted": lambda: awkward().select(items=item_order()),
        "counts": counts,
    }[variant]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsychoevalWarning)
        return fit(responses, name, model=model, **settings(name))
