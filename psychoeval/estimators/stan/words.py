"""What Stan prints: how far it is, how long it took, and what went wrong, in one sentence."""

from __future__ import annotations

import math
import re
from typing import Final

_ITERATION: Final = re.compile(r"Iteration:\s*(\d+) / (\d+) \[[ \d]+%\]\s+\((Warmup|Sampling)\)")
_SECONDS: Final = re.compile(r"([\d.]+(?:e[+-]?\d+)?) seconds \((Warm-up|Sampling)\)")
_CHAIN: Final = re.compile(r"^Chain \[\d+\] ?", re.MULTILINE)
#: stanc's picture of the line at fault: between two rules of dashes, or after the header where there is but one.
_PICTURE: Final = re.compile(r"^ *-{10,} *\n.*?^ *-{10,} *\n", re.MULTILINE | re.DOTALL)
#: What stanli puts before Stan's own words.
_PREFIX: Final = re.compile(
    r"^(?:\d+ of \d+ chains failed; first: )?(?:chain \d+: )?(?:stanli (?:MIR check|prepare_data|init): )?"
)
#: Lines of a console that say what ended it; an "Informational Message" before one says that it did not.
_REASON: Final = re.compile(
    r"^(?:Exception|Error|Rejecting|Initialization|Unrecoverable|Log probability evaluates|Gradient evaluated|"
    r"Syntax error|Semantic error|Ill-formed|mismatch|variable does not|int variable|.* is not a valid value|"
    r"terminate called|Fatal|.*[Nn]o space left|.*File too large|.*Disk quota exceeded|.*\berror:)"
)
#: What the system says where it has no room to write.
_NO_ROOM: Final = re.compile(r"[Nn]o space left|File too large|Disk quota exceeded")


def progress_event(text: str) -> str:
    """Return the last progress in what a chain printed, as in ``"warmup 300/2000"``, or nothing.

    Examples
    --------
    >>> progress_event("Chain [1] Iteration:  300 / 2000 [ 15%]  (Warmup)")
    'warmup 300/2000'
    """
    found = _ITERATION.findall(text)
    return f"{found[-1][2].lower()} {found[-1][0]}/{found[-1][1]}" if found else ""


def seconds(console: str) -> tuple[float, float]:
    """Return the seconds of warmup and sampling that a chain printed; NaN where it did not."""
    said = {phase: float(number) for number, phase in _SECONDS.findall(console)}
    return said.get("Warm-up", math.nan), said.get("Sampling", math.nan)


def without_blanks(console: str) -> str:
    """Return a console without empty lines, of which cmdstanpy prints many while a program ends."""
    return "\n".join(line for line in console.splitlines() if _CHAIN.sub("", line).strip())


def sentence(text: str, program: str) -> str:
    """Return Stan's message as one sentence: no picture of code, no line breaks.

    Parameters
    ----------
    text : str
        An error as stanc, stanli or CmdStan puts it.
    program : str
        Name of the program, for the file name that stanc does not know.
    """
    text = _PREFIX.sub("", _PICTURE.sub("", text).strip()).replace("'string'", f"{program}.stan")
    text = re.sub(r",? parsing error:|:\s*$", ":", text, count=1)
    return " ".join(text.split()).rstrip(".:;") + "."


def reason(console: str) -> str:
    """Return the lines of a failed run's console that say why it failed; its last ones where none does."""
    lines = [line.strip() for line in _CHAIN.sub("", _PICTURE.sub("", console)).splitlines() if line.strip()]
    said = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if _REASON.match(line) and "Informational Message" not in before
    ]
    failed = [line for line in said if line.startswith("Initialization")]
    causes = [line for line in said if not line.startswith(("Initialization", "Rejecting", "Error evaluating"))]
    chosen = failed[:1] + causes[:1] if failed else causes[-2:] or said[-1:]
    return " ".join(dict.fromkeys(chosen or lines[-3:]))


def stage_of(why: str) -> str:
    """Return the stage at which CmdStan failed, told from what it said: writing, data, start or sampling.

    Examples
    --------
    >>> stage_of("Initialization between (-2, 2) failed after 100 attempts.")
    'start'
    """
    if _NO_ROOM.search(why):
        return "writing"
    if "processing stage=data" in why or "_model_namespace::" in why:
        return "data"
    return "start" if "nitialization" in why or "initial value" in why else "sampling"
