"""All attacks on several bundles about the same people, made from one source under one key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.holder.audit.anonymity import attribute_inference, by_source_row, crossed_classes
from pramana.holder.audit.attacked import UNTRACED, Attacked, codes_by_text, order_attack
from pramana.holder.audit.collusion import Version, collusion
from pramana.holder.audit.epsilon import guesses_of, leaning_of_pairs, least_epsilon
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Total
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.levels import AtLevel
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.notions.classes import KAnonymity
from pramana.notions.randomised import LocalPrivacy
from pramana.randomness.samplers import ONE, Codes

# Versions at levels, as they lie in their files: what their recipients have together (paper 3).


def colluding_files(releases: Sequence[Attacked]) -> list[Outcome]:
    """The versions of several bundles of one design: together they must tell what the best tells alone."""
    name = "collusion across levels, in the files"
    levels = [release.traced.mechanism for release in releases]
    at_level = [level for level in levels if isinstance(level, AtLevel)]
    if len(at_level) < len(levels) or len({level.design.digest for level in at_level}) > 1:
        return [NotRun(name, "they are not versions of one design that come from the key")]
    published = [release.published for release in releases]
    outcomes = _repeated_requests(list(zip(at_level, published, strict=True)))
    versions: list[Version] = []
    for release, level in zip(releases, at_level, strict=True):
        placed = release.in_source_order()
        if placed is None:
            return [*outcomes, NotRun(name, UNTRACED)]
        versions.append((level.level, {n: placed[n] for n in level.sizes}))
    design, true = at_level[0].design, releases[0].traced.true
    result = collusion(design, {n: true[n] for n in design.sizes}, versions)
    what = (
        f"{result.members} files together reconstruct {result.together:.4g}, the best alone "
        f"{result.best_alone:.4g}, if they come from one process; that they do has a p-value of "
        f"{result.p_value:.2g}"
    )
    more = {"p_value": result.p_value}
    return [*outcomes, Attack(name, result.best_alone, result.together, result.useless, what, more=more)]


def _repeated_requests(versions: Sequence[tuple[AtLevel, Mapping[str, Codes]]]) -> list[Outcome]:
    """A level that was asked for again: the same rows, or a second opinion about every one of them."""
    name = "repeated requests of one level"
    levels = [(mechanism.level, table) for mechanism, table in versions]
    shares = [_differing(one, other) for (level, one), (again, other) in combinations(levels, 2) if level == again]
    if not shares:
        return []
    differing = max(shares)
    what = f"{differing:.4g} of the rows differ between {len(shares)} pairs of files at the same level"
    return [Attack(name, 0.0, differing, differing == 0, what)]


def _differing(one: Mapping[str, Codes], other: Mapping[str, Codes]) -> float:
    """The share of rows that are not the same at the same place."""
    if {name: len(codes) for name, codes in one.items()} != {name: len(codes) for name, codes in other.items()}:
        return 1.0
    return float(np.logical_or.reduce([codes != other[name] for name, codes in one.items()]).mean())


# Two releases about the same people: coins are thrown anew for each, and so is the order.


_LARGEST = 1 << 12
Part = tuple[str, ...]  # attributes with one coin
Kept = tuple[NDArray[np.bool_], NDArray[np.float64]]  # who shows the true value, and the chance of it


def reused_coins(one: LinkedTable, other: LinkedTable) -> Outcome:
    """How often both releases show a person's true value: as often as independent coins would do."""
    name = "two releases, coins thrown anew"
    if len(one.order) != len(other.order):
        return NotRun(name, "they are not of the same rows")
    first, second = _kept_by_part(one), _kept_by_part(other)
    shared = [part for part in first if part in second]
    if not shared:
        return NotRun(name, "no coin is of the same attributes in both")
    worst = None
    for part in shared:
        (shows, chance), (again, also) = first[part], second[part]
        claimed = float((chance * also).mean())
        both = int((shows & again).sum())
        low, high = clopper_pearson(both, one.records, CHANCE_OF_FALSE_ALARM / len(shared))
        ok = low <= claimed <= high
        if worst is None or (worst.ok and not ok):
            share = both / one.records
            what = (
                f"{', '.join(part)}: both show the true value in {share:.4g} of people; "
                f"independent coins do in {claimed:.4g}"
            )
            worst = Attack(name, claimed, share, ok, what, (low, high))
    assert worst is not None
    return worst


def _kept_by_part(table: LinkedTable) -> dict[Part, Kept]:
    """By the attributes that have one coin, a record's or a group's together: everyone's, as in the source."""
    rows = np.sort(table.order)
    same = {name: (table.true[name] == shown)[rows] for name, shown in table.by_person().items()}
    parts: dict[Part, Kept] = {}
    for law in table.law.parts if isinstance(table.law, CoinGroups) else (table.law,):
        if isinstance(law, RecordRetention):
            redrawn = law.bound / ONE
            chance = 1 - redrawn + redrawn / math.prod(law.sizes.values())
            whole = np.logical_and.reduce([same[name] for name in law.sizes])
            parts[tuple(law.sizes)] = whole, np.full(len(rows), chance)
        elif isinstance(law, Product):
            some = {n: c for n, c in law.channels.items() if 1 < c.size <= _LARGEST}
            parts |= {(n,): (same[n], _diagonal(c)[table.true[n][rows]]) for n, c in some.items()}
    return parts


def _diagonal(channel: Channel) -> NDArray[np.float64]:
    """The chance to be published as it is, by true value."""
    if isinstance(channel, Retention):
        return np.full(channel.size, float(channel.diagonal))
    return np.asarray(np.diagonal(channel.weights) / ONE, np.float64)


def side_by_side(one: Mapping[str, Codes], other: Mapping[str, Codes]) -> Outcome:
    """Rows at the same place of two files: if they are the same people, one file's order tells the other's.

    Needs neither key nor source. Rows of two orders agree as often as rows at random do.
    """
    name = "two releases, rows side by side"
    shared = [column for column in one if column in other and len(one[column]) == len(other[column])]
    if not shared:
        return NotRun(name, "they share no column, or have other numbers of rows")
    if len(shared) == len(one) == len(other) and all(np.array_equal(one[n], other[n]) for n in shared):
        return Attack(name, None, 1.0, True, "both files have the same rows: the second adds nothing")

    def agreement(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(np.mean([one[n] == other[n][rows] for n in shared], axis=0), np.float64)

    records = len(one[shared[0]])
    result = order_attack(agreement, {"the first file": np.arange(records)})
    what = f"rows at the same place agree {result.measured:.4g}; at random places at most {result.claimed:.4g}"
    return replace(result, name=name, detail=what)


# Averaging: someone who has several releases of the same people, and knows which rows belong together.
#
# Coins that are thrown anew are a second opinion about every value. What any number of releases tell together
# is the product of their likelihoods; it is held against the sum of the epsilons, and against the best guess
# that all the laws together allow.


_WORDS = ("no", "one", "two", "three", "four", "five", "six")
Floats = NDArray[np.float64]


def number_of(releases: int) -> str:
    """As a word, where there are few."""
    return _WORDS[releases] if releases < len(_WORDS) else str(releases)


def averaged_epsilon(tables: Sequence[LinkedTable], claimed: float) -> Attack:
    """Whose are these rows, one of each release, asked of pairs of people; `claimed` is what composition gives."""
    leanings = np.sum([leaning_of_pairs(table) for table in tables], axis=0)
    guesses = guesses_of(leanings)
    low = least_epsilon(guesses)
    what = (
        f"at least {low:.4g} by {guesses.right:,} right guesses of {guesses.tries:,} from all "
        f"{len(tables)}, claimed {claimed:.4g} together"
    )
    name = f"{number_of(len(tables))} releases, epsilon together"
    more = {"lower_bound": True, "releases": len(tables)}
    return Attack(name, claimed, low, low <= claimed, what, more=more)


def attacks_together(releases: Sequence[Attacked], ledger: str | Path | None) -> list[Outcome]:
    """`releases`: at least two. With a ledger its total stands beside what they tell together."""
    if len(releases) < 2:
        return []
    if all(release.traced.plan.version is not None for release in releases):
        return colluding_files(releases)
    total = None
    if ledger is not None:
        with closing(Ledger.open(ledger)) as opened:
            total = opened.total()
    outcomes = _pairs(releases)
    if all(release.coded for release in releases):
        return [*outcomes, *_averaged(releases, total)]
    if any(release.coded for release in releases):
        return [*outcomes, NotRun(f"{number_of(len(releases))} releases", "they are of different kinds")]
    return [*outcomes, *_crossed(releases, total)]


def _pairs(releases: Sequence[Attacked]) -> list[Outcome]:
    """What is asked of every two of them: the pair that loses, or else the first."""
    side: list[Outcome] = []
    coins: list[Outcome] = []
    for one, other in combinations(releases, 2):
        side.append(side_by_side(*_comparable(one, other)))
        first, second = one.table, other.table
        if first is not None and second is not None and not _same_content(one, other):
            coins.append(reused_coins(first, second))
    return [_worst(outcomes) for outcomes in (side, coins) if outcomes]


def _worst(outcomes: list[Outcome]) -> Outcome:
    """A claim that was lost, else an attack, else what was not run; the first of each."""
    return min(outcomes, key=lambda outcome: outcome.ok if isinstance(outcome, Attack) else 2)


def _same_content(one: Attacked, other: Attacked) -> bool:
    return one.traced.bundle.certificate.content == other.traced.bundle.certificate.content


def _comparable(one: Attacked, other: Attacked) -> tuple[dict[str, Codes], dict[str, Codes]]:
    """Columns of both files in the same codes, by what is written."""
    if one.coded and other.coded:
        sizes = [{a.name: a.coded.labels for a in r.traced.plan.attributes if not a.raw} for r in (one, other)]
        shared = [n for n in one.published if n in other.published and sizes[0].get(n) == sizes[1].get(n)]
        return {n: one.published[n] for n in shared}, {n: other.published[n] for n in shared}
    tables = [pa.Table.from_batches(release.traced.bundle.batches()) for release in (one, other)]
    codes: tuple[dict[str, Codes], dict[str, Codes]] = ({}, {})
    for name in tables[0].column_names:
        if name in tables[1].column_names:
            joint = codes_by_text(tables, name)
            codes[0][name], codes[1][name] = np.split(joint, [tables[0].num_rows])
    return codes


def _averaged(releases: Sequence[Attacked], total: Total | None) -> list[Outcome]:
    name = f"{number_of(len(releases))} releases, epsilon together"
    others = [r for i, r in enumerate(releases) if not any(_same_content(r, one) for one in releases[:i])]
    if len(others) < 2:
        return [NotRun(name, "they are one release, and having it twice adds nothing")]
    tables = [release.table for release in others]
    epsilons = [release.number(LocalPrivacy.notion) for release in others]
    stated = [epsilon for epsilon in epsilons if epsilon is not None]
    linked = [table for table in tables if table is not None]
    if len(linked) < len(others) or len({len(table.order) for table in linked}) > 1:
        return [NotRun(name, "whose the rows of one of them are is not known, or it has others")]
    averaging = f"{number_of(len(linked))} releases, attribute inference by averaging"
    outcomes = [attribute_inference(linked, averaging)]
    if len(stated) < len(others):
        return [*outcomes, NotRun(name, "one of them claims no epsilon")]
    together = averaged_epsilon(linked, sum(stated))
    return [*outcomes, together if total is None else _with_total(together, total)]


def _crossed(releases: Sequence[Attacked], total: Total | None) -> list[Outcome]:
    name = f"{number_of(len(releases))} releases, intersection of classes"
    orders = [release.order for release in releases]
    claims = [k for k in (release.number(KAnonymity.notion) for release in releases) if k is not None]
    if any(order is None for order in orders) or not claims:
        return [NotRun(name, "whose the rows of one of them are is not known, or none claims k")]
    known = [(release.look, order) for release, order in zip(releases, orders, strict=True) if order is not None]
    records = max(int(order.max(initial=0)) for _, order in known) + 1
    looks = [by_source_row(look, order, records) for look, order in known]
    crossed = crossed_classes(looks, min(claims), name)
    if total is None:
        return [crossed]
    notes = " ".join(total.notes) or "nothing"
    what = f"{crossed.detail}; the ledger's total about {total.people!r}: {total.words()}. {notes}"
    return [replace(crossed, detail=what, more={**crossed.more, "ledger_total": total.epsilon})]


def _with_total(together: Attack, total: Total) -> Attack:
    """The ledger's sum over all releases about these people, which must not be exceeded either."""
    ok = together.ok and (total.epsilon is None or together.measured <= total.epsilon)
    what = f"{together.detail}; the ledger's total about {total.people!r}: {total.words()}"
    return replace(together, ok=ok, detail=what, more={**together.more, "ledger_total": total.epsilon})
