"""Reading lm-eval samples: psychoeval.read against polars and pandas, in one run; seconds, memory, ratios.

python benchmarks/reading.py [--lines 1000000] [--gigabytes 0] [--ways psychoeval,polars,...]

Each way reads the same file in a process of its own; imports are not timed, memory is the process's highest, with
them, and bounded (`_reading_child`). All must find the same rows and mean score. polars is installed for this
benchmark only (pip install polars). Ends with 1 if they differ, or if psychoeval takes `LIMIT_MB` or more.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from _reading_child import Found, add_child_options, differ, report_reading, run_child
from _reading_logs import write_samples

LIMIT_MB = 500
NEEDED = ["doc_id", "doc_hash", "filter", "acc"]
ROW_BYTES = 1901


def psychoeval_read(path: Path) -> Found:
    import psychoeval

    responses = psychoeval.read(path)
    return responses.n_items, float(responses.successes.mean())


def polars_read(path: Path) -> Found:
    import polars

    table = polars.read_ndjson(path).select(NEEDED)
    return len(table), table["acc"].mean()


def polars_scan(path: Path) -> Found:
    import polars

    table = polars.scan_ndjson(path).select(NEEDED).collect()
    return len(table), table["acc"].mean()


def pandas_read_json(path: Path) -> Found:
    import pandas

    table = pandas.read_json(path, lines=True)[NEEDED]
    return len(table), float(table["acc"].mean())


def pandas_of_dicts(path: Path) -> Found:
    import pandas

    with path.open(encoding="utf-8") as file:
        table = pandas.DataFrame([json.loads(line) for line in file])[NEEDED]
    return len(table), float(table["acc"].mean())


#: By name: what reads, and the module that must be there, imported before the clock starts.
WAYS: dict[str, tuple[Callable[[Path], Found], str]] = {
    "psychoeval": (psychoeval_read, "psychoeval.responses.readers.reading"),
    "polars.read_ndjson": (polars_read, "polars"),
    "polars.scan_ndjson": (polars_scan, "polars"),
    "pandas.read_json": (pandas_read_json, "pandas"),
    "json.loads, DataFrame": (pandas_of_dicts, "pandas"),
}


def child(way: str, path: Path) -> None:
    """Read in this process, and print what it took."""
    read, module = WAYS[way]
    importlib.import_module(module)
    report_reading(read, path)


def measured(way: str, path: Path) -> dict[str, float] | None:
    """Return what a way took; None where its library is absent or it fails, which is said."""
    module = WAYS[way][1]
    if importlib.util.find_spec(module.split(".")[0]) is None:
        print(f"{way:22s} {module} is not installed")
        return None
    return run_child(__file__, way, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=float, default=0, help="instead of lines: a file of about this size")
    parser.add_argument("--ways", default=",".join(w for w in WAYS if "," not in w) + ",json", help="first letters do")
    add_child_options(parser)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.path)
        return 0
    lines = round(options.gigabytes * 1e9 / ROW_BYTES) or options.lines
    wanted = tuple(options.ways.split(","))
    with tempfile.TemporaryDirectory() as folder:
        path = write_samples(Path(folder), lines)
        print(f"{lines} lines, {path.stat().st_size / 1e9:.2f} GB; seconds, memory, and ratios to psychoeval")
        return compare(path, [way for way in WAYS if way.startswith(wanted)])


def compare(path: Path, ways: list[str]) -> int:
    """Print what each way took; return 1 where they differ or psychoeval takes too much."""
    print(f"{'':22s} {'wall s':>8s} {'CPU s':>8s} {'peak MB':>8s} {'wall x':>7s} {'CPU x':>7s} {'peak x':>7s}")
    taken: dict[str, dict[str, float]] = {}
    for way in ways:
        result = measured(way, path)
        if result is None:
            continue
        taken[way] = result
        ours = taken.get("psychoeval", result)
        ratios = "".join(f" {result[key] / ours[key]:7.2f}" for key in ("wall", "cpu", "peak"))
        print(f"{way:22s} {result['wall']:8.2f} {result['cpu']:8.2f} {result['peak']:8.0f}{ratios}", flush=True)
    if differ(taken):
        return 1
    one = next(iter(taken.values()))
    print(f"all: {one['rows']:.0f} rows, mean score {one['mean']:.6f}")
    return int("psychoeval" in taken and taken["psychoeval"]["peak"] >= LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
