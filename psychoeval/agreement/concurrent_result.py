"""What a calibration of several groups together found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, readonly
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import LatentDistribution, LikelihoodKind
from psychoeval.results.provenance import Provenance

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupLaw:
    """The normal distribution of the abilities of one group, in the common frame.

    Parameters
    ----------
    name : str
    n_persons : int
        With a response to an item that took part.
    n_items : int
        That any of them ran.
    latent : LatentDistribution
        Mean and SD, the latter with its standard error (None where it is fixed, or has none).
    mean_standard_error : float, optional
        None where the mean is fixed, or has none.
    """

    name: str
    n_persons: int
    n_items: int
    latent: LatentDistribution
    mean_standard_error: float | None = None

    @property
    def mean(self) -> float:
        """Mean of the abilities."""
        return self.latent.mean

    @property
    def sd(self) -> float:
        """SD of the abilities."""
        return self.latent.sd

    @property
    def sd_standard_error(self) -> float | None:
        """Standard error of the SD."""
        return self.latent.sd_standard_error


@dataclass(frozen=True, slots=True)
class Concurrent:
    """One calibration of several groups on common items.

    Parameters
    ----------
    model : ItemModel
    items : ItemParameters
        All J items of the responses, in place, on the common scale; items held fixed have covariance 0.
    groups : tuple of GroupLaw, length G
        In the order in which their names first appear.
    reference : str, optional
        The group that sets the frame; None where fixed items do.
    fixed_ids : tuple of str
        Items of the data that were held at given values.
    abilities : Abilities
        EAPs in the common frame, each with the distribution of its group as prior: they lie nearer to the mean of
        their group than those of a prior for all. To rank persons of several groups score them on `items`
        (`psychoeval.score`, WLE or ML).
    person_groups : tuple of str, length N
    log_likelihood : float
        Marginal, without priors and the binomial constant; of all responses that took part.
    log_prior : float
        Without constants; 0 where there are no priors.
    n_parameters : int
        Free ones: of items, and means and SDs of groups.
    convergence : Convergence
    latent_covariance : (2 G, 2 G) array, optional
        Of the means of all groups, then their SDs; 0 for fixed ones.
    notes : tuple of str
        What a reader must know.
    estimator : str
    provenance : Provenance
        Versions, settings and data; of a calibration by mirt its ``call`` is the R script that repeats it.
    """

    model: ItemModel
    items: ItemParameters
    groups: tuple[GroupLaw, ...]
    reference: str | None
    fixed_ids: tuple[str, ...]
    abilities: Abilities
    person_groups: tuple[str, ...]
    log_likelihood: float
    log_prior: float
    n_parameters: int
    convergence: Convergence
    latent_covariance: FloatArray | None = None
    notes: tuple[str, ...] = ()
    log_likelihood_kind: LikelihoodKind = "marginal"
    estimator: str = "mml"
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        if self.latent_covariance is not None:
            n = 2 * len(self.groups)
            object.__setattr__(self, "latent_covariance", readonly(self.latent_covariance, (n, n), "latent_covariance"))

    def __repr__(self) -> str:
        laws = ", ".join(f"{g.name} N({g.mean:.3g}, {g.sd:.3g}^2)" for g in self.groups[:3])
        more = f" and {len(self.groups) - 3} more groups" if len(self.groups) > 3 else ""
        return (
            f"<Concurrent {self.model.label} of {len(self.items.item_ids)} items: {laws}{more}; "
            f"{self.convergence.status}; see to_frame(), items, notes>"
        )

    def group(self, name: str) -> GroupLaw:
        """Return the group of this name.

        Raises
        ------
        KeyError
            If there is none.
        """
        return {g.name: g for g in self.groups}[name]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a group: ``persons``, ``items``, ``mean``, ``mean_se``, ``sd``, ``sd_se`` (NaN if fixed)."""
        import pandas as pd

        rows = [
            (g.name, g.n_persons, g.n_items, g.mean, g.mean_standard_error, g.sd, g.sd_standard_error)
            for g in self.groups
        ]
        names = ["group", "persons", "items", "mean", "mean_se", "sd", "sd_se"]
        frame = pd.DataFrame(rows, columns=names)
        return frame.astype({name: np.float64 for name in names[3:]})

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts: groups, items, likelihood, notes."""
        items = zip(
            self.items.item_ids, self.items.discrimination, self.items.intercept, self.items.guessing, strict=True
        )
        fixed = set(self.fixed_ids)
        return {
            "model": self.model.label,
            "estimator": self.estimator,
            "reference": self.reference,
            "groups": self.to_frame().to_dict("records"),
            "items": [
                {
                    "item": i,
                    "discrimination": float(a),
                    "intercept": float(d),
                    "guessing": float(c),
                    "fixed": i in fixed,
                }
                for i, a, d, c in items
            ],
            "log_likelihood": self.log_likelihood,
            "log_likelihood_kind": self.log_likelihood_kind,
            "log_prior": self.log_prior,
            "n_parameters": self.n_parameters,
            "status": self.convergence.status,
            "notes": [*self.convergence.failures, *self.convergence.warnings, *self.notes],
        }
