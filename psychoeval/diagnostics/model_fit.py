"""Does the model fit as a whole? M2 on the means of items and the products of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg import LinAlgError
from scipy.stats import chi2

from psychoeval.audit.settings import check_level
from psychoeval.diagnostics.fitted import Fitted, fitted_pairs
from psychoeval.irt import limited_information as limited
from psychoeval.irt.classical import FloatArray
from psychoeval.irt.limited_information import Curves
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LIKELIHOOD_WORDS, FitResult
from psychoeval.wording import some

if TYPE_CHECKING:
    import pandas as pd

#: 100 items have 5,050 moments, whose covariance matrix takes 200 MB and some seconds to factor.
MOST_ITEMS: Final = 100
#: Below it M2 has neither p nor RMSEA. At .05 it rejects a true Rasch model on 40 items in .63 of data sets of 10
#: persons, .18 of 20 and .09 of 100, a true 2PL on 20 items in .14 of 100 persons; from 150 persons on .016 to .072.
#: (300 data sets a cell of the Rasch model, up to 200 of the 2PL, fitted by `mml` without priors.)
FEW_PERSONS: Final = 150
_NONE: Final = float("nan")


@dataclass(frozen=True, slots=True)
class ModelFit:
    """How well a model reproduces the means of the items and the products of their pairs.

    Parameters
    ----------
    label : str
        Of the fit.
    reason : str
        Why there is no M2 (then it is NaN, with all that follows from it); empty if there is.
    n_persons, n_items : int
        That take part.
    m2, df, p : float, int, float
        Chi-squared under the model, 0 degrees of freedom where there is no M2. Below `FEW_PERSONS` persons p is NaN, as
        are the RMSEA and its limits: M2 then rejects true models too often.
    rmsea, rmsea_low, rmsea_high : float
        RMSEA2, sqrt(max(M2 - df, 0) / (N df)), and its limits.
    level : float
        Of these limits.
    srmsr : float
        Root mean square of observed less expected correlations; also where there is no M2, if the data allow.
    cfi, tli : float
        Against items that have nothing in common.
    null_m2, null_df : float, int
        M2 of that model.
    notes : tuple of str
        What a reader must know.
    """

    label: str
    reason: str
    n_persons: int
    n_items: int
    m2: float = _NONE
    df: int = 0
    p: float = _NONE
    rmsea: float = _NONE
    rmsea_low: float = _NONE
    rmsea_high: float = _NONE
    level: float = 0.90
    srmsr: float = _NONE
    cfi: float = _NONE
    tli: float = _NONE
    null_m2: float = _NONE
    null_df: int = 0
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row, all but the notes."""
        import pandas as pd

        names = [name for name in self.__slots__ if name not in ("label", "notes")]
        return pd.DataFrame({name: [getattr(self, name)] for name in names}, index=pd.Index([self.label], name="fit"))

    @property
    def too_few(self) -> str:
        """Why an M2 has no p and no RMSEA; empty if it has them, or if there is no M2."""
        if self.reason or self.n_persons >= FEW_PERSONS:
            return ""
        return f"{self.n_persons} persons are too few: below {FEW_PERSONS} M2 rejects true models"


def model_fit(fit: FitResult, responses: Responses, *, level: float = 0.90) -> ModelFit:
    """Test a model on the means of the items and the products of pairs, by M2 and the indices made of it.

    M2 is chi-squared under the model for every regular maximum of a marginal likelihood, on tables far too sparse for
    statistics of whole patterns. It is given for the Rasch, 1PL and 2PL models, and the 3PL with fixed guessing,
    without priors, on complete 0/1 data of up to 100 items; otherwise the result says why not. With enough persons it
    rejects every model: the RMSEA and the SRMSR say how far off it is.

    Parameters
    ----------
    fit : FitResult
    responses : Responses
        Those of the fit.
    level : float
        Of the limits of the RMSEA; .90 as is usual, so that the lower one is above 0 where M2 is significant at .05.

    Raises
    ------
    NotComparableError, DataError
        If the fit has no item parameters, or these are not its responses.
    SettingsError
        If the level is none.
    """
    check_level(level)
    found = fitted_pairs(fit, responses)
    seen = np.flatnonzero(found.responses.trials.any(axis=1))
    n, j = seen.size, found.responses.n_items
    notes = _notes(fit, found, n)
    curves = found.curves()
    reason = _no_moments(found, seen, curves)
    if reason or curves is None:
        return ModelFit(fit.label, reason, n, j, level=level, notes=notes)
    observed = limited.observed_moments(found.responses.successes[seen].astype(np.float64))
    srmsr = limited.srmsr(observed, limited.moments(curves), j)
    reason = _no_m2(fit, found)
    if not reason and fit.model is not None:
        try:
            return _with_m2(fit.label, fit.model, observed, curves, n, level, srmsr, notes)
        except LinAlgError as error:
            reason = f"There is no M2: {error}."
    return ModelFit(fit.label, reason, n, j, level=level, srmsr=srmsr, notes=notes)


def _no_moments(found: Fitted, seen: np.ndarray, curves: Curves | None) -> str:
    """Return why observed and expected moments cannot be compared, or nothing."""
    if not found.responses.is_binary:
        return "Cells of several trials: M2 is for single 0/1 responses."
    missing = int(np.count_nonzero(found.responses.trials[seen] == 0))
    if missing:
        return (
            f"{missing} cells are missing: pairs then rest on different persons, and M2 rejects true models. "
            "Give persons and items without missing cells, or look at pairs (local_dependence)."
        )
    right = found.responses.successes[seen].sum(axis=0, dtype=np.int64)
    constant = [found.responses.item_ids[k] for k in np.flatnonzero((right == 0) | (right == seen.size))]
    if constant:
        return f"Items that do not vary have no correlations: {some(constant)}. Leave them out."
    return "" if curves is not None else "The fit has no distribution of the abilities, and so no expected moments."


def _no_m2(fit: FitResult, found: Fitted) -> str:
    """Return why M2 would not be chi-squared here, or nothing."""
    model, j = fit.model, found.responses.n_items
    if model is None or fit.log_likelihood_kind not in ("marginal", "simulated"):
        kind = fit.log_likelihood_kind
        return (
            "M2 is for maxima of a marginal likelihood"
            + (f"; this one is {LIKELIHOOD_WORDS[kind][0]}." if kind else ", which this fit does not have.")
        )  # fmt: skip
    if model.is_penalised:
        return "The priors pull the estimates away from the maximum of the likelihood, for which M2 is."
    if model.guessing_is_estimated:
        return "Guessing is estimated: at its bound 0 the estimate is not regular. Fix it (guessing=0.2)."
    if found.latent is not None and found.latent.nodes is not None:
        return "The distribution of the abilities was estimated as well, which M2's degrees of freedom do not hold."
    if not fit.convergence.believed:
        return f"The fit did not end at a maximum ({fit.convergence.status})."
    runaway = [
        name for name, s in zip(found.parameters.item_ids, found.parameters.status, strict=True) if s == "runaway"
    ]
    if runaway:
        return f"Estimates of {some(runaway)} ran away: the likelihood has no maximum there."
    if j > MOST_ITEMS:
        return f"{j} items have {j * (j + 1) // 2} moments: M2 is given for up to {MOST_ITEMS} items."
    df = j * (j + 1) // 2 - model.n_parameters(j)
    return "" if df > 0 else f"{j} items leave the {model.name} no degrees of freedom."


def _with_m2(
    label: str, model: ItemModel, observed: FloatArray, curves: Curves, n: int, level: float, srmsr: float,
    notes: tuple[str, ...],
) -> ModelFit:  # fmt: skip
    j = curves.p.shape[1]
    derivatives = _derivatives(model, curves)
    residual = observed - limited.moments(curves)
    statistic, df = limited.m2(residual, limited.moment_covariance(curves), derivatives, n)
    null, null_df = limited.independence_m2(observed, j, n)
    cfi, tli = limited.incremental_fit(statistic, df, null, null_df)
    if np.isnan(cfi):
        notes += ("Items that have nothing in common fit no worse than chance: there is no CFI and no TLI.",)
    p = rmsea = low = high = _NONE
    if n >= FEW_PERSONS:
        p, rmsea = float(chi2.sf(statistic, df)), limited.rmsea(statistic, df, n)
        low, high = limited.rmsea_interval(statistic, df, n, level)
    return ModelFit(
        label, "", n, j, statistic, df, p, rmsea, low, high, level, srmsr, cfi, tli, null, null_df, notes
    )  # fmt: skip


def _derivatives(model: ItemModel, curves: Curves) -> FloatArray:
    """Return the derivatives of the moments by the free parameters.

    With abilities on N(0, 1) the Rasch model is the 1PL: its latent SD is the common slope.
    """
    slope = limited.moment_derivatives(curves, curves.slope)
    if model.name in ("Rasch", "1PL"):
        slope = slope.sum(axis=1, keepdims=True)
    return np.hstack((slope, limited.moment_derivatives(curves, curves.intercept)))


def _notes(fit: FitResult, found: Fitted, n: int) -> tuple[str, ...]:
    notes = []
    if found.left_out:
        notes.append(f"Without {len(found.left_out)} items that have no parameters: {some(found.left_out)}.")
    if n < FEW_PERSONS:
        notes.append(
            f"{n} {found.responses.person_label}s: M2 is chi-squared in large samples, and has neither p nor RMSEA "
            f"below {FEW_PERSONS}, where it rejects true models too often."
        )
    if fit.log_likelihood_kind == "simulated":
        notes.append("The maximum was found by simulation: M2 takes it as exact.")
    return tuple(notes)
