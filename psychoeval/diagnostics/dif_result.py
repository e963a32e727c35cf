"""What a test of differential item functioning found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.diagnostics.dif_purification import Purification

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Method = Literal["logistic", "wald", "likelihood-ratio"]


class ItemTests(NamedTuple):
    """Tests of J items by one method with given anchors.

    statistic, df, p (J,), NaN where status is not ``"tested"``; columns of effects by name, (J,) each.
    """

    statistic: FloatArray
    df: FloatArray
    p: FloatArray
    status: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DIF:
    """Differential item functioning of J items between groups.

    Parameters
    ----------
    method : {"logistic", "wald", "likelihood-ratio"}
    how : str
        What was tested, in words.
    item_ids : tuple of str, length J
    groups : tuple of str
        The reference group first.
    group_sizes : tuple of int
    tested : ItemTests
        Statistics, statuses, and the effects of the method.
    p_adjusted : (J,) array
        For all items that were tested.
    flagged : (J,) bool array
        p_adjusted below 1 - level.
    purification : Purification
    correction : str
    level : float
    notes : tuple of str
        What a reader must know.
    """

    method: Method
    how: str
    item_ids: tuple[str, ...]
    groups: tuple[str, ...]
    group_sizes: tuple[int, ...]
    tested: ItemTests
    p_adjusted: FloatArray
    flagged: BoolArray
    purification: Purification
    correction: str
    level: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<DIF of {len(self.item_ids)} items between {' and '.join(self.groups)} by {self.method}: "
            f"{int(self.flagged.sum())} flagged; see to_frame(), notes>"
        )

    @property
    def flagged_ids(self) -> tuple[str, ...]:
        """Ids of the items that show DIF."""
        return tuple(i for i, f in zip(self.item_ids, self.flagged, strict=True) if f)

    @property
    def anchor_ids(self) -> tuple[str, ...]:
        """Ids of the anchors."""
        return tuple(i for i, a in zip(self.item_ids, self.purification.anchors, strict=True) if a)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item, in the order of the responses.

        ``statistic``, ``df``, ``p``, ``p_adjusted`` of the test, whether the item is ``flagged`` and an ``anchor``, the
        effects that `psychoeval.diagnostics.dif` lists by method, and ``status``: ``"tested"`` or why it was not.
        """
        import pandas as pd

        t = self.tested
        columns = {
            "statistic": t.statistic, "df": t.df, "p": t.p, "p_adjusted": self.p_adjusted, "flagged": self.flagged,
            **t.columns, "anchor": self.purification.anchors, "status": t.status,
        }  # fmt: skip
        return pd.DataFrame(columns, index=pd.Index(self.item_ids, name="item"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts: settings, groups, how purification ended, notes, and the table."""
        out: dict[str, Any] = {name: getattr(self, name) for name in ("method", "how", "correction", "level")}
        out["groups"] = dict(zip(self.groups, self.group_sizes, strict=True))
        out["purification"] = {
            "ended": self.purification.ended, "rounds": self.purification.rounds,
            "n_left_out": list(self.purification.n_left_out),
        }  # fmt: skip
        return out | {"notes": list(self.notes), "items": self.to_frame().reset_index().to_dict("records")}
