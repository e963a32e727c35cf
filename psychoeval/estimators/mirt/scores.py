"""From mirt's scores to abilities: direction, infinite estimates, persons in place."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychoeval.estimators.mirt.contract import Answer
from psychoeval.estimators.mirt.design import Design
from psychoeval.irt.curves import log_probabilities, node_log_likelihood
from psychoeval.irt.parameters import Abilities, AbilityMethod, ItemParameters

FloatArray = NDArray[np.float64]

#: As good as infinite: a times it exceeds every logit, and sums over items and trials stay finite.
_FAR = 1e200


def orient(answer: Answer, design: Design) -> tuple[Answer, bool]:
    """Return the answer turned so that more ability means more success, and whether it had to be turned.

    The likelihood is the same for (a, theta) and (-a, -theta). Rule: the correlation of the finite abilities with
    the observed proportions of success is not negative; without abilities, the mean slope is not.
    """
    modeled = design.modeled
    proportion = modeled.successes.sum(axis=1, dtype=np.float64) / modeled.trials.sum(axis=1, dtype=np.float64)
    finite = np.isfinite(answer.ability)
    if finite.sum() > 1:
        theta = answer.ability[finite]
        turned = float((theta - theta.mean()) @ (proportion[finite] - proportion[finite].mean())) < 0
    else:
        turned = bool(np.nanmean(answer.items.discrimination) < 0)
    if not turned:
        return answer, False
    start = None if answer.start_slopes is None else -answer.start_slopes
    return dataclasses.replace(answer, items=_turned(answer.items), ability=-answer.ability, start_slopes=start), True


def _turned(items: ItemParameters) -> ItemParameters:
    covariance, joint = items.covariance, items.joint_covariance
    if covariance is not None:
        sign = np.array([-1.0, 1.0, 1.0])
        covariance = covariance * sign[:, None] * sign
    if joint is not None:
        sign = np.array([-1.0 if kind == "a" else 1.0 for _, kind in items.joint_labels])
        joint = joint * sign[:, None] * sign
    return dataclasses.replace(
        items, discrimination=-items.discrimination, covariance=covariance, joint_covariance=joint
    )


def make_abilities(answer: Answer, design: Design, method: AbilityMethod) -> tuple[Abilities, tuple[str, ...]]:
    """Return the abilities of all persons, in place, and what a user should know about them."""
    status = np.array(design.person_status, dtype=object)
    estimate, error = answer.ability.copy(), answer.ability_error.copy()
    remarks: list[str] = []
    people = f"{design.responses.person_label}s"
    if method == "ML":
        estimate, error, wrong = place_infinite(estimate, error, answer.items, design)
        status[design.persons[np.isinf(estimate)]] = "ml_infinite"
        if wrong:
            remarks.append(
                f"mirt calls the ML ability of {wrong} {people} infinite although it is finite (slopes of both signs); "
                "they are left without a number. Score by EAP, MAP or WLE."
            )
    lost = int(np.isnan(estimate).sum())
    if lost:
        remarks.append(f"mirt gave no {method} ability for {lost} of {len(estimate)} {people}.")
    n = design.responses.n_persons
    full: dict[str, Any] = {}
    for name, values in (("estimate", estimate), ("standard_error", error)):
        full[name] = np.full(n, np.nan)
        full[name][design.persons] = values
    unseen = int(np.count_nonzero(design.responses.trials.any(axis=1))) - len(design.persons)
    if unseen > 0:
        remarks.append(
            f"{unseen} {people} have responses only on constant items; that says nothing about their ability, and they "
            "have none."
        )
    return Abilities(design.responses.person_ids, **full, method=method, status=tuple(status)), tuple(remarks)


def place_infinite(
    estimate: FloatArray, error: FloatArray, items: ItemParameters, design: Design
) -> tuple[FloatArray, FloatArray, int]:
    """Put maximum likelihood estimates to +-inf where the likelihood is largest in that limit.

    mirt calls those infinite who have all right or all wrong. With guessing the limit at -inf can exceed every
    interior maximum for a mixed pattern, and with slopes of both signs all right can have a finite maximum.

    Returns
    -------
    estimate, error : arrays
        An infinite estimate has an infinite error. NaN where mirt says infinite and neither limit is a maximum.
    wrong : int
        How many those are.
    """
    modeled = design.modeled
    a, d, c = (v[design.items] for v in (items.discrimination, items.intercept, items.guessing))
    if not (np.isfinite(a) & np.isfinite(d) & np.isfinite(c)).all():
        return estimate, error, 0
    successes, trials = modeled.successes.astype(np.float64), modeled.trials.astype(np.float64)
    finite = np.isfinite(estimate)
    success, failure = log_probabilities(np.where(finite, estimate, 0.0), a, d, c)
    inside = (successes * success + (trials - successes) * failure).sum(axis=1)
    limits = node_log_likelihood(successes, trials, [-_FAR, _FAR], a, d, c)
    highest = limits.max(axis=1)
    possible = highest > -np.sqrt(_FAR)
    infinite = ~np.isnan(estimate) & possible & (~finite | (highest >= inside))
    wrong = np.isinf(estimate) & ~possible
    signs = np.where(limits[:, 1] >= limits[:, 0], 1.0, -1.0)
    estimate = np.where(infinite, signs * np.inf, np.where(wrong, np.nan, estimate))
    error = np.where(infinite, np.inf, np.where(wrong, np.nan, error))
    return estimate, error, int(wrong.sum())
