"""Responses: successes and trials of N persons on J items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psychoeval.errors import DataError
from psychoeval.responses.ids_and_counts import CountArray, PersonLabel, check_ids, frozen, smallest_dtype

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Responses:
    """What was observed: k successes in n trials for each person and item.

    In AI evaluation a person is a system (a model, an agent). Trials of 0 are cells that were not administered;
    they are missing, never wrong. Empty rows and columns stay in place.

    Parameters
    ----------
    successes, trials : (N, J) unsigned integer arrays
        In the smallest type that holds them; read-only.
    person_ids : tuple of str, length N
    item_ids : tuple of str, length J
    persons, items : DataFrame, optional
        Covariates, one row for each person or item in the order of the ids.
    person_label : {"person", "system"}
        What a row is called in tables and reports.
    name : str
        Of the data set.
    source : str
        Where it comes from: a path or a citation.
    notes : tuple of str
        Choices made on the way in that change what the numbers mean (``missing="wrong"`` and the like).

    Raises
    ------
    DataError
        If shapes differ, ids repeat, or successes exceed trials; the cell is named.
    """

    successes: CountArray
    trials: CountArray
    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    persons: pd.DataFrame | None = None
    items: pd.DataFrame | None = None
    person_label: PersonLabel = "person"
    name: str = "responses"
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("successes", "trials"):
            counts = np.asarray(getattr(self, name))
            if counts.ndim != 2 or counts.dtype.kind != "u":
                raise DataError(
                    f"{name} is a {counts.ndim}-dimensional {counts.dtype} array, not a 2-dimensional array of counts.",
                    "Use Responses.from_array, from_wide or from_long, which check and convert.",
                )
            dtype = smallest_dtype(int(counts.max(initial=0)))
            if counts.dtype != dtype or counts.flags.writeable:  # a caller's array: copy it
                counts = frozen(counts.astype(dtype))
            object.__setattr__(self, name, counts)
        if self.successes.shape != self.trials.shape:
            raise DataError(
                f"successes has shape {self.successes.shape} and trials {self.trials.shape}.",
                "They must be equal.",
            )
        n, j = self.successes.shape
        if n == 0 or j == 0:
            raise DataError(f"The responses have {n} persons and {j} items.", "Give at least one of each.")
        object.__setattr__(self, "person_ids", check_ids(self.person_ids, n, self.person_label))
        object.__setattr__(self, "item_ids", check_ids(self.item_ids, j, "item"))
        self._check_successes()
        for covariates, count, what in ((self.persons, n, "persons"), (self.items, j, "items")):
            if covariates is not None and len(covariates) != count:
                raise DataError(f"The table of {what} has {len(covariates)} rows for {count}.", "Give one row each.")

    def _check_successes(self) -> None:
        excess = sum(int(np.count_nonzero(s > t)) for s, t in self._row_blocks())
        if not excess:
            return
        row = next(i for i in range(self.n_persons) if (self.successes[i] > self.trials[i]).any())
        column = int(np.argmax(self.successes[row] > self.trials[row]))
        others = f" ({excess} cells in all)" if excess > 1 else ""
        raise DataError(
            f"{self.person_label.capitalize()} {self.person_ids[row]!r}, item {self.item_ids[column]!r}: "
            f"{self.successes[row, column]} successes in {self.trials[row, column]} trials{others}.",
            "Successes cannot exceed trials.",
        )

    def _row_blocks(self) -> Iterator[tuple[CountArray, CountArray]]:
        """Yield blocks of rows: whole-matrix temporaries would double the memory of large data."""
        step = max(1, (1 << 20) // self.n_items)
        for start in range(0, self.n_persons, step):
            yield self.successes[start : start + step], self.trials[start : start + step]

    def __reduce__(self) -> tuple[type[Responses], tuple[Any, ...]]:
        # NumPy forgets on pickling that an array was read-only.
        return type(self), tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        return (
            f"<Responses {self.name!r}: {self.n_persons} {self.person_label}s x {self.n_items} items, "
            f"{self.n_observed} of {self.trials.size} cells observed>"
        )

    @property
    def n_persons(self) -> int:
        """Number of persons N."""
        return int(self.successes.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items J."""
        return int(self.successes.shape[1])

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Which cells were administered, (N, J)."""
        return np.asarray(self.trials > 0)

    @property
    def n_observed(self) -> int:
        """Number of administered cells."""
        return int(np.count_nonzero(self.trials))

    @property
    def is_binary(self) -> bool:
        """Whether no cell has more than one trial."""
        return int(self.trials.max()) <= 1

    @property
    def is_complete(self) -> bool:
        """Whether every cell was administered."""
        return self.n_observed == self.trials.size

    @property
    def proportions(self) -> NDArray[np.float64]:
        """Successes over trials, (N, J) float64, NaN where not administered."""
        out = np.full(self.successes.shape, np.nan)
        np.divide(self.successes, self.trials, out=out, where=self.observed)
        return out

    @property
    def sha256(self) -> str:
        """Digest of ids and counts: equal exactly for equal data in the same order."""
        digest = hashlib.sha256()
        for ids in (self.person_ids, self.item_ids):
            digest.update(f"{len(ids)};".encode())
            for text in ids:
                content = text.encode()
                digest.update(b"%d:" % len(content) + content)
        # The smallest type is part of the data: equal counts are stored in equal types.
        digest.update(f"{self.successes.dtype.itemsize},{self.trials.dtype.itemsize};".encode())
        for blocks in self._row_blocks():
            for counts in blocks:
                digest.update(np.ascontiguousarray(counts, counts.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def select(
        self,
        persons: NDArray[np.generic] | slice = slice(None),
        items: NDArray[np.generic] | slice = slice(None),
    ) -> Responses:
        """Return the chosen persons and items (masks, positions or slices), covariates included."""
        rows, columns = np.arange(self.n_persons)[persons], np.arange(self.n_items)[items]
        return replace(
            self,
            successes=frozen(self.successes[np.ix_(rows, columns)]),
            trials=frozen(self.trials[np.ix_(rows, columns)]),
            person_ids=tuple(self.person_ids[i] for i in rows),
            item_ids=tuple(self.item_ids[i] for i in columns),
            persons=None if self.persons is None else self.persons.iloc[rows].reset_index(drop=True),
            items=None if self.items is None else self.items.iloc[columns].reset_index(drop=True),
        )

    @classmethod
    def from_array(
        cls,
        successes: ArrayLike,
        trials: ArrayLike | None = None,
        *,
        person_ids: Sequence[str] | None = None,
        item_ids: Sequence[str] | None = None,
        missing: Literal["missing", "wrong"] = "missing",
        **labels: Any,
    ) -> Responses:
        """Make responses from a persons x items array.

        Parameters
        ----------
        successes : (N, J) array-like
            0, 1 and NaN (not administered); with `trials`, counts.
        trials : (N, J) array-like or int, optional
            Trials of each cell; 0 or NaN for cells that were not administered.
        person_ids, item_ids : sequence of str, optional
            Default ``person-1``, ... and ``item-1``, ...
        missing : {"missing", "wrong"}
            ``"wrong"`` counts missing cells as failures; the choice is recorded in `notes`.
        **labels
            `persons`, `items`, `person_label`, `name`, `source` of `Responses`, and `coding`: what further values
            stand for, as in ``{"C": 1, "I": 0, "error": None}``.

        Raises
        ------
        DataError
            If a cell is not a count, named by person, item and value.

        Examples
        --------
        >>> r = Responses.from_array([[1, 0], [1, float("nan")]])
        >>> r.n_observed
        3
        """
        from psychoeval.responses.tables import responses_from_array

        return responses_from_array(
            successes, trials, person_ids=person_ids, item_ids=item_ids, missing=missing, **labels
        )

    @classmethod
    def from_wide(cls, table: Any, **options: Any) -> Responses:
        """Make responses from a table with one row a person; see `psychoeval.responses.tables.from_wide`."""
        from psychoeval.responses.tables import from_wide

        return from_wide(table, **options)

    @classmethod
    def from_long(cls, table: Any, **options: Any) -> Responses:
        """Make responses from a table with one row a response; see `psychoeval.responses.tables.from_long`."""
        from psychoeval.responses.tables import from_long

        return from_long(table, **options)
