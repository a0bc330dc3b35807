"""Recipes: what a data holder writes. A recipe is read and checked before any data is touched."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pramana.errors import RecipeError
from pramana.schema.attribute import Role
from pramana.schema.connection import check_database_source, connection_url, output_table

METHODS = ("retention", "matrix", "invariant", "levels", "generalize", "presence")

# Every key a recipe may hold. A method's own keys reach it as `Recipe.options`, and it checks their values.
SOURCE_KEYS = {"path", "url", "query", "table", "schema", "format", "delimiter", "encoding", "missing", "dataset"}
RELEASE_KEYS = {
    "method", "k", "epsilon", "delta", "coin", "allocation", "tables", "retention", "records", "candidates",
    "shuffle",
}  # fmt: skip
METHOD_KEYS: dict[str, set[str]] = {
    "retention": set(),
    "matrix": set(),
    "invariant": {"xi", "matrix", "kind", "strata", "together", "rule", "unreached", "diagonal", "alpha"},
    "levels": {"together", "history", "people", "allowances", "total_epsilon"},
    "generalize": {
        "algorithm", "cells", "suppression", "measure", "weights", "l", "l_kind", "t", "t_distance", "c",
        "intermediate", "population", "solution",
    },
    "presence": {
        "algorithm", "cells", "public", "present", "mode", "noise_epsilon", "quantum", "suppression", "measure",
        "weights", "levels",
    },
}  # fmt: skip
ATTRIBUTE_KEYS = {
    "role", "domain", "bins", "hierarchy", "level", "missing", "randomise", "retention", "matrix", "ordered",
    "forbidden", "weight", "distribution",
}  # fmt: skip
OUTPUT_KEYS = {"format", "url", "table", "schema"}
_OF_DATABASES = ("url", "query", "table", "schema")
MISSING_POLICIES = ("auto", "category", "never")


@dataclass(frozen=True)
class AttributeRecipe:
    """One [attributes.NAME] section, checked for form."""

    name: str
    role: Role
    values: tuple[Any, ...] | None = None  # a declared domain
    from_data: bool = False
    bins: tuple[float, ...] | None = None
    hierarchy: Path | None = None
    level: int = 0
    missing: str = "auto"
    randomise: bool | None = None
    retention: float | None = None
    matrix: Path | tuple[tuple[float, ...], ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_domain(self) -> bool:
        return self.values is not None or self.from_data or self.bins is not None or self.hierarchy is not None


@dataclass(frozen=True)
class Recipe:
    """What to read, what to promise, what each column is, and how to write it."""

    attributes: tuple[AttributeRecipe, ...]
    method: str = "retention"
    source: Mapping[str, Any] = field(default_factory=dict)
    k: float | None = None
    epsilon: float | None = None
    delta: Any = None
    coin: str = "attribute"
    allocation: str = "equal"
    tables: tuple[tuple[str, ...], ...] = ()
    retention: float | None = None
    records: int | None = None
    candidates: int | None = None
    shuffle: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    format: str = "parquet"
    output: Mapping[str, str] = field(default_factory=dict)  # url, table, schema of a copy in a database
    folder: Path = Path()

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """Read a recipe file; paths in it are relative to its folder."""
        path = Path(path)
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError:
            raise RecipeError(f"The recipe {path} must be UTF-8 text", "other bytes") from None
        except OSError as error:
            raise RecipeError(f"The recipe {path} must be readable", error.strerror) from None
        except ValueError:
            raise RecipeError("The recipe must be a file", "a name that is none") from None
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RecipeError(f"The recipe {path} must be valid TOML", str(error)) from None
        except ValueError:  # Python's own limit on the digits of a number
            raise RecipeError(f"The recipe {path} must be valid TOML", "a number of too many digits") from None
        except RecursionError:
            raise RecipeError(f"The recipe {path} must be valid TOML", "deep nesting") from None
        return cls.parse(content, path.parent)

    @classmethod
    def parse(cls, content: Mapping[str, Any], folder: Path = Path()) -> Recipe:
        _check_integers(content)
        sections = {"source", "release", "attributes", "output"}
        _known(content, sections, "a section of a recipe")
        source, release, output = (_section(content, name) for name in ("source", "release", "output"))
        method = _choice(release.get("method", "retention"), METHODS, "release.method")
        _known(source, SOURCE_KEYS, "a key of [source]")
        _known(release, RELEASE_KEYS | METHOD_KEYS[method], f"a key of [release] with method {method!r}")
        _known(output, OUTPUT_KEYS, "a key of [output]")
        attributes = _section(content, "attributes")
        if not attributes:
            raise RecipeError("A recipe must describe at least one column", "no [attributes.NAME] section")
        read = tuple(_attribute(name, body, folder) for name, body in attributes.items())
        return cls(
            attributes=read,
            method=method,
            source=_source(source, folder),
            k=_number(release, "k"),
            epsilon=_number(release, "epsilon"),
            delta=release.get("delta"),
            coin=_choice(release.get("coin", "attribute"), ("attribute", "record", "best"), "release.coin"),
            allocation=_choice(release.get("allocation", "equal"), ("equal", "best"), "release.allocation"),
            tables=_tables(release.get("tables", []), {a.name for a in read}),
            retention=_number(release, "retention"),
            records=_whole(release, "records"),
            candidates=_whole(release, "candidates"),
            shuffle=_flag(release, "shuffle", True),
            options={key: value for key, value in release.items() if key in METHOD_KEYS[method]},
            format=_choice(output.get("format", "parquet"), ("parquet", "csv"), "output.format"),
            output=output_table(output, folder),
            folder=folder,
        )

    def attribute(self, name: str) -> AttributeRecipe:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise RecipeError(
            "The recipe must describe the column", name, near(name, [a.name for a in self.attributes])
        )

    def with_source(self, path: str | Path) -> Recipe:
        """The same recipe for another file."""
        if not str(path):
            raise RecipeError("A source must be a path", "an empty name")
        source = {key: value for key, value in self.source.items() if key not in _OF_DATABASES}
        return replace(self, source={**source, "path": Path(path)})


def near(name: object, known: Collection[object]) -> str | None:
    """A hint for a name that is almost one of the known ones."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], 1)
    return f"Did you mean {close[0]!r}?" if close else None


# ---------------------------------------------------------------- the parts of a recipe


def _check_integers(content: object) -> None:
    """TOML's integers have 64 bits. Python's have as many as wanted, and floats made of those overflow."""
    open_ = [content]
    while open_:
        value = open_.pop()
        if isinstance(value, Mapping):
            open_ += value.values()
        elif isinstance(value, list):
            open_ += value
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise RecipeError("Every whole number of a recipe must fit in 64 bits", "a larger one")


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    body = content.get(name, {})
    if not isinstance(body, Mapping):
        raise RecipeError(f"[{name}] must be a section of the recipe", type(body).__name__)
    return body


def _known(body: Mapping[str, Any], known: Collection[str], what: str) -> None:
    for key in body:
        if key not in known:
            hint = near(key, known) or f"Known: {', '.join(sorted(known))}."
            raise RecipeError(f"Every key must be {what}", repr(key), hint)


def _choice(value: object, known: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise RecipeError(f"{what} must be one of {', '.join(known)}", repr(value))
    return value


def _number(body: Mapping[str, Any], key: str) -> float | None:
    value = body.get(key)
    if value is None:
        return None
    if not _is_number(value) or not math.isfinite(value):
        raise RecipeError(f"{key} must be a number", repr(value))
    found: float = value
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(body: Mapping[str, Any], key: str) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RecipeError(f"{key} must be a whole number of at least 1", repr(value))
    return value


def _flag(body: Mapping[str, Any], key: str, default: bool | None) -> Any:
    value = body.get(key, default)
    if value is not None and not isinstance(value, bool):
        raise RecipeError(f"{key} must be true or false", repr(value))
    return value


def _path(value: object, folder: Path, what: str) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise RecipeError(f"{what} must be a path", repr(value))
    return folder / value


def _source(body: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found = dict(body)
    if "path" in found:
        found["path"] = _path(found["path"], folder, "source.path")
    check_database_source(found)
    if "url" in found:
        found["url"] = connection_url(found["url"], "source.url", folder)
    for key in ("format", "delimiter", "encoding", "dataset"):
        if key in found and not isinstance(found[key], str):
            raise RecipeError(f"source.{key} must be text", repr(found[key]))
    missing = found.get("missing", [""])
    if not isinstance(missing, list) or not all(isinstance(m, str) for m in missing):
        raise RecipeError("source.missing must be a list of texts that stand for a missing value", repr(missing))
    return found


def _tables(value: object, known: set[str]) -> tuple[tuple[str, ...], ...]:
    fault = 'tables must be a list of lists of attributes, such as [["sex", "age"], ["income"]]'
    if not isinstance(value, list) or not all(isinstance(t, list) and t for t in value):
        raise RecipeError(fault, repr(value))
    for table in value:
        for name in table:
            if not isinstance(name, str):
                raise RecipeError(fault, repr(name))
            if name not in known:
                raise RecipeError("Every table must name attributes of the recipe", repr(name), near(name, known))
    return tuple(tuple(dict.fromkeys(table)) for table in value)


def _attribute(name: str, body: object, folder: Path) -> AttributeRecipe:
    where = f"attributes.{name}"
    if not isinstance(body, Mapping):
        raise RecipeError(f"[{where}] must be a section of the recipe", type(body).__name__)
    _known(body, ATTRIBUTE_KEYS, f"a key of [{where}]")
    if "role" not in body:
        raise RecipeError(f"[{where}] must state a role", "none", f"One of {', '.join(r.value for r in Role)}.")
    given = [key for key in ("domain", "bins", "hierarchy") if key in body]
    if len(given) > 1:
        raise RecipeError(f"[{where}] must state its domain one way", " and ".join(given))
    level = body.get("level", 0)
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise RecipeError(f"{where}.level must be a whole number from 0 on", repr(level))
    known = {"role", "domain", "bins", "hierarchy", "level", "missing", "randomise", "retention", "matrix"}
    domain = body.get("domain")
    return AttributeRecipe(
        name=name,
        role=Role.read(body["role"], name),
        values=_values(domain, where) if isinstance(domain, list) else None,
        from_data=_from_data(domain, where),
        bins=_bins(body.get("bins"), where),
        hierarchy=_path(body["hierarchy"], folder, f"{where}.hierarchy") if "hierarchy" in body else None,
        level=level,
        missing=_choice(body.get("missing", "auto"), MISSING_POLICIES, f"{where}.missing"),
        randomise=_flag(body, "randomise", None),
        retention=_number(body, "retention"),
        matrix=_matrix(body.get("matrix"), folder, where),
        options={key: value for key, value in body.items() if key not in known},
    )


def _values(values: list[Any], where: str) -> tuple[Any, ...]:
    if not values or not all(isinstance(v, str | int | float | bool) for v in values):
        raise RecipeError(f"{where}.domain must be a list of texts or numbers", repr(values)[:80])
    return tuple(values)


def _from_data(domain: object, where: str) -> bool:
    if domain is None or isinstance(domain, list):
        return False
    if domain != "from-data":
        raise RecipeError(f'{where}.domain must be a list of values or "from-data"', repr(domain))
    return True


def _bins(bins: object, where: str) -> tuple[float, ...] | None:
    if bins is None:
        return None
    good = isinstance(bins, list) and all(_is_number(b) for b in bins)
    if not good:
        raise RecipeError(f"{where}.bins must be a list of numbers", repr(bins)[:80])
    return tuple(bins)  # type: ignore[arg-type]


def _matrix(value: object, folder: Path, where: str) -> Path | tuple[tuple[float, ...], ...] | None:
    if value is None:
        return None
    if isinstance(value, list):
        if all(isinstance(row, list) and all(_is_number(x) for x in row) for row in value):
            return tuple(tuple(row) for row in value)
        raise RecipeError(f"{where}.matrix must be a path or a list of rows of numbers", "something else")
    return _path(value, folder, f"{where}.matrix")
