"""cmdstanpy in a child process, where the folder, environment and logs that it changes are its own.

One chain each, so that one that dies leaves the others; the CmdStan program that cmdstanpy starts ends with the child's
process group.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import cmdstanpy

from psychoeval.estimators.stan.child import Answer, StageError, run, say_size, stage
from psychoeval.estimators.stan.words import reason, stage_of

#: Digits in CmdStan's CSV: enough for every bit of a double.
DIGITS: Final = 17

_RETURN_CODES: Final = re.compile(r"retcodes=\[(-?\d+)\]")


def work(job: Mapping[str, Any], folder: Path) -> Answer:
    """Compile, or run one chain: the folder's name is its number."""
    cmdstanpy.disable_logging()
    return compile_program(job) if folder.name == "compilation" else sample(job, folder)


def compile_program(job: Mapping[str, Any]) -> Answer:
    """Compile the program that the job names, beside its source."""
    try:
        cmdstanpy.compile_stan_file(
            job["stan_file"], stanc_options=dict(job["stanc_options"]), cpp_options=dict(job["cpp_options"])
        )
    except (ValueError, RuntimeError) as error:
        console = str(error).partition("Console:\n")[2] or str(error)
        print(console, flush=True)
        raise StageError("program", reason(console)) from error
    return Answer()


def sample(job: Mapping[str, Any], folder: Path) -> Answer:
    """Run one chain of a compiled program."""
    chain = int(folder.name)
    output = Path(job["output_dir"] or folder)
    with stage("executable"):
        model = cmdstanpy.CmdStanModel(exe_file=job["exe_file"])
        if not model.exe_info():  # cmdstanpy would take a program that does not start for one that SIGHUP ended
            raise StageError("executable", job["exe_file"])
    old = frozenset(output.iterdir())
    threading.Thread(target=_watch_size, args=(output, chain, old), daemon=True).start()
    try:
        fit = model.sample(
            data=str(folder.parent / "data.json"),
            chains=1,
            chain_ids=[chain],
            seed=job["seed"],
            inits=str(folder / "inits.json") if job["inits"] else None,
            iter_warmup=job["warmup"],
            iter_sampling=job["samples"],
            adapt_delta=job["adapt_delta"],
            max_treedepth=job["max_treedepth"],
            output_dir=str(output),
            sig_figs=DIGITS,
            refresh=job["refresh"],
            show_progress=False,
            show_console=True,
            time_fmt=f"%Y%m%d%H%M%S%f-chain-{chain}",  # cmdstanpy numbers the files of several chains only
        )
    except (RuntimeError, ValueError) as error:
        raise _failure(error, folder) from error
    stem = Path(fit.runset.csv_files[0]).stem
    files = sorted(str(path) for path in output.iterdir() if path.name.startswith(stem)) if job["output_dir"] else []
    values, stats = arrays(fit)
    version = ".".join(str(fit.metadata[f"stan_version_{part}"]) for part in ("major", "minor", "patch"))
    # What came first is the number of the chain.
    return Answer(
        {name: array[0] for name, array in values.items()},
        {name: array[0] for name, array in stats.items()},
        {"cmdstan": version, "cmdstanpy": metadata.version("cmdstanpy")},
        tuple(files),
    )


def arrays(fit: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the draws of a `cmdstanpy.CmdStanMCMC`.

    Returns
    -------
    values, stats : dict
        Stan variable -> array (chains, samples, *shape); statistic, under Stan's name -> array (chains, samples).
    """
    values = {}
    for name, array in fit.stan_variables().items():  # chains one after the other
        values[name] = array.reshape(fit.chains, -1, *array.shape[1:])
    return values, {name: array.T for name, array in fit.method_variables().items()}


def _watch_size(output: Path, chain: int, old: frozenset[Path]) -> None:
    """Say how many numbers a draw has as soon as CmdStan has written the names of the columns."""
    while True:
        for path in set(output.glob(f"*-chain-{chain}.csv")) - old:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    if not line.startswith("#") and line.endswith("\n"):
                        say_size(line.count(",") + 1)
                        return
        time.sleep(0.05)


def _failure(error: Exception, folder: Path) -> StageError:
    console = (folder / "console").read_text(encoding="utf-8", errors="replace")
    found = _RETURN_CODES.search(str(error))
    if found is None:  # CmdStan ended well; what it wrote cannot be read
        return StageError("writing", f"{error} ({error.__cause__})" if error.__cause__ else str(error))
    why, code = reason(console), int(found[1])
    if code < 0:
        return StageError("killed", why, code)
    return StageError(stage_of(why), why, code)


if __name__ == "__main__":
    run(work)
