"""Item fit: S-X2, infit and outfit of every item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from psychoeval.audit.settings import check_whole
from psychoeval.diagnostics.fitted import JUDGED, Ability, Fitted, ability_method, fitted
from psychoeval.diagnostics.simulated_residuals import residual_tests
from psychoeval.estimators.settings import check_positive
from psychoeval.irt.item_fit import chi_squared, score_grid, score_table
from psychoeval.irt.models import ItemModel
from psychoeval.irt.paired import holm
from psychoeval.irt.residual_fit import MeanSquares, mean_squares, residual_sums
from psychoeval.irt.score_equations import KnownItems
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.scoring.matched import histogram

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: Persons with the same missing cells that are enough for a table of their scores; smaller groups are left out.
SMALLEST_GROUP: Final = 20


@dataclass(frozen=True, eq=False)
class ItemFit:
    """Fit of J items.

    Parameters
    ----------
    item_ids : tuple of str, length J
    n_persons : (J,) int array
        With a response and an ability: whom infit and outfit are about.
    s_x2, df, p, p_adjusted, rmsea : (J,) arrays
        S-X2, its degrees of freedom, its p value, that adjusted for the number of items (Holm), and
        sqrt(max(S-X2 - df, 0) / (df (n - 1))). NaN where `s_x2_status` is not ``"judged"``.
    n_s_x2 : (J,) int array
        Persons that S-X2 could use.
    infit, infit_z, outfit, outfit_z : (J,) arrays
        Mean squares (about 1 as the model expects, above noisier, below more regular) and standardized.
    infit_p, outfit_p : (J,) arrays
        Two-sided, among simulated mean squares; NaN where `residual_status` is not ``"judged"``, and without
        replications, which `notes` then says.
    s_x2_status, residual_status : tuple of str, length J
        ``"judged"``, or why there is no value.
    ability : str
        How the abilities of infit and outfit were scored.
    notes : tuple of str
    """

    item_ids: tuple[str, ...]
    n_persons: IntArray
    s_x2: FloatArray
    df: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    rmsea: FloatArray
    n_s_x2: IntArray
    infit: FloatArray
    infit_z: FloatArray
    outfit: FloatArray
    outfit_z: FloatArray
    infit_p: FloatArray
    outfit_p: FloatArray
    s_x2_status: tuple[str, ...]
    residual_status: tuple[str, ...]
    ability: Ability
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<ItemFit of {len(self.item_ids)} items; see to_frame(), notes>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item, in the order of the responses."""
        import pandas as pd

        names = ("n_persons", "infit", "infit_z", "infit_p", "outfit", "outfit_z", "outfit_p", "residual_status",
                 "n_s_x2", "s_x2", "df", "rmsea", "p", "p_adjusted", "s_x2_status")  # fmt: skip
        return pd.DataFrame({k: getattr(self, k) for k in names}, index=pd.Index(self.item_ids, name="item"))


def item_fit(
    fit: FitResult,
    responses: Responses,
    *,
    ability: Ability | None = None,
    min_expected: float = 1.0,
    parameters_per_item: int | None = None,
    replications: int = 0,
    seed: int = 0,
) -> ItemFit:
    """Judge every item of a fit on its responses.

    S-X2 compares, within each sum score, how many had an item right and how many should have; sums of squares over
    classes of scores with `min_expected` right and wrong answers at least follow chi-squared under the model, with as
    many degrees of freedom as classes, less the parameters. It needs 0/1 responses. Missing cells: persons with the
    same ones make a table, and an item's tables add up; groups of fewer than 20 are left out, with a note.

    Infit and outfit are mean squares of r = x - n P at each person's ability: infit = sum r^2 / sum n P (1 - P),
    outfit = mean of r^2 / (n P (1 - P)), for the Rasch model and those with slopes and guessing alike, counts included.
    Abilities come from the same responses, which makes residuals smaller: z is then no standard normal variable (at
    EAPs from 20 items, 500 persons and a true model, |z| > 1.96 in 40 % of items), and rules of thumb for z or the mean
    squares do not hold. Their p values, with `replications`, compare with data simulated and scored the same way;
    they are cautious, more so for the 2PL, whose slopes fit themselves to the residuals.

    Parameters
    ----------
    fit : FitResult
        With item parameters; S-X2 and ``"EAP"`` need its distribution of abilities too.
    responses : Responses
        Usually those it was fitted to; items are matched by id.
    ability : {"EAP", "MAP", "ML", "WLE"}, optional
        Of infit and outfit; EAP where the fit has a distribution of abilities, else WLE. Persons with an infinite ML
        are left out.
    min_expected : float
        Of a class, right and wrong answers each.
    parameters_per_item : int, optional
        Taken off the degrees of freedom; 0 for items that were known before these responses. Without it those that the
        item has of its own: 1 of the Rasch model and 1PL, else 2, and 3 with estimated guessing. mirt takes off the
        variance of the abilities from every item too (2 for the Rasch model), which makes p too small: of 2,000 items
        of true Rasch models 8.0 % are below .05 then, and 6.0 % without (500 x 20).
    replications : int
        Data sets for the p values of infit and outfit; the smallest p is 2 / (1 + replications).
    seed : int
        Of these.

    Raises
    ------
    DataError, NotComparableError, SettingsError
        For responses, fits and settings that cannot be used; see also `psychoeval.diagnostics.fitted`.
    """
    check_positive(min_expected=min_expected)
    if parameters_per_item is not None:
        check_whole("parameters_per_item", parameters_per_item, 0)
    check_whole("replications", replications, 0)
    check_whole("seed", seed, 0)
    known, method = fitted(fit, responses), ability_method(fit, ability)
    theta = known.abilities(method)
    if parameters_per_item is None:
        parameters_per_item = _parameters(fit.model)
    sums, _ = residual_sums(*known.counts, theta, known.items)
    found = mean_squares(sums)
    judged = _s_x2(known, min_expected, parameters_per_item)
    infit, infit_z, outfit, outfit_z = (known.placed(values) for values in found)
    infit_p, outfit_p, residual_notes = _residual_p(known, method, found, replications, seed)
    return ItemFit(
        responses.item_ids,
        np.nan_to_num(known.placed(sums.cells)).astype(np.intp),
        judged.statistic, judged.df, judged.p, holm(judged.p), judged.rmsea, judged.persons,
        infit, infit_z, outfit, outfit_z, infit_p, outfit_p,
        judged.status,
        tuple(b or (JUDGED if n else "nobody with a response has a finite ability")
              for b, n in zip(known.because, known.placed(sums.cells), strict=True)),
        method,
        known.notes + judged.notes + residual_notes + _infinite(theta, method),
    )  # fmt: skip


def _residual_p(
    known: Fitted, method: Ability, found: MeanSquares, replications: int, seed: int
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    none = np.full(known.used.size, np.nan)
    if known.latent is None:
        return none, none, ("Infit and outfit have no p values: the fit has no distribution of abilities.",)
    if not replications:
        return none, none, ("Infit and outfit have no p values: no replications were asked for.",)
    tests = residual_tests(known, method, found, replications, seed)
    return known.placed(tests.infit), known.placed(tests.outfit), ()


class _SX2(NamedTuple):
    statistic: FloatArray
    df: FloatArray
    p: FloatArray
    rmsea: FloatArray
    persons: IntArray
    status: tuple[str, ...]
    notes: tuple[str, ...]


def _parameters(model: ItemModel | None) -> int:
    """Return how many parameters an item has of its own, which S-X2 loses."""
    if model is None or model.name in ("Rasch", "1PL"):
        return 1
    return 3 if model.guessing_is_estimated else 2


def _s_x2(known: Fitted, min_expected: float, parameters: int) -> _SX2:
    because = _impossible(known)
    n_items = known.used.size
    statistic, classes, persons = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items, dtype=np.intp)
    notes: tuple[str, ...] = ()
    if not because:
        notes = _add_groups(known, min_expected, statistic, classes, persons)
    df = classes - parameters
    status = tuple(
        own or because or (JUDGED if d > 0 else _too_few(int(c), int(n), parameters))
        for own, d, c, n in zip(known.because, df, classes, persons, strict=True)
    )
    judged = np.array([s == JUDGED for s in status])
    df, statistic = np.where(judged, df, np.nan), np.where(judged, statistic, np.nan)
    rmsea = np.sqrt(np.maximum(statistic - df, 0.0) / (df * np.where(judged, persons - 1, np.nan)))
    return _SX2(statistic, df, np.asarray(chi2.sf(statistic, df)), rmsea, persons, status, notes)


def _impossible(known: Fitted) -> str:
    """Return why S-X2 exists for no item, "" where it may."""
    if known.latent is None:
        return "the fit has no distribution of abilities"
    if not known.responses.is_binary:
        return "some cells have more than one trial"
    if known.items.a.size < 3:
        return "there are fewer than 3 items"
    return ""


def _too_few(classes: int, persons: int, parameters: int) -> str:
    if not persons:
        return f"fewer than {SMALLEST_GROUP} persons share their missing cells"
    return f"{classes} class{'es' * (classes != 1)} of scores, no more than the {parameters} taken off for parameters"


def _add_groups(
    known: Fitted, min_expected: float, statistic: FloatArray, classes: FloatArray, persons: IntArray
) -> tuple[str, ...]:
    """Add up the tables of persons with the same missing cells; return a note on those left out."""
    successes, trials = known.counts
    place = np.flatnonzero(known.used)
    seen_by = np.asarray(trials > 0)
    patterns, group, sizes = np.unique(seen_by, axis=0, return_inverse=True, return_counts=True)
    latent = known.latent
    assert latent is not None  # `_impossible` says so
    for k in np.flatnonzero((sizes >= SMALLEST_GROUP) & (patterns.sum(axis=1) > 2)):
        seen = patterns[k]
        items = KnownItems(known.items.a[seen], known.items.d[seen], known.items.c[seen])
        grid = score_grid(items, mean=latent.mean, sd=latent.sd, distribution=histogram(latent))
        table = score_table(successes[np.ix_(group.reshape(-1) == k, seen)], items, grid)
        found, number = chi_squared(table, min_expected)
        at = place[seen]
        statistic[at] += found
        classes[at] += number
        persons[at] += sizes[k]
    lost = int(sizes[(sizes < SMALLEST_GROUP) & patterns.any(axis=1)].sum())
    if not lost:
        return ()
    return (f"S-X2 leaves out {lost} of {len(trials)} persons, who share their missing cells with fewer than "
            f"{SMALLEST_GROUP}.",)  # fmt: skip


def _infinite(theta: FloatArray, method: Ability) -> tuple[str, ...]:
    n = int(np.isinf(theta).sum())
    return (f"{n} persons have an infinite {method} ability and take no part in infit and outfit.",) * bool(n)
