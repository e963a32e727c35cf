"""`psychoeval link`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psychoeval.agreement.linking import link
from psychoeval.cli.commands import app
from psychoeval.errors import SettingsError, StoredFileError
from psychoeval.results.fit_result import FitResult
from tests.unit.linking_items import a_fit, drifted


@pytest.fixture
def stored(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "a.fit", tmp_path / "b.fit"
    for items, path in zip(drifted(0.8), paths, strict=True):
        a_fit(items).save(path)
    return str(paths[0]), str(paths[1])


def test_constants_anchors_and_notes_are_printed(stored: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["link", *stored])
    assert result.exit_code == 0, result.output
    found = link(*drifted(0.8))
    words = result.stdout.split()
    for name, value, error in (("A", found.scale, found.scale_error), ("B", found.shift, found.shift_error)):
        assert f"{name} {value:.4f} {error:.4f}" in " ".join(words)
    assert "by stocking-lord on 12 common items: A estimated" in result.stdout
    assert "errors of different items are taken as independent" in result.stdout
    assert "Drifted: q4. They move A and B: --exclude" in result.stdout


def test_json_holds_everything_and_csv_the_anchors(stored: tuple[str, str]) -> None:
    options = ["--method", "haebara", "--exclude", "q4", "--direction", "both", "--scale", "1.2"]
    printed = CliRunner().invoke(app, ["link", *stored, *options, "--format", "json"])
    content = json.loads(printed.stdout)
    expected = link(*drifted(0.8), method="haebara", exclude=["q4"], direction="both", scale=1.2)
    assert (content["scale"], content["shift"]) == (1.2, expected.shift)
    assert [a["item"] for a in content["anchors"] if not a["used"]] == ["q4"]
    rows = CliRunner().invoke(app, ["link", *stored, *options, "--format", "csv"]).stdout.splitlines()
    assert rows[0].startswith("item,used,slope_given")
    assert len(rows) == 13


def test_the_linked_fit_is_saved(stored: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "linked.fit"
    assert CliRunner().invoke(app, ["link", *stored, "--save", str(out)]).exit_code == 0
    found = link(*drifted(0.8))
    linked = FitResult.load(out).item_parameters
    assert linked is not None
    assert found.items is not None
    np.testing.assert_array_equal(linked.discrimination, found.items.discrimination)


def test_both_files_are_named(stored: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["link", *stored])
    assert result.stdout.startswith(f"{stored[0]} (")
    assert f") onto {stored[1]} (" in result.stdout
    assert json.loads(CliRunner().invoke(app, ["link", *stored, "--format", "json"]).stdout)["onto"].startswith(
        stored[1]
    )


def test_neither_a_failed_file_nor_failed_output_costs_the_other(
    stored: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = CliRunner().invoke(app, ["link", *stored]).stdout
    result = CliRunner().invoke(app, ["link", *stored, "--save", str(tmp_path / "nowhere" / "x.fit")])
    assert isinstance(result.exception, StoredFileError)
    assert result.stdout == printed

    def fails(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("psychoeval.cli.link.print_link", fails)
    out = tmp_path / "linked.fit"
    assert isinstance(CliRunner().invoke(app, ["link", *stored, "--save", str(out)]).exception, BrokenPipeError)
    assert FitResult.load(out).item_parameters is not None


def test_what_cannot_be_linked_is_said(stored: tuple[str, str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["link", *stored, "--scale", "wide"])
    assert isinstance(result.exception, SettingsError)
    result = CliRunner().invoke(app, ["link", stored[0], str(tmp_path / "none.fit")])
    assert isinstance(result.exception, StoredFileError)


def test_an_excluded_anchor_is_not_to_be_excluded_again(stored: tuple[str, str]) -> None:
    printed = CliRunner().invoke(app, ["link", *stored, "--exclude", "q4"]).stdout
    assert "Drifted, and excluded already: q4." in printed
    assert "They move A and B" not in printed


def test_a_fit_that_is_read_is_not_replaced(stored: tuple[str, str]) -> None:
    for path in map(Path, stored):
        before = path.read_bytes()
        result = CliRunner().invoke(app, ["link", *stored, "--save", str(path)])
        assert isinstance(result.exception, SettingsError)
        assert "would be replaced" in str(result.exception)
        assert path.read_bytes() == before
