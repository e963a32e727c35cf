"""What clusters of items go with: every covariate of the items, tested at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from psychoeval.audit.clusters import Association, ItemClusters, associate
from psychoeval.errors import DataError
from psychoeval.irt.paired import holm
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: Covariates of more categories than this are texts or ids, and the table would be empty cells.
MOST_LEVELS: Final = 40
#: Where an item stands in the logs is no property of it.
_PLACES: Final = ("logged_id", "file", "line")


@dataclass(frozen=True, slots=True)
class CovariateAssociations:
    """Associations of clusters with C covariates.

    Parameters
    ----------
    covariates : tuple of str, length C
    n_levels : tuple of int, length C
    associations : tuple of Association, length C
    p_adjusted : tuple of float, length C
        By Holm for all covariates at once.
    replications : int
        Permutations.
    notes : tuple of str
        What was left out and why.
    """

    covariates: tuple[str, ...]
    n_levels: tuple[int, ...]
    associations: tuple[Association, ...]
    p_adjusted: tuple[float, ...]
    replications: int
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a covariate."""
        import pandas as pd

        names = ("cramers_v", "expected", "p_value", "n_items")
        columns = {name: [getattr(a, name) for a in self.associations] for name in names}
        index = pd.Index(self.covariates, name="covariate")
        return pd.DataFrame({"levels": self.n_levels, **columns, "p_adjusted": self.p_adjusted}, index=index)


def associate_covariates(
    clusters: ItemClusters, responses: Responses, *, replications: int = 999, seed: int = 0
) -> CovariateAssociations:
    """Test whether clusters of items go with any covariate of the items, such as the letter of the right answer.

    Covariates are the columns of `responses.items`, taken as categories; those of one category, or of more than 40 (or
    half as many as items), are left out.

    Parameters
    ----------
    clusters : ItemClusters
    responses : Responses
        Those that were clustered.
    replications : int
        Permutations of each covariate.
    seed : int
    """
    table = responses.items
    columns = [] if table is None else [str(c) for c in table.columns if c not in _PLACES]
    kept: dict[str, tuple[int, Association]] = {}
    left: list[str] = []
    for place, name in enumerate(columns):
        assert table is not None
        values = table[name].tolist() if columns.count(name) == 1 else table.iloc[:, place].tolist()
        levels = len({str(v) for v in values if not is_missing(v)})
        try:
            if not 2 <= levels <= min(MOST_LEVELS, responses.n_items // 2):
                raise DataError(f"{name} has {levels} categories.", "")
            kept[name] = (levels, associate(clusters, values, replications=replications, seed=seed))
        except DataError:
            left.append(name)
    p = holm(np.array([a.p_value for _, a in kept.values()])) if kept else np.empty(0)
    notes = (f"Left out, with one category or too many: {some(left)}.",) if left else ()
    found = tuple(kept.values())
    return CovariateAssociations(
        tuple(kept), tuple(n for n, _ in found), tuple(a for _, a in found), tuple(p.tolist()), replications, notes
    )
