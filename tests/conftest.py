from __future__ import annotations

import pytest

from tests import gates


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for engine in mark.args:
            gates.check(engine)
