"""An oracle for the searches: rows as tuples, classes as lists, conditions and measures from their definitions.

Nothing of the package is used but the table's layout. Shares are fractions wherever they decide.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pramana.counting.classes import Layout

Levels = tuple[int, ...]
Row = tuple[int, ...]
Key = tuple[int, ...]


@dataclass(frozen=True)
class ClassRows:
    """A class: what it shows, its rows' leaves, their sensitive values, and people of a population."""

    key: Key
    leaves: tuple[Row, ...]
    values: tuple[int, ...]
    people: int

    @property
    def size(self) -> int:
        return len(self.leaves)


ClassTest = Callable[[ClassRows, Counter[int]], bool]  # a class, and the values of what it is compared with
TableRule = Callable[[list[ClassRows], Levels], list[ClassRows]]  # which of a node's classes may stay


@dataclass(frozen=True)
class OracleTable:
    layout: Layout
    rows: tuple[Row, ...]
    values: tuple[int, ...]
    population: tuple[Row, ...] = ()

    def labels(self, row: Row, levels: Levels) -> Key:
        return tuple(
            int(ladder.maps[level][leaf])
            for ladder, level, leaf in zip(self.layout.ladders, levels, row, strict=True)
        )

    def classes(self, levels: Levels) -> list[ClassRows]:
        """In an order of what they show, the last attribute first: that in which equal sizes are left out."""
        own: dict[Key, list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            own[self.labels(row, levels)].append(place)
        people = Counter(self.labels(row, levels) for row in self.population)
        return [
            ClassRows(key, tuple(self.rows[i] for i in here), tuple(self.values[i] for i in here), people[key])
            for key, here in sorted(own.items(), key=lambda item: item[0][::-1])
        ]

    def nodes(self) -> Iterator[Levels]:
        return itertools.product(*(range(height) for height in self.layout.heights))


def published(
    table: OracleTable, levels: Levels, tests: Sequence[ClassTest], rule: TableRule | None = None
) -> list[ClassRows]:
    """What stays at a node: what does not hold against the source goes, then against what is left, and so on."""
    everything = table.classes(levels)
    stays, whole = everything, Counter(table.values)
    while True:
        held = [c for c in stays if all(test(c, whole) for test in tests)]
        if held == stays:
            ruled = held if rule is None or not held else rule(held, levels)
            if ruled == held:
                return held
            held = ruled
        stays, whole = held, Counter(v for c in held for v in c.values)


def suppressed(table: OracleTable, stays: Sequence[ClassRows]) -> int:
    return len(table.rows) - sum(c.size for c in stays)


# ------------------------------------------------------------------ conditions


def k_anonymous(k: int) -> ClassTest:
    return lambda c, _: c.size >= k


def k_map(k: int) -> ClassTest:
    return lambda c, _: c.people >= k


def present(low: Fraction, high: Fraction) -> ClassTest:
    return lambda c, _: low <= Fraction(c.size, c.people) <= high


def _ratios(c: ClassRows, whole: Counter[int]) -> dict[int, Fraction]:
    """By value: its share of the class over its share of the whole."""
    own, total = Counter(c.values), sum(whole.values())
    return {v: Fraction(own[v] * total, c.size * n) for v, n in whole.items() if n}


def d_disclosing(d: float) -> ClassTest:
    def test(c: ClassRows, whole: Counter[int]) -> bool:
        found = _ratios(c, whole).values()
        return all(ratio > 0 and abs(math.log2(ratio)) <= d + 1e-12 for ratio in found)

    return test


def b_alike(b: Fraction, enhanced: bool) -> ClassTest:
    def test(c: ClassRows, whole: Counter[int]) -> bool:
        total = sum(whole.values())
        for value, ratio in _ratios(c, whole).items():
            if ratio - 1 > b or (enhanced and float(ratio) - 1 > -math.log(whole[value] / total) + 1e-12):
                return False
        return True

    return test


def ordered_close(t: Fraction) -> ClassTest:
    """Mass moves between neighbours: the sum of what has to pass each of them, over how many there are."""

    def test(c: ClassRows, whole: Counter[int]) -> bool:
        own, total, passing, moved = Counter(c.values), sum(whole.values()), Fraction(0), Fraction(0)
        order = sorted(v for v, n in whole.items() if n)
        for value in order:
            passing += Fraction(own[value], c.size) - Fraction(whole[value], total)
            moved += abs(passing)
        return moved / max(len(order) - 1, 1) <= t

    return test


def mean_risk(most: Fraction) -> TableRule:
    """The fewest rows are left out, by trying every number of the smallest classes."""

    def rule(classes: list[ClassRows], levels: Levels) -> list[ClassRows]:
        del levels
        ranked = sorted(classes, key=lambda c: (c.size, c.key[::-1]))
        for gone in range(len(ranked)):
            left = ranked[gone:]
            if Fraction(len(left), sum(c.size for c in left)) <= most:
                return [c for c in classes if c in left]
        return []

    return rule


def left_out_present(table: OracleTable, low: Fraction, high: Fraction) -> TableRule:
    def rule(classes: list[ClassRows], levels: Levels) -> list[ClassRows]:
        del levels
        people = len(table.population) - sum(c.people for c in classes)
        gone = suppressed(table, classes)
        return classes if people == 0 or low * people <= gone <= high * people else []

    return rule


def profitable(
    table: OracleTable, benefit: float, loss: float, gain: float, cost_: float, attacked: bool
) -> TableRule:
    """Records of a class are worth what their labels tell; the intruder picks one of the class."""

    def pays(c: ClassRows, levels: Levels) -> bool:
        lost = math.prod(
            ladder.maps[level].tolist().count(code)
            for ladder, level, code in zip(table.layout.ladders, levels, c.key, strict=True)
        )
        most = math.prod(len(ladder.maps[0]) for ladder in table.layout.ladders)
        told = 1 - math.log(lost) / math.log(most) if most > 1 else 1.0
        attack = gain / c.size > cost_
        return (attacked or not attack) and benefit * told - (loss / c.size if attack else 0) >= 1e-9

    def rule(classes: list[ClassRows], levels: Levels) -> list[ClassRows]:
        return [c for c in classes if pays(c, levels)]

    return rule


# ------------------------------------------------------------------ measures


def cost(
    kind: str,
    table: OracleTable,
    levels: Levels,
    stays: Sequence[ClassRows],
    weights: Mapping[str, float] | None = None,
    factors: Mapping[str, float] | None = None,
) -> float:
    """From the definitions: a sum over rows, a suppressed one at the price of the top."""
    kept = Counter(row for c in stays for row in c.leaves)
    rows, gone = len(table.rows), Counter(table.rows) - kept
    if kind == "discernibility":
        return float(sum(c.size**2 for c in stays) + rows * sum(gone.values()))
    if kind == "classification":
        return (sum(gone.values()) + sum(c.size - max(Counter(c.values).values()) for c in stays)) / rows
    if kind == "class-size":
        return rows / (len(stays) + bool(gone))
    shares = []
    for a, ladder in enumerate(table.layout.ladders):
        factor = (factors or {}).get(ladder.name, 0.5)
        generalising, suppressing = min(1.0, 2 * (1 - factor)), min(1.0, 2 * factor)
        top = len(ladder.maps) - 1
        total = sum(n * generalising * _price(kind, table, a, levels[a], row[a]) for row, n in kept.items())
        total += sum(n * suppressing * _price(kind, table, a, top, row[a]) for row, n in gone.items())
        shares.append(total / rows)
    given = [float((weights or {}).get(ladder.name, 1.0)) for ladder in table.layout.ladders]
    if kind == "loss":  # a geometric mean of 1 + share
        return math.exp(sum(w * math.log1p(s) for w, s in zip(given, shares, strict=True)) / sum(given)) - 1
    return sum(w * s for w, s in zip(given, shares, strict=True)) / sum(given)


def _price(kind: str, table: OracleTable, attribute: int, level: int, leaf: int) -> float:
    ladder = table.layout.ladders[attribute]
    codes = ladder.maps[level].tolist()
    if kind == "precision":
        return level / max(len(ladder.maps) - 1, 1)
    if kind == "loss":
        if len(codes) == 1:
            return 0.0
        under = 1.0 if level == len(ladder.maps) - 1 else None
        return under if under is not None else (codes.count(codes[leaf]) - 1) / (len(codes) - 1)
    times = Counter(row[attribute] for row in table.rows)
    alike = sum(n for other, n in times.items() if codes[other] == codes[leaf])
    return math.log2(alike / times[leaf])


@dataclass(frozen=True)
class Optimum:
    cost: float
    levels: Levels
    suppressed: int


def optimum(
    table: OracleTable,
    tests: Sequence[ClassTest],
    kind: str,
    limit: int,
    rule: TableRule | None = None,
    weights: Mapping[str, float] | None = None,
    factors: Mapping[str, float] | None = None,
) -> Optimum | None:
    """The whole lattice: the cheapest node, of equal ones the finest by loss, then the first by levels."""
    found = []
    for levels in table.nodes():
        stays = published(table, levels, tests, rule)
        gone = suppressed(table, stays)
        if stays and gone <= limit:
            price = cost(kind, table, levels, stays, weights, factors)
            found.append((price, cost("loss", table, levels, stays), levels, gone))
    if not found:
        return None
    least = min(price for price, *_ in found)
    cheapest = [one for one in found if one[0] <= least + 1e-9 * max(least, 1)]
    finest = min(loss for _, loss, _, _ in cheapest)
    price, _, levels, gone = min((one for one in cheapest if one[1] <= finest + 1e-9), key=lambda one: one[2])
    return Optimum(price, levels, gone)
