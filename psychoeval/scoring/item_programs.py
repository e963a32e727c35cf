"""Tables of items from what girth and py-irt write.

girth 0.8: functions return a dictionary with Difficulty (J,), Discrimination (J,) or one number, and from
`threepl_mml` Guessing (J,); no ids. py-irt 0.7: `IrtModelTrainer.export` writes irt_model, item_ids (position as text
-> id), diff, and disc, exp of the log slope, in the 2pl; lambdas are the lower asymptotes of the 3pl and the upper
ones of the 4pl.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psychoeval.errors import DataError, ModelError
from psychoeval.responses.readers.sources import MAX_WHOLE, open_source, read_json
from psychoeval.scoring.item_tables import read_frame
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: py-irt's models that are taken, and the keys of their item parameters under our names.
_PY_IRT: Final[dict[str, dict[str, str]]] = {
    "1pl": {"diff": "difficulty"},
    "2pl": {"diff": "difficulty", "disc": "discrimination"},
    "3pl": {"diff": "difficulty", "disc": "discrimination", "lambdas": "guessing"},
}
_WHY_NOT: Final = {
    "4pl": "its lambdas are upper asymptotes, and P = lambda / (1 + exp(-a (theta - b)))",
    "multidim_2pl": "it has several dimensions",
    "amortized_1pl": "its difficulties are not in the order of its item ids",
}
_GIRTH: Final = {"Difficulty": "difficulty", "Discrimination": "discrimination", "Guessing": "guessing"}
#: Keys under which ids may be stored beside girth's results.
_IDS: Final = ("item_ids", "items", "item")


def py_irt_table(file: Path) -> pd.DataFrame:
    """Return item, difficulty, and discrimination and guessing where the model has them.

    Raises
    ------
    DataError
        If a key is missing, or lists are of different lengths.
    ModelError
        If the model is none of 1pl, 2pl and 3pl.
    """
    import pandas as pd

    content = read_json(open_source(file))
    if not isinstance(content, Mapping) or "diff" not in content:
        raise DataError(
            f"{file} is no file of py-irt: it has no object with the key 'diff'.",
            "Give parameters.json or best_parameters.json of `py-irt train`.",
        )
    model = _py_irt_model(content)
    ids = content.get("item_ids")
    if not isinstance(ids, Mapping) or {*ids} != {str(k) for k in range(len(ids))}:
        raise DataError(
            "The key 'item_ids' names no item for each position from 0.", "Give the file as py-irt wrote it."
        )
    names = [str(ids[str(k)]) for k in range(len(ids))]
    columns: dict[str, Any] = {"item": names}
    for key, term in _PY_IRT[model].items():
        columns[term] = _list(content.get(key), key, names)
    return pd.DataFrame(columns)


def _py_irt_model(content: Mapping[str, Any]) -> str:
    model = content.get("irt_model")
    if model is None:  # written before py-irt named it
        if "lambdas" in content:
            raise ModelError(
                "There is no key 'irt_model': 'lambdas' could be lower (3pl) or upper asymptotes (4pl).",
                'Add "irt_model": "3pl" if they are lower ones.',
            )
        return "2pl" if "disc" in content else "1pl"
    if model not in _PY_IRT:
        why = _WHY_NOT.get(str(model), "it is not known here")
        raise ModelError(f"py-irt's model {model!r} is not taken: {why}.", "Train a 1pl, 2pl or 3pl.")
    return str(model)


def girth_table(file: Path, item_ids: Sequence[str] | None) -> pd.DataFrame:
    """Return item, difficulty, discrimination, and guessing where there is one.

    Raises
    ------
    DataError
        If there are no ids, or arrays are of different lengths.
    ModelError
        If arrays have two dimensions.
    """
    import pandas as pd

    content = _girth_content(file)
    if missing := [key for key in ("Difficulty", "Discrimination") if key not in content]:
        raise DataError(
            f"{file} holds no result of girth: it has no {missing[0]}.", "Save the dictionary that girth returns."
        )
    found = {term: content[key] for key, term in _GIRTH.items() if key in content}
    for key, term in _GIRTH.items():
        if np.ndim(found.get(term, 0.0)) > 1:
            what = "more than two categories" if key == "Difficulty" else "several dimensions"
            raise ModelError(
                f"{key} has the shape {np.shape(found[term])}: items with {what}.", "Fit a Rasch, 2PL or 3PL."
            )
    n = np.size(found["difficulty"])
    names = _girth_ids(content, item_ids, n)
    columns = {
        term: [values] * n if np.ndim(values) == 0 else _list(values, term.capitalize(), names)
        for term, values in found.items()
    }
    return pd.DataFrame({"item": names, **columns})


def _girth_ids(content: Mapping[str, Any], given: Sequence[str] | None, n: int) -> list[str]:
    """Return the ids of the items."""
    stored = next((content[key] for key in _IDS if key in content), None)
    if given is None and stored is not None:
        names = [str(name) for name in stored]
        if names != [str(k) for k in range(n)]:  # row numbers, as pandas writes them, are no ids
            given = names
    if given is None:
        raise DataError(
            "girth's results name no items.", "Give item_ids=, the rows of the data in order; fits are matched by id."
        )
    if isinstance(given, str) or len(given) != n:
        raise DataError(f"There are {len(given)} item ids for {n} items.", "Give one id for each, in order.")
    return [str(name) for name in given]


def _girth_content(file: Path) -> Mapping[str, Any]:
    """Return what a file holds by name: of NPZ the arrays that are needed, without pickles."""
    suffix = file.suffix.lower()
    if suffix == ".npz":
        return _arrays(file)
    if suffix == ".json":
        content = read_json(open_source(file))
        return content if isinstance(content, Mapping) else {}
    table = read_frame(file)
    return {str(name): list(table[name]) for name in table.columns}


def _arrays(file: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            wanted = [m for m in archive.infolist() if m.filename.removesuffix(".npy") in (*_GIRTH, *_IDS)]
            if sum(m.file_size for m in wanted) > MAX_WHOLE:
                raise DataError(f"{file} holds arrays larger than {MAX_WHOLE >> 20} MB.", "Save the items alone.")
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name].tolist() for name in (*_GIRTH, *_IDS) if name in stored.files}
    except DataError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{file} cannot be read: {error}.", "Save arrays of numbers with numpy.savez.") from None


def _list(values: Any, what: str, names: Sequence[str]) -> list[Any]:
    """Return one value for each item."""
    if not isinstance(values, list):
        raise DataError(f"{what!r} is missing, or no list.", "Give the file as it was written.")
    if len(values) != len(names):
        raise DataError(
            f"{what!r} has {len(values)} values for {len(names)} items ({some(names, 3)}).", "Give one for each item."
        )
    if any(isinstance(v, list) for v in values):
        raise ModelError(f"{what!r} has several values for an item: several dimensions.", "Fit one dimension.")
    return values
