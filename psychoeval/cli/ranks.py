"""What the commands print of ranks: a table for each component that the data connect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from psychoeval.agreement.alignment import standardisation
from psychoeval.agreement.ranks import rank_words
from psychoeval.cli.console import print_rows, show

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.agreement.comparison import Comparison

#: What a terminal shows; the rest is in the report, CSV and JSON, and the line below the table says so.
MOST_PERSONS: Final = 100
MOST_OF_MANY_PERSONS: Final = 10


def print_ranks(comparison: Comparison, person_label: str) -> None:
    """Print ranks and estimates of all persons by all fits, a table for each component."""
    whole = comparison.rank_table(("rank", "estimate"))
    names = [n for n in comparison.names if f"{n} rank" in whole.columns]
    for title, ranks in _by_component(whole, person_label):
        _print_rank_rows(ranks, names, person_label, title)
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
    if units:
        show(f"Estimates of item response models are in latent SDs ({'; '.join(units)}).\n")


def _by_component(ranks: pd.DataFrame, person_label: str) -> list[tuple[str, pd.DataFrame]]:
    """Return the table of ranks with its title; one a component where the data fall apart, and no rank across."""
    about = "rank (estimate), best mean rank first; those tied share a range"
    if "component" not in ranks.columns:
        return [(f"{person_label.capitalize()}s: {about}", ranks)]
    return [
        (
            f"Component {number}, not comparable with the other{'s' if ranks['component'].max() > 2 else ''}: {about}"
            if number > 0
            else f"{person_label.capitalize()}s without responses, in no component",
            part.reset_index(drop=True),
        )
        for number in ranks["component"].unique().tolist()
        for part in (ranks[ranks["component"] == number],)
    ]


def _print_rank_rows(ranks: pd.DataFrame, names: Sequence[str], person_label: str, title: str) -> None:
    shown = len(ranks) if len(ranks) <= MOST_PERSONS else MOST_OF_MANY_PERSONS
    words = {n: rank_words(ranks[f"{n} rank"].to_numpy()) for n in names}
    rows = [
        {person_label: who} | {n: f"{words[n][k] or '-'} ({ranks[f'{n} estimate'][k]:.2f})" for n in names}
        for k, who in _alike(ranks, names, shown)
    ]
    print_rows(rows, "table", title)
    if shown < len(ranks):
        show(
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
