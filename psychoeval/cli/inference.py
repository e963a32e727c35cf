"""What `psychoeval compare` prints of the conclusions of several fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psychoeval.agreement.inference import compare_inference
from psychoeval.cli.console import print_rows, show
from psychoeval.errors import NotComparableError

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.agreement.comparison import Comparison
    from psychoeval.agreement.inference_result import InferencePair

#: Pairs of fits in the table of a terminal; those that differ most come first.
_MOST_PAIRS = 21


def inference_content(comparison: Comparison) -> dict[str, Any]:
    """Return the conclusions as JSON content, or why there are none under ``reason``."""
    try:
        return compare_inference(comparison).to_dict()
    except NotComparableError as error:
        return {"reason": f"{error.problem} {error.remedy}"}


def inference_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row a pair of fits; empty where nothing can be compared."""
    import pandas as pd

    try:
        return compare_inference(comparison).table()
    except NotComparableError:
        return pd.DataFrame(columns=["first", "second"])


def print_inference(comparison: Comparison) -> None:
    """Print what the believed fits conclude: pair by pair as a table, over all in sentences."""
    try:
        found = compare_inference(comparison)
    except NotComparableError as error:
        show(f"\nConclusions of the fits are not compared: {error.problem}")
        return
    worst = sorted(found.pairs, key=lambda p: (-p.decisions.opposite, -p.decisions.lost))
    shown = found.pairs if len(worst) <= _MOST_PAIRS else worst[:_MOST_PAIRS]
    show()
    print_rows([_row(p) for p in shown], "table", f"What the fits conclude about pairs of {found.noun}s")
    if len(shown) < len(found.pairs):
        show(f"{len(shown)} of {len(found.pairs)} pairs of fits, those that differ most; all: --table inference.")
    show("Errors: those of the second fit over the first's, abilities; - where unlike (see --table inference).")
    for sentence in found.findings:
        show(f"- {sentence}")


def _row(pair: InferencePair) -> dict[str, Any]:
    ratio, overlap, counts, moves = pair.ratio("ability"), pair.overlap, pair.decisions, pair.moves
    return {
        "pair": f"{pair.first} / {pair.second}",
        "errors (range)": "-" if ratio is None else f"{ratio.median:.3g} ({ratio.low:.3g} to {ratio.high:.3g})",
        "intervals overlap": "-" if overlap is None else f"{overlap.share:.0%}",
        "joint length shared": "-" if overlap is None else f"{overlap.jaccard:.0%}",
        "pairs": counts.n,
        "same order": counts.same,
        "both tied": counts.both_tied,
        "only first": counts.only_first,
        "only second": counts.only_second,
        "opposite": counts.opposite,
        "rank moves: mean": None if moves is None else moves.mean,
        "largest": None if moves is None else moves.largest,
    }
