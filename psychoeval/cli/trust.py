"""The command `psychoeval trust`: what may be claimed of a data set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychoeval.cli.console import print_json, print_table, say, show
from psychoeval.cli.inputs import (
    ComponentOption,
    Data,
    FormatOption,
    MissingOption,
    ReadOption,
    ReportOption,
    choose_component,
    load_responses,
)
from psychoeval.cli.paths import path_option

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison
    from psychoeval.cli.console import Format
    from psychoeval.trust.assessment import Assessment


def trust_data(
    data: Data,
    estimator: Annotated[str, typer.Option(help="Whose fit is judged; see `psychoeval estimators`.")] = "mml",
    model: Annotated[str | None, typer.Option(help="By default a 2PL from 100 systems on, Rasch below.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many are the best ones.")] = 3,
    replications: Annotated[int, typer.Option(min=1, help="Data sets simulated and fitted again.")] = 100,
    others: Annotated[
        str | None,
        typer.Option(help="Whose order is set beside, comma-separated: simple-average,additive,'mml 2PL' by default."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column of items (of a long table or log) that are drawn together.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Fits at a time.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of all simulation.")] = 0,
    store: Annotated[Path | None, path_option("Keep finished refits in this file, and take up those in it.")] = None,
    report: ReportOption = None,
    component: ComponentOption = None,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Say which claims about DATA are supported, which want care, and which are not supported, with reasons."""
    from psychoeval.studies.store import RowStore
    from psychoeval.trust.assessment import assess
    from psychoeval.trust.other_orders import OTHERS

    responses = choose_component(load_responses(data, read or [], missing), component)
    found = assess(
        responses,
        estimator,
        model,
        top=top,
        others=OTHERS if others is None else [label.strip() for label in others.split(",") if label.strip()],
        replications=replications,
        cluster=cluster,
        n_jobs=jobs,
        seed=seed,
        store=None if store is None else RowStore(store),
    )
    written = None
    if report is not None:
        from psychoeval.report.trust import trust_report

        written = trust_report(found, report).resolve()
    print_assessment(found, output)
    if written is not None:
        show(written, file=sys.stdout if output == "table" else sys.stderr)
    refitting = found.evidence.refitting
    if refitting is not None and refitting.replications.interrupted:
        raise typer.Exit(130)


def assessment_for(comparison: Comparison) -> Assessment | None:
    """Return what may be claimed by a fit of a comparison, or say why the report does not have it."""
    from psychoeval.errors import PsychoevalError
    from psychoeval.trust.assessment import assess_comparison

    try:
        return assess_comparison(comparison)
    except PsychoevalError as error:
        say(f"What may be claimed is not in the report: {error.problem} {error.remedy}")
        return None


def print_assessment(found: Assessment, output: Format) -> None:
    """Print the claims with their reasons; as CSV one row a claim."""
    if output == "json":
        print_json(found.to_dict())
        return
    if output == "csv":
        print_table(found.to_frame().reset_index(), output)
        return
    evidence = found.evidence
    show(f"{evidence.responses.name}, by {evidence.fit.label}:")
    for claim in found.claims:
        show(f"\n{claim.grade.upper()}: {claim.statement}")
        for reason in claim.against or claim.deciding:
            show(f"  - {reason.words}")
            if reason.change:
                show(f"    What would change it: {reason.change}.")
    show("\nBeside the claims:")
    for fact in found.facts:
        show(f"  - {fact}")
    for name, why in evidence.missing.items():
        show(f"\nNot known, {name.replace('_', ' ')}: {why}")
