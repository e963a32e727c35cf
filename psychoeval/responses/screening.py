"""What stands out in responses before any model is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from psychoeval.irt.parameters import ItemStatus, PersonStatus
from psychoeval.responses.cells import counted
from psychoeval.responses.connectivity import components, coverage
from psychoeval.responses.ids_and_counts import CountArray
from psychoeval.responses.matrix import Responses
from psychoeval.wording import some

Severity = Literal["note", "warning"]

#: Shorter final runs of failures are not worth a word, however improbable.
_MIN_TRAILING = 5
#: Over fewer cells, items or persons are equal by chance.
_MIN_COMPARED = 20
#: Expected number of persons flagged by chance, over the whole data set.
_FALSE_ALARMS = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about the responses.

    Parameters
    ----------
    severity : {"note", "warning"}
        A warning puts in question what the numbers mean.
    kind : str
        ``constant_items``, ``never_run_items``, ``extreme_persons``, ``empty_persons``, ``duplicate_items``,
        ``duplicate_persons``, ``similar_ids``, ``trailing_failures``, ``thin_overlap``, ``disconnected``.
    sentence : str
        For people.
    ids : tuple of str
        All persons or items concerned.
    """

    severity: Severity
    kind: str
    sentence: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Screening:
    """What `screen` found; `warnings` are the findings that need an answer."""

    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity ``"warning"``."""
        return tuple(f for f in self.findings if f.severity == "warning")


def screen(responses: Responses) -> Screening:
    """Look for what makes responses hard to model or to believe; nothing is changed.

    Constant, never-run and duplicate items; extreme, empty and duplicate persons; ids that differ by case or spaces
    alone; thin overlap and components; and persons whose responses end in an improbably long run of failures in the
    order of the items, as they do where items that were not reached are stored as wrong.
    """
    found = (
        *_unusable(responses),
        *_duplicates(responses),
        *_similar_ids(responses),
        *_overlap(responses),
        *_trailing(responses),
    )
    return Screening(tuple(sorted(found, key=lambda f: f.severity == "note")))


def item_status(responses: Responses) -> tuple[ItemStatus, ...]:
    """Return the status of each item: ``estimated``, ``constant_all_0``, ``constant_all_1`` or ``no_responses``.

    Constant means no success, or as many successes as trials, over all its observed cells.
    """
    codes = _constancy(responses, axis=0)
    names: tuple[ItemStatus, ...] = ("estimated", "constant_all_0", "constant_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def person_status(responses: Responses) -> tuple[PersonStatus, ...]:
    """Return the status of each person: ``estimated``, ``extreme_all_0``, ``extreme_all_1`` or ``no_responses``."""
    codes = _constancy(responses, axis=1)
    names: tuple[PersonStatus, ...] = ("estimated", "extreme_all_0", "extreme_all_1", "no_responses")
    return tuple(names[code] for code in codes)


def trailing_failures(responses: Responses) -> NDArray[np.int64]:
    """Return the length of the run of failures that ends each person's observed responses, (N,)."""
    observed, success = responses.trials > 0, responses.successes > 0
    last_success = np.where(success.any(axis=1), responses.n_items - 1 - np.argmax(success[:, ::-1], axis=1), -1)
    so_far = np.cumsum(observed, axis=1, dtype=np.int32)
    before = np.where(last_success < 0, 0, so_far[np.arange(len(so_far)), last_success])
    return (so_far[:, -1] - before).astype(np.int64)


def _constancy(responses: Responses, axis: int) -> NDArray[np.intp]:
    """0 mixed, 1 no success, 2 nothing but successes, 3 no trials; along `axis`."""
    successes = responses.successes.sum(axis=axis, dtype=np.uint64)
    trials = responses.trials.sum(axis=axis, dtype=np.uint64)
    return np.select([trials == 0, successes == 0, successes == trials], [3, 1, 2], 0).astype(np.intp)


def _pick(ids: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(ids[i] for i in np.flatnonzero(chosen).tolist())


def _unusable(responses: Responses) -> list[Finding]:
    label = responses.person_label
    item, person = _constancy(responses, axis=0), _constancy(responses, axis=1)
    rows: tuple[tuple[Severity, str, NDArray[np.bool_], str, Sequence[str], str], ...] = (
        ("warning", "never_run_items", item == 3, "item", responses.item_ids, "without any response"),
        ("warning", "empty_persons", person == 3, label, responses.person_ids, "without any response"),
        ("note", "constant_items", item == 1, "item", responses.item_ids, f"that no {label} got right"),
        ("note", "constant_items", item == 2, "item", responses.item_ids, f"that every {label} got right"),
        ("note", "extreme_persons", person == 1, label, responses.person_ids, "without any success"),
        ("note", "extreme_persons", person == 2, label, responses.person_ids, "without any failure"),
    )
    findings = []
    for severity, kind, chosen, noun, all_ids, what in rows:
        ids = _pick(all_ids, chosen)
        if ids:
            findings.append(Finding(severity, kind, f"{counted(len(ids), noun)} {what}: {some(ids)}.", ids))
    return findings


def _duplicates(responses: Responses) -> list[Finding]:
    label = responses.person_label
    findings = []
    for axis, noun, ids in ((0, "item", responses.item_ids), (1, label, responses.person_ids)):
        if responses.trials.shape[axis] < _MIN_COMPARED:
            continue
        usable = _constancy(responses, axis=axis) == 0
        successes, trials = (m.T if axis == 0 else m for m in (responses.successes, responses.trials))
        repeats = _repeated_rows(successes, trials, usable)
        if repeats:
            again = tuple(ids[i] for i, _ in repeats)
            pairs = [f"{ids[i]} = {ids[first]}" for i, first in repeats]
            sentence = f"{counted(len(again), noun)} with exactly the responses of an earlier one: {some(pairs)}."
            findings.append(Finding("note", f"duplicate_{'items' if axis == 0 else 'persons'}", sentence, again))
    return findings


def _repeated_rows(successes: CountArray, trials: CountArray, usable: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return each usable row that equals an earlier one, with the first of its kind."""
    first: dict[bytes, int] = {}
    repeats = []
    for i in np.flatnonzero(usable).tolist():
        earlier = first.setdefault(successes[i].tobytes() + trials[i].tobytes(), i)
        if earlier != i:
            repeats.append((i, earlier))
    return repeats


def _similar_ids(responses: Responses) -> list[Finding]:
    findings = []
    for noun, ids in (("item", responses.item_ids), (responses.person_label, responses.person_ids)):
        groups: dict[str, list[str]] = {}
        for text in ids:
            groups.setdefault(" ".join(text.casefold().split()), []).append(text)
        alike = tuple(text for group in groups.values() if len(group) > 1 for text in group)
        if alike:
            sentence = f"{counted(len(alike), noun)} whose ids differ by case or spaces alone: {some(alike)}."
            findings.append(Finding("warning", "similar_ids", sentence, alike))
    return findings


def _overlap(responses: Responses) -> list[Finding]:
    if responses.is_complete:
        return []
    label = responses.person_label
    findings = []
    n = components(responses).n
    if n > 1:
        sentence = f"The responses fall into {n} components; abilities in one cannot be compared with those in another."
        findings.append(Finding("warning", "disconnected", sentence, ()))
    found = coverage(responses)
    thin = _pick(responses.person_ids, (found.items_per_person > 0) & (found.linking_items < 2))
    if thin:
        sentence = f"{counted(len(thin), label)} with fewer than 2 items that others saw too: {some(thin)}."
        findings.append(Finding("warning", "thin_overlap", sentence, thin))
    return findings


def _trailing(responses: Responses) -> list[Finding]:
    """Flag runs improbable given the person's score and the items' difficulty (as the others show it).

    Given their sum, the successes inside the run have mean m and variance v_in v_out / (v_in + v_out) under a Rasch
    curve through the person's score; none at all is m / sqrt(variance) below it. A hard end of the test is no alarm.
    """
    runs = trailing_failures(responses)
    observed = np.count_nonzero(responses.trials, axis=1)
    k = responses.successes.sum(axis=1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = k * np.log1p(-runs / observed)
    candidates = np.flatnonzero((runs >= _MIN_TRAILING) & (k > 0) & (by_chance < np.log(_FALSE_ALARMS)))
    limit = float(-ndtri(_FALSE_ALARMS / responses.n_persons))
    totals = [m.sum(axis=0, dtype=np.float64) for m in (responses.successes, responses.trials)]
    flagged = [i for i in candidates.tolist() if _run_surprise(responses, i, int(runs[i]), totals) > limit]
    if not flagged:
        return []
    ids = tuple(responses.person_ids[i] for i in flagged)
    sentence = (
        f"{counted(len(ids), responses.person_label)} whose responses end in a long run of failures, in the order of "
        f"the items: {some([f'{responses.person_ids[i]} (the last {runs[i]})' for i in flagged])}. Were these items "
        "not reached, and stored as wrong? Then make the cells missing."
    )
    return [Finding("warning", "trailing_failures", sentence, ids)]


def _run_surprise(responses: Responses, i: int, run: int, totals: list[NDArray[np.float64]]) -> float:
    """Return how many standard deviations no success in the final run is below its expectation."""
    seen = np.flatnonzero(responses.trials[i])
    successes, trials = (m[i, seen].astype(np.float64) for m in (responses.successes, responses.trials))
    right, given = totals[0][seen] - successes, totals[1][seen] - trials
    logit = np.log((right + 0.5) / (given - right + 0.5))
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if trials @ expit(logit + middle) < successes.sum() else (low, middle)
    p = expit(logit + low)
    variance = trials * p * (1 - p)
    inside, outside = variance[-run:].sum(), variance[:-run].sum()
    spread = np.sqrt(inside * outside / (inside + outside)) if inside > 0 and outside > 0 else np.inf
    return float(trials[-run:] @ p[-run:] / spread)
