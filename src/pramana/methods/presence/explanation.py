"""What a report says of a release about who is present: columns, chances, and what the cells are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana.generalize import Presence, PresenceDesign
from pramana.methods.generalize import treatments_of
from pramana.methods.presence.setting import Chosen
from pramana.methods.presence.words import Reached
from pramana.methods.protocol import Explanation
from pramana.methods.quasi import Quasi
from pramana.pages import Cell, Grid, Meter, Section, Text
from pramana.schema import Attribute
from pramana.theory import rounding

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


def explanation_of_presence(
    attributes: Sequence[Attribute],
    quasi: Sequence[Quasi],
    levels: Sequence[int],
    chosen: Chosen,
    wanted: Presence,
    design: PresenceDesign,
    reached: Reached,
) -> Explanation:
    sections = [_chances(wanted, reached), _distributions(design, reached)]
    return Explanation(
        treatments_of(attributes, quasi, levels), (_STEPS, _LEVELS[chosen]), sections, _USE, _VERIFIED
    )


def _chances(wanted: Presence, reached: Reached) -> Section:
    rows: list[dict[str, Cell]] = [
        {
            "chance of being present": "asked for",
            "from 0 to 1": _range(float(wanted.lowest), float(wanted.highest)),
        },
        {"chance of being present": "reached", "from 0 to 1": _range(reached.lowest, reached.highest)},
    ]
    return Section("The chance of being present", [Grid(rows), Text(_CHANCES, quiet=True)], anchor="chances")


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
        f"Undoing the cells: {reached.verdict}; {reached.reason}."
    )
    return Section(
        "Classes and distributions", [Text(words), Grid(rows), Text(_GAINS, quiet=True)], anchor="classes"
    )
