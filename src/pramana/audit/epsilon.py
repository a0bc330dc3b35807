"""Lower bounds on epsilon, from what was published and from canaries: they must never exceed the claim.

Records of a table are its own canaries (`one_run` has the bound of whole records). Neighbouring runs are the older
way: the same small table again and again, with one record changed, and an event that tells the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.audit.linkage import AttackedLaw, LinkedTable, likelihoods_of
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms import Channel, CoinGroups, Mechanism, Product, RecordRetention, central_epsilon
from pramana.randomness import Codes, Key, code_dtype

_VALUES = 50  # of an attribute, the most frequent ones
_RUNS = 20_000
_ROWS = 12  # of a small table that is published again and again
_DELTA = 1e-4


def epsilon_by_attribute(table: LinkedTable) -> list[Outcome]:
    """For each attribute a lower bound from the table's records: shown as v, by those who are v and by the others.

    The bounds of all values and attributes hold together (Bonferroni).
    """
    if not isinstance(table.law, Product):
        return [NotRun("epsilon of each attribute", "columns share a coin")]
    drawn = {name: channel for name, channel in table.law.channels.items() if channel.size > 1}
    return [_of_attribute(table, name, channel, len(drawn)) for name, channel in drawn.items()]


def _of_attribute(table: LinkedTable, name: str, channel: Channel, attributes: int) -> Attack:
    claimed = log_ratio(channel.likelihood_ratio)
    true, shown = table.true[name][table.order], table.published[name]
    counts = np.bincount(true, minlength=channel.size)
    values = np.argsort(-counts, kind="stable")[:_VALUES]
    alpha = CHANCE_OF_FALSE_ALARM / (2 * len(values) * attributes)
    low = 0.0
    for value in values.tolist():
        own, others = int(counts[value]), int(len(true) - counts[value])
        if own and others:
            kept = int(((true == value) & (shown == value)).sum())
            strange = int((shown == value).sum()) - kept
            least = clopper_pearson(kept, own, alpha)[0]
            most = clopper_pearson(strange, others, alpha)[1]
            low = max(low, math.log(least / most) if least > 0 else 0.0)
    what = f"at least {low:.4g} by {len(true):,} records, {claim_words(claimed)}"
    return below_claim(f"epsilon of {name}, from its records", claimed, low, what)


# ---------------------------------------------------------------- neighbouring runs


@dataclass(frozen=True)
class WorstPair:
    """Two true records that the law tells apart as well as any, and the value that does it, by attribute."""

    one: Mapping[str, int]
    other: Mapping[str, int]


def worst_pair(law: Product | RecordRetention | CoinGroups) -> WorstPair:
    if isinstance(law, CoinGroups):
        pairs = [worst_pair(part) for part in law.parts]
        return WorstPair(
            {name: code for pair in pairs for name, code in pair.one.items()},
            {name: code for pair in pairs for name, code in pair.other.items()},
        )
    if isinstance(law, RecordRetention):
        return WorstPair(dict.fromkeys(law.sizes, 0), {name: size - 1 for name, size in law.sizes.items()})
    one, other = {}, {}
    for name, channel in law.channels.items():
        weights = channel.weights.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = weights.max(0) / weights.min(0)
        column = int(np.nan_to_num(ratio, nan=0.0, posinf=np.inf).argmax())
        one[name], other[name] = int(weights[:, column].argmax()), int(weights[:, column].argmin())
    return WorstPair(one, other)


def neighbouring_runs(law: Product | RecordRetention | CoinGroups, drawn: Mechanism | None = None) -> list[Attack]:
    """Canaries: the worst pair of records, each published many times alone (local) and in a small table (central).

    `drawn` is what throws the coins; without it, the law that is claimed.
    """
    pair, mechanism = worst_pair(law), law if drawn is None else drawn
    return [_local(law, mechanism, pair), *_central(law, mechanism, pair)]


def _local(law: Product | RecordRetention | CoinGroups, drawn: Mechanism, pair: WorstPair) -> Attack:
    claimed = log_ratio(law.likelihood_ratio)
    seen = [_published(drawn, _column(record, _RUNS), run) for run, record in enumerate((pair.one, pair.other))]
    leaning = [_leaning(law, pair, table) for table in seen]
    low = _told_apart(leaning[0], leaning[1], 0.0)
    what = f"at least {low:.4g} by {_RUNS:,} runs with each of two records, {claim_words(claimed)}"
    return below_claim("epsilon of the record, neighbouring runs", claimed, low, what)


def _central(law: Product | RecordRetention | CoinGroups, drawn: Mechanism, pair: WorstPair) -> list[Attack]:
    """A table of a few records, shuffled: what is left to see is how many records show what."""
    blankets, ratio = law.blankets, law.likelihood_ratio
    if blankets is None or ratio is None:
        return []
    claimed, _ = central_epsilon(blankets, ratio, _ROWS, _DELTA)
    leaning = []
    for run, record in enumerate((pair.one, pair.other)):
        people = {name: np.full((_RUNS, _ROWS), code) for name, code in pair.other.items()}
        for name, code in record.items():
            people[name][:, 0] = code
        flat = {name: _codes(codes.reshape(-1), law.sizes[name]) for name, codes in people.items()}
        scores = _leaning(law, pair, _published(drawn, flat, 2 + run)).reshape(_RUNS, _ROWS)
        with np.errstate(over="ignore"):
            leaning.append(np.log(np.exp(np.minimum(scores, 50.0)).mean(1)))
    low = _told_apart(leaning[0], leaning[1], _DELTA)
    what = (
        f"at least {low:.4g} by {_RUNS:,} runs of each of two tables of {_ROWS} records that differ in one, "
        f"delta {_DELTA:g}, {claim_words(claimed)}"
    )
    return [
        below_claim("central epsilon, neighbouring runs", claimed, low, what, {"delta": _DELTA, "records": _ROWS})
    ]


def _told_apart(one: NDArray[np.float64], other: NDArray[np.float64], delta: float) -> float:
    """The best threshold by the first half of the runs, held to the second."""
    half = len(one) // 2
    best, cut = -math.inf, 0.0
    for candidate in np.unique(np.quantile(one[:half], np.linspace(0, 0.995, 60))).tolist():
        hits, strange = int((one[:half] >= candidate).sum()), int((other[:half] >= candidate).sum())
        value = _ratio(hits, strange, half, delta)
        best, cut = (value, candidate) if value > best else (best, cut)
    hits, strange = int((one[half:] >= cut).sum()), int((other[half:] >= cut).sum())
    return max(0.0, _ratio(hits, strange, len(one) - half, delta))


def _ratio(hits: int, strange: int, runs: int, delta: float) -> float:
    alpha = CHANCE_OF_FALSE_ALARM / 2
    least, most = clopper_pearson(hits, runs, alpha)[0] - delta, clopper_pearson(strange, runs, alpha)[1]
    return math.log(least / most) if least > 0 else -math.inf


def _leaning(law: AttackedLaw, pair: WorstPair, seen: Mapping[str, Codes]) -> NDArray[np.float64]:
    shown = {name: codes.astype(np.int64) for name, codes in seen.items()}
    one, other = ({n: np.array([c]) for n, c in record.items()} for record in (pair.one, pair.other))
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.log(likelihoods_of(law, one, shown)) - np.log(likelihoods_of(law, other, shown))
    return np.asarray(np.nan_to_num(told, nan=0.0, posinf=1e3, neginf=-1e3), np.float64)


def _codes(codes: NDArray[np.int64], size: int) -> Codes:
    return codes.astype(code_dtype(size))


def _column(record: Mapping[str, int], runs: int) -> dict[str, Codes]:
    return {name: _codes(np.full(runs, code), code + 1) for name, code in record.items()}


def _published(drawn: Mechanism, codes: Mapping[str, Codes], run: int) -> dict[str, Codes]:
    """Through the mechanism's own samplers, under a key of the audit: nobody's record is in it."""
    key = Key.from_seed(20)
    sized = {name: _codes(codes[name].astype(np.int64), size) for name, size in drawn.sizes.items()}
    out = {name: np.empty_like(column) for name, column in sized.items()}
    drawn.publish(lambda purpose, column: key.stream(purpose, f"audit {run}", column), 0, sized, out)
    return out


def log_ratio(ratio: object) -> float | None:
    from fractions import Fraction

    if not isinstance(ratio, Fraction):
        return None
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def claim_words(claimed: float | None) -> str:
    return "claimed none" if claimed is None else f"claimed {claimed:.4g}"


def below_claim(
    name: str, claimed: float | None, low: float, what: str, more: Mapping[str, object] | None = None
) -> Attack:
    ok = claimed is None or low <= claimed
    return Attack(name, claimed, low, ok, what, None, {"lower_bound": True, **(more or {})})
