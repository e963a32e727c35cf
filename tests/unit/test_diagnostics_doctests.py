import doctest
import pkgutil
from functools import cache
from importlib import import_module

import pytest

import psychoeval.diagnostics

MODULES = [f"psychoeval.diagnostics.{m.name}" for m in pkgutil.iter_modules(psychoeval.diagnostics.__path__)]
MODULES.append("psychoeval.estimators.native.cml_andersen")


@cache
def results(name):
    return doctest.testmod(import_module(name))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    assert results(name).failed == 0


def test_there_are_examples():
    assert sum(results(name).attempted for name in MODULES) > 0
