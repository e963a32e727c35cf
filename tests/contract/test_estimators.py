"""What every estimator of the registry keeps to."""

import dataclasses
import random
import warnings
from collections.abc import Mapping

import numpy as np
import pytest

from psychoeval.errors import ModelError, PsychoevalError, PsychoevalWarning, SettingsError
from psychoeval.fitting import fit, item_model
from psychoeval.irt.models import MODEL_NAMES
from psychoeval.registry import REGISTRY, entry, make_estimator
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import item_status
from psychoeval.results.fit_result import FitResult
from psychoeval.results.storage import load_fit, save_fit
from tests.contract import rows
from tests.contract.rows import fitted
from tests.parity import tolerances

every_row = pytest.mark.parametrize(("name", "model"), rows.rows())
names = pytest.mark.parametrize("name", REGISTRY)

#: Estimators that draw: another order of the persons is another stream of draws.
STOCHASTIC = ("mirt-mhrm",)
SAMPLED = tuple(name for name, row in REGISTRY.items() if "draws" in row.provides)


def _arrays(value, path="fit"):
    """Yield (path, array) for every array that a result holds."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _arrays(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Mapping):
        for key, entry_ in value.items():
            yield from _arrays(entry_, f"{path}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for i, entry_ in enumerate(value):
            yield from _arrays(entry_, f"{path}[{i}]")


#: Details that tell the time, or what was there from the run before.
CLOCKED = ("console", "built_program_from_cache")


def _answer(found: FitResult) -> FitResult:
    """Return the result without what may differ between two runs: seconds and memory."""
    details = {k: v for k, v in found.provenance.details.items() if "seconds" not in k and k not in CLOCKED}
    provenance = dataclasses.replace(found.provenance, seconds=None, peak_memory_mb=None, details=details)
    return dataclasses.replace(found, provenance=provenance)


def _assert_equal(one, other, path="fit"):
    """Compare two results bit by bit, NaN equal to NaN."""
    assert type(one) is type(other), path
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, path
        np.testing.assert_array_equal(one, other, err_msg=path)
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            _assert_equal(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), path
        for key in one:
            _assert_equal(one[key], other[key], f"{path}[{key!r}]")
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other), path
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            _assert_equal(a, b, f"{path}[{i}]")
    elif isinstance(one, float) and np.isnan(one):
        assert np.isnan(other), path
    else:
        assert one == other, path


@every_row
def test_the_same_seed_gives_the_same_answer(name, model):
    _assert_equal(_answer(fitted(name, model)), _answer(fitted(name, model, "again")))


@every_row
def test_another_order_of_persons_gives_the_same_persons(name, model):
    given, other, order = fitted(name, model), fitted(name, model, "persons permuted"), rows.person_order()
    expected = {p: e for p, e in zip(given.abilities.person_ids, given.abilities.estimate, strict=True)}
    assert other.abilities.person_ids == tuple(given.abilities.person_ids[i] for i in order)
    assert other.abilities.status == tuple(given.abilities.status[i] for i in order)
    if name in SAMPLED:
        _assert_same_posterior(given, other, [other.abilities.person_ids.index(p) for p in given.abilities.person_ids])
        return
    if name in STOCHASTIC:
        errors = given.item_parameters.standard_errors
        for term in ("discrimination", "intercept"):
            a, b = getattr(given.item_parameters, term), getattr(other.item_parameters, term)
            assert np.nanmax(np.abs(a - b) / errors[term]) < tolerances.MHRM_LARGEST
        return
    exactly = {"rel": 0, "abs": tolerances.REORDERED, "nan_ok": True}
    assert other.abilities.estimate == pytest.approx([expected[p] for p in other.abilities.person_ids], **exactly)
    loosely = exactly | ({"abs": tolerances.REORDERED_ERRORS} if (name, model) == ("mml", "3PL") else {})
    assert other.abilities.standard_error == pytest.approx(given.abilities.standard_error[order], **loosely)
    if given.item_parameters is not None:
        for term in ("discrimination", "intercept", "guessing"):
            a, b = getattr(given.item_parameters, term), getattr(other.item_parameters, term)
            assert b == pytest.approx(a, **exactly)
    if given.log_likelihood is not None:
        assert other.log_likelihood == pytest.approx(given.log_likelihood, rel=0, abs=tolerances.REORDERED)


def _assert_same_posterior(given: FitResult, other: FitResult, persons, items=slice(None)) -> None:
    """Hold posterior means of two runs against each other, by the Monte Carlo errors of both."""
    for name, one, two in (
        ("ability", given.abilities.estimate, other.abilities.estimate[persons]),
        ("intercept", given.item_parameters.intercept, other.item_parameters.intercept[items]),
    ):
        error = np.hypot(np.nanmax(given.sampling.mcse_mean[name]), np.nanmax(other.sampling.mcse_mean[name]))
        assert np.nanmax(np.abs(one - two)) < tolerances.POSTERIOR_MCSE * error


@every_row
def test_another_order_of_items_gives_the_same_items(name, model):
    given, other, order = fitted(name, model), fitted(name, model, "items permuted"), rows.item_order()
    if name in SAMPLED:
        places = [other.item_parameters.item_ids.index(i) for i in given.item_parameters.item_ids]
        _assert_same_posterior(given, other, slice(None), places)
        return
    exactly = {"rel": 0, "abs": tolerances.REORDERED, "nan_ok": True}
    assert other.abilities.estimate == pytest.approx(given.abilities.estimate, **exactly)
    for before, after in (
        (given.item_parameters, other.item_parameters),
        (given.item_statistics, other.item_statistics),
    ):
        if before is None:
            assert after is None
            continue
        assert after.item_ids == tuple(before.item_ids[j] for j in order)
        for term in ("discrimination", "intercept", "guessing", "proportion_correct", "item_rest_correlation"):
            if hasattr(before, term):
                assert getattr(after, term) == pytest.approx(getattr(before, term)[order], **exactly)


@every_row
def test_the_result_holds_what_the_row_says_it_provides(name, model):
    found, provides = fitted(name, model), entry(name).provides
    assert (found.item_parameters is not None) == ("item_parameters" in provides)
    assert (found.item_statistics is not None) == ("item_statistics" in provides)
    assert (found.abilities is not None) == ("abilities" in provides)
    assert (found.log_likelihood is not None) == ("log_likelihood" in provides)
    assert (found.log_likelihood_kind is not None) == ("log_likelihood" in provides)
    if "standard_errors" in provides:
        assert found.abilities.standard_error is not None
        if found.item_parameters is not None:
            assert found.item_parameters.standard_errors is not None
    assert found.estimator == name
    assert (found.model.name if found.model else None) == model


@every_row
def test_arrays_are_read_only(name, model):
    arrays = list(_arrays(fitted(name, model)))
    assert arrays
    assert [path for path, array in arrays if array.flags.writeable] == []


@every_row
def test_persons_stay_in_place_with_their_status(name, model):
    found, given = fitted(name, model).abilities, rows.awkward()
    assert found.person_ids == given.person_ids
    status = found.status
    assert status[rows.EXTREME_RIGHT] == "extreme_all_1"
    assert status[rows.EXTREME_WRONG] == "extreme_all_0"
    assert status[rows.EMPTY] == "no_responses"
    assert np.isnan(found.estimate[rows.EMPTY])
    assert np.isnan(found.standard_error[rows.EMPTY])
    others = np.delete(np.arange(given.n_persons), rows.EMPTY)
    assert np.isfinite(found.estimate[others]).all()
    assert (found.standard_error[others] > 0).all()
    assert found.estimate[rows.EXTREME_RIGHT] > np.nanmedian(found.estimate) > found.estimate[rows.EXTREME_WRONG]


@every_row
def test_items_stay_in_place_with_their_status(name, model):
    found, given = fitted(name, model), rows.awkward()
    if found.item_statistics is not None:
        assert found.item_statistics.item_ids == given.item_ids
        assert np.isnan(found.item_statistics.proportion_correct[rows.NEVER_RUN])
    if found.item_parameters is None:
        return
    items = found.item_parameters
    assert items.item_ids == given.item_ids
    for j, expected in enumerate(item_status(given)):
        assert items.status[j] == expected or (expected == "estimated" and items.status[j] == "runaway")
    assert np.isnan([items.discrimination[rows.NEVER_RUN], items.intercept[rows.NEVER_RUN]]).all()
    free = [j for j, status in enumerate(item_status(given)) if status == "estimated"]
    assert items.estimated[free].all()


@every_row
def test_tables_have_a_row_for_everyone_and_everything(name, model):
    found, given = fitted(name, model), rows.awkward()
    assert found.ability_table()["person"].tolist() == list(given.person_ids)
    if found.item_parameters is not None or found.item_statistics is not None:
        assert set(found.item_table()["item"]) == set(given.item_ids)


@every_row
def test_a_saved_result_comes_back_bit_by_bit(name, model, tmp_path):
    found = fitted(name, model)
    path = save_fit(found, tmp_path / "one.fit")
    again = load_fit(path)
    _assert_equal(again, found)
    assert save_fit(again, tmp_path / "two.fit").read_bytes() == path.read_bytes()


@every_row
def test_counts_are_fitted_or_refused_by_name(name, model):
    if "counts" in entry(name).accepts:
        found = fitted(name, model, "counts")
        assert np.isfinite(found.abilities.estimate[rows.counts().trials.any(axis=1)]).all()
    else:
        with pytest.raises(ModelError, match=name):
            fit(rows.counts(), name, model=model)


@every_row
def test_provenance_tells_where_the_numbers_come_from(name, model):
    found = fitted(name, model)
    provenance = found.provenance
    assert provenance.engine == entry(name).engine
    assert provenance.data_sha256 == rows.awkward().sha256
    assert {"psychoeval", "python", "numpy"} <= set(provenance.versions)
    assert provenance.seconds > 0
    for setting, value in rows.settings(name).items():
        assert provenance.settings[setting] == value


@every_row
def test_fitting_prints_nothing_and_draws_from_nobody_elses_generator(name, model, capfd):
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsychoevalWarning)
        fit(rows.awkward(), name, model=model, **rows.settings(name))
    assert random.getstate() == before[0]
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert capfd.readouterr() == ("", "")


@every_row
def test_data_without_a_response_give_an_error_with_a_remedy_or_no_number(name, model):
    nothing = Responses.from_array(np.full((200, 4), np.nan))
    try:
        found = fit(nothing, name, model=model)
    except PsychoevalError as error:
        assert error.remedy  # noqa: PT017
        return
    assert np.isnan(found.abilities.estimate).all()
    assert set(found.abilities.status) == {"no_responses"}


@every_row
def test_describe_says_what_would_run(name, model):
    estimator = make_estimator(name, **rows.settings(name))
    assert estimator.describe().strip()
    built = item_model(model, row=entry(name)) if model else None
    text = estimator.describe(rows.awkward(), built)
    assert text.strip()
    if model and entry(name).engine == "r":
        assert name.partition("-")[0] in text


@names
def test_rows_name_estimators_that_are_frozen_settings(name):
    estimator = make_estimator(name)
    assert estimator.name == name
    assert entry(name).summary
    first = dataclasses.fields(estimator)[:1]
    for field in first:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(estimator, field.name, None)


@names
def test_unknown_models_are_refused_before_anything_runs(name):
    if not entry(name).models:
        return
    with pytest.raises(ModelError, match="There is no model 'GRM'"):
        fit(rows.awkward(), name, model="GRM")
    with pytest.raises(ModelError, match=f"{name} needs a model"):
        fit(rows.awkward(), name)
    for other in set(MODEL_NAMES) - set(entry(name).models):
        with pytest.raises(ModelError, match=f"{name} does not fit the {other}"):
            fit(rows.awkward(), name, model=other)


@names
def test_unknown_settings_are_refused_with_those_there_are(name):
    with pytest.raises(SettingsError, match=f"{name} has no setting 'tolerence'"):
        make_estimator(name, tolerence=1e-3)
