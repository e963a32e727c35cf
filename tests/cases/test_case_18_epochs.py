"""Repeated epochs before any model: counts kept, means of epochs refused, errors between items and not between rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from psychoeval.audit import average_systems
from psychoeval.cli.commands import app
from psychoeval.errors import DataError
from psychoeval.responses.tables import read_table

DATA = Path(__file__).parent / "data" / "18"


def test_error_is_between_items_and_epochs_are_trials() -> None:
    found = average_systems(read_table(DATA / "long.csv"))
    assert found.person_ids == ("alpha", "beta", "gamma")
    assert found.mean == pytest.approx([0.62, 0.52, 0.26], abs=1e-12)
    assert found.standard_error == pytest.approx([0.14967, 0.12410, 0.07483], abs=5e-6)
    assert found.n_items.tolist() == [5, 5, 5]
    assert found.n_trials.tolist() == [50, 50, 50]
    # Over 50 rows as if they were independent: too small.
    assert (found.standard_error > [0.06934, 0.07137, 0.06266]).all()


def test_means_of_epochs_are_refused_and_nothing_is_cut_off() -> None:
    with pytest.raises(DataError, match="are not 0, 1 or missing") as refused:
        read_table(DATA / "epoch_means.csv")
    assert "0.5" in refused.value.problem or "0.25" in refused.value.problem or "0.75" in refused.value.problem


def test_the_audit_shows_trials_and_both_errors() -> None:
    result = CliRunner().invoke(
        app, ["audit", str(DATA / "long.csv"), "--format", "json", "--replications", "20"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    means = next(s for s in json.loads(result.stdout)["sections"] if s["title"].startswith("Mean scores"))
    row = means["tables"]["systems"][0]
    assert row["n_trials"] == 50
    assert row["standard_error"] == pytest.approx(0.14967, abs=5e-6)
    assert row["error_of_trials"] < row["standard_error"]
    assert any("no independent items" in rule for rule in means["rules"])
