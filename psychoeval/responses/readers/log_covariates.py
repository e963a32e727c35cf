"""What logs know of systems and items besides the scores: covariates, and the texts of items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import PsychoevalError
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.archives import Archive
from psychoeval.responses.readers.formats import recognize
from psychoeval.responses.readers.log import EvaluationLog
from psychoeval.responses.readers.openeval import entries
from psychoeval.responses.readers.sources import Source, open_source, read_json, read_json_lines

if TYPE_CHECKING:
    import pandas as pd

#: Keys of an item that hold its text, in this order.
_TEXT_KEYS: Final = ("question", "problem", "input", "prompt", "query", "text", "sentence", "goal", "ctx", "content")


def person_table(
    log: EvaluationLog, rows: NDArray[np.intp], of_person: NDArray[np.intp], n: int
) -> pd.DataFrame | None:
    """Return what logs know of systems: ``family``, the first that is named; None where none is.

    Parameters
    ----------
    log : EvaluationLog
    rows, of_person : (R,) intp arrays
        Rows of the log, and the person of each.
    n : int
        Persons.
    """
    import pandas as pd

    codes, levels = log.texts["family"]
    named = np.array([level != "" for level in levels], np.bool_)[codes[rows]]
    if not named.any():
        return None
    family: list[str | None] = [None] * n
    persons, first = np.unique(of_person[named], return_index=True)
    for person, row in zip(persons.tolist(), rows[named][first].tolist(), strict=True):
        family[person] = levels[codes[row]]
    return pd.DataFrame({"family": pd.Series(family, dtype=object)})


def item_table(log: EvaluationLog, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Return what logs know of items: ``benchmark`` if any is named, and first ``logged_id``, ``file`` and ``line``.

    Parameters
    ----------
    log : EvaluationLog
    rows : (J,) intp array
        The row of the log where each item first appears.
    """
    import pandas as pd

    names = {"benchmark": "benchmark", "item": "logged_id", "file": "file"}
    if not any(log.texts["benchmark"][1]):
        del names["benchmark"]
    columns = {
        called: pd.Categorical.from_codes(log.texts[name][0][rows].tolist(), pd.Index(list(log.texts[name][1])))
        for name, called in names.items()
    }
    return pd.DataFrame({**columns, "line": log.line[rows]})


def item_texts(responses: Responses, ids: Sequence[str], longest: int = 200) -> dict[str, str]:
    """Return the texts of a few items by id, from the logs they were read from; without those that cannot be had.

    Parameters
    ----------
    responses : Responses
        Read from logs that are still where they were.
    ids : sequence of str
    longest : int
        Characters kept of a text.
    """
    table = responses.items
    if table is None or not {"logged_id", "file", "line"} <= set(table.columns):
        return {}
    place = {name: j for j, name in enumerate(responses.item_ids)}
    wanted: dict[str, dict[tuple[str, int], str]] = {}
    for name in ids:
        row = table.iloc[place[name]]
        wanted.setdefault(str(row["file"]), {})[str(row["logged_id"]), int(row["line"])] = name
    out: dict[str, str] = {}
    for file, items in wanted.items():
        try:
            out |= _texts_in(Path(file), items)
        except (PsychoevalError, OSError):  # moved or changed since: the audit goes on without
            continue
    return {name: _short(text, longest) for name, text in out.items()}


def _texts_in(path: Path, wanted: dict[tuple[str, int], str]) -> dict[str, str]:
    source = open_source(path)
    found = recognize(source)
    lines = {line: name for (_, line), name in wanted.items() if line}
    by_id = {item: name for (item, _), name in wanted.items()}
    kind = "" if found is None else found.name
    out: dict[str, str] = {}
    if kind in ("lm-eval", "every-eval-ever"):
        for line, row in read_json_lines(source):
            if line in lines:
                out[lines[line]] = _text(row.get("doc", row.get("input")))
                if len(out) == len(lines):
                    break
        return out
    for item, content in _items_in(source, kind, by_id):
        out[by_id[item]] = _text(content)
    return out


def _items_in(source: Source, kind: str, wanted: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield id and content of the wanted items of formats in which an item has no line."""
    if kind == "inspect":
        samples = read_json(source).get("samples") or []
        yield from ((str(s.get("id")), s.get("input")) for s in samples if str(s.get("id")) in wanted)
    elif kind == "inspect archive":
        with Archive(source.path) as archive:
            for name in archive.names:
                item = name.removeprefix("samples/").rpartition("_epoch_")[0]
                if item in wanted:
                    yield item, archive.json(name).get("input")
    elif kind == "openeval":
        for _, _, _, entry in entries(source):
            if str(entry.get("item_id")) in wanted and isinstance(entry.get("item_content"), dict):
                yield str(entry["item_id"]), entry["item_content"].get("input")
    elif kind == "helm":
        state = open_source(source.path.with_name("scenario_state.json"))
        for request in read_json(state).get("request_states") or []:
            instance = request.get("instance") or {}
            if str(instance.get("id")) in wanted:
                yield str(instance["id"]), instance.get("input")


def _text(content: Any) -> str:
    """Return the text of what was asked: of an object its question, of messages the last of the user."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        asked = [c for c in content if not isinstance(c, dict) or c.get("role", "user") == "user"]
        return " ".join(_text(c) for c in asked[-1:])
    if isinstance(content, dict):
        for key in ("raw", *_TEXT_KEYS):
            if content.get(key):
                return _text(content[key])
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def _short(text: str, longest: int) -> str:
    words = " ".join(text[: 20 * longest].split())
    return words if len(words) <= longest else words[: longest - 1] + "…"
