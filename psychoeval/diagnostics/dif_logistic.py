"""DIF by logistic regression on a matching variable of the anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtri

from psychoeval.diagnostics.dif_groups import TESTED, Groups
from psychoeval.diagnostics.dif_matching import Matching, Proportions
from psychoeval.diagnostics.dif_result import ItemTests
from psychoeval.irt.classical import BLOCK_CELLS
from psychoeval.irt.dif_logistic import LogisticTests, logistic_tests
from psychoeval.irt.dif_mantel_haenszel import mantel_haenszel
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Kind = Literal["both", "uniform", "nonuniform"]

#: Logits of an odds ratio to the delta scale of ETS, 4 / 1.7 (Holland & Thayer 1985).
ETS_UNIT: Final = 2.35
#: Least absolute delta of ETS' classes B and C; C is above that of B beyond chance (Zieky 1993).
ETS_LIMITS: Final = (1.0, 1.5)
#: Differences of Nagelkerke's R2 from which DIF is moderate, and large: Jodoin & Gierl (2001),
#: doi 10.1207/S15324818AME1404_2.
R2_LIMITS: Final = (0.035, 0.070)
#: Which regressions are compared.
_COMPARED: Final[dict[Kind, tuple[int, int]]] = {"uniform": (0, 1), "nonuniform": (1, 2), "both": (0, 2)}


@dataclass(frozen=True, slots=True, eq=False)
class LogisticMethod:
    """Tests of all items by logistic regression, given anchors.

    Parameters
    ----------
    responses : Responses
    groups : Groups
    kind : {"both", "uniform", "nonuniform"}
    matching : Matching
    level : float
    """

    responses: Responses
    groups: Groups
    kind: Kind
    matching: Matching
    level: float

    @property
    def how(self) -> str:
        """What is tested, in words."""
        what = {
            "both": "uniform and non-uniform DIF at once", "uniform": "uniform DIF", "nonuniform": "non-uniform DIF",
        }[self.kind]  # fmt: skip
        test = "likelihood ratio" if self.responses.is_binary else "likelihood ratio over the overdispersion, F"
        return f"logistic regression on {self.matching.how}, {what}, {test}"

    @property
    def usable(self) -> BoolArray:
        """Which items can be anchors."""
        return self.groups.comparable

    def test(self, anchors: BoolArray) -> ItemTests:
        """Test every item, in blocks."""
        group, used = self.groups.codes, self.groups.comparable
        strata = self._has_strata(anchors)
        places = np.flatnonzero(used)
        step, blocks = max(1, BLOCK_CELLS // 4 // group.size), []
        for start in range(0, places.size, step):
            at = places[start : start + step]
            x, n = (c[:, at].astype(np.float64) for c in (self.responses.successes, self.responses.trials))
            m = self.matching.values(anchors, at)
            blocks.append(self._block(x, np.where(np.isfinite(m), n, 0.0), m, at))
            if strata:
                score = np.rint(m * (anchors.sum() + ~anchors[at])).astype(np.intp)
                blocks[-1] |= _mantel_haenszel(x, n, score, group, self.level)
        return self._joined(places, blocks, self.matching.notes(anchors))

    def finish(self, tested: ItemTests, anchors: BoolArray) -> ItemTests:
        """Return the tests: their effects are there."""
        return tested

    def _has_strata(self, anchors: BoolArray) -> bool:
        """Whether two groups ran all anchors once, so that numbers right make strata."""
        alike = bool((self.responses.trials[:, anchors] == 1).all()) and self.responses.is_binary
        return alike and isinstance(self.matching, Proportions) and len(self.groups.names) == 2

    def _block(self, x: FloatArray, n: FloatArray, m: FloatArray, at: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Return the columns of a block of items."""
        found = logistic_tests(x, n, m, self.groups.codes)
        g = len(self.groups.names)
        phi = _overdispersion(found, n, 2 * g)
        out: dict[str, NDArray[Any]] = {}
        for kind, (low, high) in _COMPARED.items():
            ratio = 2 * (found.models[high].log_likelihood - found.models[low].log_likelihood)
            out[f"chi2_{kind}"] = np.maximum(ratio, 0.0)
            df = (g - 1) * (high - low)
            out[f"p_{kind}"] = _p(out[f"chi2_{kind}"], df, phi, found.n - 2 * g)
        low, high = _COMPARED[self.kind]
        out["r2_difference"] = _nagelkerke(found, high) - _nagelkerke(found, low)
        out |= _effects(found, phi, self.level) if g == 2 else {}
        out["overdispersion"] = phi
        out["status"] = self._statuses(found, at)
        return out

    def _statuses(self, found: LogisticTests, at: NDArray[np.intp]) -> NDArray[Any]:
        """Return why an item's test has no value, ``"tested"`` where it has."""
        low, high = _COMPARED[self.kind]
        status = np.full(at.size, TESTED, dtype=object)
        for j in np.flatnonzero(~(found.models[low].converged & found.models[high].converged)):
            if found.exists[low, j] and found.exists[high, j]:
                status[j] = "did not converge"
            else:
                names = [name for name, s in zip(self.groups.names, found.separated[:, j], strict=True) if s]
                status[j] = f"separation: {' and '.join(names) or 'all'} ordered by the matching variable"
        return status

    def _joined(
        self, places: NDArray[np.intp], blocks: list[dict[str, NDArray[Any]]], notes: tuple[str, ...]
    ) -> ItemTests:
        """Return blocks of items among all J."""
        n_items = self.groups.run.shape[1]
        columns: dict[str, NDArray[Any]] = {}
        for name in blocks[0]:
            values = np.concatenate([b[name] for b in blocks])
            text = values.dtype.kind in "OU"
            columns[name] = np.full(n_items, "" if text else np.nan, dtype=object if text else np.float64)
            columns[name][places] = values
        status = columns.pop("status")
        if "mh_status" in columns:
            columns["mh_status"][~self.groups.comparable] = "not tested"
        tested = status == TESTED
        df = np.where(tested, (len(self.groups.names) - 1) * (2 if self.kind == "both" else 1), np.nan)
        statistic = np.where(tested, columns.pop(f"chi2_{self.kind}"), np.nan)
        p = np.where(tested, columns.pop(f"p_{self.kind}"), np.nan)
        columns.pop("chi2_both", None), columns.pop("p_both", None)
        if self.responses.is_binary:
            columns.pop("overdispersion")
        known = tuple(a or str(b) for a, b in zip(self.groups.status, status, strict=True))
        return ItemTests(statistic, df, p, known, columns, notes + self._separated(known))

    def _separated(self, status: tuple[str, ...]) -> tuple[str, ...]:
        n = sum(s.startswith("separation") for s in status)
        if not n or self.kind == "uniform":
            return ()
        return (
            f"{n} items have no finite slope in a group: its few systems are ordered by the matching variable without "
            "overlap. kind='uniform' estimates one slope for all groups.",
        )


def _overdispersion(found: LogisticTests, n: FloatArray, parameters: int) -> FloatArray:
    """Return Pearson's chi-squared over its degrees of freedom, at least 1, of items with several trials; else 1.

    One trial a system has no variance but p (1 - p). NaN where the last regression has no finite maximum.
    """
    several = n.max(axis=0, initial=0) > 1
    left = found.n - parameters
    ratio = np.divide(found.pearson, left, out=np.full(left.shape, np.nan), where=left > 0)
    return np.asarray(np.where(several, np.maximum(ratio, 1.0), 1.0))


def _p(ratio: FloatArray, df: int, phi: FloatArray, left: FloatArray) -> FloatArray:
    """Return p by chi-squared where phi is known to be 1, else by F of ratio / (df phi)."""
    by_f = fdtrc(df, np.maximum(left, 1), ratio / df / phi)
    return np.asarray(np.where(phi == 1.0, chdtrc(df, ratio), np.where(left > 0, by_f, np.nan)))


def _nagelkerke(found: LogisticTests, k: int) -> FloatArray:
    """Return (1 - exp(2 (l0 - l) / n)) / (1 - exp(2 l0 / n)), n the trials. Nagelkerke (1991), Biometrika 78, 691."""
    with np.errstate(divide="ignore", invalid="ignore"):
        part = -np.expm1(2 * (found.empty - found.models[k].log_likelihood) / found.trials)
        return np.asarray(part / -np.expm1(2 * found.empty / found.trials))


def with_classes(tested: ItemTests, flagged: BoolArray) -> ItemTests:
    """Return tests with ``r2_class`` after ``r2_difference``, where there is one; "" where an item was not tested.

    Jodoin & Gierl's classes are of items whose test rejects: where it does not, DIF is negligible (A), however large
    R2's difference is.
    """
    if "r2_difference" not in tested.columns:
        return tested
    names = np.array(["A", "B", "C"], dtype=object)
    size = np.searchsorted(R2_LIMITS, np.nan_to_num(tested.columns["r2_difference"]), side="right")
    classes = np.where(np.isfinite(tested.p), names[np.where(flagged, size, 0)], "")
    columns: dict[str, NDArray[Any]] = {}
    for name, values in tested.columns.items():
        columns[name] = values
        if name == "r2_difference":
            columns["r2_class"] = classes
    return tested._replace(columns=columns)


def _effects(found: LogisticTests, phi: FloatArray, level: float) -> dict[str, NDArray[Any]]:
    """Return log odds ratio of two groups with interval, ETS' delta and class, and the difference of slopes."""
    uniform, full = found.models[1], found.models[2]
    size = uniform.coefficients[:, 2]
    error = np.sqrt(uniform.covariance[:, 2, 2] * phi)
    z = ndtri(0.5 + level / 2)
    delta, beyond = np.abs(ETS_UNIT * size), ETS_UNIT * error
    with np.errstate(invalid="ignore"):
        large = (delta >= ETS_LIMITS[1]) & (delta - ETS_LIMITS[0] > ndtri(level) * beyond)
        some = (delta >= ETS_LIMITS[0]) & (delta > z * beyond)
    ets = np.where(large, "C", np.where(some, "B", "A")).astype(object)
    ets[~np.isfinite(error)] = ""
    return {
        "log_odds_ratio": size, "low": size - z * error, "high": size + z * error, "ets_delta": ETS_UNIT * size,
        "ets_class": ets, "slope_difference": full.coefficients[:, 3],
        "slope_difference_error": np.sqrt(full.covariance[:, 3, 3] * phi),
    }  # fmt: skip


def _mantel_haenszel(
    x: FloatArray, n: FloatArray, score: NDArray[np.intp], group: NDArray[np.intp], level: float
) -> dict[str, NDArray[Any]]:
    """Return Mantel and Haenszel's log odds ratio with interval, and p, within numbers right."""
    found = mantel_haenszel(x, n, score, group)
    reach = ndtri(0.5 + level / 2) * found.error
    known = np.where(np.isfinite(found.log_odds_ratio), TESTED, "no stratum compares the groups")
    return {
        "mh_log_odds_ratio": found.log_odds_ratio, "mh_low": found.log_odds_ratio - reach,
        "mh_high": found.log_odds_ratio + reach, "mh_p": found.p, "mh_status": known.astype(object),
    }  # fmt: skip
