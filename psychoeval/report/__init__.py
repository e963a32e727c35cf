"""The HTML report. The package is callable: ``psychoeval.report(comparison, path)`` whatever was imported before."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    # Importing this package binds it to the name psychoeval.report, which is a public function: both must work.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from psychoeval.report.html import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
