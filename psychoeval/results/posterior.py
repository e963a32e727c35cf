"""From draws to estimates: posterior means and SDs in the places of all persons and items, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, ItemParameters, in_place
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status, person_status
from psychoeval.results.convergence import Convergence
from psychoeval.results.data_checks import disconnected_warning, factor_warning
from psychoeval.results.draws import ITEM_TERMS, PERSON_TERMS, Draws
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.identification import orient
from psychoeval.results.item_checks import judge_items
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import Sampling, diagnose

FloatArray = NDArray[np.float64]

#: Persons up to which the covariance of all abilities is kept: 32 MB.
MAX_COVARIANCE: Final = 2000


def posterior_result(
    estimator: str,
    model: ItemModel,
    responses: Responses,
    draws: Draws,
    convergence: Convergence,
    provenance: Provenance,
    *,
    failed: Mapping[int, str],
    warnings: Sequence[str] = (),
) -> FitResult:
    """Return the result that draws from a posterior give, judged by their diagnosis.

    Parameters
    ----------
    estimator : str
        Registry name.
    model : ItemModel
    responses : Responses
        N persons, J items: those without draws come back in place, without estimate and with their status.
    draws : Draws
        ``discrimination`` is left out where the model fixes it at 1, ``guessing`` where it is no parameter.
    convergence : Convergence
        ``sampled``; it becomes ``failed_check`` where the diagnosis says ``do not use``.
    provenance : Provenance
    failed : mapping of int to str
        Number of each chain that gave no draws, and why.
    warnings : sequence of str
        What else a user should know.

    Notes
    -----
    Chains that came out mirrored are turned where the model allows it (`psychoeval.results.identification.orient`,
    by proportions of success), and named. Estimates are posterior means, errors posterior SDs; difficulties follow from
    the means of slope and intercept, as everywhere here, and their own draws are in `FitResult.draws`. Chains that the
    diagnosis suspects of standing still, of being elsewhere or mirrored are not averaged with the others: the check
    fails, and says over which chains the means are.
    """
    draws, turned = orient(draws, _proportions(draws, responses))
    sampling = diagnose(draws)
    averaged = _averaged(draws, sampling)
    items = posterior_items(averaged, responses, model)
    chains = draws.n_chains + len(failed)
    lost = [f"Chain {number} of {chains} failed and is left out: {why}" for number, why in failed.items()]
    lost += [f"Chain {number} was mirrored, and is turned: abilities, slopes and difficulties." for number in turned]
    failures, found = _findings(sampling, items, responses, draws, model)
    if averaged is not draws:
        failures += (f"Estimates are means over {_chains(averaged)} alone: the others are not averaged with them.",)
    return FitResult(
        estimator,
        model,
        convergence.judged(failures, (*found, *lost, *warnings)),
        provenance,
        abilities=posterior_abilities(averaged, responses),
        item_parameters=items,
        latent_distribution=_latent(averaged),
        n_persons=len(draws.person_ids),
        statistics=_statistics(averaged),
        sampling=sampling,
        draws=draws,
    )


def _proportions(draws: Draws, responses: Responses) -> FloatArray:
    """Return the proportions of success of the persons that were sampled."""
    places = _places(draws.person_ids, responses.person_ids)
    trials = responses.trials[places].sum(axis=1, dtype=np.float64)
    return np.asarray(responses.successes[places].sum(axis=1) / np.maximum(trials, 1.0))


def _averaged(draws: Draws, sampling: Sampling) -> Draws:
    """Return the draws without the chains that are suspect; all of them where none would be left."""
    kept = [number for number in draws.chain_numbers if number not in sampling.suspect_chains]
    return draws.of_chains(kept) if 0 < len(kept) < draws.n_chains else draws


def _chains(draws: Draws) -> str:
    numbers = ", ".join(map(str, draws.chain_numbers))
    return f"chain{'s' * (draws.n_chains > 1)} {numbers}"


def posterior_items(draws: Draws, responses: Responses, model: ItemModel) -> ItemParameters:
    """Return posterior means of a, d and c with their covariances over the draws, all J items in place."""
    d = draws.pooled("intercept")
    fixed = float(model.guessing) if isinstance(model.guessing, (int, float)) else 0.0
    a = draws.pooled("discrimination") if "discrimination" in draws.values else np.ones(1)
    c = draws.pooled("guessing") if "guessing" in draws.values else np.full(1, fixed)
    means = [np.broadcast_to(values.mean(axis=0), d.shape[1:]) for values in (a, d, c)]
    places, n = _places(draws.item_ids, responses.item_ids), responses.n_items
    a_mean, d_mean, c_mean = (in_place(mean, places, n) for mean in means)
    blocks = in_place(_blocks([a, d, c], means), places, n)
    return ItemParameters(responses.item_ids, a_mean, d_mean, c_mean, blocks, item_status(responses))


def posterior_abilities(draws: Draws, responses: Responses) -> Abilities:
    """Return posterior means and SDs of the abilities, all N persons in place, with their covariance where N <= 2000.

    The SDs are over the draws of the items too: the items' uncertainty is in them. Persons with the same responses have
    the same posterior: their draws are taken together, so that they are tied, as they are for every other estimator.
    """
    theta, n = draws.pooled("ability"), responses.n_persons
    places = _places(draws.person_ids, responses.person_ids)
    alike = _alike(responses, places)
    mean, variance = theta.mean(axis=0), theta.var(axis=0, ddof=1)
    shared = _mean_of(alike, mean)
    spread = _mean_of(alike, variance + (mean - shared) ** 2)
    covariance = None
    if n <= MAX_COVARIANCE:
        covariance = np.full((n, n), np.nan)
        covariance[np.ix_(places, places)] = np.cov(theta, rowvar=False)
    return Abilities(
        responses.person_ids,
        in_place(shared, places, n),
        in_place(np.sqrt(spread), places, n),
        "EAP",
        uncertainty="items estimated",
        status=person_status(responses),
        covariance=covariance,
    )


def _alike(responses: Responses, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a number for each of the persons at `places`, the same for those with the same responses."""
    cells = np.concatenate([responses.successes[places], responses.trials[places]], axis=1)
    return np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)


def _mean_of(groups: NDArray[np.intp], values: FloatArray) -> FloatArray:
    """Return for each value the mean over its group."""
    means = np.bincount(groups, values) / np.bincount(groups)
    return np.asarray(means[groups])


def _places(some: tuple[str, ...], ids: tuple[str, ...]) -> NDArray[np.intp]:
    """Return where `some` of the ids stand among all."""
    place = {name: i for i, name in enumerate(ids)}
    return np.array([place[name] for name in some], dtype=np.intp)


def _blocks(values: Sequence[FloatArray], means: Sequence[FloatArray]) -> FloatArray:
    """Return the covariances (J, 3, 3) of (a, d, c) of each item over the draws; those of what is fixed are 0."""
    out = np.zeros((means[0].size, 3, 3))
    drawn = [k for k, v in enumerate(values) if v.ndim == 2]
    centered = {k: values[k] - means[k] for k in drawn}
    for i in drawn:
        for k in drawn:
            out[:, i, k] = np.einsum("dj,dj->j", centered[i], centered[k]) / (len(values[i]) - 1)
    return out


def _latent(draws: Draws) -> LatentDistribution:
    if "latent_sd" not in draws.values:
        return LatentDistribution()
    sd = draws.pooled("latent_sd")
    return LatentDistribution(sd=float(sd.mean()), sd_standard_error=float(sd.std(ddof=1)))


def _statistics(draws: Draws) -> dict[str, Any]:
    """Return posterior mean and SD of each parameter that is common to items or persons."""
    out: dict[str, Any] = {}
    for name in draws.values:
        if name not in (*ITEM_TERMS, *PERSON_TERMS):
            values = draws.pooled(name)
            out[name], out[f"{name}_posterior_sd"] = float(values.mean()), float(values.std(ddof=1))
    return out


def _findings(
    sampling: Sampling, items: ItemParameters, responses: Responses, draws: Draws, model: ItemModel
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return failures and warnings."""
    modeled = responses.select(
        _places(draws.person_ids, responses.person_ids), _places(draws.item_ids, responses.item_ids)
    )
    of_items = judge_items(items, f"{responses.person_label}s", penalised=True)
    unfit = sampling.grade == "do not use"
    failures = (*(sampling.reasons if unfit else ()), *of_items.failures)
    warnings = (
        *(() if unfit else sampling.reasons),
        *of_items.warnings,
        *factor_warning(modeled, "equal" if model.name in ("Rasch", "1PL") else "positive"),
        *disconnected_warning(modeled, "Only the priors link them"),
    )
    return failures, warnings
