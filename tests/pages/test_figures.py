from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pramana.pages.figures import Panel, Picture, Series, write_figure, write_table


@pytest.fixture
def picture() -> Picture:
    lines = Panel(
        [
            Series("ours", [1, 10, 100], [3, 2, 1], low=[2, 1, 0.5], high=[4, 3, 2]),
            Series("theirs", [1, 10], [4, 4]),
        ],
        title="left",
        log_x=True,
        mark=(10, "here"),
    )
    bars = Panel(
        [Series("true", ["a", "b"], [1, 2], kind="bars"), Series("seen", ["a", "b"], [2, 1], kind="bars")]
    )
    points = Panel([Series("cells", ["a", "b"], [1, -2], low=[0, -3], high=[2, -1], kind="points")])
    return Picture([lines, bars, points], title="Three $5 and $6")


def test_a_figure_is_written_twice_and_always_with_the_same_bytes(picture: Picture, tmp_path: Path) -> None:
    svg, png = write_figure(picture, tmp_path / "new" / "fig.2")
    assert (svg.name, png.name) == ("fig.2.svg", "fig.2.png")
    assert png.read_bytes().startswith(b"\x89PNG")
    words = "".join(ElementTree.parse(svg).getroot().itertext())
    assert all(word in words for word in ("ours", "theirs", "Three $5 and $6", "here", "left"))
    first = svg.read_bytes(), png.read_bytes()
    assert first == tuple(p.read_bytes() for p in write_figure(picture, tmp_path / "new" / "fig.2"))


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<?xml"), ("c.PNG", b"\x89PNG")])
def test_a_place_that_names_its_kind_is_the_only_file(
    picture: Picture, name: str, start: bytes, tmp_path: Path
) -> None:
    assert write_figure(picture, tmp_path / name) == [tmp_path / name]
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_table_keeps_every_digit_in_the_csv(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"records": 2458285, "error": 0.1234567890123, "who": "a|b"},
        {"records": 1, "error": None, "who": ""},
    ]
    comma, mark = write_table(rows, tmp_path / "t")
    with comma.open(newline="") as file:
        assert [row["error"] for row in csv.DictReader(file)] == ["0.1234567890123", ""]
    assert mark.read_text().splitlines()[2] == "| 2,458,285 | 0.123457 | a\\|b |"


def test_series_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="entries"):
        Series("x", [1, 2], [1])
