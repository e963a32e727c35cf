"""What a predictive check found: items, pairs of items and the data as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.limited_information import pairs as pairs_of
from psychoeval.irt.replicated import Check

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: A ppp value this near to 0 or 1 is called out: 5 % of statistics at most are by chance.
EXTREME: Final = 0.025
AS_EXPECTED: Final = "as expected"


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorPredictive:
    """J items, their pairs and the data as a whole among those of replicated data sets.

    Parameters
    ----------
    label : str
        Of the fit.
    kind : str
        ``"posterior predictive check"`` (items and abilities by draws) or ``"plug-in predictive check"`` (items as
        estimated).
    replications : int
        Data sets D.
    item_ids : tuple of str, length J
    proportion, item_rest : Check
        Share of successes and item-rest correlation, (J,) arrays each; NaN where `status` says why.
    status : tuple of str, length J
        ``"as expected"``, what is lower or higher than the model gives (ppp beyond .025 or .975), or why an item cannot
        be judged.
    measures : tuple of str
        What is judged of the data as a whole.
    overall : Check
        Of these, in this order.
    first, second : (P,) integer arrays
        Places of the pairs among `item_ids`, the largest |z| first; of items with parameters.
    n_both : (P,) integer array
        Persons who saw both.
    odds : Check
        Log odds ratios of the pairs, (P,) arrays; NaN where fewer than 2 persons saw both.
    pair_reason : str
        Why there are no pairs; empty if there are.
    notes : tuple of str
    """

    label: str
    kind: str
    replications: int
    item_ids: tuple[str, ...]
    proportion: Check
    item_rest: Check
    status: tuple[str, ...]
    measures: tuple[str, ...]
    overall: Check
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    n_both: NDArray[np.intp]
    odds: Check
    pair_reason: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (f"<PosteriorPredictive of {len(self.item_ids)} items, {self.kind}, {self.label}; see signals(), "
                "to_frame(), pairs_frame(), overall_frame(), notes>")  # fmt: skip

    @classmethod
    def made(
        cls, label: str, kind: str, replications: int, used: BoolArray, because: tuple[str, ...], items: Check,
        measures: tuple[str, ...], overall: Check, distribution: Check, odds: Check | None, seen: FloatArray | None,
        pair_reason: str, item_ids: tuple[str, ...], notes: tuple[str, ...],
    ) -> PosteriorPredictive:  # fmt: skip
        """Put what was counted of the used items among all J; pairs in order of |z|."""
        share, rest = (_placed(items, used, k) for k in (0, 1))
        whole = Check(*(np.append(a, b) for a, b in zip(overall, distribution, strict=True)))
        first, second, n_both, chosen = _ordered(used, odds, seen)
        status = tuple(b or _item_status(s, r) for b, s, r in zip(because, share.ppp, rest.ppp, strict=True))
        return cls(label, kind, replications, item_ids, share, rest, status, measures, whole, first, second, n_both,
                   chosen, pair_reason, notes)  # fmt: skip

    def signals(self) -> tuple[str, ...]:
        """Return the items that are not as the model expects, the largest |z| of the two statistics first."""
        size = np.fmax(np.abs(self.proportion.z), np.abs(self.item_rest.z))
        order = np.argsort(-np.nan_to_num(size, nan=-1.0), kind="stable")
        extreme = is_extreme(self.proportion.ppp) | is_extreme(self.item_rest.ppp)
        return tuple(self.item_ids[j] for j in order if extreme[j])

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item, in the order of the responses."""
        import pandas as pd

        columns = _columns(self.proportion, "proportion") | _columns(self.item_rest, "item_rest")
        return pd.DataFrame(columns | {"status": self.status}, index=pd.Index(self.item_ids, name="item"))

    def overall_frame(self) -> pd.DataFrame:
        """Return one row a statistic of the data as a whole."""
        import pandas as pd

        status = [_word(p) or ("not defined" if np.isnan(p) else AS_EXPECTED) for p in self.overall.ppp]
        columns = dict(self.overall._asdict()) | {"status": status}
        return pd.DataFrame(columns, index=pd.Index(self.measures, name="statistic"))

    def pairs_frame(self, worst: int | None = None) -> pd.DataFrame:
        """Return one row a pair, the largest |z| first; the first `worst` of them if given."""
        import pandas as pd

        part, ids = slice(worst), np.array(self.item_ids, dtype=object)
        status = ["fewer than 2 saw both" if np.isnan(p) else
                  {"": AS_EXPECTED, "lower": "less associated", "higher": "more associated"}[_word(p)]
                  for p in self.odds.ppp[part]]  # fmt: skip
        columns = {"first": ids[self.first[part]], "second": ids[self.second[part]], "n": self.n_both[part]}
        return pd.DataFrame(columns | {k: v[part] for k, v in self.odds._asdict().items()} | {"status": status})


def is_extreme(ppp: FloatArray) -> BoolArray:
    """Return which ppp values are below .025 or above .975; NaN is not."""
    return np.asarray(np.fmin(ppp, 1.0 - ppp) < EXTREME)


def _word(ppp: float) -> str:
    """Return whether the data have less or more of something than the model gives."""
    return "higher" if ppp < EXTREME else "lower" if ppp > 1.0 - EXTREME else ""


def _item_status(share: float, rest: float) -> str:
    if np.isnan(rest):
        return "no item-rest correlation: all answered alike, or took no other item"
    said = [f"{what} {word} than expected" for what, p in (("share right", share), ("item-rest correlation", rest))
            if (word := _word(p))]  # fmt: skip
    return ", ".join(said) or AS_EXPECTED


def _columns(check: Check, name: str) -> dict[str, FloatArray]:
    return {f"{name}_{field}" if field != "observed" else name: v for field, v in check._asdict().items()}


def _placed(items: Check, used: BoolArray, row: int) -> Check:
    def among(values: FloatArray) -> FloatArray:
        out = np.full(used.size, np.nan)
        out[used] = values[row]
        return out

    return Check(*map(among, items))


def _ordered(
    used: BoolArray, odds: Check | None, seen: FloatArray | None
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], Check]:
    """Return the pairs of used items, the largest |z| first: their places among all items, persons, values."""
    none = np.empty(0, dtype=np.intp)
    if odds is None or seen is None:
        return none, none, none, Check(*(np.empty(0) for _ in Check._fields))
    at, place = pairs_of(len(seen)), np.flatnonzero(used)
    order = np.argsort(-np.nan_to_num(np.abs(odds.z[at]), nan=-1.0), kind="stable")
    first, second = (place[side[order]] for side in at)
    return first, second, seen[at][order].astype(np.intp), Check(*(values[at][order] for values in odds))
