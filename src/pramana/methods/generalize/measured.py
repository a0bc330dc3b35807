"""What a generalised table came to: counted in the classes that are published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.certificate import JsonObject
from pramana.bundle.form import Form
from pramana.counting.classes import Counts
from pramana.counting.value_counts import Risks, ValueCounts
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.cells import common_levels, kl_cost, labels_of
from pramana.methods.columns import Quasi
from pramana.methods.generalize.models import (
    ModelMeasures,
    PopulationLines,
    UniquesMeasure,
    measure_models,
    model_guarantees,
)
from pramana.methods.generalize.recoding import Generalised
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.sensitive import Sensitive, UnitsInClasses, derive_codes
from pramana.notions.classes import KAnonymity
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.notions.sensitive_values import LDiversity, TCloseness
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Rows
from pramana.schema.unit import Storey, Unit

_DIGITS = 1e9  # l is rounded down and t up at the ninth place


Share = Annotated[float, Meta(ge=0, le=1)]
Cost = Annotated[float, Meta(ge=0)]


class Diversity(Form, frozen=True, kw_only=True, omit_defaults=True):
    """How many values a class has at least, by one of three notions."""

    kind: Literal["distinct", "entropy", "recursive"]
    l: Annotated[float, Meta(ge=0)]  # noqa: E741 - the notion's own name
    c: Cost | None = None


class PersonMeasures(Form, frozen=True, kw_only=True):
    """What a table with households comes to in people."""

    k: Annotated[int, Meta(ge=1)]
    l: dict[str, Diversity]  # noqa: E741
    t: dict[str, Share]


class SuppressedCells(Form, frozen=True, kw_only=True):
    """By column in how many records the top stands for a label; `fewest`: proved to be the fewest by weight."""

    by_column: dict[str, Annotated[int, Meta(ge=0)]]
    fewest: bool

    def words(self, records: int) -> list[str]:
        number = sum(self.by_column.values())
        if not number:
            return []
        where = ", ".join(f"{count} of {name}" for name, count in sorted(self.by_column.items()) if count)
        return [f"Of {records} records single cells were suppressed, {number} in all: {where}."]


class Measured(Form, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of this table. `l` and `t` are by sensitive column; `inferred` is the largest share of one value.

    Where people have several rows, `unit` tells who is counted (households where there are any, and `persons` then
    has the same in people), and `fewest_records` is what a reader of the file can count again.
    """

    records: Annotated[int, Meta(ge=1)]
    classes: Annotated[int, Meta(ge=1)]
    k: Annotated[int, Meta(ge=1)]
    l: dict[str, Diversity]  # noqa: E741
    t: dict[str, Share]
    single_valued: dict[str, Annotated[int, Meta(ge=0)]]
    inferred: dict[str, Share]
    kl_cost: Cost
    cost: float | None
    nodes: Annotated[int, Meta(ge=0)] | None
    checked: Annotated[int, Meta(ge=0)] | None
    by_class: bool
    prosecutor: Share
    journalist: Share | None
    marketer: Share
    unit: Storey | msgspec.UnsetType = msgspec.UNSET
    fewest_records: Annotated[int, Meta(ge=1)] | msgspec.UnsetType = msgspec.UNSET
    persons: PersonMeasures | msgspec.UnsetType = msgspec.UNSET
    cells: SuppressedCells | None = None  # where single cells may be suppressed
    models: ModelMeasures | msgspec.UnsetType = msgspec.UNSET  # what is asked for beyond k, l and t

    def to_json(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(self)
        return plain

    @property
    def counted_unit(self) -> Storey | None:
        """Who is counted; None where rows are."""
        return None if self.unit is msgspec.UNSET else self.unit

    def guarantees(
        self,
        design: GeneralizeDesign,
        raw: Sequence[str],
        seeded: bool,
        gaps: Sequence[str] = (),
        unit: Unit | None = None,
    ) -> tuple[Guarantee, ...]:
        """`raw`: the columns released unchanged; `gaps`: the sensitive ones that have missing values."""
        if self.unit is msgspec.UNSET or unit is None:
            return self._guarantees(design, raw, seeded, gaps, "record", None)
        own = self._guarantees(design, raw, seeded, gaps, self.unit, unit.most(self.unit))
        if self.persons is msgspec.UNSET:
            return own
        own_numbers = {"k": self.persons.k, "l": self.persons.l, "t": self.persons.t}
        persons = msgspec.structs.replace(self, **own_numbers, models=msgspec.UNSET)
        return (*persons._guarantees(design, raw, seeded, gaps, "person", unit.most("person")), *own)

    def _guarantees(
        self,
        design: GeneralizeDesign,
        raw: Sequence[str],
        seeded: bool,
        gaps: Sequence[str],
        unit: str,
        most: Mapping[str, int] | None,
    ) -> tuple[Guarantee, ...]:
        common = [
            "the quasi-identifying columns are all an intruder can know of a person",
            "this is the only release about these people; another one of the same people may tell classes apart",
        ]
        if raw:
            common.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
        if seeded:
            common.append("the order of the records comes from a seed and is no secret")
        if unit != "record":
            common.append(
                f"which published rows are one {unit}'s does not follow from the columns that are published"
            )
        words = tuple(common)
        statement = "paper 4, Definition 1" + (
            "" if unit == "record" else f", every {unit} counted once in a class"
        )
        guarantees: list[Guarantee] = [
            KAnonymity(
                THIS_TABLE,
                statement,
                k=self.k,
                uncovered=tuple(raw),
                assumptions=words,
                unit=unit,
                most=most,
            )
        ]
        for name, value in sorted(self.l.items()):  # in the order a certificate has them
            statement = "Machanavajjhala et al. 2006, counted in the published classes"
            guarantees.append(
                LDiversity(
                    THIS_TABLE,
                    statement,
                    attribute=name,
                    kind=value.kind,
                    l=value.l,
                    c=value.c,
                    uncovered=tuple(column for column in raw if column != name),
                    assumptions=(*words, *_of_gaps(name, gaps)),
                    unit=unit,
                    most=most,
                )
            )
        for name, distance in sorted(self.t.items()):
            statement = "Li, Li and Venkatasubramanian 2007, counted in the published classes"
            guarantees.append(
                TCloseness(
                    THIS_TABLE,
                    statement,
                    attribute=name,
                    distance=design.t_distance,
                    t=distance,
                    uncovered=tuple(column for column in raw if column != name),
                    assumptions=(*words, *_of_gaps(name, gaps)),
                    unit=unit,
                    most=most,
                )
            )
        if self.models is not msgspec.UNSET:
            about_gaps = {name: _of_gaps(name, gaps) for name in gaps}
            guarantees += model_guarantees(self.models, design, raw, words, about_gaps, unit, most)
        return tuple(guarantees)


def _of_gaps(name: str, gaps: Sequence[str]) -> tuple[str, ...]:
    return (f"a missing value of {name} counts as a value of its own",) if name in gaps else ()


@dataclass(frozen=True, eq=False)
class InClasses:
    """A sensitive column's codes and the classes they are in, -1 for none; `times` as in `Generalised`."""

    class_of: NDArray[np.integer]
    codes: Codes
    times: Counts | None = None

    def counts(self, alike: NDArray[np.int64], values: int) -> ValueCounts:
        """Of the classes as they are shown: those with the same number in `alike` are one."""
        kept = self.class_of >= 0
        shown = alike[self.class_of[kept]]
        times = None if self.times is None else self.times[kept]
        return ValueCounts.of(shown, self.codes[kept], times, values)


def measure(
    generalised: Generalised,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    sensitive: Sequence[Sensitive],
    in_classes: Sequence[InClasses],
    by_class: bool,
    population: PopulationLines | None,
    units: UnitsInClasses | None = None,
) -> Measured:
    """`units`: whose the rows in the classes are, where people have several."""
    people = None if population is None else (population, population.in_classes(generalised))
    # a class number in the file tells classes apart even where their cells are the same
    alike = np.arange(generalised.classes) if by_class else _alike(generalised, design, quasi)
    counts: dict[str, ValueCounts] = {
        s.name: h.counts(alike, s.size) for s, h in zip(sensitive, in_classes, strict=True)
    }
    sizes = np.bincount(alike, generalised.sizes).astype(np.uint32)
    if people is None:
        risks = Risks.of(sizes)
    else:
        risks = Risks.of(generalised.sizes.astype(np.uint32), people[1].astype(np.uint32))
    published = generalised.cells(design.cells, design.intermediate)
    of_rows = int(sizes.min())
    of_units: dict[str, Any] = {}
    if units is not None:
        shown, storey = units.shown(alike), units.owners.largest
        counts = {s.name: shown.counts(storey, s) for s in sensitive}
        risks = shown.risks(storey)
        of_units = {"unit": storey, "fewest_records": of_rows}
        if storey == "household":
            of_units["persons"] = _in_people(shown, design, sensitive)
    return Measured(
        records=int(generalised.sizes.sum()),
        classes=len(sizes),
        k=of_rows if units is None else units.shown(alike).k(units.owners.largest),
        l={} if design.l is None else {name: diversity_of(counted, design) for name, counted in counts.items()},
        t={} if design.t is None else {s.name: _distance(counts[s.name], s, design) for s in sensitive},
        single_valued={name: counted.single_valued for name, counted in counts.items()},
        inferred={name: rounded_up(counted.largest_share) for name, counted in counts.items()},
        kl_cost=float(sum(kl_cost(o, p) for o, p in zip(generalised.pdf, published, strict=True))),
        cost=None if generalised.cost is None else float(generalised.cost),
        nodes=generalised.nodes,
        checked=generalised.checked,
        by_class=by_class,
        cells=_cells(generalised, design),
        models=measure_models(design, sizes, counts, generalised, people),
        **asdict(risks),
        **of_units,
    )


def _in_people(shown: UnitsInClasses, design: GeneralizeDesign, sensitive: Sequence[Sensitive]) -> PersonMeasures:
    counts = {s.name: shown.counts("person", s) for s in sensitive}
    return PersonMeasures(
        k=shown.k("person"),
        l={} if design.l is None else {name: diversity_of(counted, design) for name, counted in counts.items()},
        t={} if design.t is None else {s.name: _distance(counts[s.name], s, design) for s in sensitive},
    )


def _cells(generalised: Generalised, design: GeneralizeDesign) -> SuppressedCells | None:
    if design.suppress == "rows":
        return None
    names = [ladder.name for ladder in generalised.ladders]
    by_column = dict(zip(names, generalised.suppressed_cells, strict=True))
    return SuppressedCells(by_column=by_column, fewest=generalised.fewest_cells)


def _alike(generalised: Generalised, design: GeneralizeDesign, quasi: Sequence[Quasi]) -> NDArray[np.int64]:
    """For each class a number that classes with the same published cells share."""
    if design.cells == "hierarchy":
        return _alike_by_labels(generalised, quasi)
    published = generalised.cells(design.cells, design.intermediate)
    known: dict[tuple[bytes, ...], int] = {}
    look_of = np.empty(generalised.classes, np.int64)
    bounds = [(c.first.tolist(), c.values, c.weights) for c in published]
    for number in range(generalised.classes):
        cell = []
        for first, values, weights in bounds:
            here = slice(first[number], first[number + 1])
            cell.append(values[here].tobytes() + weights[here].tobytes())
        look_of[number] = known.setdefault(tuple(cell), len(known))
    return look_of


def _alike_by_labels(generalised: Generalised, quasi: Sequence[Quasi]) -> NDArray[np.int64]:
    """By what is written: levels may share a label, and whoever reads it cannot tell which was meant."""
    columns = []
    for a, (q, cells) in enumerate(zip(quasi, generalised.pdf, strict=True)):
        level = generalised.shown_level(a)
        shown = labels_of(q.ladder, q.labels, cells, common_levels(q.ladder, cells) if level is None else level)
        columns.append(np.unique(np.array(shown), return_inverse=True)[1])
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def diversity_of(counted: ValueCounts, design: GeneralizeDesign) -> Diversity:
    if design.l_kind == "distinct":
        return Diversity(kind="distinct", l=counted.distinct_l)
    if design.l_kind == "entropy":
        # e^H of l equally frequent values is l up to a float's rounding, some 1e-15: beyond, l is rounded down
        return Diversity(kind="entropy", l=math.floor(counted.entropy_l * (1 + 1e-14) * _DIGITS) / _DIGITS)
    least = counted.recursive_c(int(design.l or 1))
    return Diversity(kind="recursive", l=int(design.l or 1), c=math.ceil(least * _DIGITS) / _DIGITS)


def _distance(counted: ValueCounts, column: Sensitive, design: GeneralizeDesign) -> float:
    return rounded_up(counted.t(design.t_distance, () if column.parents is None else column.parents))


def rounded_up(share: float) -> float:
    return min(math.ceil(share * _DIGITS) / _DIGITS, 1.0)


def sensitive_in_classes(rows: Rows, sensitive: Sequence[Sensitive], generalised: Generalised) -> list[InClasses]:
    """Which values of the sensitive columns are in which class, of rows that have the number of their class."""
    derive_codes(rows, sensitive)
    groups = [{CLASS_NUMBER: generalised.classes + 1, s.coded: s.size} for s in sensitive]
    in_classes = []
    for lines in rows.combinations(groups) if groups else ():
        number, codes = lines.columns
        class_of = np.where(number == generalised.classes, -1, number.astype(np.int64))
        in_classes.append(InClasses(class_of, codes, lines.times))
    return in_classes


def agree(again: Measured, stated: Measured) -> bool:
    """Whether two measurements of one table are the same, but for the last digits of sums of floats.

    The search's own figures are not there for classes that were made again at known levels, nor is the
    journalist's risk without the population.
    """
    skipped = {"cost", "nodes", "checked"}
    if again.journalist is None:
        skipped |= {"journalist", *({"prosecutor", "marketer"} if stated.journalist is not None else ())}
    one, other = (msgspec.structs.asdict(m) for m in (again, stated))
    return all(_equal(one[key], other[key]) for key in one if key not in skipped)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=2e-9)
    if isinstance(one, ModelMeasures | UniquesMeasure) and isinstance(other, ModelMeasures | UniquesMeasure):
        return _equal(msgspec.structs.asdict(one), msgspec.structs.asdict(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return one == other
