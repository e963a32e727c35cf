"""The one table of log formats, and how a file's format is recognised by its content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from psychoeval.errors import DataError, SettingsError
from psychoeval.responses.readers import (
    every_eval_ever,
    helm,
    inspect_logs,
    leaderboards,
    lm_eval,
    long_scores,
    openeval,
    py_irt,
    swebench,
    tau2_bench,
    tau_bench,
    terminal_bench,
)
from psychoeval.responses.readers.log import LogBuilder
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape, shape_of
from psychoeval.responses.readers.sources import Source

Reader: TypeAlias = Callable[[Source, LogBuilder, ReadOptions], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A log format.

    Parameters
    ----------
    name : str
    about : str
    is_it : callable
        Whether a file with this outline is of the format; from its first bytes alone.
    read : callable, optional
        Adds the records of a file to a log. None for files that go with others and are read with them.
    needs : str
        Of files that go with others: those with the responses.
    """

    name: str
    about: str
    is_it: Callable[[Source, Shape], bool]
    read: Reader | None = None
    needs: str = ""


def only_by_name(source: Source, shape: Shape) -> bool:
    """Of formats that content does not tell from others: never, they must be named."""
    return False


FORMATS: Final[tuple[Format, ...]] = (
    Format("lm-eval", "LM Evaluation Harness, samples_*.jsonl", lm_eval.is_samples, lm_eval.read_samples),
    Format(
        "lm-eval results",
        "means of the LM Evaluation Harness, results_*.json",
        lm_eval.is_results,
        needs="samples_*.jsonl, which lm_eval --log_samples writes",
    ),
    Format("inspect", "Inspect, .json", inspect_logs.is_json, inspect_logs.read_log),
    Format("inspect archive", "Inspect, .eval", inspect_logs.is_archive, inspect_logs.read_archive),
    Format("helm", "HELM, per_instance_stats.json", helm.is_stats, helm.read_stats),
    Format("helm run files", "other files of a run of HELM", helm.is_companion, needs="per_instance_stats.json"),
    Format(
        "every-eval-ever", "Every Eval Ever, *_samples.jsonl", every_eval_ever.is_samples, every_eval_ever.read_samples
    ),
    Format(
        "every-eval-ever aggregates", "means of Every Eval Ever", every_eval_ever.is_aggregate, needs="*_samples.jsonl"
    ),
    Format("swe-bench", "SWE-bench and Multi-SWE-bench, lists of ids", swebench.is_report, swebench.read_report),
    Format(
        "swe-bench leaderboards", "SWE-bench, with each instance", swebench.is_leaderboard, swebench.read_leaderboard
    ),
    Format(
        "swe-bench predictions",
        "patches submitted to SWE-bench",
        swebench.is_predictions,
        needs="the report of the harness",
    ),
    Format("terminal-bench", "terminal-bench, results.json of a run", terminal_bench.is_run, terminal_bench.read_run),
    Format(
        "terminal-bench run files",
        "other files of a run of terminal-bench",
        terminal_bench.is_companion,
        needs="results.json of the run",
    ),
    Format("tau-bench", "tau-bench, rewards of tasks and trials", tau_bench.is_runs, tau_bench.read_runs),
    Format("tau2-bench", "tau2-bench, a run with its simulations", tau2_bench.is_results, tau2_bench.read_results),
    Format(
        "tau2-bench simulations",
        "simulations of tau2-bench in files of their own",
        tau2_bench.is_simulation,
        needs="results.json of the run",
    ),
    Format("py-irt", "py-irt, JSONL of responses", py_irt.is_responses, py_irt.read_responses),
    Format("openeval", "OpenEval, items with their responses as JSON or JSONL", openeval.is_json, openeval.read_items),
    Format(
        "openeval table", "OpenEval, the released Parquet table of responses", openeval.is_table, openeval.read_table
    ),
    Format("irw", "Item Response Warehouse, CSV with id, item, resp", long_scores.is_irw, long_scores.read_irw),
    Format("leaderboard", "a system a row, a benchmark a column", leaderboards.is_yaml, leaderboards.read_leaderboard),
    Format("long scores", "a response a row, with any numbers as scores", only_by_name, long_scores.read_long_scores),
)


#: First bytes of files whose ending says what they are.
_STARTS: Final = {".eval": b"PK", ".parquet": b"PAR1", ".pq": b"PAR1"}


def recognize(source: Source) -> Format | None:
    """Return the format of a file, None where it is none of the table, or no text within gzip.

    Raises
    ------
    DataError
        If it could be of several, or does not start as files of its ending do: damaged, it would be passed over.
    """
    start = _STARTS.get(source.path.suffix.lower(), b"")
    if source.head and not source.head.startswith(start):
        raise DataError(f"{source.place} does not start as a file of this ending does.", "Fetch it again.")
    if source.foreign:
        return None
    shape = shape_of(source)
    found = [f for f in FORMATS if f.is_it(source, shape)]
    if len(found) > 1:
        names = " or ".join(f.name for f in found)
        raise DataError(f"{source.place} could be {names}.", "Say which: format=.")
    return found[0] if found else None


def format_named(name: str) -> Format:
    """Return a format by its name.

    Raises
    ------
    SettingsError
        If there is none, or it is read only with others.
    """
    readable = {f.name: f for f in FORMATS if f.read is not None}
    if name not in readable:
        raise SettingsError(f"There is no log format {name!r}.", f"Choose one of {', '.join(readable)}.")
    return readable[name]
