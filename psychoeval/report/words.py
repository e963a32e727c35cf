"""The sentences of the report: the opening paragraph and what to do about each fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from psychoeval.agreement.alignment import standardisation
from psychoeval.agreement.components import several
from psychoeval.fitting import FitFailure
from psychoeval.irt.parameters import Abilities
from psychoeval.plots import by_id
from psychoeval.plots.canvas import STATUS_WORDS
from psychoeval.plots.forest import interval_words
from psychoeval.report.numbers import name
from psychoeval.responses.connections import Connections
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

#: More labels than this are counted in the opening, not named.
MOST_NAMED: Final = 5
_MEANING: Final = {
    "converged": "The engine reached its own criterion, and every check of its answer passed.",
    "not_iterative": "A formula, computed once; nothing to converge.",
    "sampled": "Draws from a posterior; the sampler's own diagnostics apply.",
    "imported": "Another program's answer, taken as it is; nothing here has judged it.",
    "iteration_limit": "It stopped before it was done: what it returned is where it stood.",
    "interrupted": "It was interrupted: what it returned is where it stood.",
    "failed_check": "The engine was content with its answer, or gave it without one; a check of the answer was not.",
}


def listed(texts: Sequence[str]) -> str:
    """Return texts as a list in a sentence."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def grouped(failures: Sequence[FitFailure]) -> list[list[FitFailure]]:
    """Return failures in their order, those of one problem together."""
    groups: dict[tuple[str, str], list[FitFailure]] = {}
    for failure in failures:
        groups.setdefault((failure.problem, failure.remedy), []).append(failure)
    return list(groups.values())


def meaning(fit: FitResult) -> str:
    """Return what the status of a fit means."""
    return _MEANING[fit.convergence.status]


def advice(fit: FitResult) -> str:
    """Return what to do about a fit."""
    convergence = fit.convergence
    if convergence.status == "imported":
        return "It was not judged here: see what the comparison says, in sections 4 and 6."
    if convergence.believed:
        return "Read the notes before using it." if convergence.warnings else "Use it."
    if fit.model is not None and fit.model.has_free_slopes:
        return (
            "Do not use its numbers. Fit the Rasch model, or hold the item parameters with priors: "
            'priors="weak" (--priors weak).'
        )
    if convergence.status in ("iteration_limit", "interrupted"):
        return "Do not use its numbers yet. Allow more iterations (max_iterations), or hold the items with priors."
    return "Do not use its numbers. Do what the sentences say, and fit again."


def as_given(named: Sequence[tuple[str, FitResult]]) -> str:
    """Return which fits in logits could not be brought to latent SDs; "" if none."""
    labels = [
        n
        for n, f in named
        if (f.item_parameters is not None or (f.abilities is not None and f.abilities.scale == "logit"))
        and standardisation(f) is None
    ]
    return listed(labels) if labels else ""


def intervals(abilities: Abilities) -> str:
    """Return how the intervals of a fit's abilities are made."""
    return interval_words(abilities)


def opening(
    responses: Responses, names: Sequence[str], fits: Sequence[FitResult], n_failures: int = 0
) -> tuple[str, ...]:
    """Return the sentences with which the report begins: what was compared, on what, what to believe."""
    people = counted(responses.n_persons, responses.person_label)
    observed = (
        "every cell observed"
        if responses.is_complete
        else f"{responses.n_observed:,} of {responses.trials.size:,} cells observed"
    )
    asked = f"{len(fits) + n_failures} fits were asked for, {len(fits)} gave a result. " if n_failures else ""
    sentences = [
        f"{asked}This report sets {counted(len(fits), 'analysis', 'analyses')} of one data set side by side: "
        f"{name(responses.name)}, {people} on {counted(responses.n_items, 'item')}, {observed}.",
        *_beliefs(names, fits),
    ]
    first = _first_places(names, fits, responses.person_label)
    return tuple([*sentences, first] if first else sentences)


def _beliefs(names: Sequence[str], fits: Sequence[FitResult]) -> list[str]:
    pairs = list(zip(names, fits, strict=True))
    imported = [n for n, f in pairs if f.convergence.status == "imported"]
    good = [n for n, f in pairs if f.convergence.believed and n not in imported]
    bad = [n for n, f in pairs if not f.convergence.believed]
    noted = [n for n, f in pairs if n in good and f.convergence.warnings]
    distrust = f"{listed(bad)} may not be believed: shown hollow or grey, and counted for no agreement." if bad else ""
    foreign = [f"Taken from other programs as given, and not judged: {listed(imported)}."] if imported else []
    if not good:
        return [distrust if imported else "None of the results may be believed.", *foreign] if bad else foreign
    verb = (
        "may be believed as an answer of its method"
        if len(good) == 1
        else "may be believed as answers of their methods"
    )
    remark = f"; {_briefly(noted, 'of them')} with the notes in section 1" if noted else ""
    believed = f"{_briefly(good, 'of the results' if bad or imported else '')} {verb}{remark}."
    return [text for text in (believed, distrust, *foreign) if text]


def _briefly(labels: Sequence[str], whole: str = "") -> str:
    """Return labels as a list, or how many they are of what where they are too many to read."""
    if len(labels) <= MOST_NAMED:
        return listed(labels)
    return f"{len(labels)} {whole}" if whole else f"All {len(labels)}"


def cautions(
    responses: Responses, names: Sequence[str], fits: Sequence[FitResult], failures: Sequence[FitFailure]
) -> tuple[tuple[str, str], ...]:
    """Return what is not to be used and why, each with what to do, for fits not believed and fits without result."""
    out = []
    for label, fit in zip(names, fits, strict=True):
        if not fit.convergence.believed:
            size = fit.n_parameters
            crowded = fit.model is not None and fit.model.has_free_slopes and size and size > responses.n_persons
            because = (
                f" It estimates {size:,} parameters, and nothing holds them, from {responses.n_persons:,} "
                f"{responses.person_label}s." if crowded else ""
            )  # fmt: skip
            out.append((f"{label} {STATUS_WORDS[fit.convergence.status]}.{because}", advice(fit)))
    return tuple(
        [
            *out,
            *(
                (f"{listed([f.label for f in g])} gave no result: {g[0].problem}", g[0].remedy or "See the message.")
                for g in grouped(failures)
            ),
        ]
    )


def connection_cautions(found: Connections | None) -> tuple[tuple[str, str], ...]:
    """Return what keeps persons apart, or hangs by one item or person, each with what to do."""
    if found is None:
        return ()
    apart = [] if found.is_connected else [(found.problem, " ".join(found.remedies))]
    weak = [tuple(sentence.rsplit(". ", 1)) for sentence in found.weak if sentence.count(". ")]
    return (*apart, *((f"{what}.", todo) for what, todo in weak))


def _first_places(names: Sequence[str], fits: Sequence[FitResult], noun: str) -> str:
    """Say who comes first by the believed fits."""
    known = {id(f): n for n, f in zip(names, fits, strict=True) if f.abilities is not None and f.convergence.believed}
    scored = [f for f in fits if id(f) in known]
    if len(scored) < 2:
        return ""
    table = by_id.abilities(scored)
    if several(table.component):
        return f"The data fall into components that share no response, so no {noun} can be called the best over all."
    ranked = by_id.ranks(table)
    leaders: dict[tuple[str, ...], list[str]] = {}
    for k, fit in enumerate(table.fits):
        best = np.flatnonzero(ranked[:, k] == np.nanmin(ranked[:, k]))
        key = tuple(name(table.ids[i]) for i in best[:4]) if best.size <= 3 else (f"{best.size} {noun}s, tied,",)
        leaders.setdefault(key, []).append(known[id(fit)])
    if len(leaders) == 1:
        who = next(iter(leaders))
        return f"All believed results put {listed(who)} first."
    parts = [f"{listed(who)} by {listed(by)}" for who, by in leaders.items()]
    return f"The believed results differ on who comes first: {'; '.join(parts)}."
