"""Options that several commands have, and what they mean."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychoeval.cli.console import Format
from psychoeval.cli.paths import path_option
from psychoeval.errors import SettingsError
from psychoeval.responses.arrays import Missing

if TYPE_CHECKING:
    from psychoeval.irt.models import Guessing, Priors
    from psychoeval.responses.matrix import Responses


#: What --read may name.
_READ = (
    "layout", "person", "item", "score", "successes", "trials", "trial", "duplicates", "coding", "delimiter",
    "encoding", "person_label", "persons", "items",
)  # fmt: skip
#: What --read may name where DATA are logs.
OF_FILES = ("format", "person", "columns", "leave_out", "person_column", "items")
READ_LOG = (*OF_FILES, "metric", "filter", "errors", "threshold", "duplicates", "bounds")
#: What an option of --read looks like where its Python form tells nothing.
_SPELLED = {"coding": "C:1,I:0,error:", "columns": "A,B", "bounds": "0:100"}
_EXAMPLES = {"--set": "tolerance=1e-8", "--read": "person=model"}

Data = Annotated[
    str,
    typer.Argument(
        help="A bundled data set (see `psychoeval data`), a CSV, TSV or Parquet file, or evaluation "
        "logs (a file, a folder)."
    ),
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option(
        help=f"How to read DATA, name=value. Of tables: {', '.join(_READ)}; of logs: {', '.join(READ_LOG)}. "
        "May be repeated."
    ),
]
MissingOption = Annotated[
    Missing | None, typer.Option(help="wrong: count cells of a table that were not run as failures.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]
ReportOption = Annotated[Path | None, path_option("Write an HTML report here.")]
PriorsOption = Annotated[
    str,
    typer.Option(
        help="Of models without brackets: none, weak, hierarchical, published, default (what the estimator declares), "
        "or a JSON file of densities."
    ),
]
GuessingOption = Annotated[
    str | None, typer.Option(help="3PL only: free, a number (fixed), or prior (logit-normal(-1.1, .5)).")
]
FreeOption = Annotated[
    bool,
    typer.Option(
        "--allow-free-2pl",
        help="Fit item slopes without a prior also on at most 100 persons with more parameters than persons.",
    ),
]
TimeoutOption = Annotated[float | None, typer.Option(help="Seconds allowed to each fit of an engine outside NumPy.")]
ComponentOption = Annotated[
    str | None,
    typer.Option(
        metavar="<N|largest>",
        help="Of data that fall into components: take this one alone, by its number or the one with most systems.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(help="For every estimator that draws random numbers (each has a fixed one by default).")
]


def load_responses(name: str, options: list[str], missing: str | None) -> Responses:
    """Read DATA: a bundled set, a table, or evaluation logs (a file, a folder, a glob)."""
    from psychoeval.responses.datasets import datasets, load_dataset
    from psychoeval.responses.tables import read_table

    chosen = parse_pairs("--read", options, numeric=("trials",)) | ({} if missing is None else {"missing": missing})
    known = [d.name for d in datasets()]
    if name in known and not Path(name).exists():
        if chosen:
            raise SettingsError(f"{', '.join(chosen)} was given with a bundled set.", "Use it with files.")
        return load_dataset(name)
    if "format" in chosen or _is_log(name):
        return _read_logs(name, chosen)
    if not Path(name).exists():
        raise SettingsError(
            f"{name} is neither a file nor a bundled data set.", f"The bundled sets are {', '.join(known)}."
        )
    unknown = chosen.keys() - {*_READ, "missing"}
    if unknown:
        raise SettingsError(f"--read {', '.join(sorted(unknown))} is unknown.", f"The names are {', '.join(_READ)}.")
    for covariates in ("persons", "items"):
        if covariates in chosen:
            chosen[covariates] = chosen[covariates].split(",")
    if "coding" in chosen:
        chosen["coding"] = parse_coding(chosen["coding"])
    return read_table(name, **chosen)


def choose_component(responses: Responses, component: str | None) -> Responses:
    """Return the part of the data that --component names; all where it names none."""
    from psychoeval.responses.connections import select_component

    if component is None:
        return responses
    if component != "largest" and not component.isdecimal():
        raise SettingsError(f"--component {component} is unknown.", "Give the number of a component, or largest.")
    return select_component(responses, "largest" if component == "largest" else int(component))


def _is_log(name: str) -> bool:
    """Whether DATA is a folder, a glob, or a file that is recognised as an evaluation log."""
    from psychoeval.responses.readers.formats import recognize
    from psychoeval.responses.readers.sources import open_source

    path = Path(name)
    if path.is_file():
        return recognize(open_source(path)) is not None
    return path.is_dir() or any(c in name for c in "*?[")


def _read_logs(name: str, options: dict[str, Any]) -> Responses:
    from psychoeval.responses.continuous import not_continuous
    from psychoeval.responses.readers.reading import read

    if "missing" in options:
        raise SettingsError("--missing is for tables.", "For logs say --read errors=wrong.")
    unknown = options.keys() - set(READ_LOG)
    if unknown:
        raise SettingsError(
            f"--read {', '.join(sorted(unknown))} is unknown for logs.", f"The names are {', '.join(READ_LOG)}."
        )
    return not_continuous(read(name, **log_options(options)))


def log_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of logs as `read` takes them: lists where commas part them, numbers where they are."""
    given = dict(options)
    for key in ("metric", "filter", "columns", "leave_out"):
        if isinstance(given.get(key), str) and "," in given[key]:
            given[key] = given[key].split(",")
    if "bounds" in given:
        parts = str(given["bounds"]).split(":")
        try:
            lower, upper = (float(p) for p in parts)
        except ValueError:
            raise SettingsError(
                f"bounds={given['bounds']} is not two numbers.", "Write for example bounds=0:100."
            ) from None
        given["bounds"] = (lower, upper)
    if "threshold" in given and given["threshold"] != "keep-mean":
        try:
            given["threshold"] = float(given["threshold"])
        except ValueError:
            raise SettingsError(f"threshold={given['threshold']} is unknown.", "Give a number, or keep-mean.") from None
    return given


def parse_coding(text: str) -> dict[Any, int | None]:
    """Return what coding=C:1,I:0,error: says cells stand for; nothing after the colon: not administered."""
    coding: dict[Any, int | None] = {}
    for pair in text.split(","):
        value, sign, code = (part.strip() for part in pair.rpartition(":"))
        if not sign or not (code.isdecimal() or not code):
            raise SettingsError(
                f"coding={text} is no list of value:count ({pair!r}).", f"Write coding={_SPELLED['coding']}"
            )
        for spelled in {value, _value(value)}:  # a number stands in a text file and in Parquet
            if isinstance(spelled, (str, int, float)):
                count = int(code) if code else None
                if coding.setdefault(spelled, count) != count:
                    raise SettingsError(f"coding={text} gives {value!r} two counts.", "Give each value one.")
    return coding


def on_command_line(remedy: str, command: str) -> str:
    """Return how the options that a remedy names as in Python are given to a command; "" if it names none."""
    named = dict.fromkeys(re.findall(r'(?<![\w-])(\w+)=(?:"([^"]+)")?', remedy))
    if command == "openeval":
        options = [(n, f"--{n} {shlex.quote(v)}" if v else f"--{n}") for n, v in named]
        given = [text for name, text in options if name in ("benchmark", "person", "format")]
        given += [f"--read {n}={v or '...'}" for n, v in named if n in ("metric", "filter", "threshold", "duplicates")]
    else:
        known = {*READ_LOG} if command == "import" else {*_READ, *READ_LOG}
        pairs = [f"{name}={value or _SPELLED.get(name, '...')}" for name, value in named if name in known]
        given = [f"--read {shlex.quote(pair) if ' ' in pair else pair}" for pair in pairs]
        given += ["--missing wrong"] if command != "import" and "missing" in {name for name, _ in named} else []
    return f"On the command line: {', '.join(given)}" if given and "--" not in remedy else ""


def parse_priors(text: str) -> str | Priors:
    """Return what --priors names: a preset's name or the densities of a file."""
    from psychoeval.irt.models import PRIOR_PRESETS
    from psychoeval.irt.prior_files import read_priors

    if text in ("default", "none", *PRIOR_PRESETS):
        return text
    if not Path(text).exists():
        names = ", ".join(("default", "none", *PRIOR_PRESETS))
        raise SettingsError(f"--priors {text} is neither a file nor a name.", f"The names are {names}.")
    return read_priors(text)


def parse_guessing(text: str | None) -> Guessing | None:
    """Return what --guessing names."""
    from psychoeval.irt.models import DEFAULT_GUESSING_PRIOR

    if text is None or text == "free":
        return text  # type: ignore[return-value]
    if text == "prior":
        return DEFAULT_GUESSING_PRIOR
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"--guessing {text} is unknown.", "Give free, prior or a number.") from None


def parse_pairs(option: str, pairs: list[str], numeric: Container[str] | None = None) -> dict[str, Any]:
    """Return what an option gives as name=value; values are texts but where their name is in `numeric` (None: all)."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise SettingsError(
                f"{option} {pair} is not name=value.", f"Write for example {option} {_EXAMPLES[option]}."
            )
        key = key.strip().replace("-", "_")
        settings[key] = _value(value.strip()) if numeric is None or key in numeric else value
    return settings


def _value(text: str) -> Any:
    words = {"null": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
