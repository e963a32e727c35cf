"""Whether weak systems seem to guess: a 3PL beside a 2PL, which refits of a 2PL cannot tell."""

from __future__ import annotations

import warnings

from psychoeval.errors import ConvergenceWarning, NotComparableError, PsychoevalError
from psychoeval.fitting import fit as fit_one
from psychoeval.responses.matrix import Responses


def guessing_gain(responses: Responses) -> float:
    """Return by how much a 3PL raises the log-likelihood of a 2PL, both by `mml` with its default priors.

    The 3PL holds c near .25 (logit c ~ N(-1.1, .5)): where nobody guesses it fits worse, and more so the more data
    there are. Refits cannot show it: data simulated from a 2PL have no guessing, and a 2PL takes much of it into its
    slopes.

    Raises
    ------
    NotComparableError
        If one of the fits is not to be believed.
    """
    values = []
    for model in ("2PL", "3PL"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is said below
                found = fit_one(responses, "mml", model)
        except PsychoevalError as error:
            raise NotComparableError(error.problem, error.remedy) from error
        if not found.convergence.believed or found.log_likelihood is None:
            raise NotComparableError(
                f"The fit of a {model} is not to be believed: {found.convergence.status.replace('_', ' ')}.",
                "Give more responses.",
            )
        values.append(found.log_likelihood)
    return values[1] - values[0]
