"""The companion of a CSV with cells by class, read back strictly: class, attribute, value and weight."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from pramana.bundle import Bundle, own_file
from pramana.calibration import CellLook
from pramana.errors import BundleError
from pramana.generalize import CLASS, COMPANION, Cells, companion
from pramana.methods.cell_table import ShownCells, ShownColumn, look_of
from pramana.methods.quasi import Quasi
from pramana.sources import digest_of_written, unescaped, write_table
from pramana.stores import open_regular

_TYPES = {CLASS: pa.int64(), "attribute": pa.string(), "value": pa.string(), "weight": pa.int64()}


def read_companion(path: Path, quasi: Sequence[Quasi], escaped: bool) -> list[Cells]:
    """The cells of every class, by quasi-identifier; a file that is not just as it is written is refused."""
    try:
        lines = pacsv.read_csv(own_file(path), convert_options=pacsv.ConvertOptions(column_types=_TYPES))
        if escaped:
            texts = {name: unescaped(lines[name]) for name in ("attribute", "value")}
            lines = pa.table({name: texts.get(name, lines[name]) for name in lines.column_names})
        cells = [_cells_of(lines, q) for q in quasi]
        again = companion(
            {q.name: c for q, c in zip(quasi, cells, strict=True)}, {q.name: q.leaf_labels for q in quasi}
        )
        same = digest_of_written(lambda sink: write_table(again, sink, "csv", escaped)) == _digest(path)
    except (KeyError, ValueError, TypeError, OSError, pa.ArrowException):
        same = False
    if not same or len({len(c) for c in cells}) != 1:
        raise BundleError(f"{path.name} must tell the cells of every class, one way", "something else")
    return cells


def check_companion(
    bundle: Bundle, quasi: Sequence[Quasi], columns: Sequence[ShownColumn], shown: ShownCells
) -> dict[str, CellLook]:
    """The classes that rows are in are those whose cells are told, and the cells are of their domains.

    Returned is what each class of `shown` looks like.
    """
    cells = read_companion(bundle.path / COMPANION, quasi, bundle.certificate.escaped)
    for column, told in zip(columns, cells, strict=True):
        column.check_cells(told)
    classes = len(cells[0])
    if {int(json.loads(number)) for number in shown.cells.get(CLASS, {})} != set(range(classes)):
        raise BundleError(f"The classes of the rows must be those of {COMPANION}", "others")
    order = np.array([int(json.loads(number)) for number in shown.cells[CLASS]], np.int64)
    return {q.name: look_of(told.select(order)) for q, told in zip(quasi, cells, strict=True)}


def _cells_of(lines: pa.Table, quasi: Quasi) -> Cells:
    here = lines.filter(pc.equal(lines["attribute"], quasi.name))
    code = {leaf: i for i, leaf in enumerate(quasi.leaf_labels)}
    values = np.array([code[v] for v in here["value"].to_pylist()], np.int64)
    number, weights = here[CLASS].to_numpy(), here["weight"].to_numpy()
    joint = number * len(code) + values
    if len(here) == 0 or number[0] != 0 or number[-1] >= len(number) or not (np.diff(joint) > 0).all():
        raise ValueError("lines out of order, or a class that is not there")
    if (weights < 1).any():
        raise ValueError("a weight that is none")
    first = np.concatenate([[0], np.cumsum(np.bincount(number))])
    if (np.diff(first) == 0).any():
        raise ValueError("a class without a value")
    return Cells(len(code), first, values, weights)


def _digest(path: Path) -> str:
    with open_regular(path, follow=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
