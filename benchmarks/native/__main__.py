"""Compare marginal-likelihood programs: python -m benchmarks.native [options]; see --help.

Without options: mml on five seeds a size (one at 6000x28000), and R mirt, at its default and with 241 nodes and 5,000
cycles, on one seed of the sizes it can be waited for (others with --sizes and --limit). Every run has a child process
of its own, one thread and a time limit. Writes out/bench-native.json and out/bench-native-growth-*.png.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Callable, Collection

from benchmarks.native import growth
from benchmarks.native.blas import share_of_peak
from benchmarks.native.data import SIZES, simulate
from benchmarks.native.environments import ROOT, NotThere
from benchmarks.native.programs import PROGRAMS, Program
from benchmarks.native.runs import Run, run
from benchmarks.native.table import LEGEND, size_lines
from benchmarks.native.targets import LARGE, judge

OUT = ROOT / "out"
#: Sizes at which a peer runs unless --sizes names others: with 241 nodes R mirt takes more than 5 minutes at 1000x1000.
QUICK = {
    "r-mirt": ("30x100", "100x1000", "1000x1000", "1000x5000"),
    "r-mirt-fine": ("100x1000",),
}
CORES_AT_LARGE = 2
#: Of which cost growth is measured, where they run.
GROWING = ("mml", "map")


def main() -> None:
    options = _options()
    began = time.monotonic()
    runs: dict[str, list[Run]] = {}
    options.peers = [key for key in options.peers if _is_there(PROGRAMS[key])]
    print(LEGEND, flush=True)
    for size in options.sizes or SIZES:
        found = _size(size, options)
        runs[size] = found
        print("\n" + "\n".join(size_lines(size, found)), flush=True)
    print("\nTargets, mml:")
    print("\n".join(judge(runs, busy=_busy())))
    if options.growth:
        for key in GROWING:
            if key in options.peers:
                _growth(PROGRAMS[key], options.limit)
        print("\n" + share_of_peak(PROGRAMS["mml"], options.limit))
    OUT.mkdir(exist_ok=True)
    (OUT / "bench-native.json").write_text(
        json.dumps([dataclasses.asdict(r) for rs in runs.values() for r in rs], indent=1)
    )
    print(f"\n{time.monotonic() - began:.0f} s in all; every run is in out/bench-native.json")


def _busy() -> str:
    """Return what else ran, if more than our one process at a time did over the last quarter of an hour; else ""."""
    load, cores = os.getloadavg()[2], os.cpu_count() or 1
    if load < cores:
        return ""
    return (
        f"Other processes ran beside it (a load of {load:.1f} on {cores} cores): they share caches and memory, and CPU "
        "seconds grow with them; run again on an idle machine"
    )


def _growth(program: Program, limit: float) -> None:
    path = OUT / f"bench-native-growth-{program.key}.png"
    sentences = growth.draw(growth.measure(program, limit), program.label, path)
    print(f"\n{program.label}:\n" + "\n".join(sentences) + f"\nPicture: {path.relative_to(ROOT)}", flush=True)


def _is_there(program: Program) -> bool:
    try:
        program.command()
    except NotThere as missing:
        print(f"{program.label} is left out. {missing}", flush=True)
        return False
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.native", description=str(__doc__).splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="of our programs; 1 at 6000x28000 (default 5)")
    parser.add_argument("--peer-seeds", type=int, default=1, help="of the other programs (default 1)")
    parser.add_argument("--sizes", type=_names(SIZES), help=f"comma-separated, of {', '.join(SIZES)}")
    parser.add_argument(
        "--peers",
        type=_names(PROGRAMS),
        default=["mml", "r-mirt", "r-mirt-fine"],
        help=f"programs, comma-separated, of {', '.join(PROGRAMS)}",
    )
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run (default 300)")
    parser.add_argument(
        "--no-growth",
        dest="growth",
        action="store_false",
        help="leave out cost growth and the share of the matrix-product rate",
    )
    return parser.parse_args()


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is unknown; choose of {', '.join(known)}")
        return names

    return read


def _size(size: str, options: argparse.Namespace) -> list[Run]:
    programs = [PROGRAMS[key] for key in options.peers]
    programs = [p for p in programs if options.sizes or p.is_ours or size in QUICK.get(p.key, ("30x100", "100x1000"))]
    if size == LARGE:
        programs = [p for p in programs if p.is_ours]
    runs: list[Run] = []
    for seed in range(1 if size == LARGE else max(options.seeds, options.peer_seeds)):
        data = simulate(SIZES[size], seed)
        for program in programs:
            if seed < (options.seeds if program.is_ours else options.peer_seeds):
                more = {"n_threads": CORES_AT_LARGE} if size == LARGE and "n_threads" in program.settings else {}
                runs.append(
                    run(
                        program,
                        data,
                        size=size,
                        seed=seed,
                        limit=options.limit,
                        likelihood=seed == 0,
                        settings=more,
                    )
                )
    return sorted(runs, key=lambda r: options.peers.index(r.program))


if __name__ == "__main__":
    main()
