"""The densities that the Stan programs claim to sample, written down plainly, for N persons and J items.

A program's log density at a point must be the plain one there, plus that of what the model does not have (length and
mean of z), plus the logarithm of the Jacobian determinant of the map between the two, taken here by complex steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import log_expit, logit

from psychoeval.irt.models import Beta, ItemModel, ItemPopulation, LogitNormal, LogNormal, Normal, Priors
from psychoeval.responses.matrix import Responses

Values = dict[str, Any]


def random_parameters(model: ItemModel, data: Mapping[str, Any], rng: np.random.Generator) -> Values:
    """Return a point on the scale of the program's parameters, nowhere near a mode."""
    n, j, own = data["N"], data["J"], data["population"]
    out: Values = {"z": rng.normal(size=n) * rng.uniform(0.5, 2) + rng.normal(), "log_q": np.log(rng.chisquare(n - 1))}
    out["location_raw"] = rng.normal(size=j)
    out |= {"mu_place": rng.normal(size=own), "log_sd_place": np.log(rng.gamma(3, size=own) / 3)}
    if model.name == "Rasch":
        return out | {"m_raw": rng.normal(), "log_s": np.log(rng.gamma(3) / 2)}
    out["m"] = rng.normal()
    if model.name == "1PL":
        return out | {"log_slope": rng.normal()}
    out |= {"slope_raw": rng.normal(size=j), "mu_slope": rng.normal(size=own)}
    out["log_sd_slope"] = np.log(rng.gamma(3, size=own) / 3)
    if "guessing_kind" in data:
        out["logit_c"] = rng.normal(size=j if data["guessing_kind"] else 0)
    return out


def plain_values(model: ItemModel, data: Mapping[str, Any], p: Mapping[str, Any]) -> Values:
    """Return the model's own parameters, and length and mean of z, at a program's parameters; complex or real."""
    n = data["N"]
    centered = p["z"] - p["z"].mean()
    length = np.sqrt((centered**2).sum())
    out: Values = {"length": length, "center": p["z"].mean()}
    u, q = centered / length * np.sqrt(n), np.exp(p["log_q"])
    own = data["population"]
    if model.name == "Rasch":
        s, unit = np.exp(p["log_s"]), 1.0
        out["sigma"] = s * np.sqrt(n / q)
        m = p["m_raw"] * out["sigma"] / np.sqrt(n)
    else:
        m, s = p["m"], np.sqrt(q / n)
        unit = s
    out["theta"] = m + s * u
    mu_b, sd_b = data["location_prior"]
    if own:
        out["mu_b"] = m + unit * p["mu_place"]
        out["sd_b"] = unit * np.exp(p["log_sd_place"])
        mu_b, sd_b = out["mu_b"], out["sd_b"]
    shift = 0.0
    if model.name == "1PL":
        out["a"] = np.exp(p["log_slope"]) / s
    elif model.name != "Rasch":
        mean, sd = data["slope_prior"]
        if own:
            out["mu_log_a"], out["sd_log_a"] = p["mu_slope"] - np.log(s), np.exp(p["log_sd_slope"])
            mean, sd = out["mu_log_a"], out["sd_log_a"]
        log_slope = blended(p["slope_raw"], mean + np.log(s), sd, data["centering_slope"])
        out["a"] = np.exp(log_slope) / s
        shift = data["tilt"] * log_slope
    if data.get("location_of_intercept", 0):
        sampled = blended(p["location_raw"], mu_b + out["a"] * m, sd_b, data["centering_location"])
        out["d"] = shift + sampled - out["a"] * m
    else:
        sampled = blended(p["location_raw"], (mu_b - m) / unit, sd_b / unit, data["centering_location"])
        out["b"] = m + unit * (shift + sampled)
    if data.get("guessing_kind", 0):
        out["c"] = 1 / (1 + np.exp(-p["logit_c"]))
    return out


def blended(raw: Any, center: Any, sd: Any, centering: Any) -> Any:
    """Return x of distribution N(center, sd) where raw is N(w center, sd^w)."""
    standard = (raw - centering * center) / sd**centering
    return center + sd * standard


def plain_log_density(model: ItemModel, responses: Responses, v: Values) -> float:
    """Return the log density of the model's parameters and the responses together, without constants."""
    priors, out = model.priors, 0.0
    assert priors is not None
    out += stats.norm.logpdf(v["theta"], 0, v.get("sigma", 1.0)).sum()
    if model.name == "Rasch":
        out += stats.halfnorm.logpdf(v["sigma"], scale=(priors.population or ItemPopulation()).latent_sd.sd)
    out += _of_items(model, priors, v) if priors.population is None else _of_population(model, priors.population, v)
    match model.guessing:
        case Beta(alpha, beta):
            out += stats.beta.logpdf(v["c"], alpha, beta).sum()
        case LogitNormal(mean, sd):
            out += (stats.norm.logpdf(logit(v["c"]), mean, sd) - np.log(v["c"] * (1 - v["c"]))).sum()
    a = v.get("a", 1.0)
    d = v["d"] if "d" in v else -a * v["b"]
    c = v.get("c", model.guessing if isinstance(model.guessing, float) else 0.0)
    logits = np.outer(v["theta"], np.broadcast_to(a, responses.n_items)) + d
    x, n = responses.successes.astype(float), responses.trials.astype(float)
    with np.errstate(divide="ignore"):
        log_success = np.logaddexp(np.log(c), np.log1p(-c) + log_expit(logits))
    return float(out + (x * log_success + (n - x) * (np.log1p(-c) + log_expit(-logits))).sum())


def _of_items(model: ItemModel, priors: Priors, v: Values) -> float:
    out = 0.0
    if model.name != "Rasch":
        match priors.discrimination or priors.log_discrimination:
            case LogNormal(meanlog, sdlog):
                out += stats.lognorm.logpdf(v["a"], s=sdlog, scale=np.exp(meanlog)).sum()
            case Normal(mean, sd):
                out += (stats.norm.logpdf(np.log(v["a"]), mean, sd) - np.log(v["a"])).sum()
    if priors.difficulty is not None:
        return float(out + stats.norm.logpdf(v["b"], priors.difficulty.mean, priors.difficulty.sd).sum())
    assert priors.intercept is not None
    d = v["d"] if "d" in v else -v["b"]  # Rasch
    return float(out + stats.norm.logpdf(d, priors.intercept.mean, priors.intercept.sd).sum())


def _of_population(model: ItemModel, population: ItemPopulation, v: Values) -> float:
    out = stats.norm.logpdf(v["mu_b"], population.mean_difficulty.mean, population.mean_difficulty.sd).sum()
    out += stats.halfnorm.logpdf(v["sd_b"], scale=population.sd_difficulty.sd).sum()
    out += stats.norm.logpdf(v["b"], v["mu_b"], v["sd_b"]).sum()
    of_mean = population.mean_log_discrimination
    if model.name == "1PL":
        return float(out + stats.norm.logpdf(np.log(v["a"]), of_mean.mean, of_mean.sd) - np.log(v["a"]))
    if model.name in ("2PL", "3PL"):
        out += stats.norm.logpdf(v["mu_log_a"], of_mean.mean, of_mean.sd).sum()
        out += stats.halfnorm.logpdf(v["sd_log_a"], scale=population.sd_log_discrimination.sd).sum()
        out += (stats.norm.logpdf(np.log(v["a"]), v["mu_log_a"], v["sd_log_a"]) - np.log(v["a"])).sum()
    return float(out)


def program_log_density(model: ItemModel, responses: Responses, data: Mapping[str, Any], p: Mapping[str, Any]) -> float:
    """Return what a program's log density must be, but for a constant, at its parameters p."""
    values = plain_values(model, data, p)
    n, width = data["N"], data["width"]
    sphere = stats.norm.logpdf(values["length"], np.sqrt(n), width)
    sphere += stats.norm.logpdf(np.sqrt(n) * values["center"], 0, width)
    return plain_log_density(model, responses, values) + float(sphere) + _log_jacobian(model, data, p)


def _log_jacobian(model: ItemModel, data: Mapping[str, Any], p: Mapping[str, Any]) -> float:
    """Return log |det| of the map from a program's parameters to `plain_values`.

    Of theta, length and mean of z, that of a square map: their density is one over all N + 2 parameters.
    """
    names = list(p)
    point = np.concatenate([np.atleast_1d(p[name]) for name in names])

    def mapped(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
        q, at = {}, 0
        for name in names:
            shape = np.shape(p[name])
            size = int(np.prod(shape))
            q[name], at = x[at : at + size].reshape(shape), at + size
        values = plain_values(model, data, q)
        return np.concatenate([np.atleast_1d(values[name]) for name in sorted(values)])

    step = 1e-30
    columns = [mapped(point + 1j * step * unit).imag / step for unit in np.eye(point.size)]
    sign, log_det = np.linalg.slogdet(np.column_stack(columns))
    assert sign != 0
    return float(log_det)
