"""What `expected_scores` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from psychoeval.irt.parameters import AbilityMethod, PersonStatus
from psychoeval.scoring.item_sets import Taken

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
ExpectedUncertainty = Literal["items fixed", "items estimated"]
Difference = Literal["", "easier items", "harder items", "responses"]

#: Less than this is no difference, where nothing is uncertain.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpectedScores:
    """Shares of a set of items that N persons are expected to solve.

    Parameters
    ----------
    person_ids : tuple of str, length N
    estimate, standard_error, low, high : (N,) arrays
        Proportions from 0 to 1, and their interval.
    level : float
    uncertainty : {"items fixed", "items estimated"}
        What errors and intervals hold: only like is set beside like.
    method : str
        Of the abilities.
    status : tuple of str, length N
    items : str
        What the score is a mean over, in words.
    item_ids : tuple of str, length J
    weights : (J,) array
        They sum to 1.
    taken : Taken, optional
        Where the responses were given: averages over the items of the set that each person took, with the same weights.
    notes : tuple of str
    """

    person_ids: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    uncertainty: ExpectedUncertainty
    method: AbilityMethod
    status: tuple[PersonStatus, ...]
    items: str
    item_ids: tuple[str, ...]
    weights: FloatArray
    taken: Taken | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ExpectedScores of {len(self.person_ids)} persons on {self.items}; {self.uncertainty}>"

    @property
    def differs(self) -> tuple[Difference, ...]:
        """Why each person's average over what he took differs clearly from the expected score, length N.

        ``"easier items"`` and ``"harder items"``: the average that is expected on the items taken lies outside the
        interval. ``"responses"``: the average observed lies outside, and differs from what is expected on the same
        items by more than chance (z SDs of the binomial): the person does not follow the model, or the ability was
        drawn to those of others. ``""`` where it does not differ, or nothing is known. Empty without responses.
        """
        if self.taken is None:
            return ()
        observed, expected, variance, _ = self.taken
        z = float(ndtri(0.5 + self.level / 2))
        outside = (observed < self.low - _ROUNDING) | (observed > self.high + _ROUNDING)
        odd = outside & (np.abs(observed - expected) > z * np.sqrt(variance) + _ROUNDING)
        words: NDArray[np.str_] = np.select(
            [expected > self.high + _ROUNDING, expected < self.low - _ROUNDING, odd],
            ["easier items", "harder items", "responses"],
            "",
        )
        return tuple(words.tolist())

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each person.

        Returns
        -------
        DataFrame
            ``person, expected_score, std_error, conf_low, conf_high, status, uncertainty``, and with responses
            ``observed, expected_on_taken, n_items, differs`` before the last two.
        """
        import pandas as pd

        columns: dict[str, object] = {
            "person": self.person_ids,
            "expected_score": self.estimate,
            "std_error": self.standard_error,
            "conf_low": self.low,
            "conf_high": self.high,
        }
        if self.taken is not None:
            observed, expected, _, n_items = self.taken
            columns |= {"observed": observed, "expected_on_taken": expected, "n_items": n_items}
            columns["differs"] = self.differs
        return pd.DataFrame({**columns, "status": self.status, "uncertainty": self.uncertainty})
