"""Known items from files: each source's real layout, and what is refused.

The values of mirt are those that mirt 1.48 wrote for its LSAT7 3PL and Rasch model, those of girth are girth 0.8's.
"""

from __future__ import annotations

import doctest
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psychoeval.scoring.item_files
from psychoeval.errors import DataError, ModelError, PsychoevalWarning, SettingsError
from psychoeval.estimators.native.mml import MML
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses
from psychoeval.scoring import read_item_parameters

MIRT_SLOPE = """"","a1","d","g","u"
"Item.1",1.00685492541779,1.86562046904509,7.03415041003204e-05,1
"Item.2",1.92824119429514,0.0940411342862687,0.295054490427074,1
"""
MIRT_IRT = """"","a","b","g","u"
"Item.1",1.00685492541779,-1.85291884853316,7.03415041003204e-05,1
"Item.2",1.92824119429514,-0.0487704207152595,0.295054490427074,1
"""
MIRT_WHOLE = """"","items.a1","items.d","items.g","items.u","means","F1"
"Item.1",1.00685492541779,1.86562046904509,7.03415041003204e-05,1,0,1
"Item.2",1.92824119429514,0.0940411342862687,0.295054490427074,1,0,1
"""
MIRT_FOUR = """"","a1","d","g","u"
"Item.1",2.71217016692434,4.35859856864488,0.000338400405883627,1
"Item.2",7.44360285497644,-0.0396458341146342,0.36701987971418,0.951804705188902
"""
MIRT_TWO_DIMENSIONS = """"","a1","a2","d","g","u"
"Item.1",-1.46729081834671,0.272367687239086,2.15365828907893,0,1
"""
MIRT_GRADED = """"","a1","d1","d2","d","g","u"
"Item.1",0.387363815199163,2.48803642444502,-0.345733257004504,NA,NA,NA
"Item.2",1.10535815035871,NA,NA,0.814156222300732,0,1
"""
GIRTH: dict[str, Any] = {
    "Discrimination": [0.93139615, 0.86605927, 1.45215351, 1.22647457],
    "Difficulty": [-0.89741993, -0.10749815, 0.53608021, 1.02375466],
    "Ability": [0.1, 0.2],
    "AIC": {"final": 1491.0},
}
NAMES = ["q1", "q2", "q3", "q4"]
PY_IRT: dict[str, Any] = {
    "ability": [0.3, -0.2], "diff": [0.5, -1.0, 0.2], "disc": [1.1, 0.7, 2.0], "irt_model": "2pl",
    "item_ids": {"0": "q1", "1": "q2", "2": "q3"}, "subject_ids": {"0": "s1", "1": "s2"},
}  # fmt: skip


def written(folder: Path, content: Any, name: str = "items.csv") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_examples() -> None:
    found = doctest.testmod(psychoeval.scoring.item_files)
    assert found.attempted > 0
    assert not found.failed


@pytest.mark.parametrize("content", [MIRT_SLOPE, MIRT_IRT, MIRT_WHOLE])
def test_mirts_coefficients_in_either_parametrization(tmp_path: Path, content: str) -> None:
    found = read_item_parameters(written(tmp_path, content), "mirt")
    assert found.item_ids == ("Item.1", "Item.2")
    assert found.discrimination == pytest.approx([1.00685492541779, 1.92824119429514])
    assert found.intercept == pytest.approx([1.86562046904509, 0.0940411342862687], abs=1e-12)
    assert found.guessing == pytest.approx([7.03415041003204e-05, 0.295054490427074])
    assert found.covariance is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (MIRT_FOUR, r"Column 'u', item 'Item.2': an upper asymptote of 0\.9518.*, as the 4PL has it"),
        (MIRT_TWO_DIMENSIONS, r"'a2' are slopes on further dimensions"),
        (MIRT_GRADED, r"'d1', 'd2' are of items with more than two categories"),
    ],
)
def test_other_models_of_mirt_are_refused_by_name(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(ModelError, match=rf"items\.csv: .*{words}"):
        read_item_parameters(written(tmp_path, content), "mirt")


def test_girths_dictionary_as_json_npz_and_csv(tmp_path: Path) -> None:
    import pandas as pd

    arrays = {k: np.array(GIRTH[k]) for k in ("Discrimination", "Difficulty")}
    np.savez(tmp_path / "girth.npz", LatentPDF=np.array([object()]), **arrays)  # type: ignore[arg-type]
    pd.DataFrame(arrays).to_csv(tmp_path / "girth.csv")
    files = written(tmp_path, GIRTH, "girth.json"), tmp_path / "girth.npz", tmp_path / "girth.csv"
    for file in files:
        found = read_item_parameters(file, "girth", item_ids=NAMES)
        assert found.item_ids == tuple(NAMES)
        assert found.discrimination == pytest.approx(GIRTH["Discrimination"])
        assert found.difficulty == pytest.approx(GIRTH["Difficulty"])
        assert found.guessing.tolist() == [0] * 4
        with pytest.raises(DataError, match="girth's results name no items"):
            read_item_parameters(file, "girth")
    np.savez(tmp_path / "named.npz", item_ids=np.array(NAMES), Guessing=np.full(4, 0.2), **arrays)  # type: ignore[arg-type]
    named = read_item_parameters(tmp_path / "named.npz", "girth")
    assert named.item_ids == tuple(NAMES)
    assert named.guessing.tolist() == [0.2] * 4
    pd.DataFrame({"item": NAMES, **arrays}).to_csv(tmp_path / "named.csv", index=False)
    assert read_item_parameters(tmp_path / "named.csv", "girth").item_ids == tuple(NAMES)


def test_girths_one_slope_is_that_of_all_items(tmp_path: Path) -> None:
    one = {"Discrimination": 1.0938101713536659, "Difficulty": [-0.8, -0.09, 0.64, 1.1]}  # onepl_mml
    found = read_item_parameters(written(tmp_path, one, "one.json"), "girth", item_ids=NAMES)
    assert found.discrimination.tolist() == [1.0938101713536659] * 4


def test_what_girth_makes_of_other_models_is_refused(tmp_path: Path) -> None:
    many = GIRTH | {"Difficulty": [[0.0, 1.0]] * 4}
    with pytest.raises(ModelError, match=r"many\.json: Difficulty has the shape \(4, 2\): items with more than two"):
        read_item_parameters(written(tmp_path, many, "many.json"), "girth", item_ids=NAMES)
    wide = GIRTH | {"Discrimination": [[0.0, 1.0]] * 4}
    with pytest.raises(ModelError, match=r"Discrimination has the shape \(4, 2\): items with several dimensions"):
        read_item_parameters(written(tmp_path, wide, "wide.json"), "girth", item_ids=NAMES)
    with pytest.raises(DataError, match="3 item ids for 4 items"):
        read_item_parameters(written(tmp_path, GIRTH, "g.json"), "girth", item_ids=NAMES[:3])
    odd = GIRTH | {"Difficulty": [0.0, float("nan"), 0.0, 0.0]}
    with pytest.raises(DataError, match=r"Column 'difficulty', row 'q2': nan is not a finite number"):
        read_item_parameters(written(tmp_path, odd, "g.json"), "girth", item_ids=NAMES)
    with pytest.raises(DataError, match=r"cannot be read"):
        read_item_parameters(written(tmp_path, "PK no", "bad.npz"), "girth", item_ids=NAMES)
    np.savez(tmp_path / "pickled.npz", Difficulty=np.array([object()]), Discrimination=np.ones(1))
    with pytest.raises(DataError, match=r"pickled\.npz cannot be read"):
        read_item_parameters(tmp_path / "pickled.npz", "girth", item_ids=["q1"])


def test_py_irts_parameters(tmp_path: Path) -> None:
    found = read_item_parameters(written(tmp_path, PY_IRT, "parameters.json"), "py-irt")
    assert found.item_ids == ("q1", "q2", "q3")
    assert found.discrimination.tolist() == [1.1, 0.7, 2.0]
    assert found.difficulty == pytest.approx([0.5, -1.0, 0.2])
    three = PY_IRT | {"irt_model": "3pl", "lambdas": [0.1, 0.2, 0.25]}
    assert read_item_parameters(written(tmp_path, three, "p.json"), "py-irt").guessing.tolist() == [0.1, 0.2, 0.25]
    one = {k: v for k, v in PY_IRT.items() if k != "disc"} | {"irt_model": "1pl"}
    assert read_item_parameters(written(tmp_path, one, "p.json"), "py-irt").discrimination.tolist() == [1, 1, 1]
    # Positions are as text, and need not be in order.
    turned = PY_IRT | {"item_ids": {"2": "q3", "0": "q1", "1": "q2"}}
    assert read_item_parameters(written(tmp_path, turned, "p.json"), "py-irt").item_ids == ("q1", "q2", "q3")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"irt_model": "4pl", "lambdas": [0.9, 0.9, 0.9]},
            ModelError,
            r"model '4pl' is not taken: its lambdas are upper",
        ),
        ({"irt_model": "multidim_2pl"}, ModelError, "several dimensions"),
        ({"irt_model": "amortized_1pl"}, ModelError, "not in the order of its item ids"),
        ({"irt_model": None, "lambdas": [0.1, 0.1, 0.1]}, ModelError, r"could be lower \(3pl\) or upper"),
        ({"diff": [0.1, 0.2]}, DataError, r"'diff' has 2 values for 3 items \('q1', 'q2', 'q3'\)"),
        ({"disc": None}, DataError, "'disc' is missing"),
        ({"disc": [1.0, "x", 2.0]}, DataError, r"Column 'discrimination', row 'q2': 'x' is not a finite number"),
        ({"item_ids": {"0": "q1", "2": "q2", "3": "q3"}}, DataError, "no item for each position"),
        ({"irt_model": "3pl", "lambdas": [0.1, 1.0, 0.1]}, DataError, r"lower asymptote of item 'q2' is 1, outside"),
    ],
)
def test_what_py_irt_makes_of_other_models_is_refused(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=rf"p\.json: .*{words}"):
        read_item_parameters(written(tmp_path, PY_IRT | change, "p.json"), "py-irt")


def test_a_log_of_py_irt_is_no_file_of_parameters(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file of py-irt"):
        read_item_parameters(written(tmp_path, {"subject_id": "s", "responses": {"q": 1}}, "p.json"), "py-irt")


def test_tables_in_either_parametrization_with_errors(tmp_path: Path) -> None:
    found = read_item_parameters(written(tmp_path, "item,a,b,se_a,se_b\nq1,2,0.5,.1,.2\nq2,1,-1,.1,.3\n"))
    assert found.difficulty == pytest.approx([0.5, -1.0])
    assert found.standard_errors is not None
    assert found.standard_errors["difficulty"] == pytest.approx([0.2, 0.3])
    found = read_item_parameters(written(tmp_path, "item\tslope\tintercept\nq1\t2\t-1\n", "items.tsv"))
    assert (found.discrimination[0], found.intercept[0]) == (2.0, -1.0)
    easy = read_item_parameters(written(tmp_path, "item,easiness\nq1,2\n"), parametrization="easiness")
    assert easy.difficulty[0] == -2.0
    both = written(tmp_path, "item,a,b,d\nq1,2,0.5,-1\n")
    with pytest.raises(DataError, match=r"items\.csv: The columns 'b', 'd' are difficulties and intercepts"):
        read_item_parameters(both)
    assert read_item_parameters(both, parametrization="difficulty").difficulty[0] == 0.5
    with pytest.raises(DataError, match=r"items\.csv: Column 'a', row 'q2': 'NA' is not a finite number"):
        read_item_parameters(written(tmp_path, "item,a,b\nq1,2,0.5\nq2,NA,1\n"))
    with pytest.raises(DataError, match=r"items\.csv: The lower asymptote of item 'q1' is 20, outside"):
        read_item_parameters(written(tmp_path, "item,a,b,c\nq1,2,0.5,20\n"))
    with pytest.raises(DataError, match=r"items\.csv: The item table has no column of difficulty"):
        read_item_parameters(written(tmp_path, "item,a\nq1,2\n"))


def test_the_table_that_a_fit_prints_is_read_back(tmp_path: Path) -> None:
    data = load_dataset("lsat7")
    with_constant = Responses.from_array(
        np.column_stack([data.successes, np.ones(data.n_persons)]), item_ids=[*data.item_ids, "easy"]
    )
    fit = MML().fit(with_constant, ItemModel("2PL"))
    file = tmp_path / "items.csv"
    fit.item_table().to_csv(file, index=False)
    with pytest.warns(PsychoevalWarning, match=r"1 of 6 items have no parameters and are left out: 'easy'"):
        found = read_item_parameters(file)
    known = fit.item_parameters
    assert known is not None
    assert found.item_ids == data.item_ids
    assert found.discrimination == pytest.approx(known.discrimination[:5], rel=1e-12)
    assert found.intercept == pytest.approx(known.intercept[:5], rel=1e-12)
    assert found.standard_errors is not None
    assert known.standard_errors is not None
    assert found.standard_errors["intercept"] == pytest.approx(known.standard_errors["intercept"][:5])
    rasch = MML().fit(data, ItemModel("Rasch"))
    rasch.item_table().to_csv(file, index=False)
    read = read_item_parameters(file)
    assert read.standard_errors is not None
    assert not read.standard_errors["discrimination"].any()


def test_negative_slopes_are_kept_and_noted(tmp_path: Path) -> None:
    with pytest.warns(PsychoevalWarning, match=r"1 of 3 slopes are negative: 'q2'\. Who is able fails on them"):
        found = read_item_parameters(written(tmp_path, "item,a,b\nq1,1,0\nq2,-1,0\nq3,1,0\n"))
    assert found.discrimination.tolist() == [1, -1, 1]
    with pytest.warns(PsychoevalWarning, match=r"2 of 2 slopes .* the scale runs the other way round"):
        read_item_parameters(written(tmp_path, "item,a,b\nq1,-1,0\nq2,-1,0\n"))


def test_options_that_do_not_belong_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "item,a,b\nq1,1,0\n")
    with pytest.raises(SettingsError, match="There is no source 'bilog'"):
        read_item_parameters(file, "bilog")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="item_ids= belongs to girth"):
        read_item_parameters(file, item_ids=["q1"])
    with pytest.raises(SettingsError, match="parametrization= belongs to tables"):
        read_item_parameters(file, "mirt", parametrization="difficulty")
    with pytest.raises(SettingsError, match="There is no parametrization 'logit'"):
        read_item_parameters(file, parametrization="logit")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"gone\.csv does not exist"):
        read_item_parameters(tmp_path / "gone.csv")


def test_slopes_and_intercepts_take_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ItemParameters.from_slope_intercept(
            ["q1", "q2"], 1.0, [0.0, 1.0], standard_errors={"slope": 0.1, "intercept": [0.2, 0.3]}
        )
    assert made.standard_errors is not None
    assert made.standard_errors["discrimination"].tolist() == [0.1, 0.1]
    assert made.standard_errors["intercept"] == pytest.approx([0.2, 0.3])
    assert made.standard_errors["guessing"].tolist() == [0.0, 0.0]
    with pytest.raises(DataError, match="no parameter 'difficulty' to have errors"):
        ItemParameters.from_slope_intercept(["q1"], 1.0, 0.0, standard_errors={"difficulty": 0.1})
