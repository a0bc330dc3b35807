"""A bundle with what its attacks are counted by: the true rows, the published ones, and whose each of them is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.holder.audit.anonymity import by_source_row, looks_of
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.order_of_rows import Agreement, guessed_orders, order_attack
from pramana.mechanisms.table import CoinGroups, Exchange, Product, RecordRetention
from pramana.methods.retention.plan import RandomisedPlan
from pramana.randomness.samplers import Codes
from pramana.run.trace import Retraced

Numbers = NDArray[np.int64]
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
        kept = np.sort(self.traced.order)
        orders = guessed_orders(len(kept), (self.traced.context,))
        return {name: kept[order] for name, order in orders.items()}

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

    @property
    def table(self) -> LinkedTable | None:
        """What linkage is counted on; None where there is no law, or no order."""
        law = self.traced.mechanism
        if isinstance(self.traced.plan, RandomisedPlan):
            law = self.traced.plan.law or law
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
        placed = {}
        for name, codes in self.published.items():
            placed[name] = np.empty_like(codes)
            placed[name][self.order] = codes
        return placed

    def claim(self, notion: str) -> object:
        """The value of a guarantee of the certificate, of its first unit; None where it has none."""
        stated = self.traced.bundle.certificate.guarantees
        return next((g["value"] for g in stated if g["notion"] == notion), None)

    def number(self, notion: str) -> float | None:
        """The same, where it is a number."""
        value = self.claim(notion)
        return float(value) if isinstance(value, float | int) else None


def _agreement(traced: Retraced, published: dict[str, Codes]) -> Agreement:
    def agreement(rows: Numbers) -> NDArray[np.float64]:
        same = [traced.true[name][rows] == codes for name, codes in published.items()]
        return np.asarray(np.mean(same, axis=0), np.float64)

    return agreement


def _by_look(traced: Retraced) -> tuple[Numbers, Numbers, Agreement]:
    """The looks of published rows, those due, and how far a source row's own look agrees with them."""
    found = pa.Table.from_batches(traced.bundle.batches())
    quasi = {a.name for a in traced.plan.attributes if not a.raw} | {a.name for a in traced.plan.celled}
    columns = [n for n in found.column_names if n in quasi or n not in {a.name for a in traced.plan.attributes}]
    columns = columns or found.column_names  # without classes a row looks like all of itself
    both = {n: pa.concat_arrays([_plain(t.column(n)) for t in (found, traced.table)]) for n in columns}
    looks = looks_of(pa.table(both), columns)
    shown, own = looks[: found.num_rows], looks[found.num_rows :]
    of_row = by_source_row(own, traced.order, int(traced.order.max(initial=0)) + 1)
    return shown, own, lambda rows: (of_row[rows] == shown).astype(np.float64)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column by its texts: a CSV has no types of its own, and dictionaries differ from file to file."""
    return pa.array([str(cell) for cell in column.to_pylist()], pa.string())
