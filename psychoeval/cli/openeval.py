"""The commands `psychoeval openeval`: check files of OpenEval's schema, and make them from logs; see `release`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from psychoeval.cli.console import say, show
from psychoeval.cli.paths import given_path

EXIT_INVALID = 2

openeval = typer.Typer(
    help="Check OpenEval files, make them from logs, split them, compare the parts.", no_args_is_help=True
)


@openeval.command()
def validate(
    file: Annotated[
        Path,
        typer.Argument(parser=given_path, metavar="FILE", help="JSON, JSONL, or a folder with the Parquet tables."),
    ],
    quiet: Annotated[bool, typer.Option("--quiet", help="Print one line a kind of finding, with its number.")] = False,
) -> None:
    """Print every violation of the schema with its path; exit code 2 if there is one. Warnings alone are valid."""
    from psychoeval.responses.readers.openeval_files import load_items
    from psychoeval.responses.readers.openeval_validate import Finding, general_path
    from psychoeval.responses.readers.openeval_validate import validate as check

    items = load_items(file)
    kinds: Counter[tuple[str, str]] = Counter()
    numbers = [0, 0]

    def count(finding: Finding) -> None:
        word = "warning" if finding.is_warning else "violation"
        numbers[finding.is_warning] += 1
        if quiet:
            kinds[word, f"{general_path(finding)} {finding.problem}"] += 1
        else:
            show(f"{word}: {finding}")

    for finding in check(items):
        count(finding)
    for (word, text), n in kinds.most_common():
        show(f"{word}: {text} ({n})")
    say(f"{len(items)} items, {numbers[False]} violations, {numbers[True]} warnings")
    if numbers[False]:
        raise typer.Exit(EXIT_INVALID)


@openeval.command()
def convert(
    source: Annotated[
        list[Path],
        typer.Argument(parser=given_path, metavar="IN... OUT", help="OpenEval's files, or any logs; then OUT."),
    ],
    benchmark: Annotated[str, typer.Option(help="Of logs that name none.")] = "",
    person: Annotated[str, typer.Option(help="The system, of logs that name none.")] = "",
    format: Annotated[str, typer.Option(help="Of the logs, where it is not to be told from their content.")] = "auto",
) -> None:
    """Convert to OpenEval: OUT is a .json or .jsonl file, or a folder for the Parquet tables (no ending)."""
    from psychoeval.errors import SettingsError
    from psychoeval.responses.readers.openeval_files import save_items

    *given, out = source
    if not given:
        raise SettingsError("convert was given one path.", "Give IN and OUT.")
    items = as_items(given, benchmark=benchmark, person=person, format=format)
    lost = save_items(items, out)
    for what, n in lost.items():
        say(f"- the tables cannot hold {what} ({n})")
    say_violations(items)
    say(f"{len(items)} items, {sum(len(item.get('responses', ())) for _, item in items)} responses")
    show(out)


def as_items(given: list[Path], *, benchmark: str, person: str, format: str) -> list[tuple[str, dict[str, Any]]]:
    """Return OpenEval's items whole where they are such, and other logs as items."""
    from psychoeval.responses.readers.openeval_files import is_openeval, load_items
    from psychoeval.responses.readers.openeval_write import to_items
    from psychoeval.responses.readers.reading import read_log

    if format == "auto" and len(given) == 1 and given[0].exists() and is_openeval(given[0]):
        return load_items(given[0])
    log = read_log(given, format=format, person=person)
    for note in log.notes:
        say(f"- {note}")
    for dropped in log.dropped:
        say(f"- {dropped.n} rows left out: {dropped.reason}")
    return [(str(given[0]), item) for item in to_items(log, benchmark=benchmark)]


def say_violations(items: list[tuple[str, dict[str, Any]]]) -> None:
    """Say what the items lack: logs of other formats hold no texts and no settings of models."""
    from psychoeval.responses.readers.openeval_validate import general_path, validate

    found = Counter(f"{general_path(f)} {f.problem}" for f in validate(items) if not f.is_warning)
    for what, n in found.items():
        say(f"- not valid as it stands: {what} ({n})")
