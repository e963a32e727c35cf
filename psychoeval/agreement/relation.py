"""What two fits have in common before any number is looked at: objective, model, data."""

from __future__ import annotations

from dataclasses import dataclass

from psychoeval.agreement.thresholds import SIMULATED_KINDS, PairKind
from psychoeval.irt.models import ItemModel
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class Relation:
    """How two fits are related.

    Parameters
    ----------
    kind : str
        Which limits apply (`thresholds.LIMITS`).
    differences : mapping of name to words
        Named differences, ``model``, ``priors``, ``latent distribution``, ``data``: fits that differ so answer
        different questions, and never simply disagree.
    same_items : bool
        Whether both have the same kind of item parameters, so that these decide as well.
    other_scoring : str
        "" or how the abilities were scored, where it differs (``EAP against ML``).
    """

    kind: PairKind
    differences: dict[str, str]
    same_items: bool
    other_scoring: str = ""


def relate(first: FitResult, second: FitResult) -> Relation:
    """Say how two fits are related."""
    differences: dict[str, str] = {}
    one, two = first.model, second.model
    if one is not None and two is not None:
        if not _same_form(one, two):
            differences["model"] = f"different model: {one.label} against {two.label}"
        elif (one.priors, one.guessing) != (two.priors, two.guessing):
            labels = f"{_with_population(first, one)} against {_with_population(second, two)}"
            differences["priors"] = f"different priors, so a different model: {labels}"
    if None not in (laws := (_law(first), _law(second))) and laws[0] != laws[1]:
        differences["latent distribution"] = f"different latent distributions: {laws[0]} against {laws[1]}"
    if _other_data(first, second):
        differences["data"] = "fitted to different data"
    kind = _kind(first, second)
    if differences.keys() & {"priors", "latent distribution"} and kind in ("same likelihood", *SIMULATED_KINDS):
        kind = "objective"
    if not differences and one is not None and two is not None and _family(first) == _family(second) == "posterior":
        kind = "same posterior"
    return Relation(kind, differences, "model" not in differences, _other_scoring(first, second))


def _law(fit: FitResult) -> str | None:
    """Name the latent distribution of a fit, None where it has none."""
    law = fit.latent_distribution
    return None if law is None else "normal" if law.nodes is None else "empirical"


def _with_population(fit: FitResult, model: ItemModel) -> str:
    """Return the label of a model, with the prior that is none: items drawn from a population that was estimated."""
    population = fit.log_likelihood_kind == "item_marginal" and model.priors is None
    return f"{model.label} with a population of items" if population else model.label


def _same_form(one: ItemModel, two: ItemModel) -> bool:
    """Whether two models are one but for priors; Rasch and 1PL are one in the standard frame, without priors."""
    if one.name == two.name:
        return True
    return {one.name, two.name} == {"Rasch", "1PL"} and one.priors is None and two.priors is None


def _family(fit: FitResult) -> str:
    if is_proportion(fit):
        return "proportion"
    if fit.convergence.status == "sampled":
        return "posterior"
    return fit.log_likelihood_kind or "unknown"


def is_proportion(fit: FitResult) -> bool:
    """Whether a fit's persons are on the proportion scale."""
    return fit.abilities is not None and fit.abilities.scale == "proportion"


def _kind(first: FitResult, second: FitResult) -> PairKind:
    families = {_family(first), _family(second)}
    of_any: tuple[PairKind, ...] = ("proportion", "posterior", "unknown")
    for family in of_any:
        if family in families:
            return family
    if families == {"simulated"}:
        return "both simulated"
    if families <= {"marginal", "simulated"}:
        return "simulated" if "simulated" in families else "same likelihood"
    # Stochastic optima of a bound differ from run to run.
    return "same likelihood" if len(families) == 1 and "elbo" not in families else "objective"


def _other_data(first: FitResult, second: FitResult) -> bool:
    """Whether the data differ for certain: digests differ, and so do the ids (else the order may be all)."""
    digests = (first.provenance.data_sha256, second.provenance.data_sha256)
    if not all(digests) or digests[0] == digests[1]:
        return False
    pairs = zip(ids(first), ids(second), strict=True)
    return any(a is not None and b is not None and set(a) != set(b) for a, b in pairs)


def ids(fit: FitResult) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return person and item ids of a fit, None where it has none."""
    items = fit.item_parameters.item_ids if fit.item_parameters is not None else None
    if items is None and fit.item_statistics is not None:
        items = fit.item_statistics.item_ids
    return None if fit.abilities is None else fit.abilities.person_ids, items


def _other_scoring(first: FitResult, second: FitResult) -> str:
    one, two = first.abilities, second.abilities
    if one is None or two is None or "proportion" in (one.scale, two.scale) or "imported" in (one.method, two.method):
        return ""
    if one.method == two.method:
        return ""
    return f"{one.method} against {two.method}"
