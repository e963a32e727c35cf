"""Person fit: lz, lz*, infit and outfit of every person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psychoeval.diagnostics.fitted import JUDGED, Ability, Fitted, ability_method, fitted
from psychoeval.irt.paired import holm
from psychoeval.irt.person_fit import log_likelihood_fit
from psychoeval.irt.residual_fit import mean_squares, residual_sums
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PersonFit:
    """Fit of N persons.

    Parameters
    ----------
    person_ids : tuple of str, length N
    ability : (N,) array
        At which they are judged.
    lz, lz_star : (N,) arrays
        Standardized log-likelihood; low values are unlikely patterns. lz* corrects for the ability being an estimate.
    p_lz, p, p_adjusted : (N,) arrays
        P(a value as low) at the ability, of lz and of lz* (by a saddlepoint: both are skewed), and the latter adjusted
        for the number of persons (Holm); NaN where the status is not ``"judged"``. p of lz is too large, because lz
        varies less than it supposes.
    infit, infit_z, outfit, outfit_z : (N,) arrays
        Mean squares (1 as the model expects, above 1 noisier) and standardized.
    status, lz_star_status : tuple of str, length N
        ``"judged"``, or why there is no value.
    method : str
        How abilities were scored.
    notes : tuple of str
    """

    person_ids: tuple[str, ...]
    ability: FloatArray
    lz: FloatArray
    lz_star: FloatArray
    p_lz: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    infit: FloatArray
    infit_z: FloatArray
    outfit: FloatArray
    outfit_z: FloatArray
    status: tuple[str, ...]
    lz_star_status: tuple[str, ...]
    method: Ability
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<PersonFit of {len(self.person_ids)} persons; see to_frame(), notes>"

    @property
    def zh(self) -> FloatArray:
        """What mirt calls Zh: lz, for items scored 0/1."""
        return self.lz

    def to_frame(self) -> pd.DataFrame:
        """Return one row a person, in the order of the responses."""
        import pandas as pd

        names = ("ability", "infit", "infit_z", "outfit", "outfit_z", "lz", "p_lz", "status",
                 "lz_star", "p", "p_adjusted", "lz_star_status")  # fmt: skip
        return pd.DataFrame({k: getattr(self, k) for k in names}, index=pd.Index(self.person_ids, name="person"))


def person_fit(fit: FitResult, responses: Responses, *, ability: Ability | None = None) -> PersonFit:
    """Judge every person on the items of a fit.

    lz is how far the log-likelihood of the responses lies from its expectation at the person's ability, in SDs; lz*
    corrects it for the ability being estimated from the same responses (`psychoeval.irt.person_fit`). Counts are taken
    as so many 0/1 responses. A person with all or none right has one possible pattern only: lz exists, as in mirt,
    and says nothing, so that there are no p values; the status tells.

    Parameters
    ----------
    fit : FitResult
        With item parameters; ``"EAP"`` and ``"MAP"`` need its distribution of abilities.
    responses : Responses
        Usually those it was fitted to; items are matched by id.
    ability : {"EAP", "MAP", "ML", "WLE"}, optional
        EAP (mirt's choice too) where the fit has a distribution of abilities, else WLE.

    Raises
    ------
    DataError, NotComparableError, SettingsError
        For responses, fits and settings that cannot be used.
    """
    known, method = fitted(fit, responses), ability_method(fit, ability)
    theta = known.abilities(method)
    likelihood = log_likelihood_fit(*known.counts, theta, known.items)
    _, sums = residual_sums(*known.counts, theta, known.items)
    status = _status(known, theta, method, likelihood.lz)
    star = _star_status(status, likelihood.lz_star)
    p_lz, p = _judged(likelihood.p_lz, status), _judged(likelihood.p_lz_star, star)
    return PersonFit(
        responses.person_ids, theta, likelihood.lz, likelihood.lz_star, p_lz, p,
        holm(p), *mean_squares(sums), status, star, method,
        (*known.notes, "Items are taken as known: their errors are not in these values."),
    )  # fmt: skip


def _status(known: Fitted, theta: FloatArray, method: Ability, lz: FloatArray) -> tuple[str, ...]:
    successes, trials = known.counts
    right, tried = successes.sum(axis=1, dtype=np.int64), trials.sum(axis=1, dtype=np.int64)
    out = np.full(right.size, JUDGED, dtype=object)
    out[np.isnan(lz)] = "every pattern is equally likely"
    out[(right == 0) | (right == tried)] = "all or none right: one pattern only"
    out[~np.isfinite(theta)] = f"the {method} ability is not finite"
    out[tried == 0] = "no responses"
    return tuple(map(str, out))


def _judged(p: FloatArray, status: tuple[str, ...]) -> FloatArray:
    return np.where([s == JUDGED for s in status], p, np.nan)


def _star_status(status: tuple[str, ...], lz_star: FloatArray) -> tuple[str, ...]:
    without = "every pattern of the same sum of slopes is equally likely"
    return tuple(without if s == JUDGED and np.isnan(z) else s for s, z in zip(status, lz_star, strict=True))
