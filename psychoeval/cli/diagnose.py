"""The command `psychoeval diagnose`: where a fit and its data disagree."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psychoeval.cli.console import Format, fit_progress, print_json, print_rows, print_table, say, show
from psychoeval.cli.inputs import (
    ComponentOption,
    Data,
    FormatOption,
    FreeOption,
    GuessingOption,
    MissingOption,
    PriorsOption,
    ReadOption,
    TimeoutOption,
    choose_component,
    load_responses,
    parse_guessing,
    parse_priors,
)
from psychoeval.cli.paths import path_option
from psychoeval.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.diagnostics import Diagnosis

Table = Literal["items", "pairs", "persons", "model"]

#: What a terminal shows of many rows, the worst first; all are in --format csv.
_MOST_ITEMS, _MOST_OTHERS = 30, 10
#: Pairs in JSON.
_MOST_PAIRS = 200


def diagnose_fit(
    data: Data,
    estimator: Annotated[str, typer.Option(help="See `psychoeval estimators`.")] = "mml",
    model: Annotated[str | None, typer.Option(help="Rasch, 1PL, 2PL or 3PL; 2PL[weak] names priors.")] = None,
    priors: PriorsOption = "default",
    guessing: GuessingOption = None,
    allow_free_2pl: FreeOption = False,
    timeout: TimeoutOption = None,
    fitted: Annotated[
        Path | None, path_option("A fit of DATA that `psychoeval fit --save` wrote, in place of a new one.", "--fit")
    ] = None,
    replications: Annotated[int, typer.Option(help="Data sets drawn from the fit; 40 or more.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 0,
    table: Annotated[
        Table | None, typer.Option(help="One table alone, whole; for --format csv items if none is named.")
    ] = None,
    component: ComponentOption = None,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Fit a model to DATA, and say where the two disagree.

    What stands out first; then the model as a whole (M2, predictive check, dimensions), items (S-X2, infit, outfit),
    pairs (Q3, LD-X2) and persons (lz*), the worst first, each with a status.
    """
    from psychoeval.diagnostics import diagnose
    from psychoeval.fitting import fit as fit_one
    from psychoeval.registry import make_estimator
    from psychoeval.results.fit_result import FitResult

    responses = choose_component(load_responses(data, read or [], missing), component)
    if fitted is not None:
        if model is not None:
            raise SettingsError("--fit and --model are both given.", "Give one of them.")
        result = FitResult.load(fitted)
    else:
        chosen = make_estimator(estimator, **({} if timeout is None else {"timeout": timeout}))
        how = {"priors": parse_priors(priors), "guessing": parse_guessing(guessing), "allow_free_2pl": allow_free_2pl}
        with fit_progress() as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the findings say whether the fit is believed
            if progress is not None:
                progress(estimator, "start")
            result = fit_one(responses, chosen, model or "2PL", **how)  # type: ignore[arg-type]
    if fitted is None and model is None:
        say("No --model given: 2PL.")
    print_diagnosis(diagnose(result, responses, replications=replications, seed=seed), table, output)


def print_diagnosis(found: Diagnosis, table: Table | None, output: Format) -> None:
    """Print what stands out, then the tables, the worst rows first; one table whole if it is named."""
    if output == "json":
        print_json(found.to_dict(_MOST_PAIRS))
        return
    if output == "csv" or table is not None:
        print_table(_whole(found, table or "items"), output, "" if table is None else table.capitalize())
        return
    show(f"{found.label}: what stands out")
    for sentence in found.findings:
        show(f"- {sentence}")
    show()
    print_table(_whole(found, "model"), output, "Model")
    _print_worst(
        _whole(found, "items").sort_values(["p_adjusted", "p", "infit_p"], kind="stable"), "items", _MOST_ITEMS
    )
    _print_worst(found.pair_frame(_MOST_OTHERS), "pairs", _MOST_OTHERS, _n_pairs(found))
    _print_worst(_whole(found, "persons").sort_values("p", kind="stable"), "persons", _MOST_OTHERS)
    for note in found.notes:
        show(f"Note: {note}")


def _whole(found: Diagnosis, table: Table) -> pd.DataFrame:
    frames = {"items": found.item_frame, "persons": found.person_frame, "model": found.model_frame}
    return found.pair_frame() if table == "pairs" else frames[table]().reset_index()


def _n_pairs(found: Diagnosis) -> int:
    return 0 if found.pairs is None else len(found.pairs.first)


def _print_worst(table: pd.DataFrame, name: str, most: int, total: int | None = None) -> None:
    """Print the first rows of a table, without reasons where nothing needs one, and how many there are in all."""
    shown, total = table.head(most), len(table) if total is None else total
    if "not_known" in shown and not shown["not_known"].any():
        shown = shown.drop(columns="not_known")
    digits = {"p": 4, "p_adjusted": 4, "df": 0}
    print_rows(
        [{str(k): v for k, v in row.items()} for row in shown.to_dict("records")],
        "table",
        f"{name.capitalize()}, the worst first",
        digits,
    )
    if total > len(shown):
        show(f"{len(shown)} of {total} {name} shown; all are in --format csv --table {name}.\n")
