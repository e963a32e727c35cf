"""What two log-likelihoods of one model and one data set say: who reached the maximum, and whose grid misreads it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.likelihood_evidence import Cause, LikelihoodEvidence
from psychoeval.agreement.likelihood_words import integrated_words, remedy_words, reported_words
from psychoeval.agreement.own_likelihood import Own
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.terms import Pair
from psychoeval.agreement.thresholds import NUMERICAL_ITEM
from psychoeval.results.fit_result import FitResult


@dataclass(frozen=True, slots=True)
class LikelihoodComparison:
    """The log-likelihoods of two fits that claim the same maximum.

    Parameters
    ----------
    reported : (first, second)
        By the fits.
    integrated : (first, second)
        At the fits' own parameters, on a grid that follows the posteriors; None where it could not be computed.
    higher, lower : str
        Names, by the integrated values, by the reported ones where one of those is not known; "" where the two are
        one maximum (`thresholds.LIKELIHOOD`).
    shortfall : float
        How far the one lies below the other; 0 or more.
    frame_share : float, optional
        Share of the shortfall that a change of origin and unit alone makes up, all curves of `lower` held.
    frame_unit : float, optional
        How much more widely the abilities of `lower` spread than it takes them to.
    cause : {"", "stopped early", "grid", "stopped early or grid"}
        Why `lower` is short of the maximum: it would still rise, or it stands on a maximum that only its grid has.
    slope_ratio : float, optional
        Median slope of the first over the second, in the frame of N(0, 1).
    words : str
        What this means; "" where there is nothing to mend.
    remedy : str
        What to do.
    """

    reported: tuple[float, float]
    integrated: tuple[float | None, float | None]
    higher: str
    lower: str
    shortfall: float
    frame_share: float | None
    frame_unit: float | None
    cause: Cause
    slope_ratio: float | None
    words: str
    remedy: str

    @property
    def misread(self) -> tuple[float | None, float | None]:
        """Reported minus integrated, of each."""
        one, two = (None if x is None else r - x for r, x in zip(self.reported, self.integrated, strict=True))
        return one, two

    @property
    def advice(self) -> str:
        """Words and remedy in one."""
        return f"{self.words} What to do: {self.remedy}" if self.remedy else self.words


def compare_likelihoods(
    names: tuple[str, str], fits: Pair, relation: Relation, terms: tuple[TermComparison, ...], own: Own
) -> LikelihoodComparison | None:
    """Compare the log-likelihoods of two fits that claim one maximum of a marginal likelihood; None if they do not.

    Unpenalized marginal fits of the same model, items and data only: at any other point the higher log-likelihood
    need not be nearer the answer.

    Parameters
    ----------
    names, fits : (first, second)
    relation : Relation
    terms : tuple of TermComparison
        Item parameters on one scale.
    own : callable
        `own_likelihood` of a fit on the responses.
    """
    if not _claim_one_maximum(fits, relation):
        return None
    at = LikelihoodEvidence(names, fits, (_reported(fits[0]), _reported(fits[1])), (own(fits[0]), own(fits[1])))
    ratios = at.ratios(0, 1)
    return LikelihoodComparison(
        at.reported,
        (at.integrated(0), at.integrated(1)),
        names[at.high] if at.is_apart else "",
        names[at.low] if at.is_apart else "",
        at.shortfall,
        None if at.frame is None else at.frame_gain / at.shortfall,
        None if at.frame is None else at.frame.sd,
        at.cause,
        float(np.median(ratios)) if ratios.size else None,
        integrated_words(at) if at.is_known else reported_words(at, same_items=_same_items(terms)),
        remedy_words(at),
    )


def _claim_one_maximum(fits: Pair, relation: Relation) -> bool:
    first, second = fits
    digests = (first.provenance.data_sha256, second.provenance.data_sha256)
    return (
        first.log_likelihood_kind == second.log_likelihood_kind == "marginal"
        and not relation.differences
        and (not all(digests) or digests[0] == digests[1])
        and all(f.model is not None and not f.model.is_penalised and _has_normal_law(f) for f in fits)
        and all(f.log_likelihood is not None and math.isfinite(f.log_likelihood) for f in fits)
        and _estimated(first) == _estimated(second)
    )


def _has_normal_law(fit: FitResult) -> bool:
    return fit.latent_distribution is None or fit.latent_distribution.nodes is None


def _estimated(fit: FitResult) -> set[str]:
    items = fit.item_parameters
    return set() if items is None else {i for i, k in zip(items.item_ids, items.estimated, strict=True) if k}


def _reported(fit: FitResult) -> float:
    assert fit.log_likelihood is not None
    return fit.log_likelihood


def _same_items(terms: tuple[TermComparison, ...]) -> bool:
    largest = [abs(t.aligned.largest) for t in terms if t.term in ("discrimination", "intercept") and t.aligned.n]
    return bool(largest) and max(largest) <= NUMERICAL_ITEM.value
