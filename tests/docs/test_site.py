"""The documentation builds without a warning, every link in it leads somewhere, and it works from a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distribution.links import problems_of_site
from distribution.site import ROOT, build, problems_of_navigation, with_links
from pathlib import PurePosixPath

pytest_plugins: list[str] = []
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("docs"))  # strict: a warning ends it


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    assert problems_of_site(site) == []
    assert problems_of_navigation(site.parent / "pages") == []
    assert len(list(site.rglob("*.html"))) > 80
