"""Methods `retention` and `matrix`: each published value is drawn from a channel of the true one (paper 1)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pramana.calibrate import Wanted, calibrate
from pramana.engines import BatchEngine, LocalEngine, Progress, Spool, commitment_to, digest_of_columns
from pramana.errors import BundleError, MatrixError, RecipeError, UnreachableError
from pramana.mechanisms import (
    DEFAULT_DELTA,
    Circumstances,
    Dense,
    Mechanism,
    Product,
    RecordRetention,
    Retention,
    digest_of,
    guarantees_of,
    k_of,
    mechanism_from_json,
)
from pramana.randomness import Codes, Key, counted
from pramana.release.certificate import Certificate
from pramana.release.matrix_file import read_matrix
from pramana.release.method import Published
from pramana.release.resolve import dropped, is_randomised, published, read_from_data, resolve
from pramana.release.streamed import Streamed, StreamedTable, as_table, stream_plan
from pramana.schema import Attribute, AttributeRecipe, Recipe
from pramana.sources import Table, encode, numbers, raw_column
from pramana.theory import Guarantee, rounding


@dataclass(frozen=True)
class RandomisedPlan:
    """A mechanism, the attributes it runs on, and the circumstances its guarantees depend on."""

    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    mechanism: Mechanism
    circumstances: Circumstances
    dataset: str = ""

    @property
    def records(self) -> int:
        return self.circumstances.records

    @property
    def shuffled(self) -> bool:
        return self.circumstances.shuffled

    def context(self, commitment: str = "") -> str:
        """What the coins are bound to: dataset, law and source.

        So one key never runs two laws, two datasets, or two states of one table on the same coins. With the same
        coins the difference of two releases would show exactly who was changed, and to what.
        """
        return f"{self.dataset}\n{digest_of(self.mechanism)}\n{commitment}"

    def statement(self) -> dict[str, Any]:
        return {
            "law": self.mechanism.to_json(),
            "out_of": "2^62",
            "delta": self.circumstances.delta,
            "candidates": self.circumstances.candidates,
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return guarantees_of(self.mechanism, replace(self.circumstances, seeded=seeded))

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    def draw(
        self, codes: Mapping[str, Codes], key: Key, context: str, engine: LocalEngine, progress: Progress
    ) -> dict[str, Codes]:
        """The published codes in source order."""
        return engine.publish(self.mechanism, key, context, codes, progress=progress)

    def run(
        self, table: Table, key: Key, engine: LocalEngine, progress: Progress, show: bool = False
    ) -> Published:
        coded = [a for a in self.attributes if not a.raw]
        with ThreadPoolExecutor(engine.workers) as pool:
            encoded = pool.map(lambda a: encode(table.column(a.name), a.coded, a.name, show), coded)
            codes = dict(zip((a.name for a in coded), encoded, strict=True))
            raw = {a.name: raw_column(table.column(a.name), None) for a in self.attributes if a.raw}
            bound = commitment_to(codes, key, pool.map)
            commitment = commitment_to({**codes, **raw}, key, pool.map) if raw else bound
            context = self.context(bound)
            drawn = self.draw(codes, key, context, engine, progress)
            if self.shuffled:
                order = engine.order(key, context, table.records)
                drawn = engine.reorder(drawn, order)
                places = numbers(order) if raw else None
                raw = {name: raw_column(column, places) for name, column in raw.items()}
            content = pool.submit(digest_of_columns, {**drawn, **raw})
            table = as_table(self.attributes, {**drawn, **raw})
            marginals = {a.name: counted(drawn[a.name], a.coded.size) for a in coded}
            return Published(table, content.result(), commitment, marginals)

    def stream(self, rows: Spool, key: Key, engine: BatchEngine, progress: Progress) -> Streamed:
        """The same bytes as `run`, of a table that need not fit in memory."""
        return stream_plan(self, self.mechanism, self.context, rows, key, engine, progress)


def _warnings(plan: RandomisedPlan, seeded: bool) -> list[str]:
    circumstances = plan.circumstances
    found = []
    if seeded:
        found.append("The key was made from a seed that anyone can guess: reproducible, not private.")
    if circumstances.raw_columns:
        found.append(
            f"Released unchanged, outside every epsilon: {', '.join(circumstances.raw_columns)}. Anyone who "
            "knows a person's values there can link their record; and there is no central guarantee."
        )
    found += read_from_data(plan.attributes)
    if not circumstances.shuffled:
        found.append("Published in source order: no Pk-anonymity and no central guarantee is claimed.")
    if plan.mechanism.likelihood_ratio is None:
        found.append("Some published value rules out some true value with certainty: no finite epsilon holds.")
    if circumstances.shuffled and (k := k_of(plan.mechanism, circumstances)) < 2:
        shown = rounding.shown_down(rounding.float_down(k), 4)
        found.append(f"k is {shown}: a link can be more likely right than wrong.")
    return found


# ---------------------------------------------------------------- the methods


@dataclass(frozen=True)
class RetentionMethod:
    """`retention`: calibrated to k and/or epsilon, or at a retention the holder states."""

    def columns(self, recipe: Recipe) -> list[str]:
        return [a.name for a in published(recipe)]

    def randomised(self, attribute: AttributeRecipe) -> bool:
        return is_randomised(attribute)

    def plan_streamed(self, recipe: Recipe, table: StreamedTable) -> RandomisedPlan:
        return self.plan(recipe, table.seen)

    def plan(self, recipe: Recipe, table: Table | None) -> RandomisedPlan:
        """`table` is None for an individual's record; then the recipe must plan the number of records."""
        attributes = tuple(resolve(a, table) for a in published(recipe))
        circumstances = _circumstances(recipe, attributes, table)
        mechanism = self._mechanism(recipe, {a.name: a.coded.size for a in attributes if not a.raw}, circumstances)
        return RandomisedPlan(
            attributes, dropped(recipe), mechanism, circumstances, recipe.source.get("dataset", "")
        )

    def _mechanism(self, recipe: Recipe, sizes: Mapping[str, int], circumstances: Circumstances) -> Mechanism:
        if not sizes:
            raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
        own = [a for a in recipe.attributes if a.retention is not None]
        if recipe.retention is None and not own:
            if circumstances.records == 0 and (recipe.k is not None or "best" in (recipe.coin, recipe.allocation)):
                _needs_records()
            wanted = Wanted(circumstances, recipe.k, recipe.epsilon)
            return calibrate(sizes, wanted, recipe.coin, recipe.allocation, recipe.tables)
        mechanism = _stated(recipe, sizes)
        _check_promise(recipe, mechanism, circumstances)
        return mechanism

    def plan_from(self, certificate: Certificate) -> RandomisedPlan:
        statement = certificate.mechanism
        try:
            mechanism = mechanism_from_json(_in_order(statement["law"], certificate.attributes))
            delta, candidates = float(statement["delta"]), statement["candidates"]
            if not 0 < delta < 1 or not (candidates is None or int(candidates) >= certificate.records):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MatrixError):
            raise BundleError("The certificate must state its law in integers", "something else") from None
        coded = {a.name: a.coded.size for a in certificate.attributes if not a.raw}
        if coded != mechanism.sizes:
            raise BundleError("The law of a certificate must fit its domains", "other sizes")
        circumstances = conditions(
            certificate.attributes, certificate.records, certificate.shuffled, delta, candidates
        )
        return RandomisedPlan(
            certificate.attributes, certificate.dropped, mechanism, circumstances, certificate.dataset
        )


@dataclass(frozen=True)
class MatrixMethod(RetentionMethod):
    """`matrix`: a transition matrix per attribute, written by the holder."""

    def _mechanism(self, recipe: Recipe, sizes: Mapping[str, int], circumstances: Circumstances) -> Mechanism:
        channels = {}
        for a in recipe.attributes:
            if a.name not in sizes:
                continue
            if a.matrix is None:
                raise RecipeError(f'With method "matrix" the column {a.name!r} must have a matrix', "none")
            channel = Dense.of(a.matrix) if isinstance(a.matrix, tuple) else read_matrix(a.matrix)
            if channel.size != sizes[a.name]:
                raise MatrixError(
                    f"The matrix of {a.name!r} must have as many rows as its domain has values, {sizes[a.name]}",
                    str(channel.size),
                    "A missing category counts as a value." if channel.size == sizes[a.name] - 1 else None,
                )
            channels[a.name] = channel
        mechanism = Product(channels)
        _check_promise(recipe, mechanism, circumstances)
        return mechanism


def _in_order(law: Mapping[str, Any], attributes: tuple[Attribute, ...]) -> dict[str, Any]:
    """The law with its columns as the table has them: JSON sorted them, and sums of floats feel their order."""
    place = {a.name: i for i, a in enumerate(attributes)}
    found = dict(law)
    for key in ("channels", "sizes"):
        if key in found:
            found[key] = dict(sorted(found[key].items(), key=lambda item: place.get(item[0], len(place))))
    return found


def _circumstances(recipe: Recipe, attributes: tuple[Attribute, ...], table: Table | None) -> Circumstances:
    delta = DEFAULT_DELTA if recipe.delta is None else recipe.delta
    if isinstance(delta, bool) or not isinstance(delta, float) or not 0 < delta < 1:
        raise RecipeError("delta must be a number between 0 and 1", repr(delta))
    if recipe.k is not None and not recipe.shuffle:
        raise RecipeError(
            "A promise of k must be kept by a shuffled release",
            "shuffle = false",
            "In source order every record is linked to its person by its place.",
        )
    records = table.records if table is not None else recipe.records or 0
    if recipe.candidates is not None and recipe.candidates < records:
        raise RecipeError(f"candidates must be at least the {records} records", str(recipe.candidates))
    return conditions(attributes, records, recipe.shuffle, delta, recipe.candidates)


def conditions(
    attributes: tuple[Attribute, ...], records: int, shuffled: bool, delta: float, candidates: int | None
) -> Circumstances:
    coded = [a for a in attributes if a.domain is not None]
    return Circumstances(
        records=records,
        shuffled=shuffled,
        delta=delta,
        candidates=candidates,
        raw_columns=tuple(a.name for a in attributes if a.raw),
        domains_from_data=tuple(a.name for a in coded if a.coded.origin == "from-data"),
        missing_from_data=tuple(a.name for a in coded if a.coded.missing_from_data),
    )


def _stated(recipe: Recipe, sizes: Mapping[str, int]) -> Mechanism:
    """The holder's own retentions."""
    if recipe.coin == "record":
        if recipe.retention is None or any(a.retention is not None for a in recipe.attributes):
            raise RecipeError(
                'With coin = "record" one retention must be stated for the release', "one per column"
            )
        return RecordRetention.at(_unit(recipe.retention), sizes)
    channels = {}
    for name, size in sizes.items():
        own = recipe.attribute(name).retention
        chosen = recipe.retention if own is None else own
        if chosen is None:
            raise RecipeError(f"The column {name!r} must have a retention like the others", "none")
        channels[name] = Retention.at(_unit(chosen), size)
    return Product(channels)


def _unit(retention: float) -> Fraction:
    if not 0 <= retention <= 1:
        raise RecipeError("A retention must lie between 0 and 1", str(retention))
    return Fraction(str(retention))  # as written: 0.3 is three tenths


def _check_promise(recipe: Recipe, mechanism: Mechanism, circumstances: Circumstances) -> None:
    """Where the holder states both a law and a promise, the promise must hold."""
    if recipe.k is None and recipe.epsilon is None:
        return
    if circumstances.records == 0 and recipe.k is not None:
        _needs_records()
    if Wanted(circumstances, recipe.k, recipe.epsilon).is_kept_by(mechanism):
        return
    reached = ", ".join(f"{g.notion} {g.value}" for g in guarantees_of(mechanism, circumstances)[:2])
    raise UnreachableError(
        f"The stated law must reach k = {recipe.k}, epsilon = {recipe.epsilon}",
        reached,
        "Leave the retention out to have it calculated.",
    )


def _needs_records() -> None:
    raise RecipeError(
        "A recipe that promises k to individuals must plan the number of records",
        "none",
        "Write records = ... in [release]; it holds only if who takes part stays secret.",
    )
