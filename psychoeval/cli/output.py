"""What the commands print of fits and comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psychoeval.agreement.alignment import standardisation
from psychoeval.agreement.groups import group_verdicts
from psychoeval.agreement.ranks import rank_words
from psychoeval.agreement.sampled import chains_row, prediction_lines, sampling_content
from psychoeval.cli.console import Format, plain, print_json, print_rows, print_table, records, say
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
_MOST_PERSONS, _MOST_OF_MANY_PERSONS, _MOST_ITEMS, _MOST_REASONS = 100, 10, 30, 21


def print_comparison(comparison: Comparison, responses: Responses, table: str, output: Format) -> None:
    """Print statuses, warnings, ranks, items and verdicts; as CSV the one table that `table` names."""
    if output == "json":
        print_json(comparison.to_dict())
        return
    if output == "csv":
        tables = {
            "verdicts": comparison.verdict_table,
            "ranks": comparison.rank_table,
            "parameters": comparison.parameter_table,
        }
        print_table(tables[table](), output)
        return
    print(_headline(responses))
    print()
    print_rows([_status_row(f) for f in comparison.fits], output, "Estimators", _DIGITS)
    _print_kinds(comparison.fits)
    for fit_result in comparison.fits:
        for sentence in fit_result.convergence.failures:
            print(f"Do not trust {fit_result.label}: {sentence}")
        for sentence in fit_result.convergence.warnings:
            print(f"Note on {fit_result.label}: {sentence}")
    print()
    _print_chains([f for f in comparison.fits if f.sampling is not None])
    _print_ranks(comparison, responses.person_label)
    _print_items(comparison)
    _print_verdicts(comparison)
    _print_likelihoods(comparison)
    if comparison.predictions:
        print("\n".join(["", *prediction_lines(comparison.predictions)]))


def _print_kinds(fits: Sequence[FitResult]) -> None:
    """Say what the kinds of log-likelihood among the fits are."""
    kinds = dict.fromkeys(f.log_likelihood_kind for f in fits)
    words = [": ".join(LIKELIHOOD_WORDS[k]) for k in kinds if k is not None]
    if words:
        print(f"Log-likelihoods of different kinds are never compared. {'; '.join(words)}.\n")


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
        print("\n".join([*todo, ""]))


def _print_ranks(comparison: Comparison, person_label: str) -> None:
    ranks = comparison.rank_table(("rank", "estimate"))
    names = [n for n in comparison.names if f"{n} rank" in ranks.columns]
    shown = len(ranks) if len(ranks) <= _MOST_PERSONS else _MOST_OF_MANY_PERSONS
    words = {n: rank_words(ranks[f"{n} rank"].to_numpy()) for n in names}
    rows = [
        {person_label: who} | {n: f"{words[n][k] or '-'} ({ranks[f'{n} estimate'][k]:.2f})" for n in names}
        for k, who in _alike(ranks, names, shown)
    ]
    units = [
        f"{n}: logits / {f.latent_distribution.sd:.3f}"
        for n, f in zip(comparison.names, comparison.fits, strict=True)
        if n in names and f.latent_distribution is not None and f.latent_distribution.sd != 1
    ]
    units += [
        f"{n}: logits as given, its latent distribution is not known"
        for n, f in zip(comparison.names, comparison.fits, strict=True)
        if n in names and f.abilities is not None and f.abilities.scale == "logit" and standardisation(f) is None
    ]
    title = f"{person_label.capitalize()}s: rank (estimate), best mean rank first; those tied share a range"
    print_rows(rows, "table", title)
    if units:
        print(f"Estimates of item response models are in latent SDs ({'; '.join(units)}).\n")
    if shown < len(ranks):
        print(
            f"{person_label.capitalize()}s alike in every fit share a row; {shown} rows at most. "
            f"All {len(ranks)} are in the report and --format json.\n"
        )


def _alike(ranks: pd.DataFrame, names: Sequence[str], most: int) -> list[tuple[int, str]]:
    """Return rows to print and whom they are about: with more persons than rows, those alike in every fit share one."""
    if len(ranks) <= most:
        return list(enumerate(ranks["person"]))
    columns = [f"{n} {what}" for n in names for what in ("rank", "estimate")]
    groups = ranks.groupby([ranks[c].round(9) for c in columns], sort=False, dropna=False)["person"]
    first = [(int(g.index[0]), g.iloc[0] + (f" and {len(g) - 1} more" if len(g) > 1 else "")) for _, g in groups]
    return first[:most]


def _print_items(comparison: Comparison) -> None:
    having = [
        (n, f.item_parameters) for n, f in zip(comparison.names, comparison.fits, strict=True) if f.item_parameters
    ]
    item_ids = tuple(dict.fromkeys(i for _, items in having for i in items.item_ids))
    if not item_ids:
        return
    if len(item_ids) > _MOST_ITEMS:
        print(f"{len(item_ids)} items: their parameters are in the report and `psychoeval fit`.\n")
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
            print(f"{name}: {origin}, not the mean of the abilities: compare its d with others' up to a shift.\n")


def _print_verdicts(comparison: Comparison) -> None:
    groups = group_verdicts(comparison.names, comparison.pairs)
    print(f"Verdicts on {len(comparison.pairs)} pairs" if groups else "Verdicts: none, there is one fit")
    for g in groups:
        named = f", {g.name}" if g.name else ""
        count = f"{len(g.pairs)} pair{'s' if len(g.pairs) > 1 else ''}"
        print(f"- {g.verdict} ({count}{named}): {g.who}. {g.differences}".rstrip())
    print()
    many = len(comparison.pairs) > _MOST_REASONS
    for p in comparison.pairs:
        if not many or p.verdict == "disagree":
            print(f"{p.first} / {p.second}: {p.verdict}. {p.reason}")
    if many:
        print(f"The reasons of all {len(comparison.pairs)} verdicts are in the report and --format csv.")


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
    print()
    digits = dict.fromkeys(("reported", "at its own parameters", "misread", "short of the other"), 4)
    print_rows(rows, "table", "Log-likelihoods of fits that claim the same maximum", digits)
    for first, second, found in pairs:
        if found.words:
            print(f"{first} / {second}: {found.advice}")


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
    shown = len(abilities) if len(abilities) <= _MOST_PERSONS else _MOST_OF_MANY_PERSONS
    print_table(abilities.head(shown), output, "Abilities")
    if shown < len(abilities):
        print(f"{shown} of {len(abilities)} shown; all are in --format csv --table abilities.")


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
        print(f"{state.engine:<9} {'ready' if state.available else 'missing':<8} {', '.join(found)}".rstrip())
        if not state.available:
            print(f"          problem: {state.problem}")
            print(f"          remedy:  {state.remedy}")
