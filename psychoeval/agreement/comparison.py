"""Several fits of one data set beside each other, with a verdict for every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from psychoeval.agreement.alignment import standardised
from psychoeval.agreement.components import connection_words
from psychoeval.agreement.export import pair_content, parameter_rows, plain_number
from psychoeval.agreement.monte_carlo import cached_monte_carlo
from psychoeval.agreement.own_likelihood import cached_likelihoods
from psychoeval.agreement.own_mode import cached_modes
from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.agreement.prediction import Prediction, predictions
from psychoeval.agreement.rank_table import rank_table
from psychoeval.agreement.sampled import chains_words, prediction_content, prediction_lines, sampling_content
from psychoeval.agreement.scores import CachedScores
from psychoeval.agreement.thresholds import THRESHOLDS
from psychoeval.errors import NotComparableError
from psychoeval.fitting import FitFailure, Fits
from psychoeval.responses.connections import Connections, connections
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Fits, what gave no result, and every pair of fits compared.

    Parameters
    ----------
    fits : tuple of FitResult, length K
        As they came.
    names : tuple of str, length K
        What each is called in tables and pairs: its label, numbered where two are equal, or the name it was given.
    pairs : tuple of PairComparison, length K (K - 1) / 2
        In the order (1, 2), (1, 3), ..., (2, 3), ...
    failures : tuple of FitFailure
        Fits that gave no result.
    responses : Responses, optional
        What was fitted.
    predictions : tuple of Prediction
        Of sampled models with draws of each person's log-likelihood, two or more: how well each predicts persons left
        out, the best first.
    """

    fits: tuple[FitResult, ...]
    names: tuple[str, ...]
    pairs: tuple[PairComparison, ...]
    failures: tuple[FitFailure, ...] = ()
    responses: Responses | None = None
    predictions: tuple[Prediction, ...] = ()
    connections: Connections | None = None

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.fits)} fits, {len(self.failures)} without result; "
            "see summary(), verdict_table(), rank_table(), parameter_table()>"
        )

    @property
    def standardised(self) -> tuple[FitResult, ...]:
        """The fits in the frame in which the latent distribution is N(0, 1), as their identification implies.

        Fits whose frame is not known (imported tables) and proportions stay as they came. Nothing is estimated from
        the other fits: what is left between two of them is a difference.
        """
        return tuple(standardised(f)[0] for f in self.fits)

    def pair(self, first: str, second: str) -> PairComparison:
        """Return the comparison of two fits by name, in either order.

        Raises
        ------
        NotComparableError
            If there is none.
        """
        for found in self.pairs:
            if {found.first, found.second} == {first, second}:
                return found
        raise NotComparableError(f"There is no pair {first!r}, {second!r}.", f"The fits are {', '.join(self.names)}.")

    def verdict_table(self) -> pd.DataFrame:
        """Return one row a pair: ``first, second, verdict, tau_b, n_persons, n_items, reason``."""
        import pandas as pd

        rows = [
            {
                "first": p.first,
                "second": p.second,
                "verdict": p.verdict,
                "tau_b": None if p.ranks is None else p.ranks.kendall,
                "n_persons": p.persons.n,
                "n_items": p.items.n,
                "reason": p.reason,
            }
            for p in self.pairs
        ]
        table = pd.DataFrame(
            rows, columns=["first", "second", "verdict", "tau_b", "n_persons", "n_items", "reason"]
        )  # fmt: skip
        return table.astype({"tau_b": float})

    def rank_table(
        self, columns: Sequence[str] = ("rank", "estimate", "conf_low", "conf_high"), level: float = 0.95
    ) -> pd.DataFrame:
        """Return one row a person, best mean rank over the believed fits first.

        Parameters
        ----------
        columns : sequence of str
            Of ``rank`` (1 the best, ties at their mean rank), ``estimate``, ``conf_low``, ``conf_high``, for each fit;
            estimates are in the standard frame (`standardised`), proportions as they are.
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame
            ``person, mean_rank`` and ``<name> <column>``; intervals say nothing of each other unless
            `FitResult.abilities` agree in `uncertainty`. Where the data fall into components, ``component`` comes
            first and ranks are those within it: no column ranks persons across.
        """
        return rank_table(self.names, self.fits, columns, level)

    def parameter_table(self) -> pd.DataFrame:
        """Return one row a pair and parameter, raw and aligned.

        Returns
        -------
        DataFrame
            ``first, second, term, n``; ``correlation, mean_difference, largest_difference, rmsd`` and
            ``mean_in_errors, largest_in_errors`` of the aligned values, which decide; of sampled fits
            ``mean_in_monte_carlo, largest_in_monte_carlo``; ``raw_mean_difference,
            raw_largest_difference, raw_rmsd`` of the values as given; ``error_ratio``; ``scale, shift``, the
            transformation of the second onto the first; ``worst``, the id that differs most. First minus second.
        """
        import pandas as pd

        return pd.DataFrame([row for p in self.pairs for row in parameter_rows(p)])

    def summary(self) -> str:
        """Return the verdicts as text for a terminal."""
        lines = [f"{len(self.fits)} fits, {len(self.pairs)} pairs", *connection_words(self.connections)]
        lines += [
            f"  not believed: {n} ({f.convergence.status})" for n, f in self._named() if not f.convergence.believed
        ]
        lines += [f"  chains of {n}: {chains_words(f.sampling)}" for n, f in self._named() if f.sampling is not None]
        lines += [f"  no result: {f.label}: {f.problem}" for f in self.failures]
        for p in self.pairs:
            lines += ["", f"{p.first} / {p.second}: {p.verdict}", f"  {p.reason}"]
            lines += [f"  Note: {note}" for note in p.notes]
            if p.likelihood is not None and p.likelihood.words:
                lines += [f"  Log-likelihoods: {p.likelihood.advice}"]
        if self.predictions:
            lines += ["", *prediction_lines(self.predictions)]
        return "\n".join(lines)

    def _named(self) -> list[tuple[str, FitResult]]:
        return list(zip(self.names, self.fits, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the data as plain JSON content; NaN becomes None, infinities ``"inf"``, ``"-inf"``."""
        return {
            "fits": [
                {
                    "name": n,
                    "estimator": f.estimator,
                    "model": None if f.model is None else f.model.label,
                    "status": f.convergence.status,
                    "believed": f.convergence.believed,
                    "failures": list(f.convergence.failures),
                    "warnings": list(f.convergence.warnings),
                    "log_likelihood": plain_number(f.log_likelihood),
                    "log_likelihood_kind": f.log_likelihood_kind,
                    "n_parameters": f.n_parameters,
                    "seconds": plain_number(f.provenance.seconds),
                    "sampling": None if f.sampling is None else sampling_content(f.sampling),
                }
                for n, f in self._named()
            ],
            "failures": [
                {"fit": f.label, "kind": f.kind, "problem": f.problem, "remedy": f.remedy} for f in self.failures
            ],
            "pairs": [pair_content(p) for p in self.pairs],
            "connections": None if self.connections is None else self.connections.to_dict(),
            "predictions": [prediction_content(p) for p in self.predictions],
            "ranks": [
                {str(k): plain_number(v) for k, v in row.items()} for row in self.rank_table().to_dict("records")
            ],
            "thresholds": {k: {"value": t.value, "about": t.about, "reason": t.reason} for k, t in THRESHOLDS.items()},
        }


def compare(
    fits: Fits | Sequence[FitResult] | Mapping[str, FitResult], *, responses: Responses | None = None
) -> Comparison:
    """Compare fits of one data set, pair by pair.

    Persons and items are matched by id. Direction, origin and unit are aligned first, by the transformation law
    theta* = A theta + B and by what the models' identification implies; a further estimated shift or scale is itself a
    finding and gives at best ``agree up to shift`` or ``scale``. Proportions are compared with logits by ranks and
    expected scores only. Different models and priors are a named difference, never plain disagreement. A fit that is
    not believed is shown and counts for no agreement. The numbers that decide are in
    `psychoeval.agreement.thresholds`.

    Parameters
    ----------
    fits : Fits, sequence of FitResult, or mapping of name to FitResult
    responses : Responses, optional
        What was fitted; taken from `fits` where it is a `Fits`.

    Returns
    -------
    Comparison

    Raises
    ------
    NotComparableError
        If there is no fit, or something else stands among them.
    """
    given = named_fits(fits, responses)
    names, results = given.names, given.fits
    if not results and not given.failures:
        raise NotComparableError("There is no fit to compare.", "Give two or more; fit_many makes several at once.")
    responses = given.responses
    scores, own = CachedScores(), cached_likelihoods(responses)
    modes, noise = cached_modes(responses), cached_monte_carlo()
    pairs = tuple(
        compare_pair((names[i], names[k]), (results[i], results[k]), responses, scores, own, modes, noise)
        for i, k in combinations(range(len(results)), 2)
    )
    linked = None if responses is None else connections(responses)
    return Comparison(results, names, pairs, given.failures, responses, predictions(names, results), linked)


class NamedFits(NamedTuple):
    """Fits with a name each, what gave no result, and what was fitted."""

    names: tuple[str, ...]
    fits: tuple[FitResult, ...]
    failures: tuple[FitFailure, ...]
    responses: Responses | None


def named_fits(
    fits: Comparison | Fits | Sequence[FitResult] | Mapping[str, FitResult], responses: Responses | None = None
) -> NamedFits:
    """Return fits in whatever form they come, each with a name: its label, numbered where two are equal, or the given.

    Raises
    ------
    NotComparableError
        If something else stands among them.
    """
    if isinstance(fits, Comparison):
        return NamedFits(fits.names, fits.fits, fits.failures, fits.responses if responses is None else responses)
    if isinstance(fits, Fits):
        labels = _distinct([f.label for f in fits.results])
        return NamedFits(labels, fits.results, fits.failures, fits.responses if responses is None else responses)
    if isinstance(fits, Mapping):
        return NamedFits(tuple(str(n) for n in fits), _checked(tuple(fits.values())), (), responses)
    results = _checked(tuple(fits))
    return NamedFits(_distinct([f.label for f in results]), results, (), responses)


def _checked(results: tuple[FitResult, ...]) -> tuple[FitResult, ...]:
    for k, found in enumerate(results, 1):
        if not isinstance(found, FitResult):
            raise NotComparableError(
                f"Number {k} of the fits is a {type(found).__name__}.",
                "Give FitResults; import_fit makes one of another program's tables.",
            )
    return results


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels, numbered where they occur more than once."""
    seen: dict[str, int] = {}
    out = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        out.append(f"{label} ({seen[label]})" if labels.count(label) > 1 else label)
    return tuple(out)
