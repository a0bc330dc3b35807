"""Releases on Spark: planned from what the executors saw, drawn where the rows are, written by the driver."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from pramana.errors import RecipeError
from pramana.randomness import Key
from pramana.release.invariant_law import stratum_domain, stratum_of
from pramana.release.invariant_setting import InvariantSetting
from pramana.release.resolve import published, resolve
from pramana.release.streamed import Streaming
from pramana.rows import Progress, SparkEngine, SparkTable, stratify
from pramana.schema import Attribute, AttributeRecipe, Recipe
from pramana.sources import Source, Table, texts


@dataclass
class SpreadTable:
    """A source that lies in many pieces. `seen` holds the values that occur, once each, where planning asks."""

    rows: SparkTable
    seen: Table

    def settle(self, attributes: Iterable[Attribute]) -> None:
        """Every domain is known now."""
        self.rows.attributes = tuple(attributes)


@contextlib.contextmanager
def read_spread(
    recipe: Recipe,
    method: object,
    source: Source,
    key: Key,
    engine: SparkEngine,
    progress: Progress,
    show: bool = False,
) -> Iterator[SpreadTable]:
    """Read the source where it lies: once, and before that once more where domains come from the data."""
    if not isinstance(method, Streaming):
        raise RecipeError("A release on Spark must have a method that Spark can run", recipe.method)
    columns = [a for a in published(recipe) if method.randomised(a)]
    with engine.open(source, method.columns(recipe)) as rows:
        listed = [a.name for a in columns if a.from_data]
        seen: dict[str, pa.ChunkedArray] = {}
        if listed:
            progress("reading domains", 0, 1)
            seen = dict(rows.survey(listed, listed).values)
        table = Table(seen, 1)
        provisional = tuple(_provisional(a, method, table) for a in published(recipe))
        progress("reading", 0, 1)
        found = rows.read(provisional, key, show)
        for a in columns:
            if a.name not in seen:
                empty = pa.nulls(1 if a.name in found.missing else 0, pa.string())
                seen[a.name] = pa.chunked_array([texts([]), empty])
        spread = SpreadTable(rows, Table(seen, rows.records))
        spread.settle(provisional)
        yield spread


def strata_of_spread(rows: SparkTable, setting: InvariantSetting) -> int:
    """How many strata there are, after making their codes a column of the table."""
    seen = rows.survey(setting.strata, setting.strata).values
    domains = {name: stratum_domain(seen[name]) for name in setting.strata}
    return stratify(rows, domains, [stratum_of(group) for group in setting.groups])


def _provisional(attribute: AttributeRecipe, method: Streaming, table: Table) -> Attribute:
    """As `resolve` has it, with room for missing values where the recipe leaves it open whether there are any."""
    if not method.randomised(attribute):
        return Attribute(attribute.name, attribute.role, None)
    if attribute.from_data:
        return resolve(attribute, table, True)
    found = resolve(attribute, None, True)
    if attribute.missing == "auto" and not found.coded.missing:
        return Attribute(found.name, found.role, found.coded.with_missing())
    return found
