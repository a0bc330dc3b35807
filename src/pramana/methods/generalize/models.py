"""The keys of [release] that ask something of classes, one class for each.

A model knows its key and what that goes with, the condition that a search keeps, what published classes come to,
the promise that is made of it, and how `verify` counts it again. A new one is a class here, its key in `setting`,
and the field of `ModelMeasures` that certificates state it in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Check, Form
from pramana.counting.value_counts import Ints, ValueCounts
from pramana.errors import RecipeError
from pramana.methods.generalize import conditions
from pramana.methods.generalize.conditions import DIGITS, Condition, TableCondition, rounded_up
from pramana.methods.presence.shaping import Presence
from pramana.methods.usefulness import CellLook
from pramana.notions.classes import AverageRisk, KAnonymity, KMap, PopulationUniqueness, Profitability
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.notions.method_notions import DeltaPresence
from pramana.notions.sensitive_values import BLikeness, DDisclosure, LDiversity, TCloseness
from pramana.schema.typed import Count, Share

if TYPE_CHECKING:
    from pramana.methods.generalize.lines import PopulationLines
    from pramana.methods.generalize.recoding import Generalised
    from pramana.methods.generalize.setting import GeneralizeDesign

Number = Annotated[float, Meta(ge=0)]
Tree = tuple[Ints, ...] | None  # along which the values of a sensitive column lie


class Diversity(Form, frozen=True, kw_only=True, omit_defaults=True):
    """How many values a class has at least, by one of three notions."""

    kind: Literal["distinct", "entropy", "recursive"]
    l: Number  # noqa: E741 - the notion's own name
    c: Number | None = None


class UniquesMeasure(Form, frozen=True, kw_only=True):
    """The share of a population that is estimated to be unique, and the model that was used in the end."""

    share: Share
    population: Count
    model: str


class ModelMeasures(Form, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of this table; `d` and `b` are by sensitive column, `presence` the least and the largest share."""

    k_map: Count | None = None
    presence: tuple[Share, Share] | None = None
    average_risk: Share | None = None
    uniques: UniquesMeasure | None = None
    payoff: float | None = None  # of the record that pays least
    d: dict[str, Number] = msgspec.field(default_factory=dict)
    b: dict[str, Number] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Classes as they are shown; at the holder's also as they were made, and beside whom."""

    sizes: NDArray[np.integer]
    counts: Mapping[str, ValueCounts]  # by sensitive column
    trees: Mapping[str, Tree]
    generalised: Generalised | None = None
    people: tuple[PopulationLines, Ints] | None = None  # everyone, and how many each class stands for
    looks: Mapping[str, CellLook] = field(default_factory=dict)  # by published column


@dataclass(frozen=True)
class SharedTerms:
    """What all promises of a release have in common. `raw`: the columns released unchanged."""

    raw: Sequence[str]
    assumptions: tuple[str, ...]
    gaps: Sequence[str]  # the sensitive columns with missing values
    unit: str
    most: Mapping[str, int] | None

    def promise(self, model: ClassModel, numbers: Mapping[str, Any], column: str | None = None) -> Guarantee:
        gap = (f"a missing value of {column} counts as a value of its own",) if column in self.gaps else ()
        statement = model.statement
        if model.key == "k" and self.unit != "record":
            statement += f", every {self.unit} counted once in a class"
        stated: Guarantee = model.notion(
            THIS_TABLE,
            statement,
            **numbers,
            uncovered=tuple(name for name in self.raw if name != column),
            assumptions=(*model.assumptions, *self.assumptions, *gap),
            unit=self.unit,
            most=self.most,
        )
        return stated


class ClassModel:
    """One key of [release] that is asked of classes, as a design states it."""

    key: ClassVar[str]
    measure_key: ClassVar[str]  # of the measures in a certificate
    notion: ClassVar[Any]  # the class of its guarantee
    number_key: ClassVar[str]  # of the guarantee
    statement: ClassVar[str]
    assumptions: ClassVar[tuple[str, ...]] = ()
    counted_again: ClassVar[str] = ""  # what `verify` calls it
    among_people: ClassVar[bool] = False  # whether it is counted in a population
    by_levels: ClassVar[bool] = True  # whether only a search over levels that suppresses rows can keep it

    def __init__(self, design: GeneralizeDesign) -> None:
        self.design = design

    @property
    def asked(self) -> bool:
        return getattr(self.design, self.key) is not None

    @property
    def needs_people(self) -> bool:
        """Whether classes are held against a population table."""
        return self.among_people and self.asked

    def check(self) -> None:
        """Refuse what does not go with it, asked for or not."""

    def condition(self) -> Condition | None:
        """What each class must satisfy."""
        return None

    def table_condition(self, people: int, present: int) -> TableCondition | None:
        """What all published classes must satisfy together; of a population so many people are present."""
        del people, present
        return None

    def measure(self, classes: PublishedClasses) -> Any:
        """What the classes come to; None where that needs a population that is not at hand."""
        raise NotImplementedError

    def numbers(self, value: Any) -> dict[str, Any]:
        """The fields of its guarantee."""
        return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else {self.number_key: value}

    def guarantees(self, value: Any, terms: SharedTerms) -> list[Guarantee]:
        return [] if value is None else [terms.promise(self, self.numbers(value))]

    def checks(self, stated: Any, classes: PublishedClasses) -> list[Check]:
        """Counted again from the published classes alone."""
        again = self.measure(classes)
        return [] if again is None else [Check(self.counted_again, agree(again, stated), self.shown(again))]

    def shown(self, value: Any) -> str:
        return f"{value:.10g}"


class SensitiveModel(ClassModel):
    """A key that is asked of the values that each sensitive column has in a class."""

    by_levels = False
    of_households: ClassVar[bool] = False  # whether it is counted where people of a household have several values

    @property
    def by_shares(self) -> bool:
        """Whether it goes by how frequent values are, so that nobody may have several."""
        return True

    def condition_on(self, totals: Ints, tree: Tree) -> Condition:
        """`totals`: how often each value occurs in the table."""
        raise NotImplementedError

    def of_column(self, classes: PublishedClasses, name: str) -> Any:
        """What one column comes to in the classes."""
        raise NotImplementedError

    def measure(self, classes: PublishedClasses) -> dict[str, Any]:
        return {name: self.of_column(classes, name) for name in classes.counts}

    def guarantees(self, value: Any, terms: SharedTerms) -> list[Guarantee]:
        """In the order a certificate has the columns."""
        columns = sorted(value.items())
        return [terms.promise(self, {"attribute": name, **self.numbers(own)}, name) for name, own in columns]

    def checks(self, stated: Any, classes: PublishedClasses) -> list[Check]:
        checks = []
        for name, again in self.measure(classes).items():
            same = agree(again, stated.get(name)) and self.kept_by(classes.counts[name])
            checks.append(Check(f"{self.measure_key} of {name} counted again", same, self.shown(again)))
        return checks

    def kept_by(self, counts: ValueCounts) -> bool:
        """What it asks of a column beyond its number."""
        del counts
        return True


class _K(ClassModel):
    key = measure_key = number_key = "k"
    notion = KAnonymity
    statement = "paper 4, Definition 1"
    by_levels = False

    def condition(self) -> Condition:
        return conditions.KAnonymous(self.design.k)


class _LDiversity(SensitiveModel):
    key = measure_key = "l"
    notion = LDiversity
    statement = "Machanavajjhala et al. 2006, counted in the published classes"
    of_households = True

    @property
    def by_shares(self) -> bool:
        return self.design.l_kind != "distinct"

    def check(self) -> None:
        l, kind = self.design.l, self.design.l_kind  # noqa: E741 - the notion's own name
        if l is not None and kind == "recursive" and self.design.c is None:
            raise RecipeError("Recursive l-diversity must state c", "no c")
        if self.design.c is not None and (l is None or kind != "recursive"):
            other = "no l" if l is None else f'l_kind = "{kind}"'
            raise RecipeError('c must go with l and l_kind = "recursive"', other)
        if l is not None and kind != "entropy" and l != int(l):
            raise RecipeError(f"l must be a whole number with l_kind = {kind!r}", str(l))

    def condition_on(self, totals: Ints, tree: Tree) -> Condition:
        del totals, tree
        least = self.design.l or 1
        if self.design.l_kind == "entropy":
            return conditions.EntropyDiverse(least)
        if self.design.l_kind == "recursive":
            return conditions.RecursiveDiverse(self.design.c or 0.0, int(least))
        return conditions.DistinctDiverse(int(least))

    def of_column(self, classes: PublishedClasses, name: str) -> Diversity:
        counts = classes.counts[name]
        if self.design.l_kind == "distinct":
            return Diversity(kind="distinct", l=counts.distinct_l)
        if self.design.l_kind == "entropy":
            # e^H of l equally frequent values is l up to a float's rounding, some 1e-15: beyond, l is rounded down
            return Diversity(kind="entropy", l=math.floor(counts.entropy_l * (1 + 1e-14) * DIGITS) / DIGITS)
        l = int(self.design.l or 1)  # noqa: E741
        return Diversity(kind="recursive", l=l, c=math.ceil(counts.recursive_c(l) * DIGITS) / DIGITS)

    def shown(self, value: Diversity) -> str:
        return f"{value.l:.10g}, {value.kind}"


class _TCloseness(SensitiveModel):
    key = measure_key = number_key = "t"
    notion = TCloseness
    statement = "Li, Li and Venkatasubramanian 2007, counted in the published classes"
    of_households = True

    def condition_on(self, totals: Ints, tree: Tree) -> Condition:
        return conditions.Close(self.design.t or 0.0, totals, tree, self.design.t_distance == "ordered")

    def of_column(self, classes: PublishedClasses, name: str) -> float:
        return share_up(classes.counts[name].t(self.design.t_distance, classes.trees[name]))

    def numbers(self, value: float) -> dict[str, Any]:
        return {"distance": self.design.t_distance, "t": value}


class _KMap(ClassModel):
    key = measure_key = "k_map"
    notion, number_key = KMap, "k"
    statement = "Sweeney 2002, counted in the population table"
    assumptions = ("everyone whom an intruder may look for is in the population table",)
    among_people = True

    def condition(self) -> Condition:
        return conditions.Mapped(self.design.k_map or 1)

    def measure(self, classes: PublishedClasses) -> int | None:
        return None if classes.people is None else int(classes.people[1].min())


class _Presence(ClassModel):
    key, measure_key = "delta", "presence"
    notion = DeltaPresence
    statement = "paper 4, Definition 3, of labels; whoever is left out is one class"
    assumptions = (
        "the intruder knows the population table and this certificate",
        "beforehand every person of a class, or of all that are left out, is as likely to be present as any",
        "the intruder infers nothing from the choice of levels, which were searched on the private table, nor "
        "from which classes were left out",
    )
    among_people = True

    @property
    def wanted(self) -> Presence:
        return Presence.of(*self.design.delta or (0, 1))

    def check(self) -> None:
        if self.asked and self.wanted and self.design.cells != "hierarchy":
            raise RecipeError(
                'delta must go with cells = "hierarchy"',
                f"cells = {self.design.cells!r}",
                "Distributions tell more of who is present: method presence has them.",
            )

    def condition(self) -> Condition:
        return conditions.ShareOfPeople(self.wanted)

    def table_condition(self, people: int, present: int) -> TableCondition:
        return conditions.LeftOutPresent(self.wanted, people, present)

    def measure(self, classes: PublishedClasses) -> tuple[float, float] | None:
        """Rounded outwards, except that an end of the range that is reached is not passed."""
        if classes.people is None or classes.generalised is None or self.design.delta is None:
            return None
        population, people = classes.people
        shares = classes.generalised.sizes / people
        if left_out := population.people - int(people.sum()):
            shares = np.append(shares, classes.generalised.suppressed / left_out)
        low, high, (least, most) = float(shares.min()), float(shares.max()), self.design.delta
        return (
            least if abs(low - least) < 1 / DIGITS else math.floor(low * DIGITS) / DIGITS,
            most if abs(high - most) < 1 / DIGITS else math.ceil(high * DIGITS) / DIGITS,
        )

    def numbers(self, value: tuple[float, float]) -> dict[str, Any]:
        lowest, highest = self.design.delta or (0, 1)
        reached = {"reached_lowest": value[0], "reached_highest": value[1]}
        return {"lowest": lowest, "highest": highest, **reached, "mode": "public", "reversal": "withstood"}


class _AverageRisk(ClassModel):
    key = measure_key = "average_risk"
    notion, number_key = AverageRisk, "average"
    statement = "classes over records, counted in the published classes"
    counted_again = "average risk counted again"

    def check(self) -> None:
        if self.design.average_risk == 0:
            raise RecipeError("average_risk must be above 0", "0")

    def table_condition(self, people: int, present: int) -> TableCondition:
        del people, present
        return conditions.MeanRiskWithin(Fraction(str(self.design.average_risk)))

    def measure(self, classes: PublishedClasses) -> float:
        return float(rounded_up(len(classes.sizes) / float(classes.sizes.sum(dtype=np.int64))))


class _PopulationUniques(ClassModel):
    key, measure_key = "population_uniques", "uniques"
    notion = PopulationUniqueness
    statement = "estimated from the published classes (see theory: disclosure)"
    assumptions = ("the records are a random sample of the population, and the model describes it",)
    counted_again = "population uniques estimated again"

    def check(self) -> None:
        if self.asked != (self.design.population_size is not None):
            missing = "population_size" if self.asked else "population_uniques"
            raise RecipeError("population_uniques and population_size must go together", f"no {missing}")
        if not self.asked and self.design.uniques_model != "dankar":
            raise RecipeError("uniques_model must go with population_uniques", "no population_uniques")

    def table_condition(self, people: int, present: int) -> TableCondition:
        del people
        size = self.design.population_size or 0
        if size < present:
            raise RecipeError(f"population_size must be at least the {present} records of the table", str(size))
        return conditions.FewUniques(self.design.population_uniques or 0.0, size, self.design.uniques_model)

    def measure(self, classes: PublishedClasses) -> UniquesMeasure:
        population = self.design.population_size or 0
        used, share = conditions.uniques_of(classes.sizes, population, self.design.uniques_model)
        return UniquesMeasure(share=min(float(rounded_up(share)), 1.0), population=population, model=used)

    def shown(self, value: UniquesMeasure) -> str:
        return f"{value.share:.6g} by {value.model}"


class _Profit(ClassModel):
    key, measure_key = "profit", "payoff"
    notion, number_key = Profitability, "payoff"
    statement = "Wan et al. 2015, worked out from the published classes"
    assumptions = ("benefit, loss, gain and cost are as the recipe states them",)
    counted_again = "payoff worked out again"

    @property
    def needs_people(self) -> bool:
        return self.design.profit is not None and self.design.profit.intruder == "journalist"

    def check(self) -> None:
        if self.asked and self.design.cells != "hierarchy":
            raise RecipeError('profit must go with cells = "hierarchy"', f"cells = {self.design.cells!r}")

    def table_condition(self, people: int, present: int) -> TableCondition | None:
        del people, present
        return None if self.design.profit is None else conditions.Profitable(self.design.profit)

    def measure(self, classes: PublishedClasses) -> float | None:
        """Of classes at their levels, or of published labels; a journalist's needs the population."""
        made, people = classes.generalised, classes.people
        if self.design.profit is None or (self.needs_people and people is None):
            return None
        if made is None:
            widths = [look.width.astype(np.float64) for look in classes.looks.values()]
            leaves, alike = [look.leaves for look in classes.looks.values()], classes.sizes
        else:
            widths = [cells.sizes.astype(np.float64) for cells in made.cells("hierarchy")]
            leaves, alike = [ladder.leaves for ladder in made.ladders], made.sizes
        if self.needs_people and people is not None:
            alike = people[1]
        return float(self.design.profit.payoffs(widths, leaves, alike).min())

    def numbers(self, value: float) -> dict[str, Any]:
        return {"payoff": value, **super().numbers(self.design.profit)}


class _DDisclosure(SensitiveModel):
    key, measure_key = "d_disclosure", "d"
    notion, number_key = DDisclosure, "d"
    statement = "Brickell and Shmatikov 2008, counted in the published classes"

    def condition_on(self, totals: Ints, tree: Tree) -> Condition:
        del tree
        return conditions.Disclosing(self.design.d_disclosure or 0.0, totals)

    def of_column(self, classes: PublishedClasses, name: str) -> float:
        counts = classes.counts[name]
        return float(rounded_up(float(counts.ratios(counts.totals).max())))


class _BLikeness(SensitiveModel):
    key, measure_key = "b_likeness", "b"
    notion = BLikeness
    statement = "Cao and Karras 2012, counted in the published classes"

    def check(self) -> None:
        if not self.asked and self.design.b_kind != "basic":
            raise RecipeError("b_kind must go with b_likeness", "no b_likeness")

    def condition_on(self, totals: Ints, tree: Tree) -> Condition:
        del tree
        return conditions.Alike(self.design.b_likeness or 0.0, totals, self.design.b_kind == "enhanced")

    def of_column(self, classes: PublishedClasses, name: str) -> float:
        counts = classes.counts[name]
        return float(rounded_up(float(counts.gains(counts.totals).max())))

    def numbers(self, value: float) -> dict[str, Any]:
        return {"kind": self.design.b_kind, "b": value}

    def kept_by(self, counts: ValueCounts) -> bool:
        return self.design.b_kind == "basic" or bool(counts.gains_within_entropy(counts.totals).all())


# in the order in which a certificate promises them
MODELS: tuple[type[ClassModel], ...] = (
    _K, _LDiversity, _TCloseness, _KMap, _Presence, _AverageRisk, _PopulationUniques, _Profit,
    _DDisclosure, _BLikeness,
)  # fmt: skip


def share_up(share: float) -> float:
    """A share rounded up at the ninth place."""
    return min(math.ceil(share * DIGITS) / DIGITS, 1.0)


def agree(one: object, other: object) -> bool:
    """Whether two measurements are the same, but for the last digits of sums of floats."""
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=2e-9)
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        return agree(msgspec.structs.asdict(one), msgspec.structs.asdict(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[key], other[key]) for key in one)
    return one == other
