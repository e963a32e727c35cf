"""Items that were not run and are stored as 0: E stops after 12 easy items of 30, D after 22."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from psychoeval.irt.quadrature import marginal_posterior, normal_grid
from psychoeval.responses.matrix import Responses
from psychoeval.responses.screening import screen
from psychoeval.responses.tables import from_long, read_table

DATA = Path(__file__).parent / "data" / "10"
EXPECTED = json.loads((DATA / "expected.json").read_text())


def eap(responses: Responses) -> dict[str, tuple[float, float]]:
    items = json.loads((DATA / "item_parameters.json").read_text())
    a, b = np.array(items["a"]), np.array(items["b"])
    found = marginal_posterior(responses.successes, responses.trials, a, -a * b, np.zeros(len(a)), normal_grid())
    return {p: (m, s) for p, m, s in zip(responses.person_ids, found.mean, found.sd, strict=True)}


def test_missing_stays_missing_by_default() -> None:
    responses = read_table(DATA / "responses.csv")
    assert responses.person_label == "system"
    assert responses.notes == ()
    scored = eap(responses)
    means = responses.successes.sum(axis=1) / responses.trials.sum(axis=1)
    for i, system in enumerate(responses.person_ids):
        want = EXPECTED[system]
        assert int(responses.trials[i].sum()) == want["n"]
        assert means[i] == pytest.approx(want["mean_na"], abs=1e-12)
        assert scored[system][0] == pytest.approx(want["eap_na"], abs=1e-6)
        assert scored[system][1] == pytest.approx(want["se_na"], abs=1e-6)


def test_wrong_is_a_choice_that_the_data_record() -> None:
    responses = read_table(DATA / "responses.csv", missing="wrong")
    assert responses.notes == ('26 missing cells in 2 rows count as wrong (missing="wrong").',)
    assert responses.is_complete
    scored = eap(responses)
    for i, system in enumerate(responses.person_ids):
        assert responses.successes[i].mean() == pytest.approx(EXPECTED[system]["mean_zero"], abs=1e-12)
        assert scored[system][0] == pytest.approx(EXPECTED[system]["eap_zero"], abs=1e-6)


def test_zeros_at_the_end_raise_a_warning_that_names_who_stopped() -> None:
    warnings = {f.kind: f for f in screen(read_table(DATA / "responses.csv", missing="wrong")).warnings}
    assert warnings["trailing_failures"].ids == ("D", "E_stopped_early")
    assert "'E_stopped_early (the last 18)'" in warnings["trailing_failures"].sentence
    assert "trailing_failures" not in {f.kind for f in screen(read_table(DATA / "responses.csv")).warnings}


def test_errors_of_a_run_are_neither_right_nor_wrong_unless_asked_for() -> None:
    samples = json.loads((DATA / "eight_samples_two_errors.json").read_text())
    table = [{"model": "m", "sample": s["id"], "score": s["score"]} for s in samples]
    kept = from_long(table, coding={"C": 1, "I": 0})
    assert (int(kept.successes.sum()), int(kept.trials.sum()), kept.n_items) == (2, 6, 8)
    assert kept.notes == ("2 rows without a score: left out, neither right nor wrong.",)
    wrong = from_long(table, coding={"C": 1, "I": 0}, missing="wrong")
    assert (int(wrong.successes.sum()), int(wrong.trials.sum())) == (2, 8)
    assert wrong.notes == ('2 rows without a score and 0 absent pairs count as wrong (missing="wrong").',)
