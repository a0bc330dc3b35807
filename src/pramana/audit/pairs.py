"""Two releases about the same people: coins that were thrown twice must be thrown anew."""

from __future__ import annotations

import numpy as np

from pramana.audit.epsilon import guesses_right, leaning_of_pairs, lower_bound
from pramana.audit.linkage import LinkedTable
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms import Product, Retention


def reused_coins(one: LinkedTable, other: LinkedTable) -> Outcome:
    """How often both releases show a person's true value: as often as independent coins would do."""
    name = "two releases, coins thrown anew"
    if not isinstance(one.law, Product) or not isinstance(other.law, Product):
        return NotRun(name, "one of them has no coin of its own for each attribute")
    shared = [n for n in one.law.channels if n in other.law.channels and one.law.channels[n].size > 1]
    shared = [n for n in shared if all(isinstance(t.law.channels[n], Retention) for t in (one, other))]  # type: ignore[union-attr]
    if not shared or len(one.order) != len(other.order):
        return NotRun(name, "they share no attribute that is kept or redrawn, or are not of the same rows")
    kept = [{n: _kept(t, n) for n in shared} for t in (one, other)]
    worst = None
    for n in shared:
        first, second = one.law.channels[n], other.law.channels[n]
        assert isinstance(first, Retention) and isinstance(second, Retention)
        claimed = float(first.diagonal) * float(second.diagonal)
        both = int((kept[0][n] & kept[1][n]).sum())
        low, high = clopper_pearson(both, one.records, CHANCE_OF_FALSE_ALARM / len(shared))
        ok = low <= claimed <= high
        if worst is None or (worst.ok and not ok):
            share = both / one.records
            what = f"{n}: both show the true value in {share:.4g} of people; independent coins do in {claimed:.4g}"
            worst = Attack(name, claimed, share, ok, what, (low, high))
    assert worst is not None
    return worst


def averaged_epsilon(one: LinkedTable, other: LinkedTable, claimed: float) -> Attack:
    """Averaging over two releases: whose are these two rows, one of each, asked of pairs of people.

    Whoever has both, and knows which rows belong together, is held against the sum of the two epsilons.
    """
    leanings = leaning_of_pairs(one) + leaning_of_pairs(other)
    right, tries = guesses_right(leanings)
    low = lower_bound(right, tries)
    what = f"at least {low:.4g} by {right:,} right guesses of {tries:,} from both, claimed {claimed:.4g} together"
    return Attack("two releases, epsilon together", claimed, low, low <= claimed, what, more={"lower_bound": True})


def _kept(table: LinkedTable, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """By source row: whether the true value was published."""
    found = np.zeros(table.records, bool)
    found[table.order] = table.true[name][table.order] == table.published[name]
    return found
