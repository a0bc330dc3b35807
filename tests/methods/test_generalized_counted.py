"""Combinations with how often they occur are as good as the rows: every number and every cell is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.counting.classes import ClassFinder, CombinationCounter, CountedCombinations, Ladder, Layout, grouped
from pramana.counting.value_counts import ValueCounts
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.cells import KINDS
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lines import OccurringLines, grouped_for
from pramana.methods.generalize.measured import InClasses, measure
from pramana.methods.generalize.measures import MEASURES
from pramana.methods.generalize.recoding import Generalised, full_domain, partition
from pramana.methods.generalize.search import solve_lines
from pramana.methods.generalize.setting import CellKind, GeneralizeDesign, GeneralizeSetting, Measure, design_in
from pramana.methods.sensitive import Sensitive
from pramana.schema.domain import Attribute, Domain, Role

LADDERS = (
    Ladder("a", (np.arange(6), np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, np.int64))),
    Ladder("b", (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, np.int64))),
    Ladder("c", (np.arange(3), np.zeros(3, np.int64))),
)
TREE = (np.array([0, 0, 1, 1, 1]), np.zeros(2, np.int64))  # of the sensitive values


def quasi() -> list[Quasi]:
    found = []
    for ladder in LADDERS:
        labels = tuple(tuple(f"{level}-{i}" for i in range(size)) for level, size in enumerate(ladder.sizes))
        attribute = Attribute(ladder.name, Role.QUASI_IDENTIFYING, Domain(labels[0]))
        found.append(Quasi(attribute, ladder, labels, False))
    return found


def table(seed: int, rows: int) -> list[Any]:
    """Three quasi-identifiers and two sensitive columns, unevenly spread, the last value of each rare."""
    rng = np.random.default_rng(seed)
    sizes = [*(ladder.leaves for ladder in LADDERS), 5, 3]
    return [np.minimum(rng.geometric(0.5, rows) - 1, size - 1).astype(np.uint8) for size in sizes]


def combined(columns: list[Any], sizes: list[int], pieces: int) -> CountedCombinations:
    counted = CombinationCounter(sizes)
    for part in np.array_split(np.arange(len(columns[0])), pieces):
        if len(part):
            counted.update([column[part] for column in columns])
    found = counted.merged()
    lines = tuple(found.codes(i).astype(np.uint8) for i in range(len(sizes)))
    return CountedCombinations(lines, np.ascontiguousarray(found.sizes))


def solve_rows(
    design: GeneralizeDesign, columns: list[Any], sensitive: list[Sensitive], secret: list[Any]
) -> Generalised:
    """The full-domain search over every row, where each stands for itself."""
    layout = Layout(LADDERS)
    looked = list(zip(sensitive, secret, strict=True)) if design.looks_at_sensitive else []
    condition = design.condition([(np.bincount(code, minlength=s.size), s.parents) for s, code in looked])
    counted = grouped_for(layout, columns, [(code, s.size) for s, code in looked])
    limit = int(design.suppression * counted.base.rows)
    return full_domain(counted, condition, measure=design.measure, limit=limit)


WANTED: list[dict[str, Any]] = [
    {},
    {"suppression": 0.2},
    {"l": 2, "suppression": 0.1},
    {"l": 1.3, "l_kind": "entropy", "suppression": 0.3},
    {"l": 2, "l_kind": "recursive", "c": 4.0, "suppression": 0.3},
    {"t": 0.6, "suppression": 0.3},
    {"t": 0.6, "t_distance": "hierarchical", "suppression": 0.3},
    {"intermediate": (1, 3), "suppression": 0.1},
]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 150),
    st.integers(1, 4),
    st.sampled_from(WANTED),
    st.sampled_from(KINDS),
    st.sampled_from(MEASURES),
    st.integers(1, 4),
    st.booleans(),
)
def test_lines_with_counts_are_as_good_as_rows(
    seed: int,
    rows: int,
    k: int,
    wanted: dict[str, Any],
    kind: CellKind,
    loss: Measure,
    pieces: int,
    by_class: bool,
) -> None:
    """The search, the cells and every measure; and rows in another order change none of them."""
    kind = "pdf" if "intermediate" in wanted else kind
    design = design_in(GeneralizeSetting(k=k, cells=kind, measure=loss, **wanted))
    columns, own = table(seed, rows), quasi()
    tree = TREE if design.t_distance == "hierarchical" else None
    sensitive = [Sensitive("s", tuple("vwxyz"), False, tree)]
    if tree is None:
        sensitive.append(Sensitive("r", tuple("ab"), True))
    looked = columns[3 : 3 + len(sensitive)]

    def from_rows(order: Any) -> tuple[Any, Generalised | None]:
        secret = [column[order] for column in looked]
        try:
            made = solve_rows(design, [column[order] for column in columns[:3]], sensitive, secret)
        except UnreachableError as error:
            return str(error), None
        held = [InClasses(made.class_of, code) for code in secret]
        return measure(made, design, own, sensitive, held, by_class, None), made

    expected, made = from_rows(np.arange(rows))
    assert from_rows(np.random.default_rng(seed).permutation(rows))[0] == expected
    sizes = [ladder.leaves for ladder in LADDERS]
    lines = combined(columns[:3], sizes, pieces)
    pairs = [
        (s, combined([*columns[:3], code], [*sizes, s.size], pieces))
        for s, code in zip(sensitive, looked, strict=True)
    ]
    asked = pairs if design.looks_at_sensitive else []
    if made is None:
        with pytest.raises(UnreachableError) as refused:
            solve_lines(design, own, OccurringLines(lines, asked), None)
        assert str(refused.value) == expected
        return
    counted = solve_lines(design, own, OccurringLines(lines, asked), None)
    finder = counted.finder
    held = []
    for _, found in pairs:
        number = finder.find(found.columns[:-1]).astype(np.int64)
        held.append(InClasses(np.where(number < counted.classes, number, -1), found.columns[-1], found.times))
    assert measure(counted, design, own, sensitive, held, by_class, None) == expected
    assert counted.levels == made.levels
    assert counted.suppressed == made.suppressed
    assert counted.sizes.tolist() == made.sizes.tolist()
    for one, other in zip(counted.cells(kind), made.cells(kind), strict=True):
        assert one.first.tolist() == other.first.tolist()
        assert one.values.tolist() == other.values.tolist()
        assert one.weights.tolist() == other.weights.tolist()
    number = finder.find(columns[:3]).astype(np.int64)
    assert np.where(number < counted.classes, number, -1).tolist() == made.class_of.tolist()


@pytest.mark.parametrize("leaves", [3, 1 << 20])
def test_the_class_of_a_row_is_found_by_keys_of_any_length(leaves: int) -> None:
    """Seven attributes: keys of one word, and of three. Rows of no class are told as such."""
    rng = np.random.default_rng(2)
    top = max(leaves // 100, 1)
    ladders = tuple(Ladder(str(i), (np.arange(leaves), np.arange(leaves) // top)) for i in range(7))
    layout = Layout(ladders)
    few = rng.integers(0, leaves, (7, 40))
    columns = [row[rng.integers(0, 4, 500)].astype(np.uint32) for row in few]
    levels = (0, 1, 0, 0, 1, 0, 0)
    base, _ = grouped(layout, columns)
    classes, _ = base.rolled_with_index(levels)
    keys = classes.keys[rng.permutation(len(classes))[: len(classes) // 2]]
    found = ClassFinder(layout, levels, keys).find(columns)
    shown = np.stack([ladder.maps[i][c] for ladder, i, c in zip(ladders, levels, columns, strict=True)], axis=1)
    fields = np.stack([_field(layout, keys, a) for a in range(7)], axis=1)
    number = {tuple(line): i for i, line in enumerate(fields.tolist())}
    assert found.tolist() == [number.get(tuple(line), len(keys)) for line in shown.tolist()]
    assert 0 < (found == len(keys)).sum() < len(found)


def _field(layout: Layout, keys: Any, attribute: int) -> Any:
    word, shift, bits = layout.fields[attribute]
    return [(int(key) >> shift) & ((1 << bits) - 1) for key in keys[:, word]]


def test_a_hierarchical_distance_where_the_last_value_does_not_occur() -> None:
    """The tree has all values; half of them in each class make the distance that is computed by hand."""
    classes, codes = np.array([0, 0, 1, 1], np.uint32), np.array([0, 1, 2, 2], np.uint8)
    found = ValueCounts.of(classes, codes, None, 5)
    # the whole is 1/4, 1/4, 1/2: in each class a half must cross the top, at the full height
    assert found.t("hierarchical", TREE) == pytest.approx(0.5)


def test_only_a_full_domain_tells_the_class_of_any_row() -> None:
    columns = table(1, 60)[:3]
    with pytest.raises(RecipeError, match="full-domain"):
        _ = partition(LADDERS, columns, 3).finder
    made = full_domain(grouped_for(Layout(LADDERS), columns), KAnonymous(3))
    assert made.finder.find(columns).tolist() == made.class_of.tolist()
