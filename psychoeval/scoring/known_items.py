"""Score persons under known items."""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np

from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import check_flag, is_choice
from psychoeval.irt import scoring
from psychoeval.irt.parameters import Abilities, ItemParameters, PersonStatus
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import person_status
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring.item_errors import ability_gradients, carried_variance, check_errors
from psychoeval.scoring.matched import histogram, match
from psychoeval.wording import some

ScoringMethod = Literal["EAP", "MAP", "ML", "WLE"]

STANDARD_NORMAL: Final = LatentDistribution()


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
        check_errors(items, found.index)
    x, n, k = found.responses.successes, found.responses.trials, found.items
    if method == "EAP":
        estimate, error = scoring.eap(x, n, k.a, k.d, k.c, mean=latent.mean, sd=latent.sd, law=law)
    elif method == "MAP":
        estimate, error = scoring.map_(x, n, k.a, k.d, k.c, mean=latent.mean, sd=latent.sd)
    else:
        estimate, error = {"ML": scoring.ml, "WLE": scoring.wle}[method](x, n, k.a, k.d, k.c)
    if item_uncertainty:
        gradients = ability_gradients(found, estimate, method, latent, law)
        error = np.sqrt(error**2 + carried_variance(estimate.size, gradients, items, found.index))
    status: tuple[PersonStatus, ...] = tuple(
        "ml_infinite" if infinite else s
        for infinite, s in zip(np.isinf(estimate).tolist(), person_status(found.responses), strict=True)
    )
    return Abilities(
        responses.person_ids,
        estimate,
        error,
        method=method,
        uncertainty="items estimated" if item_uncertainty else "items fixed",
        status=status,
    )
