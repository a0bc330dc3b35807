"""`pramana inspect`: what each column of a table is, and the risk today. The holder's own view."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, SourceError
from pramana.files.atomic import write_all
from pramana.files.locations import located
from pramana.holder.guesses import Guess, Look, guess_of
from pramana.holder.risk import TableRisk, risk_of
from pramana.holder.values import ColumnValues
from pramana.io.source import Source
from pramana.randomness.samplers import available_cores
from pramana.schema.domain import Role
from pramana.schema.typed import near

NOTICE = "The holder's own view of a private table: it is not protected, and not for publication."
DEFAULT_K = 5
MOST_GUESSED = 8  # quasi-identifiers in a guess; with more everyone is unique, which tells nothing
_NO_RISK = {"columns": [], "k": DEFAULT_K, "uniques": 0, "below_k": 0}  # on no columns everyone looks alike
_SHOWN = 10  # values of a column that are shown
_BARS = 12  # of a column's picture


@dataclass(frozen=True)
class ColumnReport:
    """What is said of one column. `values` and `codes` are empty unless values were asked for."""

    name: str
    kind: str
    role: str
    reason: str
    distinct: int
    missing: int
    notes: tuple[str, ...] = ()
    suspected_codes: int = 0  # distinct values that look as if they stood for a missing one
    suspected_rows: int = 0
    values: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()  # rows by bins of a number, or by its commonest values: a small picture

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "role": self.role,
            "reason": self.reason,
            "distinct": self.distinct,
            "missing": self.missing,
            "notes": list(self.notes),
            "suspected_missing": {"codes": self.suspected_codes, "rows": self.suspected_rows},
        }
        if self.values:
            content["values"] = list(self.values)
        if self.codes:
            content["suspected_missing"]["values"] = list(self.codes)
        return content


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found."""

    source: str
    records: int
    columns: tuple[ColumnReport, ...]
    repeated_identifiers: tuple[str, ...]
    guessed: bool  # whether the quasi-identifiers are a guess
    risk: TableRisk | None

    def to_json(self) -> dict[str, Any]:
        return {
            "notice": NOTICE,
            "records": self.records,
            "columns": [column.to_json() for column in self.columns],
            "repeated_identifiers": list(self.repeated_identifiers),
            "quasi_identifiers_guessed": self.guessed,
            "risk": _NO_RISK if self.risk is None else self.risk.to_json(),
        }

    def lines(self) -> list[str]:
        """In words, for a screen."""
        from pramana.holder.inspection_page import lines_of

        return lines_of(self)

    def html(self) -> str:
        """As one page, marked as not for release."""
        from pramana.holder.inspection_page import page_of
        from pramana.pages.rendering import html_of

        return html_of(page_of(self))

    def write_html(self, path: Path) -> None:
        """Write the page to a new file that its owner alone can read."""
        write_all({path: self.html()}, mode=0o600)


@dataclass(frozen=True, eq=False)
class Examined:
    """A table that was read, with every column looked at and guessed."""

    looks: tuple[Look, ...]
    guesses: Mapping[str, Guess]

    @property
    def records(self) -> int:
        return self.looks[0].column.records

    def look(self, name: str) -> Look:
        return next(look for look in self.looks if look.name == name)

    def check_has(self, name: str, must: str) -> None:
        """Refuse a name that is no column's."""
        if name not in self.guesses:
            raise InputError(must, repr(name), near(name, list(self.guesses)))

    @property
    def repeated(self) -> tuple[str, ...]:
        return tuple(look.name for look in self.looks if look.is_repeated_identifier)

    def guessed_quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers to look at: those that values and names agree on first, in the table's order."""
        known = [n for n, guess in self.guesses.items() if guess.role is Role.QUASI_IDENTIFYING]
        firm = [name for name in known if self.guesses[name].firm]
        chosen = {*firm[:MOST_GUESSED], *[n for n in known if n not in firm][: max(0, MOST_GUESSED - len(firm))]}
        return tuple(name for name in known if name in chosen)


def source_for(data: Any, encoding: str | None = None, delimiter: str | None = None) -> Source:
    """The table that a path or a data frame is, or what [source] of a recipe says."""
    if not isinstance(data, str | os.PathLike | Mapping):
        return Source(frame=data)
    options: dict[str, Any] = dict(data) if isinstance(data, Mapping) else {"path": data}
    stated = {"encoding": encoding, "delimiter": delimiter}
    return Source.from_options(options | {key: value for key, value in stated.items() if value is not None})


def examine(source: Source) -> Examined:
    """Read every column and look at it."""
    table = source.read()
    if not table.columns:
        raise SourceError("A table must have at least one column", "none")

    def looked_at(name: str) -> tuple[Look, Guess]:
        look = Look(ColumnValues.of(name, table.column(name)))
        return look, guess_of(look)

    with ThreadPoolExecutor(available_cores()) as pool:
        looks = list(pool.map(looked_at, table.columns))
    return Examined(tuple(look for look, _ in looks), {look.name: guess for look, guess in looks})


def inspect(
    data: Any,
    *,
    quasi: Sequence[str] | None = None,
    weight: str | None = None,
    population: int | None = None,
    k: int = DEFAULT_K,
    encoding: str | None = None,
    delimiter: str | None = None,
    show_values: bool = False,
) -> Inspection:
    """What each column of a table is, and the risk as it stands.

    What comes back is the holder's own view: it counts the private table.

    Args:
        data: A path, a data frame, or what [source] of a recipe says.
        quasi: The columns an intruder may know; without them, they are guessed.
        weight: A column of sampling weights.
        population: The number of people whom the table is a sample of.
        k: The size below which a class of records that look alike counts as small.
        encoding: Of a CSV file, where it is not recognised.
        delimiter: Of a CSV file, likewise.
        show_values: Let the result show values of the table.

    Returns:
        The columns with their kinds and guessed roles, and the risk.

    Raises:
        SourceError: The table cannot be read.
        InputError: A column is not in the table, or a number is out of its range.

    >>> import pramana
    >>> table = pramana.datasets.census(500, seed=1).to_arrow()
    >>> pramana.inspect(table, quasi=["sex", "age"]).records
    500
    """
    if k < 2:
        raise InputError("k must be a whole number of at least 2", str(k))
    if weight is not None and population is not None:
        raise InputError("A weight or the size of the population must be stated", "both")
    examined = examine(source_for(data, encoding, delimiter))
    named = examined.guessed_quasi()
    if quasi is not None:
        check_named(quasi)
        for name in quasi:
            examined.check_has(name, "Every quasi-identifying column must be one of the table")
        named = tuple(quasi)
    weights = None if weight is None else _weights(weight, examined)
    columns = [examined.look(name).column for name in named]
    return Inspection(
        source=located(data).name if isinstance(data, str | os.PathLike) else "a data frame",
        records=examined.records,
        columns=tuple(_report(look, examined.guesses[look.name], show_values) for look in examined.looks),
        repeated_identifiers=examined.repeated,
        guessed=quasi is None,
        risk=risk_of(columns, k, weights, population) if columns else None,
    )


def check_named(quasi: Sequence[str]) -> None:
    """Refuse a list of quasi-identifying columns that is empty, or has one twice."""
    if not quasi:
        raise InputError("At least one quasi-identifying column must be named", "none")
    if twice := [name for i, name in enumerate(quasi) if name in quasi[:i]]:
        raise InputError("Every quasi-identifying column must be named once", f"{twice[0]!r} twice")


def _weights(name: str, examined: Examined) -> NDArray[np.float64]:
    examined.check_has(name, "The weight must be a column of the table")
    look = examined.look(name)
    if look.form.numbers is None or look.form.words.any() or look.column.missing:
        raise InputError(f"The weight {name!r} must be a number in every row", "rows without one")
    return np.asarray(look.form.numbers[look.column.codes], np.float64)


def _report(look: Look, guess: Guess, show_values: bool) -> ColumnReport:
    column, suspected = look.column, look.suspected
    shown: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    if show_values and column.distinct:
        texts = np.array(column.texts(), object)
        order = np.argsort(-column.counts, kind="stable")[:_SHOWN]
        shown, codes = tuple(texts[order]), tuple(texts[suspected])[:_SHOWN]
    return ColumnReport(
        name=look.name,
        kind=guess.kind,
        role=guess.role.value,
        reason=guess.reason,
        distinct=column.distinct,
        missing=column.missing,
        notes=guess.notes,
        suspected_codes=int(suspected.sum()),
        suspected_rows=int(column.counts[suspected].sum()),
        values=shown,
        codes=codes,
        shape=_shape(look),
    )


def _shape(look: Look) -> tuple[int, ...]:
    """How rows spread over bins of equal width, or over the commonest values."""
    column = look.column
    if look.form.kind == "number" and column.distinct > _BARS and len(look.valid):
        heights, _ = np.histogram(look.valid, _BARS, weights=column.counts[~look.suspected])
        return tuple(int(height) for height in heights)
    return tuple(int(count) for count in -np.sort(-column.counts)[:_BARS])
