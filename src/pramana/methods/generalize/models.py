"""What classes came to by the models beyond k, l and t: measured, promised, and counted again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Check, Form
from pramana.counting.classes import CombinationCounter, CountedCombinations
from pramana.counting.value_counts import JointValues, ValueCounts
from pramana.errors import RecipeError, SourceError
from pramana.files.store_path import AnyPath
from pramana.io.codes import Encoder
from pramana.io.source import Source
from pramana.methods.cell_table import MARK, derive_marks
from pramana.methods.columns import Quasi
from pramana.methods.generalize.class_models import told_by_labels, uniques_of
from pramana.methods.generalize.recoding import Generalised
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.sensitive import NO_COLUMN, Sensitive, joint_columns
from pramana.methods.usefulness import CellLook
from pramana.notions.classes import AverageRisk, KMap, PopulationUniqueness, Profitability
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.notions.presence import DeltaPresence
from pramana.notions.sensitive_values import BLikeness, DDisclosure
from pramana.randomness.samplers import code_dtype
from pramana.rows.protocol import Rows
from pramana.schema.typed import Count, Share

# The population that records are of: another file, or the source itself with the published rows marked.


_ROWS = 1 << 18  # of a population that are looked at together


@dataclass(frozen=True, eq=False)
class PopulationLines:
    """The combinations of quasi-identifying values that people have, and how many have each."""

    lines: CountedCombinations

    @property
    def people(self) -> int:
        return self.lines.rows

    def in_classes(self, generalised: Generalised) -> NDArray[np.int64]:
        """How many people each published class stands for."""
        number = generalised.finder.find(list(self.lines.columns))
        sizes = np.bincount(number, self.lines.times, generalised.classes + 1).astype(np.int64)[:-1]
        if bool((sizes < generalised.sizes).any()):
            raise RecipeError("The population must contain every record of the table", "a class with fewer people")
        return sizes


def read_population(path: AnyPath, quasi: Sequence[Quasi]) -> PopulationLines:
    """From a file, piece by piece: what occurs is held, and no row."""
    encoders = [Encoder(q.attribute.coded, q.name) for q in quasi]
    sizes = [q.attribute.coded.size for q in quasi]
    counting = CombinationCounter(sizes)
    for batch in Source(path=path).batches([q.name for q in quasi], _ROWS):
        codes = [encoder.encode(batch.column(q.name)) for encoder, q in zip(encoders, quasi, strict=True)]
        if not any(encoder.has_faults for encoder in encoders):
            counting.update(codes)
    for encoder in encoders:
        encoder.finish()
    if not counting.parts:
        raise SourceError("A population must have people", "an empty table")
    found = counting.merged()
    order = np.lexsort(found.keys.T)
    columns = tuple(found.codes(a).astype(code_dtype(size))[order] for a, size in enumerate(sizes))
    return PopulationLines(CountedCombinations(columns, np.ascontiguousarray(found.sizes[order])))


@dataclass(frozen=True, eq=False)
class OccurringLines:
    """Combinations that occur: by themselves, with each sensitive column, with a target, and of the population."""

    lines: CountedCombinations
    beside: list[tuple[Sensitive, CountedCombinations]]
    learnt: tuple[Sensitive, CountedCombinations] | None
    everyone: PopulationLines | None


def occurring_lines(
    rows: Rows,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
    subset: str | None,
    target: Sensitive | None,
) -> OccurringLines:
    """With a subset those of its rows, beside all of them; with `joints` people are counted."""
    own = {q.name: q.attribute.coded.size for q in quasi}
    beside = joint_columns(joints) or {s.coded: s.size for s in looked}
    groups = [own, *({**own, name: size} for name, size in beside.items())]
    if target is not None:
        groups.append({**own, target.coded: target.size})
    (lines, *others), everyone = _in_subset(rows, groups, subset)
    learnt = None if target is None else (target, others.pop())
    paired = list(zip(looked or [NO_COLUMN] * len(joints), others, strict=True))
    return OccurringLines(lines, paired, learnt, everyone)


def _in_subset(
    rows: Rows, groups: Sequence[Mapping[str, int]], subset: str | None
) -> tuple[list[CountedCombinations], PopulationLines | None]:
    if subset is None:
        return rows.combinations(groups), None
    derive_marks(rows, subset)
    everyone, *marked = rows.combinations([groups[0], *({**group, MARK: 2} for group in groups)])
    return [_meant(lines) for lines in marked], PopulationLines(everyone)


def _meant(lines: CountedCombinations) -> CountedCombinations:
    """The lines that are marked, without their marks."""
    here = lines.columns[-1] == 1
    if not here.any():
        raise SourceError("A subset must have rows", "none that is marked")
    return CountedCombinations(tuple(column[here] for column in lines.columns[:-1]), lines.times[here])


_DIGITS = 1e9  # numbers are rounded against ourselves at the ninth place
_HAIR = 2e-9
_SEARCHED = (
    "the intruder infers nothing from the choice of levels, which were searched on the private table, nor from "
    "which classes were left out"
)
_NEEDS_PEOPLE = "stated, not checked: it needs the population (--source and --key)"
Number = Annotated[float, Meta(ge=0)]


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


def measure_models(
    design: GeneralizeDesign,
    sizes: NDArray[np.integer],
    counts: Mapping[str, ValueCounts],
    generalised: Generalised,
    people: tuple[PopulationLines, NDArray[np.int64]] | None,
) -> ModelMeasures | msgspec.UnsetType:
    """`sizes` and `counts` are of the classes as they are shown; `people` of each class as it was made."""
    measured = ModelMeasures(
        k_map=None if design.k_map is None or people is None else int(people[1].min()),
        presence=None if design.delta is None or people is None else _presence(design, generalised, *people),
        average_risk=_average(design, sizes),
        uniques=_uniques(design, sizes),
        payoff=_payoff_made(design, generalised, None if people is None else people[1]),
        d={} if design.d_disclosure is None else {name: d_of(counted) for name, counted in counts.items()},
        b={} if design.b_likeness is None else {name: b_of(counted) for name, counted in counts.items()},
    )
    return msgspec.UNSET if measured == ModelMeasures() else measured


def _presence(
    design: GeneralizeDesign, generalised: Generalised, population: PopulationLines, people: NDArray[np.int64]
) -> tuple[float, float]:
    """Rounded outwards, except that an end of the range that is reached is not passed."""
    assert design.delta is not None
    shares = generalised.sizes / people
    low, high = float(shares.min()), float(shares.max())
    rest = population.people - int(people.sum())
    if rest:
        share = generalised.suppressed / rest
        low, high = min(low, share), max(high, share)
    least, most = design.delta
    return (
        least if abs(low - least) < 1 / _DIGITS else math.floor(low * _DIGITS) / _DIGITS,
        most if abs(high - most) < 1 / _DIGITS else math.ceil(high * _DIGITS) / _DIGITS,
    )


def _payoff_made(
    design: GeneralizeDesign, generalised: Generalised, people: NDArray[np.int64] | None
) -> float | None:
    """Of classes at their levels."""
    if design.profit is None or generalised.levels is None:
        return None
    cells = [c.sizes.astype(np.float64) for c in generalised.cells("hierarchy")]
    leaves = [ladder.leaves for ladder in generalised.ladders]
    alike = people if design.journalist and people is not None else generalised.sizes
    return float(design.profit.game.payoffs(told_by_labels(cells, leaves), 1.0 / alike).min())


def payoff_shown(
    design: GeneralizeDesign, looks: Mapping[str, CellLook], sizes: NDArray[np.int64]
) -> float | None:
    """Of published labels; a journalist's needs the population."""
    if design.profit is None or design.journalist:
        return None
    widths = [look.width.astype(np.float64) for look in looks.values()]
    told = told_by_labels(widths, [look.leaves for look in looks.values()])
    return float(design.profit.game.payoffs(told, 1.0 / sizes).min())


def _average(design: GeneralizeDesign, sizes: NDArray[np.integer]) -> float | None:
    if design.average_risk is None:
        return None
    return _up(len(sizes) / float(sizes.sum(dtype=np.int64)))


def _uniques(design: GeneralizeDesign, sizes: NDArray[np.integer]) -> UniquesMeasure | None:
    if design.population_uniques is None or design.population_size is None:
        return None
    used, share = uniques_of(sizes, design.population_size, design.uniques_model)
    return UniquesMeasure(share=min(_up(share), 1.0), population=design.population_size, model=used)


def d_of(counted: ValueCounts) -> float:
    return _up(float(counted.ratios(counted.totals).max()))


def b_of(counted: ValueCounts) -> float:
    return _up(float(counted.gains(counted.totals).max()))


def _up(number: float) -> float:
    """What lies a float's rounding above a multiple is that multiple."""
    return math.ceil(number * _DIGITS * (1 - 4e-16)) / _DIGITS


def model_guarantees(
    measured: ModelMeasures,
    design: GeneralizeDesign,
    raw: Sequence[str],
    words: tuple[str, ...],
    gaps: Mapping[str, tuple[str, ...]],
    unit: str,
    most: Mapping[str, int] | None,
) -> list[Guarantee]:
    """`words`: the assumptions that all share; `gaps`: what is to be said of a column's missing values."""
    found: list[Guarantee] = []
    outside = tuple(raw)
    if measured.k_map is not None:
        statement = "Sweeney 2002, counted in the population table"
        known = ("everyone whom an intruder may look for is in the population table", *words)
        found.append(KMap(THIS_TABLE, statement, k=measured.k_map, uncovered=outside, assumptions=known))
    if measured.presence is not None and design.delta is not None:
        known = (
            "the intruder knows the population table and this certificate",
            "beforehand every person of a class, or of all that are left out, is as likely to be present as any",
            _SEARCHED,
            *words,
        )
        found.append(
            DeltaPresence(
                THIS_TABLE,
                "paper 4, Definition 3, of labels; whoever is left out is one class",
                lowest=design.delta[0],
                highest=design.delta[1],
                reached_lowest=measured.presence[0],
                reached_highest=measured.presence[1],
                mode="public",
                reversal="withstood",
                uncovered=outside,
                assumptions=known,
            )
        )
    if measured.average_risk is not None:
        statement = "classes over records, counted in the published classes"
        average = measured.average_risk
        found.append(AverageRisk(THIS_TABLE, statement, average=average, uncovered=outside, assumptions=words))
    if measured.uniques is not None:
        statement = "estimated from the published classes (see theory: disclosure)"
        uniques = msgspec.structs.asdict(measured.uniques)
        known = ("the records are a random sample of the population, and the model describes it", *words)
        found.append(PopulationUniqueness(THIS_TABLE, statement, **uniques, uncovered=outside, assumptions=known))
    if measured.payoff is not None and design.profit is not None:
        stated = msgspec.structs.asdict(design.profit)
        known = ("benefit, loss, gain and cost are as the recipe states them", *words)
        statement = "Wan et al. 2015, worked out from the published classes"
        payoff = measured.payoff
        found.append(
            Profitability(THIS_TABLE, statement, payoff=payoff, **stated, uncovered=outside, assumptions=known)
        )
    for name, value in sorted(measured.d.items()):
        statement = "Brickell and Shmatikov 2008, counted in the published classes"
        rest = tuple(column for column in raw if column != name)
        known = (*words, *gaps.get(name, ()))
        found.append(
            DDisclosure(
                THIS_TABLE,
                statement,
                attribute=name,
                d=value,
                uncovered=rest,
                assumptions=known,
                unit=unit,
                most=most,
            )
        )
    for name, value in sorted(measured.b.items()):
        statement = "Cao and Karras 2012, counted in the published classes"
        rest = tuple(column for column in raw if column != name)
        known = (*words, *gaps.get(name, ()))
        found.append(
            BLikeness(
                THIS_TABLE,
                statement,
                attribute=name,
                kind=design.b_kind,
                b=value,
                uncovered=rest,
                assumptions=known,
                unit=unit,
                most=most,
            )
        )
    return found


def models_counted_again(
    sizes: NDArray[np.int64],
    counts: Mapping[str, ValueCounts],
    design: GeneralizeDesign,
    stated: ModelMeasures,
    looks: Mapping[str, CellLook],
) -> list[Check]:
    """From the published classes alone, but for what needs the population."""
    checks = []
    for asked, told in (
        (design.k_map is not None, stated.k_map is not None),
        (design.delta is not None, stated.presence is not None),
        (design.average_risk is not None, stated.average_risk is not None),
        (design.population_uniques is not None, stated.uniques is not None),
        (design.profit is not None, stated.payoff is not None),
        (design.d_disclosure is not None, set(stated.d) == set(counts)),
        (design.b_likeness is not None, set(stated.b) == set(counts)),
    ):
        if asked and not told:
            checks.append(Check("models", False, "something that was asked for is not stated"))
    if design.compares_people:
        checks.append(Check("population", True, _NEEDS_PEOPLE, derived=False))
    if (average := _average(design, sizes)) is not None:
        same = _alike(average, stated.average_risk)
        checks.append(Check("average risk counted again", same, f"{average:.10g}"))
    if (uniques := _uniques(design, sizes)) is not None:
        same = stated.uniques is not None and _alike(uniques.share, stated.uniques.share)
        same = same and stated.uniques is not None and uniques.model == stated.uniques.model
        told_words = f"{uniques.share:.6g} by {uniques.model}"
        checks.append(Check("population uniques estimated again", same, told_words))
    if (payoff := payoff_shown(design, looks, sizes)) is not None:
        checks.append(Check("payoff worked out again", _alike(payoff, stated.payoff), f"{payoff:.10g}"))
    for name in stated.d:
        same = name in counts and _alike(d_of(counts[name]), stated.d[name])
        checks.append(Check(f"d of {name} counted again", same, f"{stated.d[name]:.10g}"))
    for name in stated.b:
        same = name in counts and _alike(b_of(counts[name]), stated.b[name])
        if same and design.b_kind == "enhanced":
            same = bool(counts[name].gains_within_entropy(counts[name].totals).all())
        checks.append(Check(f"b of {name} counted again", same, f"{stated.b[name]:.10g}"))
    return checks


def _alike(one: float, other: float | None) -> bool:
    return other is not None and math.isclose(one, other, rel_tol=_HAIR, abs_tol=_HAIR)
