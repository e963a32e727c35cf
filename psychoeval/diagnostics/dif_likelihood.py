"""DIF by likelihood ratio: one calibration of both groups, with an item's parameters equal in them, and without."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from psychoeval.agreement.concurrent import calibrate_together
from psychoeval.agreement.concurrent_result import Concurrent
from psychoeval.diagnostics.dif_curves import curve_columns
from psychoeval.diagnostics.dif_groups import TESTED, Groups
from psychoeval.diagnostics.dif_purification import require_anchors
from psychoeval.diagnostics.dif_result import ItemTests
from psychoeval.errors import ModelError
from psychoeval.irt.dif_area import areas_together
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters, in_place
from psychoeval.responses.ids_and_counts import frozen
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

#: Of the calibrations: likelihoods are then within about its square of their maxima.
TOLERANCE: Final = 1e-5
#: SDs of abilities below, in logits, are called none: groups whose scores vary less than chance has it end there.
NO_SPREAD: Final = 0.1
_TERMS: Final = ("a", "d", "c")


class _Likelihood(NamedTuple):
    """Of one calibration: the maximum of the log-likelihood, free parameters, and why it is none, "" if it is."""

    value: float
    parameters: int
    failure: str


@dataclass(slots=True, eq=False)
class LikelihoodMethod:
    """Tests of all items by freeing one after another, given anchors.

    Parameters
    ----------
    responses : Responses
        Items that can be compared only.
    groups : Groups
        Two, with all J items.
    model : ItemModel
        Without priors.
    level : float
    """

    responses: Responses
    groups: Groups
    model: ItemModel
    level: float
    _base: Concurrent | None = field(default=None, init=False)
    _known: dict[bytes, _Likelihood] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.model.is_penalised:
            raise ModelError(
                f"{self.model.label} has priors, and likelihood ratios are of maxima of the likelihood.",
                "Take a model without priors (of a 3PL guessing='free' or a number), or method='wald' or 'logistic'.",
            )

    @property
    def how(self) -> str:
        """What is tested, in words."""
        terms = "difficulty" if self.model.name in ("Rasch", "1PL") else "slope and difficulty together"
        if self.model.guessing_is_estimated:
            terms = "slope, difficulty and lower asymptote together"
        return (
            f"likelihood ratio of {terms} equal or free in two groups, one calibration ({self.model.label}) with a "
            f"mean and SD of each group, {self.groups.names[0]} setting the frame"
        )

    @property
    def usable(self) -> BoolArray:
        """Which items can be anchors."""
        return self.groups.comparable

    def test(self, anchors: BoolArray) -> ItemTests:
        """Compare, for each item, the calibrations with it free and equal; those that are no anchors are free."""
        require_anchors(anchors)
        places = np.flatnonzero(self.usable)
        free = ~anchors[places]
        ratio, df = np.full((2, places.size), np.nan)
        status = list(self.groups.status)
        for j, place in enumerate(places.tolist()):
            one, both = free.copy(), free.copy()
            one[j], both[j] = False, True
            equal = self._likelihood(one)
            apart = equal if equal.failure else self._likelihood(both)
            status[place] = TESTED if not apart.failure else f"no maximum: {apart.failure}"
            if not apart.failure:
                ratio[j], df[j] = max(2 * (apart.value - equal.value), 0.0), apart.parameters - equal.parameters
        placed = [in_place(v, places, self.usable.size) for v in (ratio, df, chdtrc(df, ratio))]
        return ItemTests(placed[0], placed[1], placed[2], tuple(status), {}, ())

    def finish(self, tested: ItemTests, anchors: BoolArray) -> ItemTests:
        """Add parameters of both groups and areas between their curves, from calibrations with standard errors."""
        places = np.flatnonzero(self.usable)
        free, m = ~anchors[places], places.size
        found, covariance = np.full((2, m, 3), np.nan), np.full((m, 6, 6), np.nan)
        for j in range(m):
            both = free.copy()
            both[j] = True
            items = self._fit(both, errors=True).items
            at = [items.item_ids.index(i) for i in (self._focal_id(j), self.responses.item_ids[j])]
            found[:, j] = np.stack(
                [getattr(items, name)[at] for name in ("discrimination", "intercept", "guessing")], 1
            )
            covariance[j] = _joint(items, at)
        area = areas_together(found[0], found[1], covariance)
        columns = curve_columns(found[0], found[1], area, self.usable, self.level)
        return tested._replace(columns=columns, notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        assert self._base is not None
        law = self._base.group(self.groups.names[1])
        end = self._base.convergence
        told = f"Abilities of {law.name} have mean {law.mean:.3g} and SD {law.sd:.3g} where all items are equal."
        return (told, *(() if end.believed else (f"That calibration did not end as it should: {end.status}.",)))

    def _likelihood(self, free: BoolArray) -> _Likelihood:
        """Return the likelihood with these items free; each calibration is run once."""
        key = free.tobytes()
        if key not in self._known:
            found = self._fit(free, errors=False)
            self._known[key] = _Likelihood(found.log_likelihood, found.n_parameters, _failure(found))
        return self._known[key]

    def _fit(self, free: BoolArray, *, errors: bool) -> Concurrent:
        if self._base is None and free.any():
            self._fit(np.zeros_like(free), errors=False)
        found = calibrate_together(
            self._split(free), np.array(self.groups.names, dtype=object)[self.groups.codes].tolist(), self.model,
            reference=self.groups.names[0], start=self._base, errors=errors, tolerance=TOLERANCE, n_threads=1,
        )  # fmt: skip
        if self._base is None:
            self._base = found
        return found

    def _split(self, free: BoolArray) -> Responses:
        """Return the responses with each free item as two: of the reference group in place, of the focal one behind."""
        at = np.flatnonzero(free)
        focal = (self.groups.codes == 1)[:, None]
        parts = []
        for counts in (self.responses.successes, self.responses.trials):
            own = counts.copy()
            own[:, at] *= ~focal
            parts.append(frozen(np.concatenate([own, counts[:, at] * focal], axis=1)))
        ids = (*self.responses.item_ids, *(self._focal_id(j) for j in at))
        return replace(self.responses, successes=parts[0], trials=parts[1], item_ids=ids, items=None)

    def _focal_id(self, j: int | np.intp) -> str:
        """Return an id that no item of the data has: longer than any by the group's name."""
        longest = max(map(len, self.responses.item_ids))
        return f"{self.responses.item_ids[j]} in {self.groups.names[1]}".ljust(longest + 1, ".")


def _failure(found: Concurrent) -> str:
    """Return why a calibration is no maximum of the likelihood, "" if it is one."""
    end = found.convergence
    if end.status == "converged":
        return ""
    if same := [law for law in found.groups if law.sd < NO_SPREAD]:
        return f"abilities of {same[0].name} hardly vary (SD {same[0].sd:.2g})"
    return end.failures[0].split(". ")[0] if end.failures else f"not converged after {end.iterations} iterations"


def _joint(items: ItemParameters, at: Iterable[int]) -> FloatArray:
    """Return the covariance of (a, d, c) of two items, (6, 6), 0 for fixed ones; NaN where it is not known."""
    if items.joint_covariance is None:
        return np.full((6, 6), np.nan)
    place = {label: k for k, label in enumerate(items.joint_labels)}
    labels = [(items.item_ids[i], term) for i in at for term in _TERMS]
    rows = [place.get(label, place.get(("", label[1]), -1)) for label in labels]
    padded = np.pad(items.joint_covariance, ((0, 1), (0, 1)))  # -1 is a row of zeros
    return np.asarray(padded[np.ix_(rows, rows)])
