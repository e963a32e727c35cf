"""The command `psychoeval`; each subcommand calls one public function.

Exit codes: 0 all is well; 2 the command, data, model or settings cannot be used; 3 an engine is missing or failed;
4 a result was printed that is not to be believed (`fit`, and `compare --strict`); 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

EXIT_USAGE, EXIT_ENGINE, EXIT_INTERRUPTED = 2, 3, 130


def main() -> None:
    """Run the command; errors of psychoeval become one message and an exit code."""
    from psychoeval.cli.commands import app
    from psychoeval.cli.console import say
    from psychoeval.errors import EngineFailedError, EngineUnavailableError, PsychoevalError, PsychoevalWarning

    # A warning of ours is a message for the user, without the line of code that gave it.
    python_shows = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, PsychoevalWarning):
            say(f"Warning: {message}")
        else:
            python_shows(message, category, *where, **more)

    warnings.showwarning = show
    try:
        app(standalone_mode=True)
    except PsychoevalError as error:
        say(f"Error: {error.problem}", style="bold red")
        if error.remedy:
            say(error.remedy)
        engine = isinstance(error, (EngineUnavailableError, EngineFailedError))
        sys.exit(EXIT_ENGINE if engine else EXIT_USAGE)
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) went away; Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
