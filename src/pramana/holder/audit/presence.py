"""The reversal attack on a published bundle: all from the bundle and the public table, nothing from private rows.

The intruder groups the public table by the certified levels, reads the cells of every class, and undoes them as
`generalize.reversed_of` describes. Independently, existence probabilities are computed again from what was read.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.counting.classes import Layout, grouped
from pramana.errors import BundleError, CheckError, UnreachableError
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.holder.inspect import source_for
from pramana.io.codes import encode
from pramana.methods.cells import hierarchy_cells, pdf_cells, set_cells
from pramana.methods.presence.plan import PresencePlan
from pramana.methods.presence.reversal import Reversal, Seen, reversed_of
from pramana.methods.presence.search import MEASURES as PRESENCE_MEASURES
from pramana.methods.presence.search import SPREAD, Pair, levels_from_public, matched, spalm
from pramana.methods.presence.shaping import People, reached_range
from pramana.methods.published_cells import PublishedCells
from pramana.methods.registry import restore
from pramana.run.trace import coded_as_certified


@dataclass(frozen=True)
class ReversalAudit:
    """The attack's outcome beside what the certificate claims."""

    claimed: tuple[float, float]
    at_their_word: tuple[float, float]  # existence probabilities of someone who takes the cells at their word
    reversal: Reversal

    @property
    def ok(self) -> bool:
        low, high = self.at_their_word
        return self.reversal.ok and self.claimed[0] <= low + 1e-9 and high <= self.claimed[1] + 1e-9

    def to_json(self) -> dict[str, Any]:
        """As a line of `attacks`."""
        return {
            "name": "reversal",
            "claimed": list(self.claimed),
            "measured": [self.reversal.lowest, self.reversal.highest],
            "ok": self.ok,
            "at_their_word": list(self.at_their_word),
            **msgspec.to_builtins(self.reversal),
        }


def presence_attacks(attacked: Attacked, source: object, public: object) -> list[Outcome]:
    """Reversal, and what the choice of levels tells, of a release in which being listed is the secret."""
    plan = attacked.traced.plan.presence
    if plan is None:
        return []
    everyone = source if plan.flag and public is None else public
    if everyone is None:
        return [NotRun("presence, reversal", "the public table was not given")]
    outcome = reversal_attack(reversal(attacked.traced.bundle.path, everyone))
    return [outcome, choice_attack(plan, _pair(attacked, plan, everyone))]


def reversal_attack(result: ReversalAudit) -> Outcome:
    name, (low, high) = "presence, reversal", result.claimed
    lowest, highest = result.reversal.lowest, result.reversal.highest
    if lowest is None or highest is None:  # what the intruder is left with is not known
        if result.reversal.verdict == "unproven":
            return NotRun(name, result.reversal.reason)
        return Attack(name, high, result.at_their_word[1], False, result.reversal.reason)
    what = f"existence between {lowest:.4g} and {highest:.4g}; claimed {low:.4g} to {high:.4g}"
    more = {"claimed_range": [low, high], "measured_range": [lowest, highest]}
    return Attack(name, high, highest, result.ok, what, (lowest, highest), more)


def _pair(attacked: Attacked, plan: PresencePlan, everyone: object) -> Pair:
    """The public table, and who of it is present, by source and key."""
    layout = Layout(tuple(q.ladder for q in plan.quasi))
    true = [attacked.traced.true[q.name] for q in plan.quasi]
    if plan.flag:
        present = np.zeros(len(true[0]), np.bool_)
        present[attacked.traced.order] = True
        return Pair(layout, tuple(true), present)
    coded = coded_as_certified(attacked.traced.bundle.path, everyone, [q.name for q in plan.quasi])
    columns = [coded[q.name] for q in plan.quasi]
    return Pair(layout, tuple(columns), matched(layout, columns, true))


def reversal(bundle: str | Path, public: Any) -> ReversalAudit:
    """Attack a bundle of method presence with the public table (a path or a data frame) in hand."""
    certificate = Bundle.open(bundle).certificate
    plan = restore(certificate).presence
    if plan is None:
        raise BundleError("Reversal must be tried on a bundle of method presence", certificate.method)
    seen = seen_by_intruder(plan, PublishedCells.open(bundle), public)
    low, high = reached_range(seen.people, seen.present, seen.cells)
    wanted = (float(plan.wanted.lowest), float(plan.wanted.highest))
    return ReversalAudit(wanted, (0.0 if seen.alone else low, high), reversed_of(seen))


def seen_by_intruder(plan: PresencePlan, published: PublishedCells, public: Any) -> Seen:
    """The public table grouped by the certified levels, and the cells of every class."""
    quasi = plan.quasi
    table = source_for(public).read([q.name for q in quasi])
    columns = [encode(table.column(q.name), q.attribute.coded, q.name) for q in quasi]
    layout = Layout(tuple(q.ladder for q in quasi))
    cells = tuple(published.cells[published.names.index(q.name)] for q in quasi)
    labels = [
        ladder.maps[level][c.values[c.first[:-1]]].tolist()
        for ladder, level, c in zip(layout.ladders, plan.levels, cells, strict=True)
    ]
    base, index = grouped(layout, columns)
    rolled, into = base.rolled_with_index(plan.levels)
    number = {key: c for c, key in enumerate(zip(*labels, strict=True))}
    classes = len(cells[0])
    if len(number) != classes:
        raise CheckError("Published classes must differ in their labels", f"{classes - len(number)} that repeat")
    keys = zip(*[rolled.codes(a).tolist() for a in range(len(quasi))], strict=True)
    class_number = np.array([number.get(key, -1) for key in keys], np.int64)
    if alone := len(number) - len(set(class_number.tolist()) - {-1}):
        raise CheckError("Every published class must have people of the public table", f"{alone} without")
    row_class = class_number[into]
    class_of = row_class[index]
    inside = class_of >= 0
    counted = tuple(
        pdf_cells(ladder, column[inside], class_of[inside], classes)
        for ladder, column in zip(layout.ladders, columns, strict=True)
    )
    uniform = tuple(
        set_cells(c) if plan.design.start == "set" else hierarchy_cells(ladder, c, level)
        for ladder, c, level in zip(layout.ladders, counted, plan.levels, strict=True)
    )
    return Seen(
        people=People.of(base, row_class, classes),
        present=published.sizes,
        uniform=uniform,
        public=counted,
        cells=cells,
        wanted=plan.wanted,
        setting=plan.design,
        names=tuple(ladder.name for ladder in layout.ladders),
        alone=int((~inside).sum()),
    )


# Presence: what the choice of levels tells an intruder who knows how levels are chosen.
#
# Levels that are searched on the private table say that cheaper ones did not hold there. The intruder takes
# every world, that is every set of people of the public table with as many present in each published class,
# asks which of them would have been published at these levels, and counts who is present in those. Levels
# that follow from the public table and the number of people present are the same in every world, and tell
# nothing.


NAME = "presence, what the choice of levels tells"
_ALL_WORLDS = 2000  # as many are tried one by one; of more, some at random
_WORLDS, _LEAST_WORLDS = 300, 50
_PEOPLE = 1_000_000  # of all worlds that are tried
Levels = tuple[int, ...]
Range = tuple[float, float]
World = NDArray[np.bool_]


def choice_attack(plan: PresencePlan, pair: Pair) -> Outcome:
    """`pair`: the public table, and who of it is present, which the intruder does not know."""
    if plan.design.mode != "public":
        return NotRun(NAME, "cells come from private counts, which reversal is about")
    if plan.chosen == "given":
        return NotRun(NAME, "the levels were given: whether someone looked at the private table is not known")
    if plan.chosen == "public" and _from_public(plan, pair):
        shares = _shares(plan, pair)
        what = "the levels follow from the public table, the number present and delta: they tell nothing"
        return _against(plan, shares, shares, what)
    measure = next((m for m in PRESENCE_MEASURES if _searched(plan, m, pair)), None)
    if measure is None:
        return NotRun(NAME, "the levels are of a choice with weights or a spread that no certificate states")
    return _by_worlds(plan, pair, measure)


def _from_public(plan: PresencePlan, pair: Pair) -> bool:
    for measure in PRESENCE_MEASURES:
        with contextlib.suppress(UnreachableError):
            if levels_from_public(pair, plan.wanted, measure, None, SPREAD) == plan.levels:
                return True
    return False


def _searched(plan: PresencePlan, measure: str, pair: Pair) -> bool:
    """Whether a search by this measure leads to the published levels."""
    with contextlib.suppress(UnreachableError):
        return spalm(pair, plan.wanted, measure, None, plan.design).levels == plan.levels
    return False


def _by_worlds(plan: PresencePlan, pair: Pair, measure: str) -> Outcome:
    class_of = class_of_people(pair, plan.levels)
    present = np.bincount(class_of, weights=pair.present).astype(int)
    people = np.bincount(class_of)
    count = math.prod(math.comb(n, m) for n, m in zip(people.tolist(), present.tolist(), strict=True))
    every = count <= _ALL_WORLDS
    tries = count if every else min(_WORLDS, _PEOPLE // len(class_of))
    if tries < _LEAST_WORLDS and not every:
        return NotRun(NAME, f"{len(class_of):,} people are too many to try worlds with")
    worlds = _all_worlds(class_of, present) if every else some_worlds(class_of, present, tries)
    fitting = [world for world in worlds if _searched(plan, measure, replace(pair, present=world))]
    chance = np.mean(fitting, axis=0) if fitting else pair.present.astype(float)
    lowest, highest = float(chance.min()), float(chance.max())
    shown = "all" if every else "some"
    what = (
        f"{len(fitting):,} of {tries:,} worlds with these counts ({shown} of them tried) have these levels; "
        f"in those, existence is between {lowest:.4g} and {highest:.4g}"
    )
    surely = (lowest, highest)
    if not every:
        alpha = CHANCE_OF_FALSE_ALARM / len(chance)
        here = np.rint(chance * len(fitting)).astype(int)
        surely = (
            clopper_pearson(int(here.min()), max(len(fitting), 1), alpha)[1],
            clopper_pearson(int(here.max()), max(len(fitting), 1), alpha)[0],
        )
    return _against(plan, (lowest, highest), surely, what, fitting=len(fitting), worlds=tries)


def _against(plan: PresencePlan, measured: Range, surely: Range, what: str, **more: int) -> Attack:
    """`surely`: what the lowest chance is at most, and the highest at least, whichever worlds were tried.

    The certificate of searched levels takes intruders to infer nothing from them, so nothing is claimed of it.
    """
    low, high = float(plan.wanted.lowest), float(plan.wanted.highest)
    inside = surely[0] >= low - 1e-9 and surely[1] <= high + 1e-9
    ranges = {"claimed_range": [low, high], "measured_range": list(measured), "inside": inside, **more}
    if plan.chosen == "searched":
        verb = "keeps to" if inside else "LEAVES"
        words = f"{what}, which {verb} {low:.4g} to {high:.4g}; of searched levels nothing is claimed"
        return Attack(NAME, None, measured[1], True, words, None, ranges)
    return Attack(NAME, high, measured[1], inside, f"{what}; claimed {low:.4g} to {high:.4g}", None, ranges)


def _shares(plan: PresencePlan, pair: Pair) -> Range:
    """Of the classes in which someone is present, and of the others."""
    class_of = class_of_people(pair, plan.levels)
    share = np.bincount(class_of, weights=pair.present) / np.bincount(class_of)
    return float(share.min()), float(share.max())


def class_of_people(pair: Pair, levels: Levels) -> NDArray[np.int64]:
    """The class of everyone in the public table at these levels."""
    labels = [
        np.asarray(ladder.maps[level])[codes]
        for ladder, level, codes in zip(pair.layout.ladders, levels, pair.columns, strict=True)
    ]
    return np.unique(np.stack(labels), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _all_worlds(class_of: NDArray[np.int64], present: NDArray[np.int64]) -> Iterator[World]:
    members = [np.flatnonzero(class_of == c) for c in range(len(present))]
    choices = [combinations(m.tolist(), int(n)) for m, n in zip(members, present, strict=True)]
    for chosen in product(*choices):
        world = np.zeros(len(class_of), np.bool_)
        world[[person for some in chosen for person in some]] = True
        yield world


def some_worlds(class_of: NDArray[np.int64], present: NDArray[np.int64], tries: int) -> Iterator[World]:
    """Each as likely as any other: people of every class in random order, of whom the first are present."""
    rng = np.random.default_rng(20)
    for _ in range(tries):
        order = np.lexsort((rng.random(len(class_of)), class_of))
        sizes = np.bincount(class_of)
        rank = np.arange(len(class_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        world = np.zeros(len(class_of), np.bool_)
        world[order] = rank < present[class_of[order]]
        yield world
