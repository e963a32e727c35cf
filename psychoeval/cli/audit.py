"""The command `psychoeval audit`: items and systems without a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from psychoeval.cli.console import Format, plain, print_json, print_rows, print_table, show
from psychoeval.cli.inputs import Data, FormatOption, MissingOption, ReadOption, ReportOption, load_responses
from psychoeval.cli.paths import path_option
from psychoeval.errors import SettingsError

if TYPE_CHECKING:
    from psychoeval.report.audit import AuditContent

Correction = Literal["holm", "benjamini-hochberg", "none"]
Rotation = Literal["varimax", "oblimin"]


def audit_data(
    data: Data,
    report: ReportOption = None,
    out: Annotated[Path | None, path_option("Write every table as CSV, and audit.json, into this folder.")] = None,
    items: Annotated[
        Path | None, path_option("Covariates of items (text, answer, passage, ...): a table with their ids.")
    ] = None,
    persons: Annotated[
        Path | None, path_option("Covariates of systems (developer, family, ...): a table with their ids.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column of items (of --items, or of a long table): clusters for the errors.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of systems (of --persons, or of a long table): left out in turn.")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="Column of items: benchmarks to compare; logs that name them need none.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Another benchmark's data, to compare discrimination by difficulty with.")
    ] = None,
    external: Annotated[
        Path | None, path_option("Outside scores of systems, to correlate factors with: a table with their ids.")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Compare these two systems by every test.")
    ] = None,
    correction: Annotated[
        Correction, typer.Option(help="Of the tests of pairs; benjamini-hochberg: false discovery rate.")
    ] = "holm",
    factors: Annotated[
        int | None, typer.Option(min=1, help="Number of factors; by default by parallel analysis.")
    ] = None,
    rotation: Annotated[Rotation, typer.Option(help="Of factors; oblimin lets them correlate.")] = "varimax",
    replications: Annotated[int, typer.Option(min=2, help="Of the bootstrap over systems.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")] = 0,
    table: Annotated[str, typer.Option(help="For --format csv: the table to print (a file name of --out).")] = "items",
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Look at items and systems of DATA without a model.

    What stands out, mean scores, tests of pairs, item table, discrimination by difficulty, curves, stability over
    systems and developers, factors, clusters.
    """
    from psychoeval.report.audit import AuditSettings, audit_content, audit_report
    from psychoeval.responses.covariate_files import add_covariates, read_scores

    _check_out(out)
    wanted = {"items": [c for c in (cluster, benchmark) if c], "persons": [c for c in (group,) if c]}
    given: dict[Literal["items", "persons"], Path | None] = {"items": items, "persons": persons}
    responses = load_responses(data, [*(read or []), *table_columns(data, wanted, given)], missing)
    for of, path in given.items():
        responses = responses if path is None else add_covariates(responses, path, of)
    scores, notes = ({}, ()) if external is None else read_scores(responses, external)
    settings = AuditSettings(
        replications=replications, seed=seed, cluster=cluster, group=group, benchmark=benchmark, pair=pair,
        correction=correction, n_factors=factors, rotation=rotation, external=scores, external_notes=notes,
        against=None if against is None else load_responses(against, [], None),
    )  # fmt: skip
    content = audit_content(responses, settings)
    written = [] if out is None else [_write_tables(content, out)]
    if report is not None:
        written.append(audit_report(responses, report, content=content).resolve())
    print_audit(content, table, output)
    for path in written:
        show(path, file=sys.stdout if output == "table" else sys.stderr)


def print_audit(content: AuditContent, table: str, output: Format) -> None:
    """Print sentences and short tables; as CSV the one table that `table` names."""
    if output == "json":
        print_json(content.to_dict())
        return
    if output == "csv":
        tables = {t.key: t for t in content.tables}
        if table not in tables:
            raise SettingsError(f"--table {table} is unknown.", f"Choose one of {', '.join(tables)}.")
        print_table(tables[table].frame.reset_index(), output)
        return
    show(f"{content.title}. {content.lead}")
    for section in content.sections:
        show(f"\n{section.title}")
        for sentence in section.sentences:
            show(f"- {sentence}")
        shown = [t for t in section.tables if t.columns and not t.long]
        for one in shown:
            show()
            rows: list[dict[str, Any]] = [
                {str(k): v for k, v in row.items()} for row in one.shown.reset_index().to_dict("records")
            ]
            print_rows(rows, output, one.title, {name: 4 for name in one.columns if name.startswith("p_")})
    show("\nLong tables, rules and pictures are in --report; every table in --out.")


def table_columns(data: str, wanted: dict[str, list[str]], given: Mapping[Any, Path | None]) -> list[str]:
    """Return the options that read columns of a long table which no other file has."""
    from psychoeval.responses.tables import open_table

    asked = {of: names for of, names in wanted.items() if names}
    if not asked or not Path(data).is_file() or not data.lower().endswith((".csv", ".tsv", ".gz", ".parquet", ".pq")):
        return []
    names = open_table(data).names
    found = {of: [c for c in columns if c in names and not _has(given[of], c)] for of, columns in asked.items()}
    return [f"{of}={','.join(columns)}" for of, columns in found.items() if columns]


def _has(path: Path | None, column: str) -> bool:
    from psychoeval.responses.tables import open_table

    return path is not None and column in open_table(path).names


def _check_out(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise SettingsError(f"--out {out} is a file.", "Name a folder: there is one file for each table.")


def _write_tables(content: AuditContent, folder: Path) -> Path:
    """Write every table as CSV, and all of it with the sentences as audit.json."""
    from psychoeval.files import make_folder, write_whole
    from psychoeval.responses.writing import write_frame

    make_folder(folder)
    for table in content.tables:
        write_frame(table.frame.reset_index(), folder / f"{table.key}.csv")
    text = json.dumps(plain(content.to_dict()), indent=1, ensure_ascii=False)
    write_whole(folder / "audit.json", lambda file: file.write(text.encode("utf-8", "backslashreplace")))
    return folder.resolve()
