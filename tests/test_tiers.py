"""The tiers are those that are registered, and the table names tests that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tiers import BY_NEED, BY_PATH, is_a_test, tier_of

ROOT = Path(__file__).parents[1]


def test_every_line_of_the_table_names_tests_that_are_there() -> None:
    gone = [name for name in BY_PATH if not is_a_test(ROOT, name)]
    assert not gone, f"tests/tiers.py names what is not there: {', '.join(gone)}"


def test_every_tier_is_registered(pytestconfig: pytest.Config) -> None:
    registered = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {"fast", *BY_PATH.values(), *BY_NEED.values()} <= registered


def test_the_longest_line_decides_then_what_a_test_asks_for_and_else_it_is_fast() -> None:
    assert tier_of("tests/stores/test_urls.py::test_a") == "servers"
    assert tier_of("tests/docs/test_trust.py::test_a", ["bucket"]) == "docs"
    assert tier_of("tests/ledger/test_issue.py::test_a[postgresql]", ["place", "postgresql"]) == "servers"
    assert tier_of("tests/ledger/test_issue.py::test_a[sqlite]", ["place", "sqlite"]) == "fast"


def test_every_test_has_the_mark_of_its_tier(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("fast")
