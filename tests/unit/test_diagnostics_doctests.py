import doctest
import pkgutil
from importlib import import_module

import pytest

import psychoeval.diagnostics

MODULES = [f"psychoeval.diagnostics.{m.name}" for m in pkgutil.iter_modules(psychoeval.diagnostics.__path__)]
MODULES.append("psychoeval.estimators.native.cml_andersen")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples():
    assert sum(doctest.testmod(import_module(name)).attempted for name in MODULES) > 0
