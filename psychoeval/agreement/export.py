"""Pairs as rows of tables and as plain JSON content."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from psychoeval.agreement.alignment import Transformation
from psychoeval.agreement.differences import Differences, TermComparison
from psychoeval.agreement.likelihood import LikelihoodComparison
from psychoeval.agreement.matching import Matched
from psychoeval.agreement.pair import PairComparison


def plain_number(value: Any) -> Any:
    """Return a number as JSON takes it: NaN becomes None, infinities ``"inf"`` and ``"-inf"``; the rest unchanged."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else ("inf" if value > 0 else "-inf")


def parameter_rows(pair: PairComparison) -> list[dict[str, Any]]:
    """Return one row for each parameter of a pair; see `Comparison.parameter_table`."""
    law = pair.alignment.second_onto_first
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "term": t.term,
            "n": t.aligned.n,
            "correlation": _or_nan(t.aligned.correlation),
            "mean_difference": t.aligned.mean,
            "largest_difference": t.aligned.largest,
            "rmsd": t.aligned.rmsd,
            "mean_in_errors": _or_nan(t.aligned.mean_in_errors),
            "largest_in_errors": _or_nan(t.aligned.largest_in_errors),
            "mean_in_monte_carlo": _or_nan(t.aligned.mean_in_monte_carlo),
            "largest_in_monte_carlo": _or_nan(t.aligned.largest_in_monte_carlo),
            "raw_mean_difference": t.raw.mean,
            "raw_largest_difference": t.raw.largest,
            "raw_rmsd": t.raw.rmsd,
            "error_ratio": _or_nan(t.error_ratio),
            "scale": law.scale,
            "shift": law.shift,
            "worst": t.worst[0].id if t.worst else "",
        }
        for t in pair.terms
    ]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def pair_content(pair: PairComparison) -> dict[str, Any]:
    """Return everything about a pair as plain content."""
    a = pair.alignment
    return {
        "first": pair.first,
        "second": pair.second,
        "verdict": pair.verdict,
        "reason": pair.reason,
        "kind": pair.kind,
        "notes": list(pair.notes),
        "priors_explain_it": None if pair.prior_effect is None else pair.prior_effect.explained,
        "likelihood": None if pair.likelihood is None else _likelihood(pair.likelihood),
        "alignment": {
            "first_to_common": _law(a.first),
            "second_to_common": _law(a.second),
            "estimated": _law(a.estimated),
            "estimated_what": a.freedom,
            "open_conventions": a.conventions,
            "turned": list(a.turned),
            "second_onto_first": _law(a.second_onto_first),
        },
        "terms": [_term(t) for t in pair.terms],
        "ranks": None
        if pair.ranks is None
        else {
            "n": pair.ranks.n,
            "kendall_tau_b": pair.ranks.kendall,
            "spearman": pair.ranks.spearman,
            "top": {str(k): v for k, v in pair.ranks.top.items()},
            "moved": [{"id": i, "first": x, "second": y} for i, x, y in pair.ranks.moved],
        },
        "persons": _ids(pair.persons),
        "items": _ids(pair.items),
    }


def _likelihood(given: LikelihoodComparison) -> dict[str, Any]:
    return {
        "reported": list(given.reported),
        "integrated": list(given.integrated),
        "misread": list(given.misread),
        "higher": given.higher,
        "lower": given.lower,
        "shortfall": given.shortfall,
        "share_of_origin_and_unit": given.frame_share,
        "unit": given.frame_unit,
        "cause": given.cause,
        "slope_ratio": given.slope_ratio,
        "words": given.words,
        "remedy": given.remedy,
    }


def _law(given: Transformation) -> dict[str, Any]:
    return {"scale": plain_number(given.scale), "shift": plain_number(given.shift)}


def _ids(given: Matched) -> dict[str, Any]:
    return {"common": given.n, "only_first": list(given.only_first), "only_second": list(given.only_second)}


def _numbers(given: Differences) -> dict[str, Any]:
    return {f.name: plain_number(getattr(given, f.name)) for f in fields(given)}


def _term(given: TermComparison) -> dict[str, Any]:
    return {
        "term": given.term,
        "raw": _numbers(given.raw),
        "aligned": _numbers(given.aligned),
        "worst": [{f.name: plain_number(getattr(w, f.name)) for f in fields(w)} for w in given.worst],
        "error_ratio": plain_number(given.error_ratio),
        "only_first": list(given.only_first),
        "only_second": list(given.only_second),
        "infinite_in_both": given.infinite_in_both,
        "infinite_in_one": list(given.infinite_in_one),
    }
