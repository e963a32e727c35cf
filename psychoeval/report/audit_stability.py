"""Sections of an audit about other samples of systems: the bootstrap, and leaving groups out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval import audit, plots
from psychoeval.audit.resampling import Stability
from psychoeval.report.audit_parts import AuditSettings, Drawing, Section, Table, number
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening.families import relatedness

if TYPE_CHECKING:
    import pandas as pd

#: Columns of persons that name who made them, in order of preference.
_MAKERS: Final = ("developer", "organization", "org", "family", "provider", "base_model")
_FAMILY: Final = "family by agreement"
_MOST_FOR_FAMILIES: Final = 2_000


def bootstrap(r: Responses, settings: AuditSettings) -> Section:
    """Draw persons anew."""
    found = audit.resample_systems(r, replications=settings.replications, seed=settings.seed)
    drawn = Drawing(
        "Items over samples",
        f"How far shares of right answers and correlations move when {r.person_label}s are drawn anew.",
        "Ranges of each item over samples, and the samples' correlations with all; the means are in the table.",
        lambda: plots.stability(found),
    )
    tables = (
        _summary("bootstrap", "Bootstrap, by statistic", found),
        Table("bootstrap_items", "", found.to_frame(), ()),
        Table("bootstrap_samples", "", found.samples_frame(), ()),
    )
    return Section(f"Other {r.person_label}s", _words(found), found.notes, tables, (drawn,))


def groups(r: Responses, settings: AuditSettings) -> tuple[Section, ...]:
    """Leave each developer or family out in turn; nothing where no groups are known or found."""
    grouped = _grouped(r, settings.group)
    if grouped is None:
        return ()
    responses, column, rule = grouped
    found = audit.leave_groups_out(responses, group=column)
    samples = found.samples_frame()
    order = np.argsort(-found.proportion_correct.shift, kind="stable")
    tables = (
        _summary("groups", "Groups left out, by statistic", found),
        Table("groups_samples", "Groups left out, largest changes first", samples, tuple(samples.columns), order),
        Table("groups_items", "", found.to_frame(), ()),
    )
    rules = (*rule, *found.notes)
    return (Section(f"Without each {column}", _words(found, column), rules, tables),)


def _grouped(r: Responses, column: str | None) -> tuple[Responses, str, tuple[str, ...]] | None:
    """Return the responses with a column of groups without gaps, its name, and the rule where it needs one."""
    import pandas as pd

    names = [] if r.persons is None else [str(c) for c in r.persons.columns]
    known = column or next((m for m in _MAKERS if m in names and len(set(_values(r, m))) > 1), None)
    if known is None:
        if not 3 <= r.n_persons <= _MOST_FOR_FAMILIES:
            return None
        family = relatedness(r).family
        if (family < 0).all():
            return None
        made = replace(r, persons=pd.DataFrame({_FAMILY: _family_names(r, family)}))
        rule = (
            f"No column names developers or families (--group): {int(family.max()) + 1} families whose residuals "
            f"correlate at .3 or more, and the other {r.person_label}s each on its own.",
        )
        return made, _FAMILY, rule
    if known not in names:
        return r, known, ()  # refused by name
    values = _values(r, known)
    lacking = sum(is_missing(v) for v in values)
    if not lacking:
        return r, known, ()
    filled = [f"({i})" if is_missing(v) else v for i, v in zip(r.person_ids, values, strict=True)]
    made = replace(r, persons=pd.DataFrame({known: filled}))
    return made, known, (f"{lacking} {r.person_label}s have no {known!r} and are each on their own.",)


def _family_names(r: Responses, family: NDArray[np.intp]) -> list[str]:
    """Return the family of each person, named by its first member; who stands alone is one."""
    first = {k: r.person_ids[int(np.argmax(family == k))] for k in set(family[family >= 0].tolist())}
    ids = zip(r.person_ids, family.tolist(), strict=True)
    return [f"{first[k]} and {int((family == k).sum()) - 1} more" if k >= 0 else name for name, k in ids]


def _values(r: Responses, column: str) -> list[object]:
    """Return a column of persons, None where it is missing or blank."""
    assert r.persons is not None
    return [None if is_missing(v) or not str(v).strip() else v for v in r.persons[column].tolist()]


def _summary(key: str, title: str, found: Stability) -> Table:
    frame: pd.DataFrame = found.summary().rename_axis("statistic")
    return Table(key, title, frame, tuple(frame.columns))


def _words(found: Stability, column: str = "") -> tuple[str, ...]:
    """Say the summary of both statistics."""
    summary = found.summary()
    out = []
    for name, what in (("proportion_correct", "Proportions correct"), ("item_rest_correlation", "Rest correlations")):
        row = summary.loc[name].to_dict()
        over = f"{int(row['n_samples'])} samples" if not column else f"{int(row['n_samples'])} groups left out"
        width = f"{found.level:.0%} {'interval' if not column else 'range'} {number(row['mean_interval_width'])} wide"
        out.append(
            f"{what} over {over}: correlation with the full data {number(row['correlation_mean'])} on average, "
            f"{number(row['correlation_min'])} at least; an item's standard error {number(row['mean_standard_error'])} "
            f"and {width}, means of {int(row['n_items'])} items."
        )
    if column and found.samples:
        shift = found.proportion_correct.shift
        worst = int(np.nanargmax(shift))
        out.append(
            f"Leaving out {found.samples[worst]} moves an item's proportion correct most, by {number(shift[worst])}."
        )
    return tuple(out)
