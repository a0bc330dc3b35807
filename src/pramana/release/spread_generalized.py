"""Method `generalize` on Spark: classes from counts of distinct rows, every row's class where it lies.

The search for the classes sees the combinations of quasi-identifying and sensitive values and how often each
occurs. It needs no more: which rows have them, and in what order, changes nothing of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.randomness import Key, code_dtype
from pramana.release.generalized import (
    Chosen,
    GeneralizedPlan,
    GeneralizeMethod,
    choose,
    columns_by_class,
    plan_made,
    plan_of,
)
from pramana.release.generalized_columns import Sensitive
from pramana.release.generalized_measured import InClasses
from pramana.release.generalized_search import Lines, solve_lines
from pramana.release.generalized_setting import read_setting
from pramana.release.generalized_streamed import CLASS_NUMBER, CellTable, StreamedCells
from pramana.release.resolve import published
from pramana.rows import Combinations, Progress, combinations
from pramana.schema import Attribute, Domain, Recipe, Role
from pramana.sources import Table

_ALGORITHMS = ("incognito", "mondrian")  # whose classes are the same for rows in any order
ClassOf = NDArray[np.int32]  # of each combination that occurs, -1 where its rows are suppressed


@dataclass(frozen=True)
class SpreadGeneralizeMethod(GeneralizeMethod):
    """`generalize`, planned from what executors counted."""

    def plan_streamed(self, recipe: Recipe, table: Any) -> SpreadGeneralizedPlan:
        """`table` is a SpreadTable."""
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
        make = _by_counts if algorithm == "incognito" else _by_rows
        plan, mine = make(recipe, chosen, rows.records, found)
        own = {f.name: getattr(plan, f.name) for f in fields(plan)}
        return SpreadGeneralizedPlan(**own, combinations=found, class_of=mine)


def _by_counts(
    recipe: Recipe, chosen: Chosen, records: int, found: Combinations
) -> tuple[GeneralizedPlan, ClassOf]:
    """A full-domain generalisation rolls the counts up; no row is held."""
    quasi = [q.name for q in chosen.quasi]
    sizes = {q.name: q.attribute.coded.size for q in chosen.quasi} | {s.name: s.size for s in chosen.sensitive}

    def lines(names: list[str]) -> Lines:
        codes, times = found.summed({name: sizes[name] for name in names})
        return Lines(codes, times)

    looked: list[tuple[Sensitive, Lines]] = []
    if chosen.setting.looks_at_sensitive:
        looked = [(s, lines([*quasi, s.name])) for s in chosen.sensitive]
    made = solve_lines(chosen.setting, chosen.quasi, lines(quasi), looked, chosen.levels)
    number = made.finder.find([found.codes[name] for name in quasi]).astype(np.int32)
    mine: ClassOf = np.where(number == made.classes, np.int32(-1), number).astype(np.int32)
    times = found.counts.astype(np.uint32)

    def held() -> list[InClasses]:
        return [InClasses(mine, found.codes[s.name].astype(code_dtype(s.size)), times) for s in chosen.sensitive]

    return plan_made(recipe, chosen, records, made, held), mine


def _by_rows(recipe: Recipe, chosen: Chosen, records: int, found: Combinations) -> tuple[GeneralizedPlan, ClassOf]:
    """Mondrian cuts rows: the driver holds their codes, and nothing else of them."""
    codes = {q.name: found.repeated(q.name, q.attribute.coded.size) for q in chosen.quasi}
    secret = [found.repeated(s.name, s.size) for s in chosen.sensitive]
    plan = plan_of(recipe, chosen, records, codes, secret)
    assert plan.made is not None
    return plan, found.once(plan.made.class_of)


@dataclass(frozen=True, eq=False)
class SpreadGeneralizedPlan(GeneralizedPlan):
    """A plan with the combinations it was made from, and the class of each."""

    combinations: Combinations | None = field(default=None, repr=False)
    class_of: ClassOf | None = field(default=None, repr=False)

    def stream(self, rows: Any, key: Key, engine: Any, progress: Progress) -> StreamedCells:
        """The same bytes as `run`; `rows` is a SparkTable."""
        del engine
        assert self.combinations is not None
        assert self.class_of is not None
        assert self.made is not None
        quasi = [q.attribute for q in self.quasi]
        _, commitment = rows.commitments(key, [a.name for a in self.attributes if not a.raw])
        classifier = self.combinations.classifier(quasi, self.class_of)
        shown = (classifier.shown, *(a for a in self.attributes if a.raw))
        progress("generalising", 0, rows.records)
        blocks = rows.made(classifier, shown, key, self.context, self.shuffled)
        pieces = ({CLASS_NUMBER: b.columns[classifier.shown.name], **b.columns} for b in blocks)
        cells, extra = columns_by_class(self, self.made)
        table = CellTable(self.attributes, cells, self.by_class, self.output)
        return StreamedCells(
            self.attributes, pieces, commitment, cells=table, classes=self.made.classes, extra=extra
        )
