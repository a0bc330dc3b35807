"""Sums over all rows of what a method makes of some columns: executors add up their runs, the driver the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic

from pramana.errors import SourceError
from pramana.rows.protocol import Columns, S
from pramana.rows.spark.blocks import DerivedColumn, Encoding
from pramana.rows.spark.steps import Seal, Tables
from pramana.schema import Attribute


@dataclass(frozen=True)
class SumReport(Generic[S]):
    """A run: its rows, and the sum of them, of one piece or none where there are no rows."""

    rows: int
    total: tuple[S, ...]


@dataclass(frozen=True)
class SumRun(Generic[S]):
    """Have some columns of a run, coded or derived or as they are, worked on block by block, and add up."""

    attributes: tuple[Attribute, ...]
    shown: tuple[str, ...]
    summand: Callable[[Columns], S]
    seal: Seal
    derived: tuple[DerivedColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding = Encoding(self.attributes, derived=self.derived)
        count, total = 0, list[S]()
        for first, table in rows:
            block = encoding.block(first, table)
            if encoding.faults:  # refused before, when the source was digested
                raise SourceError("A source must stay as it is while it is read", "values outside its domains")
            columns = {**block.columns, **block.derived}
            own = self.summand({name: columns[name] for name in self.shown})
            total = [total[0] + own] if total else [own]
            count += block.rows
        yield SumReport(count, tuple(total))
