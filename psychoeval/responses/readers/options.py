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
    columns, leave_out : tuple of str
        Of leaderboards: the columns that are benchmarks, or those that are not; names, or patterns with ``*``.
    person_column : str, optional
        Of leaderboards and long tables: the column of systems, where it has no usual name.
    """

    person: str = ""
    columns: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    person_column: str = ""
