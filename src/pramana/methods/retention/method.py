"""`retention` and `matrix`: each published value is drawn from a channel of the true one (paper 1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, TypeVar

from pramana.bundle.certificate import Certificate
from pramana.errors import MatrixError, RecipeError, UnreachableError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.guarantees import Circumstances, guarantees_of
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws, composed
from pramana.methods.columns import randomised_attributes, randomised_readings, sizes_of
from pramana.methods.protocol import Capabilities, Method, Plan, fields_of_recipe
from pramana.methods.recipe import Recipe
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.retention.choosing import RetentionRecipe, chosen_law, options_of, ways_to_spend
from pramana.methods.retention.plan import (
    RandomisedPlan,
    circumstances_for,
    restore_drawn,
)
from pramana.methods.retention.setting import (
    ChoiceForm,
    DrawnColumn,
    DrawnSetting,
    DrawnStatement,
    MatrixColumn,
    MatrixSetting,
    RetentionColumn,
    RetentionSetting,
    read_matrix,
)
from pramana.methods.retention.units import around_units, bounded, calibrated_for_units, units_of, with_sizes
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute

if TYPE_CHECKING:
    from pramana.methods.retention.frontier import Candidate
    from pramana.methods.retention.ordered import OrderedValues


# Methods `retention` and `matrix`: from a recipe to the law, calibrated or as the holder wrote it.


S = TypeVar("S", bound=DrawnSetting)
C = TypeVar("C", bound=DrawnColumn)


@dataclass(frozen=True)
class LawTask(Generic[S, C]):
    """What a law is made for: a recipe, its columns, and what the guarantees depend on besides."""

    recipe: Recipe[S, C]
    attributes: tuple[Attribute, ...]
    circumstances: Circumstances
    draws: UnitDraws | None  # of people, where they have several rows

    @property
    def sizes(self) -> dict[str, int]:
        return sizes_of(self.attributes)


_ADVICE_FOR_UNITS = (
    "All of a person's rows share one promise: promise less, allow fewer rows of each (`rows`), or state which "
    "columns are constant for a person (`constant = true`), which are drawn once.",
)


class DrawnMethod(Method[S, C]):
    """A method that draws every value from a public channel, by a law that no row decides."""

    counts_people: ClassVar[bool] = True

    def capabilities(self, setting: S) -> Capabilities:
        del setting
        return Capabilities(streams=True, spark=True, single_records=True)

    def readings(self, recipe: Recipe[S, C]) -> tuple[ColumnReading, ...]:
        return randomised_readings(recipe)

    def plan(self, recipe: Recipe[S, C], rows: Rows) -> RandomisedPlan:
        return self.plan_for(recipe, randomised_attributes(recipe, rows), rows.records, rows)

    def law_without_rows(self, recipe: Recipe[S, C]) -> RandomisedPlan:
        """For an individual's record; the recipe must plan the number of records where it promises k."""
        if recipe.unit is not None and recipe.unit.several:
            raise RecipeError("A recipe for single records must count each as one person", "a [unit] of several")
        return self.plan_for(recipe, randomised_attributes(recipe, None), recipe.release.records or 0, None)

    def plan_for(
        self, recipe: Recipe[S, C], attributes: tuple[Attribute, ...], records: int, rows: Rows | None
    ) -> RandomisedPlan:
        circumstances = _circumstances(recipe.release, attributes, records)
        sizes = sizes_of(attributes)
        if not sizes:
            raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
        draws = units_of(recipe, sizes, None if rows is None else rows.owners)
        mechanism, attributes, choice = self._designed(LawTask(recipe, attributes, circumstances, draws))
        fields = fields_of_recipe(recipe, attributes, rows)
        if draws is not None and rows is not None and rows.owners is not None:
            draws = with_sizes(draws, mechanism, rows.owners)
            fields["unit"] = bounded(fields["unit"], draws)
        return RandomisedPlan(
            **fields,
            mechanism=mechanism,
            circumstances=circumstances,
            draws=draws,
            choice=choice,
        )

    @abstractmethod
    def _designed(self, task: LawTask[S, C]) -> tuple[Mechanism, tuple[Attribute, ...], ChoiceForm | None]:
        """The law, the attributes as they are published, and what the law was chosen from, if it was."""

    def advise(self, recipe: Recipe[S, C], plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        if rows is not None and rows.owners is not None:
            return _ADVICE_FOR_UNITS
        from pramana.methods.retention.advice import advice_for_retention

        return advice_for_retention(plan, recipe.tables)

    def restore(self, certificate: Certificate) -> RandomisedPlan:
        return restore_drawn(certificate)


class RetentionMethod(DrawnMethod[RetentionSetting, RetentionColumn]):
    """`retention`: calibrated to k and/or epsilon, or at a retention the holder states."""

    name: ClassVar[str] = "retention"
    setting = RetentionSetting
    column = RetentionColumn
    statement = DrawnStatement

    def _designed(
        self, task: LawTask[RetentionSetting, RetentionColumn]
    ) -> tuple[Mechanism, tuple[Attribute, ...], ChoiceForm | None]:
        recipe, attributes, around, draws = task.recipe, task.attributes, task.circumstances, task.draws
        release, own = recipe.release, _own_retentions(recipe)
        ordered = _ordered_columns(recipe, attributes, around.records)  # refuses them with another coin
        if release.coin == "best":
            if release.retention is not None or own:
                raise RecipeError('coin = "best" must leave the law to be calculated', "a retention")
            if around.records == 0:
                _needs_records()
            return chosen_law(recipe, attributes, around)
        options_of(recipe, attributes)  # refuses coarser values that nothing would decide on
        if release.retention is not None or own:
            law = _stated(release, own, task.sizes)
            check_promise(release, law, around, draws)
            return law, attributes, None
        if around.records == 0 and (
            release.k is not None or release.central is not None or release.allocation == "best"
        ):
            _needs_records()
        wanted = _wanted(release, around_units(around, draws))
        if draws is not None:
            law = _with_ordered(calibrated_for_units(task.sizes, wanted, draws), ordered)
            check_promise(release, law, around, draws)
            return law, attributes, None
        law = calibrate(task.sizes, wanted, release.coin, release.allocation, recipe.tables)
        return _with_ordered(law, ordered, wanted) if isinstance(law, Product) else law, attributes, None

    def frontier(
        self,
        recipe: RetentionRecipe,
        attributes: tuple[Attribute, ...],
        records: int,
        draws: UnitDraws | None,
    ) -> tuple[Candidate, ...]:
        ordered = any(c.channel == "ordered" for c in recipe.attributes.values())
        if ordered or recipe.release.retention is not None or _own_retentions(recipe):
            return ()
        return ways_to_spend(recipe, attributes, _circumstances(recipe.release, attributes, records), draws)

    def advise(self, recipe: RetentionRecipe, plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        release, attributes = recipe.release, plan.attributes
        if release.retention is not None or _own_retentions(recipe):
            return super().advise(recipe, plan, rows)
        from pramana.methods.protocol import first_useful
        from pramana.methods.retention.advice import advice_for_promise, weaker_promises

        if rows is not None and rows.owners is not None:
            weaker = weaker_promises(release.k, release.epsilon)
            tried = [words for some in weaker for words in first_useful(self, recipe, rows, some)]
            return (*tried, *super().advise(recipe, plan, rows))
        wanted = _wanted(release, _circumstances(release, attributes, plan.records))
        coin = "record" if isinstance(plan.law, RecordRetention) else "attribute"
        return advice_for_promise(sizes_of(attributes), wanted, coin, recipe.tables)


def _own_retentions(recipe: RetentionRecipe) -> dict[str, float]:
    return {name: c.retention for name, c in recipe.attributes.items() if c.retention is not None}


def _wanted(setting: DrawnSetting, around: Circumstances) -> Wanted:
    return Wanted(around, setting.k, setting.epsilon, setting.central_epsilon)


def _ordered_columns(
    recipe: RetentionRecipe, attributes: tuple[Attribute, ...], records: int
) -> Mapping[str, OrderedValues]:
    """The columns with channel = "ordered": few recipes have any, and what designs channels loads for them."""
    if not any(column.channel == "ordered" for column in recipe.attributes.values()):
        return {}
    from pramana.methods.retention.ordered import ordered_columns

    return ordered_columns(recipe, attributes, records)


def _with_ordered(law: Product, ordered: Mapping[str, OrderedValues], wanted: Wanted | None = None) -> Product:
    """The law through ordered channels, where there are any: what designs them loads for few recipes."""
    if not ordered:
        return law
    from pramana.methods.retention.ordered import with_ordered

    return with_ordered(law, ordered, wanted)


class MatrixMethod(DrawnMethod[MatrixSetting, MatrixColumn]):
    """`matrix`: a transition matrix per attribute, written by the holder."""

    name: ClassVar[str] = "matrix"
    setting = MatrixSetting
    column = MatrixColumn
    statement = DrawnStatement

    def _designed(
        self, task: LawTask[MatrixSetting, MatrixColumn]
    ) -> tuple[Mechanism, tuple[Attribute, ...], ChoiceForm | None]:
        recipe, channels = task.recipe, {}
        for name, size in task.sizes.items():
            matrix = recipe.attributes[name].matrix
            if matrix is None:
                raise RecipeError(f'With method "matrix" the column {name!r} must have a matrix', "none")
            channel = Dense.of(matrix) if isinstance(matrix, list) else read_matrix(recipe.folder / matrix)
            if channel.size != size:
                raise MatrixError(
                    f"The matrix of {name!r} must have as many rows as its domain has values, {size}",
                    str(channel.size),
                    "A missing category counts as a value." if channel.size == size - 1 else None,
                )
            channels[name] = channel
        mechanism = Product(channels)
        check_promise(recipe.release, mechanism, task.circumstances, task.draws)
        return mechanism, task.attributes, None


def _circumstances(setting: DrawnSetting, attributes: tuple[Attribute, ...], records: int) -> Circumstances:
    if setting.k is not None and not setting.shuffle:
        raise RecipeError(
            "A promise of k must be kept by a shuffled release",
            "shuffle = false",
            "In source order every record is linked to its person by its place.",
        )
    if setting.candidates is not None and setting.candidates < records:
        raise RecipeError(f"candidates must be at least the {records} records", str(setting.candidates))
    return circumstances_for(attributes, records, setting.shuffle, setting.stated_delta, setting.candidates)


def _stated(setting: RetentionSetting, own: Mapping[str, float], sizes: Mapping[str, int]) -> Mechanism:
    """The holder's own retentions."""
    if setting.coin == "record":
        if setting.retention is None or own:
            raise RecipeError(
                'With coin = "record" one retention must be stated for the release', "one per column"
            )
        return RecordRetention.at(Fraction(str(setting.retention)), sizes)  # 0.3 is three tenths
    channels = {}
    for name, size in sizes.items():
        chosen = own.get(name, setting.retention)
        if chosen is None:
            raise RecipeError(f"The column {name!r} must have a retention like the others", "none")
        channels[name] = Retention.at(Fraction(str(chosen)), size)
    return Product(channels)


def check_promise(
    setting: DrawnSetting, mechanism: Mechanism, circumstances: Circumstances, draws: UnitDraws | None = None
) -> None:
    """Where the holder states both a law and a promise, the promise must hold, of the recipe's unit."""
    if draws is not None and isinstance(mechanism, Product):
        mechanism = composed(mechanism, draws, draws.size(draws.largest))
        circumstances = around_units(circumstances, draws)
    if setting.k is None and setting.epsilon is None and setting.central is None:
        return
    if circumstances.records == 0 and (setting.k is not None or setting.central is not None):
        _needs_records()
    if _wanted(setting, circumstances).is_kept_by(mechanism):
        return
    reached = ", ".join(f"{g.notion} {g.value}" for g in guarantees_of(mechanism, circumstances)[:2])
    raise UnreachableError(
        f"The stated law must reach k = {setting.k}, epsilon = {setting.epsilon}",
        reached,
        "Leave the retention out to have it calculated.",
    )


def _needs_records() -> NoReturn:
    raise RecipeError(
        "A recipe that promises k to individuals must plan the number of records",
        "none",
        "Write records = ... in [release]; it holds only if who takes part stays secret.",
    )


METHODS = {method.name: method for method in (RetentionMethod(), MatrixMethod())}
