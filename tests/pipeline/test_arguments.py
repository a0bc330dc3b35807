"""Python's own door: an argument of the wrong kind gets one error of ours, whichever function it is given to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Refused, snapshot

import pramana
from pramana import PramanaError
from pramana.rows.engines import bytes_of

NO_PATHS = (5, 2.5, b"published", True, object(), ("a", "b"), "")
NO_SIZES = (
    2e9,
    "much",
    "1GiB more",
    b"1GiB",
    True,
    object(),
    -1,
    "٢GiB",
    "99999999999999999999999GiB",
    10**400,
    "9" * 500,
)
NO_ENGINES = (5, b"local", "cluster", object())
NO_NUMBERS = (2.5, "1", b"1", object(), True)
NO_TEXTS = (2, 2.5, b"part-00000.csv", object(), "")
THREADS = (-1, 2.5, "2", True)

Call = Callable[..., object]


class PathOfBytes:
    """os.PathLike may also mean bytes."""

    def __fspath__(self) -> bytes:
        return b"published"


class OtherPath:
    """What other libraries have for paths."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __fspath__(self) -> str:
        return self.name


@pytest.fixture
def published(desk: Path) -> Path:
    pramana.release("recipe.toml", "published", seed=1)
    pramana.make_signing_key(desk / "sign")
    return desk


# function -> its good arguments, and for each that is tried the values that it must refuse
CALLS: dict[str, tuple[Call, dict[str, Any], dict[str, tuple[object, ...]]]] = {
    "release": (
        pramana.release,
        {"recipe": "recipe.toml", "out": "out"},
        {"recipe": (None, *NO_PATHS), "out": (None, *NO_PATHS), "key": NO_PATHS, "sign": NO_PATHS,
         "seed": NO_NUMBERS,
         "memory": NO_SIZES, "engine": (None, *NO_ENGINES), "threads": THREADS},
    ),
    "verify": (
        pramana.verify,
        {"bundle": "published"},
        {"bundle": (None, *NO_PATHS), "part": NO_TEXTS, "public_key": NO_PATHS, "memory": NO_SIZES,
         "engine": NO_ENGINES, "threads": THREADS},
    ),
    "verify again": (
        pramana.verify,
        {"bundle": "published", "source": "people.csv", "seed": 1},
        {"seed": NO_NUMBERS, "source": (5, b"people.csv", object(), "")},
    ),
    "verify by key": (
        pramana.verify, {"bundle": "published", "source": "people.csv", "key": "k"}, {"key": NO_PATHS}
    ),
    "crosstab": (
        pramana.crosstab, {"bundle": "published", "by": ["sex"]},
        {"bundle": (None, *NO_PATHS), "engine": NO_ENGINES},
    ),
    "open_study": (
        pramana.open_study, {"bundle": "published"}, {"bundle": (None, *NO_PATHS), "engine": NO_ENGINES}
    ),
    "export": (
        pramana.export, {"bundle": "published", "out": "x.arrow"},
        {"bundle": (None, *NO_PATHS), "out": (None, *NO_PATHS)},
    ),
    "report": (
        pramana.report, {"bundle": "published"},
        {"bundle": (None, *NO_PATHS), "out": NO_PATHS, "audit": NO_PATHS, "engine": NO_ENGINES},
    ),
    "synthesise": (
        pramana.synthesise, {"bundle": "published", "out": "x.csv"},
        {"bundle": (None, *NO_PATHS), "out": (None, *NO_PATHS), "key": NO_PATHS, "engine": NO_ENGINES,
         "records": NO_NUMBERS},
    ),
    "create_levels": (
        pramana.create_levels, {"ledger": "l", "recipe": "recipe.toml"},
        {"ledger": (None, *NO_PATHS), "recipe": (None, *NO_PATHS), "key": NO_PATHS, "memory": NO_SIZES,
         "engine": NO_ENGINES},
    ),
    "issue": (
        pramana.issue, {"ledger": "l", "recipient": "x", "level": 0.5, "out": "out"},
        {"ledger": (None, *NO_PATHS), "out": (None, *NO_PATHS), "sign": NO_PATHS},
    ),
    "collude": (pramana.collude, {"ledger": "l", "recipients": ["x"]}, {"ledger": (None, *NO_PATHS)}),
    "inspect": (pramana.inspect, {"data": "people.csv"}, {"data": (None, *NO_PATHS)}),
    "draft_recipe": (
        pramana.draft_recipe, {"data": "people.csv", "out": "r.toml"},
        {"data": (None, *NO_PATHS), "out": (None, *NO_PATHS), "public": NO_PATHS},
    ),
    "plan": (pramana.plan, {"recipe": "recipe.toml"}, {"recipe": (None, 5, 2.5, b"recipe.toml", object(), "")}),
    "plan_for_records": (pramana.plan_for_records, {"recipe": "recipe.toml"}, {"recipe": (None, *NO_PATHS)}),
    "randomise_record": (
        pramana.randomise_record, {"recipe": "recipe.toml", "record": {}}, {"recipe": (None, *NO_PATHS)}
    ),
    "make_signing_key": (pramana.make_signing_key, {"path": "s"}, {"path": (None, *NO_PATHS)}),
    "Bundle": (pramana.Bundle.open, {"path": "published"}, {"path": (None, *NO_PATHS)}),
    "PublishedCells": (pramana.PublishedCells.open, {"bundle": "published"}, {"bundle": (None, *NO_PATHS)}),
    "Hierarchy": (pramana.Hierarchy.read, {"path": "h.csv"}, {"path": (None, *NO_PATHS)}),
    "Hierarchy, written": (
        pramana.Hierarchy((("a", "b"), ("*", "*"))).write, {"path": "h.csv"}, {"path": (None, *NO_PATHS)}
    ),
    "Key": (pramana.Key.read, {"path": "k"}, {"path": (None, *NO_PATHS)}),
    "Key, written": (pramana.Key(bytes(32)).write, {"path": "k"}, {"path": (None, *NO_PATHS)}),
    "Key of a seed": (pramana.Key.from_seed, {"seed": 1}, {"seed": (None, *NO_NUMBERS)}),
    "Ledger": (pramana.Ledger.open, {"place": "l"}, {"place": (None, *NO_PATHS)}),
    "Ledger, new": (pramana.Ledger.create, {"place": "l"}, {"place": (None, *NO_PATHS)}),
    "Recipe": (pramana.Recipe.read, {"recipe": "recipe.toml"}, {"recipe": (None, *NO_PATHS)}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_no_argument_of_a_wrong_kind_gets_further(name: str, published: Path) -> None:
    call, good, wrong = CALLS[name]
    before, passed = snapshot(published), []
    for argument, values in wrong.items():
        for value in (*values, *([PathOfBytes()] if values[-1:] == NO_PATHS[-1:] else [])):
            try:
                call(**{**good, argument: value})
            except PramanaError as error:
                assert "\n" not in str(error)
            except Exception as error:
                passed.append(f"{argument}={value!r:.40}: {type(error).__name__}: {error}")
            else:
                passed.append(f"{argument}={value!r:.40} was taken")
    assert passed == []
    assert snapshot(published) == before


@pytest.mark.usefixtures("desk")
def test_a_path_of_any_kind_is_a_path() -> None:
    for number, kind in enumerate((str, Path, OtherPath)):
        recipe: Any = kind("recipe.toml")
        out: Any = kind(f"out{number}")
        assert pramana.release(recipe, out, seed=1).records == 40
        assert pramana.verify(out, source=kind("people.csv"), seed=1).valid
        assert pramana.crosstab(out, ["sex"]).cells()
        assert pramana.inspect(kind("people.csv")).records == 40
        assert pramana.plan(kind("recipe.toml"), records=40)
    key: Any = OtherPath("k")
    pramana.Key.create().write(key)
    assert pramana.release("recipe.toml", "by key", key=key).key_file is None


@pytest.mark.usefixtures("desk")
def test_memory_is_stated_as_on_the_command_line() -> None:
    assert pramana.release("recipe.toml", "out", seed=1, memory="1GiB").records == 40
    assert [bytes_of(size) for size in (None, 5, "2kb", " 1.5 GiB ", "7")] == [None, 5, 2000, 3 << 29, 7]


@pytest.mark.parametrize("size", ["99999999999999999999999GiB", "٢GiB", "9" * 400, "x"])
def test_sizes_that_are_none(refused: Refused, size: str) -> None:
    assert "memory must be" in refused("release", "recipe.toml", "--out", "out", "--memory", size)


def test_an_output_must_have_a_name(refused: Refused) -> None:
    assert "The output must be a path, got an empty text" in refused("release", "recipe.toml", "--out", "")


def test_hints_name_options_of_the_command_at_hand(desk: Path, refused: Refused) -> None:
    """`verify` has no --show-values."""
    pramana.release("recipe.toml", "published", seed=1)
    people = (desk / "people.csv").read_text()
    (desk / "people.csv").write_text(people.replace(",F,", ",Q,"))
    assert "Run with --show-values" in refused("release", "recipe.toml", "--out", "out")
    found = pramana.verify("published", source="people.csv", seed=1)
    assert next(check.detail for check in found.checks if not check.ok).endswith("rows outside it")
