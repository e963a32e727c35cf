"""What commands print: text from files never reaches a terminal as an order."""

from __future__ import annotations

import io

import pytest

from psychoeval.cli.console import print_rows, say, show, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("q1\x1b[2J", r"q1\x1b[2J"),
        ("a\rb", r"a\rb"),
        ("a\x9b31m", r"a\x9b31m"),
        ("\u202eabc", r"\u202eabc"),
        ("bell\x07", r"bell\x07"),
        ("Zürich 東京 a\tb\nc", "Zürich 東京 a\tb\nc"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_way_of_printing_spells_them_out(capsys: pytest.CaptureFixture[str]) -> None:
    name = "q\x1b]0;owned\x07"
    stream = io.StringIO()
    show(name, file=stream)
    show(name)
    say(name)
    print_rows([{name: 1.0, "id": name}], "table", name)
    caught = capsys.readouterr()
    written = stream.getvalue() + caught.out + caught.err
    assert written.count(r"q\x1b]0;owned\x07") == 6
    assert "\x1b" not in written
    assert "\x07" not in written
