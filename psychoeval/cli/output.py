"""What the commands print of fits and comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psychoeval.cli.console import Format, plain, print_json, print_rows, print_table, records, say

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison
    from psychoeval.availability import EngineState
    from psychoeval.responses.matrix import Responses
    from psychoeval.results.fit_result import FitResult


def print_comparison(comparison: Comparison, responses: Responses, output: Format) -> None:
    """Print statuses, warnings, ranks and verdicts."""
    if output == "json":
        print_json(comparison.to_dict())
        return
    if output == "csv":
        print_table(comparison.verdict_table(), output)
        return
    print(_headline(responses))
    print()
    print_rows([_status_row(f) for f in comparison.fits], output, "Estimators")
    for fit_result in comparison.fits:
        for sentence in fit_result.convergence.failures:
            print(f"Do not trust {fit_result.label}: {sentence}")
        for sentence in fit_result.convergence.warnings:
            print(f"Note on {fit_result.label}: {sentence}")
    print()
    print_table(comparison.rank_table(), output, f"{responses.person_label.capitalize()}s side by side")
    print_table(comparison.verdict_table(), output, "Verdicts")


def _headline(responses: Responses) -> str:
    from psychoeval.responses.screening import item_status

    constant = sum(s != "estimated" for s in item_status(responses))
    cells = responses.n_persons * responses.n_items
    return (
        f"{responses.name}: {responses.n_persons} {responses.person_label}s x {responses.n_items} items, "
        f"{responses.n_observed} of {cells} cells observed, {constant} items constant or never run."
    )


def _status_row(fit_result: FitResult) -> dict[str, Any]:
    return {
        "estimator": fit_result.estimator,
        "model": "-" if fit_result.model is None else fit_result.model.label,
        "status": fit_result.convergence.status,
        "iterations": fit_result.convergence.iterations,
        "log-likelihood": fit_result.log_likelihood,
        "kind": fit_result.log_likelihood_kind,
        "parameters": fit_result.n_parameters,
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
    print_rows([_status_row(result)], output, "Fit")
    if result.statistics:
        print_rows([{"statistic": k, "value": v} for k, v in result.statistics.items()], output, "Statistics")
    print_table(result.item_table(), output, "Items")
    print_table(result.ability_table(), output, "Abilities")


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
        print(f"{state.engine:<9} {'ready' if state.available else 'missing':<8} {', '.join(found)}".rstrip())
        if not state.available:
            print(f"          problem: {state.problem}")
            print(f"          remedy:  {state.remedy}")
