import doctest
import pkgutil
from importlib import import_module

import pytest

import psychoeval.responses

MODULES = [f"psychoeval.responses.{m.name}" for m in pkgutil.iter_modules(psychoeval.responses.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(import_module(name)).attempted for name in MODULES) > 5
