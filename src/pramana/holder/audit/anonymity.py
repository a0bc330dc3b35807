"""How anonymous a table is as it stands, whatever made it. Rows stream through: only combinations take room."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import CombinationCounter, class_numbers
from pramana.counting.value_counts import ValueCounts
from pramana.errors import InputError
from pramana.holder.audit.linkage import AttackedLaw, LinkedTable
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, at_most, clopper_pearson
from pramana.holder.inspect import check_named, source_for
from pramana.io.codes import Numbering
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.randomness.samplers import ONE, Codes

_ROWS = 1 << 18


@dataclass(frozen=True)
class TableAnonymity:
    """The k of a table and, where a sensitive column was named, its l (distinct and by entropy) and t (equal)."""

    records: int
    classes: int
    k: int
    l: int | None = None  # noqa: E741 - the field's name for it
    entropy_l: float | None = None
    t: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def anonymity_of_table(
    data: Any,
    columns: Sequence[str],
    sensitive: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> TableAnonymity:
    """k, and l and t of one sensitive column, of a table (a path or a data frame) on these columns.

    Missing values count as one more value. The table is read twice, batch by batch.

    >>> pramana.holder.audit.anonymity.anonymity_of_table("people.csv", ["sex", "age"]).k  # doctest: +SKIP
    3
    """
    check_named(columns)
    names = [*columns, *([] if sensitive is None else [sensitive])]
    if sensitive in columns:
        raise InputError("The sensitive column must not be among the quasi-identifying ones", repr(sensitive))
    source = source_for(data, encoding, delimiter)
    numbering = {name: Numbering() for name in names}
    for batch in source.batches(names, _ROWS):
        for name in names:
            numbering[name].number(batch.column(name))
    combinations = CombinationCounter([len(numbering[name].labels) for name in names])
    records = 0
    for batch in source.batches(names, _ROWS):
        records += batch.num_rows
        combinations.update([numbering[name].number(batch.column(name)) for name in names])
    merged = combinations.merged()
    if sensitive is None:
        return TableAnonymity(records, len(merged), int(merged.sizes.min()))
    codes = [merged.codes(a).astype(np.uint32) for a in range(len(names))]
    counts = ValueCounts.of(class_numbers(codes[:-1]), codes[-1], merged.sizes)
    return TableAnonymity(
        records, len(counts.sizes), int(counts.sizes.min()), counts.distinct_l, counts.entropy_l, counts.t()
    )


def k_of_table(data: Any, columns: Sequence[str]) -> int:
    """The k of k-anonymity of a table (a path or a data frame) on these columns.

    Paper 1, Theorem 2: for a table made by a deterministic method it is also the k of Pk-anonymity.
    """
    return anonymity_of_table(data, columns).k


# Releases of classes: the smallest that anyone can see, and how often a person's row is picked from theirs.


_PEOPLE = 2000
Numbers = NDArray[np.int64]


def smallest_class(look: Numbers, k: float) -> Attack:
    """The k that anyone can count in the published file."""
    sizes = np.bincount(look)
    smallest = int(sizes[sizes > 0].min())
    below = int((sizes[sizes > 0] < k).sum())
    what = (
        f"the smallest class that can be seen has {smallest:,}, claimed are {k:g}; {below:,} classes are smaller"
    )
    return Attack("linkage, smallest class", k, float(smallest), smallest >= k, what)


def left_in(look: Numbers, due: Numbers) -> Attack:
    """Rows that source and key do not make: of people who were to be suppressed, or of nobody."""
    most = int(max(look.max(initial=0), due.max(initial=0))) + 1
    surplus = np.maximum(np.bincount(look, minlength=most) - np.bincount(due, minlength=most), 0)
    rows = int(surplus.sum())
    what = f"{rows:,} rows are in the file that the release has not, in {int((surplus > 0).sum()):,} classes"
    return Attack("suppressed rows, left in", 0.0, float(rows), rows == 0, what)


def class_linkage(look: Numbers, order: Numbers, k: float) -> Attack:
    """Who knows a person's class picks one of its rows, the nearest in place to the person's own in the source."""
    people = np.random.default_rng(20).permutation(len(order))[:_PEOPLE]
    by_look = np.argsort(look, kind="stable")
    first = np.searchsorted(look[by_look], np.arange(int(look.max()) + 2))
    rank = np.argsort(np.argsort(order))  # a person's position among the people who were published
    right = 0
    for person in people.tolist():
        rows = by_look[first[look[person]] : first[look[person] + 1]]
        right += int(rows[np.abs(rows - rank[person]).argmin()] == person)
    what = f"{len(people):,} people whose class is known, one of its rows each"
    return at_most("linkage, within classes", 1 / k, right, len(people), what, {"k": k})


def crossed_classes(looks: Sequence[Numbers], k: float, name: str) -> Attack:
    """Releases about the same people: who is in a class of the first, one of the second, and so on.

    `looks`: by source row, that of everyone's row in each release, -1 where they have
    none: who is left out of one is told by their class, as well. No certificate promises
    k of several releases, each of which takes itself for the only one: this says whether it would still hold.
    """
    there = np.logical_or.reduce([look >= 0 for look in looks])
    crossed = np.unique(np.column_stack([look[there] for look in looks]), axis=0, return_counts=True)[1]
    smallest = int(crossed.min()) if len(crossed) else 0
    what = f"the smallest class that all releases leave has {smallest:,} people, the smallest claim is {k:g}"
    return Attack(name, k, float(smallest), smallest >= k, what)


def by_source_row(values: Numbers, order: Numbers, records: int) -> Numbers:
    placed = np.full(records, -1, np.int64)
    placed[order] = values
    return placed


# Attribute inference: what a person's own published record tells of one value, and what being in it adds.


_MOST_INFERRED = 1000
_LARGEST = 2000  # categories of an attribute whose every pair is compared
_OUTCOMES = 1 << 16  # of several releases together, of an attribute that is guessed


def attribute_inference(tables: Sequence[LinkedTable], name: str = "attribute inference") -> Outcome:
    """Someone who knows which row is whose, in one release or several, and how frequent values are, guesses.

    The claim is exact, the best that anyone can do under the laws: the largest joint chance of a value with
    everything that is shown of it, summed over all that can be shown. People's coins are independent, so right
    guesses scatter no more than coins of that chance.
    """
    single = len(tables) == 1
    laws = [matrices_of(table.law) for table in tables]
    shared = [n for n in laws[0] if len(laws[0][n]) > 1 and all(n in law for law in laws)]
    most = _LARGEST if single else _OUTCOMES
    few = [n for n in shared if math.prod(law[n].shape[1] for law in laws) <= most]
    if not few:
        lacking = "no attribute has" if single else "they share no attribute with"
        return NotRun(name, f"{lacking} a law of its own that is small enough")
    people, shown = np.sort(tables[0].order), [table.by_person() for table in tables]
    attacks = {}
    for column in few:
        together, outcome = np.ones((len(laws[0][column]), 1)), np.zeros(len(people), np.int64)
        for law, published in zip(laws, shown, strict=True):
            together = (together[:, :, None] * law[column][:, None, :]).reshape(len(together), -1)
            outcome = outcome * law[column].shape[1] + published[column][people]
        true = tables[0].true[column][people]
        joint = (np.bincount(true, minlength=len(together)) / len(true))[:, None] * together
        claimed = float(joint.max(0).sum())
        right = int((joint.argmax(0)[outcome] == true).sum())
        interval = clopper_pearson(right, len(true), CHANCE_OF_FALSE_ALARM / len(few))
        share = right / len(true)
        what = (
            f"{column} guessed from {len(tables)} rows: right {share:.4g}; their laws together allow {claimed:.4g}"
        )
        if single:
            what = f"{column} guessed from a person's own row: right {share:.4g}; the law allows {claimed:.4g}"
        attacks[column] = Attack(name, claimed, share, interval[0] <= claimed + 1e-12, what, interval)
    numbers = {column: {"claimed": a.claimed, "measured": a.measured} for column, a in attacks.items()}
    worst = max(attacks.values(), key=lambda a: (a.interval or (0.0, 0.0))[0] - (a.claimed or 0.0))
    return replace(worst, more={"attributes": numbers})


def matrices_of(law: AttackedLaw) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """P(shown | true) of every attribute that has a law of its own, and is not too large to write down."""
    if isinstance(law, CoinGroups):
        return {name: matrix for part in law.parts for name, matrix in matrices_of(part).items()}
    if isinstance(law, RecordRetention):
        redrawn = law.bound / ONE
        return {n: (1 - redrawn) * np.eye(v) + redrawn / v for n, v in law.sizes.items() if v <= _LARGEST}
    channels: Mapping[str, Channel] = law.channels if isinstance(law, Product) else {}
    return {n: _matrix(c) for n, c in channels.items() if c.size <= _LARGEST}


def _matrix(channel: Channel) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if isinstance(channel, Retention):
        return float(channel.retention) * np.eye(channel.size) + channel.step / ONE
    return np.asarray(channel.weights / ONE, np.float64)


def control_inference(
    true: Mapping[str, Codes],
    control: Mapping[str, Codes],
    published: Mapping[str, Codes],
    central: tuple[float, float] | None,
) -> Outcome:
    """People who are in the release, and people who are not: how much better are the first guessed?

    A value is guessed as the one most frequent among the published rows that agree most with the person in all
    other columns. A central guarantee bounds the difference by the distance of two neighbouring releases.
    """
    name = "attribute inference, against a control"
    if len(true) < 2:
        return NotRun(name, "a value is guessed from others, and there is one column")
    known = list(true)
    target = max(known, key=lambda n: len(np.unique(true[n])) if len(np.unique(true[n])) < 50 else 0)
    hits, tries = [], []
    for people in (true, control):
        rows = np.random.default_rng(20).permutation(len(people[target]))[:_MOST_INFERRED]
        right = sum(_guess(published, {n: int(people[n][i]) for n in known}, target) for i in rows.tolist())
        hits.append(right)
        tries.append(len(rows))
    inside, outside = (clopper_pearson(h, n) for h, n in zip(hits, tries, strict=True))
    more = hits[0] / tries[0] - hits[1] / tries[1]
    interval = (inside[0] - outside[1], inside[1] - outside[0])
    claimed = None
    if central is not None:
        epsilon, delta = central
        claimed = (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)
    claim = "nothing is claimed of it" if claimed is None else f"claimed at most {claimed:.4g}"
    what = (
        f"{target}: right {hits[0] / tries[0]:.4g} of people in the release, {hits[1] / tries[1]:.4g} of others; "
        f"the difference {more:.4g}, {claim}"
    )
    return Attack(name, claimed, more, claimed is None or interval[0] <= claimed, what, interval)


def _guess(published: Mapping[str, Codes], person: Mapping[str, int], target: str) -> bool:
    agreeing = sum((published[n] == code).astype(np.int64) for n, code in person.items() if n != target)
    nearest = published[target][agreeing == np.max(agreeing)]
    return int(np.bincount(nearest).argmax()) == person[target]
