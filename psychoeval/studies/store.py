"""Rows of a study kept on disk as they are done, one JSON line each."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from psychoeval.errors import SettingsError, StoredFileError

#: What a replication found: numbers, text or None by name.
Row = Mapping[str, float | str | None]


class RowStore:
    """A file of rows, found again by their keys.

    A row is written whole as soon as it is done, so that a run that is interrupted or killed loses none. The key says
    all that the row depends on (data, settings, seed, versions): rows of another question have other keys.

    Parameters
    ----------
    path : Path
        Made where it is missing, with its folder. Delete it, or lines of it, to have rows computed again.

    Raises
    ------
    SettingsError
        If it cannot be made or read.
    StoredFileError
        If a line is no row; a last line without its end, as a killed process leaves it, is taken away.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise SettingsError(f"The rows cannot be kept in {self.path}, which is no file.", "Choose another file.")
        self._rows: dict[str, Row] = {}
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                file.seek(0)
                content = file.read()
                whole = content[: content.rfind(b"\n") + 1]
                if len(whole) < len(content):
                    file.truncate(len(whole))
        except OSError as error:
            raise SettingsError(f"The rows cannot be kept in {self.path}: {error}.", "Choose another file.") from None
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                key, row = json.loads(line)
                self._rows[str(key)] = dict(row)
            except (ValueError, TypeError) as error:
                raise StoredFileError(
                    f"{self.path}, line {number} is no row of a study ({error}).", "Delete the line, or the file."
                ) from None

    def find(self, key: str) -> Row | None:
        """Return the row of a key, or None."""
        return self._rows.get(key)

    def keep(self, key: str, row: Row) -> None:
        """Keep a row.

        Raises
        ------
        StoredFileError
            If it cannot be written.
        """
        line = json.dumps([key, dict(row)]) + "\n"
        with self._lock:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError as error:
                raise StoredFileError(f"{self.path} cannot be written: {error}.", "Make room for it.") from None
            self._rows[key] = row
