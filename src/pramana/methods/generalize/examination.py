"""What `verify` counts again in published cells, piece by piece: the file need not fit in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec import UNSET
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check
from pramana.counting.value_counts import Risks, ValueCounts
from pramana.errors import BundleError, PramanaError
from pramana.io.codes import Encoder
from pramana.methods.cell_table import ShownCells, ShownColumn, published_types
from pramana.methods.columns import Quasi
from pramana.methods.generalize.measured import Measured
from pramana.methods.generalize.models import MODELS, PublishedClasses, agree, share_up
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.protocol import Examination, content_checks
from pramana.methods.published_cells import check_companion
from pramana.methods.sensitive import Sensitive
from pramana.methods.usefulness import worth_of_cells
from pramana.schema.domain import Domain

if TYPE_CHECKING:
    from pramana.methods.generalize.plan import GeneralizePlan

_NEEDS_PEOPLE = "stated, not checked: it needs the population (--source and --key)"
_SEARCHED = "stated, not checked: only the search itself can tell"


def examine_classes(bundle: Bundle, plan: GeneralizePlan) -> Examination:
    """k, l, t, risks and inferences counted again from the published file, and its content compared."""
    quasi, design, stated = plan.quasi, plan.design, plan.measured
    columns = shown_columns(quasi, design, plan.levels)
    shown = ShownCells(columns, bundle.certificate.output)
    pairs = {s.name: _ClassValues(s) for s in plan.sensitive}
    try:
        bundle.check_columns(published_types(plan.attributes, design.cells, stated.by_class))
        for piece in bundle.batches():
            class_of = shown.take(piece)
            for name, counting in pairs.items():
                counting.take(class_of, piece.column(name))
        content, sizes = shown.content(), shown.sizes
        counts = {name: counting.counts(sizes) for name, counting in pairs.items()}
        looks = check_companion(bundle, quasi, columns, shown) if stated.by_class else shown.looks(quasi)
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a generalised table"),))
    published = PublishedClasses(sizes, counts, {s.name: s.parents for s in plan.sensitive}, looks=looks)
    checks = [
        *content_checks(bundle, content, int(sizes.sum()), stated.records),
        _smallest(int(sizes.min()), stated),
        Check("classes counted again", len(sizes) == stated.classes, f"{len(sizes)} that look different"),
        *([] if stated.counted_unit else _inferences(counts, stated)),
        *_risks(sizes, stated),
        *([] if stated.counted_unit else _models(published, design, stated)),
        *_cells_counted(shown, quasi, stated),
    ]
    usefulness = worth_of_cells(looks, sizes, plan.of_source - plan.records, plan.tables, exact=design.exact_cells)
    return Examination(tuple(checks), usefulness=usefulness)


def _models(classes: PublishedClasses, design: GeneralizeDesign, stated: Measured) -> list[Check]:
    """Every model that was asked for, counted again, but for what needs the population."""
    checks = []
    for kind in MODELS[1:]:
        model, value = kind(design), stated.of_model(kind)
        missing = set(value) != set(classes.counts) if isinstance(value, dict) else value is None
        if model.asked and missing:
            checks.append(Check("models", False, f"{model.key} was asked for and is not stated"))
        elif model.asked:
            checks += model.checks(value, classes)
        elif value:
            checks.append(Check("models", False, f"{model.key} is stated and was not asked for"))
    if design.compares_people:
        checks.insert(0, Check("population", True, _NEEDS_PEOPLE, derived=False))
    return checks


def shown_columns(
    quasi: Sequence[Quasi], design: GeneralizeDesign, levels: Sequence[int] | None
) -> list[ShownColumn]:
    """What the published columns may say."""
    at = [None] * len(quasi) if levels is None else levels
    return [
        ShownColumn.of(q, design.cells, level, topped=design.suppress == "cells")
        for q, level in zip(quasi, at, strict=True)
    ]


def _cells_counted(shown: ShownCells, quasi: Sequence[Quasi], stated: Measured) -> list[Check]:
    """How many records show the top of a column that is published at a lower level."""
    if stated.cells is None:
        return []
    counted = {}
    for number, q in enumerate(quasi):
        top = shown.cells[q.name].get(json.dumps(q.labels[-1][0], ensure_ascii=True), -1)
        counted[q.name] = int(shown.sizes[[line[number] == top for line in shown.numbers]].sum())
    by_column = stated.cells.by_column
    at_top = {name for name, count in counted.items() if count == shown.records and by_column.get(name) == 0}
    same = by_column.keys() == counted.keys() and all(
        counted[n] == by_column[n] for n in counted if n not in at_top
    )
    return [Check("suppressed cells counted again", same, f"{sum(by_column.values())} in all")]


def _smallest(k: int, stated: Measured) -> Check:
    """The records of the smallest class; how many people they are of, only the source can tell."""
    if stated.fewest_records is UNSET:
        return Check("k counted again", k == stated.k, f"{k} records in the smallest class")
    right = k == stated.fewest_records and stated.k <= k
    return Check("records of the smallest class counted again", right, f"{k}")


class _ClassValues:
    """How often each pair of a class and a sensitive value occurs, fed in pieces."""

    def __init__(self, column: Sensitive) -> None:
        self.column = column
        self.encoder = Encoder(Domain(column.values, missing=column.missing), column.name)
        self.keys, self.times = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def take(self, class_of: NDArray[np.int64], values: pa.Array) -> None:
        joint = class_of * self.column.size + self.encoder.encode(values)
        keys, index = np.unique(np.concatenate([self.keys, joint]), return_inverse=True)
        weights = np.concatenate([self.times, np.ones(len(joint), np.int64)])
        self.times = np.bincount(index, weights, len(keys)).astype(np.int64)
        self.keys = keys

    def counts(self, sizes: NDArray[np.int64]) -> ValueCounts:
        self.encoder.finish()
        class_of, value = np.divmod(self.keys, self.column.size)
        if self.column.parents is None and len(np.unique(value)) != self.column.size:
            raise BundleError(
                f"The certificate must list the values of {self.column.name!r} that occur",
                f"{self.column.size} values, of which {len(np.unique(value))} occur",
            )
        times, all_sizes = self.times.astype(np.float64), sizes.astype(np.float64)
        return ValueCounts(class_of, value, times, all_sizes, self.column.size)


def _inferences(counts: Mapping[str, ValueCounts], stated: Measured) -> list[Check]:
    """How sure of a person's value someone who knows their class can be."""
    checks = []
    if set(stated.inferred) != set(counts) or set(stated.single_valued) != set(counts):
        checks.append(Check("inferences", False, "not stated for every sensitive column, or for others"))
    for name, counted in counts.items():
        share = share_up(counted.largest_share)
        same = agree(share, stated.inferred.get(name)) and counted.single_valued == stated.single_valued.get(name)
        checks.append(Check(f"what can be inferred of {name} counted again", same, f"up to {share:.10g}"))
    return checks


def _risks(sizes: NDArray[np.int64], stated: Measured) -> list[Check]:
    """Without a population the risks follow from the classes; the loss and the search only the source can tell."""
    checks = [Check("loss and search", True, _SEARCHED, derived=False)]
    if stated.counted_unit is not None:
        detail = "k, l, t and risks are stated, not checked: only the source tells whose a row is"
        return [*checks, Check("people", True, detail, derived=False)]
    if stated.journalist is not None:
        detail = "stated, not checked: it needs the population"
        return [*checks, Check("risks", True, detail, derived=False)]
    risks = Risks.of(sizes.astype(np.uint32))
    same = agree(risks.prosecutor, stated.prosecutor) and agree(risks.marketer, stated.marketer)
    return [*checks, Check("risks counted again", same, f"at most {risks.prosecutor:.10g} for a record")]
