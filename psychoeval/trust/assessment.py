"""Can this ranking be trusted? The fit, the evidence and the verdict in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psychoeval.agreement.matching import check_responses
from psychoeval.audit.settings import check_level
from psychoeval.errors import ConvergenceWarning, DataError, NotComparableError, SettingsError
from psychoeval.estimators.base import Estimator
from psychoeval.estimators.settings import check_seed, check_whole
from psychoeval.fitting import fit as fit_one
from psychoeval.responses.connections import ComponentChoice, select_component
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from psychoeval.studies.store import RowStore
from psychoeval.trust.claims import Claim
from psychoeval.trust.conditions import describe_conditions
from psychoeval.trust.evidence import Evidence
from psychoeval.trust.guessing import guessing_gain
from psychoeval.trust.item_bootstrap import rank_over_items
from psychoeval.trust.other_orders import OTHERS, agreement_with, parsed
from psychoeval.trust.ranking import rank
from psychoeval.trust.refitting import check_by_refitting
from psychoeval.trust.thresholds import SYSTEMS, SYSTEMS_FOR_ITEMS
from psychoeval.trust.verdict import claims, facts

if TYPE_CHECKING:
    import pandas as pd

    from psychoeval.agreement.comparison import Comparison

#: Larger data of a comparison are not assessed: 100 refits would take minutes.
MOST_CELLS: Final = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What may be claimed of a data set, and what that rests on.

    Parameters
    ----------
    claims : tuple of Claim
        Ranking of all, the best k, neighbors, pairs told apart, difficulties, discriminations, removing items.
    evidence : Evidence
    """

    claims: tuple[Claim, ...]
    evidence: Evidence

    def __getitem__(self, name: str) -> Claim:
        """Return a claim by its name."""
        for claim in self.claims:
            if claim.name == name:
                return claim
        raise KeyError(name)

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known beside the claims, in sentences: orders of others, the simple average, skewness."""
        return facts(self.evidence)

    def __repr__(self) -> str:
        grades = ", ".join(f"{c.name} {c.grade}" for c in self.claims)
        return f"<Assessment of {self.evidence.responses.name} by {self.evidence.fit.label}: {grades}>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row a claim: ``statement, grade, because, change``; the reasons are those that decide."""
        import pandas as pd

        rows = {
            c.name: {
                "statement": c.statement,
                "grade": c.grade,
                "because": " ".join(r.words for r in c.deciding),
                "change": "; ".join(dict.fromkeys(r.change for r in c.against if r.change)),
            }
            for c in self.claims
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")

    def to_dict(self) -> dict[str, Any]:
        """Return claims with all their reasons, conditions, recovery, likeness and ranking, as JSON takes them."""
        found = self.evidence
        refitting = found.refitting
        return {
            "data": found.responses.name,
            "fit": found.fit.label,
            "claims": [
                {"claim": c.name, "statement": c.statement, "grade": c.grade,
                 "reasons": [{f: getattr(r, f) for f in ("words", "allows", "change", "threshold")} for r in c.reasons]}
                for c in self.claims
            ],
            "facts": list(self.facts),
            "conditions": found.conditions.to_frame().astype({"met": object}).reset_index().to_dict("records"),
            "recovery": [] if refitting is None else refitting.recovery().reset_index().to_dict("records"),
            "likeness": [] if refitting is None else refitting.likeness().reset_index().to_dict("records"),
            "refits": None if refitting is None else refitting.n_believed,
            "failure_rate": None if refitting is None else refitting.failure_rate,
            "ranking": [] if found.ranking is None else found.ranking.to_frame().reset_index().to_dict("records"),
            "ranking_over_items":
                [] if found.over_items is None else found.over_items.to_frame().reset_index().to_dict("records"),
            "agreement": dict(found.agreement),
            "agreement_forced": list(found.forced),
            "guessing": found.guessing,
            "missing": dict(found.missing),
        }  # fmt: skip


def assess(
    responses: Responses,
    estimator: str | Estimator = "mml",
    model: str | None = None,
    *,
    fit: FitResult | None = None,
    top: int = 3,
    others: Sequence[str] = OTHERS,
    cluster: str | None = None,
    component: ComponentChoice | None = None,
    replications: int = 100,
    level: float = 0.95,
    n_jobs: int = 1,
    seed: int = 0,
    store: RowStore | None = None,
) -> Assessment:
    """Say what may be claimed of these data: supported, with care, or not supported, with reasons.

    One fit is judged by its conditions (`describe_conditions`), the uncertainty of its ranking for these items (`rank`)
    and for items like these (`rank_over_items`), what it recovers of data simulated from it (`check_by_refitting`), and
    the order of other estimators. A claim has the worst grade that one of its reasons leaves; the limits are in
    `psychoeval.trust.thresholds`, each with its source. Means over refits are held to them at the lower end of their
    95% interval, so that noise never raises a grade, and the order of all at the lower limit of a single data set;
    fewer than 20 refits support nothing. Systems that are alike count as the number of independent ones. A part that
    cannot be had says why, and costs the others nothing.

    Parameters
    ----------
    responses : Responses
    estimator : str or Estimator
    model : str, optional
        By default a 2PL from 100 systems on and Rasch below: few systems do not tell slopes.
    fit : FitResult, optional
        A fit of these data to judge, in place of estimator and model.
    top : int
        How many are the best ones.
    others : sequence of str
        Estimators whose order is set beside, with a model where they need one and it is not that of the fit:
        ``"additive"``, ``"mml 2PL"``. The fit itself is left out. Of complete data, simple averages and fits with equal
        slopes all go by the sum of right answers; that they agree is said to show nothing.
    cluster : str, optional
        Column of `responses.items` whose items are drawn together, as in `rank_over_items`.
    component : int or "largest", optional
        Of data that fall into components, the one to judge, as in `select_component`.
    replications : int
        Refits.
    level : float
    n_jobs, seed, store
        As in `check_by_refitting`.

    Returns
    -------
    Assessment

    Raises
    ------
    DataError
        For responses that are none, or data that cannot be fitted.
    ModelError, NotComparableError, SettingsError
        As `fit` and the parts raise them for settings out of range.
    """
    check_responses(responses)
    check_level(level)
    check_whole(replications=replications, n_jobs=n_jobs, top=top)
    check_seed(seed)
    if component is not None:
        if fit is not None:
            raise SettingsError(
                "fit and component are both given.",
                "Give the fit of that component, and its responses: select_component(responses, component).",
            )
        responses = select_component(responses, component)
    if top >= responses.n_persons:
        raise SettingsError(
            f"top is {top}, and there are {responses.n_persons} {responses.person_label}s.", "Give a smaller number."
        )
    asked = [parsed(label) for label in others]
    judged = fit if fit is not None else _fitted(responses, estimator, model)
    conditions = describe_conditions(responses, judged, level=level, seed=seed)
    missing: dict[str, str] = {}

    def part(name: str, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except (NotComparableError, DataError) as error:
            missing[name] = f"{error.problem} {error.remedy}"
            return None

    agreement, forced = agreement_with(asked, responses, judged, missing)
    guesses = judged.model is not None and judged.model.name != "3PL" and responses.n_persons >= SYSTEMS.value
    gain = part("guessing", lambda: guessing_gain(responses)) if guesses else None
    found = Evidence(
        responses,
        judged,
        conditions,
        part("ranking", lambda: rank(judged, level=level, seed=seed)),
        part("over_items", lambda: rank_over_items(responses, cluster=cluster, level=level, seed=seed)),
        part("refitting", lambda: check_by_refitting(
            responses, judged, replications=replications, level=level, n_jobs=n_jobs, seed=seed, store=store)),
        agreement,
        missing,
        forced,
        float("nan") if gain is None else gain,
    )  # fmt: skip
    return Assessment(claims(found, top), found)


def assess_comparison(comparison: Comparison) -> Assessment:
    """Say what may be claimed by the first believed `mml` fit of a comparison, as `assess` does with its defaults.

    Raises
    ------
    NotComparableError
        Without such a fit or the responses, for fewer than four persons, or more than 200,000 cells.
    """
    responses = comparison.responses
    judged = [f for f in comparison.fits if f.estimator == "mml" and f.convergence.believed]
    if responses is None or not judged:
        raise NotComparableError("The comparison holds no believed fit of mml, or no data.", "Run psychoeval trust.")
    if responses.n_persons < 4:
        raise NotComparableError("Fewer than four persons have no three best ones.", "Run psychoeval trust --top 1.")
    if responses.trials.size > MOST_CELLS:
        raise NotComparableError("Refits of so many cells take long.", "Run psychoeval trust.")
    return assess(responses, fit=judged[0])


def _fitted(responses: Responses, estimator: str | Estimator, model: str | None) -> FitResult:
    if model is None:
        model = "2PL" if responses.n_persons >= SYSTEMS_FOR_ITEMS.value else "Rasch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a condition says it
        return fit_one(responses, estimator, model)
