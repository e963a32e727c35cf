"""The subcommands; each calls one public function."""

from __future__ import annotations

import dataclasses
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from psychoeval._version import __version__
from psychoeval.cli.audit import audit_data
from psychoeval.cli.console import fit_progress, print_json, print_rows, say, show
from psychoeval.cli.diagnose import diagnose_fit
from psychoeval.cli.dif import dif_data
from psychoeval.cli.inputs import (
    ComponentOption,
    Data,
    FormatOption,
    FreeOption,
    GuessingOption,
    MissingOption,
    PriorsOption,
    ReadOption,
    ReportOption,
    SeedOption,
    TimeoutOption,
    choose_component,
    load_responses,
    parse_guessing,
    parse_pairs,
    parse_priors,
)
from psychoeval.cli.link import link_fits
from psychoeval.cli.logs import import_logs
from psychoeval.cli.openeval import openeval
from psychoeval.cli.output import print_comparison, print_fit, print_states
from psychoeval.cli.paths import path_option
from psychoeval.cli.release import drift, split
from psychoeval.cli.score import score_data
from psychoeval.cli.trust import assessment_for, trust_data
from psychoeval.errors import SettingsError

EXIT_USAGE, EXIT_ENGINE, EXIT_UNBELIEVED, EXIT_INTERRUPTED = 2, 3, 4, 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would eat the brackets of 2PL[weak]
)


app.command("import")(import_logs)
app.command("audit")(audit_data)
app.command("link")(link_fits)
app.command("score")(score_data)
app.command("trust")(trust_data)
app.command("dif")(dif_data)
app.command("diagnose")(diagnose_fit)
openeval.command()(split)
openeval.command()(drift)
app.add_typer(openeval, name="openeval")


def _print_version(wanted: bool) -> None:
    if wanted:
        show(__version__)
        raise typer.Exit


@app.callback()
def psychoeval(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compare estimators of item response theory on one data set, with R's mirt among them."""


@app.command()
def compare(
    data: Data,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Rasch, 1PL, 2PL or 3PL, with priors in brackets if need be: 2PL[weak]. May be repeated."),
    ] = None,
    estimators: Annotated[
        str | None,
        typer.Option(help="Names, comma-separated; all but the slow by default (see `psychoeval estimators`)."),
    ] = None,
    priors: PriorsOption = "default",
    guessing: GuessingOption = None,
    allow_free_2pl: FreeOption = False,
    timeout: TimeoutOption = None,
    jobs: Annotated[int, typer.Option(min=1, help="Fits at a time; more than one runs R in child processes.")] = 1,
    seed: SeedOption = None,
    report: ReportOption = None,
    table: Annotated[str, typer.Option(help="For csv: verdicts, ranks, parameters or inference.")] = "verdicts",
    store: Annotated[
        Path | None, path_option("Keep finished fits in this folder, and take up those that lie there.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 if a fit failed or is not believed.")] = False,
    component: ComponentOption = None,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Fit several estimators to DATA and say which agree and which to distrust."""
    from psychoeval.agreement.comparison import compare as compare_fits
    from psychoeval.fitting import FitsInterrupted, FitStore, fit_many
    from psychoeval.registry import default_names
    from psychoeval.responses.screening import screen

    if table not in ("verdicts", "ranks", "parameters", "inference"):
        raise SettingsError(f"--table {table} is unknown.", "Choose verdicts, ranks, parameters or inference.")
    responses = choose_component(load_responses(data, read or [], missing), component)
    for finding in screen(responses).warnings:
        say(f"Before any fit: {finding.sentence}")
    models = model or ["Rasch"]
    if model is None:
        say("No --model given: Rasch.")
    names = [n.strip() for n in estimators.split(",") if n.strip()] if estimators else default_names()
    interrupted = False
    with fit_progress() as progress:
        try:
            fits = fit_many(
                responses,
                names,
                model=models,
                priors=parse_priors(priors),
                guessing=parse_guessing(guessing),
                allow_free_2pl=allow_free_2pl,
                timeout=timeout,
                n_jobs=jobs,
                seed=seed,
                progress=progress,
                store=None if store is None else FitStore(store),
            )
        except FitsInterrupted as stop:
            fits, interrupted = stop.fits, True
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was finished is printed whole
            say(str(stop), style="bold red")
    for failure in fits.failures:
        say(f"No result from {failure.label}: {failure.problem} {failure.remedy}", style="bold red")
    if not fits.results:
        engine = any(f.kind.startswith("Engine") or f.kind == "FitTimeoutError" for f in fits.failures)
        raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_ENGINE if engine else EXIT_USAGE)
    comparison = compare_fits(fits)
    written = None
    if report is not None and not interrupted:
        from psychoeval.report.html import report as write_report

        written = write_report(comparison, report, assessment=assessment_for(comparison)).resolve()
    print_comparison(comparison, responses, table, output)
    if written is not None:
        show(written, file=sys.stdout if output == "table" else sys.stderr)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if strict and (fits.failures or not all(f.convergence.believed for f in fits.results)):
        raise typer.Exit(EXIT_UNBELIEVED)


@app.command()
def fit(
    data: Data,
    estimator: Annotated[str, typer.Option(help="See `psychoeval estimators`.")],
    model: Annotated[str | None, typer.Option(help="Rasch, 1PL, 2PL or 3PL; 2PL[weak] names priors.")] = None,
    priors: PriorsOption = "default",
    guessing: GuessingOption = None,
    allow_free_2pl: FreeOption = False,
    timeout: TimeoutOption = None,
    seed: SeedOption = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the estimator, name=value. May be repeated.")
    ] = None,
    table: Annotated[str, typer.Option(help="For --format csv: items or abilities.")] = "items",
    describe: Annotated[
        bool, typer.Option("--describe", help="Print the job (for mirt an R script) instead of running it.")
    ] = False,
    save: Annotated[Path | None, path_option("Save the result to a file that FitResult.load reads.")] = None,
    component: ComponentOption = None,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Fit one estimator to DATA."""
    import warnings

    from psychoeval.errors import ConvergenceWarning
    from psychoeval.fitting import describe_fit
    from psychoeval.fitting import fit as fit_one
    from psychoeval.registry import make_estimator

    if table not in ("items", "abilities"):
        raise SettingsError(f"--table {table} is unknown.", "Choose items or abilities.")
    responses = choose_component(load_responses(data, read or [], missing), component)
    settings = parse_pairs("--set", setting or [])
    settings |= {k: v for k, v in {"timeout": timeout, "seed": seed}.items() if v is not None}
    options: dict[str, Any] = {
        "priors": parse_priors(priors),
        "guessing": parse_guessing(guessing),
        "allow_free_2pl": allow_free_2pl,
    }
    chosen = make_estimator(estimator, **settings)
    if describe:
        show(describe_fit(responses, chosen, model, **options))
        return
    with fit_progress() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # printed from the result
        if progress is not None:
            progress(estimator, "start")
        result = fit_one(responses, chosen, model, **options)
    print_fit(result, table, output)
    if save is not None:
        say(f"Saved to {result.save(save)}.")
    if not result.convergence.believed:
        raise typer.Exit(EXIT_UNBELIEVED)


@app.command("screen")
def screen_data(
    data: Data,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Say what stands out in DATA before any model is fitted."""
    from psychoeval.responses.screening import screen

    findings = screen(load_responses(data, read or [], missing)).findings
    if output == "json":
        print_json([dataclasses.asdict(f) for f in findings])
    elif output == "csv":
        rows = [{"severity": f.severity, "kind": f.kind, "n": len(f.ids), "sentence": f.sentence} for f in findings]
        print_rows(rows, output, "Findings")
    else:
        for finding in findings or ():
            show(f"{finding.severity}: {finding.sentence}")
        if not findings:
            show("Nothing stands out.")


@app.command()
def data(output: FormatOption = "table") -> None:
    """List the bundled data sets."""
    from psychoeval.responses.datasets import datasets

    rows = [
        {"name": d.name, "persons": d.n_persons, "items": d.n_items, "about": d.description, "source": d.source}
        for d in datasets()
    ]
    print_rows(rows, output, "Data sets")


@app.command()
def estimators(output: FormatOption = "table") -> None:
    """List the estimators, their engines and models."""
    from psychoeval.registry import REGISTRY

    rows = [
        {
            "name": name,
            "engine": row.engine,
            "models": " ".join(row.models) or "-",
            "accepts": " ".join(row.accepts),
            "priors": row.default_priors if row.models else "-",
            "coverage": row.coverage_target,
            "about": row.summary,
        }
        for name, row in REGISTRY.items()
    ]
    print_rows(rows, output, "Estimators")


@app.command()
def doctor(
    engine: Annotated[list[str] | None, typer.Argument(help="Only these; exits with 3 if one is missing.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say for each engine whether it is there, which version, where, and what to do if not."""
    from psychoeval.availability import doctor as examine
    from psychoeval.availability import probe

    states = [probe(name) for name in engine] if engine else examine()
    print_states(states, "json" if as_json else "table")
    if engine and not all(s.available for s in states):
        raise typer.Exit(EXIT_ENGINE)
