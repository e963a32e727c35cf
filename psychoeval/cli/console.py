"""What the commands print: tables to stdout, progress and messages to stderr."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.fitting import Progress

Format = Literal["table", "csv", "json"]

#: Width of tables where stdout is no terminal: wide enough that no column is cut.
_PIPE_WIDTH = 240
#: Decimals of numbers in tables.
_DIGITS = 3
#: Control characters but line feed and tab, and those that turn the direction of writing.
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
#: Ids longer than this are cut in tables, never in CSV or JSON.
_LONGEST_CELL = 60


def visible(text: str) -> str:
    r"""Return a text with its control characters spelled out: ids come from files, and a terminal obeys what it reads.

    Line feeds and tabs stay; escapes, carriage returns and what turns the direction of writing do not.

    Examples
    --------
    >>> print(visible("q1\x1b[2J"))
    q1\x1b[2J
    """
    return _CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text)


def show(text: object = "", *, file: TextIO | None = None) -> None:
    """Print a line to stdout, or to `file`: what all commands print in sentences."""
    print(visible(str(text)), file=file)


def say(text: str, *, style: str = "") -> None:
    """Print a message to stderr."""
    Console(stderr=True, soft_wrap=True).print(escape(visible(text)), style=style or None, highlight=False)


def plain(value: Any) -> Any:
    """Return `value` as JSON takes it: NaN becomes None, infinities the strings ``"inf"`` and ``"-inf"``."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON objects."""
    return [plain(row) for row in table.to_dict("records")]


def print_json(content: Any) -> None:
    """Print JSON to stdout."""
    print(json.dumps(plain(content), indent=1, ensure_ascii=False))


def print_rows(
    rows: Sequence[Mapping[str, Any]], output: Format, title: str = "", digits: Mapping[str, int] | None = None
) -> None:
    """Print rows of equal keys as a table, CSV or JSON; `digits` are a table's decimals by key where they are not 3."""
    if output == "json":
        print_json(rows)
    elif output == "csv":
        if rows:
            writer = csv.DictWriter(sys.stdout, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        _print_rich(rows, title, digits or {})


def print_table(table: pd.DataFrame, output: Format, title: str = "") -> None:
    """Print a DataFrame as a table, CSV or JSON."""
    if output == "csv":
        table.to_csv(sys.stdout, index=False)
    else:
        print_rows([{str(k): v for k, v in row.items()} for row in table.to_dict("records")], output, title)


def _print_rich(rows: Sequence[Mapping[str, Any]], title: str, digits: Mapping[str, int]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    if not rows:
        console.print(f"{title}: none" if title else "none", highlight=False)
        return
    if title:
        console.print(escape(visible(title)), style="bold", highlight=False)
    table = Table(box=None, pad_edge=False)
    # Numbers to the right; None counts as one, since it is a number that is not known.
    numeric = {
        key: all(isinstance(r[key], (int, float, NoneType)) and not isinstance(r[key], bool) for r in rows)
        for key in rows[0]
    }
    for key in rows[0]:
        table.add_column(escape(visible(str(key))), justify="right" if numeric[key] else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell(row[key], digits.get(key, _DIGITS))) for key in rows[0]))
    console.print(table, highlight=False)
    console.print()


def _cell(value: Any, digits: int) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # no -0.000
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= _LONGEST_CELL * 4 else text[: _LONGEST_CELL * 4] + "..."


class _Running:
    """The fits that run now, with their start times; fits report from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: dict[str, float] = {}
        self._chains: dict[str, str] = {}

    def show_chains(self, name: str, text: str) -> None:
        """Show how far the chains of an estimator are; "" when they have ended."""
        with self._lock:
            self._chains[name] = text

    def update(self, label: str, event: str) -> None:
        with self._lock:
            if event == "start":
                self._started[label] = time.monotonic()
            else:
                self._started.pop(label, None)

    def __rich__(self) -> str:
        with self._lock:
            running = [f"{escape(label)} ({time.monotonic() - start:.0f} s)" for label, start in self._started.items()]
            chains = "".join(f"; {escape(f'{name}: {text}')}" for name, text in self._chains.items() if text)
        return "fitting " + ", ".join(running) + chains if running else "working"


@contextmanager
def fit_progress() -> Iterator[Progress | None]:
    """Show which fits run on stderr; gives None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    running = _Running()

    def report(label: str, event: str) -> None:
        running.update(label, event)
        if event != "start":
            console.print(f"{label}: {event}", highlight=False, markup=False)

    from rich.live import Live
    from rich.spinner import Spinner

    from psychoeval.estimators.progress import shown_by

    with (
        shown_by(running.show_chains),
        Live(Spinner("dots", running), console=console, transient=True, refresh_per_second=4),
    ):
        yield report
