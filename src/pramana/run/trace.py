"""Which source row every published row was: the release made once more by its holder, with its rows numbered.

For audits alone, at the holder's: what is retraced is what the key hides, and goes into no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError, KeyFileError
from pramana.io.codes import encode
from pramana.mechanisms.table import Mechanism
from pramana.methods.protocol import Plan, Publication
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import Columns, Draw, Rows
from pramana.run.config import ExecutionConfig, certified_source
from pramana.run.run import Run
from pramana.run.write import file_entry

_ROW = "\0source row"  # a column under a name that no column of a source has, and no method's own


@dataclass(frozen=True, eq=False)
class Retraced:
    """The true table in codes, the law it went through, and the source row of every published row.

    `same` says whether the bundle's rows are those that source and key make; if not, `order` is that of the
    release as it should have been.
    """

    bundle: Bundle
    plan: Plan
    true: Mapping[str, Codes]
    mechanism: Mechanism
    context: str  # what coins and order are bound to besides the key
    order: NDArray[np.int64]
    table: pa.Table  # as it should have been published
    same: bool

    @property
    def records(self) -> int:
        return len(self.order)


def retraced(bundle: str | Path | Bundle, source: object, key: Key | str | Path) -> Retraced:
    """Make a bundle's data again from its source and key, all in memory, and keep track of the rows."""
    opened = Bundle.open(bundle)
    certificate = opened.certificate
    if certificate.on_devices:
        raise BundleError(
            "Attacks must know the true rows to say whether they were right",
            "records that people randomised on their own devices",
            "Audit a release of the same recipe on a generated table instead.",
        )
    secret = key if isinstance(key, Key) else Key.read(key)
    if certificate.key is None or secret.commitment() != certificate.key.get("commitment"):
        raise KeyFileError("The key must be the one of this release", "the key of another release")
    read = certified_source(source, certificate)
    plan = restore(certificate).beside(read.path)
    config = ExecutionConfig(folder=opened.path.absolute().parent)
    with Run.of_plan(plan, certificate.method, read, secret, config) as run:
        rows = NumberedRows.of(run.rows.whole())
        run = replace(run, rows=rows)
        run.check_records()
        opened.check_bounds(rows.records)  # nothing of the file was read so far
        rows.encode(plan.attributes)
        true = rows.codes({a.name: a.coded.size for a in plan.attributes if not a.raw})
        publication = run.publish(plan)
        table, order = _drawn_again(publication, rows.published)
        content = publication.table.content()
    mechanism, context = rows.through[-1]
    name = opened.data_path.name
    certified = certificate.parts is None and file_entry(opened.data_path) == certificate.files.get(name)
    same = (certified and content == certificate.content) or _same_rows(opened, table)
    return Retraced(opened, plan, true, mechanism, context, order, table, same)


def coded_as_certified(bundle: str | Path, source: object, names: Sequence[str] | None = None) -> dict[str, Codes]:
    """Another table in the codes of a bundle's columns, or some of them, read as the source was."""
    certificate = Bundle.open(bundle).certificate
    read = certified_source(source, certificate)
    coded = [a for a in certificate.attributes if not a.raw and (names is None or a.name in names)]
    table = read.read([a.name for a in coded])
    return {a.name: encode(table.column(a.name), a.coded, a.name) for a in coded}


def _drawn_again(publication: Publication, published: list[Codes]) -> tuple[pa.Table, NDArray[np.int64]]:
    """The published table, and the source row of each of its rows."""
    tables, order = [], []
    for columns in publication.pieces():
        tables.append(publication.table.table(columns))
        order.append(_without_suppressed(published.pop(), columns, tables[-1].num_rows))
    return pa.concat_tables(tables), np.concatenate(order)


def _same_rows(bundle: Bundle, table: pa.Table) -> bool:
    """Whether a file that is not as it was certified has the rows all the same, by what is written in them."""
    published = pa.Table.from_batches(bundle.batches())
    if published.column_names != table.column_names or published.num_rows != table.num_rows:
        return False
    numbers = {field.name for field in table.schema if pa.types.is_floating(field.type)}
    return all(
        _texts(published.column(name), name in numbers) == _texts(table.column(name), name in numbers)
        for name in table.column_names
    )


def _texts(column: pa.ChunkedArray, numbers: bool) -> list[str]:
    """What is written, cell by cell; 2 and 2.0 are the same number."""
    cells = column.to_pylist()
    if not numbers:
        return [str(cell) for cell in cells]
    try:
        return [str(cell if cell is None else float(cell)) for cell in cells]
    except ValueError:
        return [str(cell) for cell in cells]


def _without_suppressed(numbers: Codes, columns: Columns, count: int) -> NDArray[np.int64]:
    """Without the rows that are suppressed, which are those in the class after the last."""
    if count == len(numbers):
        return numbers.astype(np.int64)
    hidden = [column for name, column in columns.items() if name.startswith("\0")]
    [class_of] = hidden
    return np.asarray(numbers[class_of < np.sort(class_of)[count]], np.int64)


class NumberedRows(MemoryRows):
    """Rows in memory that are published with their numbers beside them."""

    published: list[Codes]  # the numbers of the piece that was published last
    through: list[tuple[Mechanism, str]]  # the mechanism they went through, and what its coins were bound to
    _numbers: Codes

    @classmethod
    def of(cls, rows: object) -> NumberedRows:
        """Around rows in memory, whose state is shared and not copied."""
        if not isinstance(rows, MemoryRows):
            raise BundleError("A release is audited where its table fits into memory", "a larger one")
        numbered = cls.__new__(cls)
        vars(numbered).update(vars(rows))
        numbered.published, numbered.through = [], []
        numbered._numbers = np.arange(rows.records, dtype=np.uint32)
        return numbered

    def publish(self, draw: Draw) -> Iterator[Columns]:
        self.through.append((draw.mechanism, draw.context))
        self.attach(_ROW, self._numbers)
        for columns in super().publish(replace(draw, names=(*draw.names, _ROW))):
            self.published.append(columns.pop(_ROW))
            yield columns

    def only(self, kept: NDArray[np.bool_]) -> Rows:
        fewer = NumberedRows.of(super().only(kept))
        fewer._numbers = self._numbers[kept]
        fewer.published, fewer.through = self.published, self.through
        return fewer
