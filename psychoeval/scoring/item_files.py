"""Known items from files: tables, and what R's mirt, girth and py-irt write."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from psychoeval.errors import DataError, ModelError, PsychoevalWarning, SettingsError
from psychoeval.estimators.settings import is_choice
from psychoeval.irt.parameters import ItemParameters
from psychoeval.scoring.item_programs import girth_table, py_irt_table
from psychoeval.scoring.item_tables import mirt_table, read_frame, wide_table
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

ItemSource = Literal["table", "mirt", "girth", "py-irt"]
ItemParametrization = Literal["difficulty", "slope-intercept", "easiness"]

_DIFFICULTIES: Final = {"b", "difficulty", "beta", "location"}
_INTERCEPTS: Final = {"d", "intercept"}
#: Columns of a table with one row for each item and term, as `psychoeval fit --format csv` prints it.
_LONG: Final = {"item", "term", "estimate"}


def read_item_parameters(
    path: str | os.PathLike[str],
    source: ItemSource = "table",
    *,
    item_ids: Sequence[str] | None = None,
    parametrization: ItemParametrization | None = None,
) -> ItemParameters:
    r"""Read the parameters of known items from a file.

    Parameters
    ----------
    path : path
    source : {"table", "mirt", "girth", "py-irt"}
        ``"table"``: CSV, TSV or Parquet, one row an item, with columns as in `psychoeval.import_fit`; or one row for
        each item and term, as `psychoeval fit --format csv` prints it. Slopes are 1 where there are none.
        ``"mirt"``: ``write.csv(coef(fit, simplify = TRUE, IRTpars = FALSE)$items)``, or with ``IRTpars = TRUE``.
        ``"girth"``: its dictionary (Discrimination, Difficulty, Guessing) as JSON, NPZ or CSV. ``"py-irt"``:
        ``parameters.json`` or ``best_parameters.json`` of a 1pl, 2pl or 3pl.
    item_ids : sequence of str, optional
        For girth, whose results have none: the rows of the data, in order.
    parametrization : {"difficulty", "slope-intercept", "easiness"}, optional
        Of tables; by default by the name of the column, ``b`` or ``difficulty`` against ``d`` or ``intercept``.

    Returns
    -------
    ItemParameters
        Negative slopes are kept, with a warning that names them. The distribution of the abilities is in no such
        file: where it is not N(0, 1), as for mirt's Rasch model, give it to `score`.

    Raises
    ------
    DataError
        If the file cannot be read, or is not what `source` says; by file, column and item.
    ModelError
        If the items are of a model that is not taken: an upper asymptote below 1 (4PL), several dimensions, more than
        two categories.
    SettingsError
        If an option is unknown, or does not belong to the source.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("item,a,b\nq1,1.2,0.5\nq2,0.8,-1\n")
    ...     read_item_parameters(file).difficulty
    array([ 0.5, -1. ])
    """
    if not is_choice(source, get_args(ItemSource)):
        raise SettingsError(f"There is no source {source!r}.", f"Choose among {some(get_args(ItemSource))}.")
    if parametrization is not None and source != "table":
        raise SettingsError("parametrization= belongs to tables.", f"Leave it out: {source} says what its columns are.")
    if item_ids is not None and source != "girth":
        raise SettingsError("item_ids= belongs to girth.", f"Leave it out: {source} names its items.")
    if parametrization is not None and not is_choice(parametrization, get_args(ItemParametrization)):
        raise SettingsError(
            f"There is no parametrization {parametrization!r}.", f"Choose among {some(get_args(ItemParametrization))}."
        )
    file = Path(path)
    items = _in_file(file, lambda: _read(file, source, item_ids, parametrization))
    _note_signs(items, file)
    return items


def _read(
    file: Path, source: ItemSource, item_ids: Sequence[str] | None, parametrization: ItemParametrization | None
) -> ItemParameters:
    from psychoeval.agreement.external import items_from_table
    from psychoeval.agreement.external_checks import check_guessing, check_tables

    if source == "py-irt":
        table, kind = py_irt_table(file), "difficulty"
    elif source == "girth":
        table, kind = girth_table(file, item_ids), "difficulty"
    else:
        table = read_frame(file)
        if source == "mirt":
            table = mirt_table(table)
        elif _LONG.issubset(str(c).lower() for c in table.columns):
            table = wide_table(table)
        kind = parametrization or _kind(table)
    check_tables(table, None)
    items = items_from_table(table, kind)  # type: ignore[arg-type]
    check_guessing(items)
    return items


def _in_file(file: Path, read: Callable[[], ItemParameters]) -> ItemParameters:
    """Return what is read, with the file named in what is refused."""
    try:
        return read()
    except (DataError, ModelError) as error:
        if str(file) in error.problem:
            raise
        raise type(error)(f"{file}: {error.problem}", error.remedy) from None


def _kind(table: pd.DataFrame) -> ItemParametrization:
    names = {str(c).lower() for c in table.columns}
    if names & _DIFFICULTIES and names & _INTERCEPTS:
        both = sorted(names & (_DIFFICULTIES | _INTERCEPTS))
        raise DataError(
            f"The columns {some(both)} are difficulties and intercepts.",
            "Say which to take: parametrization='difficulty' or 'slope-intercept'.",
        )
    return "slope-intercept" if names & _INTERCEPTS else "difficulty"


def _note_signs(items: ItemParameters, file: Path) -> None:
    """Warn of negative slopes, which models with free signs allow."""
    negative = items.discrimination < 0
    if not negative.any():
        return
    names = [i for i, bad in zip(items.item_ids, negative, strict=True) if bad]
    turned = "Most are: the scale runs the other way round, high where systems fail." if negative.mean() > 0.5 else (
        "Who is able fails on them: look at their keys."
    )  # fmt: skip
    warnings.warn(
        f"{file}: {len(names)} of {negative.size} slopes are negative: {some(names)}. {turned}",
        PsychoevalWarning,
        stacklevel=3,
    )
