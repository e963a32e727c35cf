"""One way of reading, timed in a process of its own: what both benchmarks of reading share."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: Rows that were found, and their mean score.
Found = tuple[int, float]
#: What a process may take: one that needs more fails, and not the machine.
MOST_GB = 16


def add_child_options(parser: argparse.ArgumentParser) -> None:
    """Add the options with which `run_child` calls the benchmark again."""
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)


def run_child(script: str, way: str, path: Path) -> dict[str, float] | None:
    """Return what a way took as its child printed it; None where it failed, which is said."""
    command = [sys.executable, script, "--child", way, "--path", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or [f"ended with {ran.returncode}"])[-1]
        print(f"{way:22s} failed, given {MOST_GB} GB: {last}")
        return None
    result: dict[str, float] = json.loads(ran.stdout)
    return result


def report_reading(read: Callable[[Path], Found], path: Path) -> None:
    """Read in this process, and print rows, mean, seconds, CPU seconds, peak in MB and bytes read."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_GB << 30, MOST_GB << 30))
    wall, used, before = time.perf_counter(), time.process_time(), bytes_read()
    rows, mean = read(path)
    wall, used = time.perf_counter() - wall, time.process_time() - used
    took = {"wall": wall, "cpu": used, "peak": peak_mb(), "bytes": bytes_read() - before}
    print(json.dumps({"rows": rows, "mean": mean, **took}))


def peak_mb() -> float:
    """Return the most memory this process has held; getrusage may count what the parent held when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def bytes_read() -> int:
    """Return the bytes that this process has read; 0 where the system does not say."""
    io = Path("/proc/self/io")
    return int(io.read_text().split("rchar:")[1].split()[0]) if io.exists() else 0


def differ(taken: dict[str, dict[str, float]]) -> bool:
    """Return whether ways found other rows or means, and say so."""
    means = [result["mean"] for result in taken.values()]
    unlike = len({result["rows"] for result in taken.values()}) > 1 or max(means) - min(means) > 1e-12
    if unlike:
        print(f"They differ: {taken}")
    return unlike
