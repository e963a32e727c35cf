from __future__ import annotations

import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from psychoeval.errors import ConvergenceWarning, ModelError, SettingsError
from psychoeval.fitting import FitsInterrupted, FitStore, describe_fit, fit, fit_many, item_model
from psychoeval.irt.models import DEFAULT_GUESSING_PRIOR, PRIOR_PRESETS, ItemModel, Normal, Priors
from psychoeval.registry import REGISTRY, make_estimator
from psychoeval.responses.matrix import Responses
from tests.unit.fakes import Fake, row


@pytest.fixture(autouse=True)
def fake_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "fake", row())


@pytest.fixture
def responses() -> Responses:
    x = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]], dtype=np.uint8)
    return Responses(x, np.ones_like(x), tuple("abcdef"), ("x", "y", "z"))


def test_provenance_is_stamped(responses: Responses) -> None:
    result = fit(responses, "fake", model="Rasch", seed=3)
    provenance = result.provenance
    assert provenance.data_sha256 == responses.sha256
    assert provenance.settings["seed"] == 3
    assert {"psychoeval", "python", "numpy"} <= set(provenance.versions)
    assert provenance.seconds is not None
    assert provenance.seconds >= 0
    assert result.n_persons == 6


def test_persons_without_responses_do_not_count_in_n(responses: Responses) -> None:
    trials = np.array(responses.trials)
    trials[0] = 0
    data = Responses(np.minimum(responses.successes, trials), trials, responses.person_ids, responses.item_ids)
    with np.errstate(invalid="ignore"):
        assert fit(data, "fake", model="Rasch").n_persons == 5


def test_a_fit_that_did_not_converge_warns(responses: Responses) -> None:
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        fit(responses, "fake", model="Rasch", behaviour="limit")


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"estimator": "nonesuch"}, "simple-average"),
        ({"estimator": "fake", "model": "Rasch", "tolerence": 1}, "behaviour"),
        ({"estimator": Fake(), "model": "Rasch", "seed": 1}, "Set them on the object"),
    ],
)
def test_bad_settings_name_the_good_ones(responses: Responses, kwargs: dict[str, object], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        fit(responses, **kwargs)  # type: ignore[arg-type]


def test_not_responses_is_refused() -> None:
    with pytest.raises(SettingsError, match="load_dataset"):
        fit(np.eye(3), "fake", model="Rasch")  # type: ignore[arg-type]


@pytest.mark.parametrize(("model", "match"), [(None, "needs a model"), ("3PL", "does not fit"), ("GRM", "Polytomous")])
def test_bad_models_are_refused(responses: Responses, model: str | None, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        fit(responses, "fake", model=model)


def test_counts_need_an_estimator_that_takes_them(responses: Responses) -> None:
    counts = Responses(responses.successes, responses.trials * np.uint8(2), responses.person_ids, responses.item_ids)
    with pytest.raises(ModelError, match="binary"):
        fit(counts, "fake", model="Rasch")


def test_free_slopes_on_few_persons_need_an_explicit_word() -> None:
    x = (np.arange(12 * 20).reshape(12, 20) % 3 == 0).astype(np.uint8)
    data = Responses.from_array(x)
    with pytest.raises(ModelError, match=r"40 parameters for 12 persons.*allow_free_2pl"):
        fit(data, "fake", model="2PL")
    assert fit(data, "fake", model="2PL", allow_free_2pl=True).model == ItemModel("2PL")
    assert fit(data, "fake", model="2PL[weak]").model == ItemModel("2PL", PRIOR_PRESETS["weak"])
    assert fit(data, "fake", model="Rasch").model == ItemModel("Rasch")


def test_item_model_reads_brackets_and_frees_guessing_without_priors() -> None:
    assert item_model("2PL[weak]", "none").priors == PRIOR_PRESETS["weak"]
    assert item_model("2PL[none]", "weak").priors is None
    assert item_model("3PL").guessing == DEFAULT_GUESSING_PRIOR
    assert item_model("3PL", "none").guessing == "free"
    assert item_model("3PL", "none", 0.25).guessing == 0.25
    assert item_model("2PL", row=REGISTRY["map"]).priors == PRIOR_PRESETS["published"]
    with pytest.raises(ModelError, match="weak"):
        item_model("2PL[strong]")


def test_priors_have_one_density_a_parameter() -> None:
    with pytest.raises(ModelError, match="both intercept and difficulty"):
        Priors(intercept=Normal(0, 1), difficulty=Normal(0, 1))
    with pytest.raises(ModelError, match="without any density"):
        Priors()


def test_fit_many_keeps_going_and_keeps_the_order(responses: Responses) -> None:
    events: list[tuple[str, str]] = []
    fits = fit_many(
        responses,
        ["fake", Fake(behaviour="crash"), Fake(behaviour="limit")],
        model=["Rasch", "2PL[weak]"],
        progress=lambda label, event: events.append((label, event)),
    )
    assert [f.label for f in fits.results] == ["fake Rasch", "fake 2PL [weak]"] * 2
    assert [(f.kind, f.problem, f.remedy) for f in fits.failures] == [
        ("EngineFailedError", "The engine died.", "Try again.")
    ] * 2
    assert fits.failures[1].label == "fake 2PL [weak]"
    assert ("fake Rasch", "failed") in events


def test_an_error_that_nobody_foresaw_costs_only_its_own_fit(
    responses: Responses, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflow(*_: object) -> None:
        raise OverflowError("math range error")

    monkeypatch.setattr("tests.unit.fakes.Fake.fit", overflow)
    fits = fit_many(responses, ["simple-average", "fake"], model="Rasch")
    assert [f.estimator for f in fits.results] == ["simple-average"]
    assert [(f.kind, f.problem) for f in fits.failures] == [("OverflowError", "math range error")]


@pytest.mark.parametrize("n_jobs", [0, -1, 1.5, True, "2"])
def test_bad_numbers_of_jobs_are_refused(responses: Responses, n_jobs: object) -> None:
    with pytest.raises(SettingsError, match="n_jobs"):
        fit_many(responses, ["fake"], model="Rasch", n_jobs=n_jobs)  # type: ignore[arg-type]


def test_ctrl_c_keeps_what_was_done(responses: Responses) -> None:
    with pytest.raises(FitsInterrupted) as caught:
        fit_many(responses, ["fake", Fake(behaviour="interrupt"), "fake"], model="Rasch")
    assert len(caught.value.fits.results) == 1
    assert isinstance(caught.value, KeyboardInterrupt)


def test_ctrl_c_in_parallel_keeps_what_was_done(responses: Responses) -> None:
    quick = [Fake() for _ in range(3)]
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(FitsInterrupted) as caught:
        fit_many(responses, [*quick, Fake(wait=3.0)], model="Rasch", n_jobs=2)
    timer.join()
    assert len(caught.value.fits.results) == 3


def test_common_settings_reach_those_that_have_them(responses: Responses) -> None:
    fits = fit_many(responses, ["fake"], model="Rasch", seed=11, timeout=5.0)
    assert fits.results[0].provenance.settings["seed"] == 11
    assert fits.results[0].provenance.settings["timeout"] == 5.0


def test_describe_shows_the_job_without_running_it(responses: Responses) -> None:
    assert describe_fit(responses, "fake", "Rasch", behaviour="crash") == "fake Rasch"


def test_every_row_names_a_class_with_its_name() -> None:
    for name, entry in REGISTRY.items():
        if entry.engine == "numpy":
            assert make_estimator(name).name == name


def test_a_store_keeps_fits_and_takes_them_up(responses: Responses, tmp_path: Path) -> None:
    store = FitStore(tmp_path / "fits")
    first = fit_many(responses, ["fake"], model=["Rasch", "2PL"], seed=1, store=store)
    again = fit_many(responses, ["fake"], model=["Rasch", "2PL"], seed=1, store=store)
    # The time of a fit that was taken up is that of its own run.
    assert [f.provenance.seconds for f in again.results] == [f.provenance.seconds for f in first.results]
    assert len(list(store.folder.iterdir())) == 2
    fit_many(responses, ["fake"], model="Rasch", seed=2, store=store)
    fit_many(responses.select(items=slice(0, 2)), ["fake"], model="Rasch", seed=1, store=store)
    fit_many(responses, ["fake"], model="2PL[weak]", seed=1, store=store)
    assert len(list(store.folder.iterdir())) == 5
    fit_many(responses, ["fake"], model="Rasch", seed=1, timeout=9.0, store=store)
    assert len(list(store.folder.iterdir())) == 5


def test_a_damaged_file_of_a_store_is_named(responses: Responses, tmp_path: Path) -> None:
    store = FitStore(tmp_path)
    fit_many(responses, ["fake"], model="Rasch", store=store)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"nonsense")
    (failure,) = fit_many(responses, ["fake"], model="Rasch", store=store).failures
    assert file.name in failure.problem
    assert "Delete the file" in failure.remedy


def test_another_fit_under_the_name_of_one_is_not_taken_up(responses: Responses, tmp_path: Path) -> None:
    store = FitStore(tmp_path)
    fit_many(responses, ["fake", "ctt"], model="Rasch", store=store)
    fake, other = (next(tmp_path.glob(f"{name}-*")) for name in ("fake", "ctt"))
    fake.write_bytes(other.read_bytes())
    (failure,) = fit_many(responses, ["fake"], model="Rasch", store=store).failures
    assert "holds another fit" in failure.problem


def test_terms_that_the_model_fixes_are_not_shown_as_estimates(responses: Responses) -> None:
    table = fit(responses, "map", model="Rasch").item_table().set_index("term")
    assert set(table.loc["discrimination", "status"]) == {"fixed"}
    assert table.loc["discrimination", "std_error"].isna().all()
    assert set(table.loc["guessing", "status"]) == {"fixed"}
    assert set(table.loc["difficulty", "status"]) == {"estimated"}
    assert table.loc["difficulty", "std_error"].notna().all()
