"""What a presence release reached, promises, and warns of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.bundle import Form, JsonObject
from pramana.generalize import Presence, PresenceDesign
from pramana.methods.presence.setting import Chosen
from pramana.theory import IN_EARNEST, THIS_TABLE, DeltaPresence, Guarantee

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


Chance = Annotated[float, Meta(ge=0, le=1)]


class ReversalForm(Form, frozen=True, kw_only=True):
    """What came of undoing the release, as a certificate states it."""

    verdict: Literal["withstood", "broken", "unproven"]
    reason: str
    lowest: Chance | None
    highest: Chance | None
    classes: Annotated[int, Meta(ge=0)]
    enumerated: Annotated[int, Meta(ge=0)]
    broken: Annotated[int, Meta(ge=0)]
    fewest_worlds: Annotated[int, Meta(ge=0)] | None


class Reached(Form, frozen=True, kw_only=True):
    """Numbers of this pair of tables, none of which is computed from private counts below the classes'.

    The costs are what the cells are expected to cost if the present people of a class were any of its people:
    the true KL cost is a number about private rows and is not published. Gains are shares of SPALM's cost with
    uniform cells; those of other algorithms are told in mode public only. None where cells exclude a value.
    """

    lowest: Chance
    highest: Chance
    classes: Annotated[int, Meta(ge=1)]
    alone: Annotated[int, Meta(ge=0)]
    expected_cost: float | None
    expected_cost_uniform: float
    expected_gains: dict[str, float | None]
    reversal: ReversalForm

    def to_json(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(self)
        return plain

    @property
    def verdict(self) -> str:
        return self.reversal.verdict

    @property
    def reason(self) -> str:
        return self.reversal.reason


def presence_guarantees(
    wanted: Presence,
    design: PresenceDesign,
    reached: Reached,
    attributes: int,
    raw: Sequence[str],
    seeded: bool,
    chosen: Chosen,
) -> tuple[Guarantee, ...]:
    method = (
        "" if chosen == "searched" else "the method and "
    )  # who knows how levels were searched learns from them
    assumptions = [
        f"the intruder {WITHSTANDS[design.mode].format(method=method)}",
        "beforehand every person of a class is as likely to be present as any other of it",
        "the quasi-identifying columns are all an intruder can know of a person",
        CHOSEN[chosen],
        "this is the only release about these people",
    ]
    if raw:
        assumptions.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
    if design.mode == "noised" and seeded:
        assumptions.append(f"{IN_EARNEST}: the noise comes from a seed and is no secret")
    return (
        DeltaPresence(
            THIS_TABLE,
            "paper 4, Definition 3 and Eq. 4; reversal as audited",
            lowest=float(wanted.lowest),
            highest=float(wanted.highest),
            reached_lowest=reached.lowest,
            reached_highest=reached.highest,
            mode=design.mode,
            reversal=reached.verdict,
            epsilon=design.spent(attributes),
            uncovered=tuple(raw),
            assumptions=tuple(assumptions),
        ),
    )


def presence_warnings(
    design: PresenceDesign, reached: Reached, shuffled: bool, seeded: bool, chosen: Chosen
) -> tuple[str, ...]:
    warnings = []
    if seeded:
        secrets = "order and noise are" if design.mode == "noised" else "the order of rows is"
        warnings.append(f"The key was made from a seed that anyone can guess: {secrets} no secret.")
    if not shuffled:
        warnings.append("Published in source order, which may tell which record is whose.")
    if reached.alone:
        warnings.append(f"{reached.alone} people of the public table are in classes in which nobody is present.")
    if chosen == "searched":
        warnings.append(
            "The levels were searched on the private table: that cheaper ones failed can tell more of who is "
            "present than delta allows, to an intruder who knows how they were searched."
        )
    verdict, reason = reached.verdict, reached.reason
    if verdict == "broken":
        warnings.append(f"Reversal breaks this release: {reason}. Use mode public.")
    elif verdict == "unproven":
        warnings.append(f"Not shown to withstand reversal: {reason}.")
    if design.mode in ("private", "quantised") and design.algorithm != "spalm":
        warnings.append(
            "The distributions come from private counts: delta holds for an intruder who takes them at their word."
        )
    return tuple(warnings)
