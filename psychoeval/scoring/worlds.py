"""Data sets as known items make them: at the observed cells, for these persons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.score_equations import KnownItems
from psychoeval.irt.score_posteriors import at_quantiles
from psychoeval.irt.simulate import simulate_counts
from psychoeval.responses.ids_and_counts import smallest_dtype
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring.matched import histogram

FloatArray = NDArray[np.float64]

#: Abilities that are held at a time: 32 MiB.
_HELD: Final = 2**22


def draw_worlds(
    responses: Responses, items: KnownItems, latent: LatentDistribution, generators: Sequence[np.random.Generator]
) -> Iterator[tuple[FloatArray, Responses]]:
    """Yield abilities (N,) and responses to these items, drawn anew, one data set a generator.

    Abilities are plausible values, one draw a person from its posterior given the responses and the items: they spread
    as abilities do (estimates spread less), and keep what the persons' missing cells have to do with ability. Cells and
    trials are those observed. A data set depends on its own generator alone, not on how many others are drawn.

    Parameters
    ----------
    responses : Responses
        N persons on the J items.
    items : KnownItems
        Theirs, in this order.
    latent : LatentDistribution
    generators : sequence of Generator

    Yields
    ------
    ability : (N,) array
        NaN for persons without responses.
    drawn : Responses
        With the ids of those given.
    """
    successes, trials, law = responses.successes, responses.trials, histogram(latent)
    step = max(1, _HELD // responses.n_persons)
    for start in range(0, len(generators), step):
        some = generators[start : start + step]
        uniform = np.stack([generator.random(responses.n_persons) for generator in some], axis=1)
        abilities = at_quantiles(successes, trials, items, uniform, mean=latent.mean, sd=latent.sd, law=law)
        for generator, theta in zip(some, abilities, strict=True):
            # Persons without responses have no ability and no trials.
            counts = simulate_counts(np.nan_to_num(theta), items.a, items.d, items.c, trials, generator)
            yield theta, replace(responses, successes=counts.astype(smallest_dtype(int(counts.max(initial=0)))))
