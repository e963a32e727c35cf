"""DIF by Lord's chi-square: groups calibrated apart, linked on the anchors, and each item's parameters compared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.linking_sides import Anchors, anchors
from psychoeval.diagnostics.dif_curves import curve_columns
from psychoeval.diagnostics.dif_groups import TESTED, Groups
from psychoeval.diagnostics.dif_purification import require_anchors
from psychoeval.diagnostics.dif_result import ItemTests
from psychoeval.errors import ConvergenceWarning, DataError
from psychoeval.fitting import fit
from psychoeval.irt.anchor_drift import differences_with_errors, wald
from psychoeval.irt.dif_area import areas
from psychoeval.irt.linking import Constants, LinkingMethod, has_one_slope, linking_constants
from psychoeval.irt.linking_law import linked
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import in_place
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class WaldMethod:
    """Tests of all items on two calibrations, given anchors.

    Parameters
    ----------
    groups : Groups
        Two.
    usable : (J,) bool array
        Items with finite parameters in both calibrations.
    status : tuple of str, length J
        Why others have none.
    common : Anchors
        Parameters and covariances of the usable items: of the focal group, and of the reference group.
    linking : str
    model : ItemModel
    level : float
    fit_notes : tuple of str
    """

    groups: Groups
    usable: BoolArray
    status: tuple[str, ...]
    common: Anchors
    linking: LinkingMethod
    model: ItemModel
    level: float
    fit_notes: tuple[str, ...]

    @property
    def how(self) -> str:
        """What is tested, in words."""
        terms = "difficulty" if self.model.name in ("Rasch", "1PL") else "slope and difficulty together"
        return (
            f"Wald test of {terms} between two calibrations (mml, {self.model.label}), {self.groups.names[1]} linked "
            f"to {self.groups.names[0]} by {self.linking}"
        )

    def test(self, anchors: BoolArray) -> ItemTests:
        """Link on the anchors, and test every item with the errors of A and B counted in."""
        first, second, covariance = self.common.first, self.common.second, self.common.covariance
        assert covariance is not None  # `wald_method` refuses
        constants = self._constants(anchors[self.usable])
        found = wald(differences_with_errors(first, second, constants, covariance))
        area = areas(first, second, constants, covariance)
        a, b = constants.scale, constants.shift
        columns = curve_columns(linked(first, a, b), second, area, self.usable, self.level)
        status = np.array(self.status, dtype=object)
        status[self.usable] = np.where(found[1] > 0, TESTED, "no variance left: the linking made it equal")
        statistic, df, p = (
            in_place(v, self.usable, self.usable.size)
            for v in (found[0], np.where(found[1] > 0, found[1], np.nan), found[2])
        )
        told = f"Abilities of {self.groups.names[1]} on the scale of {self.groups.names[0]}: {a:.3g} theta + {b:.3g}."
        return ItemTests(statistic, df, p, tuple(str(s) for s in status), columns, (told, *self.fit_notes))

    def finish(self, tested: ItemTests, anchors: BoolArray) -> ItemTests:
        """Return the tests: their effects are there."""
        return tested

    def _constants(self, used: BoolArray) -> Constants:
        require_anchors(used)
        first, second = self.common.first, self.common.second
        unit = "slopes" if has_one_slope(first[:, 0]) and has_one_slope(second[:, 0]) else "free"
        found = linking_constants(first[used], second[used], self.linking, unit=unit)  # type: ignore[arg-type]
        jacobian = np.zeros((2, 2, used.size, 3))
        jacobian[:, :, used] = found.jacobian
        return replace(found, jacobian=jacobian)


def wald_method(
    responses: Responses, groups: Groups, model: ItemModel, linking: LinkingMethod, level: float
) -> WaldMethod:
    """Calibrate both groups by `mml` and bring their items together.

    Raises
    ------
    DataError
        If the items of a group have no standard errors.
    Others
        Those of `psychoeval.fit`, which may refuse a group.
    """
    comparable = groups.comparable
    fits, notes = [], []
    for k, name in enumerate(groups.names):
        part = responses.select(persons=groups.codes == k, items=comparable)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in the notes
            fits.append(fit(part, "mml", model, item_uncertainty=False))
        if not fits[-1].convergence.believed:
            notes.append(f"The calibration of {name} did not end as it should: {fits[-1].convergence.status}.")
    reference, focal = (f.item_parameters for f in fits)
    assert reference is not None and focal is not None  # noqa: PT018 - mml always has them
    common = anchors(focal, reference, groups.names[::-1], ())
    if common.covariance is None:
        raise DataError(f"Items cannot be tested by their errors: {' '.join(common.notes)}",
                        "Use method='logistic', priors that keep items finite, or a number as guessing.")  # fmt: skip
    known = set(common.ids)
    usable = np.array([i in known for i in responses.item_ids], dtype=bool)
    status = _unusable(groups, comparable, usable, fits)
    if model.is_penalised:
        notes.append("Items have priors, which draw groups together: tests are cautious, areas too small.")
    return WaldMethod(
        groups, usable, status, common, linking, model, level, tuple((*notes, *common.notes))
    )  # fmt: skip


def _unusable(groups: Groups, comparable: BoolArray, usable: BoolArray, fits: list[FitResult]) -> tuple[str, ...]:
    """Return why an item has no usable parameters in the first group that has none, "" for others."""
    status = list(groups.status)
    places = np.flatnonzero(comparable)
    for m, j in enumerate(places):
        if usable[j]:
            continue
        of = [(f.item_parameters.status[m], name) for f, name in zip(fits, groups.names, strict=True)
              if f.item_parameters is not None]  # fmt: skip
        bad = next(((s, name) for s, name in of if s != "estimated"), of[0])
        status[j] = f"without usable parameters in {bad[1]}: {bad[0]}"
    return tuple(status)
