"""OpenEval's items in files: JSON, JSONL, and a folder with the three Parquet tables."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from psychoeval.errors import DataError, EngineUnavailableError, SettingsError
from psychoeval.files import make_folder, write_whole
from psychoeval.responses.readers.openeval import entries, is_json, is_table
from psychoeval.responses.readers.openeval_parquet import MARK, column_paths, read_rows, unpacked_size
from psychoeval.responses.readers.openeval_release import release_of
from psychoeval.responses.readers.openeval_tables import Row, from_tables, to_tables
from psychoeval.responses.readers.shape import shape_of
from psychoeval.responses.readers.sources import find_files, open_source

#: Largest Parquet files that are held whole, in bytes unpacked: with their texts they take several times as much.
_MAX_TABLES: Final = 512 << 20


def is_openeval(path: Path) -> bool:
    """Whether a file, or all Parquet files of a folder, are OpenEval's."""
    if path.is_dir():
        found = sorted(path.rglob("*.parquet"))
        return bool(found) and all(_kind(column_paths(p)) for p in found)
    source = open_source(path)
    shape = shape_of(source)
    return is_json(source, shape) or is_table(source, shape)


def stated_part(path: Path) -> str:
    """Return the part of a release (public, held-out) that the first item or benchmark names; "" if it names none."""
    if not path.exists() or not is_openeval(path):
        return ""
    files = [f for f in find_files([path]) if not path.is_dir() or f.name == "bench.parquet"]
    for source in map(open_source, files):
        if shape_of(source).kind == "parquet":
            rows = (row for _, row in read_rows(source.path, lambda name: name.startswith("benchmark_tags")))
            found: Row = {"item_metadata": {"source": next(rows, {})}}
        else:
            found = next((entry for _, _, _, entry in entries(source)), {})
        return release_of(found).get("part", "")
    return ""


def load_items(path: Path) -> list[tuple[str, Any]]:
    """Return the items of a file, or of a folder of tables, each with its place.

    Raises
    ------
    DataError
        If nothing is there, a file is damaged or too large to be held whole, or a response's item cannot be told.
    """
    rows: dict[str, list[tuple[str, Row]]] = {"bench": [], "item": [], "response": []}
    items: list[tuple[str, Any]] = []
    for file in find_files([path]):
        source = open_source(file)
        if shape_of(source).kind == "parquet":
            _load_table(file, rows)
            continue
        if path.is_dir():
            continue
        for _, _, place, entry in entries(source):
            kind = None if "responses" in entry else _kind(tuple(entry))
            (rows[kind] if kind else items).append((place, entry))
    if any(rows.values()):
        bench, item = ([row for _, row in rows[name]] for name in ("bench", "item"))
        items += [(f"{path}, {found.get('item_id')}", found) for found in from_tables(bench, item, rows["response"])]
    if not items:
        raise DataError(f"{path} holds no items.", "Give OpenEval's JSON, or a folder with its Parquet tables.")
    return items


def save_items(items: Sequence[tuple[str, Row]], out: Path) -> Counter[str]:
    """Write items: ``.json`` (a list), ``.jsonl`` (one a line), or a folder of Parquet tables.

    Returns
    -------
    Counter
        What the tables cannot hold (`psychoeval.responses.readers.openeval_tables.Tables`); nothing for JSON.

    Raises
    ------
    SettingsError
        If the ending is another.
    DataError
        If a value is not finite, or not of the type that its column has.
    """
    if not out.suffix:
        return _save_tables(items, out)
    if out.suffix not in (".json", ".jsonl"):
        raise SettingsError(f"{out} has the ending {out.suffix}.", "Choose .json, .jsonl, or a folder (no ending).")
    try:
        if out.suffix == ".json":
            content = json.dumps([item for _, item in items], ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        else:
            lines = (json.dumps(item, ensure_ascii=False, allow_nan=False) for _, item in items)
            content = "".join(f"{line}\n" for line in lines)
    except ValueError:
        raise DataError("A number of the items is not finite.", "psychoeval openeval validate names it.") from None
    # A lone half of a character, which JSON may hold, is written as JSON spells it.
    raw = content.encode("utf-8", "backslashreplace")
    write_whole(out, lambda file: file.write(raw))
    return Counter()


def _kind(names: Sequence[str]) -> str | None:
    """Return which table has these columns."""
    if "response_id" in names:
        return "response"
    if "item_id" in names:
        return "item"
    return "bench" if "benchmark_name" in names else None


def _load_table(file: Path, rows: dict[str, list[tuple[str, Row]]]) -> None:
    kind = _kind(column_paths(file))
    if kind is None:
        raise DataError(f"{file} is none of OpenEval's tables.", "They have response_id, item_id or benchmark_name.")
    if unpacked_size(file) > _MAX_TABLES:
        raise DataError(
            f"{file} unpacks to {unpacked_size(file) >> 20} MB, more than the {_MAX_TABLES >> 20} MB held whole.",
            "Convert it in parts; `psychoeval import` reads its scores alone, however large it is.",
        )
    rows[kind] += [(f"{file}, row {number}", row) for number, row in read_rows(file, lambda path: True)]


def _save_tables(items: Sequence[tuple[str, Row]], folder: Path) -> Counter[str]:
    tables = to_tables(items)
    contents = {
        name: _parquet(name, getattr(tables, name)) for name in ("bench", "item", "response") if getattr(tables, name)
    }
    make_folder(folder)
    for name, content in contents.items():
        write_whole(folder / f"{name}.parquet", partial(_put, content))
    return tables.lost


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _parquet(name: str, rows: list[Row]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise EngineUnavailableError(
            "Writing Parquet needs pyarrow.", "pip install 'psychoeval[parquet]', or write a .json file."
        ) from None
    try:
        table = arrow.Table.from_pylist(rows, schema=_schemas(arrow)[name])
    except (arrow.ArrowException, ValueError, TypeError) as error:
        raise DataError(
            f"The table {name} cannot be written: {str(error)[:200]}.", "psychoeval openeval validate names the field."
        ) from None
    out = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({MARK: b"1"}), out, write_page_checksum=True)
    return out.getvalue()


def _schemas(arrow: Any) -> dict[str, Any]:
    """Return the columns of each table, as the release has them."""
    text, texts = arrow.string(), arrow.list_(arrow.string())

    def of_texts(*names: str) -> Any:
        return arrow.struct([(name, text) for name in names])

    typed = arrow.struct([("type", texts), ("content", texts)])
    metric = arrow.struct([("name", text), ("models", texts), ("extra_artifacts", typed)])
    adaptation = arrow.struct([("system_instruction", text), ("generation_parameters", text), ("tools", typed)])
    asked = [("request_input", texts), ("demonstrations", texts), ("external_resources", typed)]
    metadata = [("ingestion_time", text), ("contributor", of_texts("name", "email", "affiliation")), ("source", text)]
    columns = {
        "bench": [
            *((name, text) for name in ("benchmark_name", "benchmark_version", "paper_url", "dataset_url")),
            ("benchmark_tags", texts),
        ],
        "item": [
            ("item_id", text),
            ("schema_version", text),
            ("item_metadata", arrow.struct(metadata)),
            ("item_content", arrow.struct([("input", texts), ("references", texts)])),
        ],
        "response": [
            ("response_id", text),
            ("model", arrow.struct([("name", text), ("size", text), ("model_adaptation", adaptation)])),
            ("item_adaptation", arrow.struct(asked)),
            ("response_content", texts),
            ("scores", arrow.struct([("metric", arrow.list_(metric)), ("value", arrow.list_(arrow.float64()))])),
        ],
    }
    return {name: arrow.schema(fields) for name, fields in columns.items()}
