"""Three tables of the same five items: ability centered, difficulty centered, and easiness relative to item 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoeval.agreement.comparison import compare
from psychoeval.agreement.external import import_fit
from psychoeval.errors import DataError
from psychoeval.results.fit_result import FitResult

DATA = Path(__file__).parent / "data" / "09"
TABLES: dict[str, Any] = json.loads((DATA / "tables.json").read_text())
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
ITEMS = [f"item-{k}" for k in range(1, 6)]


def rasch(name: str, difficulty: list[float], theta: dict[str, float] | None = None) -> FitResult:
    return import_fit(pd.DataFrame({"item": ITEMS, "b": difficulty}), theta, model="Rasch", name=name)


A = rasch("A", TABLES["fit_A"]["b"], TABLES["fit_A"]["theta"])
B = rasch("B", TABLES["fit_B"]["b"], TABLES["fit_B"]["theta"])
EASINESS = pd.DataFrame({"item": ITEMS, "easiness": TABLES["fit_C"]["easiness"]})


def test_a_constant_shift_is_found_reported_and_taken_out() -> None:
    found = compare([A, B]).pairs[0]
    assert found.verdict == "agree up to shift"
    assert found.alignment.second_onto_first.shift == pytest.approx(EXPECTED["shift_AB"][0], abs=1e-12)
    assert found.alignment.second_onto_first.scale == 1.0
    assert "+0.1" in found.reason
    for term, shifts in (("difficulty", EXPECTED["shift_AB"]), ("ability", EXPECTED["theta_shift"])):
        compared = found.term(term)
        assert compared is not None
        assert compared.raw.n == len(shifts)
        assert compared.raw.rmsd == pytest.approx(0.1, abs=1e-12)
        assert compared.raw.mean == pytest.approx(np.mean(shifts), abs=1e-12)
        assert compared.aligned.rmsd == pytest.approx(0.0, abs=1e-12)
        assert compared.aligned.correlation == pytest.approx(1.0)


def test_the_order_of_the_items_does_not_matter() -> None:
    table = pd.DataFrame({"item": ITEMS[::-1], "b": TABLES["fit_B"]["b"][::-1]})
    shuffled = import_fit(table, TABLES["fit_B"]["theta"], model="Rasch", name="B")
    found = compare([A, shuffled]).pairs[0]
    assert found.verdict == "agree up to shift"
    assert found.alignment.second_onto_first.shift == pytest.approx(0.1, abs=1e-12)


def test_easiness_agrees_up_to_a_shift_where_the_user_says_what_it_is() -> None:
    c = import_fit(EASINESS, model="Rasch", name="C", parametrization="easiness")
    found = compare([A, c]).pairs[0]
    assert found.verdict == "agree up to shift"
    assert found.alignment.second_onto_first.shift == pytest.approx(EXPECTED["shift_AC"][0], abs=1e-12)
    compared = found.term("difficulty")
    assert compared is not None
    assert compared.aligned.rmsd == pytest.approx(0.0, abs=1e-12)
    assert compared.raw.rmsd == pytest.approx(1.2, abs=1e-12)


def test_easiness_is_not_recognised_by_itself() -> None:
    with pytest.raises(DataError, match="no column of difficulty"):
        import_fit(EASINESS, model="Rasch", name="C")


def test_easiness_taken_for_difficulty_raises_the_question() -> None:
    found = compare([A, rasch("C", TABLES["fit_C"]["easiness"])]).pairs[0]
    assert found.verdict == "disagree"
    compared = found.term("difficulty")
    assert compared is not None
    assert compared.raw.correlation == pytest.approx(-1.0)
    assert any("a sign convention?" in note and "parametrization='easiness'" in note for note in found.notes)


def test_raw_and_aligned_differences_stand_side_by_side_in_table_and_json() -> None:
    found = compare([A, B])
    rows = found.parameter_table().set_index("term")
    for term in ("difficulty", "ability"):
        assert rows.loc[term, "raw_rmsd"] == pytest.approx(0.1, abs=1e-12)
        assert rows.loc[term, "rmsd"] == pytest.approx(0.0, abs=1e-12)
        assert rows.loc[term, "shift"] == pytest.approx(EXPECTED["shift_AB"][0], abs=1e-12)
    (pair,) = found.to_dict()["pairs"]
    assert pair["alignment"]["second_onto_first"] == pytest.approx({"scale": 1.0, "shift": 0.1})
    terms = {t["term"]: t for t in pair["terms"]}
    assert terms["difficulty"]["raw"]["mean"] == pytest.approx(EXPECTED["meanA"] - EXPECTED["meanB"], abs=1e-12)
    assert terms["difficulty"]["aligned"]["mean"] == pytest.approx(0.0, abs=1e-12)


def test_only_the_aligned_difference_decides() -> None:
    # A larger shift is the same finding; one item off its place is another, however small the raw difference.
    far = rasch("far", [b + 7.0 for b in TABLES["fit_B"]["b"]])
    assert compare([A, far]).pairs[0].verdict == "agree up to shift"
    moved = [b + (0.5 if k == 0 else 0.0) for k, b in enumerate(TABLES["fit_A"]["b"])]
    assert compare([A, rasch("moved", moved)]).pairs[0].verdict == "disagree"


def test_unit_and_direction_are_aligned_as_origin_is() -> None:
    table = pd.DataFrame({"item": ITEMS, "a": 1 / 2.0, "b": [2.0 * b - 1.0 for b in TABLES["fit_A"]["b"]]})
    wider = import_fit(table, model="2PL", name="wider")
    found = compare([A, wider]).pairs[0]
    law = found.alignment.second_onto_first
    assert (law.scale, law.shift) == pytest.approx((0.5, 0.5), abs=1e-9)
    backwards = import_fit(table.assign(a=-table["a"], b=-table["b"]), model="2PL", name="backwards")
    turned = compare([A, backwards]).pairs[0]
    assert turned.alignment.turned
    difficulty = turned.term("difficulty")
    assert difficulty is not None
    assert difficulty.aligned.rmsd == pytest.approx(0.0, abs=1e-9)


def test_the_question_of_the_sign_is_asked_where_a_reader_looks_and_nowhere_else() -> None:
    asked = compare([A, rasch("C", TABLES["fit_C"]["easiness"])])
    assert "a sign convention?" in asked.summary()
    assert any("a sign convention?" in note for note in asked.to_dict()["pairs"][0]["notes"])
    assert "sign convention" not in compare([A, B]).summary()
