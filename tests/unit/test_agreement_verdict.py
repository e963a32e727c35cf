"""The verdict of pairs with known differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psychoeval.agreement import thresholds
from psychoeval.agreement.pair import PairComparison, compare_pair
from psychoeval.agreement.relation import relate
from psychoeval.irt.models import ItemModel, Normal, Priors
from psychoeval.irt.parameters import Abilities
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution
from psychoeval.results.provenance import Provenance
from tests.unit.agreement_fits import J, N, ids, made, proportions, with_items, with_theta

WEAK = ItemModel("2PL", Priors(log_discrimination=Normal(0, 0.5)))


def pair(first: FitResult, second: FitResult, responses: Responses | None = None) -> PairComparison:
    return compare_pair(("one", "two"), (first, second), responses)


def test_equal_fits_agree() -> None:
    found = pair(made(), made("mirt-em"))
    assert found.verdict == "agree"
    assert found.kind == "same likelihood"
    assert found.ranks is not None
    assert found.ranks.kendall == 1.0
    assert found.notes == ()


@pytest.mark.parametrize(("off", "verdict"), [(0.0029, "agree"), (0.0031, "agree up to convergence")])
def test_two_maxima_of_one_likelihood_are_held_to_the_numerical_tolerance(off: float, verdict: str) -> None:
    away = np.where(np.arange(J) == 3, off, 0.0)
    assert pair(made(), with_items(made(), d=lambda d: d + away)).verdict == verdict


def test_two_maxima_of_one_likelihood_far_apart_disagree_whatever_the_ranks() -> None:
    away = np.where(np.arange(J) % 2, 0.12, -0.12)  # 1.2 standard errors, in no common direction
    found = pair(made(), with_items(made(), d=lambda d: d + away))
    assert found.ranks is not None
    assert found.ranks.kendall == 1.0
    assert found.verdict == "disagree"
    assert "over the limit" in found.reason
    assert found.alignment.freedom == "none"


@pytest.mark.parametrize(
    ("scale", "shift", "verdict"),
    [
        (1.0, 0.2, "agree up to shift"),
        (1.2, 0.0, "agree up to scale"),
        (1.2, 0.2, "agree up to scale and shift"),
    ],
)
def test_a_further_transformation_is_a_finding(scale: float, shift: float, verdict: str) -> None:
    from psychoeval.agreement.alignment import Transformation

    moved = replace(Transformation(scale, shift).inverse.fit(made()), latent_distribution=LatentDistribution())
    found = pair(made(), moved)
    assert found.verdict == verdict
    assert "that is a finding" in found.reason
    estimated = found.alignment.estimated
    assert (estimated.scale, estimated.shift) == pytest.approx((scale, shift), abs=1e-12)
    term = found.term("intercept" if shift else "discrimination")
    assert term is not None
    assert abs(term.raw.largest) > 0.1
    assert abs(term.aligned.largest) < 1e-12


def test_what_identification_implies_is_no_finding() -> None:
    """The same answer on the scale of a latent N(0.5, 2)."""
    from psychoeval.agreement.alignment import Transformation

    other = Transformation(2.0, 0.5).fit(made())
    found = pair(made(), other)
    assert found.verdict == "agree"
    law = found.alignment.second_onto_first
    assert (law.scale, law.shift) == pytest.approx((0.5, -0.25))
    raw = found.term("ability")
    assert raw is not None
    assert raw.raw.rmsd > 0.5


def test_rasch_and_1pl_are_one_model() -> None:
    one = with_items(made(model=ItemModel("1PL")), a=lambda a: np.full(J, 1.5))
    rasch = with_items(
        made(model=ItemModel("Rasch"), latent_distribution=LatentDistribution(0, 1.5)), a=lambda a: np.ones(J)
    )
    rasch = with_theta(rasch, lambda t: 1.5 * t, standard_error=np.full(N, 0.45))
    assert pair(one, rasch).verdict == "agree"
    assert pair(rasch, one).verdict == "agree"
    assert pair(one, replace(rasch, latent_distribution=LatentDistribution(0, 1.8))).verdict != "agree"


def test_a_fit_that_is_not_believed_is_shown_and_never_agrees() -> None:
    failed = made("mirt-em", convergence=Convergence("failed_check", failures=("12 items ran away.",)))
    found = pair(made(), failed)
    assert found.verdict == "not comparable"
    assert found.reason == "two is not believed (failed_check): 12 items ran away."
    assert found.terms
    assert found.ranks is not None
    stopped = made("mirt-em", convergence=Convergence("iteration_limit"))
    assert pair(stopped, made()).reason.startswith("one is not believed (iteration_limit): it stopped at its iter")
    assert pair(failed, failed).verdict == "not comparable"


@pytest.mark.parametrize("status", ["failed_check", "iteration_limit"])
def test_an_unbelieved_fit_full_of_nan_is_survived(status: str) -> None:
    nan = with_items(made(), a=lambda a: np.full(J, np.nan), d=lambda d: np.full(J, np.nan))
    nan = with_theta(nan, lambda t: np.full(N, np.nan))
    nan = replace(
        nan, convergence=Convergence(status), latent_distribution=LatentDistribution(np.nan, np.nan),  # type: ignore[arg-type]
        log_likelihood=np.nan,
    )  # fmt: skip
    found = pair(made(), nan)
    assert found.verdict == "not comparable"
    assert found.ranks is None


def test_different_priors_are_a_named_difference() -> None:
    near = pair(made(model=WEAK), with_items(made(), d=lambda d: d + 0.02))
    assert near.verdict == "agree up to priors"
    assert near.kind == "objective"
    assert near.reason.startswith("Different priors, so a different model: 2PL [log a ~ N(0, 0.5)] against 2PL.")
    far = with_theta(with_items(made(), d=lambda d: d[::-1]), lambda t: t[::-1].copy())
    found = pair(made(model=WEAK), far)
    assert found.verdict == "not comparable"
    assert found.reason.startswith("Different priors")


def test_different_models_compare_by_ranks_and_never_disagree() -> None:
    rasch = made(model=ItemModel("Rasch"))
    near = pair(rasch, made())
    assert near.verdict == "agree up to ranks"
    assert near.reason.startswith("Different model: Rasch against 2PL. Ranks: tau-b 1.000")
    rng = np.random.default_rng(0)
    far = pair(rasch, with_theta(made(), lambda t: rng.permutation(t)))
    assert far.verdict == "not comparable"


def test_a_population_of_items_is_named_where_the_model_has_no_priors() -> None:
    population = made("random-item", log_likelihood_kind="item_marginal")
    found = pair(made(model=ItemModel("2PL", Priors(log_discrimination=Normal(0, 0.5)))), population)
    assert "2PL [log a ~ N(0, 0.5)] against 2PL with a population of items." in found.reason


def test_a_rasch_model_with_priors_differs_from_one_without_by_its_priors() -> None:
    one = with_items(made(model=ItemModel("Rasch", Priors(difficulty=Normal(0, 2)))), a=lambda a: np.ones(J))
    two = with_items(made(model=ItemModel("Rasch")), a=lambda a: np.ones(J))
    assert pair(one, two).verdict == "agree up to priors"
    common = with_items(made(model=ItemModel("1PL")), a=lambda a: np.ones(J))
    assert pair(one, common).verdict == "agree up to ranks"  # the prior is on another scale


def test_a_guessing_fixed_or_free_is_a_different_model() -> None:
    free, fixed = ItemModel("3PL", None, "free"), ItemModel("3PL", None, 0.2)
    c = np.full(J, 0.2)
    found = pair(with_items(made(model=free), guessing=c), with_items(made(model=fixed), guessing=c))
    assert found.verdict == "agree up to priors"
    assert found.term("guessing") is not None


def simulated(away: np.ndarray) -> FitResult:
    return replace(with_items(made("mirt-mhrm"), d=lambda d: d + away), log_likelihood_kind="simulated")


@pytest.mark.parametrize(("both", "mean", "largest"), [(False, 0.32, 0.64), (True, 0.45, 0.91)])
def test_simulated_fits_are_held_to_the_error_of_their_seeds(both: bool, mean: float, largest: float) -> None:
    first = simulated(np.zeros(J)) if both else made()
    signs = np.where(np.arange(J) % 2, 1, -1)
    one_item = np.where(np.arange(J) == 3, 1.0, 0.1 * signs)  # no common direction
    for size, verdict in ((0.99, "agree"), (1.01, "disagree")):  # a standard error is .1
        found = pair(first, simulated(0.1 * size * largest * one_item))
        assert (found.kind, found.verdict) == ("both simulated" if both else "simulated", verdict)
        found = pair(first, simulated(0.1 * size * mean * signs))
        assert found.verdict == verdict
        assert ("fit again with other seeds" in found.reason) == (verdict == "disagree")


@pytest.mark.parametrize(("slope", "verdict"), [(1.109, "agree"), (1.111, "agree up to scale")])
def test_one_common_slope_is_one_parameter_and_no_average(slope: float, verdict: str) -> None:
    model = ItemModel("1PL")
    one = with_items(made(model=model, ability_error=1.0), a=lambda a: np.ones(J))
    two = with_items(made("mirt-mhrm", model=model, ability_error=1.0), a=lambda a: np.full(J, slope))
    two = with_theta(replace(two, log_likelihood_kind="simulated"), lambda t: t / slope)
    found = pair(one, two)
    assert found.verdict == verdict  # 1.1 SE
    assert "that is a finding" not in found.reason


def test_joint_and_marginal_maximize_different_functions() -> None:
    joint = replace(made("map", model=WEAK), log_likelihood_kind="joint")
    near = pair(replace(joint, model=ItemModel("2PL")), made())
    assert (near.kind, near.verdict) == ("objective", "agree")
    signs = np.where(np.arange(J) % 2, 0.04, -0.04)
    far = pair(with_items(replace(joint, model=ItemModel("2PL")), d=lambda d: d + signs), made())
    assert far.verdict == "agree up to ranks"
    rng = np.random.default_rng(0)
    scrambled = with_theta(replace(joint, model=ItemModel("2PL")), lambda t: rng.permutation(t))
    assert pair(scrambled, made()).verdict == "disagree"


def test_a_posterior_is_held_to_its_own_limits() -> None:
    sampled = replace(
        with_items(made("stan-hmc"), d=lambda d: d + 0.02), convergence=Convergence("sampled"), log_likelihood=None,
        log_likelihood_kind=None,
    )  # fmt: skip
    found = pair(sampled, made())
    assert (found.kind, found.verdict) == ("posterior", "agree")


def test_other_scoring_is_named_where_only_the_abilities_differ() -> None:
    ml = with_theta(made(), lambda t: np.where(np.arange(N) == N - 1, np.inf, 1.4 * t), method="ML")
    found = pair(made(), ml)
    assert found.verdict == "agree up to scoring"
    assert "EAP against ML" in found.reason
    assert any("Infinite abilities: 0 persons in both fits" in n and "1 in one fit only" in n for n in found.notes)


def test_infinite_in_both_is_equal_and_in_one_is_not() -> None:
    both = with_theta(made(), lambda t: np.where(np.arange(N) == N - 1, np.inf, t), method="ML")
    assert pair(both, both).verdict == "agree"
    term = pair(both, both).term("ability")
    assert term is not None
    assert (term.infinite_in_both, term.aligned.n) == (1, N - 1)
    one = with_theta(made(), lambda t: t, method="ML")
    assert pair(both, one).verdict == "disagree"


def test_proportions_compare_by_ranks_and_expected_scores_only() -> None:
    found = pair(proportions(), made())
    assert found.verdict == "agree up to ranks"
    assert {t.term for t in found.terms} == {"expected_score"}
    assert found.alignment.freedom == "none"
    swapped = pair(proportions(change=lambda p: p[::-1].copy()), made())
    assert swapped.verdict == "disagree"
    assert "tau-b -1.000" in swapped.reason


def test_proportions_among_themselves() -> None:
    assert pair(proportions(), proportions("additive")).verdict == "agree"
    close = pair(proportions(), proportions("additive", lambda p: p + 0.001))
    assert close.verdict == "agree up to ranks"
    term = close.term("expected_score")
    assert term is not None
    assert term.aligned.largest == pytest.approx(-0.001)


def test_unlike_errors_of_persons_are_noted() -> None:
    sampled = with_theta(made(), lambda t: t, uncertainty="items sampled")
    found = pair(made(), sampled)
    assert "not set side by side (one: items fixed, two: items sampled)" in " ".join(found.notes)
    term = found.term("ability")
    assert term is not None
    assert term.error_ratio is None


def reordered(fit: FitResult) -> FitResult:
    rng = np.random.default_rng(8)
    assert fit.item_parameters is not None
    assert fit.abilities is not None
    rows, order = rng.permutation(N), rng.permutation(J)
    a = fit.abilities
    assert a.standard_error is not None
    abilities = Abilities(tuple(a.person_ids[i] for i in rows), a.estimate[rows], a.standard_error[rows], "EAP")
    return replace(
        fit, abilities=abilities, item_parameters=fit.item_parameters.select(order),
        provenance=Provenance(data_sha256="other order"),
    )  # fmt: skip


def test_matching_is_by_id_and_never_by_position() -> None:
    found = pair(made(), reordered(made()))
    assert found.verdict == "agree"
    assert all(t.aligned.largest == 0 for t in found.terms if t.term != "expected_item_score")


def test_common_ids_are_compared_and_the_others_listed() -> None:
    small = made()
    assert small.item_parameters is not None
    fewer = replace(small, item_parameters=small.item_parameters.select(np.arange(J) > 1))
    found = pair(made(), fewer)
    assert found.items.only_first == ("i0", "i1")
    assert found.items.n == J - 2
    assert "2 items only in one: 'i0', 'i1'." in found.notes
    assert found.verdict == "agree"


def test_other_data_for_certain_is_a_named_difference() -> None:
    small = made(provenance=Provenance(data_sha256="fewer items"))
    assert small.item_parameters is not None
    fewer = replace(small, item_parameters=small.item_parameters.select(np.arange(J) > 1))
    assert pair(made(), fewer).verdict == "agree up to data"
    rng = np.random.default_rng(0)
    away = with_items(with_theta(fewer, lambda t: rng.permutation(t)), d=lambda d: d + rng.normal(size=J - 2))
    found = pair(made(), away)
    assert found.verdict == "not comparable"
    assert found.reason.startswith("Fitted to different data.")


def test_nothing_in_common() -> None:
    a = made()
    assert a.abilities is not None
    assert a.item_parameters is not None
    strangers = replace(
        a, abilities=replace(a.abilities, person_ids=ids("q", N)),
        item_parameters=replace(a.item_parameters, item_ids=ids("k", J)),
    )  # fmt: skip
    found = pair(a, strangers)
    assert found.verdict == "not comparable"
    assert "no person and no item in common" in found.reason
    only_items, only_persons = replace(a, abilities=None), replace(a, item_parameters=None)
    assert pair(only_items, only_persons).verdict == "not comparable"


def test_a_reflected_fit_is_turned_round_and_it_is_said() -> None:
    from psychoeval.agreement.alignment import Transformation

    reflected = Transformation(-1.0, 0.0).fit(made())
    found = pair(made(), reflected)
    assert found.verdict == "agree up to direction"
    assert found.alignment.turned == ("two was turned round (theta -> -theta): most of its slopes are negative.",)
    assert found.alignment.second_onto_first.scale == -1.0
    assert found.ranks is not None
    assert found.ranks.kendall == 1.0
    assert pair(reflected, made()).verdict == "agree up to direction"


def test_abilities_without_items_are_turned_by_the_observed_proportions() -> None:
    bare = replace(made(), item_parameters=None)
    backwards = with_theta(bare, lambda t: -t)
    x = (np.arange(N)[:, None] > np.linspace(0, N, J)).astype(float)  # persons are sorted by ability
    responses = Responses.from_array(x, person_ids=list(ids("p", N)), item_ids=list(ids("i", J)))
    with_data = pair(bare, backwards, responses)
    assert "observed proportions" in with_data.alignment.turned[0]
    assert with_data.verdict == "agree up to direction"
    alone = pair(bare, backwards)
    assert alone.alignment.turned[0].startswith("two was turned round")
    assert alone.verdict == "agree up to direction"


def test_locations_that_run_against_each_other_raise_the_question_and_are_not_turned() -> None:
    flipped = with_items(made(), d=lambda d: -d)
    found = pair(replace(made(), abilities=None), replace(flipped, abilities=None))
    assert found.verdict == "disagree"
    assert "a sign convention?" in found.reason
    assert any("parametrization='easiness'" in n for n in found.notes)
    assert found.alignment.turned == ()


def test_without_errors_a_tenth_of_the_sd_decides() -> None:
    def bare(fit: FitResult) -> FitResult:
        assert fit.item_parameters is not None
        assert fit.abilities is not None
        return replace(
            fit, item_parameters=replace(fit.item_parameters, covariance=None),
            abilities=replace(fit.abilities, standard_error=None), log_likelihood_kind=None, log_likelihood=None,
        )  # fmt: skip

    one = bare(made())
    assert one.item_parameters is not None
    spread = float(one.item_parameters.intercept.std())
    signs = np.where(np.arange(J) % 2, spread, -spread)
    near = pair(one, with_items(one, d=lambda d: d + 0.06 * signs))
    assert (near.kind, near.verdict) == ("unknown", "agree")
    far = pair(one, with_items(one, d=lambda d: d + 0.11 * signs))
    assert far.verdict == "agree up to ranks"


def test_every_threshold_has_its_reason() -> None:
    named = {n: v for n, v in vars(thresholds).items() if isinstance(v, thresholds.Threshold)}
    assert named == thresholds.THRESHOLDS
    for found in named.values():
        assert len(found.reason) > 20
        assert len(found.about) > 10


def test_another_latent_law_is_a_named_difference_and_no_disagreement() -> None:
    nodes = np.linspace(-3, 3, 7)
    weights = np.full(7, 1 / 7)
    law = LatentDistribution(0.0, 1.0, nodes, weights)
    normal = made()
    assert normal.latent_distribution is not None
    relation = relate(normal, replace(normal, latent_distribution=law))
    assert relation.differences == {"latent distribution": "different latent distributions: normal against empirical"}
    assert relation.kind == "objective"
    assert relate(normal, normal).differences == {}
    assert relate(normal, normal).kind == "same likelihood"
