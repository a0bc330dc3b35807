"""What a report says of a release about who is present: columns, chances, and what the cells are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check, Form
from pramana.errors import PramanaError
from pramana.methods.cell_table import ShownCells, ShownColumn, published_types
from pramana.methods.generalize.explanation import treatments_of
from pramana.methods.presence.algorithms import Chosen, PresenceDesign
from pramana.methods.presence.reversal import Chance, Reversal
from pramana.methods.protocol import Examination, Explanation, content_checks
from pramana.methods.published_cells import check_companion
from pramana.methods.usefulness import worth_of_cells
from pramana.notions.guarantee import IN_EARNEST, THIS_TABLE, Guarantee
from pramana.notions.method_notions import DeltaPresence
from pramana.pages.content import Cell, Grid, Meter, Section, Text
from pramana.schema.typed import Count, Ordinal
from pramana.theory import rounding

if TYPE_CHECKING:
    from pramana.methods.presence.plan import PresencePlan

# What a presence release reached, promises, and warns of.


WITHSTANDS = {
    "public": "knows the public table, {method}this certificate, and undoes the distributions",
    "noised": "knows the public table, {method}this certificate, and undoes what the noise lets be undone",
    "quantised": "knows the public table and takes the distributions at their word",
    "private": "knows the public table and takes the distributions at their word",
}
# what the levels themselves may tell
CHOSEN: Mapping[Chosen, str] = {
    "given": "the levels were given without looking at who is present",
    "public": "the levels follow from the public table, the number of people present and delta",
    "searched": "the intruder infers nothing from the choice of levels, which were searched on the private table",
}


class Reached(Form, frozen=True, kw_only=True):
    """Numbers of this pair of tables, none of which is computed from private counts below the classes'.

    The costs are what the cells are expected to cost if the present people of a class were any of its people:
    the true KL cost is a number about private rows and is not published. Gains are shares of SPALM's cost with
    uniform cells; those of other algorithms are told in mode public only. None where cells exclude a value.
    """

    lowest: Chance
    highest: Chance
    classes: Count
    alone: Ordinal
    expected_cost: float | None
    expected_cost_uniform: float
    expected_gains: dict[str, float | None]
    reversal: Reversal


def guarantee_of_presence(plan: PresencePlan, seeded: bool) -> Guarantee:
    # who knows how levels were searched learns from them
    method = "" if plan.chosen == "searched" else "the method and "
    assumptions = [
        f"the intruder {WITHSTANDS[plan.design.mode].format(method=method)}",
        "beforehand every person of a class is as likely to be present as any other of it",
        "the quasi-identifying columns are all an intruder can know of a person",
        CHOSEN[plan.chosen],
        "this is the only release about these people",
    ]
    if raw := plan.raw_names():
        assumptions.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
    if plan.design.mode == "noised" and seeded:
        assumptions.append(f"{IN_EARNEST}: the noise comes from a seed and is no secret")
    return DeltaPresence(
        THIS_TABLE,
        "paper 4, Definition 3 and Eq. 4; reversal as audited",
        lowest=float(plan.wanted.lowest),
        highest=float(plan.wanted.highest),
        reached_lowest=plan.reached.lowest,
        reached_highest=plan.reached.highest,
        mode=plan.design.mode,
        reversal=plan.reached.reversal.verdict,
        epsilon=plan.design.spent(len(plan.quasi)),
        uncovered=tuple(raw),
        assumptions=tuple(assumptions),
    )


def warnings_of_presence(plan: PresencePlan, seeded: bool) -> list[str]:
    warnings, design, reached = [], plan.design, plan.reached
    if seeded:
        secrets = "order and noise are" if design.mode == "noised" else "the order of rows is"
        warnings.append(f"The key was made from a seed that anyone can guess: {secrets} no secret.")
    if not plan.shuffled:
        warnings.append("Published in source order, which may tell which record is whose.")
    if reached.alone:
        warnings.append(f"{reached.alone} people of the public table are in classes in which nobody is present.")
    if plan.chosen == "searched":
        warnings.append(
            "The levels were searched on the private table: that cheaper ones failed can tell more of who is "
            "present than delta allows, to an intruder who knows how they were searched."
        )
    if reached.reversal.verdict == "broken":
        warnings.append(f"Reversal breaks this release: {reached.reversal.reason}. Use mode public.")
    elif reached.reversal.verdict == "unproven":
        warnings.append(f"Not shown to withstand reversal: {reached.reversal.reason}.")
    if design.mode in ("private", "quantised") and design.algorithm != "spalm":
        warnings.append(
            "The distributions come from private counts: delta holds for an intruder who takes them at their word."
        )
    return warnings


_USE = (
    "The published values are true but coarser than the source's: labels or distributions stand for the values of "
    "several people. Labels can be counted as they are; of distributions "
    "`pramana.PublishedCells.open(BUNDLE).expected(NAMES)` gives expected counts."
)
_VERIFIED = (
    "The chances of being present take the public table to compute, so it takes them as stated; with the source "
    "and the key everything is made again."
)
_STEPS = (
    "The boxes are the levels of a column from the finest to the coarsest, each with its number of labels; the "
    "grey one is published. One label stands for as many values of the public table as the next column says."
)
_CHANCES = "Purple bars are chances, from 0 to 1, that someone of the public table is in the private one."
_GAINS = (
    "Savings are expected shares of what uniform cells cost (spalm), if the people present in a class were any of "
    "it. Other algorithms' are shown where they tell nothing private."
)


_LEVELS: Mapping[Chosen, str] = {
    "given": "The levels were given in the recipe.",
    "public": "The levels were chosen from the public table, the number of people present and delta alone.",
    "searched": "The levels are the best that hold: they were searched on the private table.",
}


def explanation_of_presence(plan: PresencePlan) -> Explanation:
    reached, wanted = plan.reached, plan.wanted
    rows: list[dict[str, Cell]] = [
        {"chance of being present": words, "from 0 to 1": _range(low, high)}
        for words, low, high in (
            ("asked for", float(wanted.lowest), float(wanted.highest)),
            ("reached", reached.lowest, reached.highest),
        )
    ]
    chances = Section("The chance of being present", [Grid(rows), Text(_CHANCES, quiet=True)], anchor="chances")
    treatments = treatments_of(plan.attributes, plan.quasi, plan.levels)
    sections = [chances, _distributions(plan.design, reached)]
    return Explanation(treatments, (_STEPS, _LEVELS[plan.chosen]), sections, _USE, _VERIFIED)


def _range(low: float, high: float) -> Meter:
    words = f"{rounding.shown_down(100 * low, 4)}% to {rounding.shown_up(100 * high, 4)}%"
    return Meter(words, high, low, risk=True)


def _distributions(design: PresenceDesign, reached: Reached) -> Section:
    """How the cells were made, whether they were undone, and what they are worth; the gains in one order."""
    rows: list[dict[str, Cell]] = [
        {
            "algorithm": name + (" (published)" if name == design.algorithm else ""),
            "KL cost saved": "unbounded loss" if gain is None else f"{100 * gain:.1f}%",
        }
        for name, gain in sorted(reached.expected_gains.items())
    ]
    words = (
        f"Classes: {reached.classes:,}. Algorithm {design.algorithm}, cells {design.start}, mode {design.mode}. "
        f"Undoing the cells: {reached.reversal.verdict}; {reached.reversal.reason}."
    )
    return Section(
        "Classes and distributions", [Text(words), Grid(rows), Text(_GAINS, quiet=True)], anchor="classes"
    )


# What `verify` counts again in the published data of a presence release.


_NEEDS_PUBLIC = "stated, not checked: they need the public table (--source and --key)"


def shown_columns(plan: PresencePlan) -> list[ShownColumn]:
    """What the published columns may say."""
    pairs = zip(plan.quasi, plan.levels, strict=True)
    return [ShownColumn.of(q, plan.kind, level, narrower=True) for q, level in pairs]


def examine_presence(plan: PresencePlan, bundle: Bundle) -> Examination:
    """The content is the certified one and shows no more classes than certified.

    Existence probabilities need the public table: they are computed again with the source and key.
    """
    by_class = plan.kind == "pdf" and bundle.certificate.output == "csv"
    columns = shown_columns(plan)
    shown = ShownCells(columns, bundle.certificate.output)
    try:
        bundle.check_columns(published_types(bundle.certificate.attributes, plan.kind, by_class))
        for piece in bundle.batches():
            shown.take(piece)
        content, classes = shown.content(), len(shown.sizes)
        looks = check_companion(bundle, plan.quasi, columns, shown) if by_class else shown.looks(plan.quasi)
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a presence table"),))
    return Examination(
        (
            *content_checks(bundle, content, shown.records, plan.records),
            Check("classes counted again", 1 <= classes <= plan.reached.classes, f"{classes} that look different"),
            Check("chances of being present, and reversal", True, _NEEDS_PUBLIC, derived=False),
        ),
        usefulness=worth_of_cells(looks, shown.sizes, 0, plan.tables, plan.design.tells_counts),
    )
