"""A test without its tool is skipped and says why; where everything is asked for it fails for the same reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import needs


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path))
    needs.why_missing.cache_clear()
    yield
    needs.why_missing.cache_clear()


@pytest.mark.parametrize("tool", sorted(needs._CHECKS))
@pytest.mark.usefixtures("no_programs")
def test_a_missing_tool_is_named_with_a_way_to_install_it(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(needs.REQUIRE_ALL, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"is not installed \((Debian: apt-get install|npm ci)"):
        needs.require(tool)
    monkeypatch.setenv(needs.REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match=rf"is not installed .*{needs.REQUIRE_ALL}=1"):
        needs.require(tool)


@pytest.mark.parametrize(("asked", "expected"), [("0", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_package_likewise(
    asked: str, expected: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(needs.REQUIRE_ALL, asked)
    with pytest.raises(expected, match="the Python package no_such_package is not installed"):
        needs.package("no_such_package.inner")
    assert needs.package("json.decoder").JSONDecoder


@pytest.mark.usefixtures("no_programs")
def test_marks_are_looked_at_before_the_test_runs(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.conftest import pytest_runtest_setup

    request.node.add_marker(pytest.mark.needs("cc", "strace"))
    monkeypatch.setenv(needs.REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match="cc is not installed"):
        pytest_runtest_setup(request.node)


def test_no_test_looks_for_tools_by_itself() -> None:
    own = {Path(needs.__file__), Path(__file__)}
    others = [path for path in Path(__file__).parent.rglob("*.py") if path not in own]
    assert [path.name for path in others if "importorskip(" in path.read_text("utf-8")] == []
