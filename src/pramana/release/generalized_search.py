"""The classes of a generalised release: of rows, or of combinations of codes and how often each occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, UnreachableError
from pramana.generalize import (
    Classes,
    Condition,
    Counts,
    Generalised,
    Layout,
    at_levels,
    full_domain,
    grouped_for,
    multidimensional,
    with_sensitive,
)
from pramana.randomness import Codes
from pramana.release.generalized_columns import Quasi, Sensitive
from pramana.release.generalized_setting import Setting
from pramana.schema import Recipe
from pramana.sources import Encoder, Source

MOST_ENTRIES = 20_000_000  # entries of lists in one Parquet file; beyond, cells go to the companion
_ROWS = 1 << 18  # of a population that are looked at together


@dataclass(frozen=True, eq=False)
class Lines:
    """Combinations of codes that occur, and how many rows have each."""

    columns: tuple[Codes, ...]
    times: Counts

    @property
    def rows(self) -> int:
        return int(self.times.sum(dtype=np.int64))


def solve(
    setting: Setting,
    quasi: Sequence[Quasi],
    codes: Mapping[str, Codes],
    sensitive: Sequence[Sensitive],
    sensitive_codes: Sequence[Codes],
    levels: tuple[int, ...] | None,
) -> Generalised:
    """The classes of rows; with `levels` those of a known full-domain solution."""
    columns = [codes[q.name] for q in quasi]
    ladders = tuple(q.ladder for q in quasi)
    _check_k(setting, len(columns[0]))
    looked = list(zip(sensitive_codes, sensitive, strict=True)) if setting.looks_at_sensitive else []
    condition = setting.condition([(np.bincount(c, minlength=s.size), s.parents) for c, s in looked])
    if setting.algorithm != "incognito":
        if len(looked) > 1:
            raise RecipeError(
                f"The algorithm {setting.algorithm} takes l and t of one sensitive column", f"{len(looked)}"
            )
        return multidimensional(
            ladders,
            columns,
            setting.k,
            setting.algorithm,
            ordered=[q.ordered for q in quasi],
            weights=setting.weights,
            condition=condition if looked else None,
            sensitive=(looked[0][0], looked[0][1].size) if looked else None,
        )
    layout = Layout(ladders)
    base, index = grouped_for(layout, columns, [(code, s.size) for code, s in looked])
    return _full_domain(setting, columns, base, index, condition, levels)


def solve_lines(
    setting: Setting,
    quasi: Sequence[Quasi],
    lines: Lines,
    looked: Sequence[tuple[Sensitive, Lines]],
    levels: tuple[int, ...] | None,
) -> Generalised:
    """The full-domain classes of the rows that `lines` stand for.

    `looked`: for each sensitive column the conditions look at, the combinations with its codes as the last column.
    """
    _check_k(setting, lines.rows)
    layout = Layout(tuple(q.ladder for q in quasi))
    totals = [np.bincount(found.columns[-1], found.times, s.size).astype(np.int64) for s, found in looked]
    condition = setting.condition([(total, s.parents) for total, (s, _) in zip(totals, looked, strict=True)])
    base, index = grouped_for(layout, lines.columns, times=lines.times)
    counted = []
    for s, found in looked:  # the same classes in the same order, that of their keys
        _, places = grouped_for(layout, found.columns[:-1], times=found.times)
        counted.append((places, found.columns[-1], s.size, found.times))
    base = with_sensitive(base, counted)
    return _full_domain(setting, lines.columns, base, index, condition, levels, lines.times)


def _check_k(setting: Setting, rows: int) -> None:
    if setting.k > rows:
        raise UnreachableError(f"k must be at most the number of rows, {rows}", str(setting.k))


def _full_domain(
    setting: Setting,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    levels: tuple[int, ...] | None,
    times: Counts | None = None,
) -> Generalised:
    layout = base.layout
    if levels is not None:
        return at_levels(layout, columns, base, index, condition, levels, times=times)
    return full_domain(
        layout,
        columns,
        base,
        index,
        condition,
        measure=setting.measure,
        limit=int(setting.suppression * base.rows),
        weights=setting.weights or None,
        times=times,
    )


def goes_by_class(setting: Setting, made: Generalised, output: str) -> bool:
    """Whether the cells go to a companion table."""
    if setting.cells not in ("set", "pdf"):
        return False
    entries = sum(int((cells.sizes * made.sizes).sum()) for cells in made.pdf)
    return output == "csv" or entries > MOST_ENTRIES


def population_of(recipe: Recipe, quasi: Sequence[Quasi], made: Generalised) -> NDArray[np.int64] | None:
    """Class sizes in the table of everyone the records could be, for the journalist's risk."""
    place = recipe.options.get("population")
    if place is None:
        return None
    if not isinstance(place, str) or made.levels is None:
        raise RecipeError('population must be a file, with algorithm = "incognito"', repr(place))
    encoders = [Encoder(q.attribute.coded, q.name) for q in quasi]
    finder, sizes = made.finder, np.zeros(made.classes + 1, np.int64)
    for batch in Source(path=Path(recipe.folder / place)).batches([q.name for q in quasi], _ROWS):
        codes = [encoder.encode(batch.column(q.name)) for encoder, q in zip(encoders, quasi, strict=True)]
        if not any(encoder.outside or encoder.unexpected for encoder in encoders):
            sizes += np.bincount(finder.find(codes), minlength=made.classes + 1)
    for encoder in encoders:
        encoder.finish()
    found = sizes[:-1]
    if bool((found < made.sizes).any()):
        raise RecipeError("The population must contain every record of the table", "a class with fewer people")
    return found
