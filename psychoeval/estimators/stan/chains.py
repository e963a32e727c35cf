"""The parent's half: runs child processes side by side, watches them, and collects their draws."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from psychoeval.children import running, temporary_folder, writing
from psychoeval.errors import FitTimeoutError
from psychoeval.estimators.stan.backend import SAMPLE_STATS, Progress, Sampled, SamplingJob
from psychoeval.estimators.stan.child import REPLY, SIZE_MARK
from psychoeval.estimators.stan.refusals import FOR_ALL, refusal, why
from psychoeval.estimators.stan.size import check_size
from psychoeval.estimators.stan.words import progress_event, seconds, without_blanks

if TYPE_CHECKING:
    from subprocess import Popen

#: Between two looks at the children.
LOOK_SECONDS: Final = 0.02
#: Of what a child printed, from its end.
CONSOLE_CHARACTERS: Final = 20_000

#: What a child runs. An engine that is installed and does not start is told apart from a chain that dies.
_RUN: Final = f"""\
import json, os, runpy, sys
folder, module, sys.path[:] = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.argv = ["", folder]
try:
    runpy.run_module(module, run_name="__main__", alter_sys=False)
except (ImportError, OSError) as error:
    if getattr(error, "errno", None) is not None:  # of a file; a library that does not load has no number
        raise
    with open(os.path.join(folder, "{REPLY}"), "w", encoding="utf-8") as reply:
        json.dump({{"stage": "engine", "error": f"{{type(error).__name__}}: {{error}}"}}, reply)
    sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that has ended; `stage` is where it failed, empty where it did not."""

    folder: Path
    status: int
    reply: Mapping[str, Any]
    console: str

    @property
    def stage(self) -> str:
        """Where it failed; ``"killed"`` where it left no answer."""
        return str(self.reply.get("stage", "")) if self.reply else "killed"


@dataclass(slots=True)
class _Child:
    folder: Path
    process: Popen[bytes]
    end: contextlib.ExitStack
    read: int = 0
    event: str = ""
    numbers: int | None = None

    def look(self) -> None:
        """Read what it has printed since the last look."""
        with (self.folder / "console").open("rb") as console:
            console.seek(self.read)
            # Whole lines only: the rest is read when it is one.
            new = console.read().rpartition(b"\n")[0]
        self.read += len(new)
        text = new.decode("utf-8", "replace")
        self.event = progress_event(text) or self.event
        if SIZE_MARK in text:
            self.numbers = int(text.partition(SIZE_MARK)[2].split()[0])


class Deadline:
    """The time limit of a whole job."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self, how_far: Callable[[], str]) -> None:
        """Raise FitTimeoutError when the time is over."""
        if self._end is not None and time.monotonic() > self._end:
            raise FitTimeoutError(
                f"Stan did not finish within {self._seconds:g} s and was stopped ({how_far()}).",
                "Allow more time (timeout=), or ask for fewer draws, fewer items or a simpler model.",
            )


@contextlib.contextmanager
def work_folder(job: SamplingJob) -> Iterator[Path]:
    """Make a temporary folder with the job's data and starts, and remove it."""
    with temporary_folder("Stan") as folder:
        with writing(folder, "Stan"):
            _write_json(folder / "data.json", job.data)
            for number in range(1, job.chains + 1):
                (folder / str(number)).mkdir()
                if job.inits is not None:
                    _write_json(folder / str(number) / "inits.json", job.inits[number - 1])
        yield folder


def write_job(job: SamplingJob, folder: Path, **more: Any) -> None:
    """Write for the children what they all share."""
    plain: dict[str, Any] = {
        name: getattr(job, name) for name in ("warmup", "samples", "seed", "adapt_delta", "max_treedepth")
    }
    plain |= {"inits": job.inits is not None, "refresh": max(1, (job.warmup + job.samples) // 50), **more}
    with writing(folder, "Stan"):
        _write_json(folder / "job.json", plain)


def run_children(
    module: str,
    folders: Mapping[str, Path],
    deadline: Deadline,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
    on_size: Callable[[int], None] | None = None,
) -> dict[str, Ended]:
    """Run a module in one child a folder, at most `n_jobs` at once, and return how each ended.

    Once one fails at what is the same for all, no other is waited for. Whatever ends this function, an exception of
    `progress` or Ctrl-C included, ends the children first.
    """
    waiting, ended = dict(folders), dict[str, Ended]()
    report = progress or (lambda label, event: None)
    children: dict[str, _Child] = {}
    with _interrupted_by_name(children, ended), contextlib.ExitStack() as all_of_them:
        while waiting or children:
            while waiting and len(children) < n_jobs:
                label = next(iter(waiting))
                children[label] = _start(module, waiting.pop(label), environment or {}, all_of_them)
                report(label, "start")
            for label in list(children):
                child = children[label]
                status, before = child.process.poll(), child.event
                child.look()
                if child.event != before:
                    report(label, child.event)
                if child.numbers is not None and on_size is not None:
                    on_size(child.numbers)
                    on_size = None
                if status is not None:
                    ended[label] = _ended(children.pop(label), status)
                    report(label, "failed" if ended[label].stage else "done")
                    if ended[label].stage in FOR_ALL:
                        return ended
            if children:
                deadline.check(lambda: _how_far(children))
                time.sleep(LOOK_SECONDS)
    return ended


def _how_far(children: Mapping[str, _Child]) -> str:
    return ", ".join(f"{name}: {child.event or 'starting'}" for name, child in children.items())


@contextlib.contextmanager
def _interrupted_by_name(children: Mapping[str, _Child], ended: Mapping[str, Ended]) -> Iterator[None]:
    """Say on Ctrl-C what was running and what is lost."""
    try:
        yield
    except KeyboardInterrupt:
        lost = f"; {len(ended)} more had ended, and no draws are kept" if ended else ""
        raise KeyboardInterrupt(f"Stan was stopped ({_how_far(children)}{lost}).") from None


def sample_chains(
    job: SamplingJob, module: str, name: str, folder: Path, deadline: Deadline, environment: Mapping[str, str]
) -> Sampled:
    """Run every chain and gather the draws of those that gave any; `name` is the program's."""
    labels = {f"chain {number}": folder / str(number) for number in range(1, job.chains + 1)}

    def on_size(numbers: int) -> None:
        check_size(job.chains, job.samples, numbers, folder)

    ended = run_children(
        module,
        labels,
        deadline,
        n_jobs=job.n_jobs,
        progress=job.progress,
        environment=environment,
        on_size=on_size,
    )
    by_number = {int(end.folder.name): end for end in ended.values()}
    by_number = dict(sorted(by_number.items()))
    good = {number: end for number, end in by_number.items() if not end.stage}
    if not good:
        raise refusal({n: (e.stage, e.status, e.reply, e.console) for n, e in by_number.items()}, name, job.chains)
    failed = {n: why(e.stage, e.status, e.reply, e.console, name) for n, e in by_number.items() if e.stage}
    return _gather(good, by_number, failed)


def _start(module: str, folder: Path, environment: Mapping[str, str], all_of_them: contextlib.ExitStack) -> _Child:
    paths = [os.path.abspath(path) for path in sys.path]
    command = [sys.executable, "-I", "-u", "-c", _RUN, str(folder), module, *paths]
    end = all_of_them.enter_context(contextlib.ExitStack())
    # TMPDIR: what a killed child leaves behind goes with the folder.
    variables = {**os.environ, "TMPDIR": str(folder), **environment}
    process = end.enter_context(running(command, folder / "console", folder, variables, "Stan"))
    return _Child(folder, process, end)


def _ended(child: _Child, status: int) -> Ended:
    child.end.close()
    reply_file = child.folder / REPLY
    with (child.folder / "console").open("rb") as console:
        console.seek(0, os.SEEK_END)
        console.seek(max(0, console.tell() - CONSOLE_CHARACTERS))
        text = without_blanks(console.read().decode("utf-8", "replace"))
    reply: dict[str, Any] = {}
    if status in (0, 1) and reply_file.is_file():
        with contextlib.suppress(ValueError):  # a full disk may have cut it short
            reply = json.loads(reply_file.read_text(encoding="utf-8"))
    return Ended(child.folder, status, reply, text)


def _gather(good: Mapping[int, Ended], every: Mapping[int, Ended], failed: Mapping[int, str]) -> Sampled:
    times = [seconds(end.console) for end in good.values()]
    return Sampled(
        values=_stacked(good, "values"),
        sample_stats=our_stats(_stacked(good, "sample_stats")),
        chain_numbers=tuple(good),
        failed=failed,
        warmup_seconds=tuple(warmup for warmup, _ in times),
        sampling_seconds=tuple(sampling for _, sampling in times),
        versions=next(iter(good.values())).reply["versions"],
        console="\n".join(f"chain {number}:\n{end.console.strip()}" for number, end in every.items()),
        return_codes={number: _return_code(end) for number, end in every.items()},
        files=tuple(Path(file) for end in every.values() for file in end.reply.get("files", ())),
    )


def our_stats(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return sampler statistics under our names, counts as integers and divergences as booleans."""
    kinds = {"tree_depth": np.int64, "n_steps": np.int64, "diverging": np.bool_}
    named = {SAMPLE_STATS[name]: array for name, array in stats.items() if name in SAMPLE_STATS}
    return {name: array.astype(kinds.get(name, np.float64)) for name, array in named.items()}


def _return_code(ended: Ended) -> int:
    code = ended.reply.get("return_code")
    return ended.status if code is None else int(code)


def _stacked(good: Mapping[int, Ended], kind: str) -> dict[str, Any]:
    """Return arrays (chains, samples, *shape), filled chain by chain so that no draw is in memory twice."""
    ends = list(good.values())
    stacked = {}
    for name, file in ends[0].reply[kind].items():
        first = np.load(ends[0].folder / file)
        stacked[name] = np.empty((len(ends), *first.shape))
        stacked[name][0] = first
        for row, end in enumerate(ends[1:], start=1):
            stacked[name][row] = np.load(end.folder / end.reply[kind][name])
    return stacked


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(f"cannot write {type(value).__name__}")

    path.write_text(json.dumps(dict(content), default=plain), encoding="utf-8")
