"""A bundle as a study: verified, then opened for questions. Estimation itself knows no files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.bundle import Bundle
from pramana.errors import BundleError
from pramana.estimate import DEFAULT_CONFIDENCE, Axis, Crosstab, Filter, Study
from pramana.methods import Law, restore
from pramana.pipeline.opening import Home
from pramana.pipeline.verification import verify
from pramana.randomness import Key, code_dtype
from pramana.rows import ColumnReading
from pramana.schema import Attribute, Kind, label_of
from pramana.sources import Source, in_order_of_values

if TYPE_CHECKING:
    from pramana.rows import SparkEngine

Codes = NDArray[np.unsignedinteger]


def open_study(
    bundle: str | Path,
    *,
    unverified: bool = False,
    weights: str | None = None,
    engine: str | SparkEngine = "local",
) -> Study:
    """The bundle, ready for questions. A bundle that fails verification is refused unless told otherwise.

    `weights` names a column of survey weights that was released unchanged. With `engine` "spark" or a SparkEngine
    the combinations of randomised columns are counted on Spark.

    >>> pramana.open_study("published").share("income = high", "sex = F").estimate  # doctest: +SKIP
    0.11
    """
    opened = Bundle.open(bundle)
    if not unverified:
        require_valid(bundle)
    axes = _Axes(opened)
    spark = Home(engine).spark()
    law, repeated = _law(opened)
    study = Study(
        axes,
        law,
        axes.codes,
        opened.certificate.records,
        pieces=axes.pieces,
        counted=None if spark is None else lambda names: counted_on(spark, opened, names),
        repeated=repeated,
    )
    if weights is not None:
        study.axis(weights)
        if not opened.certificate.attribute(weights).raw:
            raise BundleError("Survey weights must be a column released unchanged", f"{weights!r}, randomised")
    return replace(study, weights=weights)


def crosstab(
    bundle: str | Path,
    by: Sequence[str],
    where: str | Filter | None = None,
    *,
    method: str = "em",
    confidence: float = DEFAULT_CONFIDENCE,
    shares: bool = False,
    profile: bool = False,
    weights: str | None = None,
    unverified: bool = False,
    engine: str | SparkEngine = "local",
) -> Crosstab:
    """Cross-tabulate a bundle: estimated counts of the private table by the values of `by`, with intervals.

    >>> pramana.crosstab("published", ["sex"]).cells()[0]["estimate"]  # doctest: +SKIP
    4987.2
    """
    study = open_study(bundle, unverified=unverified, weights=weights, engine=engine)
    return study.crosstab(by, where, method=method, confidence=confidence, shares=shares, profile=profile)


def require_valid(bundle: str | Path) -> None:
    """Refuse a bundle that fails verification."""
    failed = [check for check in verify(bundle).checks if not check.ok]
    if failed:
        raise BundleError(
            f"The bundle {bundle} must pass verification",
            f"{failed[0].name}: {failed[0].detail}",
            "Ask its holder for a good copy; --unverified goes on regardless.",
        )


def counted_on(engine: SparkEngine, bundle: Bundle, names: list[str]) -> NDArray[np.int64] | None:
    """How often each combination of published values occurs; None where a column has no public domain."""
    from pramana.rows import SparkRows, no_progress

    named = [bundle.certificate.attribute(name) for name in names]
    if any(a.raw for a in named):
        return None
    form = bundle.certificate.output
    source = Source(path=bundle.data_path, format=form, trim=form != "csv")  # published as it is
    readings = [ColumnReading(a.name, a.coded.as_published()) for a in named]
    with SparkRows.open(source, readings, Key.create(), engine, no_progress) as rows:
        return rows.counts(names, [a.coded.size for a in named])


def _law(bundle: Bundle) -> tuple[Law, Mapping[str, int]]:
    """The law to estimate by, and the columns of which several rows share a draw."""
    plan = restore(bundle.certificate)
    if plan.law is None:
        method = bundle.certificate.method
        raise BundleError(
            "Tables can be reconstructed from randomised releases", f"method {method!r}", plan.counting
        )
    return plan.law, plan.repeated


class _Axes(Mapping[str, Axis]):
    """The attributes of a bundle; a column released unchanged gets the values that are published as its axis."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.attributes = {a.name: a for a in bundle.certificate.attributes}
        self.raw: dict[str, tuple[Axis, Codes]] = {}

    def __getitem__(self, name: str) -> Axis:
        attribute = self.attributes[name]
        if attribute.domain is not None:
            return Axis.of_domain(name, attribute.domain)
        return self._unchanged(name)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def codes(self, names: list[str]) -> dict[str, Codes]:
        coded = self.bundle.codes([n for n in names if not self.attributes[n].raw])
        return {n: self._unchanged(n)[1] if self.attributes[n].raw else coded[n] for n in names}

    def pieces(self, names: list[str]) -> Iterator[dict[str, Codes]]:
        """The rows piece by piece; of columns released unchanged the codes are all known once their axis is."""
        first = 0
        for columns in self.bundle.pieces(names):
            rows = slice(first, first + len(next(iter(columns.values()))))
            first = rows.stop
            yield {n: self._unchanged(n)[1][rows] if self.attributes[n].raw else columns[n] for n in names}

    def _unchanged(self, name: str) -> tuple[Axis, Codes]:
        if name not in self.raw:
            self.raw[name] = _read_unchanged(self.attributes[name], self.bundle.column(name))
        return self.raw[name]


def _read_unchanged(attribute: Attribute, column: pa.ChunkedArray) -> tuple[Axis, Codes]:
    """The published values in the order of their kind: the stated one, or the one they look like."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    labels = [label_of(value) for value in values]
    by_label = {label: value for label, value in zip(labels, values, strict=True) if label != ""}  # NaN is missing
    ordered, kind = in_order_of_values(by_label, column.type)
    if attribute.kind is not Kind.NOMINAL:
        ordered, kind = attribute.kind.in_order(by_label), attribute.kind
    missing = encoded.indices.null_count > 0 or "" in labels
    rank_of = {label: i for i, label in enumerate(ordered)}
    rank = np.array([*(rank_of.get(label, len(rank_of)) for label in labels), len(rank_of)])
    places = pc.fill_null(encoded.indices, len(labels)).to_numpy(zero_copy_only=False)
    codes = rank.astype(code_dtype(len(labels) + 1))[places]
    return Axis.of_labels(attribute.name, ordered, missing, kind), np.asarray(codes)
