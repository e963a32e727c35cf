"""What crosses to R and back, and the protocol of the two bridges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import EngineFailedError, SettingsError

#: In a job: numbers go as doubles, whatever their Python type; None as NULL; mappings as named lists.
Vector: TypeAlias = "NDArray[np.float64] | list[str] | list[bool]"
Job: TypeAlias = "dict[str, Vector | Job | None]"

#: In a reply: (n,) float64, list of str or bool (None for NA), dict, list (of an unnamed list), None. R functions send
#: NULL for an empty vector, because its type does not survive every way.
Reply: TypeAlias = "dict[str, Any]"

#: R's NA for integers, as it looks to everybody else.
INTEGER_NA = -2147483648


class RBridge(Protocol):
    """A way to call one R function."""

    name: ClassVar[Literal["rpy2", "rscript"]]

    def call(self, script: Path, function: str, job: Mapping[str, Any], *, timeout: float | None = None) -> Reply:
        """Call an R function with a list and return the list it answers.

        Parameters
        ----------
        script : Path
            R file that defines the function; one of those shipped.
        function : str
        job : mapping
            Named arguments: numbers, text, truth values, arrays and sequences of them, mappings, None.
        timeout : float, optional
            Seconds, the start of R included.

        Returns
        -------
        dict
            Doubles as float64 arrays, strings and logicals as lists, named lists as dicts.

        Raises
        ------
        EngineUnavailableError
            If R cannot be started this way.
        EngineFailedError
            If R stopped, crashed or was killed.
        FitTimeoutError
            If the time limit was reached.
        KeyboardInterrupt
            After R has been stopped.
        """
        ...


def plain_job(job: Mapping[str, Any]) -> Job:
    """Return a job in the few types that both bridges send.

    Raises
    ------
    SettingsError
        If a value has no counterpart in R.

    Examples
    --------
    >>> plain_job({"method": "EM", "nodes": 61})
    {'method': ['EM'], 'nodes': array([61.])}
    """
    return {key: _plain(key, value) for key, value in job.items()}


def _plain(key: str, value: Any) -> Vector | Job | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return plain_job(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim == 1:
        return np.ascontiguousarray(value, dtype=np.float64)
    values = [value] if isinstance(value, (str, bool, int, float)) else value
    if isinstance(values, Sequence) and values:
        if all(isinstance(v, str) for v in values):
            return list(values)
        if all(isinstance(v, bool) for v in values):
            return list(values)
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            return np.array(values, dtype=np.float64)
    raise SettingsError(
        f"{key}={value!r} cannot be sent to R.", "Give numbers, text, True or False, or lists or mappings of them."
    )


def integers(values: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return R integers as doubles, its NA as NaN."""
    out = values.astype(np.float64)
    out[values == INTEGER_NA] = np.nan
    return out


def refuse_sentinel(reply: Mapping[str, Any]) -> None:
    """Refuse a reply in which R's integer NA came through as a number.

    Raises
    ------
    EngineFailedError
        If a double in it is -2147483648.
    """
    for key, value in reply.items():
        if isinstance(value, Mapping):
            refuse_sentinel(value)
        elif isinstance(value, np.ndarray) and np.any(value == INTEGER_NA):
            position = int(np.flatnonzero(value == INTEGER_NA)[0])
            raise EngineFailedError(
                f"R's reply holds {INTEGER_NA} at {key}[{position + 1}]: an integer NA that was taken for a number.",
                "Please report this with the data.",
            )
