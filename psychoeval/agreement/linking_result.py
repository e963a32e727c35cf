"""What a link between two calibrations is: the transformation, its errors, its anchors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from psychoeval.agreement.alignment import Transformation
from psychoeval.agreement.linking_anchors import AnchorTable
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.parameters import Abilities, ItemParameters, readonly

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
Common = Literal["items", "persons"]


@dataclass(frozen=True, slots=True)
class Link:
    """A linking transformation, theta* = A theta + B, and what it rests on.

    Parameters
    ----------
    method : str
        As asked for; ``mean-sigma`` by persons.
    on : {"items", "persons"}
    how : str
        Unit, direction, nodes and weights, in words: what programs differ in.
    given, onto : str
        Names of the two sides.
    transformation : Transformation
        A (`scale`) and B (`shift`), and the one statement of what becomes of abilities and items.
    covariance : (2, 2) array, optional
        Of (A, B); None where items have no errors (`notes` says why). Persons of the two calibrations are independent.
    items : ItemParameters, optional
        All items of the given side on the other scale. Their covariance takes A and B as known.
    anchors : AnchorTable
        What is common, with a drift test each.
    notes : tuple of str
        What a reader must know.
    """

    method: LinkingMethod
    on: Common
    how: str
    given: str
    onto: str
    transformation: Transformation
    covariance: FloatArray | None
    items: ItemParameters | None
    anchors: AnchorTable
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.covariance is not None:
            object.__setattr__(self, "covariance", readonly(self.covariance, (2, 2), "covariance"))

    def __repr__(self) -> str:
        constants = ", ".join(
            f"{name} = {value:.4g}" + ("" if error is None else f" (SE {error:.2g})")
            for name, value, error in (("A", self.scale, self.scale_error), ("B", self.shift, self.shift_error))
        )
        drifted = len(self.anchors.drifted)
        return (
            f"<Link of {self.given} onto {self.onto} by {self.method}: {constants}, {len(self.anchors.ids)} common "
            f"{self.on}, {drifted} drifted; see to_frame(), notes>"
        )

    @property
    def scale(self) -> float:
        """A, the unit."""
        return self.transformation.scale

    @property
    def shift(self) -> float:
        """B, the origin."""
        return self.transformation.shift

    @property
    def scale_error(self) -> float | None:
        """Standard error of A; 0 where it is fixed, None where it is not known."""
        return None if self.covariance is None else float(np.sqrt(self.covariance[0, 0]))

    @property
    def shift_error(self) -> float | None:
        """Standard error of B; None where it is not known."""
        return None if self.covariance is None else float(np.sqrt(self.covariance[1, 1]))

    def abilities(self, given: Abilities) -> Abilities:
        """Return abilities of the given side on the other scale, the errors of A and B added to theirs.

        var(theta*) = A^2 var(theta) + theta^2 var(A) + var(B) + 2 theta cov(A, B), as if the ability's own error and
        those of A and B were independent. That common part is dropped from differences: their covariance is not known.
        """
        moved = self.transformation.abilities(given)
        if self.covariance is None or moved.standard_error is None:
            return moved
        theta, v = given.estimate, self.covariance
        with np.errstate(invalid="ignore"):
            added = theta**2 * v[0, 0] + v[1, 1] + 2 * theta * v[0, 1]
            error = np.where(np.isfinite(theta), np.sqrt(moved.standard_error**2 + added), moved.standard_error)
        return replace(moved, standard_error=error, covariance=None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an anchor, with both sides, what is left of the difference, and the drift tests.

        Columns: see `AnchorTable`.
        """
        return self.anchors.to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts: constants, notes, anchors."""
        names = ("method", "on", "how", "given", "onto", "scale", "scale_error", "shift", "shift_error")
        out = {name: getattr(self, name) for name in names}
        out["covariance"] = None if self.covariance is None else self.covariance.tolist()
        return out | {"notes": list(self.notes), "anchors": self.to_frame().to_dict("records")}
