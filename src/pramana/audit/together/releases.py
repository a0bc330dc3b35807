"""All attacks on several bundles about the same people, made from one source under one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa

from pramana.audit.attacked import Attacked
from pramana.audit.classes import by_source_row, crossed_classes
from pramana.audit.together.averaging import averaged_epsilon, averaged_inference, number_of
from pramana.audit.together.coins import reused_coins, side_by_side
from pramana.audit.together.versions import colluding_files
from pramana.audit.verdict import Attack, NotRun, Outcome
from pramana.ledger import Ledger, Total
from pramana.methods.levels import LevelPlan
from pramana.randomness import Codes

_LOCAL = "local-differential-privacy"


def attacks_together(releases: Sequence[Attacked], ledger: str | Path | None) -> list[Outcome]:
    """`releases`: at least two. With a ledger its total stands beside what they tell together."""
    if len(releases) < 2:
        return []
    if all(isinstance(release.traced.plan, LevelPlan) for release in releases):
        return colluding_files(releases)
    total = None if ledger is None else _total(ledger)
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
    attacks = [outcome for outcome in outcomes if isinstance(outcome, Attack)]
    lost = [attack for attack in attacks if not attack.ok]
    return next(iter([*lost, *attacks, *outcomes]))


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
            texts = [[str(cell) for cell in table.column(name).to_pylist()] for table in tables]
            joint = np.asarray(pa.array(texts[0] + texts[1]).dictionary_encode().indices)
            codes[0][name], codes[1][name] = joint[: len(texts[0])], joint[len(texts[0]) :]
    return codes


def _averaged(releases: Sequence[Attacked], total: Total | None) -> list[Outcome]:
    name = f"{number_of(len(releases))} releases, epsilon together"
    others = [r for i, r in enumerate(releases) if not any(_same_content(r, one) for one in releases[:i])]
    if len(others) < 2:
        return [NotRun(name, "they are one release, and having it twice adds nothing")]
    tables = [release.table for release in others]
    epsilons = [release.number(_LOCAL) for release in others]
    stated = [epsilon for epsilon in epsilons if epsilon is not None]
    linked = [table for table in tables if table is not None]
    if len(linked) < len(others) or len({len(table.order) for table in linked}) > 1:
        return [NotRun(name, "whose the rows of one of them are is not known, or it has others")]
    outcomes: list[Outcome] = [averaged_inference(linked)]
    if len(stated) < len(others):
        return [*outcomes, NotRun(name, "one of them claims no epsilon")]
    together = averaged_epsilon(linked, sum(stated))
    return [*outcomes, together if total is None else _beside_total(together, total)]


def _crossed(releases: Sequence[Attacked], total: Total | None) -> list[Outcome]:
    name = f"{number_of(len(releases))} releases, intersection of classes"
    orders = [release.order for release in releases]
    claims = [k for k in (release.number("k-anonymity") for release in releases) if k is not None]
    if any(order is None for order in orders) or not claims:
        return [NotRun(name, "whose the rows of one of them are is not known, or none claims k")]
    records = max(int(order.max(initial=0)) for order in orders if order is not None) + 1
    looks = [
        by_source_row(release.look, order, records)
        for release, order in zip(releases, orders, strict=True)
        if order is not None
    ]
    found = crossed_classes(looks, min(claims), name)
    if total is None:
        return [found]
    notes = " ".join(total.notes) or "nothing"
    what = f"{found.detail}; the ledger's total about {total.people!r}: {total.words()}. {notes}"
    return [replace(found, detail=what, more={**found.more, "ledger_total": total.epsilon})]


def _total(ledger: str | Path) -> Total:
    known = Ledger.open(ledger)
    try:
        return known.total()
    finally:
        known.close()


def _beside_total(together: Attack, total: Total) -> Attack:
    """The ledger's sum over all releases about these people, which must not be exceeded either."""
    ok = together.ok and (total.epsilon is None or together.measured <= total.epsilon)
    what = f"{together.detail}; the ledger's total about {total.people!r}: {total.words()}"
    return replace(together, ok=ok, detail=what, more={**together.more, "ledger_total": total.epsilon})
