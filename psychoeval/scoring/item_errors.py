"""What the errors of known items add to the variance of what is computed from them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import DataError
from psychoeval.irt.parameters import AbilityMethod, ItemParameters
from psychoeval.irt.quadrature import Grid
from psychoeval.irt.score_uncertainty import (
    Gradients,
    added_variance,
    added_variance_joint,
    mean_gradients,
    root_gradients,
)
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring.matched import Matched
from psychoeval.wording import some

FloatArray = NDArray[np.float64]
_KINDS: Final = {"a": 0, "d": 1, "c": 2}


def check_errors(items: ItemParameters, index: NDArray[np.intp]) -> None:
    """Refuse items without a covariance.

    Parameters
    ----------
    items : ItemParameters
    index : integer array
        Positions of the items that take part.

    Raises
    ------
    DataError
        Naming them.
    """
    if items.covariance is None:
        raise DataError(
            f"The items have no covariance. {items.no_errors_because}".strip(),
            "Fit them with standard errors, or score with item_uncertainty=False.",
        )
    bad = np.asarray(~np.isfinite(items.covariance[index]).all(axis=(1, 2)), dtype=bool)
    if bad.any():
        names = [items.item_ids[i] for i in index[bad]]
        raise DataError(
            f"{len(names)} of {bad.size} items have no covariance: {some(names)}.",
            "Leave them out, or score with item_uncertainty=False.",
        )


def ability_gradients(
    found: Matched, estimate: FloatArray, method: AbilityMethod, latent: LatentDistribution, law: Grid | None
) -> Gradients:
    """Return the derivatives of abilities by the items that take part, in blocks of persons, (3, B, J)."""
    x, n = found.responses.successes, found.responses.trials
    if method == "EAP":
        return mean_gradients(x, n, found.items, mean=latent.mean, sd=latent.sd, law=law)
    precision = latent.sd**-2.0 if method == "MAP" else 0.0
    return root_gradients(x, n, estimate, found.items, precision=precision)


def carried_variance(
    n_persons: int, gradients: Gradients, items: ItemParameters, index: NDArray[np.intp]
) -> FloatArray:
    """Return the variance that the items' errors add, (N,).

    Parameters
    ----------
    n_persons : int
    gradients : iterator
        Of derivatives by the items at `index`.
    items : ItemParameters
        With a covariance (`check_errors`); a joint one is used where there is one.
    index : (J,) integer array
    """
    assert items.covariance is not None
    blocks = items.covariance[index]
    if items.joint_covariance is None:
        return added_variance(n_persons, gradients, blocks)
    place = {items.item_ids[i]: k for k, i in enumerate(index)} | {"": -1}
    # The common slope of a Rasch model is its latent SD there, while the items' own slopes are 1 and have no variance.
    free = {term: bool((blocks[:, k, k] > 0).any()) for term, k in _KINDS.items()}
    used = np.array(
        [p for p, (name, term) in enumerate(items.joint_labels) if name in place and free[term]], dtype=np.intp
    )
    labels = [items.joint_labels[p] for p in used]
    kind = np.array([_KINDS[term] for _, term in labels], dtype=np.intp)
    item = np.array([place[name] for name, _ in labels], dtype=np.intp)
    return added_variance_joint(n_persons, gradients, items.joint_covariance[np.ix_(used, used)], kind, item)
