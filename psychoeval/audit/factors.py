"""Item factor analysis: which items rise and fall together across systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from psychoeval.audit.low_rank import fit_low_rank
from psychoeval.audit.rotation import oblimin, varimax
from psychoeval.audit.settings import check_whole, generator
from psychoeval.errors import DataError, SettingsError
from psychoeval.irt.margins import Margins, logit_margins, slope_free_residuals
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
Method = Literal["svd", "logistic"]
Rotation = Literal["varimax", "oblimin", "none"]

_QUANTILE: Final = 0.95
#: Of larger data, `parallel_analysis` takes as many persons, drawn at random: each replication fits the margins anew.
_MOST_CELLS: Final = 1_000_000
_FEWEST_PERSONS: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class ParallelAnalysis:
    """Singular values of what margins leave over, beside those of data without any factor but the general one.

    Parameters
    ----------
    observed : (M,) float array
        Singular values of the residuals, falling.
    limit : (M,) float array
        The 95 % quantile of each under the null: right answers drawn from the margins of persons and items, at the
        observed mask and trials, fitted anew, and scaled to the sum of squares that was observed.
    n_factors : int
        The general factor, and the leading singular values that all exceed their limits.
    replications : int
    notes : tuple of str
        Which persons were used, where not all.
    """

    observed: FloatArray
    limit: FloatArray
    n_factors: int
    replications: int
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row a singular value."""
        import pandas as pd

        rank = pd.Index(range(1, self.observed.size + 1), name="singular_value")
        return pd.DataFrame({"observed": self.observed, "limit": self.limit}, index=rank)


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Rotated factors.

    Parameters
    ----------
    loadings : (J, K) float array
        ``svd``: correlations of items with factors. ``logistic``: slopes of the logit on factors of SD 1. NaN for
        items that are constant or never run.
    scores : (N, K) float array
        Of persons, mean 0 and SD 1.
    share : (K,) float array
        Share of the variance (of the logit's, for ``logistic``) that each factor explains; of correlated factors the
        part of each, diag(Phi L'L), which add up.
    correlation : (K, K) float array
        Of the factors; the identity but for ``oblimin``.
    item_ids, person_ids : tuple of str
    method : {"svd", "logistic"}
    rotation : {"varimax", "oblimin", "none"}
    notes : tuple of str
    """

    loadings: FloatArray
    scores: FloatArray
    share: FloatArray
    correlation: FloatArray
    item_ids: tuple[str, ...]
    person_ids: tuple[str, ...]
    method: Method
    rotation: Rotation
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the loadings, one row an item."""
        import pandas as pd

        names = [f"factor {k + 1}" for k in range(self.loadings.shape[1])]
        return pd.DataFrame(self.loadings, columns=names).assign(item=self.item_ids).set_index("item")

    def top_items(self, n: int = 10, texts: dict[str, str] | None = None) -> pd.DataFrame:
        """Return the `n` items of largest absolute loading of each factor, with their texts where given by id."""
        import pandas as pd

        rows = []
        for k in range(self.loadings.shape[1]):
            size = np.nan_to_num(np.abs(self.loadings[:, k]), nan=-1.0)
            for j in np.argsort(-size, kind="stable")[:n].tolist():
                if size[j] >= 0:
                    text = "" if texts is None else texts.get(self.item_ids[j], "")
                    rows.append((k + 1, self.item_ids[j], float(self.loadings[j, k]), text))
        return pd.DataFrame(rows, columns=["factor", "item", "loading", "text"])


def parallel_analysis(responses: Responses, *, replications: int = 100, seed: int = 0) -> ParallelAnalysis:
    """Count factors against a null that keeps the margins of persons and items.

    Residuals are those of logit margins with a slope of each item taken out (`psychoeval.irt.margins`): factors count
    beyond one general one. Each singular value is compared as its share of the sum of squares: margins of a few
    persons are more spread than the truth, so that data drawn from them leave less over, by 2 % on 29 x 12,032 without
    any further factor, where unscaled limits found 21 to 28. Source of the idea: Horn (1965), doi 10.1007/BF02289447.

    Parameters
    ----------
    responses : Responses
    replications : int
        At least 20: the limit is a 95 % quantile.
    seed : int

    Raises
    ------
    SettingsError
        If there are fewer than 20 replications.
    """
    check_whole("replications", replications, 1)
    if replications < 20:
        raise SettingsError(f"replications={replications} give no 95 % quantile.", "Take 20 or more.")
    rng = generator(seed)
    chosen, notes = _some_persons(responses, rng)
    part = _varying(chosen)
    successes, trials = part.successes, part.trials
    margins = logit_margins(successes, trials)
    p = 1 / (1 + np.exp(margins.column - margins.row[:, None]))
    observed = _singular_values(successes, trials, margins)
    null = np.stack([_singular_values(rng.binomial(trials, p), trials, margins) for _ in range(replications)])
    null *= np.linalg.norm(observed) / np.maximum(np.linalg.norm(null, axis=1, keepdims=True), 1e-300)
    limit = np.quantile(null, _QUANTILE, axis=0)
    above = observed > limit
    return ParallelAnalysis(observed, limit, 1 + int(np.argmin(np.append(above, False))), replications, notes)


def _some_persons(responses: Responses, rng: np.random.Generator) -> tuple[Responses, tuple[str, ...]]:
    """Return all responses, or those of as many persons as `_MOST_CELLS` hold, and a note."""
    n, j = responses.trials.shape
    most = max(_FEWEST_PERSONS, _MOST_CELLS // j)
    if n <= most:
        return responses, ()
    persons = np.zeros(n, np.bool_)
    persons[rng.choice(n, most, replace=False)] = True
    note = f"Factors were counted on {most} of {n} {responses.person_label}s, drawn at random."
    return responses.select(persons=persons), (note,)


def analyze_factors(
    responses: Responses,
    n_factors: int,
    *,
    method: Method = "svd",
    rotation: Rotation = "varimax",
    seed: int = 0,
) -> Factors:
    """Find factors of the items and rotate them to simple structure.

    Parameters
    ----------
    responses : Responses
    n_factors : int
        `parallel_analysis` and `psychoeval.audit.low_rank.choose_rank` help to choose it.
    method : {"svd", "logistic"}
        Singular value decomposition of the item-centered proportions, for complete data; or the low-rank model with
        logistic loss, also with missing cells.
    rotation : {"varimax", "oblimin", "none"}
        Varimax keeps factors uncorrelated; oblimin lets them correlate.
    seed : int
        Of the start of the low-rank model.

    Raises
    ------
    SettingsError, DataError
        If there are too many factors, or cells are missing and the method is ``"svd"``.
    """
    for name, value, known in (("method", method, get_args(Method)), ("rotation", rotation, get_args(Rotation))):
        if value not in known:
            raise SettingsError(f"{name}={value!r} is unknown.", f"Give one of {', '.join(known)}.")
    kept = np.array([s == "estimated" for s in item_status(responses)])
    part = _varying(responses)
    check_whole("n_factors", n_factors, 1)
    most = min(part.n_persons - 1, part.n_items)
    if not 1 <= n_factors <= most:
        raise SettingsError(f"n_factors={n_factors} of {part.n_persons} x {part.n_items}.", f"Give 1 to {most}.")
    loadings, scores, total = _svd(part, n_factors) if method == "svd" else _logistic(part, n_factors, seed)
    loadings, correlation, turn = _rotated(loadings, rotation)
    everywhere = np.full((responses.n_items, n_factors), np.nan)
    everywhere[kept] = loadings
    left = responses.n_items - int(kept.sum())
    notes = (f"{left} items that are constant or were never run have no loadings.",) if left else ()
    share = np.diag(correlation @ loadings.T @ loadings) / total
    ids = (responses.item_ids, responses.person_ids)
    return Factors(everywhere, scores @ turn, share, correlation, *ids, method, rotation, notes)


def _rotated(loadings: FloatArray, rotation: Rotation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rotated loadings, correlations of factors, and what turns the scores."""
    same = np.eye(loadings.shape[1])
    if rotation == "oblimin":
        return oblimin(loadings)
    if rotation == "varimax":
        rotated, turn = varimax(loadings)
        return rotated, same, turn
    return loadings, same, same


def _varying(responses: Responses) -> Responses:
    kept = np.array([s == "estimated" for s in item_status(responses)])
    if kept.sum() < 2 or responses.n_persons < 3:
        raise DataError("Fewer than 2 items vary, or there are fewer than 3 persons.", "Factors need more.")
    return responses.select(items=kept)


def _singular_values(successes: NDArray[np.integer], trials: NDArray[np.integer], near: Margins) -> FloatArray:
    residual, _ = slope_free_residuals(successes, trials, logit_margins(successes, trials, near))
    small = residual @ residual.T if len(residual) <= residual.shape[1] else residual.T @ residual
    return np.sqrt(np.maximum(np.linalg.eigvalsh(small.astype(np.float64))[::-1], 0))


def _svd(part: Responses, k: int) -> tuple[FloatArray, FloatArray, float]:
    if not part.is_complete:
        raise DataError(
            f"{part.trials.size - part.n_observed} cells are missing: a singular value decomposition needs them all.",
            'Take method="logistic".',
        )
    x = part.proportions
    x -= x.mean(axis=0)
    n = len(x)
    u, s, vt = _leading(x, k)
    sd = x.std(axis=0, ddof=1)
    loadings = (vt.T * s) / (np.sqrt(n - 1) * sd[:, None])
    return loadings, u * np.sqrt(n - 1), float(x.shape[1])


def _leading(x: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the `k` largest singular values, falling, and their vectors, from a start that is always the same."""
    if k >= min(x.shape) - 1:
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        return u[:, :k], s[:k], vt[:k]
    start = np.random.default_rng(0).normal(size=min(x.shape))
    u, s, vt = (np.asarray(m, np.float64) for m in svds(x, k, v0=start))
    return u[:, ::-1], s[::-1], vt[::-1]


def _logistic(part: Responses, k: int, seed: int) -> tuple[FloatArray, FloatArray, float]:
    fit = fit_low_rank(part.successes, part.trials, k, seed)
    # Principal axes: scores uncorrelated with SD 1, loadings orthogonal.
    centered = fit.persons - fit.persons.mean(axis=0)
    n = len(centered)
    (left, r_left), (right, r_right) = np.linalg.qr(centered), np.linalg.qr(fit.items)
    u, s, vt = np.linalg.svd(r_left @ r_right.T)
    loadings = right @ (vt.T * s) / np.sqrt(n - 1)
    # Variance of the logit: that of the factors, and pi^2 / 3 of the logistic distribution.
    total = float((loadings**2).sum() + part.n_items * np.pi**2 / 3)
    return loadings, left @ u * np.sqrt(n - 1), total
