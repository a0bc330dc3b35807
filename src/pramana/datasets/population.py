"""A table of categorical codes with the labels they stand for, and the ways to hand it on."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, MissingExtraError
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import ONE, Codes, alias_table, code_dtype

if TYPE_CHECKING:
    import pyarrow as pa


MISSING = ""  # null in Arrow and in frames, an empty field in CSV; last in its domain
_CSV_ROWS = 1 << 20


@dataclass(frozen=True)
class Population:
    """Columns of small unsigned codes; `labels[c][codes[c][i]]` is the value of column c in row i."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: tuple[Codes, ...] = field(repr=False)
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.names) == len(set(self.names)) == len(self.labels) == len(self.codes):
            raise ValueError("names must differ, and each must have its labels and its codes")
        for name, labels, codes in zip(self.names, self.labels, self.codes, strict=True):
            if len(set(labels)) != len(labels) or MISSING in labels[:-1]:
                raise ValueError(f"labels of {name} must differ, a missing value last")
            if len(codes) != len(self.codes[0]) or codes.dtype.kind != "u":
                raise ValueError(f"codes of {name} must be unsigned and as many as the first column's")
            if len(codes) and int(codes.max()) >= len(labels):
                raise ValueError(f"codes of {name} must lie below {len(labels)}")
            codes.flags.writeable = False
        if not set(self.sensitive) <= set(self.names):
            raise ValueError("sensitive must name columns")

    def __len__(self) -> int:
        return len(self.codes[0]) if self.codes else 0

    @property
    def sizes(self) -> dict[str, int]:
        """How many categories each attribute has."""
        return {name: len(labels) for name, labels in zip(self.names, self.labels, strict=True)}

    def column(self, name: str) -> Codes:
        return self.codes[self._index(name)]

    def domain(self, name: str) -> tuple[str, ...]:
        return self.labels[self._index(name)]

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"The column must be one of {', '.join(self.names)}", name)
        return self.names.index(name)

    def select(self, names: Sequence[str]) -> Population:
        """Some of the columns, in the given order."""
        return Population(
            tuple(names),
            tuple(self.domain(name) for name in names),
            tuple(self.column(name) for name in names),
            tuple(name for name in self.sensitive if name in names),
        )

    def counts(self, names: Sequence[str]) -> dict[tuple[str, ...], int]:
        """How many people have each combination of values, zeros too."""
        shape = tuple(len(self.domain(name)) for name in names)
        joint = np.ravel_multi_index(tuple(self.column(name).astype(np.int64) for name in names), shape)
        table = np.bincount(joint, minlength=prod(shape)).tolist()
        return dict(zip(product(*(self.domain(name) for name in names)), table, strict=True))

    def to_arrow(self) -> pa.Table:
        """Dictionary columns over the codes themselves; the dictionary is the whole domain, in order."""
        import pyarrow as pa

        columns: list[Any] = []
        for labels, codes in zip(self.labels, self.codes, strict=True):
            indices: Any = pa.array(codes)
            if labels and labels[-1] == MISSING:
                gone = codes == len(labels) - 1
                indices = pa.array(np.where(gone, 0, codes).astype(codes.dtype), mask=gone)
                labels = labels[:-1]
            columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(labels, pa.string())))
        return pa.table(dict(zip(self.names, columns, strict=True)))

    def to_pandas(self) -> Any:
        """A pandas frame with categorical columns."""
        needs("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars frame with categorical columns."""
        needs("polars")
        import polars

        return polars.from_arrow(self.to_arrow())

    def write_parquet(self, path: str | Path) -> None:
        import pyarrow.parquet as pq

        with written_whole(path) as part:
            pq.write_table(self.to_arrow(), part)

    def write_csv(self, path: str | Path) -> None:
        import pyarrow as pa
        from pyarrow import csv

        table = self.to_arrow()
        schema = pa.schema([(name, pa.string()) for name in self.names])
        with written_whole(path) as part, csv.CSVWriter(part, schema) as writer:
            for start in range(0, len(self), _CSV_ROWS):  # labels are spelt out a million rows at a time
                writer.write_table(table.slice(start, _CSV_ROWS).cast(schema))

    def recipe_toml(
        self,
        source: str | Path,
        *,
        k: float | None = None,
        epsilon: float | None = None,
        method: str = "retention",
        coin: str = "attribute",
        output: str = "parquet",
    ) -> str:
        """A whole recipe for this population kept at `source`: every domain declared, none read from the data."""
        lines = ["[source]", f"path = {_quoted(str(source))}", "", "[release]", f"method = {_quoted(method)}"]
        lines += [f"{name} = {value}" for name, value in (("k", k), ("epsilon", epsilon)) if value is not None]
        lines += [f"coin = {_quoted(coin)}", "", self.attributes_toml(), "[output]", f"format = {_quoted(output)}"]
        return "\n".join(lines) + "\n"

    def attributes_toml(self) -> str:
        """The [attributes.*] sections of a recipe: role and declared domain of every column."""
        lines = []
        for name, labels in zip(self.names, self.labels, strict=True):
            role = "sensitive" if name in self.sensitive else "quasi-identifying"
            domain = ", ".join(_quoted(label) for label in labels)  # a recipe too writes missing as ""
            bare = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
            lines += [f"[attributes.{bare}]", f"role = {_quoted(role)}", f"domain = [{domain}]", ""]
        return "\n".join(lines)

    def write_recipe(self, path: str | Path, source: str | Path, **release: Any) -> None:
        """Write `recipe_toml(source, **release)`, whole or not at all."""
        text = self.recipe_toml(source, **release)
        with written_whole(path) as part:
            Path(part).write_text(text, "utf-8")


def needs(library: str) -> None:
    if find_spec(library) is None:
        raise MissingExtraError(f"{library} must be installed for this", hint=f"pip install {library}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML basic string


@contextmanager
def written_whole(path: str | Path, ending: str = ".part") -> Iterator[str]:
    """A place beside `path` to write to, renamed to `path` once all is written and removed if anything fails."""
    part = f"{path}.{os.getpid()}{ending}"
    try:
        yield part
        Path(part).replace(path)
    except OSError as error:
        raise InputError(f"{path} must be a writable file", error.strerror or type(error).__name__) from None
    finally:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)


# Populations drawn attribute by attribute: each from a table of laws chosen by the attributes drawn before
# it.
#
# A row is a pure function of (seed, row number): column c of row i reads word i of its own keyed stream. Any
# slice of rows can therefore be made alone, in any order and on any number of threads, and is the same. Laws
# are built in whole numbers from start to end, so the same seed gives the same population on every machine.


CHUNK = 1 << 16  # rows drawn at a time: words, conditions and codes of a chunk stay in a core's cache
MOST_CONDITIONS = 1 << 16
MOST_ROWS = 1 << 60  # a row number times eight must stay an offset of its stream


def law(weights: Sequence[int]) -> list[int]:
    """Whole-number weights scaled to sum to ONE exactly; what flooring leaves over goes to the heaviest."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError("weights must be whole numbers, none negative, and not all zero")
    scaled = [weight * ONE // total for weight in weights]
    scaled[max(range(len(scaled)), key=weights.__getitem__)] += ONE - sum(scaled)
    return scaled


def bell(size: int, centre: int, spread: int, scale: int = 1_000_000) -> list[int]:
    """A bell over 0 .. size-1, centre and spread in tenths of a step: 1 / (1 + z^2 + z^4), rational throughout."""
    fourth = spread**4
    distances = [10 * value - centre for value in range(size)]
    return [scale * fourth // (fourth + (spread * d) ** 2 + d**4) for d in distances]


@dataclass(frozen=True)
class Parent:
    """An earlier attribute that a law depends on, read whole or through `groups` (category -> group)."""

    name: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class ConditionalAttribute:
    """A name, its labels in order, and the weights of its categories given its parents' groups."""

    name: str
    labels: tuple[str, ...]
    parents: tuple[Parent, ...]
    weights: Callable[..., list[int]]


@dataclass(frozen=True)
class _Step:
    attribute: ConditionalAttribute
    conditions: tuple[int, ...]
    laws: NDArray[np.int64] = field(repr=False)
    table: NDArray[np.uint64] = field(repr=False)
    bits: int


@dataclass(frozen=True)
class Chain:
    """Attributes in the order they are drawn; `published` is the order of the columns."""

    name: str
    attributes: tuple[ConditionalAttribute, ...]
    published: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    steps: tuple[_Step, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known: dict[str, int] = {}
        steps = []
        for attribute in self.attributes:
            steps.append(_step(attribute, known))
            known[attribute.name] = len(attribute.labels)
        if sorted(self.published) != sorted(known):
            raise ValueError("published must name every attribute once")
        object.__setattr__(self, "steps", tuple(steps))

    def laws(self, name: str) -> NDArray[np.int64]:
        """The laws of an attribute, out of ONE: one axis per parent (its groups), the categories last."""
        step = next(step for step in self.steps if step.attribute.name == name)
        return step.laws.reshape(*step.conditions, -1)

    def draw(self, rows: int, seed: int, first: int, threads: int | None = None) -> Population:
        """Rows first .. first+rows-1 of the population of this seed."""
        _check_order(rows, seed, first, threads)
        key = Key.from_seed(seed)
        streams = [key.stream("dataset", self.name, step.attribute.name) for step in self.steps]
        try:
            codes = {a.name: np.empty(rows, code_dtype(len(a.labels))) for a in self.attributes}
        except MemoryError:
            hint = "Make it in parts with `first`."
            raise InputError("rows must be few enough for this machine's memory", str(rows), hint) from None
        # chunks begin at multiples of CHUNK of the whole population, so cutting never changes a word's place
        starts = [first, *range(first - first % CHUNK + CHUNK, first + rows, CHUNK)] if rows else []
        memory = threading.local()

        def fill(start: int) -> None:
            stop = min(start - start % CHUNK + CHUNK, first + rows)
            if not hasattr(memory, "words"):
                memory.words = np.empty(CHUNK, np.uint64)
            part = {name: column[start - first : stop - first] for name, column in codes.items()}
            self._fill(streams, start, part, memory.words[: stop - start])

        with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
            list(pool.map(fill, starts))
        labels = {a.name: a.labels for a in self.attributes}
        return Population(
            names=self.published,
            labels=tuple(labels[name] for name in self.published),
            codes=tuple(codes[name] for name in self.published),
            sensitive=self.sensitive,
        )

    def _fill(self, streams: list[Stream], start: int, part: dict[str, Codes], words: NDArray[np.uint64]) -> None:
        for stream, step in zip(streams, self.steps, strict=True):
            stream.fill(start, words)
            out = part[step.attribute.name]
            if len(step.laws) <= 1 << 8 * out.itemsize:
                condition = _condition(step, part, out.dtype.type, len(words))
                draw_from_table(words, condition, out, step.table, step.bits)
            else:
                condition = _condition(step, part, np.uint16, len(words))
                draw_from_table(words, condition, condition, step.table, step.bits)
                out[:] = condition


def _check_order(rows: int, seed: int, first: int, threads: int | None) -> None:
    least = {"rows": (rows, 0), "first": (first, 0), "threads": (1 if threads is None else threads, 1)}
    for what, (value, low) in least.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InputError(f"{what} must be a whole number, {low} or more", repr(value))
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError("seed must be a whole number", repr(seed))
    if first + rows > MOST_ROWS:
        raise InputError("The last row's number must be at most 2^60", f"{first + rows}")


def _condition(step: _Step, part: dict[str, Codes], dtype: type[np.unsignedinteger], rows: int) -> Codes:
    """The row of the step's table that each record reads: its parents' groups in mixed radix."""
    code = np.zeros(rows, dtype)
    for parent, size in zip(step.attribute.parents, step.conditions, strict=True):
        code *= dtype(size)
        values = part[parent.name]
        code += np.array(parent.groups, dtype)[values] if parent.groups else values
    return code


def _step(attribute: ConditionalAttribute, known: dict[str, int]) -> _Step:
    conditions = []
    for parent in attribute.parents:
        if parent.groups and len(parent.groups) != known[parent.name]:
            raise ValueError(f"the groups of {parent.name} must cover its {known[parent.name]} categories")
        conditions.append(max(parent.groups) + 1 if parent.groups else known[parent.name])
    if prod(conditions) > MOST_CONDITIONS:
        raise ValueError(f"{attribute.name} has too many conditions: read a parent through groups")
    rows = [law(attribute.weights(*at)) for at in product(*(range(size) for size in conditions))]
    if any(len(row) != len(attribute.labels) for row in rows):
        raise ValueError(f"{attribute.name} must have one weight for each of its {len(attribute.labels)} labels")
    laws = np.array(rows, np.int64)
    distinct, index = np.unique(laws, axis=0, return_inverse=True)
    table, bits = alias_table(distinct)
    whole = np.ascontiguousarray(table.reshape(len(distinct), -1)[index.reshape(-1)]).reshape(-1)
    return _Step(attribute, tuple(conditions), laws, whole, bits)
