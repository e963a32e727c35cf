"""Where a number comes from: versions, settings, data, cost."""

from __future__ import annotations

import resource as os_resource
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is needed to repeat a fit, and what it cost.

    Parameters
    ----------
    engine : str
        ``"numpy"``, ``"r"``, ...
    versions : mapping
        Package name -> version, of Python, psychoeval and the engine's parts.
    bridge : str
        How the engine was reached (``"rpy2"``, ``"rscript"``), or "".
    seed : int, optional
    settings : mapping
        The estimator's settings, by name.
    call : str
        The engine's own call, or a script that repeats it.
    data_sha256 : str
        `Responses.sha256` of the data.
    seconds : float, optional
        Wall time of the whole fit; the engine's own share may be in `details`.
    peak_memory_mb : float, optional
        Peak resident memory of this process so far, in MiB (children not counted).
    details : mapping
        Anything else worth keeping (engine seconds, grid, ...): plain numbers and strings.
    """

    engine: str = "numpy"
    versions: Mapping[str, str] = field(default_factory=dict)
    bridge: str = ""
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    call: str = ""
    data_sha256: str = ""
    seconds: float | None = None
    peak_memory_mb: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("versions", "settings", "details"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapping proxies do not pickle; results cross process pools.
        values = (getattr(self, name) for name in self.__slots__)
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process, in MiB."""
    peak = os_resource.getrusage(os_resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
