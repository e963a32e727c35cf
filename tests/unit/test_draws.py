from __future__ import annotations

import dataclasses
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychoeval.errors import DataError, EngineUnavailableError, StoredFileError
from psychoeval.results.convergence import Convergence
from psychoeval.results.draws import Draws
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from psychoeval.results.sampling import diagnose
from psychoeval.results.storage import load_fit, save_fit
from tests.gates import needs
from tests.unit.synthetic_draws import made_up
from tests.unit.test_storage import assert_same

CHAINS, DRAWS = 3, 40


@pytest.fixture
def draws() -> Draws:
    return made_up(persons=5, items=4, chains=CHAINS, draws=DRAWS)


def changed(draws: Draws, **values: Any) -> Draws:
    return dataclasses.replace(draws, values={**draws.values, **values})


def test_draws_know_their_sizes_names_and_ids(draws: Draws) -> None:
    assert (draws.n_chains, draws.n_draws, draws.chain_numbers) == (3, 40, (1, 2, 3))
    assert draws.ids("ability") == ("p0", "p1", "p2", "p3", "p4")
    assert draws.ids("guessing") == ("i0", "i1", "i2", "i3")
    assert draws.ids("mean_difficulty") == ()
    assert repr(draws).startswith("<Draws 3 chains x 40: ability[5], discrimination[4]")
    np.testing.assert_array_equal(draws.pooled("ability")[DRAWS + 7], draws.values["ability"][1, 7])
    with pytest.raises(DataError, match=r"no draws of 'theta'\. Choose one of ability"):
        draws.pooled("theta")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ability", np.zeros((CHAINS, DRAWS, 4)), r"draws of ability have shape \(3, 40, 4\), not \(3, 40, 5\)"),
        ("discrimination", np.zeros((CHAINS, DRAWS)), r"discrimination have shape \(3, 40\), not \(3, 40, 4\)"),
        ("latent_sd", np.zeros((CHAINS, DRAWS, 1)), r"latent_sd have shape \(3, 40, 1\), not \(3, 40\)"),
        ("ability", np.zeros((DRAWS, CHAINS, 5)), "not"),
    ],
)
def test_shapes_that_do_not_fit_are_named(draws: Draws, field: str, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        changed(draws, **{field: value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"person_ids": ("a", "a", "b", "c", "d")}, "Person ids of draws repeat"),
        ({"values": {}}, "There are no draws"),
        ({"values": {"ability": np.zeros((2, 0, 5))}}, "There are no draws"),
        ({"sample_stats": {"lp": np.zeros((DRAWS, CHAINS))}}, "sample_stats of lp have shape"),
        ({"log_likelihood": np.zeros((CHAINS, DRAWS, 4))}, "log_likelihood have shape"),
        ({"replicated_scores": np.zeros((CHAINS, 5))}, "replicated_scores have shape"),
        ({"observed_scores": np.array(list("abcde"))}, "observed_scores are of type"),
        ({"chain_numbers": (1, 2)}, "3 chains with the numbers"),
        ({"chain_numbers": (1, 2, 2)}, "3 chains with the numbers"),
    ],
)
def test_what_cannot_be_draws_is_refused(draws: Draws, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        dataclasses.replace(draws, **given)


def test_draws_are_read_only_and_apart_from_what_was_given(draws: Draws) -> None:
    mine = np.array(draws.values["ability"])
    kept = changed(draws, ability=mine)
    mine[:] = 7.0
    assert not (kept.values["ability"] == 7.0).any()
    with pytest.raises(ValueError, match="read-only"):
        kept.values["ability"][0, 0, 0] = 1.0
    again = dataclasses.replace(kept)
    assert again.values["ability"] is kept.values["ability"]  # what is read-only need not be copied


def fitted(draws: Draws) -> FitResult:
    return FitResult(
        "stan-hmc", None, Convergence("sampled"), Provenance(), sampling=diagnose(draws), draws=draws
    )  # fmt: skip


@needs("arviz")
def test_a_fit_with_draws_comes_back_bit_for_bit(draws: Draws, tmp_path: Path) -> None:
    fit = fitted(dataclasses.replace(draws, chain_numbers=(1, 2, 4)))
    assert "chains: " in repr(fit)
    assert repr(fit).endswith("provenance, sampling, draws>")
    back = load_fit(save_fit(fit, tmp_path / "f"))
    assert_same(back, fit)
    assert back.draws is not None
    assert not back.draws.values["ability"].flags.writeable
    assert_same(pickle.loads(pickle.dumps(fit)), fit)  # results cross process pools


@needs("arviz")
def test_large_draws_are_stored_as_they_are_and_damage_is_seen(tmp_path: Path) -> None:
    draws = made_up(persons=80, items=3, chains=4, draws=500)
    path = save_fit(fitted(draws), tmp_path / "f")
    raw = sum(v.nbytes for v in draws.values.values()) + sum(v.nbytes for v in draws.sample_stats.values())
    assert draws.log_likelihood is not None
    assert draws.replicated_scores is not None
    assert path.stat().st_size < raw + draws.log_likelihood.nbytes + draws.replicated_scores.nbytes
    with zipfile.ZipFile(path) as archive:
        kinds = {i.compress_type for i in archive.infolist() if i.file_size > 2**20}
        assert kinds == {zipfile.ZIP_STORED}
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoredFileError, match="damaged"):
        load_fit(path)


def test_without_arviz_the_error_says_what_to_install(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    monkeypatch.setitem(sys.modules, "arviz_stats.base.array", None)
    for call in (draws.to_arviz, draws.diagnose):
        with pytest.raises(EngineUnavailableError, match=r"pip install psychoeval\[bayes\]"):
            call()


@needs("arviz")
def test_arviz_gets_groups_with_persons_and_items_by_id(draws: Draws) -> None:
    given = dataclasses.replace(draws, chain_numbers=(1, 2, 4), max_treedepth=5)
    told = given.to_arviz()
    posterior = told["posterior"]
    assert posterior["ability"].dims == ("chain", "draw", "person")
    assert posterior["discrimination"].dims == ("chain", "draw", "item")
    assert posterior["mean_difficulty"].dims == ("chain", "draw")
    one = posterior["ability"].sel(chain=4, draw=7, person="p3")
    assert float(one) == draws.values["ability"][2, 7, 3]
    stats = told["sample_stats"]
    assert stats["diverging"].dtype == bool
    assert "divergent" not in stats
    assert bool(stats["reached_max_treedepth"].all())
    assert told["log_likelihood"]["responses"].dims == ("chain", "draw", "person")
    assert told["posterior_predictive"]["score"].dims == ("chain", "draw", "person")
    assert told["observed_data"]["score"].dims == ("person",)
    posterior["ability"].values[:] = 0.0  # ours are not touched
    assert (given.values["ability"] == draws.values["ability"]).all()


@needs("arviz")
def test_draws_without_the_optional_parts_go_to_arviz(draws: Draws) -> None:
    few = Draws(
        values={"ability": draws.values["ability"]}, person_ids=draws.person_ids, item_ids=(), sample_stats={},
        max_treedepth=10,
    )  # fmt: skip
    told = few.to_arviz()
    assert told["posterior"]["ability"].shape == (3, 40, 5)
    assert not hasattr(told, "log_likelihood")


@needs("arviz")
def test_netcdf_keeps_draws_and_ids(draws: Draws, tmp_path: Path) -> None:
    import arviz

    odd = dataclasses.replace(draws, person_ids=("päper 日本語", "a b", "c/d", "$x$", "e"))
    odd.to_arviz().to_netcdf(tmp_path / "draws.nc")
    back = arviz.from_netcdf(tmp_path / "draws.nc")
    for name, values in odd.values.items():
        np.testing.assert_array_equal(back["posterior"][name].values, values)
    assert tuple(back["posterior"]["person"].values) == odd.person_ids
    assert back["sample_stats"]["diverging"].dtype == bool
    np.testing.assert_array_equal(back["observed_data"]["score"].values, odd.observed_scores)


@needs("arviz")
def test_arviz_computes_from_the_groups_what_we_do(draws: Draws) -> None:
    import arviz

    rhat = arviz.rhat(draws.to_arviz())
    rhat = getattr(rhat, "posterior", rhat)  # a group since 1.0
    mine = diagnose(draws).rhat
    for name in ("ability", "guessing", "mean_difficulty"):
        np.testing.assert_allclose(np.asarray(rhat[name]), mine[name], rtol=1e-10)
