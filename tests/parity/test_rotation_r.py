"""Rotations against R: stats::varimax and GPArotation::oblimin, on loadings that R made."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.audit.rotation import oblimin, varimax
from tests.golden import reference
from tests.parity.tolerances import OBLIMIN, VARIMAX

R = reference("rotation")
UNROTATED = np.array(R["unrotated"])


def arranged(loadings: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Return R's columns in our order and with our signs, and that change as a matrix."""
    x = np.array(loadings)
    order = np.argsort(-(x**2).sum(axis=0))
    change = (np.eye(x.shape[1]) * np.sign((x**3).sum(axis=0)))[:, order]
    return x @ change, change


def test_varimax() -> None:
    rotated, rotation = varimax(UNROTATED)
    assert rotated == pytest.approx(arranged(R["varimax"])[0], abs=VARIMAX)
    assert UNROTATED @ rotation == pytest.approx(rotated, abs=1e-14)


@pytest.mark.parametrize(("name", "normalize"), [("oblimin", False), ("oblimin_kaiser", True)])
def test_oblimin(name: str, normalize: bool) -> None:
    pattern, correlation, rotation = oblimin(UNROTATED, normalize=normalize)
    expected, change = arranged(R[name]["loadings"])
    assert pattern == pytest.approx(expected, abs=OBLIMIN)
    assert correlation == pytest.approx(change.T @ np.array(R[name]["correlation"]) @ change, abs=OBLIMIN)
    # What loadings and factors say of the items is what it was before.
    assert pattern @ correlation @ pattern.T == pytest.approx(UNROTATED @ UNROTATED.T, abs=1e-12)
    assert pattern @ rotation.T == pytest.approx(UNROTATED, abs=1e-12)
