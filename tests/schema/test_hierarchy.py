"""Hierarchies: ARX files both ways, every check that a bad file must meet, the builders."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import SchemaError
from pramana.schema.hierarchy import (
    Hierarchy,
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)

DATA = Path(__file__).parents[3] / "shared" / "data" / "hierarchies"


def rows(*lines: str) -> list[list[str]]:
    return [line.split(";") for line in lines]


def test_level_map_gives_a_code_per_leaf_and_the_labels_in_order() -> None:
    h = Hierarchy.from_rows(rows("USA;America;*", "Italy;Europe;*", "Canada;America;*"))
    codes, labels = h.level_map(1)
    assert codes.tolist() == [0, 1, 0]
    assert labels == ("America", "Europe")
    assert h.level_map(2)[1] == ("*",)
    assert h.members(1) == {"America": ("USA", "Canada"), "Europe": ("Italy",)}


def test_level_map_hands_out_copies() -> None:
    h = Hierarchy.from_rows(rows("a;*", "b;*"))
    h.level_map(0)[0][:] = 9
    assert h.level_map(0)[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["a;x;*", "b;*"], "2 in line 2"),
        (["a;x;*", "a;y;*"], "the leaf of line 1 again in line 2"),
        (["a;x;*", "a;x;*"], "the leaf of line 1 again in line 2"),
        (["a;g;x;*", "b;g;y;*"], "in lines 1 and 2"),
        (["a;b;*", "b;a;*"], "its own ancestor"),
        (["a;b;a;*", "c;b;a;*"], "its own ancestor"),
        (["*;a;*"], "its own ancestor"),
        (["a;x", "b;y"], "Add a last column"),
        ([], "at least one leaf"),
    ],
)
def test_a_bad_hierarchy_is_refused_with_the_line(lines: list[str], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Hierarchy.from_rows(rows(*lines))


@given(st.integers(0, 10**6))
@settings(max_examples=400)
def test_a_hierarchy_is_refused_where_a_line_by_line_look_refuses_it(seed: int) -> None:
    """Few labels at random, often under their own names: two parents, loops and good ones are all common."""
    rng = np.random.default_rng(seed)
    leaves, height = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    levels = [tuple(f"n{i}" for i in range(leaves))]
    for _ in range(height):
        labels = [f"n{i}" for i in rng.integers(0, leaves + 3, leaves)]
        levels.append(tuple(rng.choice([a, b]) for a, b in zip(labels, levels[-1], strict=True)))
    levels.append(("*",) * leaves)
    try:
        Hierarchy(tuple(levels))
    except SchemaError:
        assert bad(levels)
    else:
        assert not bad(levels)


def bad(levels: list[tuple[str, ...]]) -> bool:
    """Two parents of one label at one level, or a label that is above itself by way of another."""
    above: dict[str, set[str]] = {}
    for lower, upper in pairwise(levels):
        parents = dict(zip(lower, upper, strict=True))
        if any(parents[a] != b for a, b in zip(lower, upper, strict=True)):
            return True
        for label, parent in parents.items():
            if label != parent:
                above.setdefault(label, set()).add(parent)
    for start in above:
        reached: set[str] = set()
        border = {start}
        while border:
            border = {up for label in border for up in above.get(label, ())} - reached
            reached |= border
        if start in reached:
            return True
    return False


def test_a_shorter_branch_may_repeat_its_label() -> None:
    h = Hierarchy.from_rows(rows("Other;Other;*", "White;Known;*"))
    assert h.levels[1] == ("Other", "Known")


def test_values_without_a_leaf_are_counted_and_never_named() -> None:
    h = Hierarchy.from_rows(rows("a;*", "b;*"))
    with pytest.raises(SchemaError, match=r"column city .* 2 values in 7 rows") as caught:
        h.must_cover("city", {"a": 5, "secret": 3, "hidden": 4})
    assert "secret" not in str(caught.value)
    h.must_cover("city", {"a": 1})


def test_for_values_puts_the_leaves_in_the_order_of_the_codes() -> None:
    h = Hierarchy.from_rows(rows("a;x;*", "b;y;*", "c;x;*")).for_values("city", ["c", "b"])
    assert h.levels == (("c", "b"), ("x", "y"), ("*", "*"))


@pytest.mark.parametrize("content", [b"\xff\xfe", b'"a;b', b"", b"a;b\nc\n"])
def test_an_unreadable_file_is_one_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"h\.csv"):
        Hierarchy.read(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="must be readable"):
        Hierarchy.read(tmp_path / "none.csv")


@given(st.binary(max_size=60))
def test_reading_bytes_gives_a_hierarchy_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("h") / "h.csv"
    path.write_bytes(data)
    try:
        Hierarchy.read(path)
    except SchemaError as error:
        assert "\n" not in str(error)


LABEL = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n\x00"), min_size=1, max_size=4
)


@given(st.lists(LABEL, min_size=1, max_size=9, unique=True), st.integers(1, 4))
def test_written_hierarchies_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, leaves: list[str], size: int
) -> None:
    path = tmp_path_factory.mktemp("h") / "h.csv"
    groups = [f"group {i // size}" for i in range(len(leaves))]
    h = Hierarchy((tuple(leaves), tuple(groups), ("all",) * len(leaves)))
    h.write(path)
    # utf-8-sig takes a byte order mark off the front; a label that starts with one is no label of ours
    if not leaves[0].startswith("\ufeff"):
        assert Hierarchy.read(path) == h


def test_adult_hierarchies_read(tmp_path: Path) -> None:
    if not DATA.exists():
        pytest.skip("the shared Adult hierarchies are not on this machine")
    heights = {p.stem: Hierarchy.read(p).height for p in DATA.glob("*.csv")}
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    assert int(np.prod([heights[name] for name in quasi])) == 6480  # the lattice peers report
    h = Hierarchy.read(DATA / "native-country.csv")
    h.write(tmp_path / "again.csv")
    assert Hierarchy.read(tmp_path / "again.csv") == h


def test_intervals() -> None:
    h = hierarchy_of_intervals(range(100), [5, 10, 20])
    assert [level[23] for level in h.levels] == ["23", "20-24", "20-29", "20-39", "*"]
    assert hierarchy_of_intervals([-1, 0], [5]).levels[1] == ("-5--1", "0-4")
    for widths in ([5, 12], [10, 5], [0]):
        with pytest.raises(SchemaError, match="multiple"):
            hierarchy_of_intervals(range(4), widths)
    with pytest.raises(SchemaError, match="whole numbers"):
        hierarchy_of_intervals(["4.5"], [5])


def test_ordered_groups() -> None:
    h = hierarchy_of_groups(["low", "middle", "high"], [2])
    assert h.levels[1:] == (("low..middle", "low..middle", "high"), ("*", "*", "*"))


def test_masking() -> None:
    h = hierarchy_by_masking(["12345", "12399", "9"])
    assert [level[0] for level in h.levels] == ["12345", "1234*", "123**", "12***", "1****", "*"]
    assert h.levels[1][2] == "9****"
    assert hierarchy_by_masking(["12345", "12399"], levels=2).height == 4
    for wrong in ({"values": ["1*"]}, {"values": ["12"], "mask": "**"}, {"values": ["12"], "levels": 2}):
        with pytest.raises(SchemaError):
            hierarchy_by_masking(**wrong)


def test_dates() -> None:
    h = hierarchy_of_dates(["2024-03-31", "2019-12-01"])
    assert [level[1] for level in h.levels] == ["2024-03-31", "2024-03", "2024-Q1", "2024", "2020s", "*"]
    for values, units in (
        (["31.3.2024"], ["year"]),
        (["2024-03-31"], ["year", "month"]),
        (["2024-03-31"], ["week"]),
    ):
        with pytest.raises(SchemaError):
            hierarchy_of_dates(values, units)


def test_trees_of_uneven_depth() -> None:
    h = hierarchy_of_tree({"America": {"North": ["USA"], "South": ["Peru"]}, "Europe": ["Italy"]})
    assert h.levels == (
        ("USA", "Peru", "Italy"),
        ("North", "South", "Italy"),
        ("America", "America", "Europe"),
        ("*", "*", "*"),
    )
    for wrong in ({}, {"a": "leaf"}, {"a": ["x"], "b": ["x"]}, {"a": {"b": ["a"]}}):
        with pytest.raises(SchemaError):
            hierarchy_of_tree(wrong)
