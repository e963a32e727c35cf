"""Linking constants and their covariance against R's equateIRT 2.5.2.

Same direction (first onto second), same nodes and weights. Its covariance for mean-sigma is not that of its own
constants (the derivatives of a SD with n - 1 divide by n), so ours is held against differences of what direc returns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.irt.linking import Constants, linking_constants
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from tests.gates import needs
from tests.golden import reference
from tests.parity import tolerances

METHODS = {"mean-mean": "mean-mean", "mean-sigma": "mean-sigma", "Haebara": "haebara", "Stocking-Lord": "stocking-lord"}
MODELS = ("rasch", "two_pl", "three_pl")
#: equateIRT's other quadrature.
GRID = (np.linspace(-4, 4, 40), np.ones(40))
TERMS = ("a", "d", "c")


class Form:
    """Items of a form with the terms that its model has, and their covariance with terms one after another."""

    def __init__(self, items: list[str], terms: list[str], values: np.ndarray, covariance: np.ndarray) -> None:
        n = len(items)
        self.items, self.parameters = items, np.tile([1.0, 0.0, 0.0], (n, 1))
        self.covariance = np.zeros((3 * n, 3 * n))
        at = np.concatenate([3 * np.arange(n) + TERMS.index(term) for term in terms])
        self.parameters.reshape(-1)[at] = values.ravel()
        self.covariance[np.ix_(at, at)] = covariance

    def anchors(self, common: list[str]) -> tuple[np.ndarray, np.ndarray]:
        index = [self.items.index(item) for item in common]
        at = (3 * np.array(index)[:, None] + np.arange(3)).ravel()
        return self.parameters[index], self.covariance[np.ix_(at, at)]


def from_golden(form: dict[str, Any]) -> Form:
    s, loadings = np.array(form["s"]), np.array(form["l"])
    return Form(form["items"], form["terms"], np.array(form["values"]), np.diag(s**2) + loadings @ loadings.T)


def linked(one: Form, two: Form, method: str, model: str, **how: Any) -> tuple[Constants, np.ndarray]:
    common = [item for item in one.items if item in two.items]
    (first, v1), (second, v2) = one.anchors(common), two.anchors(common)
    unit = "slopes" if model == "rasch" else "free"
    found = linking_constants(first, second, METHODS[method], unit=unit, **how)  # type: ignore[arg-type]
    return found, found.covariance(v1, v2)


def assert_same(found: tuple[Constants, np.ndarray], scale: float, shift: float, covariance: Any) -> None:
    constants, ours = found
    assert (constants.scale, constants.shift) == pytest.approx((scale, shift), rel=0, abs=tolerances.EQUATEIRT)
    theirs = np.array(covariance)
    assert np.sqrt(np.diag(ours)) == pytest.approx(np.sqrt(np.diag(theirs)), rel=0, abs=tolerances.EQUATEIRT)
    assert ours == pytest.approx(theirs, rel=0, abs=tolerances.EQUATEIRT)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_constants_and_errors_are_equateirts(model: str, method: str) -> None:
    golden = reference("equateirt_linking")[model]
    expected = dict(golden["constants"][method])
    if method == "mean-sigma" and model != "rasch":
        expected["covariance"] = golden["differences"]
    found = linked(from_golden(golden["first"]), from_golden(golden["second"]), method, model)
    assert_same(found, **expected)


@pytest.mark.parametrize("method", ["Haebara", "Stocking-Lord"])
@pytest.mark.parametrize("model", MODELS)
def test_on_its_other_quadrature(model: str, method: str) -> None:
    golden = reference("equateirt_linking")[model]
    forms = from_golden(golden["first"]), from_golden(golden["second"])
    assert_same(linked(*forms, method, model, quadrature=GRID), **golden["grid"][method])
    # Nodes and weights matter: what is on other ones is not the same.
    other, _ = linked(*forms, method, model)
    assert abs(other.shift - golden["grid"][method]["shift"]) > 10 * tolerances.EQUATEIRT


@pytest.mark.parametrize("model", ["two_pl", "three_pl"])
def test_equateirts_error_of_mean_sigmas_unit_is_short_by_one_of_n_anchors(model: str) -> None:
    golden = reference("equateirt_linking")[model]
    n = len(set(golden["first"]["items"]) & set(golden["second"]["items"]))
    _, ours = linked(from_golden(golden["first"]), from_golden(golden["second"]), "mean-sigma", model)
    theirs = np.array(golden["constants"]["mean-sigma"]["covariance"])
    assert np.sqrt(theirs[0, 0] / ours[0, 0]) == pytest.approx((n - 1) / n, rel=1e-9)


@needs("equateirt")
@pytest.mark.parametrize("model", MODELS)
def test_its_own_example_data_by_equateirt_itself(model: str) -> None:
    script = Path(__file__).with_name("linking_equateirt.R")
    reply = RscriptBridge().call(script, "equateirt_link", {"model": model}, timeout=120)
    terms = {"rasch": ["d"], "two_pl": ["d", "a"], "three_pl": ["c", "d", "a"]}[model]
    forms = []
    for k in ("1", "2"):
        items, p = list(reply[f"items{k}"]), len(reply[f"items{k}"]) * len(terms)
        values = np.array(reply[f"values{k}"]).reshape(len(terms), -1)
        forms.append(Form(items, terms, values, np.array(reply[f"covariance{k}"]).reshape(p, p)))
    for method, name in METHODS.items():
        scale, shift, *covariance = reply[name.replace("-", "_")]
        found = linked(forms[0], forms[1], method, model)
        theirs = np.array(covariance).reshape(2, 2)
        if method == "mean-sigma" and model != "rasch":
            n = len(set(forms[0].items) & set(forms[1].items))
            assert np.sqrt(theirs[0, 0] / found[1][0, 0]) == pytest.approx((n - 1) / n, rel=1e-9)
            theirs = found[1]
        assert_same(found, scale, shift, theirs)
