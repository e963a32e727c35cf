"""The commands `psychoeval openeval split` and `drift`: a governed release, and what its two parts say."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psychoeval.cli.console import Format, print_json, print_table, records, say, show
from psychoeval.cli.inputs import READ_LOG, FormatOption, MissingOption, load_responses, log_options, parse_pairs
from psychoeval.cli.openeval import as_items, say_violations
from psychoeval.cli.paths import given_path, path_option
from psychoeval.errors import DataError, SettingsError

if TYPE_CHECKING:
    from psychoeval.audit.drift import Drift
    from psychoeval.responses.matrix import Responses

#: Of `select`, which are not about files.
_CHOICES = ("metric", "filter", "errors", "threshold", "duplicates", "bounds")
_PICTURES = (".png", ".svg", ".pdf")


def split(
    source: Annotated[
        list[Path], typer.Argument(parser=given_path, metavar="IN...", help="OpenEval's files, or any logs.")
    ],
    public: Annotated[Path, path_option("Write the public part here: .json, .jsonl, or a folder of Parquet tables.")],
    held_out: Annotated[Path, path_option("Write the held-out part here, likewise.")],
    embargo: Annotated[str, typer.Option(help="Until when the held-out part is not to be published: 2027-06-01.")],
    rotation: Annotated[str, typer.Option(help="k/n: hold out block k of n.")] = "1/4",
    rotating: Annotated[
        Literal["held-out", "public"], typer.Option(help="The part that is one block; the other is the rest.")
    ] = "held-out",
    seed: Annotated[int, typer.Option(min=0, help="Of the blocks.")] = 0,
    bands: Annotated[int, typer.Option(min=1, help="Bands of difficulty within a benchmark; 1 for none.")] = 5,
    items: Annotated[Path | None, path_option("A table with the items' ids, for --by.")] = None,
    by: Annotated[str | None, typer.Option(help="Column of --items: strata beside benchmark and difficulty.")] = None,
    table: Annotated[
        Path | None, path_option("Write which item is in which part here: .csv, .tsv or .parquet.")
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(help=f"Which score difficulty is of, name=value: {', '.join(_CHOICES)}. May be repeated."),
    ] = None,
    benchmark: Annotated[str, typer.Option(help="Of logs that name none.")] = "",
    person: Annotated[str, typer.Option(help="The system, of logs that name none.")] = "",
    format: Annotated[str, typer.Option(help="Of the logs, where it is not to be told from their content.")] = "auto",
) -> None:
    """Divide a benchmark into a public and a held-out part, evenly over benchmarks and difficulty."""
    from psychoeval.responses.readers.openeval_split import save_split, split_items
    from psychoeval.responses.readers.sources import find_files

    chosen = parse_pairs("--read", read or [], numeric=())
    unknown = chosen.keys() - set(_CHOICES)
    if unknown:
        raise SettingsError(f"--read {', '.join(sorted(unknown))} is unknown.", f"The names are {', '.join(_CHOICES)}.")
    if (items is None) != (by is None):
        raise SettingsError("--items and --by go together.", "Give the table, and its column.")
    found = split_items(
        as_items(source, benchmark=benchmark, person=person, format=format),
        embargo=embargo,
        rotation=_rotation(rotation),
        rotating=rotating,
        seed=seed,
        bands=bands,
        strata=None if items is None or by is None else _column(items, by),
        **log_options(chosen),
    )
    lost = save_split(found, public, held_out, table, inputs=find_files(source))
    for note in found.notes:
        say(f"- {note}")
    for what, n in lost.items():
        say(f"- the tables cannot hold {what} ({n})")
    say_violations([*found.public, *found.held_out])
    for path in (public, held_out, *([] if table is None else [table])):
        show(path)


def drift(
    data: Annotated[str, typer.Argument(help="The public part; with --parts all items. As `compare` takes DATA.")],
    held_out: Annotated[str | None, typer.Argument(help="The held-out part.")] = None,
    parts: Annotated[
        Path | None, path_option("A table with the items' ids and a column that says public or held-out.")
    ] = None,
    part: Annotated[str, typer.Option(help="That column.")] = "part",
    cluster: Annotated[str | None, typer.Option(help="Column of the items: clusters for the errors.")] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="A system to compare with, such as an old one; by default all. Repeat it.")
    ] = None,
    bands: Annotated[int, typer.Option(min=1, help="Bands of difficulty to compare within; 1 for none.")] = 5,
    alternative: Annotated[
        Literal["better-on-public", "two-sided"], typer.Option(help="Whose p values are adjusted.")
    ] = "better-on-public",
    correction: Annotated[
        Literal["holm", "benjamini-hochberg", "none"],
        typer.Option(help="For many systems; benjamini-hochberg: false discovery rate."),
    ] = "holm",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals that hold for all systems together.")
    ] = False,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    picture: Annotated[Path | None, path_option(f"Draw it here: {', '.join(_PICTURES)}.")] = None,
    read: Annotated[
        list[str] | None, typer.Option(help=f"How to read, name=value; of logs: {', '.join(READ_LOG)}. Repeat it.")
    ] = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Compare public with held-out scores of every system: better on public beyond the others is a signal."""
    from psychoeval.audit.drift import measure_drift

    if picture is not None and picture.suffix.lower() not in _PICTURES:
        raise SettingsError(f"{picture} is no picture.", f"Choose {', '.join(_PICTURES)}.")
    if (held_out is None) == (parts is None):
        raise SettingsError("There are not two parts.", "Give the held-out part, or --parts with one DATA.")
    responses = load_responses(data, read or [], missing)
    other = load_responses(held_out, read or [], missing) if held_out is not None else None
    if held_out is not None:
        _check_parts(data, held_out)
    if parts is not None:
        responses, hidden = _by_table(responses, parts, part)
    found = measure_drift(
        responses, other if other is not None else hidden, reference=reference, bands=bands, cluster=cluster,
        alternative=alternative, correction=correction, simultaneous=simultaneous, level=level,
    )  # fmt: skip
    _print(found, output)
    if picture is not None:
        _draw(found, picture)


def _check_parts(public: str, held_out: str) -> None:
    """Refuse parts whose releases say that they are the other: every difference would have the wrong sign."""
    from psychoeval.responses.readers.openeval_files import stated_part

    for given, wanted in ((public, "public"), (held_out, "held-out")):
        said = stated_part(Path(given))
        if said not in ("", wanted):
            raise DataError(
                f"{given} is given as the {wanted} part, and its release says {said}.",
                "Give the public part first, then the held-out one.",
            )


def _rotation(text: str) -> tuple[int, int]:
    k, sign, n = text.partition("/")
    if not (sign and k.strip().isdecimal() and n.strip().isdecimal()):
        raise SettingsError(f"--rotation {text} is not k/n.", "Write for example --rotation 1/4.")
    return int(k), int(n)


def _column(path: Path, name: str) -> dict[str, str]:
    """Return a column of a table by the ids of items, which stand in a column with a usual name, else in the first."""
    from psychoeval.responses.columns import ITEM_NAMES, recognized
    from psychoeval.responses.tables import open_table

    table = open_table(path)
    if name not in table.names:
        raise DataError(f"{path} has no column {name!r}.", f"It has {', '.join(table.names)}.")
    key = (recognized(table, (*ITEM_NAMES, "id")) or [0])[0]
    ids, labels = table.columns([key, table.names.index(name)])
    return {str(i): str(label) for i, label in zip(ids, labels, strict=True) if str(label).strip()}


def _by_table(responses: Responses, path: Path, column: str) -> tuple[Responses, Sequence[str]]:
    from psychoeval.audit.parts import public_and_held_out
    from psychoeval.responses.covariate_files import add_covariates

    return public_and_held_out(add_covariates(responses, path, "items"), column)


def _print(found: Drift, output: Format) -> None:
    table = found.to_frame().reset_index()
    if output == "csv":
        print_table(table, output)
        return
    signals = found.signals()
    if output == "json":
        settings = ("pool_difference", "n_pool", "n_bands", "n_tested", "alternative", "correction", "simultaneous",
                    "level", "notes")  # fmt: skip
        print_json({"signals": signals, "systems": records(table), **{n: getattr(found, n) for n in settings}})
        return
    p = found.p_adjusted
    shown = ["id", "status", "n_public", "n_held_out", "public_mean", "held_out_mean", "drift", "low", "high",
             "p_better_on_public", "p_two_sided", "p_adjusted"]  # fmt: skip
    order = sorted(range(len(table)), key=lambda i: (math.isnan(p[i]), p[i], -found.drift[i]))
    print_table(table.iloc[order][shown], output, "Public against held-out items")
    show(f"{len(signals)} of {found.n_tested} systems signal at .05: {', '.join(signals) or 'none'}.")
    for note in found.notes:
        show(f"- {note}")


def _draw(found: Drift, path: Path) -> None:

    from psychoeval.files import write_whole
    from psychoeval.plots.drift import drift as draw

    buffer = io.BytesIO()
    draw(found).savefig(buffer, format=path.suffix[1:].lower(), dpi=150)
    write_whole(path, lambda file: file.write(buffer.getvalue()))
    say(str(path))
