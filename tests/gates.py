"""Which engines a test needs, and whether their absence is a skip or a failure."""

from __future__ import annotations

import os

import pytest


def required() -> frozenset[str]:
    """Return the engines that PSYCHOEVAL_REQUIRE names (comma-separated): their tests must not be skipped."""
    return frozenset(filter(None, (e.strip() for e in os.environ.get("PSYCHOEVAL_REQUIRE", "").split(","))))


def check(engine: str) -> None:
    """Skip the running test with the doctor's reason where `engine` is missing, or fail where it is required."""
    from psychoeval.availability import probe

    state = probe(engine)
    if state.available:
        return
    message = f"{engine} is not available: {state.problem} {state.remedy}"
    if engine in required():
        pytest.fail(f"{message} (required by PSYCHOEVAL_REQUIRE)")
    pytest.skip(message)


def needs(*engines: str) -> pytest.MarkDecorator:
    """Mark a test or module as needing engines: ``pytestmark = needs("mirt")``."""
    return pytest.mark.needs(*engines)
