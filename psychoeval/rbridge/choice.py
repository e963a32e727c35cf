"""Which bridge to R."""

from __future__ import annotations

from typing import Final, Literal, get_args

from psychoeval.availability import probe
from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import is_choice
from psychoeval.rbridge.bridge_rpy2 import Rpy2Bridge, started
from psychoeval.rbridge.bridge_rscript import RscriptBridge
from psychoeval.rbridge.protocol import RBridge

BridgeName = Literal["auto", "rpy2", "rscript"]
BRIDGE_NAMES: Final[tuple[str, ...]] = get_args(BridgeName)


def check_bridge(bridge: str, timeout: float | None) -> None:
    """Refuse an unknown bridge, and a time limit for one that has none.

    Raises
    ------
    SettingsError
    """
    if not is_choice(bridge, BRIDGE_NAMES):
        raise SettingsError(f"There is no bridge {bridge!r}.", f"Choose one of {', '.join(BRIDGE_NAMES)}.")
    if timeout is not None and not timeout > 0:
        raise SettingsError(f"timeout is {timeout}.", "Give seconds above 0, or None for no limit.")
    if bridge == "rpy2" and timeout is not None:
        raise SettingsError("R inside Python cannot be given a time limit.", 'Use bridge="rscript" or "auto".')


def choose_bridge(bridge: BridgeName = "auto", *, timeout: float | None = None) -> RBridge:
    """Return the bridge to use.

    Parameters
    ----------
    bridge : {"auto", "rpy2", "rscript"}
        ``"auto"`` takes rpy2 where it starts, else Rscript; with a time limit always Rscript, because R inside Python
        cannot be stopped.
    timeout : float, optional
        Seconds.

    Raises
    ------
    SettingsError
        If the two do not go together.
    """
    check_bridge(bridge, timeout)
    if bridge == "rscript" or timeout is not None:
        return RscriptBridge()
    if bridge == "rpy2" or started() or probe("rpy2").available:
        return Rpy2Bridge()
    return RscriptBridge()
