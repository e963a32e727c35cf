"""What the Stan programs are given, and where their chains start."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import DataError, ModelError
from psychoeval.estimators.stan.cells import Groups
from psychoeval.estimators.stan.data import check_model, informative_trials, program, stan_data, taking_part
from psychoeval.estimators.stan.starts import Guess, initial_values
from psychoeval.irt.models import (
    Beta,
    HalfNormal,
    ItemModel,
    ItemPopulation,
    LogitNormal,
    LogNormal,
    ModelName,
    Normal,
    Priors,
    resolve_priors,
)
from psychoeval.responses.matrix import Responses
from psychoeval.results.encoding import decode, encode
from tests.unit.stan_density import plain_values

POPULATION = resolve_priors("population")
NAMES: tuple[ModelName, ...] = ("Rasch", "1PL", "2PL", "3PL")


def responses(n: int = 40, j: int = 12, seed: int = 0) -> Responses:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(size=(n, 1)) + rng.normal(size=j)))
    trials = (rng.random((n, j)) < 0.9).astype(int)
    trials[0] = trials[:, 0] = 1
    return Responses.from_array(rng.binomial(trials, p), trials=trials)


@pytest.mark.parametrize("by_person", [True, False])
def test_groups_hold_every_cell_once_with_its_count(by_person: bool) -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, (7, 9))
    counts[3], counts[:, 5] = 0, 0
    groups = Groups.of(counts, by_person=by_person)
    rebuilt = np.zeros_like(counts)
    for g, (one, count) in enumerate(zip(groups.group, groups.count, strict=True)):
        for member in groups.member[groups.first[g] - 1 : groups.first[g + 1] - 1]:
            cell = (one - 1, member - 1) if by_person else (member - 1, one - 1)
            assert rebuilt[cell] == 0
            rebuilt[cell] = count
    assert (rebuilt == counts).all()
    assert len({*zip(groups.group, groups.count, strict=True)}) == groups.group.size


def test_groups_of_nothing_are_none() -> None:
    groups = Groups.of(np.zeros((3, 2), dtype=int), by_person=True)
    assert groups.group.size == groups.member.size == 0
    assert groups.first.tolist() == [1]


@pytest.mark.parametrize(
    ("model", "stem"),
    [
        (ItemModel("Rasch", POPULATION), "rasch"),
        (ItemModel("1PL", POPULATION), "one_pl"),
        (ItemModel("2PL", POPULATION), "two_pl"),
        (ItemModel("3PL", POPULATION), "three_pl"),
        (ItemModel("3PL", POPULATION, 0.25), "three_pl"),
        (ItemModel("3PL", POPULATION, 0), "two_pl"),
    ],
)
def test_each_model_has_a_program(model: ItemModel, stem: str) -> None:
    assert program(check_model(model)) == stem
    assert ("guessing_kind" in stan_data(responses(), model)) == (stem == "three_pl")


def test_densities_of_a_and_of_log_a_are_one_law_and_no_mode_is_shifted() -> None:
    on_a = stan_data(responses(), ItemModel("2PL", Priors(discrimination=LogNormal(0.2, 0.4), intercept=Normal(0, 2))))
    assert on_a["slope_prior"] == [0.2, 0.4]
    assert (on_a["population"], on_a["location_of_intercept"], on_a["location_prior"]) == (0, 1, [0.0, 2.0])


def test_the_rasch_model_turns_a_density_of_intercepts_round() -> None:
    on_d = stan_data(responses(), ItemModel("Rasch", Priors(intercept=Normal(0.7, 2))))
    assert on_d["location_prior"] == [-0.7, 2.0]
    on_b = stan_data(responses(), ItemModel("Rasch", Priors(difficulty=Normal(0.7, 2))))
    assert on_b["location_prior"] == [0.7, 2.0]
    assert on_b["latent_sd_prior"] == ItemPopulation().latent_sd.sd


def test_a_population_brings_the_densities_of_its_means_and_sds() -> None:
    population = ItemPopulation(
        mean_difficulty=Normal(0.1, 0.2),
        sd_difficulty=HalfNormal(0.3),
        mean_log_discrimination=Normal(0.4, 0.5),
        sd_log_discrimination=HalfNormal(0.6),
        latent_sd=HalfNormal(0.7),
    )
    data = stan_data(responses(), ItemModel("2PL", Priors(population=population)))
    assert (data["population"], data["location_of_intercept"]) == (1, 0)
    assert (data["location_prior"], data["sd_location_prior"]) == ([0.1, 0.2], 0.3)
    assert (data["slope_prior"], data["sd_slope_prior"]) == ([0.4, 0.5], 0.6)
    assert stan_data(responses(), ItemModel("Rasch", Priors(population=population)))["latent_sd_prior"] == 0.7


@pytest.mark.parametrize(
    ("guessing", "expected"),
    [(0.2, (0, 0.2)), (Beta(5, 17), (1, [5.0, 17.0])), (LogitNormal(-1.1, 0.5), (2, [-1.1, 0.5]))],
)
def test_guessing_is_fixed_or_has_its_density(
    guessing: float | Beta | LogitNormal, expected: tuple[int, object]
) -> None:
    data = stan_data(responses(), ItemModel("3PL", POPULATION, guessing))
    assert (data["guessing_kind"], data["guessing" if expected[0] == 0 else "guessing_prior"]) == expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "needs a model"),
        (ItemModel("2PL"), "samples a posterior, and the 2PL here has no priors"),
        (ItemModel("Rasch"), "samples a posterior, and the Rasch here has no priors"),
        (ItemModel("2PL", resolve_priors("hierarchical")), "does not estimate the means of priors"),
        (ItemModel("2PL", Priors(intercept=Normal(0, 3))), "needs a density for slopes"),
        (ItemModel("2PL", Priors(log_discrimination=Normal(0, 1))), "needs a density for difficulties"),
        (ItemModel("3PL", POPULATION, "free"), "needs a density for guessing"),
    ],
)
def test_a_posterior_that_is_none_is_refused_by_name(model: ItemModel | None, message: str) -> None:
    with pytest.raises(ModelError, match=f"^stan-hmc {message}") as caught:
        check_model(model)
    assert caught.value.remedy


def test_constant_items_take_part_and_what_was_never_run_does_not() -> None:
    x = np.array([[1, 1, -1, 0], [1, 0, -1, 1], [1, 1, -1, 0], [-1, -1, -1, -1]])
    part = taking_part(Responses.from_array(np.maximum(x, 0), trials=(x >= 0).astype(int)))
    assert (part.n_persons, part.n_items) == (3, 3)
    assert (part.successes[:, 0] == 1).all()


def test_two_persons_are_too_few() -> None:
    with pytest.raises(DataError, match="2 persons with responses"):
        taking_part(Responses.from_array(np.array([[0, 1, 1], [1, 0, 1]])))


def test_cells_go_by_what_there_is_less_of() -> None:
    assert stan_data(responses(40, 12), ItemModel("2PL", POPULATION))["by_person"] == 0
    assert stan_data(responses(12, 40), ItemModel("2PL", POPULATION))["by_person"] == 1


def test_what_sets_the_pace_follows_the_responses() -> None:
    few, many = (stan_data(responses(40, j), ItemModel("2PL", POPULATION)) for j in (4, 400))
    assert 0 < many["width"] < few["width"] < np.sqrt(0.5)
    data = stan_data(responses(4000, 4), ItemModel("2PL", POPULATION))
    assert (data["centering_location"] > few["centering_location"]).all()
    assert (data["centering_slope"] <= 0.6).all()
    constant = informative_trials(Responses.from_array(np.ones((100, 1), dtype=int)))
    assert 0 < constant[0] < 1


def test_priors_of_a_population_are_stored_and_read_back() -> None:
    model = ItemModel("2PL", Priors(population=ItemPopulation(sd_difficulty=HalfNormal(0.3))))

    def store(array: np.ndarray) -> str:
        raise AssertionError(array)

    assert decode(encode(model, store), lambda name: np.empty(0)) == model


@pytest.mark.parametrize("name", NAMES)
def test_starts_depend_on_seed_and_chain_alone(name: ModelName) -> None:
    part, model = responses(), ItemModel(name, POPULATION)
    data = stan_data(part, model)
    two, four = (initial_values(part, model, data, chains=k, seed=7) for k in (2, 4))
    for one, same in zip(two, four, strict=False):
        assert one.keys() == same.keys()
        assert all(np.array_equal(one[key], same[key]) for key in one)
    other = initial_values(part, model, data, chains=1, seed=8)
    assert not np.array_equal(other[0]["z"], two[0]["z"])
    assert not np.array_equal(two[0]["z"], two[1]["z"])


@pytest.mark.parametrize("priors", ["population", "weak", "published"])
@pytest.mark.parametrize("name", NAMES)
def test_starts_scatter_about_the_guess(name: ModelName, priors: str) -> None:
    part, model = responses(60, 30), ItemModel(name, resolve_priors(priors))
    data = stan_data(part, model)
    rng = np.random.default_rng(2)
    common = name in ("Rasch", "1PL")
    a = np.full(30, 1.4) if common else np.exp(rng.normal(0.2, 0.3, 30))
    guess = Guess(rng.normal(0.4, 1.3, 60), a, rng.normal(-0.5, 1, 30))
    starts = initial_values(part, model, data, chains=40, seed=1, guess=guess)
    logits = [_logits(model, plain_values(model, data, start)) for start in starts]
    about = np.outer(guess.ability, guess.discrimination) + guess.intercept
    spread = np.std(logits, axis=0)
    assert np.abs(np.mean(logits, axis=0) - about).mean() < 0.25 * np.abs(about).mean()
    assert 0.2 < np.median(spread) < 2


def test_starts_are_possible_where_all_persons_and_items_are_alike() -> None:
    part, model = Responses.from_array(np.ones((5, 3), dtype=int)), ItemModel("3PL", POPULATION)
    (start,) = initial_values(part, model, stan_data(part, model), chains=1, seed=1)
    assert all(np.isfinite(value).all() for value in start.values())


def _logits(model: ItemModel, v: dict[str, np.ndarray]) -> np.ndarray:
    a = v.get("a", np.ones(1))
    return np.outer(v["theta"], a) + (v["d"] if "d" in v else -a * v["b"])
