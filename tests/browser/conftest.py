"""A real browser, and a survey to answer in it. Without Chromium these tests are skipped, and say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import needs
from tests.collection.running import Running, collecting

ROOT = Path(__file__).parents[2]
AXE = needs.NODE_MODULES / "axe-core" / "axe.min.js"
WIDTHS = {"phone": 360, "tablet": 768, "desktop": 1280}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = needs.program("chromium")
    playwright = needs.package("playwright.sync_api")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(tmp_path_factory.mktemp("demo"), "--demo") as running:
        yield running


NewPage = Callable[..., Any]


@pytest.fixture
def new_page(browser: Any) -> Iterator[NewPage]:
    """A page of a person of their own; at the end none of them may have had a fault."""
    contexts, faults = [], []

    def make(width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []


def axe_problems(page: Any) -> list[str]:
    """What axe-core finds, of any weight."""
    needs.require("axe-core")
    # by the debugger's door: a page's policy lets no script in
    page.evaluate(AXE.read_text() + "\n;undefined")
    found = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.impact, v.nodes[0].html])")
    return [str(problem) for problem in found]
