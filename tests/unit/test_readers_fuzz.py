"""Damaged logs of every format: what they did not touch is read as before, or a typed error names the file.

A small part of ``benchmarks/reader_fuzz.py``, which damages 10,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from psychoeval.responses.readers.formats import FORMATS
from psychoeval.responses.readers.reading import read_log
from tests.damaged_logs.making import DAMAGES, plan, put
from tests.damaged_logs.running import run
from tests.damaged_logs.samples import SAMPLES

#: Inputs damaged here: a third of all pairs of a sample and a damage, the same ones each time.
INPUTS = 500


@pytest.mark.needs("parquet")
def test_damaged_logs_give_what_was_not_touched_or_a_typed_error() -> None:
    outcomes = list(run(plan(INPUTS, seed=1)))
    assert len(outcomes) == INPUTS
    wrong = [f"{o.input}: {o.answer}, {o.violation}" for o in outcomes if o.violation]
    assert not wrong, "\n".join(wrong)
    # Were every input refused, or every damage too small to see, the check above would mean little.
    answers = [o.answer for o in outcomes]
    assert answers.count("untouched equal") > INPUTS // 20
    assert answers.count("equal") > INPUTS // 20
    assert answers.count("DataError") > INPUTS // 4


@pytest.mark.needs("parquet")
def test_every_format_that_holds_responses_is_damaged(tmp_path: Path) -> None:
    read = set()
    for sample in SAMPLES:
        put(sample, tmp_path / sample.name)
        if not sample.name.startswith(("wide", "long")):
            read |= set(read_log(tmp_path / sample.name, **_of_logs(sample.read)).formats.values())
    assert {f.name for f in FORMATS if f.read is not None} == read
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES)
    assert len(DAMAGES) > 20


def _of_logs(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "bounds"}
