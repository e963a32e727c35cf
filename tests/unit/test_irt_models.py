import itertools

import numpy as np
import pytest
from scipy import stats

from psychoeval.errors import ModelError
from psychoeval.fitting import fit
from psychoeval.irt.models import (
    DEFAULT_GUESSING_PRIOR,
    PRIOR_PRESETS,
    SD_LIMITS,
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    LogNormal,
    Normal,
    Priors,
    resolve_priors,
)
from psychoeval.registry import REGISTRY, make_estimator
from psychoeval.responses.matrix import Responses


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (ItemModel("Rasch"), 11),
        (ItemModel("1PL"), 11),
        (ItemModel("2PL"), 20),
        (ItemModel("3PL", guessing=0.2), 20),
        (ItemModel("3PL", guessing="free"), 30),
        (ItemModel("3PL"), 30),
    ],
)
def test_free_parameters_are_counted(model, parameters):
    assert model.n_parameters(10) == parameters


def test_a_lognormal_prior_on_a_is_a_shifted_normal_on_log_a():
    # As a penalty in log a: log f(a) differs from the normal's log density by a constant only.
    on_a = Priors(discrimination=LogNormal(0.2, 0.4))
    normal = on_a.slope_on_log_scale
    log_a = np.linspace(-1.5, 1.5, 13)
    penalty = stats.lognorm.logpdf(np.exp(log_a), s=0.4, scale=np.exp(0.2))
    difference = penalty - stats.norm.logpdf(log_a, normal.mean, normal.sd)
    assert np.ptp(difference) < 1e-12


def test_a_prior_on_log_a_is_left_alone():
    assert Priors(log_discrimination=Normal(0.1, 0.5)).slope_on_log_scale == Normal(0.1, 0.5)
    assert Priors(intercept=Normal(0, 3)).slope_on_log_scale is None


def test_different_models_have_different_labels():
    models = [
        ItemModel("2PL"),
        ItemModel("2PL", PRIOR_PRESETS["weak"]),
        ItemModel("2PL", PRIOR_PRESETS["published"]),
        ItemModel("2PL", Priors(intercept=Normal(0, 2))),
        ItemModel("2PL", Priors(discrimination=LogNormal(0, 0.5))),
        ItemModel("3PL"),
        ItemModel("3PL", guessing="free"),
        ItemModel("3PL", guessing=0.2),
        ItemModel("3PL", guessing=Beta(5, 17)),
    ]
    for one, other in itertools.combinations(models, 2):
        assert one.label != other.label
    assert models[1].label == "2PL [weak]"


def test_a_3pl_without_further_words_has_the_default_prior():
    assert ItemModel("3PL").guessing == DEFAULT_GUESSING_PRIOR
    assert ItemModel("3PL").is_penalised
    assert not ItemModel("3PL", guessing="free").is_penalised


@pytest.mark.parametrize(
    ("model", "free"),
    [
        (ItemModel("Rasch"), False),
        (ItemModel("1PL"), False),
        (ItemModel("2PL"), True),
        (ItemModel("2PL", PRIOR_PRESETS["weak"]), False),
        (ItemModel("2PL", Priors(intercept=Normal(0, 3))), True),
        (ItemModel("3PL"), True),
    ],
)
def test_which_slopes_nothing_holds(model, free):
    assert model.has_free_slopes is free


@pytest.mark.parametrize("name", ["GRM", "graded", "2pl", "4PL", ""])
def test_unknown_models_are_refused_with_the_list(name):
    with pytest.raises(ModelError, match="Rasch, 1PL, 2PL, 3PL"):
        ItemModel(name)


@pytest.mark.parametrize("guessing", [-0.1, 1.0, 1.5, "some", float("nan"), [0.2], False, (0.1, 0.2), 10**400])
def test_impossible_guessing_is_refused(guessing):
    with pytest.raises(ModelError):
        ItemModel("3PL", guessing=guessing)


def test_guessing_belongs_to_the_3pl():
    with pytest.raises(ModelError, match="Only the 3PL"):
        ItemModel("2PL", guessing=0.2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(0, 0),
        lambda: Normal(0, float("nan")),
        lambda: LogNormal(0, -1),
        lambda: LogitNormal(0, float("inf")),
        lambda: Normal(float("nan"), 1),
        lambda: Normal(float("inf"), 1),
        lambda: Normal("text", 1),
        lambda: Normal(0, "x"),
        lambda: Normal(True, 1),
        lambda: Normal(None, 1),
        lambda: Normal(0, 1e200),
        lambda: Normal(0, 1e-200),
        lambda: Normal(10**400, 1),
        lambda: LogNormal(float("nan"), 1),
        lambda: LogitNormal(float("-inf"), 1),
        lambda: Beta(float("nan"), 1),
        lambda: Beta(1, 1e200),
        lambda: Priors(log_discrimination=(0, 1)),
        lambda: Priors(log_discrimination=LogNormal(0, 1)),
        lambda: Priors(discrimination=Normal(0, 1)),
        lambda: Priors(intercept=Beta(1, 2)),
        lambda: Priors(difficulty=1.0),
        lambda: Priors(intercept=Normal(0, 1e-7)),
        lambda: Priors(intercept=Normal(0, 1e7)),
        lambda: Priors(intercept=Normal(1e7, 1)),
        lambda: ItemModel("3PL", None, [0.2]),
        lambda: Beta(0, 1),
        lambda: Beta(1, -1),
        Priors,
        lambda: Priors(log_discrimination=Normal(0, 1), discrimination=LogNormal(0, 1)),
        lambda: Priors(intercept=Normal(0, 1), difficulty=Normal(0, 1)),
        lambda: ItemModel("2PL", priors="weak"),
        lambda: resolve_priors("strong"),
    ],
)
def test_priors_that_are_none_are_refused(make):
    with pytest.raises(ModelError):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Normal("text", 1), "mean of a normal prior is 'text'"),
        (lambda: Priors(intercept=Beta(1, 2)), "prior of intercept is Beta"),
        (lambda: Priors(discrimination=LogNormal(0, 1e7)), "SD of the prior of discrimination is 10000000"),
        (lambda: ItemModel("3PL", None, [0.2]), r"guessing=\[0.2\] is a list"),
    ],
)
def test_a_wrong_prior_is_named(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_the_widest_priors_leave_room_for_those_derived_from_them():
    for sd in SD_LIMITS:
        assert Priors(discrimination=LogNormal(0, sd)).slope_on_log_scale == Normal(-(sd**2), sd)


def test_presets_by_name():
    assert resolve_priors("none") is None
    assert resolve_priors(None) is None
    assert resolve_priors("weak") is PRIOR_PRESETS["weak"]
    own = Priors(intercept=Normal(0, 1))
    assert resolve_priors(own) is own


def test_a_population_of_items_states_all_and_has_a_label_of_its_own():
    population = Priors(population=ItemPopulation())
    assert population.label == "population"
    assert population.has_slope
    assert not ItemModel("2PL", population).has_free_slopes
    wider = Priors(population=ItemPopulation(sd_difficulty=HalfNormal(5.0)))
    assert "sd_b ~ N+(0, 5)" in wider.label
    assert wider.label != population.label
    with pytest.raises(ModelError, match="beside other densities"):
        Priors(population=ItemPopulation(), intercept=Normal(0, 3))
    with pytest.raises(ModelError, match="beside other densities"):
        Priors(population=ItemPopulation(), estimated_means=True)
    with pytest.raises(ModelError, match="population is 'yes', a str"):
        Priors(population="yes")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"prior of sd_difficulty is Normal\(mean=0, sd=1\)"):
        ItemPopulation(sd_difficulty=Normal(0, 1))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name, row in REGISTRY.items() if row.models and not row.takes_population])
def test_a_population_of_items_is_refused_by_name(name):
    model = ItemModel(REGISTRY[name].models[0], PRIOR_PRESETS["population"])
    responses = Responses.from_array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(ModelError, match=rf"{name} .*population"):
        fit(responses, name, model)
    with pytest.raises(ModelError, match=name):  # also where nobody has looked before
        make_estimator(name).fit(responses, model)
