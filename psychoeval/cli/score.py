"""The command `psychoeval score`: abilities under known items, and the share of them that each person would solve."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychoeval.cli.console import Format, print_json, print_rows, print_table, records, show
from psychoeval.cli.inputs import Data, FormatOption, MissingOption, ReadOption, load_responses
from psychoeval.cli.paths import given_path
from psychoeval.errors import SettingsError
from psychoeval.scoring.item_files import ItemSource
from psychoeval.scoring.known_items import ScoringMethod

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.irt.parameters import Abilities, ItemParameters
    from psychoeval.responses.matrix import Responses
    from psychoeval.results.fit_result import LatentDistribution
    from psychoeval.scoring import ExpectedScores

#: What a terminal shows; the rest is in CSV and JSON.
_MOST_ROWS = 100


def score_data(
    data: Data,
    items: Annotated[
        Path,
        typer.Option(
            "--items",
            parser=given_path,
            metavar="FILE",
            help="Known items: a fit that `psychoeval fit --save` wrote, or a file of --source.",
        ),
    ],
    source: Annotated[
        ItemSource | None,
        typer.Option(
            help="What the file is, if it is no fit: a table (the default), mirt's coefficients, girth's results "
            "with ids, or py-irt's parameters.json."
        ),
    ] = None,
    method: Annotated[ScoringMethod, typer.Option(help="How abilities are estimated.")] = "EAP",
    latent: Annotated[
        str | None,
        typer.Option(help="Mean and SD of the abilities for EAP and MAP, as 0:1. By default those of the fit, or 0:1."),
    ] = None,
    item_uncertainty: Annotated[
        bool, typer.Option("--item-uncertainty", help="Let errors hold those of the items too.")
    ] = False,
    benchmarks: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Expected scores as macro-averages over the items of DATA: the column of its items that names the "
            "benchmark of each.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    read: ReadOption = None,
    missing: MissingOption = None,
    output: FormatOption = "table",
) -> None:
    """Score the systems of DATA on known items.

    Prints abilities with errors and statuses, the expected score with its interval, that is the share of all known
    items that the system would solve, and whether the average of those it took differs clearly.
    """
    from psychoeval.scoring import expected_scores, score

    responses = load_responses(data, read or [], missing)
    known, law = _known(items, source, latent)
    abilities = score(responses, known, method=method, latent=law, item_uncertainty=item_uncertainty)
    fixed = score(responses, known, method=method, latent=law) if item_uncertainty else abilities
    groups = _benchmarks(responses, benchmarks)
    expected = expected_scores(
        known,
        fixed,
        responses=responses,
        items=None if groups is None else [name for name in responses.item_ids if _is_known(known, name)],
        benchmarks=groups,
        level=level,
        item_uncertainty=item_uncertainty,
        latent=law,
    )
    _print(responses, abilities, expected, law, output)


def _known(file: Path, source: ItemSource | None, latent: str | None) -> tuple[ItemParameters, LatentDistribution]:
    """Return the items of a file and the distribution of abilities."""
    from psychoeval.results.fit_result import FitResult, LatentDistribution
    from psychoeval.scoring import read_item_parameters

    law = None if latent is None else _latent(latent)
    if source is not None or not _is_fit(file):
        return read_item_parameters(file, source or "table"), law or LatentDistribution()
    fit = FitResult.load(file)
    if fit.item_parameters is None:
        raise SettingsError(f"{file} holds {fit.label}, which has no item parameters.", "Fit an item response model.")
    return fit.item_parameters, law or fit.latent_distribution or LatentDistribution()


def _is_fit(file: Path) -> bool:
    if not file.is_file() or not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return "fit.json" in archive.namelist()


def _latent(text: str) -> LatentDistribution:
    from psychoeval.results.fit_result import LatentDistribution

    mean, sign, sd = text.partition(":")
    try:
        return LatentDistribution(float(mean), float(sd if sign else "1"))
    except ValueError:
        raise SettingsError(f"--latent {text} is no mean and SD.", "Write for example --latent 0:1.5") from None


def _benchmarks(responses: Responses, column: str | None) -> dict[str, str] | None:
    """Return the benchmark of each item of the data."""
    if column is None:
        return None
    names = [] if responses.items is None else [str(c) for c in responses.items.columns]
    if responses.items is None or column not in names:
        raise SettingsError(
            f"The items of DATA have no column {column!r}.",
            f"They have {', '.join(names)}." if names else "Give them one: --read items=<column of DATA>.",
        )
    values = responses.items.iloc[:, names.index(column)]
    return {name: str(value) for name, value in zip(responses.item_ids, values, strict=True)}


def _is_known(items: ItemParameters, name: str) -> bool:
    return name in items.item_ids


def _print(
    responses: Responses,
    abilities: Abilities,
    expected: ExpectedScores,
    law: LatentDistribution,
    output: Format,
) -> None:
    table = _table(responses, abilities, expected)
    if output == "json":
        print_json(
            {
                "method": abilities.method,
                "uncertainty": expected.uncertainty,
                "latent_distribution": {"mean": law.mean, "sd": law.sd},
                "level": expected.level,
                "expected_over": expected.items,
                "notes": list(expected.notes),
                "persons": records(table),
            }
        )
        return
    if output == "csv":
        print_table(table, output)
        return
    shown = table.drop(columns=["conf_low", "conf_high", "expected_se", "expected_on_taken"]).head(_MOST_ROWS)
    print_rows(
        [{str(k): v for k, v in row.items()} for row in shown.to_dict("records")],
        output,
        f"{abilities.method} in logits, and expected scores over {expected.items} ({expected.level:.0%} intervals, "
        f"{expected.uncertainty})",
    )
    if len(table) > len(shown):
        show(f"{len(table) - len(shown)} more: --format csv.")
    for note in expected.notes:
        show(f"Note: {note}")
    apart = [why for why in expected.differs if why]
    if apart:
        counts = ", ".join(f"{apart.count(why)} {why}" for why in sorted(set(apart)))
        show(
            f"Averages that differ clearly from the expected score: {len(apart)} of {len(table)} ({counts}). "
            "Do not rank these by their averages."
        )


def _table(responses: Responses, abilities: Abilities, expected: ExpectedScores) -> pd.DataFrame:
    """Return one row a person with everything."""
    import pandas as pd

    low, high = abilities.interval(expected.level)
    left = pd.DataFrame(
        {
            responses.person_label: abilities.person_ids,
            "ability": abilities.estimate,
            "std_error": abilities.standard_error,
            "conf_low": low,
            "conf_high": high,
        }
    )
    names = {"std_error": "expected_se", "conf_low": "expected_low", "conf_high": "expected_high"}
    right = expected.to_frame().drop(columns=["person", "uncertainty"]).rename(columns=names)
    return pd.concat([left, right], axis=1)
