"""An inspection in words: lines for a screen, and a page that is marked as not for release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from pramana.holder.inspect import NOTICE, ColumnReport, Inspection
from pramana.holder.risk import TableRisk
from pramana.pages.content import Block, Cell, Grid, Meter, Page, Points, Section, Text
from pramana.theory import rounding

SOURCES = (
    "Minimal sample uniques and SUDA scores: Elliot, Manning, Mayes, Gurd and Bane (2005); Manning, Haglin and "
    "Keane (2008).",
    "Data intrusion simulation (DIS): Skinner and Elliot (2002).",
    "Prosecutor, journalist and marketer risk: El Emam and Dankar (2008); Dankar and El Emam (2010).",
    "Individual risk with sampling weights: Benedetti and Franconi (1998); Franconi and Polettini (2004).",
    "Population uniques: Zayatz (1991); Pitman's formula by Hoshino (2001); slide negative binomial by Chen and "
    "Keller-McNulty (1998) with Shlosser's estimate by Haas and Stokes (1998); chosen as Dankar, El Emam, Neisa "
    "and Roffey (2012) do.",
)


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


def lines_of(inspection: Inspection) -> list[str]:
    lines = [
        NOTICE,
        "",
        f"{inspection.source}: {inspection.records:,} records, {len(inspection.columns)} columns",
        "",
    ]
    wide = min(max([len(column.name) for column in inspection.columns] + [6]), _WIDE)
    lines.append(f"{'column':<{wide}}  {'kind':<8} {'role':<17} {'distinct':>9} {'missing':>9}  reason")
    for column in inspection.columns:
        lines += _column_lines(column, wide)
    if inspection.repeated_identifiers:
        names = ", ".join(inspection.repeated_identifiers)
        lines += [
            "",
            f"Several rows belong to one unit: {names} repeats. Counts below are of rows, not of people.",
        ]
    lines.append("")
    if inspection.risk is None:
        return [*lines, "No quasi-identifying column was found; name them with --quasi to see the risk."]
    return [*lines, *_risk_lines(inspection.risk, inspection.guessed)]


def _column_lines(column: ColumnReport, wide: int) -> Iterator[str]:
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


def _risk_lines(risk: TableRisk, guessed: bool) -> list[str]:
    how = "guessed; name your own with --quasi" if guessed else "as named"
    lines = [
        f"Risk today, for someone who knows {', '.join(risk.columns)} ({how}):",
        f"  {risk.uniques:,} of {risk.records:,} records are unique ({_percent(risk.uniques / risk.records)}), "
        f"{risk.below_k:,} share their values with fewer than {risk.k - 1} others "
        f"({_percent(risk.below_k / risk.records)})",
        f"  prosecutor (knows the person is in the table): at most {_up(risk.prosecutor)}, "
        f"on average {_up(risk.mean)}",
    ]
    if risk.journalist is not None:
        lines.append(f"  journalist (knows the person is in the population): at most {_up(risk.journalist)}")
    lines.append(f"  marketer (tries every record): {_up(risk.marketer)} of the records found")
    lines += _special_lines(risk)
    if risk.individual is not None:
        own = risk.individual
        lines.append(
            f"  individual risk (Benedetti and Franconi): at most {_up(own.largest)}, {own.expected:,.1f} "
            f"re-identifications expected, {own.above:,} records above 1/{risk.k}"
        )
    lines += _population_lines(risk)
    return lines


def _special_lines(risk: TableRisk) -> Iterator[str]:
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


def _population_lines(risk: TableRisk) -> Iterator[str]:
    people = risk.population
    if people is None:
        yield "  population uniqueness: state --weight or --population to have it estimated"
        return
    known = {"Zayatz": people.zayatz, "Pitman": people.pitman, "SNB": people.snb}
    said = ", ".join(f"{name} {'no fit' if n is None else f'{n:,.0f}'}" for name, n in known.items())
    yield (
        f"  unique in a population of {people.population:,}: {people.estimate:,.0f} people "
        f"({_up(people.share)}; {people.chosen}, by the rule of Dankar et al.; {said})"
    )


def worst_subsets(risk: TableRisk) -> list[tuple[tuple[str, ...], int, int]]:
    """Of each size those with the most records at risk; few columns first."""
    ordered = sorted(risk.subsets, key=lambda subset: (len(subset[0]), -subset[1], -subset[2]))
    return [subset for _, same in groupby(ordered, lambda subset: len(subset[0])) for subset in islice(same, 3)]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _up(chance: float) -> str:
    return rounding.shown_up(min(chance, 1.0), 4)


# ---------------------------------------------------------------- the page


def page_of(inspection: Inspection) -> Page:
    facts = [
        ("Table", inspection.source),
        ("Records", f"{inspection.records:,}"),
        ("Columns", f"{len(inspection.columns)}"),
    ]
    sections = [_columns(inspection)]
    if inspection.repeated_identifiers:
        sections.append(_repeated(inspection.repeated_identifiers))
    if inspection.risk is None:
        words = "No quasi-identifying column was found. Name them with --quasi to see the risk."
        sections.append(Section("Risk today", [Text(words)], anchor="risk"))
    else:
        sections += _risk(inspection.risk, inspection.guessed)
    sections.append(Section("Where the measures come from", [Points(SOURCES)], anchor="sources"))
    return Page(f"A look at {inspection.source}", facts, sections=sections, private=True)


def _columns(inspection: Inspection) -> Section:
    rows = [_column_row(column) for column in inspection.columns]
    words = (
        "Kinds and roles are guesses by rules: values decide, names only help. A person who knows the table must "
        "confirm them."
    )
    return Section("What the columns are", [Text(words), Grid(rows)], anchor="columns")


def _column_row(column: ColumnReport) -> dict[str, Cell]:
    notes = [NOTES[note] for note in column.notes if note != "missing-codes"]
    if column.suspected_codes:
        shown = f": {', '.join(column.codes)}" if column.codes else ""
        notes.append(f"{column.suspected_codes} suspected missing codes in {column.suspected_rows:,} rows{shown}")
    if column.values:
        notes.append(f"commonest: {', '.join(column.values)}")
    return {
        "column": column.name,
        "kind": column.kind,
        "role": column.role,
        "distinct": column.distinct,
        "missing": column.missing,
        "why, and what else": "; ".join([column.reason, *notes]),
    }


def _repeated(names: Sequence[str]) -> Section:
    words = (
        f"Several rows belong to one unit: {', '.join(names)} repeats. The counts below are of rows; who has "
        "three rows is three times in them. Say in the recipe whose privacy is meant."
    )
    return Section("Several rows for one unit", [Text(words, note=True)], anchor="units")


def _risk(risk: TableRisk, guessed: bool) -> list[Section]:
    how = "guessed" if guessed else "named by you"
    lead = (
        f"For someone who knows {', '.join(risk.columns)} ({how}) of a person: {risk.uniques:,} of the "
        f"{risk.records:,} records are unique, and {risk.below_k:,} share their "
        f"values with fewer than {risk.k - 1} others."
    )
    blocks: list[Block] = [
        Text(lead),
        Grid(_measures(risk)),
        Grid(_sizes(risk), "Records by the size of their class"),
    ]
    parts = [Section("Risk today", blocks, anchor="risk"), _subsets(risk)]
    if risk.population is not None:
        parts.append(_population(risk))
    return parts


def _measures(risk: TableRisk) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = [
        _measure("unique records", risk.uniques / risk.records, "share of all records"),
        _measure(f"records below k = {risk.k}", risk.below_k / risk.records, "share of all records"),
        _measure("prosecutor, largest", risk.prosecutor, "knows that the person is in the table"),
        _measure("prosecutor, mean", risk.mean, f"{risk.expected:,.0f} records found if all are tried"),
    ]
    if risk.journalist is not None:
        rows.append(_measure("journalist, largest", risk.journalist, "knows that the person is in the population"))
    rows.append(_measure("marketer", risk.marketer, "share of records found by someone who tries every one"))
    if risk.individual is not None:
        own = risk.individual
        rows += [
            _measure("individual risk, largest", own.largest, "Benedetti and Franconi, by sampling weights"),
            _measure("individual risk, mean", own.mean, f"{own.expected:,.1f} re-identifications expected"),
        ]
    special = risk.special
    assumed = ", assumed" if special.fraction_assumed else ""
    rows.append(
        _measure(
            "a unique match is right (DIS)", special.dis, f"a sample of {special.fraction:.3g} of all{assumed}"
        )
    )
    rows.append(
        _measure("DIS-SUDA, largest", special.largest_dis_score, f"{special.dis_above:,} records above 0.1")
    )
    return rows


def _measure(name: str, chance: float, words: str) -> dict[str, Cell]:
    return {"measure": name, "risk": Meter(_up(chance), min(chance, 1.0), risk=True), "meaning": words}


def _sizes(risk: TableRisk) -> list[dict[str, Cell]]:
    return [
        {
            "size of class": size,
            "records": records,
            "share": Meter(_percent(records / risk.records), records / risk.records),
        }
        for size, records in risk.sizes
    ]


def _subsets(risk: TableRisk) -> Section:
    special = risk.special
    rows: list[dict[str, Cell]] = [
        {"columns": " x ".join(columns), "unique": uniques, f"below {risk.k}": below}
        for columns, uniques, below in worst_subsets(risk)
    ]
    shares: list[dict[str, Cell]] = [
        {"column": name, "share of all scores": Meter(_percent(share), share, risk=True)}
        for name, share in sorted(special.contributions, key=lambda part: -part[1])
    ]
    by_size = ", ".join(f"{n:,} of {size}" for size, n in enumerate(special.minimal, 1))
    lead = (
        f"{special.special:,} records are unique already on few columns (up to {special.largest_subset} were "
        f"combined). Minimal sample uniques by number of columns: {by_size}. The largest SUDA score is "
        f"{special.largest_score:,.0f}."
    )
    blocks: list[Block] = [
        Text(lead),
        Grid(rows, "The combinations of each size that put most records at risk"),
        Grid(shares, "Columns by the share of SUDA scores that goes through them"),
    ]
    return Section("Few columns that tell much", blocks, anchor="subsets")


def _population(risk: TableRisk) -> Section:
    people = risk.population
    assert people is not None
    known = {"Zayatz": people.zayatz, "Pitman": people.pitman, "slide negative binomial": people.snb}
    rows: list[dict[str, Cell]] = [
        {"model": name, "people unique in the population": "no fit" if number is None else f"{number:,.0f}"}
        for name, number in known.items()
    ]
    lead = (
        f"Of a population of {people.population:,} some {people.estimate:,.0f} people are estimated to be unique "
        f"({_percent(people.share)}), by {people.chosen}, which the rule of Dankar et al. chooses here."
    )
    return Section("Unique in the population", [Text(lead), Grid(rows)], anchor="population")
