"""A value planted where nothing may be published of it: no file, no message and no trace on disk has it.

Planted are a column that is dropped, one that the recipe does not name, a dictionary's entry that no row has, the
sensitive values of suppressed rows, and those of people who are not in the private table.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests import needs
from tests.golden.cells import SETTINGS, path_of
from tests.security.bundles import KEY, make_small_tables

from pramana import Recipe, release, verify
from pramana.methods.recipe import AnyRecipe
from pramana.methods.sensitive import Sensitive

PLANT = "Zq7PlantedXw"
FORMS = (PLANT.encode(), PLANT.encode("utf-16-le"), PLANT.encode().hex().encode())


class Watch:
    """Looks at every file below a folder again and again, while something is made there."""

    def __init__(self, folders: list[Path], known: set[Path]) -> None:
        self.folders, self.known = folders, known
        self.seen: set[str] = set()
        self.looks, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def look(self) -> None:
        for folder in self.folders:
            for place, _, names in os.walk(folder):
                for path in (Path(place) / name for name in names):
                    with contextlib.suppress(OSError):
                        if path not in self.known and not path.is_symlink() and holds(path.read_bytes()):
                            self.seen.add(str(path))
                        if holds(path.name.encode()):
                            self.seen.add(str(path))
        self.looks += 1

    def _run(self) -> None:
        while not self._done.wait(0.005):
            self.look()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.look()


def holds(content: bytes) -> bool:
    return any(form in content for form in FORMS)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden tables with the value where it must not come from."""
    folder = tmp_path_factory.mktemp("planted")
    make_small_tables(folder)
    people = pq.read_table(folder / "people.parquet")
    for column in ("sex", "job", "town", "illness"):
        texts = people[column].combine_chunks().dictionary_encode()
        more = pa.array([PLANT, *texts.dictionary.to_pylist(), f"{PLANT} too"])
        codes = pa.array([None if i is None else i + 1 for i in texts.indices.to_pylist()], pa.int32())
        place = people.column_names.index(column)
        people = people.set_column(place, column, pa.DictionaryArray.from_arrays(codes, more))
    pq.write_table(_with_columns(people), folder / "people.parquet")
    everyone = pacsv.read_csv(folder / "everyone.csv")
    flags = zip(everyone["illness"].to_pylist(), everyone["here"].to_pylist(), strict=True)
    illness = [value if here else PLANT for value, here in flags]
    everyone = everyone.set_column(everyone.column_names.index("illness"), "illness", pa.array(illness))
    pacsv.write_csv(_with_columns(everyone), folder / "everyone.csv")
    pacsv.write_csv(_with_columns(pacsv.read_csv(folder / "present.csv")), folder / "present.csv")
    assert all(holds((folder / name).read_bytes()) for name in ("people.parquet", "everyone.csv", "present.csv"))
    return folder


def _with_columns(table: pa.Table) -> pa.Table:
    names = pa.array([f"{PLANT} {i}" for i in range(table.num_rows)])
    return table.append_column("name", names).append_column(f"{PLANT} column", names)


def recipe(name: str, folder: Path, output: str) -> AnyRecipe:
    chosen, attributes = SETTINGS[name]
    return Recipe.parse(
        {
            "source": {"path": path_of(name, "parquet")},
            "release": dict(chosen),
            "attributes": {**attributes, "name": {"role": "identifying"}},
            "output": {"format": output},
        },
        folder,
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An output's parent, with temporary files beside it."""
    for name in ("source", "output", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield tmp_path


def leaks(wanted: AnyRecipe, place: Path, capture: Any, **options: Any) -> set[str]:
    """Where the planted value shows up when the recipe is released, verified and made again."""
    out = place / "output" / "out"
    with Watch([place / "output", place / "temporary"], set()) as watch:
        release(wanted, out, key=KEY, threads=1, even_if_useless=True, **options)
        assert verify(out, threads=1).valid
        assert verify(out, source=wanted.source.path, key=KEY, threads=1, **options).valid
    assert watch.looks >= 2 and (out / "certificate.json").exists()
    shown = capture.readouterr()
    said = {name for name, text in (("stdout", shown.out), ("stderr", shown.err)) if holds(text.encode())}
    return watch.seen | said


def _streams(name: str) -> bool:
    setting = SETTINGS[name][0]
    whole = setting["method"] in ("presence", "microaggregate", "swap")
    return not whole and "subset" not in setting and setting.get("algorithm", "incognito") == "incognito"


HOMES = [
    *((name, "memory", "parquet") for name in SETTINGS),
    *((name, "spooled", "csv") for name in SETTINGS if _streams(name)),
]


@pytest.mark.parametrize(("name", "home", "output"), HOMES)
def test_nothing_planted_is_published(
    name: str, home: str, output: str, planted: Path, place: Path, capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    wanted = recipe(name, planted, output)
    options = {"memory": 512 << 20} if home == "spooled" else {}
    assert leaks(wanted, place, capfd, **options) == set()
    assert not holds(caplog.text.encode())


# ---------------------------------------------------------------- suppressed rows


def suppressing(folder: Path) -> AnyRecipe:
    """One person of a third sex, whom it is cheaper to suppress than to make all alike."""
    rows = [("F", "flu")] * 30 + [("F", "cold")] * 30 + [("M", "flu")] * 40 + [("X", PLANT)]
    pacsv.write_csv(pa.table({"sex": [r[0] for r in rows], "illness": [r[1] for r in rows]}), folder / "t.csv")
    (folder / "sex.csv").write_text("F;*\nM;*\nX;*\n")
    statement = {
        "source": {"path": "t.csv"},
        "release": {"method": "generalize", "k": 5, "suppression": 0.05, "cells": "hierarchy", "l": 1, "t": 1.0},
        "attributes": {
            "sex": {"role": "quasi-identifying", "hierarchy": "sex.csv"},
            "illness": {"role": "sensitive"},
        },
        "output": {"format": "csv"},
    }
    return Recipe.parse(statement, folder)


@pytest.mark.parametrize("home", ["memory", "spooled"])
def test_what_is_suppressed_stays_unsaid(home: str, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wanted = suppressing(place / "source")
    options = {"memory": 512 << 20} if home == "spooled" else {}
    assert leaks(wanted, place, capfd, **options) == set()
    assert len((place / "output" / "out" / "data.csv").read_text().splitlines()) == 101, "one row was suppressed"


def test_the_search_finds_what_was_listed_before(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate once listed the sensitive values of suppressed rows as well: this test would have told."""
    monkeypatch.setattr(Sensitive, "published", lambda self, codes: self)  # noqa: ARG005 - the method's signature
    out = place / "output" / "out"
    with Watch([place / "output"], set()) as watch:
        release(suppressing(place / "source"), out, key=KEY, threads=1, even_if_useless=True)
    assert str(out / "certificate.json") in watch.seen
    assert not verify(out, threads=1).valid, "and verification now asks for the values that occur"


@pytest.mark.parametrize("engine", ["spark"])
def test_on_spark_too(engine: str, planted: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs.package("pyspark")
    needs.require("java")
    out = place / "output" / "out"
    with Watch([place / "output", place / "temporary"], set()) as watch:
        release(recipe("retention epsilon", planted, "parquet"), out, key=KEY, engine=engine)
    shown = capfd.readouterr()
    assert watch.seen == set() and not holds((shown.out + shown.err).encode())
