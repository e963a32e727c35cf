"""Direction, origin and unit of draws; chains that are turned, named, or left out of the means."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import DataError
from psychoeval.irt.curves import probability
from psychoeval.irt.models import ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.identification import orient, standardize
from psychoeval.results.posterior import posterior_result
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import diagnose
from tests.gates import needs
from tests.unit.synthetic_draws import made_up

pytestmark = needs("arviz")


@pytest.fixture(scope="module")
def good() -> Draws:
    return made_up(persons=12, items=8)


def signed(draws: Draws, mirrored: tuple[int, ...] = ()) -> Draws:
    """The draws as of a model whose slopes may be negative, some chains (by position) mirrored."""
    factor = np.ones(draws.n_chains)
    factor[list(mirrored)] = -1
    values = {n: np.array(v) for n, v in draws.values.items() if n not in ("mean_log_discrimination",
                                                                           "sd_log_discrimination")}  # fmt: skip
    values["discrimination"][..., 0] *= -1  # one item points the other way
    values["intercept"] = -values["discrimination"] * values["difficulty"]
    for name in ("ability", "discrimination", "difficulty", "mean_difficulty"):
        values[name] = values[name] * factor.reshape(-1, *(1,) * (values[name].ndim - 1))
    return dataclasses.replace(draws, values=values)


def changed(draws: Draws, chain: int, **values: Any) -> Draws:
    out = {name: np.array(v) for name, v in draws.values.items()}
    for name, new in values.items():
        out[name][chain] = new
    return dataclasses.replace(draws, values=out)


def fitted(draws: Draws) -> FitResult:
    rng = np.random.default_rng(0)
    assert draws.observed_scores is not None
    x = rng.random((12, 8)) < np.linspace(0.2, 0.8, 12)[np.argsort(np.argsort(draws.observed_scores))][:, None]
    responses = Responses.from_array(x.astype(float), person_ids=draws.person_ids, item_ids=draws.item_ids)
    return posterior_result("made-up", ItemModel("2PL"), responses, draws, Convergence("sampled"), Provenance(),
                            failed={})  # fmt: skip


@pytest.mark.parametrize("rasch", [False, True])
def test_standardized_draws_say_the_same_of_every_response(good: Draws, rasch: bool) -> None:
    values = {k: v for k, v in good.values.items() if not (rasch and "discrimination" in k)}
    if rasch:
        values["intercept"] = -values["difficulty"]
        values["latent_sd"] = np.full((4, 500), 1.3)
    draws = dataclasses.replace(good, values=values)
    found = draws.standardized()
    np.testing.assert_allclose(found.values["ability"].mean(axis=2), 0.0, atol=1e-14)
    np.testing.assert_allclose(found.values["ability"].std(axis=2), 1.0, rtol=1e-14)
    for chain, draw in ((0, 0), (3, 499)):
        before, after = ({n: v[chain, draw] for n, v in d.values.items()} for d in (draws, found))
        np.testing.assert_allclose(
            probability(after["ability"], after["discrimination"], after["intercept"], after["guessing"]),
            probability(
                before["ability"], before.get("discrimination", np.ones(8)), before["intercept"], before["guessing"]
            ),
            rtol=1e-12,
        )
        np.testing.assert_allclose(after["difficulty"], -after["intercept"] / after["discrimination"], rtol=1e-9)
        # Populations move along: standard scores of the items in them stay.
        for scale in (before, after):
            scale["z"] = (scale["difficulty"] - scale["mean_difficulty"]) / scale["sd_difficulty"]
            scale["ratio"] = scale["ability"].std() / scale.get("latent_sd", np.nan)
            if not rasch:
                log_a = np.log(scale["discrimination"])
                scale["z_a"] = (log_a - scale["mean_log_discrimination"]) / scale["sd_log_discrimination"]
        for name in ("z", "ratio", *(() if rasch else ("z_a",))):
            np.testing.assert_allclose(after[name], before[name], rtol=1e-9, err_msg=name)
    assert found.log_likelihood is not None
    np.testing.assert_array_equal(found.log_likelihood, good.log_likelihood)


def test_posteriors_that_differ_by_origin_and_unit_are_one_once_standardized(good: Draws) -> None:
    rng = np.random.default_rng(1)
    m, s = rng.normal(size=(4, 500)), np.exp(rng.normal(0, 0.3, size=(4, 500)))
    v = good.values
    moved = {
        **v,
        "ability": (v["ability"] - m[..., None]) / s[..., None],
        "discrimination": v["discrimination"] * s[..., None],
        "difficulty": (v["difficulty"] - m[..., None]) / s[..., None],
        "intercept": v["intercept"] + v["discrimination"] * m[..., None],
        "mean_difficulty": (v["mean_difficulty"] - m) / s,
        "sd_difficulty": v["sd_difficulty"] / s,
        "mean_log_discrimination": v["mean_log_discrimination"] + np.log(s),
    }
    one, two = standardize(good), standardize(dataclasses.replace(good, values=moved))
    for name, values in one.values.items():
        np.testing.assert_allclose(two.values[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_what_cannot_be_standardized_is_refused(good: Draws) -> None:
    with pytest.raises(DataError, match="what becomes of 'log_tau'"):
        dataclasses.replace(good, values={**good.values, "log_tau": good.values["mean_difficulty"]}).standardized()
    with pytest.raises(DataError, match="no draws of ability"):
        dataclasses.replace(good, values={"intercept": good.values["intercept"]}).standardized()
    still = changed(good, 2, ability=0.5)
    with pytest.raises(DataError, match="draw 1 of chain 3 have no SD"):
        still.standardized()


@pytest.mark.parametrize("mirrored", [(2,), (0, 1, 3), (0, 1, 2, 3), ()])
def test_mirrored_chains_of_a_model_without_signs_are_turned(good: Draws, mirrored: tuple[int, ...]) -> None:
    right, given = signed(good), signed(good, mirrored)
    found, turned = orient(given)
    assert turned == tuple(k + 1 for k in mirrored)
    for name, values in right.values.items():
        np.testing.assert_array_equal(found.values[name], values, err_msg=name)
    assert (found is given) == (not mirrored)
    assert dict(diagnose(given.oriented()).suspect_chains) == {}


def test_without_scores_the_mean_slope_decides(good: Draws) -> None:
    given = dataclasses.replace(signed(good, (1,)), observed_scores=None)
    assert orient(given)[1] == (2,)
    # What was observed goes before it: here the able fail.
    assert good.observed_scores is not None
    assert orient(signed(good), observed=-good.observed_scores)[1] == (1, 2, 3, 4)


def test_what_has_positive_slopes_or_none_is_not_turned(good: Draws) -> None:
    backwards = changed(good, 2, ability=-good.values["ability"][2])
    assert orient(backwards) == (backwards, ())
    rasch = dataclasses.replace(backwards, values={n: v for n, v in backwards.values.items() if n != "discrimination"})
    assert orient(rasch)[1] == ()
    unknown = signed(good, (1,))
    unknown = dataclasses.replace(unknown, values={**unknown.values, "tau": unknown.values["mean_difficulty"]})
    with pytest.raises(DataError, match="'tau'"):
        orient(unknown)


def test_a_fit_turns_one_mirrored_chain_of_four_and_says_so(good: Draws) -> None:
    right, found = fitted(signed(good)), fitted(signed(good, (2,)))
    assert found.abilities is not None
    assert right.abilities is not None
    np.testing.assert_array_equal(found.abilities.estimate, right.abilities.estimate)
    assert [w for w in found.convergence.warnings if w.startswith("Chain 3 was mirrored, and is turned")]
    assert found.sampling is not None
    assert not found.sampling.suspect_chains


def stuck(draws: Draws) -> Draws:
    return changed(draws, 1, **{name: v[1, 0] for name, v in draws.values.items()})


def backwards(draws: Draws) -> Draws:
    """Slopes are positive, and abilities run the wrong way: no turn makes this chain another's equal."""
    return changed(draws, 1, ability=-draws.values["ability"][1])


@pytest.mark.parametrize("spoil", [stuck, backwards])
def test_a_suspect_chain_is_named_and_not_averaged(good: Draws, spoil: Any) -> None:
    found, rest = fitted(spoil(good)), fitted(good.of_chains((1, 3, 4)))
    assert found.convergence.status == "failed_check"
    assert any(f.startswith("Chain 2: it ") for f in found.convergence.failures)
    assert "Estimates are means over chains 1, 3, 4 alone: the others are not averaged with them." in (
        found.convergence.failures
    )
    for part in ("abilities", "item_parameters"):
        one, other = getattr(found, part), getattr(rest, part)
        name = "estimate" if part == "abilities" else "intercept"
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert found.draws is not None
    assert found.draws.n_chains == 4  # nothing is hidden
    assert not rest.convergence.failures


def test_a_chain_that_hardly_moves_is_named(good: Draws) -> None:
    creeping = {name: v[3, 0] + 0.01 * (v[3] - v[3, 0]) for name, v in good.values.items()}
    run = diagnose(changed(good, 3, **creeping))
    assert list(run.suspect_chains) == [4]
    assert run.suspect_chains[4].startswith("it hardly moved (its SDs are 1.0% of those of the others)")
    slow = {name: v[3, 0] + 0.5 * (v[3] - v[3, 0]) for name, v in good.values.items()}
    assert not diagnose(changed(good, 3, **slow)).suspect_chains


def test_chains_are_taken_by_number(good: Draws) -> None:
    renumbered = dataclasses.replace(good, chain_numbers=(1, 2, 5, 6))
    some = renumbered.of_chains([6, 2])
    assert some.chain_numbers == (2, 6)
    np.testing.assert_array_equal(some.values["ability"], good.values["ability"][[1, 3]])
    np.testing.assert_array_equal(some.sample_stats["lp"], good.sample_stats["lp"][[1, 3]])
    assert some.log_likelihood is not None
    assert some.log_likelihood.shape == (2, 500, 12)
    with pytest.raises(DataError, match="no chain 3"):
        renumbered.of_chains([3])
    with pytest.raises(DataError, match="no draws"):
        renumbered.of_chains([])
