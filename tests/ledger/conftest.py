"""Each kind of database a ledger can be in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers import Server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new ledger, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server: Server = request.getfixturevalue("postgresql")
    return server.database(f"t{abs(hash(str(tmp_path)))}")
