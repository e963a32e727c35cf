from __future__ import annotations

import signal

import pytest

from tests import gates


def pytest_configure() -> None:
    # A shell starts what runs in its background deaf to Ctrl-C, and its children inherit that: tests of Ctrl-C
    # would then wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for engine in mark.args:
            gates.check(engine)
