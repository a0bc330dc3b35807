"""A bundle as a study: verified, then its columns opened for questions. Estimation itself knows no files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.io.codes import decode, in_order_of_values
from pramana.io.columns import numbers, values_of
from pramana.io.source import Source
from pramana.methods.protocol import ColumnUncertainty, Plan, Version
from pramana.methods.published_cells import PublishedCells
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype, joint_codes
from pramana.recipient.answers import Crosstab
from pramana.recipient.cell_counts import CellColumn
from pramana.recipient.cell_study import CellStudy
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import DEFAULT_CONFIDENCE
from pramana.recipient.study import Codes as ColumnCodes
from pramana.recipient.study import PartCounts, PartWork, Study, weights_of
from pramana.rows.protocol import ColumnReading
from pramana.run.config import ExecutionConfig
from pramana.run.verify import verify
from pramana.schema.domain import MISSING, Attribute, Axis
from pramana.schema.kind import Kind, label_of

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


BundleLike = str | Path | Bundle | Sequence[str | Path | Bundle]


def open_study(
    bundle: BundleLike,
    *,
    unverified: bool = False,
    weights: str | None = None,
    engine: str | SparkEngine = "local",
) -> Study | CellStudy:
    """The bundle, ready for questions.

    Of a release with a law the answers are corrected by it; of others they are what their cells make one expect.
    Several bundles must be versions of one table at levels: the one that keeps most tells all that they tell
    together, and is asked.

    Args:
        bundle: A folder, a URL or an opened bundle; or several versions of one table.
        unverified: Go on where the bundle fails verification.
        weights: A column of survey weights that was released unchanged.
        engine: "local", or "spark" or a SparkEngine to count combinations and verify parts of a set of files
            there.

    Returns:
        A study of randomised records, or of cells.

    Raises:
        BundleError: The bundle cannot be read, or fails verification.

    >>> import pramana
    >>> 0 <= pramana.open_study("published").share("sex = F").estimate <= 1
    True
    """
    config = ExecutionConfig(engine)
    opened, plan = best_of(bundle, unverified, config)
    axes = BundleAxes(opened)
    if weights is not None:
        if weights not in axes:
            raise BundleError("Survey weights must be a column of the release", repr(weights))
        if not opened.certificate.attribute(weights).raw or plan.doubt(weights) != ColumnUncertainty():
            raise BundleError("Survey weights must be a column released unchanged", f"{weights!r}, changed")
    study = study_of(plan, axes, config.spark())
    if study is None:
        column = None if weights is None else axes.column(weights)
        numbers = None if column is None else weights_of(column.axis, column.codes)
        return CellStudy(axes, CellReader(plan, axes), opened.certificate.records, numbers)
    return replace(study, weights=weights)


def crosstab(
    bundle: BundleLike,
    by: Sequence[str],
    where: str | Filter | None = None,
    *,
    method: str = "em",
    confidence: float = DEFAULT_CONFIDENCE,
    shares: bool = False,
    profile: bool = False,
    simultaneous: bool = False,
    weights: str | None = None,
    unverified: bool = False,
    engine: str | SparkEngine = "local",
) -> Crosstab:
    """Cross-tabulate a bundle: estimated counts of the private table, with intervals.

    Args:
        bundle: A folder, a URL or an opened bundle; or several versions of one table.
        by: The columns whose values are the cells.
        where: Of which records, such as "age >= 30".
        method: "em" (maximum likelihood), "inverse" (unbiased) or "smooth" (smoothed likelihood).
        confidence: Of the intervals.
        shares: Estimate shares instead of counts.
        profile: Intervals by the likelihood's profile.
        simultaneous: Intervals that hold for all cells together.
        weights: A column of survey weights that was released unchanged.
        unverified: Go on where the bundle fails verification.
        engine: "local", "spark" for the active Spark session (or a new one), or a SparkEngine.

    Returns:
        The table, with an estimate and an interval for each cell.

    Raises:
        BundleError: The bundle cannot be read, or fails verification.
        InputError: A column or value is not in the release.

    >>> import pramana
    >>> [cell["sex"] for cell in pramana.crosstab("published", ["sex"]).cells()]
    ['F', 'M']
    """
    with ExecutionConfig(engine).running():
        study = open_study(bundle, unverified=unverified, weights=weights, engine=engine)
        return study.crosstab(
            by,
            where,
            method=method,
            confidence=confidence,
            shares=shares,
            profile=profile,
            simultaneous=simultaneous,
        )


def best_of(
    bundle: BundleLike, unverified: bool = False, config: ExecutionConfig | None = None
) -> tuple[Bundle, Plan]:
    """The bundle; of several versions of one table, the one that keeps most.

    Versions at levels are steps of one process, in which a lower one is a noisier copy of a higher one: beside the
    highest the others tell nothing (paper 3).
    """
    bundles = list(bundle) if isinstance(bundle, list | tuple) else [cast("str | Path | Bundle", bundle)]
    if not bundles:
        raise BundleError("Questions must be asked of a bundle", "an empty list")
    opened = [Bundle.open(one) for one in bundles]
    plans = [restore(one.certificate) for one in opened]
    best = 0 if len(opened) == 1 else _highest(opened, [plan.version for plan in plans])
    if not unverified:
        for name, one in zip(bundles, opened, strict=True):
            require_valid(one, name, config)
    return opened[best], plans[best]


def _highest(bundles: Sequence[Bundle], versions: Sequence[Version | None]) -> int:
    levels = [version.kept for version in versions if version is not None]
    tables = {version.of for version in versions if version is not None}
    sources = {bundle.certificate.source.get("commitment") for bundle in bundles}
    alone = len(versions) - len(levels)
    if alone or len(tables) > 1 or len(sources) > 1:
        got = f"{alone} that are at no level" if alone else f"versions of {max(len(tables), len(sources))} tables"
        must = "Several bundles must be versions of one table at levels"
        raise BundleError(must, got, "Ask each of them on its own.")
    return levels.index(max(levels))


def require_valid(bundle: Bundle, name: object, config: ExecutionConfig | None = None) -> None:
    """Refuse a bundle that fails verification, which is made at `config`; messages call it by `name`."""
    engine = "local" if config is None else config.engine
    failed = [check for check in verify(bundle, engine=engine).checks if not check.ok]
    if failed:
        raise BundleError(
            f"The bundle {name} must pass verification",
            f"{failed[0].name}: {failed[0].detail}",
            "Ask its holder for a good copy; --unverified goes on regardless.",
        )


def counted_on(engine: SparkEngine, bundle: Bundle, names: list[str]) -> NDArray[np.int64] | None:
    """How often each combination of published values occurs; None where a column has no public domain."""
    from pramana.rows.protocol import no_progress
    from pramana.rows.spark.rows import SparkRows

    attributes = [bundle.certificate.attribute(name) for name in names]
    if any(a.raw for a in attributes):
        return None
    shape = [a.coded.size for a in attributes]
    if (parts := worked_on_parts(engine, bundle, names, partial(_cells_of, names, shape))) is not None:
        return np.asarray(sum(counts for [counts] in parts), np.int64)
    form = bundle.certificate.output
    # Executors read what lies in a store where it lies: the copy of this machine is not theirs.
    path = bundle.data_path if bundle.fetched is None else bundle.fetched.origin / bundle.data_path.name
    source = Source(path=path, format=form, trim=form != "csv")  # published as it is
    readings = [ColumnReading(a.name, a.coded.as_published()) for a in attributes]
    with SparkRows.open(source, readings, Key.create(), engine, no_progress) as rows:
        return rows.counts(names, shape)


def _cells_of(names: list[str], shape: list[int], pieces: Iterable[ColumnCodes]) -> PartCounts:
    counts = np.zeros(math.prod(shape), np.int64)
    for columns in pieces:
        counts += np.bincount(joint_codes([columns[name] for name in names], shape), minlength=len(counts))
    return [counts.reshape(shape)]


def worked_on_parts(
    engine: SparkEngine, bundle: Bundle, names: list[str], work: PartWork
) -> list[PartCounts] | None:
    """What `work` makes of each part's rows, on Spark; None of one file, or with a column without a domain."""
    certificate = bundle.certificate
    if certificate.parts is None or bundle.fetched is not None or any(certificate.attribute(n).raw for n in names):
        return None
    return replace(bundle, spread=engine).each_part(partial(_worked_on, names, work))


def _worked_on(names: list[str], work: PartWork, bundle: Bundle) -> PartCounts:
    return work(bundle.pieces(names))


def study_of(plan: Plan, axes: BundleAxes, spark: SparkEngine | None = None) -> Study | None:
    """The study of a bundle with a law; None for others, whose published values can be counted.

    With `spark` what is counted of columns with a domain is counted there.
    """
    bundle = axes.bundle
    if not plan.countable:
        raise BundleError(
            "A release must have a law that recipients can undo",
            f"method {bundle.certificate.method!r} with one that they cannot",
            "Its published values are randomised, and counts of them are wrong.",
        )
    if plan.law is None:
        return None
    records = bundle.certificate.records
    study = Study(axes, plan.law, axes.codes, records, pieces=axes.pieces, repeated=plan.repeated)
    if spark is None:
        return study
    return replace(
        study, counted=partial(counted_on, spark, bundle), parted=partial(worked_on_parts, spark, bundle)
    )


# The columns of a bundle as a recipient asks for them: axes, codes, and the values that codes stand for.


@dataclass(frozen=True, eq=False)
class UnchangedColumn:
    """A column released unchanged: its published values in the order of their kind, and the codes of its rows."""

    axis: Axis
    codes: Codes
    values: pa.Array  # by code, null for the missing one


class BundleAxes(Mapping[str, Axis]):
    """The attributes of a bundle; a column released unchanged gets the values that are published as its axis."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.attributes = {a.name: a for a in bundle.certificate.attributes}
        self.unchanged: dict[str, UnchangedColumn] = {}

    def __getitem__(self, name: str) -> Axis:
        attribute = self.attributes[name]
        if attribute.domain is not None:
            return Axis.of_domain(name, attribute.domain)
        return self.column(name).axis

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def codes(self, names: list[str]) -> dict[str, Codes]:
        coded = self.bundle.codes([n for n in names if not self.attributes[n].raw])
        return {n: self.column(n).codes if self.attributes[n].raw else coded[n] for n in names}

    def pieces(self, names: list[str]) -> Iterator[dict[str, Codes]]:
        """The rows piece by piece; of columns released unchanged the codes are all known once their axis is."""
        first = 0
        for columns in self.bundle.pieces(names):
            rows = slice(first, first + len(next(iter(columns.values()))))
            first = rows.stop
            yield {n: self.column(n).codes[rows] if self.attributes[n].raw else columns[n] for n in names}

    def column(self, name: str) -> UnchangedColumn:
        if name not in self.unchanged:
            self.unchanged[name] = read_unchanged(self.attributes[name], self.bundle.column(name))
        return self.unchanged[name]

    def shown(self, name: str, codes: NDArray[np.unsignedinteger]) -> pa.Array:
        """What codes stand for, as the bundle publishes it."""
        attribute = self.attributes[name]
        if attribute.domain is not None:
            return decode(codes, attribute.domain)
        return self.column(name).values.take(numbers(codes.astype(np.int64)))


def read_unchanged(attribute: Attribute, column: pa.ChunkedArray) -> UnchangedColumn:
    """The published values in the order of their kind: the stated one, or the one they look like."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    published = encoded.dictionary.to_pylist()
    labels = [label_of(value) for value in published]
    by_label = {label: value for label, value in zip(labels, published, strict=True) if label}  # NaN is missing
    ordered, kind = in_order_of_values(by_label, column.type)
    if attribute.kind is not Kind.NOMINAL:
        ordered, kind = attribute.kind.in_order(by_label), attribute.kind
    missing = encoded.indices.null_count > 0 or "" in labels
    rank_of = {label: i for i, label in enumerate(ordered)}
    rank = np.array([*(rank_of.get(label, len(rank_of)) for label in labels), len(rank_of)])
    rank = rank.astype(code_dtype(len(labels) + 1))
    codes = np.asarray(rank[pc.fill_null(encoded.indices, len(labels)).to_numpy(zero_copy_only=False)])
    index_of = {label: i for i, label in enumerate(labels)}
    values = encoded.dictionary.take(numbers(np.array([index_of[label] for label in ordered], np.int64)))
    if missing:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return UnchangedColumn(Axis.of_labels(attribute.name, ordered, missing, kind), codes, values)


class CellReader:
    """Reads one column after the other, as questions ask for them."""

    def __init__(self, plan: Plan, axes: BundleAxes) -> None:
        self.bundle, self.plan, self.axes = axes.bundle, plan, axes

    @cached_property
    def cells(self) -> PublishedCells:
        return PublishedCells.of_bundle(self.bundle)

    def __call__(self, name: str) -> CellColumn:
        attribute, axis = self.bundle.certificate.attribute(name), self.axes[name]
        doubt = self.plan.doubt(name)
        if attribute in self.plan.celled:
            cells = self.cells.cells[self.cells.names.index(name)]
            return CellColumn(axis, cells, self.cells.class_of.astype(np.uint32), doubt)
        if attribute.raw:
            return CellColumn.of_codes(axis, self.axes.column(name).codes, doubt)
        return CellColumn.of_codes(axis, self._labelled(name), doubt)

    def _labelled(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]:
        """The codes of a column of labels, in which a missing value may be one by its own name."""
        domain = self.bundle.certificate.attribute(name).coded
        code_of = {label: code for code, label in enumerate(domain.labels)}
        if domain.missing_code is not None:
            code_of |= {MISSING: domain.missing_code, "": domain.missing_code}
        column = self.bundle.column(name)
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        encoded = plain.combine_chunks().dictionary_encode()
        texts = [*("" if text is None else str(text) for text in encoded.dictionary.to_pylist()), ""]
        if unknown := [text for text in texts[:-1] if text not in code_of]:
            raise BundleError(
                f"The published values of {name!r} must be of its domain", f"{len(unknown)} values outside it"
            )
        codes = np.array([code_of.get(text, 0) for text in texts], code_dtype(domain.size))
        return np.asarray(codes[values_of(encoded.indices.fill_null(len(texts) - 1))])
