from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path
from typing import NoReturn

import pytest

from psychoeval.errors import SettingsError, StoredFileError
from psychoeval.files import checked_target, make_folder, write_whole


def put(path: Path, content: bytes = b"new") -> None:
    write_whole(path, lambda file: file.write(content))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    put(tmp_path / "f", b"one")
    put(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"two"
    assert names(tmp_path) == ["f"]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(SettingsError, match="is a pipe") as caught:
            put(tmp_path / name)
        assert caught.value.remedy
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert names(tmp_path) == ["link", "pipe"]


def test_a_socket_and_a_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path has little room
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(SettingsError, match="is a socket"):
            put(Path("socket"))
    with pytest.raises(SettingsError, match="is a folder"):
        put(tmp_path)


def test_what_is_of_no_other_kind_is_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.stat_result((stat.S_IFCHR | 0o666, *[0] * 9))
    monkeypatch.setattr("psychoeval.files.os.stat", lambda path: status)
    with pytest.raises(SettingsError, match="is a device"):
        checked_target(tmp_path / "f")


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "old").symlink_to(Path("folder", "old"))
    (tmp_path / "folder" / "old").write_bytes(b"before")
    (tmp_path / "new").symlink_to(Path("folder", "new"))
    for name in ("old", "new"):
        put(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "folder" / name).read_bytes() == b"new"


def test_a_link_to_itself_is_an_error_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SettingsError, match="loop cannot be written"):
        put(tmp_path / "loop")


@pytest.mark.parametrize("kind", [SettingsError, StoredFileError])
@pytest.mark.parametrize("name", ["x" * 300, "file/f", "nowhere/f"])
def test_what_the_system_refuses_is_named(tmp_path: Path, name: str, kind: type[SettingsError]) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(kind, match="cannot be written") as caught:
        write_whole(tmp_path / name, lambda file: None, kind)
    assert str(tmp_path / name) in caught.value.problem
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    def fail(file: object) -> NoReturn:
        raise error

    put(tmp_path / "f", b"before")
    with pytest.raises(SettingsError if isinstance(error, OSError) else KeyboardInterrupt):
        write_whole(tmp_path / "f", fail)
    assert (tmp_path / "f").read_bytes() == b"before"
    assert names(tmp_path) == ["f"]


def test_folders_are_made(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SettingsError, match="cannot be written"):
        make_folder(tmp_path / "file" / "b")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_what_is_no_path_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="is no path"):
        write_whole(tmp_path / name, lambda file: file.write(b"x"))
