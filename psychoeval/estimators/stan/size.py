"""How much memory the draws take, said before they are drawn."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Final

from psychoeval.errors import EngineFailedError, EngineWarning

#: From how many bytes of draws on the size is said.
LARGE_BYTES: Final = 1_000_000_000


def draws_bytes(chains: int, samples: int, numbers: int) -> int:
    """Return the memory that draws take: chains x samples x numbers in a draw x 8 bytes.

    Examples
    --------
    >>> draws_bytes(4, 1000, 50 + 2 * 5000 + 50 * 5000)
    8321600000
    """
    return chains * samples * numbers * 8


def in_words(size: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> in_words(8_321_600_000), in_words(65_536)
    ('8.3 GB', '0.066 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.2g} MB"


def check_size(chains: int, samples: int, numbers: int, folder: Path) -> None:
    """Say how much memory the draws will take where it is much, before they are drawn.

    Raises
    ------
    EngineFailedError
        Where the disk that they pass through has not the room.
    """
    size, free = draws_bytes(chains, samples, numbers), shutil.disk_usage(folder).free
    formula = f"{chains} chains x {samples} draws x {numbers} numbers x 8 bytes"
    if size > free:
        raise EngineFailedError(
            f"The draws take {in_words(size)} ({formula}), and {folder.parent} has room for {in_words(free)}.",
            "Make room there, set TMPDIR to another folder, or ask for fewer draws or quantities.",
        )
    if size > LARGE_BYTES:
        warnings.warn(
            EngineWarning(
                f"The draws will take {in_words(size)} of memory: {formula}. If that is too much, ask for fewer "
                "draws, or leave out what is computed for every person or cell."
            ),
            stacklevel=2,
        )
