"""The command `psychoeval`; each subcommand calls one public function.

Exit codes: 0 all is well; 2 the command, data, model or settings cannot be used; 3 an engine is missing or failed;
4 a result was printed that is not to be believed (`fit`, and `compare --strict`); 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from typing import Any

EXIT_USAGE, EXIT_ENGINE, EXIT_INTERRUPTED = 2, 3, 130


def main() -> None:
    """Run the command; errors of psychoeval become one message and an exit code."""
    _prepare_streams()
    # What ends this process ends R too, and prints what was finished.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from psychoeval.cli.console import say
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    from psychoeval.errors import EngineFailedError, EngineUnavailableError, PsychoevalError

    try:
        from psychoeval.cli.commands import app

        warnings.showwarning = _show_warning
        app()
    except PsychoevalError as error:
        say(f"Error: {error.problem}", style="bold red")
        if error.remedy:
            from psychoeval.cli.inputs import on_command_line

            say(error.remedy)
            if spelled := on_command_line(error.remedy, sys.argv[1] if len(sys.argv) > 1 else ""):
                say(spelled)
        engine = isinstance(error, (EngineUnavailableError, EngineFailedError))
        sys.exit(EXIT_ENGINE if engine else EXIT_USAGE)
    except OSError as error:
        say(f"Error: {error}", style="bold red")
        sys.exit(EXIT_USAGE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit as end:
        # typer turns Ctrl-C into this code and says nothing.
        if end.code == EXIT_INTERRUPTED:
            say("Interrupted.")
        raise


def _prepare_streams() -> None:
    """Make output possible whatever the streams are: closed, of another encoding, or read by `head`."""
    if sys.stdout is None:  # closed by the shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


_python_shows = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a warning of ours as a message, without the line of code that gave it."""
    from psychoeval.cli.console import say
    from psychoeval.errors import PsychoevalWarning

    if issubclass(category, PsychoevalWarning):
        say(f"Warning: {message}")
    else:
        _python_shows(message, category, *where, **more)
