"""What a user may say about logs that do not say it themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of the readers.

    Parameters
    ----------
    person : str, optional
        The system that produced the responses, for files that do not name it.
    """

    person: str = ""
