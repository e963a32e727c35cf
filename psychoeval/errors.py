"""Every error and warning of psychoeval, each with what to do about it."""

from __future__ import annotations


class PsychoevalError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    problem : str
        What is wrong, naming the cell, file, line, item or engine.
    remedy : str
        What the user can do.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}".strip())

    def __reduce__(self) -> tuple[type[PsychoevalError], tuple[str, str]]:
        # Exceptions cross process pools; the default would lose the remedy.
        return type(self), (self.problem, self.remedy)


class DataError(PsychoevalError, ValueError):
    """The responses are not what they must be."""


class DisconnectedDataError(DataError):
    """Persons and items fall into components that share no response."""


class ModelError(PsychoevalError, ValueError):
    """A model, prior or combination with an estimator that cannot be fitted."""


class SettingsError(PsychoevalError, ValueError):
    """An unknown estimator, or a setting it does not have or cannot take."""


class NotComparableError(PsychoevalError, ValueError):
    """Results that cannot be set beside each other."""


class StoredFileError(PsychoevalError, ValueError):
    """A stored result that cannot be read, or a result that cannot be stored."""


class EngineUnavailableError(PsychoevalError, RuntimeError):
    """An engine (R, mirt, Stan, ...) is not there or does not start."""


class EngineFailedError(PsychoevalError, RuntimeError):
    """An engine started and then failed, crashed or was killed."""


class FitTimeoutError(EngineFailedError):
    """The time limit of a fit was reached."""


class PsychoevalWarning(UserWarning):
    """Base of all warnings given on purpose."""


class ConvergenceWarning(PsychoevalWarning):
    """A fit that did not converge, or that failed a check."""


class EngineWarning(PsychoevalWarning):
    """What the engine itself warned about."""
