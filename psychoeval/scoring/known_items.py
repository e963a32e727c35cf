"""Score persons under known items."""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError, SettingsError
from psychoeval.estimators.settings import check_flag, is_choice
from psychoeval.irt import scoring
from psychoeval.irt.parameters import Abilities, ItemParameters, PersonStatus
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_uncertainty import (
    Gradients,
    added_variance,
    added_variance_joint,
    mean_gradients,
    root_gradients,
)
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring.matched import Matched, histogram, match
from psychoeval.wording import some

FloatArray = NDArray[np.float64]
ScoringMethod = Literal["EAP", "MAP", "ML", "WLE"]

STANDARD_NORMAL: Final = LatentDistribution()
_KINDS: Final = {"a": 0, "d": 1, "c": 2}


def score(
    responses: Responses,
    items: ItemParameters,
    *,
    method: ScoringMethod = "EAP",
    latent: LatentDistribution = STANDARD_NORMAL,
    item_uncertainty: bool = False,
) -> Abilities:
    """Return abilities of persons, also of a single one, with the item parameters held fixed.

    Parameters
    ----------
    responses : Responses
        Counts and missing cells included. Items are matched by id.
    items : ItemParameters
        Known items: of a fit, or from `ItemParameters.from_difficulty`. Those that `responses` lacks were not
        administered; those without finite parameters take no part, with a warning that names them.
    method : {"EAP", "MAP", "ML", "WLE"}
        Posterior mean and SD; posterior mode with 1 / sqrt(I + 1 / sd^2); maximum likelihood and Warm's weighted
        likelihood with 1 / sqrt(I), I being Fisher's expected information of the test at the estimate.
    latent : LatentDistribution
        Distribution of the abilities for EAP and MAP: N(0, 1), or that of a fit (``fit.latent_distribution``). A
        histogram, for EAP only, has a density that is linear between its nodes.
    item_uncertainty : bool
        Whether standard errors also hold what the errors of the items add, by the delta method. With a joint
        covariance (`ItemParameters.joint_covariance`) the items' common origin and unit are in it; with blocks alone
        errors count as independent between items, which leaves these out.

    Returns
    -------
    Abilities
        Status ``ml_infinite`` where maximum likelihood is infinite (standard error inf); ``extreme_all_0`` and
        ``extreme_all_1``, ``no_responses`` (estimate NaN, whatever the method: nothing was seen of these persons).

    Raises
    ------
    DataError
        If items of the responses are unknown, or have no covariance that `item_uncertainty` asks for.
    SettingsError
        If the method or the latent distribution is none.

    Examples
    --------
    >>> items = ItemParameters.from_difficulty(["q1", "q2", "q3"], 1.0, [-1.0, 0.0, 1.0])
    >>> one = Responses.from_array([[1, 1, 0]], item_ids=["q1", "q2", "q3"])
    >>> score(one, items, method="WLE").estimate.round(3)
    array([0.638])
    """
    if not is_choice(method, get_args(ScoringMethod)):
        raise SettingsError(f"There is no scoring method {method!r}.", f"Choose among {some(get_args(ScoringMethod))}.")
    check_flag(item_uncertainty=item_uncertainty)
    law = histogram(latent)
    if method == "MAP" and law is not None:
        raise SettingsError("MAP scores need a normal latent distribution, not a histogram.", "Score by EAP.")
    found = match(responses, items)
    if item_uncertainty:
        _check_errors(found, items)
    x, n, k = found.responses.successes, found.responses.trials, found.items
    if method == "EAP":
        estimate, error = scoring.eap(x, n, k.a, k.d, k.c, mean=latent.mean, sd=latent.sd, law=law)
    elif method == "MAP":
        estimate, error = scoring.map_(x, n, k.a, k.d, k.c, mean=latent.mean, sd=latent.sd)
    else:
        estimate, error = {"ML": scoring.ml, "WLE": scoring.wle}[method](x, n, k.a, k.d, k.c)
    if item_uncertainty:
        error = np.sqrt(error**2 + _added(found, items, estimate, method, latent, law))
    status: tuple[PersonStatus, ...] = tuple(
        "ml_infinite" if infinite else s
        for infinite, s in zip(np.isinf(estimate).tolist(), person_status(found.responses), strict=True)
    )
    return Abilities(
        responses.person_ids,
        estimate,
        error,
        method=method,
        uncertainty="items sampled" if item_uncertainty else "items fixed",
        status=status,
    )


def _check_errors(found: Matched, items: ItemParameters) -> None:
    if items.covariance is None:
        raise DataError(
            f"The items have no covariance. {items.no_errors_because}".strip(),
            "Fit them with standard errors, or score with item_uncertainty=False.",
        )
    bad = np.asarray(~np.isfinite(items.covariance[found.index]).all(axis=(1, 2)), dtype=bool)
    if bad.any():
        names = [i for i, b in zip(found.responses.item_ids, bad, strict=True) if b]
        raise DataError(
            f"{len(names)} of {bad.size} items have no covariance: {some(names)}.",
            "Leave them out, or score with item_uncertainty=False.",
        )


def _added(
    found: Matched,
    items: ItemParameters,
    estimate: FloatArray,
    method: ScoringMethod,
    latent: LatentDistribution,
    law: Grid | None,
) -> FloatArray:
    """Return the variance that the items' errors add, (N,)."""
    x, n = found.responses.successes, found.responses.trials
    gradients: Gradients
    if method == "EAP":
        gradients = mean_gradients(x, n, found.items, mean=latent.mean, sd=latent.sd, law=law)
    else:
        precision = latent.sd**-2.0 if method == "MAP" else 0.0
        gradients = root_gradients(x, n, estimate, found.items, precision=precision)
    assert items.covariance is not None
    blocks = items.covariance[found.index]
    if items.joint_covariance is None:
        return added_variance(len(estimate), gradients, blocks)
    place = {name: i for i, name in enumerate(found.responses.item_ids)} | {"": -1}
    # The common slope of a Rasch model is its latent SD there, while the items' own slopes are 1 and have no variance.
    free = {term: bool((blocks[:, k, k] > 0).any()) for term, k in _KINDS.items()}
    used = np.array(
        [p for p, (name, term) in enumerate(items.joint_labels) if name in place and free[term]], dtype=np.intp
    )
    labels = [items.joint_labels[p] for p in used]
    kind = np.array([_KINDS[term] for _, term in labels], dtype=np.intp)
    item = np.array([place[name] for name, _ in labels], dtype=np.intp)
    return added_variance_joint(len(estimate), gradients, items.joint_covariance[np.ix_(used, used)], kind, item)
