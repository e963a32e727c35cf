"""The R script that repeats a fit, without this package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from psychoeval.errors import SettingsError
from psychoeval.estimators.brms.contract import JobSettings
from psychoeval.estimators.brms.design import Design
from psychoeval.estimators.brms.syntax import Density, Program
from psychoeval.irt.models import ItemModel

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._]*")

_SCRIPT = """{header}
library(brms)
# Where rstan stops with "Boost not found", as on Debian: rstan::rstan_options(boost_lib = "/usr/include")

# One line a person, one cell an item: {cells}, - for not administered.
cells <- t(do.call(rbind, strsplit(c(
{rows}
), " ")))
seen <- cells != "-"
data <- data.frame(
  y = as.integer(sub("/.*", "", cells[seen])), {trials}
  person = factor(col(cells)[seen]), item = factor(row(cells)[seen])
)

{call}
cat(stancode(fit))
print(summary(fit))
"""


def call_text(program: Program, settings: JobSettings) -> str:
    """Return the R lines that name formula, densities and sampler, and fit."""
    parts = [f"{name} ~ {text}" for name, text in program.parts.items()]
    formula = ",\n  ".join([program.formula, *parts, "nl = TRUE"])
    densities = ",\n  ".join(_density(d) for d in program.densities)
    family = f'{"binomial" if program.trials else "bernoulli"}(link = "{program.link}")'
    control = {"adapt_delta": settings.adapt_delta, "max_treedepth": settings.max_treedepth}
    control |= dict(settings.options.get("control") or {})
    sampler = {
        "chains": settings.chains, "iter": settings.warmup + settings.samples, "warmup": settings.warmup,
        **({} if settings.seed is None else {"seed": settings.seed}),
        "cores": min(settings.n_jobs, settings.chains), "init": settings.options.get("init", "random"),
        "init_r": settings.options.get("init_r", 2.0),
    }  # fmt: skip
    arguments = ", ".join(f"{key} = {_r(value)}" for key, value in sampler.items())
    return (
        f"formula <- bf(\n  {formula}\n)\npriors <- c(\n  {densities}\n)\n"
        f"fit <- brm(\n  formula, data = data, family = {family}, prior = priors,\n  {arguments},\n"
        f"  control = {_r(control)}\n)"
    )


def r_script(design: Design, model: ItemModel, program: Program, settings: JobSettings) -> str:
    """Return a script that makes brms repeat the fit from its own text alone: the data are in it.

    Names of items stand in comments, escaped; nothing of them is code. The Stan program that brms writes is printed by
    the script (``stancode``); after a fit it is in ``provenance.details["stan_code"]``.
    """
    return _SCRIPT.format(
        header=_header(design, model, settings),
        cells="successes/trials" if program.trials else "0, 1",
        rows=_rows(design, program.trials),
        trials='n = as.integer(sub(".*/", "", cells[seen])),' if program.trials else "n = 1L,",
        call=call_text(program, settings),
    )


def _header(design: Design, model: ItemModel, settings: JobSettings) -> str:
    responses = design.responses
    lines = [f"# {model.label} by brms; responses {json.dumps(responses.name)}."]
    if settings.seed is None:
        lines.append("# No seed is given: every fit draws one and keeps it in provenance.seed.")
    lines += [f"# item {j + 1} = {json.dumps(name)}" for j, name in enumerate(design.item_ids)]
    left = (responses.n_items - len(design.items), responses.n_persons - len(design.persons))
    if any(left):
        lines.append(f"# Without any response, and left out: {left[0]} items, {left[1]} {responses.person_label}s.")
    return "\n".join(lines)


def _rows(design: Design, trials: bool) -> str:
    part = design.modeled
    symbols = part.successes.astype("U11")
    if trials:
        symbols = np.char.add(np.char.add(symbols, "/"), part.trials.astype("U11"))
    symbols = np.where(part.trials > 0, symbols, "-")
    return ",\n".join(f'  "{" ".join(row)}"' for row in symbols.tolist())


def _density(d: Density) -> str:
    given = {"class": d.kind, "coef": d.coef, "group": d.group, "nlpar": d.nlpar}
    text = ", ".join([_r(d.prior), *(f"{key} = {_r(value)}" for key, value in given.items() if value)])
    return f"set_prior({text}{d.lb and f', lb = {d.lb}'}{d.ub and f', ub = {d.ub}'})"


def _r(value: Any) -> str:
    """Return an R literal.

    Raises
    ------
    SettingsError
        If the value has none.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) and _NAME.fullmatch(key) for key in value):
        return f"list({', '.join(f'{key} = {_r(v)}' for key, v in value.items())})"
    raise SettingsError(f"{value!r:.60} cannot be written in R.", "Give numbers, text, truth values, or named ones.")
