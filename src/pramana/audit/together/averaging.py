"""Averaging: someone who has several releases of the same people, and knows which rows belong together.

Coins that are thrown anew are a second opinion about every value. What any number of releases tell together is the
product of their likelihoods; it is held against the sum of the epsilons, and against the best guess that all the
laws together allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.audit.inference import matrices_of
from pramana.audit.linkage import LinkedTable
from pramana.audit.one_run import guesses_of, leaning_of_pairs, least_epsilon
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson

_OUTCOMES = 1 << 16  # of all releases together, of an attribute that is guessed
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


def averaged_inference(tables: Sequence[LinkedTable]) -> Outcome:
    """A person's value by all their rows together: the likeliest under all laws and the true frequencies.

    The claim is exact: the largest joint chance of a value with everything that is shown of it, summed over all
    that can be shown. People's coins are independent, so right guesses scatter no more than coins of that chance.
    """
    name = f"{number_of(len(tables))} releases, attribute inference by averaging"
    laws = [matrices_of(table.law) for table in tables]
    shared = [n for n in laws[0] if all(n in law for law in laws)]
    few = [n for n in shared if len(laws[0][n]) > 1 and math.prod(law[n].shape[1] for law in laws) <= _OUTCOMES]
    if not few:
        return NotRun(name, "they share no attribute with a law of its own that is small enough")
    alpha = CHANCE_OF_FALSE_ALARM / len(few)
    outcomes = [_guessed(tables, [law[column] for law in laws], column, alpha, name) for column in few]
    worst = max(outcomes, key=lambda attack: (attack.interval or (0.0, 0.0))[0] - (attack.claimed or 0.0))
    more = {
        "attributes": {
            c: {"claimed": o.claimed, "measured": o.measured} for c, o in zip(few, outcomes, strict=True)
        }
    }
    return Attack(name, worst.claimed, worst.measured, worst.ok, worst.detail, worst.interval, more)


def _guessed(
    tables: Sequence[LinkedTable], laws: Sequence[Floats], column: str, alpha: float, name: str
) -> Attack:
    people = np.sort(tables[0].order)
    together, outcome = np.ones((len(laws[0]), 1)), np.zeros(len(people), np.int64)
    for table, law in zip(tables, laws, strict=True):
        together = (together[:, :, None] * law[:, None, :]).reshape(len(law), -1)
        shown = np.empty(len(table.true[column]), np.int64)
        shown[table.order] = table.published[column]
        outcome = outcome * law.shape[1] + shown[people]
    true = tables[0].true[column][people]
    joint = (np.bincount(true, minlength=len(together)) / len(true))[:, None] * together
    claimed = float(joint.max(0).sum())
    right = int((joint.argmax(0)[outcome] == true).sum())
    interval = clopper_pearson(right, len(true), alpha)
    share = right / len(true)
    what = f"{column} guessed from {len(tables)} rows: right {share:.4g}; their laws together allow {claimed:.4g}"
    return Attack(name, claimed, share, interval[0] <= claimed + 1e-12, what, interval)
