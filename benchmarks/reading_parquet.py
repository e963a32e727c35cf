"""Reading OpenEval's table of responses: only the columns needed, against the whole table in pandas, in one run.

python benchmarks/reading_parquet.py [--megabytes 500]

Each way reads in a process of its own; imports are not timed. Bytes are those the process read (Linux). Ends with 1 if
they differ, or if psychoeval read more than `LIMIT_SHARE` of the file.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _reading_logs import prose
from reading import peak_mb

LIMIT_SHARE = 0.05
SYSTEMS = 100
#: Of a response's text, in characters.
TEXT = (1000, 4000)
GROUP = 5_000


def write_responses(path: Path, megabytes: float, seed: int = 8) -> int:
    """Write a table of responses of about this size, and return its rows."""
    import pyarrow
    import pyarrow.parquet as parquet

    rng = random.Random(seed)
    text = prose(rng)
    writer, rows = None, 0
    while not path.exists() or path.stat().st_size < megabytes * 1e6:
        group = [_row(number, rng, text) for number in range(rows, rows + GROUP)]
        table = pyarrow.Table.from_pylist(group)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
        rows += GROUP
    if writer is not None:
        writer.close()
    return rows


def _row(number: int, rng: random.Random, text: str) -> dict[str, object]:
    item, system = divmod(number, SYSTEMS)
    start, length = rng.randrange(len(text) - TEXT[1]), rng.randint(*TEXT)
    model = f"system-{system}"
    return {
        "response_id": f"synthetic_20260101T000000Z_{item}_{model}_0",
        "model": {"name": model, "size": None, "model_adaptation": {"system_instruction": text[start : start + 200]}},
        "item_adaptation": {"request_input": [text[start : start + 500]]},
        "response_content": [text[start : start + length]],
        "scores": {"metric": [{"name": "em", "models": [], "extra_artifacts": []}], "value": [rng.randrange(2) * 1.0]},
    }


def child(way: str, path: Path) -> None:
    if way == "psychoeval":
        import pyarrow.parquet

        from psychoeval.responses.readers.reading import read

        wall, before = time.perf_counter(), bytes_read()
        found = read(path)
        rows, mean = int(found.trials.sum()), float(found.successes.sum() / found.trials.sum())
    else:
        import pandas
        import pyarrow.parquet  # noqa: F401

        wall, before = time.perf_counter(), bytes_read()
        table = pandas.read_parquet(path)
        rows, mean = len(table), float(table["scores"].map(lambda s: s["value"][0]).mean())
    wall = time.perf_counter() - wall
    print(json.dumps({"rows": rows, "mean": mean, "wall": wall, "peak": peak_mb(), "bytes": bytes_read() - before}))


def bytes_read() -> int:
    """Return the bytes that this process has read; 0 where the system does not say."""
    io = Path("/proc/self/io")
    return int(io.read_text().split("rchar:")[1].split()[0]) if io.exists() else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.path)
        return 0
    taken = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train-00000.parquet"
        rows, size = write_responses(path, options.megabytes), path.stat().st_size
        print(f"{rows} rows, {size / 1e6:.0f} MB")
        for way in ("psychoeval", "pandas.read_parquet"):
            command = [sys.executable, __file__, "--child", way, "--path", str(path)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                print(f"{way} failed: {(ran.stderr.strip().splitlines() or [f'ended with {ran.returncode}'])[-1]}")
                return 1
            r = taken[way] = json.loads(ran.stdout)
            print(
                f"{way:20s} {r['wall']:7.2f} s, peak {r['peak']:6.0f} MB, read {r['bytes'] / 1e6:7.1f} MB "
                f"({r['bytes'] / size:.1%} of the file)"
            )
    ours, theirs = taken.values()
    print(", ".join(f"{key} {theirs[key] / max(ours[key], 1e-9):.2f} x" for key in ("wall", "peak", "bytes")))
    if (ours["rows"], ours["rows"]) != (theirs["rows"], rows) or abs(ours["mean"] - theirs["mean"]) > 1e-12:
        print(f"They differ: {taken}")
        return 1
    return int(ours["bytes"] > LIMIT_SHARE * size)


if __name__ == "__main__":
    sys.exit(main())
