"""What a release is for, in sentences: what each job promises, what it costs, and which is recommended."""

from __future__ import annotations

from dataclasses import dataclass

from pramana.app.studio.work.journey import Journey

_FEW = 1000  # records below which randomised tables tell little


@dataclass(frozen=True)
class JobSentence:
    """A job as a person would say it. `people`: whether several rows can be one person's."""

    name: str
    sentence: str
    promise: str
    cost: str
    dial: str
    people: bool = False


JOBS = (
    JobSentence(
        "publish",
        "People must not be found in the table",
        "Nobody links a person to a record more surely than one in k, or learns more than epsilon allows, "
        "whatever they know already. It holds for every table.",
        "Values are changed by chance. Tables are estimated from them, with intervals.",
        "k or epsilon",
        people=True,
    ),
    JobSentence(
        "frequencies",
        "Published counts must stay right",
        "Counts of every column are kept in expectation, so the table is used as it is. Nobody is matched with a "
        "chance above xi.",
        "The bound is of this table and this kind of match. There is no epsilon.",
        "xi",
    ),
    JobSentence(
        "levels",
        "Partners of different trust",
        "Each partner gets a version at a level of their own. Partners who put their versions together learn no "
        "more than the best of them knows alone.",
        "Only sensitive columns are changed; the others pass to everyone as they are.",
        "retention",
    ),
    JobSentence(
        "k-anonymity",
        "The rule says k-anonymous",
        "Every record looks like at least k - 1 others in the columns that an intruder may know.",
        "Values are made coarser. The promise is of this one table, and not against who knows more.",
        "k",
        people=True,
    ),
    JobSentence(
        "presence",
        "Being in the table is the secret",
        "Of nobody on a public list is it known that they are in the table with a chance outside a range.",
        "Values are made coarser. The public list must be at hand, and is taken to be all that is known.",
        "delta",
    ),
    JobSentence(
        "microaggregate",
        "Numbers to be averaged in groups",
        "Every record has the means of at least k near records, so that no number is one person's.",
        "Spread inside the groups is lost. The promise is of this one table.",
        "k",
        people=True,
    ),
)


def several_rows(journey: Journey) -> bool:
    return not journey.document.section("unit").get("row", not journey.document.section("unit"))


def recommended(journey: Journey) -> tuple[str, str]:
    """A job for this table, and why."""
    found = journey.inspection
    records = 0 if found is None else found.records
    quasi = [name for name, role in journey.roles.items() if role == "quasi-identifying"]
    if records < _FEW:
        return "k-anonymity", (
            f"With {records:,} records, values changed by chance would tell little; coarser values still do."
        )
    if not quasi and "sensitive" in journey.roles.values():
        return "levels", "No column can be used to find people, so only the sensitive ones need to be changed."
    return "publish", (
        f"{records:,} records are enough to estimate tables well, and it is the only promise here that holds "
        "whatever an intruder knows."
    )
