"""An inspection in words, for a screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pramana.theory import rounding

if TYPE_CHECKING:
    from pramana.inspection.inspecting import ColumnReport, Inspection
    from pramana.inspection.risk import TableRisk

MOST_SUBSETS = 8
NOTES = {
    "constant": "constant",
    "near-unique": "nearly unique",
    "free-text": "free text",
    "repeated-identifier": "repeats",
    "missing-codes": "codes for missing values suspected",
    "decimal-comma": "written with a decimal comma",
    "thousands-marks": "written with marks at every third digit",
    "day-or-month-first": "days and months cannot be told apart",
    "blanks-around-values": "blanks around values",
}
_WIDE = 24


def lines_of(found: Inspection) -> list[str]:
    from pramana.inspection.inspecting import NOTICE

    lines = [NOTICE, "", f"{found.source}: {found.records:,} records, {len(found.columns)} columns", ""]
    widest = max([len(column.name) for column in found.columns] + [6])
    wide = min(widest, _WIDE)
    lines.append(f"{'column':<{wide}}  {'kind':<8} {'role':<17} {'distinct':>9} {'missing':>9}  reason")
    for column in found.columns:
        lines += _column(column, wide)
    if found.repeated_identifiers:
        names = ", ".join(found.repeated_identifiers)
        lines += [
            "",
            f"Several rows belong to one unit: {names} repeats. Counts below are of rows, not of people.",
        ]
    lines.append("")
    if found.risk is None:
        return [*lines, "No quasi-identifying column was found; name them with --quasi to see the risk."]
    return [*lines, *_risk(found.risk, found.guessed)]


def _column(column: ColumnReport, wide: int) -> Iterator[str]:
    name = column.name if len(column.name) <= wide else column.name[: wide - 3] + "..."
    counts = f"{column.distinct:>9,} {column.missing:>9,}"
    yield f"{name:<{wide}}  {column.kind:<8} {column.role:<17} {counts}  {column.reason}"
    indent = " " * (wide + 2)
    if said := [NOTES[note] for note in column.notes if note != "missing-codes"]:
        yield f"{indent}{', '.join(said)}"
    if column.suspected_codes:
        several = "s" if column.suspected_codes > 1 else ""
        shown = f": {', '.join(column.codes)}" if column.codes else " (see them with --show-values)"
        yield (
            f"{indent}{column.suspected_codes} code{several} for missing values suspected in "
            f"{column.suspected_rows:,} rows{shown}"
        )
    if column.values:
        yield f"{indent}commonest: {', '.join(column.values)}"


def _risk(risk: TableRisk, guessed: bool) -> list[str]:
    how = "guessed; name your own with --quasi" if guessed else "as named"
    lines = [
        f"Risk today, for someone who knows {', '.join(risk.columns)} ({how}):",
        f"  {risk.uniques:,} of {risk.records:,} records are unique ({_share(risk.uniques, risk.records)}), "
        f"{risk.below_k:,} share their values with fewer than {risk.k - 1} others "
        f"({_share(risk.below_k, risk.records)})",
        f"  prosecutor (knows the person is in the table): at most {_up(risk.prosecutor)}, "
        f"on average {_up(risk.mean)}",
    ]
    if risk.journalist is not None:
        lines.append(f"  journalist (knows the person is in the population): at most {_up(risk.journalist)}")
    lines.append(f"  marketer (tries every record): {_up(risk.marketer)} of the records found")
    lines += _special(risk)
    if risk.individual is not None:
        own = risk.individual
        lines.append(
            f"  individual risk (Benedetti and Franconi): at most {_up(own.largest)}, {own.expected:,.1f} "
            f"re-identifications expected, {own.above:,} records above 1/{risk.k}"
        )
    lines += _population(risk)
    return lines


def _special(risk: TableRisk) -> Iterator[str]:
    special = risk.special
    by_size = ", ".join(f"{n:,} on {size}" for size, n in enumerate(special.minimal, 1) if n) or "none"
    yield (
        f"  minimal sample uniques (SUDA), up to {special.largest_subset} columns: {by_size}; "
        f"{special.special:,} records have one"
    )
    share = f"{special.fraction:.3g} of the population" + (", assumed" if special.fraction_assumed else "")
    yield f"  a unique match is right with a chance of {_up(special.dis)} (DIS, a sample of {share})"
    worst = [subset for subset in worst_subsets(risk) if subset[2]][:MOST_SUBSETS]
    if worst:
        yield "  the fewest columns that tell most:"
        for columns, uniques, below in worst:
            yield f"    {' x '.join(columns)}: {uniques:,} unique, {below:,} below {risk.k}"


def worst_subsets(risk: TableRisk) -> list[tuple[tuple[str, ...], int, int]]:
    """Of each size those with the most records at risk; few columns first."""
    by_size: dict[int, list[tuple[tuple[str, ...], int, int]]] = {}
    for subset in risk.subsets:
        by_size.setdefault(len(subset[0]), []).append(subset)
    return [
        subset for size in sorted(by_size) for subset in sorted(by_size[size], key=lambda s: (-s[1], -s[2]))[:3]
    ]


def _population(risk: TableRisk) -> Iterator[str]:
    found = risk.population
    if found is None:
        yield "  population uniqueness: state --weight or --population to have it estimated"
        return
    known = {"Zayatz": found.zayatz, "Pitman": found.pitman, "SNB": found.snb}
    said = ", ".join(f"{name} {'no fit' if n is None else f'{n:,.0f}'}" for name, n in known.items())
    yield (
        f"  unique in a population of {found.population:,}: {found.estimate:,.0f} people "
        f"({_up(found.share)}; {found.chosen}, by the rule of Dankar et al.; {said})"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%"


def _up(chance: float) -> str:
    return rounding.shown_up(min(chance, 1.0), 4)
