"""Varimax against R's ``stats::varimax``."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from psychoeval.audit.rotation import varimax
from tests.parity.tolerances import VARIMAX

pytestmark = pytest.mark.needs("r")


@pytest.mark.parametrize("normalize", [True, False])
def test_varimax(normalize: bool) -> None:
    rng = np.random.default_rng(3)
    simple = np.zeros((40, 4))
    simple[np.arange(40), rng.integers(0, 4, 40)] = rng.uniform(0.3, 0.9, 40)
    loadings = (simple + rng.normal(0, 0.1, simple.shape)) @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    values = ",".join(f"{v:.17g}" for v in loadings.ravel())
    code = (
        f"x <- matrix(c({values}), ncol=4, byrow=TRUE); "
        f"r <- varimax(x, normalize={str(normalize).upper()}, eps=1e-14)$loadings; "
        'cat(sprintf("%.17g", t(unclass(r))), sep="\\n")'
    )
    done = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=True, timeout=60)
    theirs = np.array([float(x) for x in done.stdout.split()]).reshape(40, 4)
    ours, _ = varimax(loadings, normalize=normalize)
    # Columns are determined up to order and sign.
    match = np.abs(ours.T @ theirs).argmax(axis=1)
    sign = np.sign(np.einsum("jk,jk->k", ours, theirs[:, match]))
    assert sorted(match.tolist()) == [0, 1, 2, 3]
    assert ours == pytest.approx(theirs[:, match] * sign, abs=VARIMAX)
