"""R inside Python: how it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.gates import needs

START = """
import os
from psychoeval.rbridge.bridge_rpy2 import start
before = dict(os.environ)
start()
changed = {k for k in before | dict(os.environ) if before.get(k) != os.environ.get(k)}
print(sorted(changed & {"R_PROFILE", "R_PROFILE_USER", "R_TESTS", "R_DEFAULT_PACKAGES"}))
from rpy2 import rinterface
print(rinterface.evalr("as.character('stats' %in% loadedNamespaces())")[0])
"""


@needs("rpy2")
def test_start_up_files_do_not_run_and_variables_stay(tmp_path: Path) -> None:
    for name in (".Rprofile", "profile.R"):
        (tmp_path / name).write_text(f'file.create("{tmp_path}/ran"); stop("boo")\n')
    profiles = dict.fromkeys(("R_PROFILE", "R_TESTS"), str(tmp_path / "profile.R"))
    environment = {**os.environ, **profiles, "R_DEFAULT_PACKAGES": "NULL"}
    environment.pop("R_PROFILE_USER", None)  # so that the one beside the data counts
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["[]", "TRUE"], done.stderr
    assert not (tmp_path / "ran").exists()
