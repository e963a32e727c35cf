"""The estimator brms with a bridge that answers by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from psychoeval.errors import (
    DataError,
    EngineFailedError,
    EngineUnavailableError,
    EngineWarning,
    FitTimeoutError,
    SettingsError,
)
from psychoeval.estimators.brms import estimator as module
from psychoeval.estimators.brms.estimator import Brms
from psychoeval.estimators.brms.progress import Progress
from psychoeval.estimators.brms.settings import cache_folder
from psychoeval.irt.models import Beta, ItemModel, resolve_priors
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult
from tests.gates import needs
from tests.unit.fakes import FakeBridge

FloatArray = NDArray[np.float64]
CHAINS, SAMPLES, PERSONS, ITEMS = 2, 50, 4, 3
MODEL = ItemModel("2PL", resolve_priors("population"))


def responses() -> Responses:
    """5 x 4: the second item was never run, the third person saw nothing, the last item is constant."""
    nan = np.nan
    x = np.array([[1, nan, 0, 1], [0, nan, 1, 1], [nan] * 4, [1, nan, nan, 1], [0, nan, 1, nan]])
    return Responses.from_array(x, item_ids=["p", "never", "q", "r"])


class Truth:
    """Draws in our order (chains, draws, ...), and as R sends them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.theta = rng.normal(size=(CHAINS, SAMPLES, PERSONS))
        self.log_a, self.b = (rng.normal(size=(CHAINS, SAMPLES, ITEMS)) for _ in range(2))
        self.common = {"loga": rng.normal(size=(CHAINS, SAMPLES)), "b": rng.normal(size=(CHAINS, SAMPLES))}
        self.sd = {"loga": rng.gamma(2, size=(CHAINS, SAMPLES)), "b": rng.gamma(2, size=(CHAINS, SAMPLES))}

    @staticmethod
    def sent(values: FloatArray) -> FloatArray:
        """R's array (draws, chains, n), column by column."""
        return np.moveaxis(values.reshape(CHAINS, SAMPLES, -1), 0, 1).ravel(order="F")

    def part(self, name: str, values: FloatArray) -> dict[str, Any]:
        deviation = values - self.common[name][:, :, None]
        found = {"common": self.common[name], "sd": self.sd[name], "deviation": deviation}
        return {"each": None} | {key: self.sent(v) for key, v in found.items()}

    def reply(self, **more: Any) -> dict[str, Any]:
        ones = np.ones((CHAINS, SAMPLES))
        theta = {"common": None, "sd": self.sent(ones), "deviation": self.sent(self.theta), "each": None}
        names = ("acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy", "lp")
        statistics = {name: np.arange(CHAINS * SAMPLES) % 7.0 + k for k, name in enumerate(names)}
        statistics["diverging"] = np.zeros(CHAINS * SAMPLES)
        return {
            "draws": {"theta": theta, "loga": self.part("loga", self.log_a), "b": self.part("b", self.b)},
            "statistics": statistics,
            "chain_numbers": np.array([1.0, 2.0]),
            "failed": None,
            "warmup_seconds": np.array([1.0, 2.0]),
            "sampling_seconds": np.array([3.0, 4.0]),
            "build_seconds": np.array([40.0]),
            "from_cache": [False],
            "cache_problem": None,
            "stan_code": ["// the program"],
            "versions": {name: ["1.0"] for name in ("R", "brms", "rstan", "StanHeaders")},
            "warnings": None,
            "messages": None,
            **more,
        }


@pytest.fixture
def truth() -> Truth:
    return Truth()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fit(
    monkeypatch: pytest.MonkeyPatch,
    outcome: dict[str, Any] | Exception,
    model: ItemModel = MODEL,
    lines: tuple[str, ...] = (),
    **settings: Any,
) -> tuple[FitResult, dict[str, Any]]:
    bridge = FakeBridge(outcome, lines)
    monkeypatch.setattr(module, "RscriptBridge", bridge)
    monkeypatch.setattr(module, "require", lambda engine: None)
    given = {"chains": CHAINS, "samples": SAMPLES, "seed": 3, "timeout": 9.0, **settings}
    found = Brms(**given).fit(responses(), model)
    assert bridge.timeouts == [given["timeout"]]
    return found, bridge.jobs[0]


@needs("arviz")
def test_draws_come_back_under_our_names(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    draws = fit(monkeypatch, truth.reply())[0].draws
    assert draws is not None
    a = np.exp(truth.log_a)
    expected = {
        "ability": truth.theta,
        "discrimination": a,
        "difficulty": truth.b,
        "intercept": -a * truth.b,
        "mean_difficulty": truth.common["b"],
        "sd_difficulty": truth.sd["b"],
        "mean_log_discrimination": truth.common["loga"],
        "sd_log_discrimination": truth.sd["loga"],
    }
    assert set(draws.values) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(draws.values[name], values, rtol=1e-12, err_msg=name)
    assert draws.item_ids == ("p", "q", "r")
    assert draws.person_ids == tuple(responses().person_ids[i] for i in (0, 1, 3, 4))
    assert draws.observed_scores is not None
    assert draws.observed_scores.tolist() == [2, 2, 2, 1]
    assert draws.sample_stats["step_size"].shape == (CHAINS, SAMPLES)
    assert draws.sample_stats["step_size"][1, 0] == 50 % 7 + 1
    assert draws.sample_stats["diverging"].dtype == bool


@needs("arviz")
def test_estimates_are_posterior_means_in_place(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    found, job = fit(monkeypatch, truth.reply())
    items, people = found.item_parameters, found.abilities
    assert items is not None
    assert people is not None
    a = np.exp(truth.log_a)
    flat = np.stack([a, -a * truth.b], axis=-1).reshape(-1, ITEMS, 2)
    went = [0, 2, 3]
    np.testing.assert_allclose(items.discrimination[went], flat[:, :, 0].mean(axis=0))
    np.testing.assert_allclose(items.intercept[went], flat[:, :, 1].mean(axis=0))
    assert items.covariance is not None
    np.testing.assert_allclose(items.covariance[2, :2, :2], np.cov(flat[:, 1].T))
    assert np.isnan(items.intercept[1])
    assert items.status == ("estimated", "no_responses", "estimated", "constant_all_1")
    theta = truth.theta.reshape(-1, PERSONS)
    np.testing.assert_allclose(people.estimate[[0, 1, 3, 4]], theta.mean(axis=0))
    assert people.standard_error is not None
    np.testing.assert_allclose(people.standard_error[[0, 1, 3, 4]], theta.std(axis=0, ddof=1))
    assert np.isnan(people.estimate[2])
    assert (people.method, people.status[2]) == ("EAP", "no_responses")
    assert found.provenance.seed == job["seed"] == 3
    assert found.provenance.details["stan_code"] == "// the program"


def test_the_job_holds_the_cells_that_were_run_and_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = FakeBridge(EngineFailedError("stopped"))
    monkeypatch.setattr(module, "RscriptBridge", bridge)
    monkeypatch.setattr(module, "require", lambda engine: None)
    with pytest.raises(EngineFailedError):
        Brms(n_jobs=9, chains=2).fit(responses(), MODEL)
    job = bridge.jobs[0]
    assert job["person"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    assert job["item"].tolist() == [1, 2, 3, 1, 2, 3, 1, 3, 1, 2]
    assert job["y"].tolist() == [1, 0, 1, 0, 1, 1, 1, 1, 0, 1]
    assert job["n"].tolist() == [1] * 10
    assert (job["n_persons"], job["n_items"], job["cores"]) == (4, 3, 2)
    assert "never" not in repr(job)
    assert {len(values) for values in job["priors"].values()} == {5}


@needs("arviz")
def test_log_likelihoods_and_scores_are_given_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, truth: Truth
) -> None:
    plain = fit(monkeypatch, truth.reply())[0].draws
    assert plain is not None
    assert plain.log_likelihood is plain.replicated_scores is None
    draws = fit(monkeypatch, truth.reply(), log_likelihood=True, replicated_scores=True)[0].draws
    assert draws is not None
    assert draws.log_likelihood is not None
    assert draws.replicated_scores is not None
    # The fourth person answered the first item wrongly and the second rightly: the integral over N(0, 1).
    nodes = np.linspace(-9, 9, 2001)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    a, b = np.exp(truth.log_a[1, 7, 0]), truth.b[1, 7, 0]
    a2, b2 = np.exp(truth.log_a[1, 7, 1]), truth.b[1, 7, 1]
    wrong, right = 1 / (1 + np.exp(a * (nodes - b))), 1 / (1 + np.exp(-a2 * (nodes - b2)))
    np.testing.assert_allclose(draws.log_likelihood[1, 7, 3], np.log((weights * wrong * right).sum()), rtol=1e-8)
    assert draws.replicated_scores.shape == (CHAINS, SAMPLES, PERSONS)
    assert draws.replicated_scores.max(axis=(0, 1)).tolist() == [3, 3, 2, 2]  # of the items that each took
    again = fit(monkeypatch, truth.reply(), replicated_scores=True)[0].draws
    assert again is not None
    np.testing.assert_array_equal(again.replicated_scores, draws.replicated_scores)


@needs("arviz")
def test_guessing_and_the_rasch_model(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    reply = truth.reply()
    c = np.random.default_rng(6).beta(5, 17, size=(CHAINS, SAMPLES, ITEMS))
    reply["draws"]["c"] = {"common": None, "sd": None, "deviation": None, "each": truth.sent(c)}
    found, _ = fit(monkeypatch, reply, ItemModel("3PL", resolve_priors("population"), Beta(5, 17)))
    assert found.draws is not None
    np.testing.assert_allclose(found.draws.values["guessing"], c)
    reply["draws"]["theta"]["sd"] = truth.sent(truth.sd["b"])
    rasch, _ = fit(monkeypatch, reply, ItemModel("Rasch", resolve_priors("population")))
    assert rasch.item_parameters is not None
    assert rasch.latent_distribution is not None
    assert rasch.item_parameters.discrimination[[0, 2, 3]].tolist() == [1.0] * 3
    assert rasch.latent_distribution.sd == pytest.approx(truth.sd["b"].mean())
    np.testing.assert_allclose(rasch.draws.values["intercept"], -truth.b)  # type: ignore[union-attr]


@needs("arviz")
def test_a_chain_that_failed_leaves_the_others(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    reply = truth.reply(failed={"2": ["Chain 2: it\ndied"]}, chain_numbers=np.array([1.0, 3.0]))
    found, _ = fit(monkeypatch, reply, chains=3)
    assert found.draws is not None
    assert found.draws.chain_numbers == (1, 3)
    assert "Chain 2 of 3 failed and is left out: Chain 2: it died." in found.convergence.warnings


@needs("arviz")
def test_chains_that_do_not_mix_fail_the_check(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    truth.theta[1] += 5.0
    found, _ = fit(monkeypatch, truth.reply())
    assert found.sampling is not None
    assert found.sampling.grade == "do not use"
    assert found.convergence.status == "failed_check"
    assert "R-hat" in " ".join(found.convergence.failures)


@needs("arviz")
def test_a_cache_that_cannot_be_written_is_said_plainly(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    found, _ = fit(monkeypatch, truth.reply(cache_problem=["no space left"]))
    assert [w for w in found.convergence.warnings if "no space left" in w and "XDG_CACHE_HOME" in w]


@needs("arviz")
def test_what_r_warns_of_is_passed_on(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    with pytest.warns(EngineWarning, match="brms warned: careful"):
        fit(monkeypatch, truth.reply(warnings=["careful"]))


def test_draws_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    reply = truth.reply()
    reply["draws"]["theta"]["deviation"] = reply["draws"]["theta"]["deviation"][:-1]
    with pytest.raises(EngineFailedError, match="399 draws of deviation for 2 chains x 50 draws x 4"):
        fit(monkeypatch, reply)


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (
            {"stage": ["building the Stan program"], "error": ["Boost not found; call install.packages('BH')"]},
            EngineUnavailableError,
            "apt-get install r-cran-bh",
        ),
        (
            {"stage": ["building the Stan program"], "error": ["x"], "messages": ["sh: 1: make: not found"]},
            EngineUnavailableError,
            "finds no C.. compiler",
        ),
        ({"stage": ["building the Stan program"], "error": ["line 3\nbad"]}, EngineFailedError, "built: line 3 bad."),
        (
            {"stage": ["building the Stan program"], "error": ["cc1plus: No space left on device"]},
            EngineFailedError,
            "TMPDIR",
        ),
        ({"stage": ["sampling"], "error": ["the data arrived damaged"]}, DataError, "the data arrived damaged"),
        ({"stage": ["reading the draws"], "error": ["e" * 999]}, EngineFailedError, "while reading the draws: e"),
        (
            {"failed": {"1": ["Chain 1: Initialization between (-2, 2) failed after 100 attempts."], "2": ["x"]}},
            EngineFailedError,
            "found no point to start from",
        ),
        (
            {"failed": {"1": ["x"], "2": ["it died: No space left on device /t"]}},
            EngineFailedError,
            "no room .* sampling",
        ),
        ({"failed": {"1": ["it died"]}}, EngineFailedError, "All 1 chains of brms failed: it died."),
    ],
)
def test_errors_of_r_and_stan_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        fit(monkeypatch, reply)
    assert len(str(caught.value)) < 700
    assert "\n" not in str(caught.value)
    assert caught.value.remedy  # type: ignore[attr-defined]


def test_the_time_limit_says_how_far_the_chains_were(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("psychoeval: sampling", "Chain 2: Iteration:  400 / 2000 [ 20%]  (Warmup)", "noise")
    with pytest.raises(FitTimeoutError, match=r"within 9 s and was stopped while sampling \(chain 2: 400 of 2000\)"):
        fit(monkeypatch, FitTimeoutError("R did not finish"), lines=lines)


def test_progress_is_shown_where_wanted_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (False, True):
        progress = Progress("brms", show=show)
        for line in ("psychoeval: sampling", "noise", *["Chain 1: Iteration:   1 / 20 [  5%]  (Warmup)"] * 2):
            progress(line)
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.splitlines() == (["brms: sampling", "brms: sampling (chain 1: 1 of 20)"] if show else [])


def test_without_a_seed_one_is_drawn_and_kept(monkeypatch: pytest.MonkeyPatch, truth: Truth) -> None:
    seeds = set()
    for _ in range(2):
        bridge = FakeBridge({"stage": ["sampling"], "error": ["x"]})
        monkeypatch.setattr(module, "RscriptBridge", bridge)
        monkeypatch.setattr(module, "require", lambda engine: None)
        with pytest.raises(EngineFailedError):
            Brms(seed=None).fit(responses(), MODEL)
        seeds.add(bridge.jobs[0]["seed"])
    assert len(seeds) == 2


def test_one_item_or_one_person_is_refused_before_r_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "require", lambda engine: pytest.fail("R was asked for"))
    for x in (np.ones((3, 1)), np.ones((1, 3)), np.full((3, 3), np.nan)):
        with pytest.raises(DataError, match="brms needs two"):
            Brms().fit(Responses.from_array(x), MODEL)


@pytest.mark.parametrize(
    "settings",
    [
        {"chains": 0},
        {"samples": 3},
        {"warmup": 1.5},
        {"seed": -1},
        {"adapt_delta": 1.0},
        {"max_treedepth": True},
        {"timeout": 0},
        {"n_jobs": 0},
        {"progress": "yes"},
        {"log_likelihood": 1},
        {"replicated_scores": "no"},
        {"engine_options": {"iter": 3}},
        {"engine_options": {"init": "map"}},
        {"engine_options": {"init_r": -1}},
        {"engine_options": {"control": {"adapt_delta": 0.9}}},
        {"engine_options": {"control": 3}},
        {"engine_options": 3},
    ],
)
def test_settings_that_cannot_be_taken_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Brms(**settings)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Brms().chains = 3  # type: ignore[misc]


def test_built_programs_lie_where_only_the_user_writes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, problem = cache_folder()
    assert folder == cache / "psychoeval" / "brms"
    assert problem == ""
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert cache_folder() == (
        None,
        f"{folder}: others may write there, and what lies in it would be run (chmod go-w it)",
    )
    bridge = FakeBridge(EngineFailedError("stopped"))
    monkeypatch.setattr(module, "RscriptBridge", bridge)
    monkeypatch.setattr(module, "require", lambda engine: None)
    with pytest.raises(EngineFailedError):
        Brms().fit(responses(), MODEL)
    assert bridge.jobs[0]["cache"] is None  # R says so after it has built the program anew
    assert "others may write there" in bridge.jobs[0]["cache_problem"]


def test_a_cache_that_cannot_be_made_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder() == (None, f"{tmp_path}/file/psychoeval/brms: Not a directory")
