"""Is one dimension enough? Contrasts among the residuals of a fit, beside those of data that have one dimension."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.clusters import cluster_items
from psychoeval.audit.factors import analyze_factors, parallel_analysis
from psychoeval.audit.settings import check_whole
from psychoeval.diagnostics.dimensionality_result import Dimensionality
from psychoeval.diagnostics.fitted import Ability, Fitted, ability_method, fitted, fitted_pairs
from psychoeval.diagnostics.residual_bootstrap import simulated_statistics
from psychoeval.errors import DataError, PsychoevalError, PsychoevalWarning, SettingsError
from psychoeval.irt.contrasts import adjusted_rand, detect, leading_contrasts
from psychoeval.irt.local_dependence import residual_correlations
from psychoeval.registry import REGISTRY
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Contrasts that are looked at.
MOST_CONTRASTS: Final = 5
#: Persons who saw both items of a pair, below which its correlation counts as 0.
MIN_SHARED: Final = 10
#: As many as a 95 % quantile needs.
FEWEST: Final = 20
#: Matrices of items x items, and their eigenvalues: 10 s at 3,000.
MOST_ITEMS: Final = 3_000


class _Structure(NamedTuple):
    eigenvalues: FloatArray  # (K,)
    loadings: FloatArray  # (used,)
    detect: float
    ratio: float
    cluster: IntArray  # (used,)
    untested: int


def dimensionality(
    fit: FitResult,
    responses: Responses,
    *,
    replications: int = 50,
    seed: int = 0,
    clusters: Any = None,
    refit: bool | None = None,
) -> Dimensionality:
    """Look among the residuals of a fit for what a second dimension would leave there.

    Residuals are those at EAPs (WLEs without a distribution of abilities); their correlations are Q3. The largest
    eigenvalues of that matrix are set beside those of data drawn from the fit, whose dimension is one: contrasts count
    while all exceed the 95 % quantile. DETECT sums residual covariances within less those between the clusters that
    `psychoeval.audit` finds from factors of the responses; its mean over the drawn data, each clustered anew, is taken
    off, since clusters fit chance as well. The halves of the strongest contrast, items with positive and with negative
    loadings, are compared with these clusters by the adjusted Rand index.

    Parameters
    ----------
    fit : FitResult
        With item parameters and a distribution of abilities.
    responses : Responses
        Those of the fit.
    replications : int
        Data sets drawn from the fit, at least 20.
    seed : int
    clusters : sequence of length J, optional
        A partition of the items to judge instead of the audit's, such as their benchmarks; None or NaN for items in
        none.
    refit : bool, optional
        Whether the drawn data are fitted again, as the given ones were; by default where the estimator runs in this
        process. It matters little: p values of 45 data sets (500 x 20, 40 x 60, one dimension and two) differed by .02
        on average.

    Returns
    -------
    Dimensionality

    Raises
    ------
    NotComparableError
        If the fit has no item parameters or distribution of abilities, belongs to other responses, or cannot be run
        again (with ``refit=True``).
    DataError, SettingsError
        For more than 3,000 items, a partition of another length, and settings that cannot be used.

    Notes
    -----
    Sources: Yen (1984), doi:10.1177/014662168400800201; Zhang & Stout (1999), doi:10.1007/BF02294536; contrasts of
    residuals: Smith (2002), J. Appl. Meas. 3, 205-231.

    Examples
    --------
    >>> import psychoeval as pe
    >>> data = pe.load_dataset("lsat7")
    >>> dimensionality(pe.fit(data, "mml", model="2PL", priors="none"), data, replications=20).n_contrasts
    0
    """
    check_whole("seed", seed, 0)
    check_whole("replications", replications, 1)
    if replications < FEWEST:
        raise SettingsError(f"replications={replications} give no 95 % quantile.", f"Take {FEWEST} or more.")
    known, method = fitted_pairs(fit, responses), ability_method(fit, None)
    if known.responses.n_items > MOST_ITEMS:
        raise DataError(
            f"{known.responses.n_items} items are too many for matrices of pairs.",
            f"Fit a choice of up to {MOST_ITEMS} (responses.select).",
        )
    given = None if clusters is None else _codes(clusters, responses)[known.used]
    n_clusters, notes = _how_many(known.responses, given, seed)
    observed = _structure(known, method, n_clusters, given)
    again = refit if refit is not None else fit.estimator in REGISTRY and REGISTRY[fit.estimator].engine == "numpy"
    null, more = _null(fit, known, method, n_clusters, given, replications, seed, again)
    return _result(fit, known, observed, null, given is not None, (*known.notes, *notes, *more))


def _null(
    fit: FitResult, known: Fitted, method: Ability, n_clusters: int, given: IntArray | None, replications: int,
    seed: int, refit: bool,
) -> tuple[FloatArray, tuple[str, ...]]:  # fmt: skip
    """Return eigenvalues, then DETECT, of data drawn from the fit, (R, K + 1)."""
    size = min(MOST_CONTRASTS, known.responses.n_items)

    def statistic(found: FitResult, drawn: Responses) -> FloatArray:
        world = fitted(found, drawn)  # without the items that came out constant
        return _row(_structure(world, method, n_clusters, None if given is None else given[world.used]), size)

    if refit:
        return simulated_statistics(fit, known, replications, seed, statistic)
    rows = []
    for _, drawn in known.worlds(replications, seed):
        world = Fitted(drawn, known.parameters, known.used, known.because, known.left_out, known.latent, ())
        rows.append(_row(_structure(world, method, n_clusters, given), size))
    return np.array(rows), ("Drawn data were not fitted again: items stay as they are.",)


def _row(found: _Structure, size: int) -> FloatArray:
    """Return eigenvalues and DETECT; constant items of drawn data leave fewer eigenvalues, and no DETECT is 0."""
    values = np.zeros(size + 1)
    values[: found.eigenvalues.size] = found.eigenvalues
    values[size] = np.nan_to_num(found.detect)
    return values


def _structure(known: Fitted, method: Ability, n_clusters: int, given: IntArray | None) -> _Structure:
    residuals = residual_correlations(*known.counts, known.abilities(method), known.items)
    tested = np.isfinite(residuals.correlation) & (residuals.seen >= MIN_SHARED)
    np.fill_diagonal(tested, False)
    values, loadings = leading_contrasts(residuals.correlation, tested, MOST_CONTRASTS)
    cluster = _clusters(known.responses, n_clusters) if given is None else given
    pairs = len(tested) * (len(tested) - 1) // 2
    untested = pairs - int(np.count_nonzero(tested)) // 2
    return _Structure(values, loadings, *detect(residuals.covariance, tested, cluster), cluster, untested)


def _how_many(responses: Responses, given: IntArray | None, seed: int) -> tuple[int, tuple[str, ...]]:
    """Return into how many clusters the audit's factors part the items, and a note."""
    if given is not None:
        return 0, ()
    if responses.n_items < 4:
        return 0, ("Fewer than 4 items are too few for clusters.",)
    try:
        factors = parallel_analysis(responses, replications=FEWEST, seed=seed).n_factors
    except PsychoevalError as error:
        return 0, (f"The audit finds no factors: {error.problem}",)
    most = max(2, min(factors, responses.n_items // 2, responses.n_persons - 2, 8))
    return most, (f"The audit counts {factors} factor{'s' * (factors != 1)} in the responses, the general one among "
                  f"them; items were parted into {most} clusters by their loadings.",)  # fmt: skip


def _clusters(responses: Responses, n_clusters: int) -> IntArray:
    """Return the audit's cluster of each item, -1 for those in none."""
    if not n_clusters:
        return np.full(responses.n_items, -1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsychoevalWarning)
            method = "svd" if responses.is_complete else "logistic"
            factors = analyze_factors(responses, n_clusters, method=method)  # type: ignore[arg-type]
            return cluster_items(factors, n_clusters).cluster
    except PsychoevalError:  # a drawn data set with too few items that vary
        return np.full(responses.n_items, -1)


def _codes(clusters: Any, responses: Responses) -> IntArray:
    """Return numbers for the labels of a partition, -1 where there is none."""
    labels = ["" if is_missing(v) else str(v) for v in clusters]
    if len(labels) != responses.n_items:
        raise DataError(f"{len(labels)} clusters for {responses.n_items} items.", "Give one an item.")
    names = {text: k for k, text in enumerate(dict.fromkeys(t for t in labels if t))}
    return np.array([names.get(text, -1) for text in labels], dtype=np.intp)


def _result(
    fit: FitResult, known: Fitted, observed: _Structure, null: FloatArray, given: bool, notes: tuple[str, ...],
) -> Dimensionality:  # fmt: skip
    size = observed.eigenvalues.size
    limit = np.quantile(null[:, :size], 0.95, axis=0) if len(null) else np.full(size, np.nan)
    above = observed.eigenvalues > limit
    chance = float(null[:, -1].mean()) if len(null) else float("nan")
    half = (observed.loadings < 0).astype(np.intp)
    both = observed.cluster >= 0
    if observed.untested:
        pairs = known.responses.n_items * (known.responses.n_items - 1) // 2
        notes += (f"{observed.untested} of {pairs} pairs do not vary, or rest on fewer than {MIN_SHARED} "
                  f"{known.responses.person_label}s: their correlation counts as 0.",)  # fmt: skip

    def p(value: float, column: int) -> float:
        if not len(null) or np.isnan(value):
            return float("nan")
        return float((1 + np.count_nonzero(null[:, column] >= value)) / (1 + len(null)))

    seen = int(np.count_nonzero(known.responses.trials.any(axis=1)))
    cluster = known.placed(np.where(both, observed.cluster, np.nan))
    return Dimensionality(
        fit.label, known.all_ids, known.because, seen, known.responses.person_label, observed.eigenvalues,
        limit, len(null), int(np.argmin(np.append(above, False))), p(float(observed.eigenvalues[0]), 0),
        known.placed(observed.loadings), cluster, given, observed.detect, chance, p(observed.detect, size),
        observed.ratio, adjusted_rand(half[both], observed.cluster[both]) if both.any() else float("nan"), notes,
    )  # fmt: skip
