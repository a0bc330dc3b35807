from __future__ import annotations

from pathlib import Path

import pytest
from tests.security.bundles import make_small_tables


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small tables; bundles are made in it when first asked for."""
    folder = tmp_path_factory.mktemp("tables")
    make_small_tables(folder)
    return folder
