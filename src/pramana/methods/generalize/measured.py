"""What a generalised table came to: counted in the classes that are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, UnsetType
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.counting.classes import Counts
from pramana.counting.value_counts import Ints, Risks, ValueCounts
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.cells import common_levels, kl_cost, labels_of
from pramana.methods.columns import Quasi
from pramana.methods.generalize.lines import PopulationLines
from pramana.methods.generalize.models import (
    MODELS,
    ClassModel,
    Diversity,
    ModelMeasures,
    PublishedClasses,
    SharedTerms,
    agree,
    share_up,
)
from pramana.methods.generalize.recoding import Generalised
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.sensitive import Sensitive, UnitsInClasses, derive_codes
from pramana.notions.guarantee import Guarantee
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Rows
from pramana.schema.unit import Storey

if TYPE_CHECKING:
    from pramana.methods.generalize.plan import GeneralizePlan

Share = Annotated[float, Meta(ge=0, le=1)]
Cost = Annotated[float, Meta(ge=0)]


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
    unit: Storey | UnsetType = msgspec.UNSET
    fewest_records: Annotated[int, Meta(ge=1)] | UnsetType = msgspec.UNSET
    persons: PersonMeasures | UnsetType = msgspec.UNSET
    cells: SuppressedCells | None = None  # where single cells may be suppressed
    models: ModelMeasures | UnsetType = msgspec.UNSET  # what is asked for beyond k, l and t

    @property
    def counted_unit(self) -> Storey | None:
        """Who is counted; None where rows are."""
        return None if self.unit is msgspec.UNSET else self.unit

    def of_model(self, model: type[ClassModel]) -> Any:
        """What is stated of a model; None, or of no column, where nothing is."""
        if model.key in ("k", "l", "t"):
            return getattr(self, model.key)
        return getattr(ModelMeasures() if self.models is msgspec.UNSET else self.models, model.measure_key)

    def guarantees(self, plan: GeneralizePlan, seeded: bool) -> tuple[Guarantee, ...]:
        if self.unit is msgspec.UNSET or plan.unit is None:
            return self._guarantees(plan, seeded, "record", None)
        own = self._guarantees(plan, seeded, self.unit, plan.unit.most(self.unit))
        if self.persons is msgspec.UNSET:
            return own
        numbers = msgspec.structs.asdict(self.persons)
        persons = msgspec.structs.replace(self, **numbers, models=msgspec.UNSET)
        return (*persons._guarantees(plan, seeded, "person", plan.unit.most("person")), *own)

    def _guarantees(
        self, plan: GeneralizePlan, seeded: bool, unit: str, most: Mapping[str, int] | None
    ) -> tuple[Guarantee, ...]:
        raw, gaps = plan.raw_names(), [s.name for s in plan.sensitive if s.missing]
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
        terms = SharedTerms(raw, tuple(common), gaps, unit, most)
        models = [kind(plan.design) for kind in MODELS]
        return tuple(g for model in models for g in model.guarantees(self.of_model(type(model)), terms))


@dataclass(frozen=True, eq=False)
class InClasses:
    """A sensitive column's codes and the classes they are in, -1 for none; `times` as in `Generalised`."""

    class_of: NDArray[np.integer]
    codes: Codes
    times: Counts | None = None

    def counts(self, alike: Ints, values: int) -> ValueCounts:
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
    trees = {s.name: s.parents for s in sensitive}
    k = of_rows = int(sizes.min())
    of_units: dict[str, Any] = {}
    if units is not None:
        shown, storey = units.shown(alike), units.owners.largest
        counts = {s.name: shown.counts(storey, s) for s in sensitive}
        k, risks = shown.k(storey), shown.risks(storey)
        of_units = {"unit": storey, "fewest_records": of_rows}
        if storey == "household":
            of_people = {s.name: shown.counts("person", s) for s in sensitive}
            values = _measured_models(design, PublishedClasses(sizes, of_people, trees))
            of_units["persons"] = PersonMeasures(k=shown.k("person"), l=values.get("l", {}), t=values.get("t", {}))
    values = _measured_models(design, PublishedClasses(sizes, counts, trees, generalised, people))
    diversities, distances = values.pop("l", {}), values.pop("t", {})
    models, published = ModelMeasures(**values), generalised.cells(design.cells, design.intermediate)
    return Measured(
        records=int(generalised.sizes.sum()),
        classes=len(sizes),
        k=k,
        l=diversities,
        t=distances,
        single_valued={name: counted.single_valued for name, counted in counts.items()},
        inferred={name: share_up(counted.largest_share) for name, counted in counts.items()},
        kl_cost=float(sum(kl_cost(o, p) for o, p in zip(generalised.pdf, published, strict=True))),
        cost=None if generalised.cost is None else float(generalised.cost),
        nodes=generalised.nodes,
        checked=generalised.checked,
        by_class=by_class,
        cells=_cells(generalised, design),
        models=msgspec.UNSET if models == ModelMeasures() else models,
        **asdict(risks),
        **of_units,
    )


def _measured_models(design: GeneralizeDesign, classes: PublishedClasses) -> dict[str, Any]:
    """All but k, under the names that certificates have for them."""
    return {model.measure_key: model.measure(classes) for model in design.models if model.key != "k"}


def _cells(generalised: Generalised, design: GeneralizeDesign) -> SuppressedCells | None:
    if design.suppress == "rows":
        return None
    names = [ladder.name for ladder in generalised.ladders]
    by_column = dict(zip(names, generalised.suppressed_cells, strict=True))
    return SuppressedCells(by_column=by_column, fewest=generalised.fewest_cells)


def _alike(generalised: Generalised, design: GeneralizeDesign, quasi: Sequence[Quasi]) -> Ints:
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


def _alike_by_labels(generalised: Generalised, quasi: Sequence[Quasi]) -> Ints:
    """By what is written: levels may share a label, and whoever reads it cannot tell which was meant."""
    columns = []
    for a, (q, cells) in enumerate(zip(quasi, generalised.pdf, strict=True)):
        level = generalised.shown_level(a)
        shown = labels_of(q.ladder, q.labels, cells, common_levels(q.ladder, cells) if level is None else level)
        columns.append(np.unique(np.array(shown), return_inverse=True)[1])
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


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


def measured_alike(again: Measured, stated: Measured) -> bool:
    """Whether two measurements of one table are the same, but for the last digits of sums of floats.

    The search's own figures are not there for classes that were made again at known levels, nor is the
    journalist's risk without the population.
    """
    skipped = {"cost", "nodes", "checked"}
    if again.journalist is None:
        skipped |= {"journalist", *({"prosecutor", "marketer"} if stated.journalist is not None else ())}
    return all(
        agree(getattr(again, key), getattr(stated, key)) for key in again.__struct_fields__ if key not in skipped
    )
