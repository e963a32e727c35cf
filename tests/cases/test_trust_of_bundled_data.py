"""Two data sets of opposite shape get opposite verdicts: few systems and many items, many persons and few items."""

from __future__ import annotations

import psychoeval as pe
from psychoeval.trust import assess


def test_swe_bench_verified_has_an_order_but_no_item_parameters() -> None:
    """35 systems, their abilities skewed; 110 of 500 items nobody ever solved."""
    found = assess(pe.load_dataset("swebench-verified"), replications=20)
    assert found.evidence.fit.label == "mml Rasch"
    assert {c.name: c.grade for c in found.claims} == {
        "ranking": "with care",
        "top": "not supported",
        "neighbors": "not supported",
        "pairs": "supported",
        "difficulties": "with care",
        "discriminations": "not supported",
        "removing_items": "not supported",
    }
    against = " ".join(r.words for r in found["ranking"].against)
    assert "Skewness of abilities: -1.10 for the EAP estimates" in against
    assert "95% interval -1.76 to -0.48" in against
    assert "4 of 35 systems (11%) have at most 5 items" in against
    assert "110 never right" in found.evidence.conditions["saturation"].words
    assert found.evidence.recovered("tau")[0] > 0.9
    assert "of 390 of 500 items" in found["difficulties"].statement
    told = " ".join(found.facts)
    pairs = found["pairs"].reasons[0].words
    assert pairs.startswith("For these items, 451 of 595 pairs are told apart; the chance that any of these is false")
    assert (
        "simple-average 1.00 (it cannot differ), additive 1.00 (it cannot differ), mml 2PL [hierarchical] 0.99" in told
    )
    assert "the average is no worse" in told


def test_lsat7_has_item_difficulties_but_no_order() -> None:
    """1000 persons on five items: 32 answer patterns cannot order a thousand persons."""
    found = assess(pe.load_dataset("lsat7"), replications=40)
    assert found.evidence.fit.label == "mml 2PL [hierarchical]"
    assert {c.name: c.grade for c in found.claims if c.name in ("ranking", "top", "neighbors", "pairs")} == {
        "ranking": "not supported",
        "top": "not supported",
        "neighbors": "not supported",
        "pairs": "not supported",
    }
    assert found["difficulties"].grade == "supported"
    assert "all 5 items" in found["difficulties"].statement
    # All that got the five items right are the best.
    assert "308 persons are tied for all 3 places" in found["top"].against[0].words
    assert found["removing_items"].grade == "with care"
    assert found.evidence.recovered("tau")[0] < 0.6
