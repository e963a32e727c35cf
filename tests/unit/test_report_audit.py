"""The report of an audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psychoeval.cli.commands import app
from psychoeval.report.audit import audit_content
from psychoeval.responses.datasets import load_dataset
from psychoeval.responses.matrix import Responses

pytestmark = pytest.mark.needs("report")


def test_every_section_is_there_and_says_what_the_data_say() -> None:
    responses = load_dataset("swebench-verified")
    found = audit_content(responses, 50, 0)
    titles = [s.title for s in found.sections]
    assert titles == [
        "What stands out", "Mean scores of systems", "Items", "Difficulty and discrimination", "Curves of items",
        "Other systems", "Factors",
    ]  # fmt: skip
    assert any("110 items that no system got right" in s for s in found.sections[0].sentences)
    means = found.sections[1].tables[0]
    assert means.rows[0][1][0] == pytest.approx(responses.proportions.mean(axis=1).max())
    assert len(found.sections[2].tables[0].rows) == 500
    assert all(p.uri for s in found.sections for p in s.pictures)


def test_what_cannot_be_computed_says_why_and_costs_nothing_else() -> None:
    found = audit_content(Responses.from_array([[1, 1], [1, 1]]), 20, 0)
    assert found.sections[0].title == "What stands out"
    assert found.sections[-1].title == "Not computed"
    assert "Fewer than 2 items vary" in found.sections[-1].sentences[0]


def test_the_command_writes_it_and_names_in_data_are_no_markup(tmp_path: Path) -> None:
    cells = np.random.default_rng(1).integers(0, 2, (6, 8))
    lines = ["system," + ",".join(f"<b>q{j}</b>" for j in range(8))]
    lines += [f"<i>s{i}</i>," + ",".join(map(str, row)) for i, row in enumerate(cells)]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "new" / "audit.html"
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "x.csv"), "--report", str(out), "--replications", "20"])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(out)
    text = out.read_text()
    assert "<b>q1</b>" not in text
    assert "&lt;b&gt;q1&lt;/b&gt;" in text
