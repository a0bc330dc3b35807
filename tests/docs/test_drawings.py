"""The drawings that nobody but us makes: each is shown, says what it shows, and is readable on any ground."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
DRAWINGS = sorted((DOCS / "understanding" / "drawings").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {"svg", "title", "rect", "text", "line", "polygon", "path", "circle", "g", "ellipse", "polyline"}
SMALLEST = 10.0  # of letters, in a drawing 440 wide
OF_PAGES = {"spark.svg": "guide/spark.md", "databases.svg": "guide/databases.md"}


def plain(words: str) -> str:
    return " ".join(re.sub(r"[*`]", "", words).lower().split())


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda p: p.name)
def test_a_drawing_is_shown_and_readable(path: Path) -> None:
    shown = re.compile(rf"!\[[^\]]{{20,}}\]\([^)]*drawings/{re.escape(path.name)}\)")
    assert any(shown.search(page.read_text()) for page in DOCS.rglob("*.md")), (
        "no page shows it, with words for it"
    )
    root = ElementTree.parse(path).getroot()
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= KNOWN
    assert root[0].tag == f"{SVG}title" and root[0].text
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    ground = root[1].attrib
    assert (ground["fill"], float(ground["width"]), float(ground["height"])) == ("#fff", width, height)
    for words in root.iter(f"{SVG}text"):
        assert float(words.attrib.get("font-size", root.attrib["font-size"])) >= SMALLEST, words.text


@pytest.mark.parametrize("name", OF_PAGES)
def test_a_drawing_uses_the_words_of_its_page(name: str) -> None:
    page = plain((DOCS / OF_PAGES[name]).read_text())
    words = ElementTree.parse(DOCS / "understanding" / "drawings" / name).getroot().iter(f"{SVG}text")
    heads = [word.text or "" for word in words if word.get("font-weight") == "bold"][1:]  # after the title
    assert len(heads) >= 4
    for head in heads:
        assert plain(head) in page, head
