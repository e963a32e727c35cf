"""Draws from a posterior, by chain, with the ids of what they are about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import DataError

if TYPE_CHECKING:
    from psychoeval.results.sampling import Sampling

FloatArray = NDArray[np.float64]

#: Quantities with one value a person and one an item; every other name is one number a draw.
PERSON_TERMS: Final = ("ability",)
ITEM_TERMS: Final = ("discrimination", "intercept", "difficulty", "guessing")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Draws:
    """Draws of C chains of S draws each, about N persons and J items, chains and draws first as ArviZ has them.

    Parameters
    ----------
    values : mapping of str to array
        ``"ability"`` (C, S, N) in logits; ``"discrimination"``, ``"intercept"``, ``"difficulty"``, ``"guessing"``
        (C, S, J), those that the model has; any other name is one number a draw, (C, S).
    person_ids, item_ids : tuple of str
        Of the persons and items that were sampled, in the order of the arrays.
    sample_stats : mapping of str to (C, S) array
        ``lp``, ``acceptance_rate``, ``step_size``, ``tree_depth``, ``n_steps``, ``diverging``, ``energy``, those that
        the sampler gives.
    max_treedepth : int
        The sampler's limit of `tree_depth`.
    log_likelihood : (C, S, N) array, optional
        Of each person's responses, the ability integrated out.
    replicated_scores : (C, S, N) array, optional
        Raw scores of the same persons on the items they took, drawn from the posterior predictive distribution.
    observed_scores : (N,) array, optional
        Raw scores as observed.
    chain_numbers : tuple of int, length C
        What the chains are called, from 1; a chain that failed is left out. By default 1 to C.

    Raises
    ------
    DataError
        If shapes do not fit each other, ids repeat, or there is no draw.
    """

    values: Mapping[str, FloatArray]
    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    sample_stats: Mapping[str, NDArray[Any]]
    max_treedepth: int
    log_likelihood: FloatArray | None = None
    replicated_scores: NDArray[Any] | None = None
    observed_scores: NDArray[Any] | None = None
    chain_numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for what, ids in (("Person", self.person_ids), ("Item", self.item_ids)):
            if len(set(ids)) != len(ids):
                raise DataError(f"{what} ids of draws repeat.", "Give unique ids.")
        first = next((np.asarray(v) for v in self.values.values()), np.empty(0))
        if first.ndim < 2 or not first.size:
            raise DataError("There are no draws.", "Give each quantity as an array (chains, draws, ...).")
        chains, draws = first.shape[:2]
        _set = object.__setattr__
        sized = {name: (chains, draws, *((len(self.ids(name)),) if self.dims(name) else ())) for name in self.values}
        _set(self, "values", {n: _fixed(v, sized[n], f"draws of {n}", np.float64) for n, v in self.values.items()})
        stats = {n: _fixed(v, (chains, draws), f"sample_stats of {n}") for n, v in self.sample_stats.items()}
        _set(self, "sample_stats", stats)
        persons = (chains, draws, len(self.person_ids))
        if self.log_likelihood is not None:
            _set(self, "log_likelihood", _fixed(self.log_likelihood, persons, "log_likelihood", np.float64))
        if self.replicated_scores is not None:
            _set(self, "replicated_scores", _fixed(self.replicated_scores, persons, "replicated_scores"))
        if self.observed_scores is not None:
            _set(self, "observed_scores", _fixed(self.observed_scores, persons[2:], "observed_scores"))
        if not self.chain_numbers:
            _set(self, "chain_numbers", tuple(range(1, chains + 1)))
        if len(set(self.chain_numbers)) != chains or len(self.chain_numbers) != chains:
            raise DataError(
                f"There are {chains} chains with the numbers {self.chain_numbers}.", "Give one number each."
            )

    def __repr__(self) -> str:
        names = ", ".join(f"{n}[{len(self.ids(n))}]" if self.dims(n) else n for n in self.values)
        return f"<Draws {self.n_chains} chains x {self.n_draws}: {names}>"

    @property
    def n_chains(self) -> int:
        """Number of chains C."""
        return len(self.chain_numbers)

    @property
    def n_draws(self) -> int:
        """Draws of each chain S."""
        return int(next(iter(self.values.values())).shape[1])

    @staticmethod
    def dims(name: str) -> tuple[str, ...]:
        """Return what a quantity has one value for: ``("person",)``, ``("item",)`` or ``()``."""
        return ("person",) if name in PERSON_TERMS else ("item",) if name in ITEM_TERMS else ()

    def ids(self, name: str) -> tuple[str, ...]:
        """Return the ids that belong to the last axis of a quantity; none for one number a draw."""
        return self.person_ids if name in PERSON_TERMS else self.item_ids if name in ITEM_TERMS else ()

    def pooled(self, name: str) -> FloatArray:
        """Return the draws of one quantity with the chains one after another, (C S, ...).

        Raises
        ------
        DataError
            If there are no draws of it.
        """
        if name not in self.values:
            raise DataError(f"There are no draws of {name!r}.", f"Choose one of {', '.join(self.values)}.")
        array = self.values[name]
        return array.reshape(-1, *array.shape[2:])

    def diagnose(self) -> Sampling:
        """Return the diagnostics of the chains; see `psychoeval.results.sampling.diagnose`."""
        from psychoeval.results.sampling import diagnose

        return diagnose(self)

    def standardized(self) -> Draws:
        """Return draws with mean 0 and SD 1 of the abilities in each; see `identification.standardize`."""
        from psychoeval.results.identification import standardize

        return standardize(self)

    def oriented(self) -> Draws:
        """Return draws with every chain turned towards success, where models allow it; see `identification.orient`."""
        from psychoeval.results.identification import orient

        return orient(self)[0]

    def of_chains(self, numbers: Collection[int]) -> Draws:
        """Return the draws of some chains, named by number, in the order in which they are here.

        Raises
        ------
        DataError
            If there is no such chain, or none is left.
        """
        if missing := [n for n in numbers if n not in self.chain_numbers]:
            raise DataError(f"There is no chain {missing[0]}.", f"The chains are {self.chain_numbers}.")
        keep = [k for k, number in enumerate(self.chain_numbers) if number in numbers]
        return replace(
            self,
            values={name: v[keep] for name, v in self.values.items()},
            sample_stats={name: v[keep] for name, v in self.sample_stats.items()},
            log_likelihood=None if self.log_likelihood is None else self.log_likelihood[keep],
            replicated_scores=None if self.replicated_scores is None else self.replicated_scores[keep],
            chain_numbers=tuple(self.chain_numbers[k] for k in keep),
        )

    def to_arviz(self) -> Any:
        """Return the draws as the installed ArviZ reads them: InferenceData before version 1.0, DataTree since.

        Groups ``posterior``, ``sample_stats`` (with ``reached_max_treedepth``) and, where known, ``log_likelihood``
        (``responses``), ``posterior_predictive`` and ``observed_data`` (``score``), with coordinates ``chain`` (its
        number, from 1), ``draw``, ``person`` and ``item``.

        Raises
        ------
        EngineUnavailableError
            Without ArviZ.
        """
        from psychoeval.results.arviz_groups import to_arviz

        return to_arviz(self)


def _fixed(values: ArrayLike, shape: Sequence[int], what: str, dtype: type | None = None) -> NDArray[Any]:
    """Return `values` as a read-only array of the given shape; one that is read-only already is not copied."""
    array = np.asarray(values, dtype=dtype)
    if array.shape != tuple(shape):
        raise DataError(f"The {what} have shape {array.shape}, not {tuple(shape)}.", "Give one value for each id.")
    if array.dtype.kind not in "biuf":
        raise DataError(f"The {what} are of type {array.dtype}.", "Give numbers.")
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
