"""The worlds and truths of ``benchmarks/verdict_calibration.py``, and a small version of it."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from benchmarks._verdict_truth import judged, stated_discordance, weak_share
from benchmarks._verdict_worlds import Design, VerdictWorld, draw, nearest_curves
from benchmarks.verdict_calibration import WORLDS, judge, long_form, main, table
from psychoeval.trust import Assessment, assess
from psychoeval.trust.verdict import claims


@functools.cache
def many_items() -> tuple[VerdictWorld, Assessment]:
    world = draw(Design(30, 400), 0)
    return world, assess(world.responses, replications=1, top=1)


def truths(world: VerdictWorld) -> dict[str, bool | None]:
    found = many_items()[1]
    top = next(c for c in claims(found.evidence, 3) if c.name == "top")
    return {one.claim: one.true for one in judged(found, world, {3: top})}


def test_the_truth_of_a_claim_is_that_of_its_statement() -> None:
    world, found = many_items()
    right = truths(world)
    assert right["ranking, tau .80"]
    assert right["pairs told apart, items like these"]
    assert right["pairs"]
    assert right["difficulties, r .90"]
    assert right["discriminations"] is None  # a Rasch fit says nothing of them
    assert right["removing items"] is None
    backwards = truths(dataclasses.replace(world, expected=-world.expected, on_these=-world.on_these, b=-world.b))
    false = ("ranking, as stated", "ranking, tau .80", "neighbors", "top 3", "pairs told apart, these items",
             "pairs told apart, items like these", "pairs", "difficulties", "difficulties, r .90")  # fmt: skip
    assert [backwards[claim] for claim in false] == [False] * len(false)
    assert found.evidence.fit.abilities is not None
    estimate = found.evidence.fit.abilities.estimate
    assert all(truths(dataclasses.replace(world, expected=estimate))[c] for c in ("top 3", "ranking, as stated"))
    moved = truths(dataclasses.replace(world, b=world.b + 1))  # r is as it was; the intervals do not hold
    assert (moved["difficulties"], moved["difficulties, r .90"]) == (False, True)


def test_the_share_of_pairs_is_read_from_the_statement() -> None:
    words = "The order of all systems is right but for about 5.2% of the pairs, at the limit of a single data set 12%."
    assert stated_discordance(words) == 0.12
    assert stated_discordance("right but for about 1e+02% of the pairs.") == 1
    assert stated_discordance("The order of all systems is known.") == pytest.approx(0.1)
    statement = many_items()[1]["ranking"].statement
    assert 0 < stated_discordance(statement) < 0.2


def test_the_items_flagged_are_the_tenth_with_the_lowest_values() -> None:
    true = np.arange(30.0)
    printed = true.copy()
    assert weak_share(printed, np.ones(30, bool), true) == 1
    printed[[0, 29]] = printed[[29, 0]]
    assert weak_share(printed, np.ones(30, bool), true) == pytest.approx(2 / 3)
    assert weak_share(printed, true < 29, true) == 1


@pytest.mark.parametrize(("c", "noise", "along"), [(0.0, 0.0, 1.0), (0.25, 0.0, 1.0), (0.0, 2.0, 1.0), (0.1, 0.5, 0.9)])
def test_the_nearest_curve_is_that_of_a_general_optimizer(c: float, noise: float, along: float) -> None:
    a, b = np.array([1.3, 0.6]), np.array([-1.5, 2.5])
    found = nearest_curves(a * along, -a * b, np.full(2, c), np.full(2, noise))
    t, e = np.linspace(-7, 7, 281), np.linspace(-8, 8, 801)
    for j in range(2):
        logits = a[j] * along * t - a[j] * b[j]
        p = c + (1 - c) * np.trapezoid(expit(logits[:, None] + noise * e) * norm.pdf(e), e, axis=1)
        weight = norm.pdf(t)

        def divergence(x: np.ndarray, p: np.ndarray = p, w: np.ndarray = weight) -> float:
            logits = x[0] * t + x[1]
            return float(w @ (np.logaddexp(0, logits) - p * logits))

        expected = minimize(divergence, [1.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
        np.testing.assert_allclose(found[:, j], expected, atol=1e-4)
    if c == noise == 0:
        np.testing.assert_allclose(found, [a, -a * b], atol=1e-10)


def test_each_world_breaks_what_it_says() -> None:
    worlds = {name: draw(design, 1) for name, design in WORLDS.items() if "300" in name or "1000" in name}
    for name, design in WORLDS.items():
        if name in worlds:
            run = worlds[name].responses.trials > 0
            assert 1 - run.mean() == pytest.approx(design.missing, abs=0.01)
    assert worlds["two abilities 100 x 300"].a.mean() < 0.95 * worlds["normal 100 x 300"].a.mean()
    # Shared knowledge beside the ability: family means of an item vary more than chance and ability explain.
    spread = {}
    for name in ("relatives 120 x 300", "clones 120 x 300"):
        world = worlds[name]
        x = world.responses.successes
        rest = x - x.mean(axis=0) - (x.mean(axis=1) - x.mean())[:, None]
        spread[name] = rest.reshape(10, 12, -1).mean(axis=0).var() / (rest.var() / 10)
    assert 2 < spread["relatives 120 x 300"] < spread["clones 120 x 300"]
    # By ability: what is run is easier for each system than what is not.
    world = worlds["by ability 0.5 missing 100 x 300"]
    run = world.responses.trials > 0
    low = np.argsort(world.expected)[:30]
    assert np.mean(world.b[np.nonzero(run[low])[1]]) < np.mean(world.b[np.nonzero(~run[low])[1]]) - 0.5


def test_supported_claims_are_true_and_refused_ones_mostly_not() -> None:
    """A small version of the benchmark."""
    rows = [judge(Design(100, j), seed=1) for j in (10, 40)]
    found = table(long_form("normal", rows))
    beside = [claim for claim in found.index.get_level_values("claim") if claim.endswith((".90", "as stated"))]
    found = found.drop(index=beside)  # others are true where their statement is, whose grades ask for as much
    supported = found.xs("supported", level="grade")
    assert supported["worlds"].sum() >= 2
    assert (supported["true"] == supported["worlds"]).all()
    refused = found.xs("not supported", level="grade")
    assert refused["true"].sum() < 0.5 * refused["worlds"].sum()


def test_worlds_are_kept_and_not_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--worlds", "normal 30 x 20", "--small", "--keep", str(tmp_path / "rows.jsonl")]
    main(options)
    first, kept = capsys.readouterr().out, (tmp_path / "rows.jsonl").read_bytes()
    assert "ranking, as stated" in first
    main(options)
    assert capsys.readouterr().out == first
    assert (tmp_path / "rows.jsonl").read_bytes() == kept
    with pytest.raises(SystemExit):
        main(["--worlds", "flat", "--keep", str(tmp_path / "rows.jsonl")])
    assert "none has such a name" in capsys.readouterr().err
