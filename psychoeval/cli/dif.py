"""The command `psychoeval dif`: items that differ between groups of systems of equal ability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psychoeval.cli.console import Format, print_json, print_rows, show
from psychoeval.cli.inputs import (
    ComponentOption,
    Data,
    FormatOption,
    GuessingOption,
    MissingOption,
    ReadOption,
    choose_component,
    load_responses,
    parse_guessing,
)
from psychoeval.cli.paths import path_option
from psychoeval.irt.linking import LinkingMethod

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.diagnostics.dif_result import DIF
    from psychoeval.responses.matrix import Responses

#: Items that are printed as a table; the others are in CSV and JSON.
MOST_SHOWN = 40


def dif_data(
    data: Data,
    groups: Annotated[
        str, typer.Option(help="Column of systems (of --persons, or of a long table) that holds their group.")
    ],
    persons: Annotated[
        Path | None, path_option("Covariates of systems (developer, scaffold, ...): a table with their ids.")
    ] = None,
    method: Annotated[
        Literal["logistic", "wald", "likelihood-ratio"], typer.Option(help="Only logistic takes more than two groups.")
    ] = "logistic",
    reference: Annotated[str | None, typer.Option(help="Group to compare with; by default the largest.")] = None,
    anchor: Annotated[
        list[str] | None, typer.Option(help="An item without DIF; by default all may be. May be repeated.")
    ] = None,
    purify: Annotated[
        bool, typer.Option("--purify/--no-purify", help="Leave anchors with DIF out, and test again.")
    ] = True,
    kind: Annotated[
        Literal["both", "uniform", "nonuniform"] | None, typer.Option(help="Of logistic; by default both.")
    ] = None,
    matching: Annotated[
        Literal["proportion", "ability"] | None, typer.Option(help="Of logistic; by default proportion.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Rasch, 1PL, 2PL or 3PL, of all but logistic; and of ability that matches.")
    ] = None,
    guessing: GuessingOption = None,
    linking: Annotated[LinkingMethod | None, typer.Option(help="Of wald; by default stocking-lord.")] = None,
    correction: Annotated[
        Literal["holm", "benjamini-hochberg", "none"], typer.Option(help="benjamini-hochberg: false discovery rate.")
    ] = "holm",
    level: Annotated[float, typer.Option(help="Of intervals; 1 - level is that of the tests.")] = 0.95,
    component: ComponentOption = None,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Test every item of DATA for differential functioning between groups of systems.

    Systems of equal ability should have equal chances on an item, whatever their group.
    """
    from psychoeval.diagnostics import dif

    found = dif(
        choose_component(_read(data, groups, persons, read or [], missing), component), groups, method,
        reference=reference, anchors=anchor, purify=purify, kind=kind, matching=matching, model=model,
        guessing=parse_guessing(guessing), linking=linking, correction=correction, level=level,
    )  # fmt: skip
    print_dif(found, output)


def print_dif(found: DIF, output: Format) -> None:
    """Print sentences, the items by p, and the notes; as CSV all items in data order."""
    import sys

    table = found.to_frame()
    if output == "json":
        print_json(found.to_dict())
        return
    if output == "csv":
        table.reset_index().to_csv(sys.stdout, index=False)
        return
    sizes = ", ".join(f"{name} ({n})" for name, n in zip(found.groups, found.group_sizes, strict=True))
    show(f"DIF by {found.how}.\nGroups: {sizes}; {found.groups[0]} is the reference.")
    tested = int((table.status == "tested").sum())
    n = int(found.flagged.sum())
    show(f"{n} of {tested} tested items are flagged (p adjusted by {found.correction} below {1 - found.level:.3g}).")
    _print_items(table.sort_values("p", kind="stable"))
    for note in found.notes:
        show(f"Note: {note}")


#: Columns of the printed table, of those that the method has.
SHOWN = ("statistic", "df", "p", "p_adjusted", "flagged", "log_odds_ratio", "low", "high", "ets_class", "r2_difference",
         "r2_class", "difficulty_reference", "difficulty_focal", "signed_area", "signed_low", "signed_high",
         "unsigned_area", "anchor", "status")  # fmt: skip


def _print_items(table: pd.DataFrame) -> None:
    shown = table[[c for c in SHOWN if c in table]].head(MOST_SHOWN).reset_index()
    rows = [{str(k): v for k, v in row.items()} for row in shown.to_dict("records")]
    left = len(table) - len(rows)
    title = "Items by p; all columns" + (f" and {left} more items" if left > 0 else "") + " are in --format csv"
    print_rows(rows, "table", title, {name: 4 for name in ("p", "p_adjusted")})


def _read(data: str, column: str, persons: Path | None, read: list[str], missing: str | None) -> Responses:
    """Read responses with the column of groups: of the file of persons, else of a long table itself."""
    from psychoeval.cli.audit import table_columns
    from psychoeval.responses.covariate_files import add_covariates

    named = any(option.startswith("persons=") for option in read)
    columns = [] if named else table_columns(data, {"persons": [column]}, {"persons": persons})
    responses = load_responses(data, [*read, *columns], missing)
    return responses if persons is None else add_covariates(responses, persons, "persons")
