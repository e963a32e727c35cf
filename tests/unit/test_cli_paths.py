"""Empty paths, which Python takes for the current folder, are refused by every command."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from psychoeval.cli.commands import app


def commands(group: typer.Typer) -> Iterator[Callable[..., Any]]:
    yield from (c.callback for c in group.registered_commands if c.callback is not None)
    for sub in group.registered_groups:
        assert sub.typer_instance is not None
        yield from commands(sub.typer_instance)


def paths() -> Iterator[tuple[str, Any]]:
    """Yield every parameter of a command that is a path, with what typer was told of it."""
    for command in commands(app):
        for name, hint in typing.get_type_hints(command, include_extras=True).items():
            given = typing.get_args(hint)
            if given and "Path" in str(given[0]):
                yield f"{command.__name__} {name}", given[1]


def test_every_path_of_a_command_refuses_the_empty_text() -> None:
    found = dict(paths())
    assert len(found) > 10
    for name, told in found.items():
        assert told.parser is not None, name
        with pytest.raises(typer.BadParameter, match="The path is empty"):
            told.parser(" ")
        assert told.parser("a/b") == Path("a/b")


@pytest.mark.parametrize("command", [["openeval", "convert", "x.json", ""], ["audit", "lsat6", "--out", ""]])
def test_the_error_names_the_parameter_and_nothing_is_written(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "The path is empty" in result.output
    assert not list(tmp_path.iterdir())
