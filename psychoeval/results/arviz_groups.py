"""Draws as ArviZ groups, by the version that is installed."""

from __future__ import annotations

import warnings
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psychoeval.errors import EngineUnavailableError

if TYPE_CHECKING:
    from psychoeval.results.draws import Draws

REMEDY: Final = "pip install psychoeval[bayes]; check with: psychoeval doctor"


def to_arviz(draws: Draws) -> Any:
    """Return InferenceData or DataTree; see `Draws.to_arviz`."""
    arviz, version = _arviz()
    groups = _groups(draws)
    coords = {"chain": list(draws.chain_numbers), "person": list(draws.person_ids), "item": list(draws.item_ids)}
    dims = {name: list(draws.dims(name)) for name in draws.values} | {"responses": ["person"], "score": ["person"]}
    if version >= 1:
        return arviz.from_dict(groups, coords=coords, dims=dims)
    # The call above on 0.23 gives a posterior with the variables "posterior", "sample_stats", ... and no error.
    return arviz.from_dict(**groups, coords=coords, dims=dims)


def _groups(draws: Draws) -> dict[str, dict[str, Any]]:
    stats = dict(draws.sample_stats)
    if "diverging" in stats:
        stats["diverging"] = stats["diverging"].astype(bool)
    if "tree_depth" in stats:
        stats["reached_max_treedepth"] = stats["tree_depth"] >= draws.max_treedepth
    groups: dict[str, dict[str, Any]] = {"posterior": dict(draws.values), "sample_stats": stats}
    if draws.log_likelihood is not None:
        groups["log_likelihood"] = {"responses": draws.log_likelihood}
    if draws.replicated_scores is not None:
        groups["posterior_predictive"] = {"score": draws.replicated_scores}
    if draws.observed_scores is not None:
        groups["observed_data"] = {"score": draws.observed_scores}
    # Read-only arrays stay ours: what a user changes in ArviZ's object must not reach the result.
    copies = {g: {n: np.array(v) for n, v in values.items()} for g, values in groups.items()}
    return {g: values for g, values in copies.items() if values}


def _arviz() -> tuple[Any, int]:
    try:
        version = int(metadata.version("arviz").split(".")[0])
        with warnings.catch_warnings():
            # 0.23 announces 1.0 whenever it is imported.
            warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing", category=FutureWarning)
            return import_module("arviz"), version
    except (ImportError, metadata.PackageNotFoundError) as error:
        raise EngineUnavailableError("ArviZ is not installed.", REMEDY) from error
