"""The R script that repeats a fit, without this package."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from psychoeval.errors import SettingsError
from psychoeval.estimators.mirt.contract import JobSettings
from psychoeval.estimators.mirt.design import Design
from psychoeval.estimators.mirt.syntax import (
    fixed_guessing,
    has_slope_curvature,
    item_type,
    model_syntax,
    variance_prior,
)
from psychoeval.irt.models import ItemModel

_SYNTACTIC: Final = re.compile(r"(?:[A-Za-z]|\.(?![0-9]))[A-Za-z0-9._]*")
_RESERVED: Final = frozenset(
    ("if", "else", "repeat", "while", "function", "for", "next", "break", "TRUE", "FALSE", "NULL", "Inf", "NaN", "NA",
     "NA_integer_", "NA_real_", "NA_character_", "NA_complex_", "in", "...")
)  # fmt: skip
#: As JSON escapes a character beyond the first 65,536.
_PAIR: Final = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")

_DATA = """# One line a person, one character an item: 0, 1, and - for not administered.
lines <- strsplit(c(
{rows}
), "")
X <- t(vapply(lines, function(cells) as.numeric(ifelse(cells == "-", NA, cells)), numeric({n_items})))
colnames(X) <- paste0("i", 1:{n_items})
"""

_VARIANCE_PRIOR = """start <- {start}
start$prior.type <- as.character(start$prior.type)
prior <- start$name == "COV_11"  # the variance is the square of the common slope
start$prior.type[prior] <- "lnorm"
start$prior_1[prior] <- {meanlog}
start$prior_2[prior] <- {sdlog}
"""


def r_script(design: Design, model: ItemModel, settings: JobSettings) -> str:
    """Return a script that makes mirt repeat the fit from its own text alone: the data are in it.

    Names of items stand in comments, escaped; nothing of them is code.
    """
    parts = [_header(design, model, settings), "library(mirt)\n", _data(design)]
    syntax = model_syntax(model, design)
    if syntax is not None:
        parts.append(f"model <- mirt.model({_r(syntax)})\n")
    arguments = _arguments(model, settings, design, "1" if syntax is None else "model")
    prior = variance_prior(model)
    if prior is not None:
        values = _VARIANCE_PRIOR.format(
            start=_call("mirt", {**arguments, "pars": '"values"'}), meanlog=_r(prior.meanlog), sdlog=_r(prior.sdlog)
        )
        parts.append(values)
        arguments["pars"] = "start"
    parts.append(f"fit <- {_call('mirt', arguments)}\n")
    scores = {
        "method": _r(settings.ability_method), "full.scores": "TRUE", "full.scores.SE": "TRUE",
        "quadpts": _r(settings.quadrature_points), "theta_lim": _limits(settings), "verbose": "FALSE",
    }  # fmt: skip
    parts.append(f"abilities <- {_call('fscores', {'fit': '', **scores})}\n")
    parts.append("print(extract.mirt(fit, 'logLik'), digits = 10)\nprint(coef(fit, simplify = TRUE))\n")
    if model.name == "1PL":
        parts.append(
            "# The 1PL is this Rasch model on another scale: its slope is the SD, its abilities are over the SD.\n"
            "print(sqrt(coef(fit, simplify = TRUE)$cov))\n"
        )
    return "\n".join(parts)


def _header(design: Design, model: ItemModel, settings: JobSettings) -> str:
    responses = design.responses
    lines = [f"# {model.label} by mirt, {settings.method}; responses {json.dumps(responses.name)}."]
    if has_slope_curvature(model) and settings.se_type is not None:
        lines.append(
            "# mirt has part of the curvature of log-normal priors with a wrong sign: its standard errors are off."
        )
    if settings.method == "MHRM" and settings.seed is None:
        lines.append("# No seed is given: every fit draws one and keeps it in provenance.seed.")
    for first, columns, item in zip(
        design.first_columns.tolist(), design.columns.tolist(), design.items.tolist(), strict=True
    ):
        column = f"i{first + 1}" + (f"-i{first + columns}" if columns > 1 else "")
        lines.append(f"# {column} = {json.dumps(responses.item_ids[item])}")
    left = [
        f"#   {json.dumps(name)}: {status}"
        for name, status in zip(responses.item_ids, design.item_status, strict=True)
        if status != "estimated"
    ]
    if left:
        lines += ["# Not given to mirt:", *left]
    if len(design.persons) < responses.n_persons:
        lines.append(f"# {responses.n_persons - len(design.persons)} without responses on these items are left out.")
    return "\n".join(lines) + "\n"


def _data(design: Design) -> str:
    symbols = np.where(np.isnan(design.matrix), "-", np.where(design.matrix == 1.0, "1", "0"))
    rows = ",\n".join(f'  "{"".join(row)}"' for row in symbols)
    return _DATA.format(rows=rows, n_items=symbols.shape[1])


def _arguments(model: ItemModel, settings: JobSettings, design: Design, syntax: str) -> dict[str, str]:
    technical: dict[str, str] = {"NCYCLES": _r(settings.max_iterations), "theta_lim": _limits(settings)}
    if settings.seed is not None:
        technical["set.seed"] = _r(settings.seed)
    if design.expanded:
        technical["customK"] = f"rep(2, {design.matrix.shape[1]})"
    given = settings.engine_options.get("technical") or {}
    technical |= {str(key): _r(value) for key, value in given.items()}
    arguments = {"data": "X", "model": syntax, "itemtype": _r(item_type(model)), "method": _r(settings.method)}
    arguments["SE"] = _r(settings.se_type is not None)
    if settings.se_type is not None:
        arguments["SE.type"] = _r(settings.se_type)
    guess = fixed_guessing(model)
    if guess is not None:
        arguments["guess"] = _r(guess)
    arguments |= {
        "quadpts": _r(settings.quadrature_points), "TOL": _r(settings.tolerance), "verbose": "FALSE",
        "technical": _call("list", technical),
    }  # fmt: skip
    return arguments | {str(key): _r(value) for key, value in settings.engine_options.items() if key != "technical"}


def _limits(settings: JobSettings) -> str:
    return f"c({_r(-settings.quadrature_limit)}, {_r(settings.quadrature_limit)})"


def _call(function: str, arguments: Mapping[str, str]) -> str:
    text = ", ".join(f"{_name(key)} = {value}" if value else key for key, value in arguments.items())
    return f"{function}({text})"


def _name(key: str) -> str:
    if not key:
        raise SettingsError("An engine option has an empty name.", "R has no such arguments: give it a name.")
    return key if _SYNTACTIC.fullmatch(key) and key not in _RESERVED else _r(key)


def _r(value: Any) -> str:
    """Return an R literal.

    Raises
    ------
    SettingsError
        If the value has none.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _call("list", {str(k): _r(v) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return f"c({', '.join(_r(v) for v in value)})"
    raise SettingsError(f"{value!r:.60} cannot be written in R.", "Give numbers, text, truth values, or lists of them.")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(float(value))  # NumPy's float64 is a float, and its repr names NumPy


def _text(value: str) -> str:
    if "\0" in value:
        raise SettingsError(f"The text {value!r:.60} holds a NUL character, which R has not.", "Take it out.")
    # R reads JSON's escapes, all but those of surrogate pairs.
    return _PAIR.sub(_long_escape, json.dumps(value))


def _long_escape(pair: re.Match[str]) -> str:
    character = json.loads(f'"{pair[0]}"')
    return f"\\U{ord(character):08x}"
