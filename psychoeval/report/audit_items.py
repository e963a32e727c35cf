"""Sections of an audit about items: the item table, bins of difficulty, benchmarks, curves."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from psychoeval import audit, plots
from psychoeval.audit.difficulty_bins import EDGES, PUBLISHED, DifficultyBins
from psychoeval.report.audit_parts import AuditSettings, Drawing, Section, Table, between, number
from psychoeval.responses.covariates import group_codes
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

#: Benchmarks that are compared pair by pair: the largest.
_MOST_BENCHMARKS: Final = 4
_BIN_HEADS: Final = ("n_items", "n_correlated", "mean", "standard_error", "sd", "not_positive")
_TEST_HEADS: Final = ("n_1", "n_2", "mean_1", "mean_2", "u", "superiority", "p_value", "p_adjusted")


def items(r: Responses, settings: AuditSettings) -> Section:
    """Give the classical item table and the reliability of the whole test."""
    import pandas as pd

    found = audit.analyze_items(r)
    test = found.test
    weak = [i for i, bad in zip(found.item_ids, found.not_positive, strict=True) if bad]
    sentences = [
        f"Alpha {number(test.alpha)} ({between(test.alpha_low, test.alpha_high)})"
        + (f" = KR-20 {number(test.kr20)}" if np.isfinite(test.kr20) else "")
        + f", omega {number(test.omega)}, error of measurement of a mean score {number(test.error_of_measurement)}; "
        f"{test.n_persons} {r.person_label}s, {test.n_items} items, {test.rule}."
    ]
    if weak:
        sentences.append(f"{len(weak)} items do not correlate positively with the rest: {some(weak, 8)}.")
    heads = (
        "n_persons", "proportion_correct", "proportion_low", "proportion_high", "item_rest_correlation",
        "correlation_low", "correlation_high", "alpha_without", "status",
    )  # fmt: skip
    order = np.arange(r.n_items)
    if r.n_items > 1000:
        order = np.argsort(np.nan_to_num(found.item_rest_correlation, nan=2.0), kind="stable")
    names = list(type(test).__slots__)
    whole = pd.DataFrame({"value": [getattr(test, n) for n in names]}, index=pd.Index(names, name="statistic"))
    title = "Item table" if r.n_items <= 1000 else "Item table, lowest rest correlation first"
    tables = (Table("items", title, found.to_frame(), heads, order), Table("reliability", "", whole, ()))
    return Section("Items", tuple(sentences), found.notes, tables)


def bins(r: Responses, settings: AuditSettings) -> Section:
    """Average discrimination by difficulty; beside another data set where there is one."""
    found = audit.bin_difficulty(r)
    sentences = [*_pattern(found), _saturation(found, r)]
    tables = [Table("bins", f"Bins of proportion correct, {r.name}", found.to_frame(), _BIN_HEADS)]
    drawn, rules = [found], [*found.notes]
    if settings.against is not None:
        other = audit.bin_difficulty(settings.against)
        test = audit.compare_difficulty_bins(found, other)
        drawn.append(other)
        rules += [f"{other.name}: {note}" for note in other.notes]
        rules.append(_TEST_RULE)
        tables.append(Table("bins_against", f"Bins, {other.name}", other.to_frame(), _BIN_HEADS))
        title = f"Mann-Whitney by bin: 1 {found.name}, 2 {other.name}"
        tables.append(Table("bins_test", title, test.to_frame(), _TEST_HEADS))
        sentences.append(_difference(test.names, test.p_adjusted, test.superiority, test.labels))
    return Section("Difficulty and discrimination", tuple(sentences), tuple(rules), tuple(tables), (_drawing(drawn),))


def benchmarks(r: Responses, settings: AuditSettings) -> tuple[Section, ...]:
    """Compare bins of difficulty between benchmarks of one data set; nothing where there is one."""
    import pandas as pd

    column = settings.benchmark
    if column is None and (r.items is None or "benchmark" not in r.items.columns):
        return ()
    codes, names = group_codes(r, column or "benchmark", "items")
    if len(names) < 2:
        return ()
    size = np.bincount(codes)
    largest = np.argsort(-size, kind="stable")[:_MOST_BENCHMARKS]
    found = [audit.bin_difficulty(_part(r, codes == k, names[k])) for k in largest.tolist()]
    parts, sentences = [], []
    for one, two in combinations(found, 2):
        test = audit.compare_difficulty_bins(one, two)
        sentences.append(_difference(test.names, test.p_adjusted, test.superiority, test.labels))
        frame = test.to_frame().assign(pair=f"{one.name} - {two.name}")
        parts.append(frame.reset_index().set_index("pair"))
    tables = tuple(
        Table(f"bins_benchmark_{k}", f"Bins, {one.name}", one.to_frame(), _BIN_HEADS) for k, one in enumerate(found, 1)
    )
    tests = Table("benchmarks_test", "Mann-Whitney by bin", pd.concat(parts), ("p", *_TEST_HEADS))
    left = len(names) - len(found)
    rules = (
        "Rest correlations within each benchmark, by the score on its other items.", _TEST_RULE,
        *((f"The {_MOST_BENCHMARKS} largest of {len(names)} benchmarks.",) if left else ()),
    )  # fmt: skip
    sizes = ", ".join(f"{names[k]} {size[k]}" for k in largest.tolist())
    lead = f"{len(names)} benchmarks; items: {sizes}{' and others' if left else ''}."
    return (Section("Benchmarks", (lead, *sentences), rules, (tests, *tables), (_drawing(found),)),)


def curves(r: Responses, settings: AuditSettings) -> Section:
    """Look for items that fall with the score on the others."""
    found = audit.bin_curves(r)
    falling = np.flatnonzero(found.clearly_decreasing)
    ids = [found.item_ids[j] for j in falling[np.argsort(found.trend[falling])].tolist()]
    below, known = int(found.decreasing.sum()), int(np.isfinite(found.trend).sum())
    sentence = (
        f"{len(ids)} items fall with the score on the rest beyond chance (false discovery rate 5%): {some(ids, 8)}."
        if ids
        else "No item falls with the score on the rest beyond chance (false discovery rate 5%)."
    )
    more = f"{below} of {known} items have a falling trend, by chance or not; groups: {found.proportion.shape[1]}."
    drawn = Drawing(
        "Binned curves", "Share of right answers in groups by the score on the other items; a good item rises.",
        "Curves of a few items over groups of rest score, with Wilson's intervals.",
        lambda: plots.binned_curves(found, noun=r.person_label),
    )  # fmt: skip
    table = Table("curves", "", found.to_frame().set_index("item"), ())
    return Section("Curves of items", (sentence, more), found.notes, (table,), (drawn,))


_TEST_RULE: Final = (
    "Mann-Whitney's U of rest correlations in one bin, items as the units and systems kept; p adjusted by Holm over "
    "bins. Superiority: share of pairs of items in which the first benchmark's discriminates better, ties half."
)


def _part(r: Responses, kept: np.ndarray, name: str) -> Responses:
    return replace(r.select(items=kept), name=name)


def _drawing(found: list[DifficultyBins]) -> Drawing:
    return Drawing(
        "Discrimination by difficulty",
        "Mean correlation of items with the rest in bins of the share of right answers: where it is low, items say "
        "little about who is better.",
        "Mean rest correlations with intervals in five bins; the values are in the table.",
        lambda: plots.difficulty_bins(found),
    )


def _pattern(found: DifficultyBins) -> list[str]:
    known = np.flatnonzero(np.isfinite(found.mean))
    if known.size < 2:
        return []
    best, worst = (int(known[f(found.mean[known])]) for f in (np.argmax, np.argmin))
    labels, n = found.labels, found.n_correlated
    out = [
        f"Items discriminate most at a proportion correct in {labels[best]} (mean r {number(found.mean[best])}, "
        f"{n[best]} items) and least in {labels[worst]} (mean r {number(found.mean[worst])}, {n[worst]} items)."
    ]
    if found.edges == EDGES:
        rows = [f"{', '.join(number(r) for r in means)} in {name}" for name, means in PUBLISHED.items()]
        peak = int(np.argmax(PUBLISHED["MMLU-Pro"]))
        here = "the same bin here" if best == peak else f"{labels[best]} here, among other systems"
        out.append(
            f"Published means of r, from the hardest bin to the easiest (arXiv:2604.03244): {' and '.join(rows)}. "
            f"They rise up to {labels[peak]}; the highest is in {here}."
        )
    return out


def _saturation(found: DifficultyBins, r: Responses) -> str:
    return (
        f"Saturation: {number(100 * found.saturation, 1)}% of {r.n_items - found.n_unseen} items have a proportion "
        f"correct of .8 or more; the best {r.person_label} has {number(found.headroom)} to gain. {found.n_never} items "
        f"nobody and {found.n_always} everybody got right."
    )


def _difference(names: tuple[str, str], p: np.ndarray, superiority: np.ndarray, labels: tuple[str, ...]) -> str:
    better = [names[0] if above else names[1] for above in (superiority > 0.5).tolist()]
    found = [f"{labels[b]} (better in {better[b]})" for b in np.flatnonzero(p < 0.05).tolist()]
    where = f"discriminate unequally at {', '.join(found)}" if found else "differ in no bin beyond chance"
    return f"{names[0]} and {names[1]}: items of like difficulty {where}."
