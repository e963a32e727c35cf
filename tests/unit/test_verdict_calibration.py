"""How often claims are true: a small version of ``benchmarks/verdict_calibration.py``."""

from __future__ import annotations

import dataclasses

from benchmarks._interval_worlds import simulate
from benchmarks.verdict_calibration import judge, table, truths
from psychoeval.trust import assess


def test_supported_claims_are_true_and_refused_ones_mostly_not() -> None:
    rows = [r for seed in range(2) for j in (10, 200) for r in judge(100, j, False, seed, 5)]
    found = table(rows)
    supported = found.xs("supported", level="grade")
    assert supported["worlds"].sum() >= 4
    assert supported["true"].sum() >= supported["worlds"].sum() - 1
    refused = found.xs("not supported", level="grade")
    assert refused["true"].sum() <= 0.25 * refused["worlds"].sum()


def test_the_truth_of_a_claim_is_that_of_its_statement() -> None:
    world = simulate(30, 400, 0, slopes=False)
    found = assess(world.responses, replications=1, top=1)
    backwards = dataclasses.replace(world, theta=-world.theta)
    assert truths(found, world, 1)["ranking"]
    assert not truths(found, backwards, 1)["ranking"]
    assert not truths(found, backwards, 1)["top"]
