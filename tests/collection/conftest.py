"""Each kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers import Server

from pramana.app.collector.survey import Survey
from pramana.methods.recipe import Recipe

CONTENT = {
    "release": {"epsilon": 4, "records": 500},
    "attributes": {
        "smokes": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
        "age": {"role": "quasi-identifying", "bins": [0, 30, 60, float("inf")]},
    },
}


@pytest.fixture(params=["sqlite", "postgresql"])
def store_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "records.db")
    server: Server = request.getfixturevalue("postgresql")
    return server.database(f"c{abs(hash(str(tmp_path)))}")


@pytest.fixture
def survey() -> Survey:
    return Survey.read(Recipe.parse(CONTENT))
