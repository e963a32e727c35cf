from __future__ import annotations

import doctest

import numpy as np
import pytest

import psychoeval.scoring.known_items
from psychoeval.errors import DataError, PsychoevalWarning, SettingsError
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import LatentDistribution
from psychoeval.scoring import ScoringMethod, plausible_values, score

NAN = float("nan")
IDS = ["q1", "q2", "q3", "q4"]
ITEMS = ItemParameters.from_difficulty(IDS, [1.0, 1.5, 0.8, 1.2], [-1.0, 0.0, 0.5, 1.0])
X = [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [NAN] * 4, [1, NAN, 0, NAN]]
METHODS: tuple[ScoringMethod, ...] = ("EAP", "MAP", "ML", "WLE")


def responses(x: object = X, ids: list[str] = IDS) -> Responses:
    return Responses.from_array(x, item_ids=ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_statuses_and_persons_in_place(method: ScoringMethod) -> None:
    found = score(responses(), ITEMS, method=method)
    assert found.method == method
    assert (found.scale, found.uncertainty) == ("logit", "items fixed")
    extreme = ("ml_infinite",) * 2 if method == "ML" else ("extreme_all_1", "extreme_all_0")
    assert found.status == ("estimated", *extreme, "no_responses", "estimated")
    assert found.standard_error is not None
    assert np.isnan(found.estimate).tolist() == [False, False, False, True, False]
    assert np.isnan(found.standard_error).tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("method", METHODS)
def test_items_are_matched_by_id_in_any_order(method: ScoringMethod) -> None:
    order = [2, 0, 3, 1]
    x = np.array(X)[:, order]
    moved = score(responses(x, [IDS[i] for i in order]), ITEMS, method=method)
    assert moved.estimate == pytest.approx(score(responses(), ITEMS, method=method).estimate, abs=1e-9, nan_ok=True)


def test_items_that_nobody_answered_here_may_be_known() -> None:
    part = score(responses([[1, 0]], ["q2", "q4"]), ITEMS)
    whole = score(responses([[NAN, 1, NAN, 0]]), ITEMS)
    assert part.estimate == pytest.approx(whole.estimate, abs=1e-8)


def test_unknown_items_are_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"2 of 3 items of the responses are not among the known items: 'x', 'y'"):
        score(responses([[1, 0, 1]], ["x", "q1", "y"]), ITEMS)


def test_items_without_parameters_are_named_and_take_no_part() -> None:
    items = ItemParameters.from_difficulty(IDS, [1.0, NAN, 0.8, 1.2], [-1.0, 0.0, 0.5, 1.0])
    with pytest.warns(PsychoevalWarning, match=r"1 of 4 items have no parameters .*: 'q2'") as caught:
        found = score(responses([[1, 1, 0, 1], [NAN, 1, NAN, NAN]]), items)
    assert caught[0].filename == __file__
    assert found.estimate[0] == pytest.approx(score(responses([[1, NAN, 0, 1]]), ITEMS).estimate[0], abs=1e-8)
    assert found.status == ("estimated", "no_responses")
    nothing = ItemParameters.from_difficulty(IDS, NAN, np.zeros(4))
    with pytest.raises(DataError, match="None of the items has parameters"):
        score(responses(), nothing)


def test_an_asymptote_of_one_is_refused() -> None:
    with pytest.raises(DataError, match=r"lower asymptote of 'q2' is not in \[0, 1\)"):
        score(responses(), ItemParameters.from_difficulty(IDS, 1.0, np.zeros(4), [0.0, 1.0, 0.2, 0.2]))


@pytest.mark.parametrize("method", ["EAP", "MAP"])
def test_the_latent_law_moves_scores_with_its_unit(method: ScoringMethod) -> None:
    # theta = 2 + 3 z: the same responses on items with slopes 3 a and intercepts d + 2 a.
    latent = LatentDistribution(mean=2.0, sd=3.0)
    found = score(responses(), ITEMS, method=method, latent=latent)
    turned = ItemParameters.from_slope_intercept(
        IDS, 3 * ITEMS.discrimination, ITEMS.intercept + 2 * ITEMS.discrimination
    )
    standard = score(responses(), turned, method=method)
    assert found.standard_error is not None
    assert standard.standard_error is not None
    assert found.estimate == pytest.approx(2 + 3 * standard.estimate, abs=1e-7, nan_ok=True)
    assert found.standard_error == pytest.approx(3 * standard.standard_error, abs=1e-7, nan_ok=True)


def test_a_histogram_law_of_a_normal_shape_gives_nearly_the_normal_eaps() -> None:
    nodes = np.linspace(-6, 6, 121)
    latent = LatentDistribution(nodes=nodes, weights=np.exp(-(nodes**2) / 2))
    found, normal = score(responses(), ITEMS, latent=latent), score(responses(), ITEMS)
    # A polygon of step h has h^2 / 6 more variance.
    assert found.estimate == pytest.approx(normal.estimate, abs=2 * 0.1**2 / 6, nan_ok=True)
    with pytest.raises(SettingsError, match="MAP scores need a normal latent distribution"):
        score(responses(), ITEMS, method="MAP", latent=latent)


@pytest.mark.parametrize(
    ("latent", "problem"),
    [
        (LatentDistribution(sd=0.0), "mean 0.0 and SD 0.0"),
        (LatentDistribution(nodes=np.arange(5.0)), "5 nodes and 0 weights"),
        (LatentDistribution(nodes=np.arange(5.0), weights=np.array([1.0, 1, -1, 1, 1])), "5 nodes and 5 weights"),
        (LatentDistribution(nodes=np.array([0.0, 1, 3]), weights=np.ones(3)), "not equally spaced"),
    ],
)
def test_laws_that_are_none_are_refused(latent: LatentDistribution, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        score(responses(), ITEMS, latent=latent)
    with pytest.raises(SettingsError, match=problem):
        plausible_values(responses(), ITEMS, 2, seed=1, latent=latent)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(SettingsError, match="no scoring method 'mle'"):
        score(responses(), ITEMS, method="mle")  # type: ignore[arg-type]


def with_errors(error: float = 0.3) -> ItemParameters:
    return ItemParameters.from_difficulty(
        IDS, ITEMS.discrimination, ITEMS.difficulty, standard_errors={"discrimination": 0.1, "difficulty": error}
    )


@pytest.mark.parametrize("method", METHODS)
def test_item_uncertainty_widens_errors_and_says_so(method: ScoringMethod) -> None:
    fixed, sampled = (score(responses(), with_errors(), method=method, item_uncertainty=u) for u in (False, True))
    assert (fixed.uncertainty, sampled.uncertainty) == ("items fixed", "items estimated")
    assert fixed.estimate == pytest.approx(sampled.estimate, nan_ok=True, abs=1e-12)
    assert fixed.standard_error is not None
    assert sampled.standard_error is not None
    assert (sampled.standard_error[[0, 4]] > fixed.standard_error[[0, 4]]).all()
    assert np.isnan(sampled.standard_error[3])
    if method == "ML":
        assert sampled.standard_error[[1, 2]].tolist() == [np.inf, np.inf]
    else:
        assert (sampled.standard_error[[1, 2]] > fixed.standard_error[[1, 2]]).all()


def test_an_error_that_all_difficulties_share_moves_the_ability_by_as_much() -> None:
    # ML on difficulties b + e is ML + e: the origin's whole variance is added, where independent errors would average.
    ids, n = [f"q{j}" for j in range(40)], 40
    labels = tuple((i, "d") for i in ids)
    blocks = np.zeros((n, 3, 3))
    blocks[:, 1, 1] = 0.04
    zero, one = np.zeros(n), np.ones(n)
    shared = ItemParameters(
        tuple(ids), one, zero, zero, blocks, joint_covariance=np.full((n, n), 0.04), joint_labels=labels
    )
    apart = ItemParameters(tuple(ids), one, zero, zero, blocks)
    x = responses([np.arange(n) % 2], ids)
    errors = {}
    for name, items in (("shared", shared), ("apart", apart)):
        fixed, sampled = (score(x, items, method="ML", item_uncertainty=u).standard_error for u in (False, True))
        assert fixed is not None
        assert sampled is not None
        errors[name] = sampled[0] ** 2 - fixed[0] ** 2
    assert errors["shared"] == pytest.approx(0.04, rel=1e-6)
    assert errors["apart"] == pytest.approx(0.04 / n, rel=1e-6)


def test_labels_of_fixed_slopes_and_of_other_items_play_no_part() -> None:
    # A Rasch fit labels its latent SD as the common slope.
    blocks = np.zeros((4, 3, 3))
    blocks[:, 1, 1] = 0.04
    labels = (("", "a"), *((i, "d") for i in IDS))
    rasch = ItemParameters(
        tuple(IDS), np.ones(4), np.zeros(4), np.zeros(4), blocks,
        joint_covariance=np.diag([9.0, 0.04, 0.04, 0.04, 0.04]), joint_labels=labels,
    )  # fmt: skip
    apart = ItemParameters(tuple(IDS), np.ones(4), np.zeros(4), np.zeros(4), blocks)
    part = responses([[1, 0, 1]], ["q4", "q1", "q2"])
    with_joint, with_blocks = (score(part, i, item_uncertainty=True).standard_error for i in (rasch, apart))
    assert with_joint == pytest.approx(with_blocks, rel=1e-9)


def test_item_uncertainty_without_errors_is_refused() -> None:
    with pytest.raises(DataError, match=r"The items have no covariance\."):
        score(responses(), ITEMS, item_uncertainty=True)
    covariance = np.zeros((4, 3, 3))
    covariance[2] = NAN
    items = ItemParameters(tuple(IDS), ITEMS.discrimination, ITEMS.intercept, ITEMS.guessing, covariance)
    with pytest.raises(DataError, match=r"1 of 4 items have no covariance: 'q3'"):
        score(responses(), items, item_uncertainty=True)


def test_plausible_values_have_sets_in_rows_and_a_seed() -> None:
    draws = plausible_values(responses(), ITEMS, 4000, seed=5)
    assert draws.shape == (4000, 5)
    assert np.isnan(draws[:, 3]).all()
    eap = score(responses(), ITEMS)
    assert eap.standard_error is not None
    seen = [0, 1, 2, 4]
    bound = 5 * eap.standard_error[seen].max() / np.sqrt(4000)
    assert draws.mean(axis=0)[seen] == pytest.approx(eap.estimate[seen], abs=bound)
    np.testing.assert_array_equal(draws, plausible_values(responses(), ITEMS, 4000, seed=5))
    with pytest.raises(SettingsError, match="n_draws is 0"):
        plausible_values(responses(), ITEMS, 0, seed=5)


def test_examples_in_docstrings() -> None:
    result = doctest.testmod(psychoeval.scoring.known_items)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    "latent",
    [
        None,
        "normal",
        (0.0, 1.0),
        LatentDistribution("x", 1.0),  # type: ignore[arg-type]
        LatentDistribution(0.0, None),  # type: ignore[arg-type]
        LatentDistribution(0.0, True),
        LatentDistribution(NAN, 1.0),
        LatentDistribution(0.0, 1e-300),
        LatentDistribution(0.0, 1e300),
        LatentDistribution(0.0, float("inf")),
        LatentDistribution(1e300, 1.0),
        LatentDistribution(0.0, 1.0, "abc", "abc"),  # type: ignore[arg-type]
        LatentDistribution(0.0, 1.0, np.arange(3.0), ["a", "b", "c"]),  # type: ignore[arg-type]
        LatentDistribution(0.0, 1.0, np.array([-1e300, 0.0, 1e300]), np.ones(3)),
        LatentDistribution(0.0, 1.0, np.array([0.0, 1e-300, 2e-300]), np.ones(3)),
    ],
)
def test_what_is_no_latent_distribution_is_refused_by_every_scorer(latent: LatentDistribution) -> None:
    with pytest.raises(SettingsError, match=r"distribution|latent is a"):
        plausible_values(responses(), ITEMS, 2, seed=1, latent=latent)
    for method in ("EAP", "ML"):
        with pytest.raises(SettingsError, match=r"distribution|latent is a"):
            score(responses(), ITEMS, method=method, latent=latent)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_draws", v) for v in (1.5, NAN, None, "2", True)] + [("seed", v) for v in (None, -1, 1.5, "x", True)],
)
def test_draws_and_seeds_that_are_no_whole_numbers_are_refused(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"{name} is"):
        plausible_values(responses(), ITEMS, **({"n_draws": 2, "seed": 1} | {name: value}))  # type: ignore[arg-type]


def test_what_is_no_method_flag_data_or_items_is_refused() -> None:
    for wrong in (None, 1, np.array(["EAP", "ML"]), "eap"):
        with pytest.raises(SettingsError, match="There is no scoring method"):
            score(responses(), ITEMS, method=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="item_uncertainty is"):
        score(responses(), ITEMS, item_uncertainty="no")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="responses is a ndarray"):
        score(np.ones((2, 4)), ITEMS)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="items is a dict"):
        score(responses(), {"q1": 1.0})  # type: ignore[arg-type]
