from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from pramana.pages import Bar, Bars, Drawn, Grid, Page, Panel, Picture, Promise, Section, Series, Text, html_of

VOID = {"meta", "br", "img", "hr", "link", "input"}


class Outline(HTMLParser):
    """Checks nesting, and collects the words and the addresses a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.fetched += [
            v or "" for k, v in attrs if k in ("src", "href", "xlink:href") and not str(v).startswith("#")
        ]
        assert tag not in ("script", "link", "iframe", "img")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Outline:
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    return outline


@pytest.fixture
def page() -> Page:
    picture = Picture([Panel([Series("k <b>", [1, 2], [3, 4])], x_label="x & y")])
    return Page(
        title="Release <script>alert(1)</script>",
        about=["made & written"],
        warnings=["Mind <this>"],
        promises=[Promise("Title", "words", "meaning", "any table", "a theorem", ["one & two"])],
        sections=[
            Section(
                "Numbers",
                [Text("plain `code <x>`"), Grid([{"a": 1234567, "b": None, "c": "x<y"}]), Drawn(picture, "cap")],
            ),
            Section("Column", [Bars([Bar("F & M", 10, 12, 8, 15, 11), Bar("none", 0)])], part=True),
        ],
    )


def test_the_page_is_one_well_formed_file_that_fetches_nothing(page: Page) -> None:
    text = html_of(page)
    outline = read(text)
    assert outline.fetched == []
    assert not re.search(r"@import|url\((?!#)", text)
    assert "<code>code &lt;x&gt;</code>" in text
    words = " ".join(outline.words)
    for part in ("Mind <this>", "one & two", "1,234,567", "x<y", "F & M", "meaning", "a theorem", "alert(1)"):
        assert part in words


def test_only_a_private_page_is_marked_as_not_for_release(page: Page) -> None:
    assert "NOT FOR RELEASE" not in html_of(page)
    private = Page(page.title, page.about, private=True)
    assert html_of(private).count("NOT FOR RELEASE") == 2


def test_bars_are_drawn_to_one_scale() -> None:
    text = html_of(Page("t", [], sections=[Section("s", [Bars([Bar("a", 100), Bar("b", 50)])])]))
    widths = [float(w) for w in re.findall(r'<rect x="2" y="[\d.]+" width="([\d.]+)"', text)]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)


def test_an_unlimited_interval_of_an_empty_column_can_be_drawn() -> None:
    assert "<svg" in html_of(Page("t", [], sections=[Section("s", [Bars([Bar("a", 0, 0, 0, 0)])])]))
