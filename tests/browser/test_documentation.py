"""The documentation builds without a warning, every link in it leads somewhere, and it works from a folder.

The strict build and its checks need no browser; what a reader sees is looked at in one, without a server.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest
from distribution.doctests import with_blocks
from distribution.links import problems_of_site
from distribution.site import ROOT, build, pages_of_repository, problems_of_navigation, with_links
from tests.browser.conftest import WIDTHS, NewPage

pytestmark = pytest.mark.xdist_group("browser")
SHOWN = [
    "index",
    "start",
    "jobs/choose",
    "coming-from/arx",
    "coming-from/dp-libraries",
    "coming-from/sdcmicro",
    "guide/databases",
    "guide/microaggregate",
    "understanding/corrections",
    "understanding/pictures",
    "reference/api",
    "reference/commands",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("documentation"))  # a warning ends it


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    assert problems_of_site(site) == []
    assert problems_of_navigation(site.parent / "pages") == []
    assert len(list(site.rglob("*.html"))) >= len([path for path in pages_of_repository() if path.suffix == ".md"])


def test_formulas_and_numbered_steps_are_shown_as_they_are_written(site: Path) -> None:
    """Two products in a line are no emphasis, and what stands between two steps does not end the list."""
    for path in sorted(site.rglob("*.html")):
        article = re.search(r"<article.*</article>", path.read_text("utf-8"), re.DOTALL)
        shown = article[0] if article else ""
        assert re.findall(r"[\w)]<em>[^<]*", shown) == [], path
        for between in re.findall(r"</ol>(.*?)<ol>", shown, re.DOTALL):
            assert re.search(r"<h\d|<li>", between), f"{path}: the numbers begin again"
        for paragraph in re.findall(r"<p>.*?</p>", shown, re.DOTALL):
            assert not re.search(r"\n\d\. [A-Z]", paragraph), f"{path}: a step within a paragraph"


def test_icons_are_of_a_set_that_every_builder_has() -> None:
    icons = re.findall(r"icon: ([\w-]+)/", (ROOT / "mkdocs.yml").read_text())
    assert icons and set(icons) <= {"material", "fontawesome", "octicons", "simple"}


def test_the_search_works_from_a_folder(site: Path, new_page: NewPage) -> None:
    page = new_page(WIDTHS["desktop"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "guide" / "plan.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    entry = page.locator("input[type=text], input[type=search], input:not([type])").last
    entry.fill("delta-presence")
    found = page.locator("a[href*='presence.html']").last
    found.wait_for(timeout=20_000)
    assert "presence" in found.inner_text().lower()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_pages_fit_their_window(site: Path, new_page: NewPage, width: int) -> None:
    page = new_page(width, color_scheme="dark" if width == WIDTHS["tablet"] else "light")
    for name in SHOWN:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
        assert page.locator("h1").first.is_visible()
        broken = "[...document.images].filter((i) => i.complete && i.naturalWidth === 0).map((i) => i.src)"
        assert page.evaluate(broken) == [], name


def a_site(folder: Path, body: str) -> Path:
    (folder / "index.html").write_text(f"<!doctype html><body>{body}</body>")
    (folder / "other.html").write_text("<!doctype html><body><h2 id='there'>There</h2></body>")
    return folder


@pytest.mark.parametrize(
    "body",
    [
        "<a href='nowhere.html'>x</a>",
        "<a href='other.html#gone'>x</a>",
        "<a href='#gone'>x</a>",
        "<img src='gone.png'>",
        "<script src='https://example.org/a.js'></script>",
        "<link rel='stylesheet' href='//example.org/a.css'>",
        "<style>@import 'https://example.org/a.css';</style>",
        "<p style=\"background: url('https://example.org/a.png')\">x</p>",
        "<iframe src='https://example.org'></iframe>",
    ],
)
def test_the_checker_notices(body: str, tmp_path: Path) -> None:
    assert len(problems_of_site(a_site(tmp_path, body))) == 1


def test_the_checker_lets_what_is_right_pass(tmp_path: Path) -> None:
    body = (
        "<a href='other.html#there'>x</a><a href='https://example.org'>x</a><img src='data:image/png;base64,AA'>"
    )
    assert problems_of_site(a_site(tmp_path, body)) == []


def test_links_of_the_repository_become_links_of_the_site() -> None:
    shown = pages_of_repository()
    page = PurePosixPath("docs/trust.md")
    text = "[a](../benchmarks/README.md#x) [b](limits.md)\n```md\n[c](../SECURITY.md)\n```\n[d](../SECURITY.md)"
    got = with_links(text, page, shown)
    assert got == "[a](benchmarks/README.md#x) [b](limits.md)\n```md\n[c](../SECURITY.md)\n```\n[d](security.md)"


def test_examples_of_docstrings_are_code() -> None:
    assert with_blocks("A.\n\n>>> 1 + 1  # doctest: +SKIP\n2\n\nB.") == "A.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nB."
