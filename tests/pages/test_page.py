from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from pramana.errors import printable
from pramana.pages.content import (
    Bar,
    Bars,
    Block,
    Cell,
    Drawn,
    Grid,
    Legend,
    Meter,
    Page,
    Points,
    Section,
    Steps,
    Text,
)
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.rendering import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    html_of,
    load_templates,
    page_environment,
    plot_of,
)

VOID = {"meta", "br", "img", "hr", "link", "input"}
BIDI = "\u202e\u2066\u200f\u061c"


class Outline(HTMLParser):
    """Checks nesting, and collects the words, the tags and the attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(text: str) -> Outline:
    outline = Outline()
    outline.feed(text)
    outline.close()
    assert outline.open == []
    return outline


def page_saying(words: str) -> Page:
    """A page that has the words in every place that is a string."""
    picture = Picture(
        [Panel([Series(words, [1, 2], [3, 4]), Series(words, [1, 2], [1, 2])], words, words, mark=(1.5, words))]
    )
    bar = Bar([words], 10, 12, 8, 15, 11)
    cells: dict[str, Cell] = {
        words: words,
        "meter": Meter(words, 0.5),
        "steps": Steps([3, 1], 1),
        "number": 1234567,
        "none": None,
    }
    blocks: list[Block] = [
        Text(words),
        Text(f"`{words}`", note=True),
        Points([words], words),
        Grid([cells], words),
        Drawn(picture, words),
        Legend(published=True, estimated=True, true=True),
        Bars([bar, Bar([words], drawn=False)], [words]),
    ]
    sections = [Section(words, blocks, anchor="first"), Section(words, [], part=True)]
    return Page(words, [(words, words)], [words], sections, private=True)


def test_the_page_is_one_well_formed_file_that_fetches_and_runs_nothing() -> None:
    text = html_of(page_saying("plain words"))
    outline = read(text)
    assert not {"script", "link", "iframe", "img", "object", "form", "base"} & set(outline.tags)
    assert outline.tags.count("style") == 1
    names = {name for name, _ in outline.attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]
    assert {value for name, value in outline.attributes if name in ("href", "src", "xlink:href")} == {"#first"}
    assert not re.search(r"@import|url\(", text)
    assert "1,234,567" in outline.text


PLANTED = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><b>bold</b>",
    "</title><b>bold</b>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    f"name{BIDI}eman",
    "half a character \ud800",
    "line\nbreak\x00\x1b[31m",
]


@pytest.mark.parametrize("planted", PLANTED, ids=range(len(PLANTED)))
def test_whatever_a_strangers_certificate_says_is_shown_as_words(planted: str) -> None:
    text = html_of(page_saying(planted))
    outline, usual = read(text), read(html_of(page_saying("x" * len(planted))))
    assert outline.tags == usual.tags
    assert [name for name, _ in outline.attributes] == [name for name, _ in usual.attributes]
    assert not [v for name, v in outline.attributes if name == "href" and not str(v).startswith("#")]
    assert not set(BIDI) & set(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    text.encode()  # half a character has no bytes
    assert " ".join(printable(planted).split()) in outline.text


def test_every_planted_word_can_be_read() -> None:
    head, contents, texts, table, curves, bars = 2 + 1 + 2, 1 + 2, 2 + 2, 4, 6, 3  # as `page_saying` has them
    outline = read(html_of(page_saying("<b>&amp;\"'")))
    assert outline.text.count("<b>&amp;\"'") == head + contents + texts + table + curves + bars


LONG = "x" * 10**6
ENDLESS = {
    "words": Page(LONG, [(LONG, LONG)] * 10**4, [LONG] * 1000),
    "lists": Page("t", sections=[Section(LONG, [Text(LONG), Points([LONG] * 10**5, LONG)])]),
    "bars": Page("t", sections=[Section("s", [Bars([Bar([LONG], 1, 2, 3, 4, 5)] * 10**5)])]),
    "grid": Page("t", sections=[Section("s", [Grid([{LONG: LONG}] * 10**5)])]),
    "wide grid": Page("t", sections=[Section("s", [Grid([{str(i): i for i in range(10**5)}])])]),
    "cells": Page("t", sections=[Section("s", [Grid([{"c": Steps(range(10**6), 3), "m": Meter(LONG, 1)}])])]),
    "code": Page("t", sections=[Section("s", [Text("`" * 10**6)])]),
    "sections": Page("t", sections=[Section("s", [])] * 10**5),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_nothing_in_a_page_grows_without_a_bound(what: str) -> None:
    size = len(html_of(ENDLESS[what]))
    assert size < 4_000_000


def test_what_is_left_out_is_told() -> None:
    text = html_of(Page("t", sections=[Section("s", [Bars([Bar(["a"], 1)] * 1200), Points(["b"] * 300)])]))
    assert "200 more values are not shown" in text
    assert "100 more points are not shown" in text
    assert "shortened; certificate.json has it whole" in html_of(Page("t", promises=["w" * 6000]))


def test_the_promises_come_before_everything_but_the_title() -> None:
    page = Page("Title", [("Fact", "fact")], ["First promise.", "Second."], [Section("S", [Text("said")])])
    words = read(html_of(page)).text
    assert words.startswith("Title Title What is promised First promise. Second. Fact")


def test_only_a_private_page_is_marked_as_not_for_release() -> None:
    page = Page("t", sections=[Section("s", [Text("said")])])
    assert "NOT FOR RELEASE" not in html_of(page)
    assert html_of(Page("t", private=True)).count("NOT FOR RELEASE") == 2


def test_the_style_serves_dark_screens_phones_and_paper() -> None:
    text = html_of(Page("t"))
    for rule in (
        "@media (prefers-color-scheme:dark)",
        "@media (max-width:40rem)",
        "@media print",
        "counter(page)",
        "counter(pages)",
        "overflow-x:auto",
    ):
        assert rule in text
    assert '<meta name="viewport" content="width=device-width,initial-scale=1">' in text


def drawn_widths(bars: list[Bar]) -> list[float]:
    text = html_of(Page("t", sections=[Section("s", [Bars(bars)])]))
    return [float(w) for w in re.findall(r'class="published" x="2%" y="5" width="([\d.]+)%"', text)]


def test_bars_are_drawn_to_one_scale() -> None:
    full, half = drawn_widths([Bar(["a"], 100), Bar(["b"], 50)])
    assert full == pytest.approx(2 * half, abs=0.1)


def test_what_stands_for_many_values_is_told_and_not_drawn() -> None:
    bars = [Bar(["a"], 100), Bar(["1,000 other values"], 10**6, drawn=False)]
    assert drawn_widths(bars) == drawn_widths(bars[:1])
    assert "1,000,000" in html_of(Page("t", sections=[Section("s", [Bars(bars)])]))


def test_only_what_is_known_has_a_column() -> None:
    words = read(html_of(Page("t", sections=[Section("s", [Bars([Bar(["a"], 3)])])]))).text
    assert "value drawing published a 3" in words
    assert "estimate" not in words


def test_an_empty_column_can_be_drawn() -> None:
    read(html_of(Page("t", sections=[Section("s", [Bars([Bar(["a"], 0, 0, 0, 0)]), Bars([]), Grid([])])])))


# ---------------------------------------------------------------- curves


def place_of(points: str, i: int) -> tuple[float, float]:
    x, y = points.split()[i].split(",")
    return float(x), float(y)


def test_curves_lie_where_their_numbers_are() -> None:
    plot = plot_of(Panel([Series("s", [0.0, 1.0, 4.0], [1, 10, 100])], log_y=True))
    left, floor, right, top = LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP
    places = [place_of(plot.curves[0].points, i) for i in range(3)]
    assert places[0] == (left, floor)
    assert places[1] == pytest.approx((left + (right - left) / 4, (floor + top) / 2), abs=0.1)
    assert places[2] == (right, top)
    assert [tick.label for tick in plot.y_ticks] == ["1", "10", "100"]
    assert [tick.at for tick in plot.y_ticks] == [y for _, y in places]


def test_numbers_without_a_place_are_left_out() -> None:
    curve = Series("s", [0.1, 0.2, 0.3, 0.4], [0.0, 5.0, float("inf"), 7.0])
    assert len(plot_of(Panel([curve], log_y=True)).curves[0].points.split()) == 2
    assert plot_of(Panel([Series("none", [], [])])).curves[0].points == ""
    assert plot_of(Panel([Series("flat", [1, 2], [3, 3])], log_y=True)).y_ticks


@pytest.mark.parametrize("high", [1.5, 3, 9, 40, 1e4, 1e9, 1e30, 1e300])
def test_axes_have_some_ticks_and_not_many(high: float) -> None:
    for logarithmic in (False, True):
        ticks = plot_of(Panel([Series("s", [1, 2], [1.0, high])], log_y=logarithmic)).y_ticks
        assert 2 <= len(ticks) <= 7
        assert all(len(tick.label) <= 7 for tick in ticks)
        assert [float(tick.label.replace(",", "")) for tick in ticks] == sorted(
            {float(tick.label.replace(",", "")) for tick in ticks}
        )
        assert all(TOP <= tick.at <= HEIGHT - BOTTOM for tick in ticks)


@pytest.mark.parametrize("mark", [1.0, 1.4, 1.6, 2.0])
def test_no_word_stands_among_the_curves(mark: float) -> None:
    """Titles, ticks, the mark's words and the legend: all outside the rectangle that the curves are in."""
    panel = Panel(
        [Series("one", [1, 2], [1, 5]), Series("two", [1, 2], [2, 3])], "title", "x", mark=(mark, "here")
    )
    text = html_of(Page("t", sections=[Section("s", [Drawn(Picture([panel]))])]))
    svg, rest = re.search(r"<svg class=\"plot\".*?</svg>(.*)", text, re.DOTALL).group(0, 1)  # type: ignore[union-attr]
    words = re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"', svg.split(rest)[0])
    assert len(words) > 5
    for x, y in words:
        assert float(x) < LEFT or float(y) < TOP or float(y) > HEIGHT - BOTTOM
    assert "one" in rest
    assert "two" in rest


def test_what_is_loaded_beforehand_is_all_that_a_report_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three templates were compiled when all the data was written, and everyone waited for them."""
    page_environment.cache_clear()
    load_templates()

    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("a template was compiled")

    monkeypatch.setattr(page_environment(), "compile", compiled)
    assert "<h1>" in html_of(Page("t", sections=[Section("s", [Bars([Bar(["a"], 1, 2, 3, 4, 5)])])]))
