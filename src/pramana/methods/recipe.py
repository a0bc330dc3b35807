"""Recipes: what a data holder writes. A recipe is read and checked before any data is touched."""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from pramana.errors import RecipeError, SchemaError
from pramana.files.atomic import regular_text
from pramana.files.locations import is_store_url, local_path, located, named_in
from pramana.schema.connection import check_database_source, connection_url, output_table
from pramana.schema.domain import Role
from pramana.schema.sections import (
    AboutSection,
    ColumnSection,
    LedgerSection,
    OutputSection,
    Setting,
    SourceSection,
    SurveySection,
)
from pramana.schema.typed import check_keys, keys_of, near, read_section
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.methods.protocol import Method


S = TypeVar("S", bound=Setting, covariant=True)
C = TypeVar("C", bound=ColumnSection, covariant=True)
T = TypeVar("T", bound=msgspec.Struct)
SECTION_TYPES: dict[str, type[msgspec.Struct]] = {  # of those that no method adds to
    "about": AboutSection,
    "source": SourceSection,
    "unit": UnitSection,
    "output": OutputSection,
    "ledger": LedgerSection,
    "survey": SurveySection,
}
SECTIONS = (*SECTION_TYPES, "release", "attributes")


@dataclass(frozen=True)
class Recipe(Generic[S, C]):
    """What to read, what to promise, what each column is, and how to write it.

    `Recipe.read` reads one from a TOML file, `Recipe.parse` from its sections.

    Args:
        release: The method and its parameters.
        attributes: What each column is.
        source: Where the table is.
        output: The form of the data.
        folder: What paths are relative to.
        about: What the holder says of the release.
        ledger: Where releases about the same people are added up.
        unit: Whose privacy is meant.
        survey: How the columns are asked of people.

    Raises:
        RecipeError: A section or key is unknown, or has a wrong value.
        SchemaError: A domain or hierarchy is wrong.

    >>> import pramana
    >>> sex = {"role": "quasi-identifying", "domain": ["F", "M"]}
    >>> pramana.Recipe.parse({"release": {"epsilon": 1.0}, "attributes": {"sex": sex}}).method
    'retention'
    """

    release: S
    attributes: Mapping[str, C]
    source: SourceSection = field(default_factory=SourceSection)
    output: OutputSection = field(default_factory=OutputSection)
    folder: Path = Path()
    about: AboutSection = field(default_factory=AboutSection)
    ledger: LedgerSection | None = None
    unit: UnitSection | None = None  # whose privacy is meant, where the recipe says so
    survey: SurveySection = field(default_factory=SurveySection)

    @property
    def method(self) -> str:
        return str(self.release.__struct_config__.tag)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables that recipients need most."""
        return tuple(tuple(dict.fromkeys(table)) for table in self.release.tables)

    @property
    def published(self) -> dict[str, C]:
        """The columns that reach the release; identifying ones are dropped before anything is read."""
        columns = {name: column for name, column in self.attributes.items() if column.role is not Role.IDENTIFYING}
        if not columns:
            raise RecipeError("A recipe must publish at least one column", "only identifying ones")
        return columns

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(name for name, column in self.attributes.items() if column.role is Role.IDENTIFYING)

    @classmethod
    def read(cls, recipe: str | Path | Mapping[str, Any]) -> AnyRecipe:
        """Read a recipe file, whose paths are relative to its folder; or what such a file would hold."""
        if isinstance(recipe, Mapping):
            return parse(recipe, Path())
        path = local_path(recipe, "The recipe", RecipeError)
        return parse(read_toml(path), path.parent)

    @classmethod
    def parse(cls, content: Mapping[str, Any], folder: Path = Path()) -> AnyRecipe:
        return parse(content, folder)

    def with_source(self, path: str | Path) -> Recipe[S, C]:
        """The same recipe for another file."""
        file = str(located(path, "A source", RecipeError))
        source = msgspec.structs.replace(self.source, path=file, url=None, query=None, table=None, schema=None)
        return replace(self, source=source)


AnyRecipe = Recipe[Setting, ColumnSection]  # of whatever method


def read_toml(path: Path) -> dict[str, Any]:
    try:
        text = regular_text(path)
    except UnicodeDecodeError:
        raise RecipeError(f"The recipe {path} must be UTF-8 text", "other bytes") from None
    except OSError as error:
        raise RecipeError(f"The recipe {path} must be readable", error.strerror) from None
    except ValueError:
        raise RecipeError("The recipe must be a file", "a name that no file can have") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"The recipe {path} must be valid TOML", str(error), _quoting(text, error)) from None
    except ValueError:  # Python's own limit on the digits of a number
        raise RecipeError(f"The recipe {path} must be valid TOML", "a number of too many digits") from None
    except RecursionError:
        raise RecipeError(f"The recipe {path} must be valid TOML", "deep nesting") from None


def _quoting(text: str, error: tomllib.TOMLDecodeError) -> str | None:
    """Names with blanks or letters beyond ASCII must stand in quotes in TOML; few people know."""
    words = str(error)
    number = words.partition("at line ")[2].partition(",")[0]
    line = text.splitlines()[int(number) - 1] if number.isdigit() and int(number) <= len(text.splitlines()) else ""
    key = line.partition("=")[0].strip().strip("[]")
    if key and '"' not in key and (not key.isascii() or " " in key):
        return 'A name with blanks or letters beyond a-z must stand in quotes: [attributes."my column"].'
    return None


def parse(content: Mapping[str, Any], folder: Path) -> AnyRecipe:
    """The typed recipe: a union by method, whose keys and types its folder in `methods/` states."""
    from pramana.methods.registry import method_named, name_of_method

    _check_numbers(content)
    check_keys(content, SECTIONS, "a section of a recipe")
    sections = {name: content.get(name, {}) for name in SECTIONS}
    for name, body in sections.items():
        if not isinstance(body, Mapping):
            raise RecipeError(f"[{name}] must be a section of the recipe", type(body).__name__)
    method = method_named(name_of_method(sections["release"]))
    source, output = source_of_section(sections["source"], folder), output_of(sections["output"], folder)
    if not sections["attributes"]:
        raise RecipeError("A recipe must describe at least one column", "no [attributes.NAME] section")
    setting = check_setting(sections["release"], method)
    columns = check_columns(sections["attributes"], method)
    for table in setting.tables:
        for name in table:
            if name not in columns:
                raise RecipeError(
                    "Every table must name attributes of the recipe", repr(name), near(name, columns)
                )
    ledger = ledger_of(sections["ledger"], folder) if "ledger" in content else None
    unit = unit_of(sections["unit"], columns, method) if "unit" in content else None
    return Recipe(
        setting,
        columns,
        source,
        output,
        folder,
        section_of(AboutSection, "about", sections["about"]),
        ledger,
        unit,
        section_of(SurveySection, "survey", sections["survey"]),
    )


def section_of(kind: type[T], name: str, body: Mapping[str, Any]) -> T:
    """A section of a recipe as its type."""
    check_keys(body, keys_of(kind), f"a key of [{name}]")
    return read_section(kind, body, f"[{name}]", prefix=f"{name}.")


@contextmanager
def naming(column: str) -> Iterator[None]:
    """Faults of a domain begin with the name of its column."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"{column}: {error.what}", error.got, error.hint) from None


def ledger_of(body: Mapping[str, Any], folder: Path) -> LedgerSection:
    from pramana.ledger.store import is_ledger_file  # few recipes have one

    section = section_of(LedgerSection, "ledger", body)
    if is_ledger_file(section.path):
        return msgspec.structs.replace(section, path=str(folder / section.path))
    return msgspec.structs.replace(section, path=connection_url(section.path, "ledger.path", folder))


def unit_of(body: Mapping[str, Any], columns: Mapping[str, ColumnSection], method: Method[S, C]) -> UnitSection:
    """[unit], held against the columns and the method, both of which may have no place for it."""
    section = section_of(UnitSection, "unit", body)
    for name in section.columns:
        if name in columns and columns[name].role is not Role.IDENTIFYING:
            raise RecipeError(
                f"The column {name!r} of [unit] must not be published",
                f"the role {columns[name].role.value!r}",
                'Give it the role "identifying": it would tell which rows are one person\'s.',
            )
    if section.several and not method.counts_people:
        raise RecipeError(
            f"With method {method.name!r} every row must be a person",
            "a [unit] of several rows",
            "It states no guarantee for several rows together: use retention, matrix, generalize or "
            "microaggregate, or release one row per person.",
        )
    return section


def check_setting(release: Mapping[str, Any], method: Method[S, C]) -> S:
    """[release] as the method has it; a key of another method is refused by name."""
    from pramana.methods.registry import keys_elsewhere

    known = keys_of(method.setting)
    for key in (key for key in release if key != "method" and key not in known):
        hint = near(key, known) or f"Known: {', '.join(sorted(known))}."
        if others := keys_elsewhere(key):
            whose = f"the method{'s' if len(others) > 1 else ''} {', '.join(others)}"
            hint = f"It is a key of {whose}; {method.name} makes no such promise and has no such setting."
        raise RecipeError(f"Every key must be a key of [release] with method {method.name!r}", repr(key), hint)
    return read_section(method.setting, {"method": method.name, **release}, "[release]", prefix="release.")


def check_columns(attributes: Mapping[str, Any], method: Method[S, C]) -> dict[str, C]:
    columns = {}
    for name, stated in attributes.items():
        where, body = f"attributes.{name}", stated
        if isinstance(body, Mapping):
            check_keys(body, keys_of(method.column), f"a key of [{where}] with method {method.name!r}")
            body = _with_written_dates(body)
        column = columns[name] = read_section(method.column, body, f"[{where}]", prefix=f"{where}.")
        if column.binning is not None:
            with naming(name):  # bins are public: what is wrong with them shows in the recipe alone
                column.binning.domain()
    return columns


def _with_written_dates(value: Any) -> Any:
    """Dates that TOML has as such, as the texts they are in a table."""
    if isinstance(value, Mapping):
        return {key: _with_written_dates(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_written_dates(part) for part in value]
    return value.isoformat() if type(value) is datetime.date else value


def source_of_section(body: Mapping[str, Any], folder: Path) -> SourceSection:
    section = section_of(SourceSection, "source", body)
    check_database_source(body)
    changes: dict[str, str] = {}
    if section.path is not None:
        changes["path"] = str(named_in(folder, section.path, "source.path"))
    if section.url is not None:
        if is_store_url(section.url):
            raise RecipeError("source.url must be that of a database", "one of a store", "Write it as path = ...")
        changes["url"] = connection_url(section.url, "source.url", folder)
    return msgspec.structs.replace(section, **changes)


def output_of(body: Mapping[str, Any], folder: Path) -> OutputSection:
    section = section_of(OutputSection, "output", body)
    return msgspec.structs.replace(section, **output_table(body, folder))


def _check_numbers(content: Mapping[str, Any]) -> None:
    """TOML's integers have 64 bits, and its floats know infinity: only edges of bins may be infinite."""
    open_: list[tuple[str, str, Any]] = [("", key, value) for key, value in content.items()]
    while open_:
        above, key, value = open_.pop()
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            open_ += [(f"{name}.", inner, item) for inner, item in value.items()]
        elif isinstance(value, list):
            open_ += [(above, key, item) for item in value]
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            digits = max(1, round(abs(value).bit_length() * math.log10(2)))  # Python refuses to write out too many
            raise RecipeError(f"{name} must be a number that fits in 64 bits", f"one of about {digits} digits")
        elif isinstance(value, float) and not math.isfinite(value) and key != "bins":
            raise RecipeError(f"{name} must be a finite number", repr(value))
