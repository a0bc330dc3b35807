"""Every world of a tiny table of people with several rows, by enumeration: no formula of the code is used here.

A person's record is a common value and the values of their rows. The release is the collection of published rows,
each a pair of a published common value and a published value of its own, without order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

Matrix = Sequence[Sequence[Fraction]]
Person = tuple[int, tuple[int, ...]]  # the common value, and one for each row
Row = tuple[int, int]
Release = tuple[Row, ...]  # sorted: what an intruder sees
Worlds = dict[Release, Fraction]


def drawn(person: Person, once: Matrix, each: Matrix) -> Iterator[tuple[tuple[Row, ...], Fraction]]:
    """All that may be published of a person, with its chance."""
    common, values = person
    for seen in range(len(once)):
        for own in product(range(len(each)), repeat=len(values)):
            chance = once[common][seen]
            for true, published in zip(values, own, strict=True):
                chance *= each[true][published]
            yield tuple((seen, value) for value in own), chance


def worlds(
    people: Sequence[Person], once: Matrix, each: Matrix
) -> Iterator[tuple[list[tuple[Row, ...]], Fraction]]:
    for parts in product(*(list(drawn(person, once, each)) for person in people)):
        chance = Fraction(1)
        for _, own in parts:
            chance *= own
        yield [rows for rows, _ in parts], chance


def releases(people: Sequence[Person], once: Matrix, each: Matrix) -> Worlds:
    """The law of what an intruder sees."""
    law: Worlds = defaultdict(Fraction)
    for published, chance in worlds(people, once, each):
        law[tuple(sorted(row for rows in published for row in rows))] += chance
    return law


def largest_link(tables: Iterable[tuple[Sequence[Person], Fraction]], once: Matrix, each: Matrix) -> Fraction:
    """The largest posterior chance that a published row is a given person's, over releases, rows and people.

    `tables` are what the true table may be to the intruder, with prior chances; people are in one order in all.
    """
    seen: Worlds = defaultdict(Fraction)
    owned: dict[tuple[Release, Row, int], Fraction] = defaultdict(Fraction)
    for people, prior in tables:
        for published, chance in worlds(people, once, each):
            release = tuple(sorted(row for rows in published for row in rows))
            seen[release] += prior * chance
            for number, rows in enumerate(published):
                for row, times in Counter(rows).items():
                    owned[release, row, number] += prior * chance * times
    return max(
        chance / (seen[release] * release.count(row)) for (release, row, _), chance in owned.items() if chance
    )


def largest_group_link(people: Sequence[Person], once: Matrix, each: Matrix) -> Fraction:
    """The same for someone who is told which rows belong together, and in which order a person has them."""
    seen: dict[tuple[tuple[Row, ...], ...], Fraction] = defaultdict(Fraction)
    owned: dict[tuple[tuple[tuple[Row, ...], ...], tuple[Row, ...], int], Fraction] = defaultdict(Fraction)
    for published, chance in worlds(people, once, each):
        release = tuple(sorted(published))
        seen[release] += chance
        for number, rows in enumerate(published):
            owned[release, rows, number] += chance
    return max(chance / (seen[r] * r.count(rows)) for (r, rows, _), chance in owned.items() if chance)


def all_people(once: int, each: int, rows: int) -> list[Person]:
    return [(c, own) for c in range(once) for own in product(range(each), repeat=rows)]


def sizes_shared_out(people: Sequence[Person], sizes: Sequence[int]) -> list[tuple[list[Person], Fraction]]:
    """Every way of giving people these numbers of rows, equally likely: a person's first rows are in the table."""
    ways = sorted(set(permutations(sizes)))
    return [
        ([(c, own[:n]) for (c, own), n in zip(people, way, strict=True)], Fraction(1, len(ways))) for way in ways
    ]


def surplus_left_out(people: Sequence[Person], bound: int) -> list[tuple[list[Person], Fraction]]:
    """Every choice of `bound` rows of everyone, equally likely."""
    choices = [
        [(c, tuple(own[i] for i in kept)) for kept in combinations(range(len(own)), min(bound, len(own)))]
        for c, own in people
    ]
    tables = [list(table) for table in product(*choices)]
    return [(table, Fraction(1, len(tables))) for table in tables]
