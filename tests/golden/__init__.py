"""Reference values of other programs, made by r_scripts/make_golden.R."""

import csv
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.matrix import Responses

FOLDER = Path(__file__).parent
#: psychoeval's models -> the key of the same model in the reference files.
MODEL_KEYS = {"Rasch": "rasch", "1PL": "one_pl", "2PL": "two_pl", "3PL": "three_pl_fixed"}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def reference(name: str) -> dict[str, Any]:
    """Return a reference file, e.g. ``mirt_lsat7``."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return content


def numbers(values: list[Any]) -> np.ndarray:
    """Return a list of numbers, null (NaN) and "Inf", "-Inf" as float64."""
    return np.array([np.nan if v is None else float(v) for v in values])


@cache
def data(name: str) -> Responses:
    """Return the data that a reference was computed from."""
    with (FOLDER / "data" / f"{name}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    values = np.array([[np.nan if cell == "" else float(cell) for cell in row] for row in rows])
    return Responses.from_array(values, item_ids=header)


def mirt_items(fit: dict[str, Any]) -> ItemParameters:
    """Return the item parameters of one fit of a ``mirt_*`` file."""
    return ItemParameters.from_slope_intercept(fit["items"], fit["slope"], fit["intercept"], fit["guessing"])
