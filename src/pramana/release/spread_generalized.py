"""Method `generalize` on Spark: classes from counts of distinct rows, every row's class where it lies.

The search for the classes sees the combinations of quasi-identifying and sensitive values and how often each
occurs. It needs no more: which rows have them, and in what order, changes nothing of the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.engines import Combinations, ContentDigest, Progress, SparkEngine, SparkTable, combinations
from pramana.errors import RecipeError
from pramana.generalize import CLASS, cell_codes
from pramana.randomness import Key
from pramana.release.generalized import GeneralizedPlan, GeneralizeMethod, choose, columns_by_class, plan_of
from pramana.release.generalized_setting import read_setting
from pramana.release.method import Published
from pramana.release.resolve import is_randomised, published
from pramana.release.spread import SpreadTable
from pramana.release.streamed import Streamed
from pramana.schema import Attribute, AttributeRecipe, Domain, Recipe, Role
from pramana.sources import Table, TableWriter, numbers

_ALGORITHMS = ("incognito", "mondrian")  # whose classes are the same for rows in any order


@dataclass(frozen=True)
class SpreadGeneralizeMethod(GeneralizeMethod):
    """`generalize`, planned from what executors counted."""

    def randomised(self, attribute: AttributeRecipe) -> bool:
        return attribute.role is Role.QUASI_IDENTIFYING and is_randomised(attribute)

    def plan_streamed(self, recipe: Recipe, table: SpreadTable) -> SpreadGeneralizedPlan:
        if (algorithm := read_setting(recipe).algorithm) not in _ALGORITHMS:
            raise RecipeError(f"On Spark the algorithm must be {' or '.join(_ALGORITHMS)}", algorithm)
        rows = table.rows
        sensitive = [a.name for a in published(recipe) if a.role is Role.SENSITIVE]
        seen = dict(table.seen.columns)
        if sensitive:
            seen |= rows.survey(sensitive, sensitive).values
        chosen = choose(recipe, Table(seen, table.seen.records))
        table.settle(chosen.attributes)
        looked = [Attribute(s.name, Role.SENSITIVE, Domain(s.values, missing=s.missing)) for s in chosen.sensitive]
        found = combinations(rows, [*(q.attribute for q in chosen.quasi), *looked])
        codes = {q.name: found.repeated(q.name, q.attribute.coded.size) for q in chosen.quasi}
        secret = [found.repeated(s.name, s.size) for s in chosen.sensitive]
        plan = plan_of(recipe, chosen, rows.records, codes, secret)
        own = {f.name: getattr(plan, f.name) for f in fields(plan)}
        return SpreadGeneralizedPlan(**own, combinations=found)


@dataclass(frozen=True, eq=False)
class SpreadGeneralizedPlan(GeneralizedPlan):
    """A plan with the counts it was made from."""

    combinations: Combinations | None = field(default=None, repr=False)

    def stream(self, rows: SparkTable, key: Key, engine: SparkEngine, progress: Progress) -> StreamedCells:
        """The same bytes as `run`."""
        del engine
        assert self.combinations is not None
        assert self.made is not None
        quasi = [q.attribute for q in self.quasi]
        _, commitment = rows.commitments(key, [a.name for a in self.attributes if not a.raw])
        classifier = self.combinations.classifier(quasi, self.made.class_of)
        shown = (classifier.shown, *(a for a in self.attributes if a.raw))
        progress("generalising", 0, rows.records)
        blocks = rows.made(classifier, shown, key, self.context, self.shuffled)
        pieces = (dict(block.columns) for block in blocks)
        return StreamedCells(self.attributes, pieces, commitment, (), self, classifier.shown.name)


@dataclass(frozen=True)
class StreamedCells(Streamed):
    """Records of classes, in published order; each piece has the numbers of the classes and the other columns."""

    plan: GeneralizedPlan | None = None
    classes: str = ""

    def written(self, path: Path | BinaryIO, format: str) -> Published:  # noqa: A002 - the recipe's word
        assert self.plan is not None
        assert self.plan.made is not None
        cells, extra = columns_by_class(self.plan, self.plan.made)
        contents = {name: _CellContent(name, column) for name, column in cells.items()}
        digest = ContentDigest()
        writer: TableWriter | None = None
        for piece in self.pieces:
            class_of = piece.pop(self.classes).astype(np.int32)
            table = pa.table(dict(self._columns(cells, piece, class_of)))
            digest.update({name: content.codes(class_of) for name, content in contents.items()})
            if format == "parquet":
                digest.update(piece)
            writer = TableWriter(path, format, table.schema) if writer is None else writer
            writer.write(table)
        if writer is not None:
            writer.close()
        for content in contents.values():
            digest.update(content.cells())
        digest.parts = dict(sorted(digest.parts.items()))
        if isinstance(path, Path):
            for name, write in extra.items():
                write(path.parent / name)
        return Published(None, digest.hexdigest(), self.commitment)

    def _columns(self, cells: dict[str, Any], raw: dict[str, Any], class_of: Any) -> Iterator[tuple[str, Any]]:
        assert self.plan is not None
        places = numbers(class_of)
        if self.plan.by_class:
            yield CLASS, cells[CLASS].take(places)
        for a in self.attributes:
            if a.raw:
                yield a.name, raw[a.name]
            elif not self.plan.by_class:
                yield a.name, cells[a.name].take(places)


class _CellContent:
    """A column's cells for the digest: numbered as they appear, and told in that order at the end."""

    def __init__(self, name: str, column: Any) -> None:
        self.name, self.column = name, column
        self.alike: NDArray[Any] = cell_codes(column)[0]
        self.number = np.full(int(self.alike.max()) + 1, -1, np.int64)
        self.shown: list[int] = []  # a class of each cell

    def codes(self, class_of: NDArray[np.int32]) -> NDArray[np.uint32]:
        mine = self.alike[class_of]
        cells, first = np.unique(mine, return_index=True)
        new = self.number[cells] < 0
        for place in np.sort(first[new]).tolist():
            self.number[mine[place]] = len(self.shown)
            self.shown.append(int(class_of[place]))
        found: NDArray[np.uint32] = self.number[mine].astype(np.uint32)
        return found

    def cells(self) -> dict[str, Any]:
        listed = self.column.take(numbers(np.array(self.shown, np.int32))).to_pylist()
        text = json.dumps(listed, ensure_ascii=True)
        return {f"{self.name} cells": np.frombuffer(text.encode(), np.uint8)}
