"""Run a task many times, several at a time; one that fails costs none of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psychoeval.errors import PsychoevalError
from psychoeval.estimators.settings import check_whole
from psychoeval.fitting.many import run_all
from psychoeval.studies.store import Row, RowStore
from psychoeval.terminal import TerminalLine

if TYPE_CHECKING:
    import pandas as pd

#: The column of a row whose replication failed: why.
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Replications:
    """What replications found.

    Parameters
    ----------
    rows : tuple of mapping
        Of those that were done, in order.
    failures : tuple of str
        Why others have none, in order.
    n_wanted : int
        Replications asked for: more than rows and failures where the run was interrupted.
    """

    rows: tuple[Row, ...]
    failures: tuple[str, ...]
    n_wanted: int

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C cut the run short."""
        return len(self.rows) + len(self.failures) < self.n_wanted

    def to_frame(self) -> pd.DataFrame:
        """Return one row a replication that was done."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))


def replicate(
    task: Callable[[int], Row], n: int, *, key: str, n_jobs: int = 1, store: RowStore | None = None, what: str = ""
) -> Replications:
    """Run ``task(0)``, ..., ``task(n - 1)``.

    Parameters
    ----------
    task : callable
        Takes the number of the replication, from which it draws its seed, and returns a row.
    n : int
    key : str
        Says all that the rows depend on but their number; kept rows are found by it.
    n_jobs : int
        At a time, in threads: NumPy's products run side by side, R and Stan in child processes.
    store : RowStore, optional
        Rows found there are not computed again; failures are tried again.
    what : str
        The task's name in the line on the terminal.

    Raises
    ------
    SettingsError
        If `n` or `n_jobs` is below 1.
    """
    check_whole(n=n, n_jobs=n_jobs)
    done = 0

    def run(number: int) -> Row:
        nonlocal done
        name = f"{key}-{number}"
        row = None if store is None else store.find(name)
        if row is None:
            try:
                row = task(number)
            except PsychoevalError as error:
                row = {FAILED: f"{error.problem} {error.remedy}"}
            if store is not None and FAILED not in row:
                store.keep(name, row)
        done += 1
        line.say(f"{what}: {done} of {n}")
        return row

    with TerminalLine() as line:
        rows, _ = run_all(run, range(n), n_jobs)
    return Replications(
        tuple(r for r in rows if FAILED not in r), tuple(str(r[FAILED]) for r in rows if FAILED in r), n
    )
