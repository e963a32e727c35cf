"""What fits conclude from the same data, as tables and plain content."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.components import several
from psychoeval.agreement.export import plain_number
from psychoeval.agreement.inference_decisions import ContestedPair, DecisionCounts
from psychoeval.agreement.inference_errors import ErrorRatio, IntervalOverlap
from psychoeval.agreement.inference_ranks import RankMoves, TopGroup
from psychoeval.agreement.inference_words import findings, pair_sentence
from psychoeval.audit.paired import Correction

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class InferencePair:
    """What two fits conclude from the same data.

    Parameters
    ----------
    first, second : str
        Names of the fits.
    differences : tuple of str
        What sets the fits apart before any number: another model, other priors; their conclusions may differ by right.
    unlike : str
        Why the errors of the abilities are not set side by side (``items fixed against items sampled``), or "".
    unlike_kind : str
        ``posterior SD against standard error`` where the two are set side by side all the same, or "".
    ratios : tuple of ErrorRatio
    overlap : IntervalOverlap, optional
        None where the errors are unlike or not known.
    decisions : DecisionCounts
    moves : RankMoves, optional
        None where fewer than two persons are ranked by both.
    """

    first: str
    second: str
    differences: tuple[str, ...]
    unlike: str
    unlike_kind: str
    ratios: tuple[ErrorRatio, ...]
    overlap: IntervalOverlap | None
    decisions: DecisionCounts
    moves: RankMoves | None

    def ratio(self, term: str) -> ErrorRatio | None:
        """Return the ratio of the errors of one parameter, None where there is none."""
        return next((r for r in self.ratios if r.term == term), None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InferenceAgreement:
    """Whether K fits of one data set support the same inference about N persons.

    Parameters
    ----------
    names : tuple of str, length K
        Of the believed fits, the simple average among them.
    kinds : tuple of str, length K
        What the errors of the abilities are: ``posterior SD, items fixed``; "" where there are none.
    person_ids : tuple of str, length N
    component : (N,) integer array
        Persons of different components are in no pair, and have no rank to each other (`FitResult.components`).
    ranks : (N, K) array
        Within the component, 1 the best, ties at their mean rank.
    low, high : (N, K) arrays
        Ranks that the claims leave open: 1 + persons claimed to be above, and the number of persons of the component
        less those claimed to be below; NaN where nothing is claimed. Under Holm's correction all of a fit hold together
        with confidence `level` (Klein, Wright & Wieczorek 2020, doi 10.1111/rssa.12553).
    told_apart : tuple of int, length K
        Pairs of persons told apart by each fit.
    pairs : tuple of InferencePair, length K (K - 1) / 2
    tops : tuple of TopGroup
        Empty where the persons fall into components: there is no best across them.
    contested : tuple of ContestedPair
        The ten pairs of persons about which most fits differ, opposite claims first.
    left_out : tuple of str
        Fits that were not compared, and why; a sentence each.
    level : float
    correction : str
    noun : str
        What a person is called.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    person_ids: tuple[str, ...]
    component: NDArray[np.int64]
    ranks: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    told_apart: tuple[int, ...]
    pairs: tuple[InferencePair, ...]
    tops: tuple[TopGroup, ...]
    contested: tuple[ContestedPair, ...]
    left_out: tuple[str, ...]
    level: float
    correction: Correction
    noun: str

    def __repr__(self) -> str:
        return f"<InferenceAgreement of {len(self.names)} fits; see summary(), table(), top_table()>"

    @property
    def is_connected(self) -> bool:
        """Whether all persons may be compared with each other."""
        return not several(self.component)

    @property
    def findings(self) -> tuple[str, ...]:
        """What holds over all fits, in plain words."""
        return findings(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in plain words: over all fits, then pair by pair."""
        return (*self.findings, *(pair_sentence(p, self.noun) for p in self.pairs))

    def summary(self) -> str:
        """Return the findings as text for a terminal."""
        return "\n".join(self.sentences)

    def table(self) -> pd.DataFrame:
        """Return one row a pair of fits.

        Returns
        -------
        DataFrame
            ``first, second, first_errors, second_errors``; ``ability_error_ratio`` with ``_low, _high``, and so for
            ``discrimination``, ``intercept``; ``overlap, jaccard``; ``pairs, same, both_tied, only_first, only_second,
            opposite``; ``mean_move, largest_move``; ``apart``: named differences and unlike errors.
        """
        import pandas as pd

        return pd.DataFrame([self._row(p) for p in self.pairs])

    def _row(self, pair: InferencePair) -> dict[str, Any]:
        kind, nan = dict(zip(self.names, self.kinds, strict=True)), float("nan")
        row: dict[str, Any] = {"first": pair.first, "second": pair.second}
        row |= {"first_errors": kind[pair.first], "second_errors": kind[pair.second]}
        for term in ("ability", "discrimination", "intercept"):
            found = pair.ratio(term)
            row[f"{term}_error_ratio"] = nan if found is None else found.median
            row[f"{term}_error_ratio_low"] = nan if found is None else found.low
            row[f"{term}_error_ratio_high"] = nan if found is None else found.high
        over, counts, moves = pair.overlap, pair.decisions, pair.moves
        row |= {"overlap": nan if over is None else over.share, "jaccard": nan if over is None else over.jaccard}
        row |= {"pairs": counts.n, "same": counts.same, "both_tied": counts.both_tied}
        row |= {"only_first": counts.only_first, "only_second": counts.only_second, "opposite": counts.opposite}
        row |= {
            "mean_move": nan if moves is None else moves.mean,
            "largest_move": nan if moves is None else moves.largest,
        }
        return row | {"apart": "; ".join(filter(None, [*pair.differences, pair.unlike, pair.unlike_kind]))}

    def top_table(self) -> pd.DataFrame:
        """Return one row for each k and person whom some fit puts among the best k: ``k, person``, a column a fit."""
        import pandas as pd

        rows = [
            {"k": t.k, "person": who} | dict(zip(self.names, row.tolist(), strict=True))
            for t in self.tops
            for who, row in zip(t.ids, t.members, strict=True)
        ]
        return pd.DataFrame(rows, columns=["k", "person", *self.names])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON content."""
        return {
            "level": self.level,
            "correction": self.correction,
            "fits": [
                {"name": n, "errors": kind, "told_apart": apart}
                for n, kind, apart in zip(self.names, self.kinds, self.told_apart, strict=True)
            ],
            "left_out": list(self.left_out),
            "pairs": [_plain(asdict(p)) for p in self.pairs],
            "top": [
                {"k": t.k, "by": {n: list(t.of(k)) for k, n in enumerate(self.names)}, "contested": list(t.contested)}
                for t in self.tops
            ],
            "contested": [_plain(asdict(c)) for c in self.contested],
            "sentences": list(self.sentences),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else plain_number(value)
