from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.bare import make_site


@pytest.fixture(scope="session")
def bare_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of packages with psychoeval and without its extras."""
    return make_site(tmp_path_factory.mktemp("bare"))
