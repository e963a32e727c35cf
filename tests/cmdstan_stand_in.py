"""A STAND-IN for CmdStan, for tests only: it speaks CmdStan's command line, and stanli does the work.

No CmdStan is here or needed. What the stand-in shows is that our side hands over arguments, data, starts and files as
CmdStan takes them and reads its output; it shows nothing about the real one's numbers.

``python cmdstan_stand_in.py make SOURCE PROGRAM`` makes a "compiled" program: a shell script that runs this file, with
the Stan source below it. ``cmdstan_folder`` makes an installation whose makefile does that.

The variable STAND_IN makes a program misbehave: ``die`` (killed half-way), ``hang`` (never ends), ``cut`` (ends well
with half of its output), each for every chain or, as in ``die:2``, for one.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

VERSION = (2, 36, 0)
_MARK = "# The Stan program:\n"


def make_program(source: Path, program: Path) -> Path:
    """Make what a compiled program is for CmdStan: an executable file."""
    import stanli

    text = source.read_text()
    try:
        stanli.stan_to_mir(text)
    except RuntimeError as error:
        sys.exit(f"{error}\nmake: *** [{program}] Error 1")
    run = f"exec {shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).resolve()))} run"
    program.write_text(f'#!/bin/sh\n{run} "$0" "$@"\n{_MARK}{text}')
    program.chmod(0o755)
    return program


def cmdstan_folder(folder: Path) -> Path:
    """Make what looks like a CmdStan that is installed and built."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "stanc").touch()
    make = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).resolve()))} make"
    version = ".".join(map(str, VERSION))
    (folder / "makefile").write_text(
        f"CMDSTAN_VERSION := {version}\n"
        f"%: %.stan\n\techo $(STANCFLAGS) $@ >> {shlex.quote(str(folder / 'log'))}\n\t{make} $< $@\n"
    )
    return folder


class _Arguments:
    """CmdStan's arguments, which are words and settings in a tree: ``data file=x output file=y``."""

    def __init__(self, words: Sequence[str]) -> None:
        self.all: dict[str, str] = {}
        group = ""
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                group = word
            elif name == "file":
                self.all[f"{group} file"] = value
            else:
                self.all[name] = value

    def number(self, name: str, default: float) -> float:
        return float(self.all.get(name, default))


class _WithoutNumber(io.TextIOBase):
    """Prints as a program of one chain does: stanli puts the chain's number before each line."""

    def __init__(self, number: int, stop_at: int, misbehave: str) -> None:
        self.number, self.stop_at, self.misbehave = number, stop_at, misbehave

    def write(self, text: str) -> int:
        sys.__stdout__.write(text.replace(f"Chain [{self.number}] ", ""))  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
        if "Iteration" in text and int(text.split("Iteration:")[1].split("/")[0]) >= self.stop_at:
            if self.misbehave == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            while self.misbehave == "hang":
                time.sleep(1)
        return len(text)


def run_program(program: Path, words: Sequence[str]) -> None:
    """Answer ``info``, or sample as the words say."""
    if list(words) == ["info"]:
        parts = zip(("major", "minor", "patch"), VERSION, strict=True)
        print(*(f"stan_version_{name} = {number}" for name, number in parts), "STAN_THREADS=false", sep="\n")
        return
    given = _Arguments(words)
    assert given.all["method"] == "sample"
    chain = int(given.number("id", 1))
    wish, _, one = os.environ.get("STAND_IN", "").partition(":")
    misbehave = wish if one in ("", str(chain)) else ""
    fit = _sampled(program.read_text().partition(_MARK)[2], given, chain, misbehave)
    output = Path(given.all["output file"])
    text = _csv(fit, program.stem, given, chain)
    output.write_text(text[: len(text) // 2] if misbehave == "cut" else text)


def _sampled(source: str, given: _Arguments, chain: int, misbehave: str) -> Any:
    import stanli

    warmup, samples = int(given.number("num_warmup", 1000)), int(given.number("num_samples", 1000))
    seed = int(given.number("seed", 1))
    prepare = stanli._lib.stanli_sample_opts_init

    def numbered(options: Any) -> None:
        prepare(options)
        options._obj.chain_id = chain

    stanli._lib.stanli_sample_opts_init = numbered
    try:
        model = stanli.Model(stan_code=source, data=Path(given.all["data file"]), seed=seed)
        start = model.unconstrain(Path(given.all["init"])) if "init" in given.all else None
        with contextlib.redirect_stdout(_WithoutNumber(chain, (warmup + samples) // 2, misbehave)):  # type: ignore[type-var]
            return model.sample(
                chains=1,
                parallel_chains=1,
                seed=seed,
                warmup=warmup,
                samples=samples,
                delta=given.number("delta", 0.8),
                max_depth=int(given.number("max_depth", 10)),
                refresh=int(given.number("refresh", 100)),
                inits=start,
            )
    except (RuntimeError, ValueError) as error:
        if "initialization failed" in str(error):  # in CmdStan's words
            print("Rejecting initial value:\n  Error evaluating the log probability at the initial value.")
            print("Initialization between (-2, 2) failed after 100 attempts.")
        print(f"Exception: {error}")
        sys.exit(1)


def _csv(fit: Any, name: str, given: _Arguments, chain: int) -> str:
    """Return the fit as CmdStan writes it, with the comments that cmdstanpy reads."""
    import numpy as np
    import stanli

    parts = zip(("major", "minor", "patch"), VERSION, strict=True)
    head = [f"stan_version_{part} = {number}" for part, number in parts]
    head += [f"model = {name}", "method = sample (Default)", "num_samples = " + given.all["num_samples"]]
    head += ["num_warmup = " + given.all["num_warmup"], "save_warmup = false (Default)", "thin = 1 (Default)"]
    head += ["algorithm = hmc (Default)", "engine = nuts (Default)", "max_depth = " + given.all["max_depth"]]
    head += ["metric = diag_e (Default)", f"id = {chain}", "seed = " + given.all["seed"]]
    columns = [*stanli.SAMPLER_COLUMNS, *(n.replace("[", ".").replace(",", ".").rstrip("]") for n in fit.names)]
    adapted = ["Adaptation terminated", f"Step size = {fit.stepsize[0]}", "Diagonal elements of inverse mass matrix:"]
    adapted += [", ".join(map(str, fit.inv_metric[0]))]
    digits = int(given.all["sig_figs"])
    rows = np.hstack([fit.sampler_stats[0], fit.draws()[0]])
    draws = [",".join(f"{value:.{digits}g}" for value in row) for row in rows]
    times = ["", " Elapsed Time: 0.25 seconds (Warm-up)", "               0.5 seconds (Sampling)"]
    times += ["               0.75 seconds (Total)", ""]
    comments = [[f"# {line}" for line in lines] for lines in (head, adapted, times)]
    return "\n".join([*comments[0], ",".join(columns), *comments[1], *draws, *comments[2]]) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make_program(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        run_program(Path(sys.argv[2]), sys.argv[3:])
