"""M2 of fits: what it says, when there is none, how often it rejects true and false models."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from psychoeval import FitResult, ItemParameters, LatentDistribution, Responses, fit, import_fit
from psychoeval.diagnostics.model_fit import FEW_PERSONS, MOST_ITEMS, ModelFit, model_fit
from psychoeval.errors import ConvergenceWarning, DataError, NotComparableError, SettingsError
from psychoeval.irt.curves import probability

J = 8
A = np.array([0.7, 1.0, 1.3, 1.6, 0.8, 1.2, 1.9, 1.0])
D = np.linspace(-1.5, 1.5, J)


def drawn(seed: int, a: np.ndarray = A, c: float = 0.0, n: int = 500) -> Responses:
    rng = np.random.default_rng(seed)
    p = probability(rng.normal(size=n), a, D, c)
    return Responses.from_array((rng.random(p.shape) < p).astype(int))


def fitted(responses: Responses, model: str, **how: object) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(responses, "mml", model, priors="none", **how)  # type: ignore[arg-type]


def result_of(seed: int, model: str, a: np.ndarray = A, **how: float) -> ModelFit:
    responses = drawn(seed, a, how.get("guessing", 0.0))
    return model_fit(fitted(responses, model, **how), responses)


@pytest.mark.parametrize(("model", "how"), [("2PL", {}), ("Rasch", {}), ("3PL", {"guessing": 0.2})])
def test_true_models_are_rejected_as_often_as_the_level_says(model: str, how: dict[str, float]) -> None:
    a = np.full(J, 1.2) if model == "Rasch" else A
    found = [result_of(seed, model, a, **how) for seed in range(40)]
    p = np.array([f.p for f in found if not f.reason])
    assert len(p) >= 37
    # Not uniform with a probability below 1 in 1,000, or it stays.
    assert kstest(p, "uniform").pvalue > 0.001
    # 3.7 to 5.4 % of 300 data sets measured; of 40, more than 6 come about in 1 of 300 cases.
    assert np.sum(p < 0.05) <= 6


def test_a_false_model_is_found() -> None:
    a = np.array([0.4, 0.4, 0.4, 0.4, 2.0, 2.0, 2.0, 2.0])
    found = [result_of(seed, "Rasch", a) for seed in range(10)]
    assert all(f.p < 0.001 and f.rmsea_low > 0.02 and f.cfi < 0.97 for f in found)
    right = [result_of(seed, "2PL", a) for seed in range(10)]
    assert sum(f.p < 0.05 for f in right) <= 3
    assert all(f.srmsr < g.srmsr for f, g in zip(right, found, strict=True))


def test_a_dependent_pair_lets_the_2pl_fail() -> None:
    p = []
    for seed in range(10):
        x = drawn(seed).successes.astype(int)
        copied = np.random.default_rng(seed).random(len(x)) < 0.6
        x[copied, 1] = x[copied, 5]
        data = Responses.from_array(x)
        p.append(model_fit(fitted(data, "2PL"), data).p)
    # Nine measured; in the tenth the slopes of the two run away, and there is no M2.
    assert np.sum(np.array(p) < 0.01) >= 8


def test_rasch_and_1pl_are_one_model() -> None:
    responses = drawn(5)
    rasch, one_pl = (model_fit(fitted(responses, m), responses) for m in ("Rasch", "1PL"))
    assert rasch.m2 == pytest.approx(one_pl.m2, rel=1e-6)
    assert rasch.df == one_pl.df == J * (J + 1) // 2 - J - 1


def test_origin_and_unit_of_the_abilities_do_not_matter() -> None:
    responses = drawn(6)
    found = fitted(responses, "2PL")
    items = found.item_parameters
    assert items is not None
    # theta* = 2 theta + 1
    a = items.discrimination / 2
    moved = ItemParameters(items.item_ids, a, items.intercept - a, items.guessing)
    other = replace(found, item_parameters=moved, latent_distribution=LatentDistribution(1.0, 2.0))
    assert model_fit(other, responses).m2 == pytest.approx(model_fit(found, responses).m2, rel=1e-9)


def test_the_limits_hold_the_level() -> None:
    responses = drawn(7)
    found = fitted(responses, "Rasch")
    narrow, wide = (model_fit(found, responses, level=level) for level in (0.5, 0.99))
    assert wide.rmsea_low <= narrow.rmsea_low <= narrow.rmsea <= narrow.rmsea_high < wide.rmsea_high
    with pytest.raises(SettingsError, match="level"):
        model_fit(found, responses, level=1.5)


def test_the_table_has_a_row_with_the_reason() -> None:
    responses = drawn(8)
    table = model_fit(fitted(responses, "2PL"), responses).to_frame()
    assert list(table.index) == ["mml 2PL"]
    assert table.loc["mml 2PL", "df"] == 20
    assert table.loc["mml 2PL", "reason"] == ""


@pytest.mark.parametrize(
    ("estimator", "model", "how", "reason"),
    [
        ("mml", "2PL", {"priors": "weak"}, "priors"),
        ("mml", "3PL", {"guessing": "free", "priors": "none"}, "Guessing is estimated"),
        ("map", "Rasch", {"priors": "weak"}, "joint"),
        ("cml", "Rasch", {}, "no distribution"),
    ],
)
def test_fits_without_m2_say_why(estimator: str, model: str, how: dict[str, object], reason: str) -> None:
    responses = drawn(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model_fit(fit(responses, estimator, model, **how), responses)  # type: ignore[arg-type]
    assert reason in found.reason
    assert np.isnan([found.m2, found.p, found.rmsea, found.cfi]).all()
    assert np.isnan(found.srmsr) == (estimator == "cml")


def test_an_estimated_latent_law_has_no_m2() -> None:
    responses = drawn(9)
    found = fitted(responses, "2PL")
    nodes = np.linspace(-6, 6, 61)
    law = LatentDistribution(0.0, 1.0, nodes, np.exp(-(nodes**2) / 2))
    result = model_fit(replace(found, latent_distribution=law), responses)
    assert "estimated as well" in result.reason
    # The same law, at nodes: the same correlations.
    assert result.srmsr == pytest.approx(model_fit(found, responses).srmsr, abs=1e-8)


def test_data_without_m2_say_why() -> None:
    x = drawn(10).successes.astype(float)
    x[3, 2] = np.nan
    missing = Responses.from_array(x)
    assert "1 cells are missing" in model_fit(fitted(missing, "2PL"), missing).reason
    counts = Responses.from_array(drawn(10).successes + drawn(11).successes, trials=2)
    assert "several trials" in model_fit(fitted(counts, "2PL"), counts).reason
    few = drawn(12).select(items=np.arange(3))
    assert "no degrees of freedom" in model_fit(fitted(few, "2PL"), few).reason


def test_a_fit_that_did_not_converge_has_no_m2() -> None:
    responses = drawn(13)
    found = fitted(responses, "2PL", max_iterations=1)
    assert "did not end at a maximum" in model_fit(found, responses).reason


def test_too_many_items_are_told_and_not_tried() -> None:
    j = MOST_ITEMS + 1
    rng = np.random.default_rng(14)
    responses = Responses.from_array(rng.integers(0, 2, (60, j)))
    items = ItemParameters.from_slope_intercept(responses.item_ids, np.full(j, 0.5), np.zeros(j))
    found = fitted(drawn(13), "Rasch")
    found = replace(found, item_parameters=items, provenance=replace(found.provenance, data_sha256=""))
    result = model_fit(found, responses)
    assert result.reason.startswith("101 items have 5151 moments")
    assert result.srmsr > 0
    assert "60 persons" in result.notes[0]


def test_few_persons_have_an_m2_and_no_verdict() -> None:
    """Of 10 persons on 40 items true Rasch models are mostly rejected: p and RMSEA would mislead."""
    for n, few in ((FEW_PERSONS - 1, True), (FEW_PERSONS, False)):
        responses = drawn(16, n=n)
        result = model_fit(fitted(responses, "Rasch"), responses)
        assert result.m2 > 0
        assert result.df > 0
        assert np.isnan([result.p, result.rmsea, result.rmsea_low, result.rmsea_high]).tolist() == [few] * 4
        assert bool(result.too_few) is few
        assert any("neither p nor RMSEA" in note for note in result.notes) is few


def test_items_and_persons_without_responses_take_no_part() -> None:
    x = drawn(15).successes.astype(float)
    wider = np.hstack((x, np.ones((len(x), 1))))
    wider[0] = np.nan
    wider = np.vstack((wider, wider[1:2]))
    data = Responses.from_array(wider)
    plain = Responses.from_array(np.vstack((x[1:], x[1:2])).astype(int))
    result, expected = model_fit(fitted(data, "2PL"), data), model_fit(fitted(plain, "2PL"), plain)
    assert (result.n_persons, result.n_items) == (500, J)
    assert result.m2 == pytest.approx(expected.m2, rel=1e-6)
    assert "Without 1 items" in result.notes[0]


def test_an_item_that_does_not_vary_is_named() -> None:
    responses = drawn(16)
    found = fitted(responses, "2PL")
    x = responses.successes.copy()
    x[:, 2] = 1
    other = replace(found, provenance=replace(found.provenance, data_sha256=""))
    assert "'item-3'" in model_fit(other, Responses.from_array(x)).reason


def test_other_responses_are_refused() -> None:
    responses = drawn(17)
    found = fitted(responses, "2PL")
    with pytest.raises(NotComparableError, match="other responses"):
        model_fit(found, drawn(18))
    with pytest.raises(NotComparableError, match="no item parameters"):
        model_fit(fit(responses, "simple-average"), responses)
    items = ItemParameters.from_slope_intercept(["a", "b"], 1.0, 0.0)
    with pytest.raises(DataError, match="does not know the items"):
        model_fit(import_fit(items, model="1PL"), responses)
