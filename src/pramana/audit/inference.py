"""Attribute inference: what a person's own published record tells of one value, and what being in it adds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pramana.audit.linkage import AttackedLaw, LinkedTable
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms import Channel, CoinGroups, Product, RecordRetention, Retention
from pramana.randomness import ONE, Codes

_PEOPLE = 1000
_LARGEST = 2000  # categories of an attribute whose every pair is compared


def attribute_inference(table: LinkedTable) -> Outcome:
    """Someone who knows which row is whose, and how frequent values are, guesses the true value from the row.

    The claim is the best that anyone can do under the law: the largest joint chance, summed over published values.
    """
    name = "attribute inference"
    columns = {n: law for n, law in matrices_of(table.law).items() if 1 < len(law) <= _LARGEST}
    if not columns:
        return NotRun(name, "no attribute has a law of its own that is small enough")
    alpha = CHANCE_OF_FALSE_ALARM / len(columns)
    worst: tuple[float, str, float, float, tuple[float, float]] | None = None
    by_attribute = {}
    for column, law in columns.items():
        true, shown = table.true[column][table.order], table.published[column]
        joint = np.bincount(true, minlength=len(law))[:, None] / len(true) * law
        guess, claimed = joint.argmax(0), float(joint.max(0).sum())
        right = int((guess[shown] == true).sum())
        interval = clopper_pearson(right, len(true), alpha)
        by_attribute[column] = {"claimed": claimed, "measured": right / len(true)}
        beyond = interval[0] - claimed
        if worst is None or beyond > worst[0]:
            worst = beyond, column, claimed, right / len(true), interval
    assert worst is not None
    _, column, claimed, share, interval = worst
    what = f"{column} guessed from a person's own row: right {share:.4g}; the law allows {claimed:.4g}"
    return Attack(
        name, claimed, share, interval[0] <= claimed + 1e-12, what, interval, {"attributes": by_attribute}
    )


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
        rows = np.random.default_rng(20).permutation(len(people[target]))[:_PEOPLE]
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
    told = "nothing is claimed of it" if claimed is None else f"claimed at most {claimed:.4g}"
    what = (
        f"{target}: right {hits[0] / tries[0]:.4g} of people in the release, {hits[1] / tries[1]:.4g} of others; "
        f"the difference {more:.4g}, {told}"
    )
    return Attack(name, claimed, more, claimed is None or interval[0] <= claimed, what, interval)


def _guess(published: Mapping[str, Codes], person: Mapping[str, int], target: str) -> bool:
    agreeing = sum((published[n] == code).astype(np.int64) for n, code in person.items() if n != target)
    nearest = published[target][agreeing == np.max(agreeing)]
    return int(np.bincount(nearest).argmax()) == person[target]
