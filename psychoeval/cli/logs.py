"""The command `psychoeval import`: evaluation logs to a table that the other commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from psychoeval.cli.console import say, show
from psychoeval.cli.inputs import OF_FILES, READ_LOG, log_options, parse_pairs
from psychoeval.cli.paths import path_option
from psychoeval.errors import SettingsError


def import_logs(
    paths: Annotated[list[str], typer.Argument(help="Log files, folders, globs.")],
    out: Annotated[Path, path_option("Write the responses here: .parquet, .csv or .tsv.")],
    rows: Annotated[Path | None, path_option("Write the long table of all rows here too (.parquet or .csv).")] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            help=f"How to read, name=value: {', '.join(READ_LOG)}. May be repeated; metric=a,b takes several, "
            "bounds=0:100."
        ),
    ] = None,
) -> None:
    """Read evaluation logs, say what became of every row, and write the responses as a table."""
    from psychoeval.responses.readers.reading import read_log
    from psychoeval.responses.readers.selection import select
    from psychoeval.responses.writing import write_frame, write_table

    _check_targets(paths, out, rows)
    options = parse_pairs("--read", read or [], numeric=())
    unknown = options.keys() - set(READ_LOG)
    if unknown:
        raise SettingsError(f"--read {', '.join(sorted(unknown))} is unknown.", f"The names are {', '.join(READ_LOG)}.")
    given = log_options(options)
    of_files: dict[str, Any] = {key: given.pop(key) for key in OF_FILES if key in given}
    log = read_log(paths, **of_files)
    say(repr(log))
    selected = select(log, **given, source=", ".join(paths), name=Path(paths[0]).name.split(".")[0] or "responses")
    for note in selected.responses.notes:
        say(f"- {note}")
    write_table(selected.responses, out)
    if rows is not None:
        write_frame(log.to_frame(), rows)
    say(repr(selected.responses))
    show(out)


def _check_targets(paths: list[str], out: Path, rows: Path | None) -> None:
    """Refuse targets that cannot be written, that are one file, or that would replace what is read."""
    from psychoeval.responses.readers.sources import find_files
    from psychoeval.responses.writing import checked_ending

    targets = [checked_ending(p).resolve() for p in (out, rows) if p is not None]
    if len(set(targets)) < len(targets):
        raise SettingsError(f"--out and --rows are both {out}.", "Give each a file of its own.")
    for read in find_files(paths):
        if read.resolve() in targets:
            raise SettingsError(f"{read} is read, and would be replaced.", "Write elsewhere.")
