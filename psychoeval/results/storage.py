"""Save fits to files and load them, without pickle: a zip archive of JSON and NumPy arrays."""

from __future__ import annotations

import io
import json
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import StoredFileError
from psychoeval.files import write_whole
from psychoeval.results.encoding import decode, encode
from psychoeval.results.fit_result import FitResult

FORMAT: Final = "psychoeval-fit"
#: Raised with every change of the fields of what is stored; `load_fit` reads all up to this one.
VERSION: Final = 4
#: Version -> fields of a fit that its files lack, because no fit had them.
_ADDED_SINCE: Final = {1: ("sampling", "draws"), 2: ("components",), 3: ()}

_HEADER: Final = "fit.json"
#: The archive's clock: equal results make equal files.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
#: Bytes from which speed counts: compression, at 30 MB/s, makes draws of real numbers 4 % smaller, and is left out.
_LARGE: Final = 2**20


def save_fit(fit: FitResult, path: str | Path) -> Path:
    """Write a fit to a file.

    The file appears whole or not at all. Equal fits make equal bytes.

    Parameters
    ----------
    fit : FitResult
    path : str or Path
        Replaced if there; links are followed.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    StoredFileError
        If a setting is of a kind that cannot be stored, or the file cannot be written.
    SettingsError
        If `path` is a folder, a device, a pipe or a socket.
    """
    path = Path(path)
    arrays: list[NDArray[Any]] = []

    def store(array: NDArray[Any]) -> str:
        arrays.append(array)
        return f"arrays/{len(arrays) - 1}.npy"

    content = {"format": FORMAT, "version": VERSION, "fit": encode(fit, store)}
    # ASCII: ids with lone surrogates have no UTF-8, but a JSON escape.
    header = json.dumps(content, ensure_ascii=True, allow_nan=False).encode("ascii")
    write_whole(path, lambda file: _write(file, header, arrays), StoredFileError)
    return path


def _write(file: Any, header: bytes, arrays: list[NDArray[Any]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(_HEADER), header)
        for k, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=False)
            large = array.nbytes >= _LARGE
            entry = _entry(f"arrays/{k}.npy", plain=large and array.dtype.kind == "f")
            archive.writestr(entry, buffer.getbuffer(), compresslevel=1 if large else None)


def _entry(name: str, *, plain: bool = False) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_STORED if plain else zipfile.ZIP_DEFLATED
    return entry


def load_fit(path: str | Path) -> FitResult:
    """Read a fit written by `save_fit`, equal to it bit for bit.

    Nothing in a file is run: it holds numbers, texts and the names of a few classes.

    Raises
    ------
    StoredFileError
        If the file is missing, damaged, of another kind, written by a newer version, or holds fields that are not
        those of this version.
    """
    path = Path(path)
    try:
        # A pipe would be waited for, and a device that never ends read into memory.
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoredFileError(f"{path} cannot be read: it is no plain file.", _REMEDY)
        with zipfile.ZipFile(path) as archive:
            content = _header(archive, path)

            def read(name: str) -> NDArray[Any]:
                with archive.open(name) as file:
                    return np.lib.format.read_array(file, allow_pickle=False)

            fit = decode(content["fit"], read)
    except StoredFileError:
        raise
    except OSError as error:
        raise StoredFileError(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from error
    except _DAMAGE as error:
        raise StoredFileError(
            f"{path} is damaged, or no file of psychoeval's ({type(error).__name__}: {error}).", _REMEDY
        ) from error
    if not isinstance(fit, FitResult):
        raise StoredFileError(f"{path} holds a {type(fit).__name__} and no fit.", _REMEDY)
    return fit


_REMEDY: Final = "Give a file that FitResult.save wrote; a table of another program is read by import_fit."
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, AttributeError, IndexError,
    NotImplementedError, RuntimeError, MemoryError,
)  # fmt: skip


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    content = json.loads(archive.read(_HEADER))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StoredFileError(f"{path} is no stored fit.", _REMEDY)
    version = content.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise StoredFileError(
            f"{path} has format version {version}; this psychoeval reads up to {VERSION}.", "Update psychoeval."
        )
    if unknown := set(content) ^ {"format", "version", "fit"}:
        raise ValueError(f"unknown or missing: {', '.join(sorted(unknown))}")
    for since in range(version, VERSION):
        for name in _ADDED_SINCE[since]:
            content["fit"]["fields"][name] = None
    if version < 4 and content["fit"]["fields"]["abilities"] is not None:
        _bring_up(content["fit"]["fields"]["abilities"]["fields"])
    return content


def _bring_up(abilities: dict[str, Any]) -> None:
    """Give abilities stored before version 4 the field they lack, and the name their errors have had since."""
    abilities["n_units"] = None
    if abilities["scale"] == "logit" and abilities["uncertainty"] == "items sampled":
        abilities["uncertainty"] = "items estimated"
