"""Handing a population on: Arrow, frames, files and recipes say the same as the codes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests import needs

from pramana import Recipe
from pramana.datasets.census import census, salaries
from pramana.datasets.population import MISSING, Population
from pramana.errors import InputError
from pramana.io.codes import encode
from pramana.io.source import Source
from pramana.run.config import source_of
from pramana.schema.domain import Domain


@pytest.fixture(scope="module")
def people() -> Population:
    return census(2000, seed=5)


def spelt(people: Population) -> dict[str, list[str | None]]:
    return {
        name: [labels[code] or None for code in codes]
        for name, labels, codes in zip(people.names, people.labels, people.codes, strict=True)
    }


def with_missing() -> Population:
    return Population(
        ("a", "b"), (("x", "y", MISSING), ("u",)), (np.array([2, 0, 1], np.uint8), np.zeros(3, np.uint8))
    )


def test_arrow_is_a_dictionary_over_the_whole_domain(people: Population) -> None:
    table = people.to_arrow()
    assert {name: table.column(name).to_pylist() for name in table.column_names} == spelt(people)
    for name in people.names:
        assert table.column(name).chunk(0).dictionary.to_pylist() == list(people.domain(name))


@pytest.mark.parametrize("made", [lambda: census(300), lambda: salaries(300), with_missing])
def test_frames_hold_the_labels(made: object) -> None:
    needs.package("pandas")
    needs.package("polars")
    people: Population = made()  # type: ignore[operator]
    truth = spelt(people)
    frame = people.to_pandas()
    assert {n: [None if v != v else v for v in frame[n].tolist()] for n in people.names} == truth
    assert people.to_polars().to_dict(as_series=False) == truth


def test_missing_is_null_and_an_empty_field(tmp_path: Path) -> None:
    people = with_missing()
    assert people.to_arrow().column("a").to_pylist() == [None, "x", "y"]
    people.write_csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().replace('"', "").splitlines() == ["a,b", ",u", "x,u", "y,u"]
    assert tomllib.loads(people.attributes_toml())["attributes"]["a"]["domain"] == ["x", "y", ""]


def test_files_hold_the_table(people: Population, tmp_path: Path) -> None:
    from pyarrow import csv
    from pyarrow import parquet as pq

    people.write_csv(tmp_path / "p.csv")
    people.write_parquet(tmp_path / "p.parquet")
    truth = spelt(people)
    assert csv.read_csv(tmp_path / "p.csv").to_pydict() == truth
    assert pq.read_table(tmp_path / "p.parquet").to_pydict() == truth
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "p.parquet"]


def test_an_impossible_place_is_one_line_and_leaves_nothing(people: Population, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for place in (tmp_path / "no" / "p.csv", tmp_path / "taken"):
        for write in (people.write_csv, people.write_parquet, lambda path: people.write_recipe(path, "p.csv")):
            with pytest.raises(InputError, match="must be a writable file") as caught:
                write(place)
            assert "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_recipe_declares_every_domain(people: Population, tmp_path: Path) -> None:
    people.write_recipe(tmp_path / "r.toml", 'odd "name".csv', k=100, epsilon=3.5)
    recipe = tomllib.loads((tmp_path / "r.toml").read_text())
    assert recipe["source"] == {"path": 'odd "name".csv'}
    assert recipe["release"] == {"method": "retention", "k": 100, "epsilon": 3.5, "coin": "attribute"}
    assert recipe["output"] == {"format": "parquet"}
    assert {n: tuple(a["domain"]) for n, a in recipe["attributes"].items()} == dict(
        zip(people.names, people.labels, strict=True)
    )
    assert {a["role"] for a in recipe["attributes"].values()} == {"quasi-identifying"}
    earners = tomllib.loads(salaries(1).recipe_toml("s.csv", k=2, method="levels"))
    assert [n for n, a in earners["attributes"].items() if a["role"] == "sensitive"] == ["salary"]
    assert "epsilon" not in earners["release"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas", "polars"])
@pytest.mark.parametrize("made", [lambda: census(500), lambda: salaries(500), with_missing])
def test_the_recipe_reads_the_file_back_into_the_same_codes(made: object, kind: str, tmp_path: Path) -> None:
    people: Population = made()  # type: ignore[operator]
    name = f"people.{kind}"
    people.write_recipe(tmp_path / "r.toml", name, k=2)
    recipe = Recipe.read(tmp_path / "r.toml")
    if kind in ("csv", "parquet"):
        getattr(people, f"write_{kind}")(tmp_path / name)
        source = source_of(recipe)
    else:
        source = Source(frame=getattr(people, f"to_{kind}")())
    table = source.read(people.names)
    for column, codes in zip(people.names, people.codes, strict=True):
        values = recipe.attributes[column].values
        assert values is not None
        read = encode(table.column(column), Domain.declared(values), column)
        assert read.dtype == codes.dtype
        assert np.array_equal(read, codes)


def test_unknown_columns_are_named(people: Population) -> None:
    with pytest.raises(InputError, match="must be one of sex, age"):
        people.column("shoe_size")


@pytest.mark.parametrize(
    ("names", "labels", "codes"),
    [
        (("a", "a"), (("x",), ("x",)), ([0], [0])),
        (("a",), (("x", "x"),), ([0],)),
        (("a",), ((MISSING, "x"),), ([0],)),
        (("a",), (("x",),), ([1],)),
        (("a", "b"), (("x",), ("x",)), ([0], [0, 0])),
    ],
)
def test_what_is_no_table_is_refused(
    names: tuple[str, ...], labels: tuple[tuple[str, ...], ...], codes: object
) -> None:
    with pytest.raises(ValueError, match="must"):
        Population(names, labels, tuple(np.array(c, np.uint8) for c in codes))  # type: ignore[attr-defined]


def test_codes_cannot_be_changed_by_accident(people: Population) -> None:
    with pytest.raises(ValueError, match="read-only"):
        people.codes[0][0] = 1
