"""Reading OpenEval's table of responses: only the columns needed, against the whole table in pandas, in one run.

python benchmarks/reading_parquet.py [--megabytes 500]

Each way reads in a process of its own; imports are not timed. Bytes are those the process read (Linux). Ends with 1 if
they differ, or if psychoeval read more than `LIMIT_SHARE` of the file.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
from pathlib import Path

from _reading_child import Found, add_child_options, differ, report_reading, run_child
from _reading_logs import prose

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


def psychoeval_read(path: Path) -> Found:
    from psychoeval.responses.readers.reading import read

    found = read(path)
    return int(found.trials.sum()), float(found.successes.sum() / found.trials.sum())


def pandas_read(path: Path) -> Found:
    import pandas

    table = pandas.read_parquet(path)
    return len(table), float(table["scores"].map(lambda s: s["value"][0]).mean())


#: By name: what reads, and the modules imported before the clock starts.
WAYS = {
    "psychoeval": (psychoeval_read, ("pyarrow.parquet", "psychoeval.responses.readers.reading")),
    "pandas.read_parquet": (pandas_read, ("pyarrow.parquet", "pandas")),
}


def child(way: str, path: Path) -> None:
    """Read in this process, and print what it took."""
    read, modules = WAYS[way]
    for module in modules:
        importlib.import_module(module)
    report_reading(read, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=500)
    add_child_options(parser)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.path)
        return 0
    taken = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train-00000.parquet"
        rows, size = write_responses(path, options.megabytes), path.stat().st_size
        print(f"{rows} rows, {size / 1e6:.0f} MB")
        for way in WAYS:
            r = run_child(__file__, way, path)
            if r is None:
                return 1
            taken[way] = r
            print(
                f"{way:20s} {r['wall']:7.2f} s, peak {r['peak']:6.0f} MB, read {r['bytes'] / 1e6:7.1f} MB "
                f"({r['bytes'] / size:.1%} of the file)"
            )
    ours, theirs = taken.values()
    print(", ".join(f"{key} {theirs[key] / max(ours[key], 1e-9):.2f} x" for key in ("wall", "peak", "bytes")))
    if differ(taken) or ours["rows"] != rows:
        return 1
    return int(ours["bytes"] > LIMIT_SHARE * size)


if __name__ == "__main__":
    sys.exit(main())
