"""A bundle with what its attacks are counted by: the true rows, the published ones, and whose each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.holder.audit.anonymity import by_source_row
from pramana.holder.audit.linkage import LinkedTable, distinct_rows, taken
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, clopper_pearson
from pramana.mechanisms.table import CoinGroups, Exchange, Product, RecordRetention
from pramana.randomness.samplers import Codes
from pramana.run.trace import Retraced

Numbers = NDArray[np.int64]
Agreement = Callable[[Numbers], NDArray[np.float64]]  # true rows at published places -> how far each agrees
_MOST_ORDERS, _LEAST_ORDERS, _PLACES = 200, 20, 5_000_000  # random orders, and rows in all of them
_FEW = 100  # rows that agree by chance: beyond, their number is as good as normal
UNTRACED = "the rows are not those that source and key make, and whose they are is not known"


@dataclass(frozen=True, eq=False)
class Attacked:
    """`order` is the source row of every published one, and None where nobody knows it."""

    traced: Retraced
    coded: bool  # published values are codes of public domains, not cells of classes
    published: dict[str, Codes]
    look: Numbers  # of every published row of cells
    due: Numbers  # of every row of cells that source and key make
    agreement: Agreement
    order: Numbers | None

    @classmethod
    def of(cls, traced: Retraced) -> Attacked:
        coded = bool(traced.mechanism.sizes)
        if coded:
            published = traced.bundle.codes(list(traced.true))
            agreement, look = _agreement(traced, published), np.zeros(0, np.int64)
            due = look
        else:
            published, (look, due, agreement) = {}, _by_look(traced)
        attacked = cls(traced, coded, published, look, due, agreement, traced.order if traced.same else None)
        return attacked if traced.same else replace(attacked, order=attacked._guessed())

    def orders(self) -> dict[str, Numbers]:
        """Of the rows that were published, orders that anyone can write down."""
        published = np.sort(self.traced.order)
        return {"the source's own order": published, "the source's order from its end": published[::-1]}

    def _guessed(self) -> Numbers | None:
        """The order that fits rows which are not those of the key: the key's own, or one that anyone can guess."""
        if not self.whole:
            return None
        for order in (self.traced.order, *self.orders().values()):
            if not order_attack(self.agreement, {"": order}).ok:
                return order
        return None

    @property
    def whole(self) -> bool:
        """Whether the file has as many rows as source and key make."""
        shown = len(next(iter(self.published.values()))) if self.coded else len(self.look)
        return shown == len(self.traced.order)

    @cached_property
    def table(self) -> LinkedTable | None:
        """What linkage is counted on; None where there is no law, or no order."""
        law = self.traced.plan.law or self.traced.mechanism
        if self.order is None or not isinstance(law, Product | RecordRetention | CoinGroups | Exchange):
            return None
        if not set(law.sizes) <= set(self.traced.true):  # strata, each with a law of its own
            return None
        true = {name: self.traced.true[name] for name in law.sizes}
        return LinkedTable(law, true, {name: self.published[name] for name in law.sizes}, self.order)

    def in_source_order(self) -> dict[str, Codes] | None:
        """The published codes of everyone, by source row; None where whose they are is not known."""
        if self.order is None:
            return None
        return taken(self.published, np.argsort(self.order))

    def claim(self, notion: str) -> Mapping[str, Any]:
        """A guarantee of the certificate, of its first unit; empty where it has none."""
        return next((g for g in self.traced.bundle.certificate.guarantees if g["notion"] == notion), {})

    def number(self, notion: str, key: str = "value") -> float | None:
        """The value of a guarantee, or another key of it, where it is a number."""
        value = self.claim(notion).get(key)
        return float(value) if isinstance(value, float | int) else None


def _agreement(traced: Retraced, published: dict[str, Codes]) -> Agreement:
    def agreement(rows: Numbers) -> NDArray[np.float64]:
        same = [traced.true[name][rows] == codes for name, codes in published.items()]
        return np.asarray(np.mean(same, axis=0), np.float64)

    return agreement


def _by_look(traced: Retraced) -> tuple[Numbers, Numbers, Agreement]:
    """The looks of published rows, those due, and how far a source row's own look agrees with them."""
    published = pa.Table.from_batches(traced.bundle.batches())
    quasi = {a.name for a in traced.plan.attributes if not a.raw} | {a.name for a in traced.plan.celled}
    columns = [
        n for n in published.column_names if n in quasi or n not in {a.name for a in traced.plan.attributes}
    ]
    columns = columns or published.column_names  # without classes a row looks like all of itself
    looks = distinct_rows(codes_by_text((published, traced.table), name) for name in columns)[0]
    shown, own = looks[: published.num_rows], looks[published.num_rows :]
    of_row = by_source_row(own, traced.order, int(traced.order.max(initial=0)) + 1)
    return shown, own, lambda rows: (of_row[rows] == shown).astype(np.float64)


def codes_by_text(tables: Sequence[pa.Table], name: str) -> Any:
    """A column of several tables, one after another, in codes of what is written.

    A CSV has no types of its own, and dictionaries differ from file to file.
    """
    texts = [str(cell) for table in tables for cell in table.column(name).to_pylist()]
    return np.asarray(pa.array(texts, pa.string()).dictionary_encode().indices)


# ---------------------------------------------------------------- the order of rows
#
# Guessed orders need no true order to be judged: rows at guessed places either agree with the source more often
# than rows at random places do, or they do not.


def order_attack(agreement: Agreement, orders: Mapping[str, Numbers]) -> Attack:
    """Whether any guessed order fits the published rows better than orders by chance do."""
    from scipy import stats

    rng = np.random.default_rng(20)
    rows = next(iter(orders.values()))  # those that were published, in some order
    tries = min(_MOST_ORDERS, max(_LEAST_ORDERS, _PLACES // len(rows)))
    by_chance = np.array([float(agreement(rng.permutation(rows)).mean()) for _ in range(tries)])
    mean, spread = float(by_chance.mean()), float(by_chance.std(ddof=1))
    agreeing = {name: float(agreement(order).mean()) for name, order in orders.items()}
    best = max(agreeing, key=lambda name: agreeing[name])
    limit = mean + float(stats.t.isf(CHANCE_OF_FALSE_ALARM, tries - 1)) * spread
    if mean * len(rows) < _FEW:  # a sum over few rows that seldom agree has a longer tail than its spread says
        limit = max(limit, (float(stats.poisson.isf(CHANCE_OF_FALSE_ALARM, mean * len(rows))) + 1) / len(rows))
    share = agreeing[best]
    what = f"rows at the places of {best} agree {share:.4g}; by chance {mean:.4g}, at most {limit:.4g}"
    return Attack("rows, guessed order", limit, share, share <= limit, what, more={"by_chance": mean})


def share_by_place(order: Numbers) -> Attack:
    """How many rows stand where the source's own order puts them: about one, in a table of any size."""
    right = int((np.argsort(np.argsort(order)) == np.arange(len(order))).sum())
    low, high = clopper_pearson(right, len(order))
    claimed = 1 / len(order)
    what = f"{right:,} of {len(order):,} rows stand where the source's own order puts them; by chance one does"
    return Attack("rows, places", claimed, right / len(order), low <= claimed, what, (low, high))
