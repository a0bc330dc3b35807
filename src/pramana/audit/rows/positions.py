"""Rows: whether places in the published file, or the order of its dictionaries, tell of places in the source.

The adversary has the file alone. Guessed orders need no true order to be judged: rows at guessed places either
agree with the source more often than rows at random places do, or they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.bundle import Bundle
from pramana.randomness import Key, shuffled_order
from pramana.schema import Attribute

Numbers = NDArray[np.int64]
Agreement = Callable[[Numbers], NDArray[np.float64]]  # true rows at published places -> how far each agrees
_MOST_ORDERS, _LEAST_ORDERS, _PLACES = 200, 20, 5_000_000  # random orders, and rows in all of them
_SEEDS = 2048
_FEW = 100  # rows that agree by chance: beyond, their number is as good as normal


def guessed_orders(records: int, contexts: Sequence[str] = ()) -> dict[str, Numbers]:
    """Orders that anyone can write down without the key; an unkeyed one could hang on one of the `contexts`."""
    same = np.arange(records)
    orders = {"the source's own order": same, "the source's order from its end": same[::-1].copy()}
    for context in contexts:
        orders["an order without a key"] = shuffled_order(Key(bytes(32)), context, records).astype(np.int64)
    return orders


def order_attack(agreement: Agreement, orders: Mapping[str, Numbers]) -> Attack:
    """Whether any guessed order fits the published rows better than orders by chance do."""
    rng = np.random.default_rng(20)
    rows = next(iter(orders.values()))  # those that were published, in some order
    tries = min(_MOST_ORDERS, max(_LEAST_ORDERS, _PLACES // len(rows)))
    by_chance = np.array([float(agreement(rng.permutation(rows)).mean()) for _ in range(tries)])
    mean, spread = float(by_chance.mean()), float(by_chance.std(ddof=1))
    found = {name: float(agreement(order).mean()) for name, order in orders.items()}
    best = max(found, key=lambda name: found[name])
    limit = mean + _spreads(tries) * spread
    if mean * len(rows) < _FEW:
        limit = max(limit, _rare_count(mean * len(rows)) / len(rows))
    what = f"rows at the places of {best} agree {found[best]:.4g}; by chance {mean:.4g}, at most {limit:.4g}"
    return Attack("rows, guessed order", limit, found[best], found[best] <= limit, what, more={"by_chance": mean})


def _spreads(tries: int) -> float:
    """How many spreads above its mean a sum over many rows lies with a negligible chance."""
    from scipy import stats

    return float(stats.t.isf(CHANCE_OF_FALSE_ALARM, tries - 1))


def _rare_count(mean: float) -> float:
    """The same of a sum over few rows that seldom agree, which has a longer tail than its spread says."""
    from scipy import stats

    return float(stats.poisson.isf(CHANCE_OF_FALSE_ALARM, mean)) + 1


def share_by_place(order: Numbers, guess: Numbers, name: str = "the source's own order") -> Attack:
    """How many rows stand where a guessed order puts them: about one, in a table of any size."""
    right = int((order == guess).sum())
    low, high = clopper_pearson(right, len(order))
    claimed = 1 / len(order)
    what = f"{right:,} of {len(order):,} rows stand where {name} puts them; by chance one does"
    return Attack("rows, places", claimed, right / len(order), low <= claimed, what, (low, high))


# ---------------------------------------------------------------- dictionaries


def dictionary_attack(
    bundle: Bundle, attributes: Sequence[Attribute], appearance: Mapping[str, list[str]]
) -> Outcome:
    """Whether categories are listed as they first appear in the source, which would tell who came first.

    `appearance`: the labels of each column in the order in which the source has them.
    """
    name = "rows, order of categories"
    listed = {a.name: _listed(bundle, a) for a in attributes if not a.raw and a.name in appearance}
    listed = {column: labels for column, labels in listed.items() if labels is not None and len(labels) > 1}
    if not listed:
        return NotRun(name, "the file lists no categories")
    telling = [a.name for a in attributes if _tells(a, listed.get(a.name), appearance.get(a.name, []))]
    what = f"{len(listed)} columns list their categories in a public order"
    if telling:
        what = f"listed as they first appear in the source: {', '.join(telling)}"
    return Attack(name, 0.0, float(len(telling)), not telling, what)


def _tells(attribute: Attribute, labels: list[str] | None, appearance: list[str]) -> bool:
    """Whether categories stand as they first appear, which is neither the recipe's order nor the alphabet's."""
    if labels is None or labels == sorted(labels):
        return False
    if attribute.coded.origin != "from-data" and labels == list(attribute.coded.labels):
        return False
    seen = [label for label in labels if label in appearance]
    return len(seen) > 1 and seen == appearance


def _listed(bundle: Bundle, attribute: Attribute) -> list[str] | None:
    """The labels of a column as its file lists them, or its certificate where the file has none."""
    if bundle.certificate.output == "parquet":
        for batch in bundle.batches([attribute.name]):
            column = batch.column(0)
            if pa.types.is_dictionary(column.type):
                return [str(label) for label in column.dictionary.to_pylist()]
            break
    return list(attribute.coded.labels)


# ---------------------------------------------------------------- the key


def seed_attack(commitment: str, seeded: bool = False, seeds: int = _SEEDS) -> Attack:
    """The keys that someone would make from a small number, held against the certificate's commitment.

    Where the certificate says itself that the key is from a seed, there is nothing left to guess.
    """
    guessed = next((seed for seed in range(seeds) if Key.from_seed(seed).commitment() == commitment), None)
    what = f"none of the keys from seeds below {seeds:,}"
    if guessed is not None:
        what = f"the key is made from the seed {guessed}: whoever tries it undoes the release, row by row"
    elif seeded:
        what = "the certificate says that the key is from a seed: whoever tries enough of them undoes the release"
    lost = seeded or guessed is not None
    return Attack("key, guessed seed", 0.0, float(lost), not lost, what)
