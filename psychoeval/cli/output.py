"""What the commands print of fits and comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from psychoeval.agreement.components import connection_words
from psychoeval.agreement.groups import group_verdicts
from psychoeval.agreement.sampled import chains_row, prediction_lines, sampling_content
from psychoeval.cli.console import Format, plain, print_json, print_rows, print_table, records, say, show
from psychoeval.cli.inference import inference_content, inference_table, print_inference
from psychoeval.cli.ranks import MOST_OF_MANY_PERSONS, MOST_PERSONS, print_ranks
from psychoeval.results.fit_result import LIKELIHOOD_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.agreement.comparison import Comparison
    from psychoeval.availability import EngineState
    from psychoeval.responses.matrix import Responses
    from psychoeval.results.fit_result import FitResult


#: Decimals of tables where they are not 3: log-likelihoods are compared to 1e-4.
_DIGITS = {"log-likelihood": 4}
_CHAIN_DIGITS = {"bulk ESS": 0, "tail ESS": 0, "E-BFMI": 2}
#: What a terminal shows; the rest is in the report, CSV and JSON, and the line below the table says so.
_MOST_ITEMS, _MOST_REASONS = 30, 21


def print_comparison(comparison: Comparison, responses: Responses, table: str, output: Format) -> None:
    """Print statuses, warnings, ranks, items and verdicts; as CSV the one table that `table` names."""
    if output == "json":
        print_json(comparison.to_dict() | {"inference": inference_content(comparison)})
        return
    if output == "csv":
        tables: dict[str, Callable[[], pd.DataFrame]] = {
            "verdicts": comparison.verdict_table,
            "ranks": comparison.rank_table,
            "parameters": comparison.parameter_table,
            "inference": lambda: inference_table(comparison),
        }
        print_table(tables[table](), output)
        return
    show(_headline(responses))
    show()
    print_rows([_status_row(f) for f in comparison.fits], output, "Estimators", _DIGITS)
    _print_kinds(comparison.fits)
    for fit_result in comparison.fits:
        for sentence in fit_result.convergence.failures:
            show(f"Do not trust {fit_result.label}: {sentence}")
        for sentence in fit_result.convergence.warnings:
            show(f"Note on {fit_result.label}: {sentence}")
    show()
    _print_chains([f for f in comparison.fits if f.sampling is not None])
    for sentence in connection_words(comparison.connections):
        show(sentence + "\n")
    if comparison.connections is not None and not comparison.connections.is_connected:
        show("Each component alone, by every estimator: --component 1, --component 2, ...\n")
    print_ranks(comparison, responses.person_label)
    _print_items(comparison)
    _print_verdicts(comparison)
    print_inference(comparison)
    _print_likelihoods(comparison)
    if comparison.predictions:
        show("\n".join(["", *prediction_lines(comparison.predictions)]))


def _print_kinds(fits: Sequence[FitResult]) -> None:
    """Say what the kinds of log-likelihood among the fits are."""
    kinds = dict.fromkeys(f.log_likelihood_kind for f in fits)
    words = [": ".join(LIKELIHOOD_WORDS[k]) for k in kinds if k is not None]
    if words:
        show(f"Log-likelihoods of different kinds are never compared. {'; '.join(words)}.\n")


def _print_chains(sampled: Sequence[FitResult]) -> None:
    """Print the grade of the chains of each sampled fit and what to do; why it is no better stands in its notes."""
    rows, todo = [], []
    for fit_result in sampled:
        run = fit_result.sampling
        assert run is not None
        rows.append({"estimator": fit_result.label} | chains_row(run))
        todo += [f"What to do about the chains of {fit_result.label}: {remedy}" for remedy in run.remedies]
    if rows:
        print_rows(rows, "table", "Chains of the sampled fits (the worst over all their parameters)", _CHAIN_DIGITS)
        show("\n".join([*todo, ""]))


def _print_items(comparison: Comparison) -> None:
    having = [
        (n, f.item_parameters) for n, f in zip(comparison.names, comparison.fits, strict=True) if f.item_parameters
    ]
    item_ids = tuple(dict.fromkeys(i for _, items in having for i in items.item_ids))
    if not item_ids:
        return
    if len(item_ids) > _MOST_ITEMS:
        show(f"{len(item_ids)} items: their parameters are in the report and `psychoeval fit`.\n")
        return
    columns = {
        n: {i: (a, d) for i, a, d in zip(p.item_ids, p.discrimination, p.intercept, strict=True)} for n, p in having
    }
    missing = (float("nan"), float("nan"))
    rows = [
        {"item": i} | {n: "a = {:.3f}, d = {:.3f}".format(*column.get(i, missing)) for n, column in columns.items()}
        for i in item_ids
    ]
    print_rows(rows, "table", "Items: slope a and intercept d, b = -d / a; the mean of the abilities is 0 unless said")
    for name, f in zip(comparison.names, comparison.fits, strict=True):
        if origin := (f.statistics or {}).get("identification"):
            show(f"{name}: {origin}, not the mean of the abilities: compare its d with others' up to a shift.\n")


def _print_verdicts(comparison: Comparison) -> None:
    groups = group_verdicts(comparison.names, comparison.pairs)
    show(f"Verdicts on {len(comparison.pairs)} pairs" if groups else "Verdicts: none, there is one fit")
    for g in groups:
        named = f", {g.name}" if g.name else ""
        count = f"{len(g.pairs)} pair{'s' if len(g.pairs) > 1 else ''}"
        show(f"- {g.verdict} ({count}{named}): {g.who}. {g.differences}".rstrip())
    show()
    many = len(comparison.pairs) > _MOST_REASONS
    for p in comparison.pairs:
        if not many or p.verdict == "disagree":
            show(f"{p.first} / {p.second}: {p.verdict}. {p.reason}")
    if many:
        show(f"The reasons of all {len(comparison.pairs)} verdicts are in the report and --format csv.")


def _print_likelihoods(comparison: Comparison) -> None:
    """Print what fits that claim the same maximum report and have, and what that means."""
    pairs = [(p.first, p.second, p.likelihood) for p in comparison.pairs if p.likelihood is not None]
    if not pairs:
        return
    rows = []
    for first, second, found in pairs:
        for k, name in enumerate((first, second)):
            rows.append(
                {
                    "pair": f"{first} / {second}" if k == 0 else "",
                    "fit": name,
                    "reported": found.reported[k],
                    "at its own parameters": found.integrated[k],
                    "misread": found.misread[k],
                    "short of the other": found.shortfall if name == found.lower else 0.0,
                    "slopes, first / second": found.slope_ratio if k == 0 else None,
                }
            )
    show()
    digits = dict.fromkeys(("reported", "at its own parameters", "misread", "short of the other"), 4)
    print_rows(rows, "table", "Log-likelihoods of fits that claim the same maximum", digits)
    for first, second, found in pairs:
        if found.words:
            show(f"{first} / {second}: {found.advice}")


def _headline(responses: Responses) -> str:
    from psychoeval.responses.screening import item_status

    constant = sum(s != "estimated" for s in item_status(responses))
    cells = responses.n_persons * responses.n_items
    notes = "".join(f"\n{note}" for note in responses.notes)
    return (
        f"{responses.name}: {responses.n_persons} {responses.person_label}s x {responses.n_items} items, "
        f"{responses.n_observed} of {cells} cells observed, {constant} items constant or never run.{notes}"
    )


def _status_row(fit_result: FitResult) -> dict[str, Any]:
    kind = fit_result.log_likelihood_kind
    return {
        "estimator": fit_result.estimator,
        "model": "-" if fit_result.model is None else fit_result.model.label,
        "status": fit_result.convergence.status,
        "iterations": fit_result.convergence.iterations,
        "log-likelihood": fit_result.log_likelihood,
        "kind": None if kind is None else LIKELIHOOD_WORDS[kind][0],
        "latent SD": None if fit_result.latent_distribution is None else fit_result.latent_distribution.sd,
        "parameters": fit_result.n_parameters,
        "AIC": fit_result.aic,
        "BIC": fit_result.bic,
        "seconds": fit_result.provenance.seconds,
    }


def print_fit(result: FitResult, table: str, output: Format) -> None:
    """Print one fit."""
    if output == "json":
        print_json(_fit_content(result))
        return
    for sentence in (*result.convergence.failures, *result.convergence.warnings):
        say(f"{result.label}: {sentence}")
    if output == "csv":
        print_table(result.item_table() if table == "items" else result.ability_table(), output)
        return
    print_rows([_status_row(result)], output, "Fit", _DIGITS)
    if result.sampling is not None:
        _print_chains([result])
    if result.statistics:
        print_rows([{"statistic": k, "value": v} for k, v in result.statistics.items()], output, "Statistics")
    print_table(result.item_table(), output, "Items")
    abilities = result.ability_table()
    shown = len(abilities) if len(abilities) <= MOST_PERSONS else MOST_OF_MANY_PERSONS
    print_table(abilities.head(shown), output, "Abilities")
    if shown < len(abilities):
        show(f"{shown} of {len(abilities)} shown; all are in --format csv --table abilities.")


def _fit_content(result: FitResult) -> dict[str, Any]:
    convergence, provenance, latent = result.convergence, result.provenance, result.latent_distribution
    names = ("status", "iterations", "last_change", "tolerance", "gradient", "failures", "warnings", "messages")
    return {
        "estimator": result.estimator,
        "model": None if result.model is None else result.model.label,
        "log_likelihood": result.log_likelihood,
        "log_likelihood_kind": result.log_likelihood_kind,
        "log_likelihood_error": result.log_likelihood_error,
        "n_parameters": result.n_parameters,
        "aic": result.aic,
        "bic": result.bic,
        "convergence": {name: getattr(convergence, name) for name in names},
        "latent_distribution": None
        if latent is None
        else {"mean": latent.mean, "sd": latent.sd, "variance": latent.sd**2},
        "sampling": None if result.sampling is None else sampling_content(result.sampling),
        "statistics": result.statistics,
        "items": records(result.item_table()),
        "abilities": records(result.ability_table()),
        "provenance": {name: plain(getattr(provenance, name)) for name in type(provenance).__slots__},
    }


def print_states(states: Sequence[EngineState], output: Format) -> None:
    """Print what each engine is or lacks."""
    if output == "json":
        print_json([dataclasses.asdict(s) for s in states])
        return
    for state in states:
        found = [f"{k} {v}" for k, v in (*state.versions.items(), *state.paths.items())]
        show(f"{state.engine:<9} {'ready' if state.available else 'missing':<8} {', '.join(found)}".rstrip())
        if not state.available:
            show(f"          problem: {state.problem}")
            show(f"          remedy:  {state.remedy}")
