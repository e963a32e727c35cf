"""Tables of items: as a file has them, from mirt's coefficients, and from one row for each item and term."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psychoeval.errors import DataError, ModelError, PsychoevalWarning
from psychoeval.responses.tables import open_table
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: Slopes on a second factor, and thresholds of items with more than two categories.
_FURTHER_SLOPE: Final = re.compile(r"a(?!1$)[1-9]\d*")
_THRESHOLD: Final = re.compile(r"[bd][1-9]\d*|ak\d+")


def read_frame(file: Path) -> pd.DataFrame:
    """Return a table of texts or numbers; an unnamed first column, where R and pandas write row names, is ``item``."""
    import pandas as pd

    opened = open_table(file)
    columns = opened.columns(range(len(opened.names)))
    names = ["item" if not name and "item" not in opened.names else name for name in opened.names]
    return pd.DataFrame(dict(zip(names, (pd.Series(c, dtype=object) for c in columns), strict=True)))


def mirt_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the items of a table of mirt's coefficients; refuse what is no dichotomous model of one dimension."""
    prefix = "items."  # of write.csv(coef(fit, simplify = TRUE)), which puts the latent distribution beside the items
    if any(str(c).startswith(prefix) for c in table.columns):
        table = table[[c for c in table.columns if c == "item" or str(c).startswith(prefix)]]
        table = table.rename(columns=lambda c: str(c).removeprefix(prefix))
    names = [str(c) for c in table.columns]
    if further := [c for c in names if _FURTHER_SLOPE.fullmatch(c)]:
        raise ModelError(f"The columns {some(further)} are slopes on further dimensions.", "Fit one dimension.")
    if thresholds := [c for c in names if _THRESHOLD.fullmatch(c)]:
        raise ModelError(
            f"The columns {some(thresholds)} are of items with more than two categories.",
            "Leave these items out, or score responses as right and wrong.",
        )
    if "u" in names:
        labels = table["item"] if "item" in names else range(1, len(table) + 1)
        for name, value in zip(labels, table["u"], strict=True):
            if _as_float(value) != 1.0:
                raise ModelError(
                    f"Column 'u', item {str(name)[:60]!r}: an upper asymptote of {value}, as the 4PL has it.",
                    "Fit a model whose upper asymptote is 1: Rasch, 2PL or 3PL.",
                )
    return table


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def wide_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row an item of a table with one row for each item and term, as `FitResult.item_table` has it.

    Items that were not estimated are left out, with a warning. Of intercept and difficulty the intercept is taken: the
    other is -d / a, and nothing of its own.

    Raises
    ------
    DataError
        If a term of an item occurs twice, or no item has numbers.
    """
    import pandas as pd

    table = table.rename(columns=lambda c: str(c).lower())
    twice = table.duplicated(["item", "term"]).to_numpy()
    if twice.any():
        row = table.iloc[int(twice.argmax())]
        raise DataError(f"The term {row['term']!r} of item {row['item']!r} occurs twice.", "Leave one in.")
    names, terms = list(dict.fromkeys(table["item"])), list(dict.fromkeys(table["term"]))
    if "intercept" in terms and "difficulty" in terms:
        terms.remove("difficulty")
    place = {name: k for k, name in enumerate(names)}
    rows = np.array([place[name] for name in table["item"]], dtype=np.intp)
    known, columns = np.ones(len(names), dtype=bool), {}
    for term in terms:
        at = np.flatnonzero((table["term"] == term).to_numpy())
        for prefix, source in (("", "estimate"), ("se_", "std_error")):
            if source in table.columns:
                values = np.full(len(names), np.nan)
                values[rows[at]] = [_as_float(v) for v in table[source].iloc[at]]
                columns[f"{prefix}{term}"] = values
        known &= np.isfinite(columns[term])
    if not known.any():
        raise DataError("No item has numbers.", "Print the items: psychoeval fit ... --format csv --table items.")
    if not known.all():
        lost = [name for name, good in zip(names, known, strict=True) if not good]
        warnings.warn(
            f"{len(lost)} of {len(names)} items have no parameters and are left out: {some(lost)}.",
            PsychoevalWarning,
            stacklevel=6,
        )
    kept = {name: values[known] for name, values in columns.items()}
    # What the model fixes has no error.
    errors = {name: np.nan_to_num(v) for name, v in kept.items() if name.startswith("se_") and np.isfinite(v).any()}
    estimates = {name: v for name, v in kept.items() if not name.startswith("se_")}
    return pd.DataFrame({**estimates, **errors}, index=[n for n, good in zip(names, known, strict=True) if good])
