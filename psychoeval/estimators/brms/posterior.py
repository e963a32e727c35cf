"""From brms's draws to ours: names, order and scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from psychoeval.errors import EngineFailedError
from psychoeval.estimators.brms.design import Design
from psychoeval.estimators.brms.syntax import Program
from psychoeval.rbridge.protocol import Reply
from psychoeval.results.draws import Draws

FloatArray = NDArray[np.float64]


def read_draws(reply: Reply, design: Design, program: Program, samples: int, max_treedepth: int) -> Draws:
    """Return the draws of a reply in our names, for the persons and items that took part.

    Parameters
    ----------
    reply : dict
        Without error, of at least one chain.
    design, program
        What the job was made from.
    samples : int
        Draws of a chain.
    max_treedepth : int

    Notes
    -----
    ``discrimination`` a = exp(loga), common to all items in the 1PL, is left out where the model fixes it at 1, and
    ``guessing`` where it is no parameter. Of ``difficulty`` b and ``intercept`` d = -a b the one is brms's, the other
    follows.
    """
    parts = {name: _Part(reply["draws"][name], len(reply["chain_numbers"]), samples) for name in program.parts}
    theta = parts["theta"].each(len(design.persons))
    values = {"ability": theta, **_items(parts, program, len(design.items)), **_hyperparameters(parts, program)}
    modeled = design.modeled
    return Draws(
        values=values,
        person_ids=design.person_ids,
        item_ids=design.item_ids,
        sample_stats=_statistics(reply["statistics"], theta.shape[:2]),
        max_treedepth=max_treedepth,
        observed_scores=np.asarray(modeled.successes.sum(axis=1)),
        chain_numbers=tuple(int(k) for k in reply["chain_numbers"]),
    )


class _Part:
    """Draws of one part of the formula: ``common``, ``sd`` (chains, draws) and values of items or persons."""

    def __init__(self, found: Mapping[str, Any], chains: int, samples: int) -> None:
        self._found, self._chains, self._samples = found, chains, samples
        self.common, self.sd = self._scalar("common"), self._scalar("sd")

    def _array(self, name: str, n: int) -> FloatArray:
        values = np.asarray(self._found[name], dtype=np.float64)
        if values.size != self._chains * self._samples * n:
            raise EngineFailedError(
                f"brms gave {values.size} draws of {name} for {self._chains} chains x {self._samples} draws x {n}.",
                "Please report this with the data.",
            )
        return values.reshape(n, self._chains, self._samples).transpose(1, 2, 0)

    def _scalar(self, name: str) -> FloatArray | None:
        return None if self._found.get(name) is None else self._array(name, 1)[:, :, 0]

    def each(self, n: int) -> FloatArray:
        """Return (chains, draws, n): the common value plus deviations, or values of their own."""
        if self._found.get("each") is not None:
            return self._array("each", n)
        out = np.zeros((self._chains, self._samples, n))
        if self.common is not None:
            out += self.common[:, :, None]
        if self._found.get("deviation") is not None:
            out += self._array("deviation", n)
        return out


def _items(parts: Mapping[str, _Part], program: Program, n: int) -> dict[str, FloatArray]:
    location = parts[program.location].each(n)
    out: dict[str, FloatArray] = {}
    a: FloatArray | float = 1.0
    if "loga" in parts:
        a = out["discrimination"] = np.exp(parts["loga"].each(n))
    out["intercept"] = location if program.location == "d" else -a * location
    out["difficulty"] = location if program.location == "b" else -location / a
    if "c" in parts:
        out["guessing"] = parts["c"].each(n)
    elif "logitc" in parts:
        out["guessing"] = np.asarray(expit(parts["logitc"].each(n)), dtype=np.float64)
    return out


def _hyperparameters(parts: Mapping[str, _Part], program: Program) -> dict[str, FloatArray]:
    out: dict[str, FloatArray] = {}
    for name, (part, kind) in program.scalars.items():
        values = parts[part].common if kind == "common" else parts[part].sd
        if values is None:
            raise EngineFailedError(f"brms gave no draws of {name}.", "Please report this with the data.")
        out[name] = values
    return out


def _statistics(found: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    whole = ("tree_depth", "n_steps")
    out: dict[str, NDArray[Any]] = {}
    for name, given in found.items():
        values = np.asarray(given, dtype=np.float64).reshape(shape)
        out[name] = values.astype(bool) if name == "diverging" else values.astype(int) if name in whole else values
    return out
