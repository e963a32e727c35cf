"""How the benchmark judges its targets, on runs made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.native.growth import exponent, panels
from benchmarks.native.runs import Run
from benchmarks.native.table import note, size_lines, summary
from benchmarks.native.targets import judge


def a_run(program: str, size: str, seed: int = 0, **values: float) -> Run:
    return Run(program, size, seed, values, {"status": "converged"})


def verdicts(runs: dict[str, list[Run]], start: str) -> list[str]:
    return [line[:8].strip() for line in judge(runs) if line[9:].startswith(start)]


def test_time_is_the_median_over_seeds() -> None:
    runs = [a_run("mml", "100x1000", seed, cpu=cpu) for seed, cpu in enumerate((0.05, 0.055, 0.9))]
    assert summary(runs, "cpu") == 0.055
    assert verdicts({"100x1000": runs}, "100x1000 CPU s") == ["met"]
    assert verdicts({"100x1000": [a_run("mml", "100x1000", cpu=0.07)]}, "100x1000 CPU s") == ["NOT MET"]
    assert verdicts({}, "100x1000 CPU s") == ["not run"]


def test_memory_is_judged_above_the_data() -> None:
    data_mb = 6000 * 28000 / 1024**2
    for above, verdict in ((470.0, "met"), (480.0, "NOT MET")):  # .5 GB are 476.8 MiB
        for program in ("mml", "map"):
            runs = {"6000x28000": [a_run(program, "6000x28000", peak_mb=data_mb + above)]}
            assert verdicts(runs, f"6000x28000 peak MiB of {program}") == [verdict]


@pytest.mark.parametrize(("values", "verdict"), [((0.90, 0.95), "met"), ((0.90, 0.902), "NOT MET")])
def test_coverage_is_met_when_its_interval_meets_the_range(values: tuple[float, ...], verdict: str) -> None:
    runs = [a_run("mml", "100x1000", seed, cover_theta=value) for seed, value in enumerate(values)]
    assert verdicts({"100x1000": runs}, "95 % intervals of abilities") == [verdict]


def test_small_and_selected_data_are_not_judged() -> None:
    bad = {
        size: [a_run("mml", size, cover_theta=0.5, cover_a=0.5, slope_ratio=0.5)]
        for size in ("30x100", "200x1000-missing")
    }
    assert verdicts(bad, "median slope ratio") == ["not run"]
    assert verdicts(bad, "95 % intervals of abilities") == ["not run"]
    few = {"100x1000": [a_run("mml", "100x1000", cover_a=0.5)]}
    assert verdicts(few, "95 % intervals of item a") == ["not run"]


def test_slopes_out_of_range_are_told_with_those_of_known_abilities() -> None:
    runs = [a_run("mml", "100x1000", seed, slope_ratio=1.04, known_slope_ratio=1.035) for seed in range(2)]
    line = next(line for line in judge({"100x1000": runs}) if "median slope ratio" in line)
    assert line.startswith("NOT MET")
    assert "1.035 is the ratio at 100x1000 by maximum likelihood with the true abilities given" in line
    runs = [a_run("mml", "100x1000", seed, slope_ratio=1.02, known_slope_ratio=1.035) for seed in range(2)]
    assert "true abilities" not in "".join(judge({"100x1000": runs}))


def test_seconds_beyond_their_bound_are_told_with_what_else_ran() -> None:
    runs = {"100x1000": [a_run("mml", "100x1000", cpu=0.07)], "1000x1000": [a_run("mml", "1000x1000", cpu=0.1)]}
    slow, fast = judge(runs, busy="Other processes ran.")[:2]
    assert slow.endswith("0.07. Other processes ran.")
    assert fast.endswith("0.1")


def test_loss_is_compared_on_common_seeds() -> None:
    ours = [a_run("mml", "100x1000", seed, loss=loss) for seed, loss in enumerate((8.0, 20.0))]
    runs = {"100x1000": [*ours, a_run("r-mirt", "100x1000", 0, loss=9.0), a_run("vi", "100x1000", 0, loss=1.0)]}
    assert verdicts(runs, "expected loss") == ["met"]
    runs["100x1000"].append(a_run("tam", "100x1000", 0, loss=7.0))
    assert verdicts(runs, "expected loss") == ["NOT MET"]


def test_a_run_without_figures_is_told() -> None:
    stopped = Run("r-mirt", "1000x5000", 0, problem="Stopped at the limit of 300 s.")
    nan = Run("r-mirt-fine", "1000x5000", 0, {"cpu": 1.0}, {"status": "converged", "log_likelihood": None})
    text = "\n".join(size_lines("1000x5000", [stopped, nan]))
    assert "Stopped at the limit of 300 s." in text
    assert note([nan]) == "says log-likelihood NaN"


def test_exponents() -> None:
    sizes = np.array([100.0, 200.0, 800.0])
    assert exponent(sizes, 3e-5 * sizes**1.7) == pytest.approx(1.7)
    by_n, by_j, cells = panels([(500, 1000, 1.0), (1000, 1000, 2.0), (1000, 250, 0.5)]).values()
    assert by_n == ([500, 1000], [1.0, 2.0])
    assert by_j == ([1000, 250], [2.0, 0.5])
    assert cells[0] == [500_000, 1_000_000, 250_000]
