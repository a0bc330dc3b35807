"""What classes must satisfy, as predicates on their counts. A search may take any object with these members.

Column 0 of the counts is the class size; the columns behind it are the classes' counts of sensitive values (or,
for presence, of private rows). Where sensitive values are many, their counts come as the pairs that occur. Every
condition on a class holds of a class made of classes that hold. `anchor` is what holding implies and what also
survives merging with a class that does not hold: only that part may prune a search that suppresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Protocol

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.counting.classes import Classes, SeenCounts
from pramana.counting.value_counts import JointValues, UnitCounts, ValueCounts
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.presence.shaping import Presence
from pramana.schema.typed import Flag
from pramana.theory import disclosure

# Entropies are sums of floats; an equality such as l values equally often must not fail by rounding.
_SLACK = 1e-12
DIGITS = 1e9  # what is certified is rounded against ourselves at the ninth place, and compared so
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
UniquesModel = Literal["dankar", "pitman", "zayatz", "snb"]


def rounded_up(numbers: Floats | float) -> Floats:
    """At the ninth place; what lies a float's rounding above one of its multiples is that multiple."""
    return np.asarray(np.ceil(numbers * DIGITS * (1 - 4e-16)) / DIGITS)


class Condition(Protocol):
    @property
    def anchor(self) -> Condition | None: ...

    def held(self, counts: SeenCounts) -> Flags: ...


class Compared:
    """A condition that compares a class with how often each value occurs in the whole: `totals`."""

    totals: Ints


class Surviving:
    """A condition that a class keeps whatever is merged into it."""

    @property
    def anchor(self) -> Condition:
        return self

    def held(self, counts: SeenCounts) -> Flags:
        raise NotImplementedError


@dataclass(frozen=True)
class KAnonymous(Surviving):
    """At least k rows (paper 4, Definition 1)."""

    k: int

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(sizes_in(counts) >= self.k)


@dataclass(frozen=True)
class DistinctDiverse(Surviving):
    """At least l different sensitive values."""

    l: int  # noqa: E741 - the notion's own name

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(values_in(counts).distinct >= self.l)


@dataclass(frozen=True)
class EntropyDiverse:
    """Entropy of the sensitive values at least ln l."""

    l: float  # noqa: E741

    @property
    def anchor(self) -> Condition:
        """Fewer values than l have less entropy than l of them equally often."""
        return DistinctDiverse(math.ceil(self.l * (1 - 1e-9)))

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(values_in(counts).entropies >= math.log(self.l) - _SLACK)


@dataclass(frozen=True)
class RecursiveDiverse:
    """(c, l)-diversity: the commonest value less often than c times the l-th commonest and all rarer ones."""

    c: float
    l: int  # noqa: E741

    @property
    def anchor(self) -> Condition:
        """Without an l-th value there is nothing to weigh the commonest against."""
        return DistinctDiverse(self.l)

    def held(self, counts: SeenCounts) -> Flags:
        most, tail = values_in(counts).most_and_tail(self.l)
        return np.asarray(most < self.c * tail)


@dataclass(frozen=True)
class Close(Compared):
    """Distance from values that occur `totals` times, those of the whole table, at most t.

    `parents`: None for the equal distance (half the sum of absolute differences); else one array per inner level
    of a hierarchy, from the level above the leaves up, the top included: earth mover's distance on the tree.
    `ordered`: the distance of values in the order of their codes, those that occur.
    """

    t: float
    totals: Ints
    parents: tuple[Ints, ...] | None = None
    ordered: bool = False

    @property
    def anchor(self) -> Condition | None:
        return KAnonymous(self.least) if self.least > 1 else None

    @cached_property
    def least(self) -> int:
        """The fewest rows of a class that can hold: n rows have n values at most, and miss what others weigh."""
        if self.ordered:  # a class of one value in the middle may be near
            return 1
        totals, misses = self.totals, np.zeros(len(self.totals))
        steps = (None, *(() if self.parents is None else self.parents[:-1]))
        for parent in steps:
            if parent is not None:
                totals = np.bincount(parent, weights=totals, minlength=int(parent.max()) + 1).astype(np.int64)
            reached = np.cumsum(-np.sort(-totals)) / totals.sum()
            misses[: len(reached)] += 1 - reached
        return 1 + int(np.argmax(misses / len(steps) <= self.t + _SLACK))

    def held(self, counts: SeenCounts) -> Flags:
        values = values_in(counts)
        enough = values.sizes >= self.least
        distances = self.distances(values if enough.all() else values.only(enough))
        return np.asarray(np.ceil(distances * DIGITS) / DIGITS <= self.t) & enough

    def distances(self, values: ValueCounts) -> Floats:
        if self.ordered:
            return values.ordered_distances(self.totals)
        return values.distances(self.totals, self.parents)


@dataclass(frozen=True, eq=False)
class Disclosing(Compared):
    """d-disclosure privacy (Brickell and Shmatikov 2008): every value's share within 2^-d and 2^d of the table's.

    A value that the table has and a class lacks is infinitely less frequent there: such a class does not hold.
    """

    d: float
    totals: Ints

    @property
    def anchor(self) -> Condition:
        """A class that holds has every value, and so has whatever it is merged into."""
        return DistinctDiverse(int((self.totals > 0).sum()))

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(rounded_up(values_in(counts).ratios(self.totals)) <= self.d)


@dataclass(frozen=True, eq=False)
class Alike(Compared):
    """b-likeness (Cao and Karras 2012): no value gains more than b times its share of the table.

    Enhanced: nor more than -ln of its share times that, which bounds the gain of frequent values.
    """

    b: float
    totals: Ints
    enhanced: bool = False

    @property
    def anchor(self) -> Condition | None:
        return KAnonymous(self.least) if self.least > 1 else None

    @cached_property
    def least(self) -> int:
        """The fewest rows that a class which holds can have: each of its values may be so many of them at most."""
        shares = self.totals[self.totals > 0] / self.totals.sum()
        gain = np.minimum(self.b, -np.log(shares)) if self.enhanced else np.full(len(shares), self.b)
        allowed = shares * (1 + gain) * (1 + 1e-9)
        for rows in range(1, int(min(self.totals.sum(), 10_000))):
            if float(np.floor(rows * allowed).sum()) >= rows:
                return rows
        return 1

    def held(self, counts: SeenCounts) -> Flags:
        values = values_in(counts)
        held = rounded_up(values.gains(self.totals)) <= self.b
        if self.enhanced:
            held &= values.gains_within_entropy(self.totals)
        return np.asarray(held)


def people_in(counts: SeenCounts) -> Ints:
    """How many people of the population each class stands for: the column behind the sizes."""
    if isinstance(counts, np.ndarray):
        return counts[:, 1].astype(np.int64)
    people = counts[0].people
    assert people is not None, "a population is asked of classes that were counted with one"
    return people


@dataclass(frozen=True)
class Mapped(Surviving):
    """k-map (Sweeney 2002): at least k people of the population have what a class shows."""

    k: int

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(people_in(counts) >= self.k)


@dataclass(frozen=True)
class ShareOfPeople:
    """delta-presence of classes that show labels: the share of a class's people who are in the table.

    The share of two classes together lies between theirs, so it holds of a class made of classes that hold.
    """

    wanted: Presence
    anchor = None

    def held(self, counts: SeenCounts) -> Flags:
        table = np.stack([people_in(counts), np.asarray(sizes_in(counts), np.int64)], axis=1)
        return self.wanted.held(table.astype(np.uint32))


# ------------------------------------------------------------------ of one column, of units, of several


@dataclass(frozen=True)
class _OnPart:
    """A condition on a part of what is counted."""

    condition: Condition

    @property
    def anchor(self) -> Condition | None:
        inner = self.condition.anchor
        if inner is self.condition:
            return self
        return None if inner is None else replace(self, condition=inner)

    def held(self, counts: SeenCounts) -> Flags:
        return self.condition.held(self.part(counts))

    def part(self, counts: SeenCounts) -> SeenCounts:
        """What the condition looks at."""
        raise NotImplementedError


@dataclass(frozen=True)
class On(_OnPart):
    """A condition on one of several sensitive attributes: the `which`-th, `columns` of the counts."""

    columns: range
    which: int = 0

    def part(self, counts: SeenCounts) -> SeenCounts:
        if not isinstance(counts, np.ndarray):
            return (counts[self.which],)
        here = slice(self.columns.start, self.columns.stop)
        return np.concatenate([counts[:, :1], counts[:, here]], axis=1)


@dataclass(frozen=True)
class InUnits(_OnPart):
    """A condition on people, or on households: of counts of joint values, by attribute, each unit counts once."""

    joints: tuple[JointValues, ...]

    def part(self, counts: SeenCounts) -> tuple[ValueCounts, ...]:
        assert not isinstance(counts, np.ndarray), "units are counted from the pairs that occur"
        return tuple(UnitCounts.of_joint(own, joint) for own, joint in zip(counts, self.joints, strict=True))


@dataclass(frozen=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    @property
    def anchor(self) -> Condition | None:
        anchors = [c.anchor for c in self.conditions]
        if all(a is c for a, c in zip(anchors, self.conditions, strict=True)):
            return self
        kept = tuple(a for a in anchors if a is not None)
        return All(kept) if kept else None

    def held(self, counts: SeenCounts) -> Flags:
        flags = np.ones(len(sizes_in(counts)), np.bool_)
        for condition in self.conditions:
            flags &= condition.held(counts)
        return flags


def kept_classes(condition: Condition, counts: SeenCounts, among: Flags | None = None) -> Flags:
    """Which classes stay, of all or those in `among`: those that hold, t being measured from the rows that stay.

    Whoever reads the release compares a class with what was published. So what does not hold against the source
    goes first, then what does not against what is left, until all that is left holds. What stays once it held
    against the source's values alone therefore stays here.
    """
    held = condition.held(counts) if among is None else condition.held(counts) & among
    while bool(held.any()) and not bool(held.all()):
        again = _among(condition, counts, held)
        still = held if again is condition else held & again.held(counts)
        if np.array_equal(still, held):
            break
        held = still
    return held


def _among(condition: Condition, counts: SeenCounts, held: Flags) -> Condition:
    """The same condition, with what it compares a class with taken from the classes that stay."""
    if isinstance(condition, On | InUnits):
        inner = _among(condition.condition, condition.part(counts), held)
        return condition if inner is condition.condition else replace(condition, condition=inner)
    if isinstance(condition, All):
        parts = tuple(_among(c, counts, held) for c in condition.conditions)
        same = all(a is b for a, b in zip(parts, condition.conditions, strict=True))
        return condition if same else All(parts)
    if isinstance(condition, Compared):
        totals = values_in(counts).only(held).totals
        changed: Condition = replace(condition, totals=totals)  # type: ignore[type-var] # a dataclass that has them
        return changed
    return condition


def least_lost(condition: Condition, counts: SeenCounts) -> NDArray[np.float64]:
    """For each class how many of its rows cannot stay, neither together nor in the classes it is made of.

    Of n rows at a distance d from the whole, n (d - t) must go before the others are within t: taking a share of
    the rows away moves the rest by that share at most, and the union of classes within t is within t. Of a class
    with fewer rows than any that is within t all must go.
    """
    if isinstance(condition, All):
        return np.asarray(np.max([least_lost(c, counts) for c in condition.conditions], axis=0))
    if isinstance(condition, On):
        return least_lost(condition.condition, condition.part(counts))
    sizes = np.asarray(sizes_in(counts), np.float64)
    if isinstance(condition, Close):
        values, enough = values_in(counts), sizes >= condition.least
        distances = condition.distances(values if enough.all() else values.only(enough))
        return np.where(enough, sizes * np.maximum(distances - condition.t - _SLACK, 0.0), sizes)
    anchor = condition.anchor
    return np.zeros(len(sizes)) if anchor is None else np.where(anchor.held(counts), 0.0, sizes)


def least_rows(condition: Condition) -> int:
    """The fewest rows that a class which holds can have, as far as that is known."""
    if isinstance(condition, All):
        return max(least_rows(c) for c in condition.conditions)
    if isinstance(condition, On | InUnits):  # a unit has a row at least
        return least_rows(condition.condition)
    if isinstance(condition, KAnonymous):
        return condition.k
    if isinstance(condition, DistinctDiverse):
        return condition.l
    anchor = condition.anchor
    return 1 if anchor is None or anchor is condition else least_rows(anchor)


def whole_table_fails() -> UnreachableError:
    return UnreachableError(
        "The whole table as one class must satisfy the conditions",
        "a table that does not",
        "Lower k, l or c, or raise t.",
    )


def sizes_in(counts: SeenCounts) -> NDArray[np.uint32] | Floats:
    """The sizes of the classes."""
    return counts[:, 0] if isinstance(counts, np.ndarray) else counts[0].sizes


def values_in(counts: SeenCounts) -> ValueCounts:
    """The pairs of a class and a sensitive value."""
    return ValueCounts.of_table(counts) if isinstance(counts, np.ndarray) else counts[0]


# ------------------------------------------------------------------ all published classes together


class TableCondition:
    """A condition on all published classes together. Where it fails, classes are left out: the smallest first."""

    def stays_up(self, limit: int) -> bool:
        """Whether it can be met above every node at which it can, with so many rows left out at most.

        Only then may a search prune by it. What was tried on all small tables stands in the tests.
        """
        del limit
        return False

    def kept(self, classes: Classes, held: Flags) -> Flags:
        """Which of the classes in `held` may stay so that all that stays holds; none where nothing does."""
        raise NotImplementedError


@dataclass(frozen=True)
class MeanRiskWithin(TableCondition):
    """The mean of 1/size over records, which is classes over records, at most `most`.

    Leaving out the smallest classes leaves the fewest rows out. Whatever can stay at a node can stay above it, in
    no more classes and with no fewer rows: so it survives generalisation, with suppression as well.
    """

    most: Fraction

    def stays_up(self, limit: int) -> bool:
        del limit
        return True

    def kept(self, classes: Classes, held: Flags) -> Flags:
        numbers = np.flatnonzero(held)
        # of equal sizes by what they show, so that the rows' order tells nothing
        ranked = numbers[np.lexsort((*classes.keys[numbers].T, classes.sizes[numbers]))]
        rows = np.cumsum(classes.sizes[ranked][::-1].astype(np.int64))[::-1]  # left with the smaller ones gone
        left = np.arange(len(ranked), 0, -1)
        fine = left * self.most.denominator <= rows.astype(object) * self.most.numerator
        if not fine.any():
            return np.zeros_like(held)
        stays = held.copy()
        stays[ranked[: int(np.argmax(fine))]] = False
        return stays


@dataclass(frozen=True)
class FewUniques(TableCondition):
    """At most a share of the population is estimated to be unique; else the sample's uniques are left out.

    An estimate may rise where classes merge: pairs become rarer, too.
    """

    share: float
    population: int
    model: UniquesModel = "dankar"

    def kept(self, classes: Classes, held: Flags) -> Flags:
        sizes = classes.sizes[held]
        if not len(sizes) or uniques_of(sizes, self.population, self.model)[1] <= self.share:
            return held
        return np.asarray(held & (classes.sizes > 1))


def uniques_of(sizes: NDArray[np.integer], population: int, model: UniquesModel) -> tuple[str, float]:
    """The model that was used in the end, and the share of the population that it estimates to be unique."""
    used, estimate = disclosure.uniques_by(model, disclosure.SizeCounts.of(sizes), population)
    return used, estimate / population


@dataclass(frozen=True)
class LeftOutPresent(TableCondition):
    """Everyone of the population whose class is not published, as one more class: their share of the table, too.

    Without suppression these are the people of classes in which nobody is present.
    """

    wanted: Presence
    people: int
    present: int

    def stays_up(self, limit: int) -> bool:
        return limit == 0

    def kept(self, classes: Classes, held: Flags) -> Flags:
        kept = classes.counts[held].sum(axis=0, dtype=np.int64)
        people, present = self.people - int(kept[1]), self.present - int(kept[0])
        fine = people == 0 or self.wanted.lowest * people <= present <= self.wanted.highest * people
        return held if fine else np.zeros_like(held)


class ProfitSection(Form, frozen=True, kw_only=True):
    """profit = { ... }: what publisher and intruder stand to gain and to lose by a record."""

    benefit: Annotated[float, Meta(gt=0, description="What a record as it is in the source is worth to publish.")]
    loss: Annotated[float, Meta(ge=0, description="What the publisher loses by a record that is found.")]
    gain: Annotated[float, Meta(ge=0, description="What an intruder gains by finding it.")]
    cost: Annotated[float, Meta(ge=0, description="What an attack on a record costs.")]
    intruder: Annotated[
        Literal["prosecutor", "journalist"],
        Meta(description="Who knows that a person is in the table, or does not."),
    ] = "prosecutor"
    attacked: Annotated[Flag, Meta(description="Whether attacks that pay an intruder are put up with.")] = True

    def __post_init__(self) -> None:
        numbers = (self.benefit, self.loss, self.gain, self.cost)
        if not all(map(math.isfinite, numbers)):
            raise RecipeError("benefit, loss, gain and cost must be finite numbers", f"{numbers}")

    def payoffs(self, widths: list[Floats], leaves: list[int], alike: NDArray[np.integer]) -> Floats:
        """What publishing a record of each class pays, rounded down; 0 where an attack pays that must not.

        A game between a publisher and an intruder (Wan et al. 2015), as ARX plays it. A record is worth `benefit`
        times what its labels tell: 1 less the logarithms of the leaves under them over those of all leaves. An
        intruder who expects to gain more than an attack costs attacks, and the publisher loses `loss` with the
        chance that the attack finds the record among those that are `alike`.
        """
        most = sum(math.log(number) for number in leaves)
        lost = np.asarray(sum(np.log(width) for width in widths), np.float64)
        informative = 1.0 - lost / most if most else np.ones_like(lost)
        chance = 1.0 / alike
        attack = self.gain * chance > self.cost
        payoff = self.benefit * informative - np.where(attack, self.loss * chance, 0.0)
        if not self.attacked:
            payoff = np.where(attack, 0.0, payoff)
        return np.asarray(np.floor(payoff * DIGITS) / DIGITS)


@dataclass(frozen=True)
class Profitable(TableCondition):
    """Records that do not pay are left out; the intruder may pick from those of a population.

    The more is generalised, the less a record is worth and the less it is at risk: every node is asked.
    """

    game: ProfitSection

    def kept(self, classes: Classes, held: Flags) -> Flags:
        ladders = classes.layout.ladders
        widths = [
            np.bincount(ladder.maps[level])[classes.codes(a)].astype(np.float64)
            for a, (ladder, level) in enumerate(zip(ladders, classes.levels, strict=True))
        ]
        alike = classes.counts[:, 1] if self.game.intruder == "journalist" else classes.sizes
        return np.asarray(held & (self.game.payoffs(widths, [ladder.leaves for ladder in ladders], alike) > 0))


@dataclass(frozen=True)
class Together(TableCondition):
    """Several of them. They are asked in turn until none leaves anything out."""

    conditions: tuple[TableCondition, ...]

    def stays_up(self, limit: int) -> bool:
        """Each by itself may leave out what another needs: with suppression only one alone is known to."""
        alone = len(self.conditions) == 1 or limit == 0
        return alone and all(one.stays_up(limit) for one in self.conditions)

    def kept(self, classes: Classes, held: Flags) -> Flags:
        while True:
            stays = held
            for one in self.conditions:
                stays = one.kept(classes, stays)
            if np.array_equal(stays, held) or not stays.any():
                return stays
            held = stays


def staying(condition: Condition, classes: Classes, table: TableCondition | None) -> tuple[Flags, Flags]:
    """Which classes hold by themselves, and which of them are published so that the whole does, too.

    What t and its like compare a class with changes with what stays, so both are asked until nothing goes.
    """
    alone = held = kept_classes(condition, classes.seen)
    while table is not None and bool(held.any()):
        stays = table.kept(classes, held)
        if np.array_equal(stays, held):
            break
        held = kept_classes(condition, classes.seen, stays)
    return alone, held
