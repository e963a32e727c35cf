"""Sections of an audit about systems: what stands out, mean scores, pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psychoeval import audit, plots
from psychoeval.audit.paired import PairComparisons, Test
from psychoeval.report.audit_parts import AuditSettings, Drawing, Section, Table, between, number, probability
from psychoeval.responses.connectivity import shared_items
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import screen
from psychoeval.responses.screening.overlap import MOST_PERSONS

if TYPE_CHECKING:
    import pandas as pd

_SIGNIFICANT = 0.05


def findings(r: Responses, settings: AuditSettings) -> Section:
    """Say what stands out before any statistic."""
    import pandas as pd

    found = screen(r).findings
    sentences = [("Warning: " if f.severity == "warning" else "") + f.sentence for f in found]
    frame = pd.DataFrame(
        {"severity": [f.severity for f in found], "n": [len(f.ids) for f in found],
         "sentence": [f.sentence for f in found]}, index=pd.Index([f.kind for f in found], name="finding"),
    )  # fmt: skip
    tables = [Table("findings", "", frame, ())]
    if not r.is_complete and r.n_persons <= MOST_PERSONS:
        ids = pd.Index(r.person_ids, name=r.person_label)
        tables.append(Table("shared_items", "", pd.DataFrame(shared_items(r), index=ids, columns=r.person_ids), ()))
    return Section("What stands out", tuple(sentences or ["Nothing stands out."]), r.notes, tuple(tables))


def means(r: Responses, settings: AuditSettings) -> Section:
    """Give mean scores with errors that know their unit."""
    found = audit.average_systems(r, cluster=settings.cluster)
    frame = found.to_frame()
    order = np.argsort(-np.nan_to_num(found.mean, nan=-1.0), kind="stable")
    heads = ["mean", "standard_error", "low", "high", "n_items", "n_trials", "status"]
    sentences = []
    if settings.cluster is not None:
        heads[4:4] = ["error_between_items", "design_effect", "n_clusters"]
        effect = found.design_effect[np.isfinite(found.design_effect)]
        sentences.append(
            f"Items of one {settings.cluster!r} are taken as dependent: squared errors are "
            f"{number(float(np.median(effect)) if effect.size else np.nan, 2)} times those between items (median)."
        )
    if r.is_binary:
        heads.remove("n_trials")
    elif np.isfinite(found.error_of_trials).any():
        heads.insert(4, "error_of_trials")
    drawn = Drawing(
        "Mean scores", f"{r.person_label.capitalize()}s whose intervals overlap may still differ: they saw the same "
        "items, and the paired tests below use that.", "Mean scores with intervals; the values are in the table.",
        lambda: plots.system_means(found, noun=r.person_label),
    )  # fmt: skip
    table = Table("systems", "By mean score", frame, tuple(heads), order)
    return Section(f"Mean scores of {r.person_label}s", tuple(sentences), found.notes, (table,), (drawn,))


def pairs(r: Responses, settings: AuditSettings) -> Section:
    """Test neighbors in rank, or all pairs of a few."""
    chosen, rule = audit.rank_neighbors(r)
    test: Test = "mcnemar-exact" if r.is_binary and settings.cluster is None else "t"
    found = audit.compare_pairs(r, chosen, cluster=settings.cluster, test=test, correction=settings.correction)
    apart = int((found.p_adjusted < _SIGNIFICANT).sum())
    kind = "McNemar's exact test" if test == "mcnemar-exact" else "Student's t"
    words = "no correction" if found.correction == "none" else f"correction {found.correction}"
    sentence = f"{apart} of {len(chosen)} pairs differ ({kind}, {words}, p below .05)."
    heads = _pair_heads(found, settings)
    drawn = Drawing(
        "Differences of pairs", "Filled points differ beyond chance; an interval that holds 0 leaves the order open.",
        "Differences with intervals; the values are in the table.", lambda: plots.pair_differences(found),
    )  # fmt: skip
    table = Table("pairs", "Pairs", _pair_frame(found), heads)
    return Section(f"{r.person_label.capitalize()}s in pairs", (sentence,), (rule, *found.notes), (table,), (drawn,))


def one_pair(r: Responses, settings: AuditSettings) -> Section:
    """Compare two systems by every test."""
    import pandas as pd

    assert settings.pair is not None
    draws = max(settings.replications, 1000)
    found = audit.compare_pairs(
        r, [settings.pair], cluster=settings.cluster, test="t", correction="none", replications=draws,
        seed=settings.seed,
    )  # fmt: skip
    a, b = settings.pair
    d, n = float(found.difference[0]), int(found.n_items[0])
    units = f"{n} items" if settings.cluster is None else f"{n} items in {int(found.n_clusters[0])} clusters"
    sentence = (
        f"{a} less {b}: {number(d)} ({between(float(found.low[0]), float(found.high[0]))}) on {units} that both saw."
    )
    rows: dict[str, tuple[Any, ...]] = {
        "Student's t": (d, found.low[0], found.high[0], found.t[0], found.p_t[0]),
        f"bootstrap, {draws} draws": (
            d, found.bootstrap_low[0], found.bootstrap_high[0], np.nan, found.p_bootstrap[0],
        ),
    }  # fmt: skip
    sentences = [sentence]
    if np.isfinite(found.first_only[0]):
        only = f"{int(found.first_only[0])} items only {a} got right, {int(found.second_only[0])} only {b}."
        sentences.append(only)
        rows["McNemar, exact"] = (d, np.nan, np.nan, np.nan, found.p_mcnemar_exact[0])
        rows["McNemar, mid-p"] = (d, np.nan, np.nan, np.nan, found.p_mcnemar_mid[0])
    sentences.append(f"By Student's t {probability(float(found.p_t[0]))}.")
    names = ("difference", "low", "high", "t", "p_value")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(names)).rename_axis("test")
    table = Table("pair", f"{a} and {b}", frame, names)
    return Section(f"{a} against {b}", tuple(sentences), found.notes, (table,))


def _pair_frame(found: PairComparisons) -> pd.DataFrame:
    frame = found.to_frame()
    for column in ("first_only", "second_only"):
        if np.isfinite(frame[column]).all():
            frame[column] = frame[column].astype(int)
    names = frame["first"] + " - " + frame["second"]
    return frame.set_index(names.rename("pair"))


def _pair_heads(found: PairComparisons, settings: AuditSettings) -> tuple[str, ...]:
    heads = ["n_items", "difference", "standard_error", "low", "high", "p_t"]
    if settings.cluster is not None:
        heads.insert(1, "n_clusters")
    if np.isfinite(found.p_mcnemar_exact).any():
        heads += ["first_only", "second_only", "p_mcnemar_exact"]
    return (*heads, "p_adjusted", "status")
