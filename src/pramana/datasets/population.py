"""A table of categorical codes with the labels they stand for, and the ways to hand it on."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.errors import InputError, MissingExtraError
from pramana.randomness import Codes

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
        return self.codes[self._place(name)]

    def domain(self, name: str) -> tuple[str, ...]:
        return self.labels[self._place(name)]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"The column must be one of {', '.join(self.names)}", name)
        return self.names.index(name)

    def select(self, names: Sequence[str]) -> Population:
        """Some of the columns, in the given order."""
        places = [self._place(name) for name in names]
        return Population(
            tuple(names),
            tuple(self.labels[p] for p in places),
            tuple(self.codes[p] for p in places),
            tuple(name for name in self.sensitive if name in names),
        )

    def counts(self, names: Sequence[str]) -> dict[tuple[str, ...], int]:
        """How many people have each combination of values, zeros too."""
        shape = tuple(len(self.domain(name)) for name in names)
        joint = np.ravel_multi_index(tuple(self.column(name).astype(np.int64) for name in names), shape)
        table = np.bincount(joint, minlength=math.prod(shape)).tolist()
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
