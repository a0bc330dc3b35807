"""Under one key, two tables or two settings share no coin and no order: their difference tells of no one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.golden.cells import LISTED, SETTINGS, document, make_tables, path_of

from pramana import Key, Recipe, release

METHODS = {
    "retention epsilon": ("epsilon", 5.0),
    "retention record": ("epsilon", 5.0),
    "invariant": ("xi", 0.25),
    "levels": ("together", True),
    "generalize pdf": ("k", 6),
    "generalize mondrian": ("k", 6),
    "microaggregate": ("k", 6),
    "noise": ("amount", 0.3),
    "presence labels": ("delta", [0.01, 0.85]),
}
BY_CHANCE = 0.1  # of rows may show the same raw value at the same place; when orders are shared, nearly all do


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bound")
    make_tables(folder)
    people = pacsv.read_csv(folder / "people.csv")
    one_changed = people["income"].to_numpy().copy()
    one_changed[17] += 1
    place = people.schema.get_field_index("income")
    pacsv.write_csv(people.set_column(place, "income", pa.array(one_changed)), folder / "corrected.csv")
    pacsv.write_csv(pa.concat_tables([people, people.slice(5, 1)]), folder / "longer.csv")
    present = pacsv.read_csv(folder / "present.csv")
    incomes = present["income"].to_numpy().copy()
    incomes[3] += 1
    pacsv.write_csv(present.set_column(place, "income", pa.array(incomes)), folder / "present corrected.csv")
    return folder


def published(name: str, folder: Path, source: str, out: str, key: Key, **changes: Any) -> pa.Table:
    setting, attributes = SETTINGS[name]
    columns = {**attributes, "income": {"role": "insensitive"}}  # numbers that tell rows apart
    recipe = Recipe.parse(document({**setting, **changes}, columns, source, "parquet"), folder)
    return pq.read_table(release(recipe, folder / out, key=key, even_if_useless=True).bundle / "data.parquet")


def same_places(one: pa.Table, other: pa.Table) -> float:
    """The share of places at which both releases show the same raw value."""
    rows = min(len(one), len(other))
    return float((one["income"].to_numpy()[:rows] == other["income"].to_numpy()[:rows]).mean())


@pytest.mark.parametrize("name", [*METHODS, "matrix"])
def test_a_corrected_cell_of_any_column_gives_another_order(name: str, tables: Path) -> None:
    key, listed = Key.create(), name.startswith("presence")
    first = published(name, tables, path_of(name, "csv"), f"{name} a", key)
    again = published(name, tables, path_of(name, "csv"), f"{name} b", key)
    other = published(name, tables, "present corrected.csv" if listed else "corrected.csv", f"{name} c", key)
    assert first.equals(again)
    assert same_places(first, other) < BY_CHANCE
    if not listed:
        longer = published(name, tables, "longer.csv", f"{name} d", key)
        assert same_places(first, longer) < BY_CHANCE


@pytest.mark.parametrize("name", METHODS)
def test_another_setting_gives_another_order(name: str, tables: Path) -> None:
    key, (option, value) = Key.create(), METHODS[name]
    first = published(name, tables, path_of(name, "csv"), f"{name} e", key)
    other = published(name, tables, path_of(name, "csv"), f"{name} f", key, **{option: value})
    assert same_places(first, other) < BY_CHANCE


def test_noise_of_counts_is_of_one_table(tables: Path) -> None:
    """Presence with noise: one person's income changes, and all noise is drawn anew."""
    key, setting = Key.create(), SETTINGS["presence noised"][0]
    cells = []
    for number, source in enumerate(("present.csv", "present corrected.csv")):
        recipe = Recipe.parse(
            document(setting, {**LISTED["here"], "income": {"role": "insensitive"}}, source, "csv"), tables
        )
        bundle = release(recipe, tables / f"noised {number}", key=key).bundle
        cells.append(sorted(p.read_text() for p in bundle.glob("*.csv") if p.name != "data.csv"))
    assert cells[0] != cells[1]


@pytest.fixture(scope="module")
def numbered(tables: Path) -> Path:
    """The same people with an income that only one of them has, and once more with one income corrected."""
    people = pacsv.read_csv(tables / "people.csv")
    place = people.schema.get_field_index("income")
    incomes = np.arange(len(people)) * 7
    for name, number in (("numbered.csv", 0), ("renumbered.csv", 1)):
        incomes[17] = 17 * 7 + number
        pacsv.write_csv(people.set_column(place, "income", pa.array(incomes)), tables / name)
    return tables


def by_person(published: pa.Table) -> dict[int, tuple[object, ...]]:
    columns = [published[name].to_pylist() for name in published.column_names if name != "income"]
    return dict(zip(published["income"].to_pylist(), zip(*columns, strict=True), strict=True))


@pytest.mark.parametrize("name", ["retention epsilon", "retention record", "matrix", "invariant", "levels"])
def test_a_corrected_cell_gives_other_coins(name: str, numbered: Path) -> None:
    """Everyone is known by their income. With the same coins, who was not corrected would look the same."""
    key = Key(bytes(range(32)))
    first = by_person(published(name, numbered, "numbered.csv", f"{name} g", key))
    again = by_person(published(name, numbered, "numbered.csv", f"{name} h", key))
    other = by_person(published(name, numbered, "renumbered.csv", f"{name} i", key))
    assert first == again
    both = first.keys() & other.keys()
    assert len(both) == len(first) - 1
    assert any(first[person] != other[person] for person in both)


@pytest.mark.parametrize("name", ["retention epsilon", "retention record", "levels"])
def test_another_law_has_other_coins(name: str, numbered: Path) -> None:
    """Nearly the same law. With the same coins, nearly everyone would be published the same."""
    key = Key(bytes(range(32)))
    option, value = ("together", True) if name == "levels" else ("epsilon", 6.0 + 1e-6)
    first = by_person(published(name, numbered, "numbered.csv", f"{name} j", key))
    other = by_person(published(name, numbered, "numbered.csv", f"{name} k", key, **{option: value}))
    assert sum(first[person] != other[person] for person in first) > len(first) / 20


def test_orders_that_are_shared_would_be_seen() -> None:
    """The measure has power: a shared order shows the same value nearly everywhere."""
    incomes = np.random.default_rng(1).integers(0, 90_000, 3_000)
    table = pa.table({"income": incomes})
    assert same_places(table, table) == 1.0
