"""Releases whose published values are codes of public domains: how they are drawn, told apart and examined."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check
from pramana.bundle.published_numbers import WITHIN_BIN, numbers_of
from pramana.errors import BundleError, PramanaError
from pramana.io.codes import decode
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Exchange, Mechanism, RecordRetention
from pramana.methods.protocol import Counts, Examination, Law, Plan, Publication, TableMaker, part_check
from pramana.methods.usefulness import Usefulness
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE, Codes
from pramana.randomness.shuffle import counted
from pramana.rows.digest import ContentDigest
from pramana.rows.protocol import NO_UNITS, Columns, Draw, Rows
from pramana.schema.domain import Attribute
from pramana.schema.unit import Storey
from pramana.theory.pk import coin_divergence

# Whether published counts can have come from a law: what no chance explains is a forgery or a mistake.


_NEVER = 1e-12  # of an honest release's columns, so many are called contradictions


def contradicts(law: Law, name: str, counts: Counts, together: int = 1) -> bool:
    """Whether some value occurs more or less often than any true table lets it.

    A published value's count is a sum of independent draws whose chances lie between the least and the largest
    entry of its column of the matrix. By Chernoff's bound a mean beyond them by so much has a chance of at most
    exp(-n KL). Where up to `together` rows share one draw, by Jensen's inequality exp(-n/together KL).
    """
    bounds = _bounds(law, name)
    records = int(counts.sum())
    if bounds is None or records == 0:
        return False
    least, most = bounds
    share = counts / records
    beyond = [
        *(coin_divergence(s, p) for s, p in zip(share, least, strict=True) if s < p),
        *(coin_divergence(s, p) for s, p in zip(share, most, strict=True) if s > p),
    ]
    return any(records / together * d > -math.log(_NEVER / (2 * len(counts))) for d in beyond)


def uneven(counts: Counts, chances: NDArray[np.float64]) -> bool:
    """Whether the draws of some bin fall into its parts as the stated chances hardly ever let them.

    `counts` and `chances` are by bin and part; the bound is the same.
    """
    never = -math.log(_NEVER / (2 * counts.size))
    for row, stated in zip(counts, chances, strict=True):
        records = int(row.sum())
        if records and any(
            records * coin_divergence(int(c) / records, float(p)) > never for c, p in zip(row, stated, strict=True)
        ):
            return True
    return False


def _bounds(law: Law, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """For each published value the least and the largest chance of it, over all true values."""
    if isinstance(law, Exchange):
        return None  # values move together: no column of the matrix speaks for a value alone
    if isinstance(law, CoinGroups):
        return _bounds(law.part_of(name), name)
    if isinstance(law, RecordRetention):
        size, kept = law.sizes[name], float(law.retention)
    else:
        channel = law.channels[name]
        if not isinstance(channel, Retention):
            weights = np.asarray(channel.weights, np.float64) / ONE
            return weights.min(axis=0), weights.max(axis=0)
        size, kept = channel.size, float(channel.retention)
    return np.full(size, (1 - kept) / size), np.full(size, kept + (1 - kept) / size)


_PARTS = 16  # of a bin, whose draws are held against the law


class CodedTable(TableMaker):
    """Published codes as the labels of their domains, or as numbers, beside the columns that pass unchanged.

    `coins` are those of the columns whose numbers are drawn: a published row has the word of its place.
    """

    def __init__(self, attributes: tuple[Attribute, ...], coins: Mapping[str, Stream], row: int = 0) -> None:
        self._attributes, self._coins = attributes, coins
        self._coded = [a for a in attributes if not a.raw]
        self._numbers = numbers_of(attributes)
        self._order = [a.name for a in sorted(attributes, key=lambda a: a.raw)]
        self._digest = ContentDigest()
        self._counts = {a.name: np.zeros(a.coded.size, np.int64) for a in self._coded}
        self._rows = row

    def table(self, columns: Columns) -> pa.Table:
        """A column whose public domain has no missing value is written as one that has none, which is quicker."""
        positions = {name: self._positions(name, columns) for name in self._numbers}
        self._digest.update({name: positions.get(name, columns[name]) for name in self._order})
        for a in self._coded:
            self._counts[a.name] += counted(columns[a.name], a.coded.size)
        self._rows += len(next(iter(columns.values())))
        shown = [self._shown(a, columns, positions) for a in self._attributes]
        fields = [
            pa.field(a.name, column.type, nullable=a.raw or a.coded.missing_code is not None)
            for a, column in zip(self._attributes, shown, strict=True)
        ]
        return pa.table(shown, schema=pa.schema(fields))

    def _positions(self, name: str, columns: Columns) -> Codes:
        codes, coins = columns[name], self._coins.get(name)
        return self._numbers[name].positions(codes, None if coins is None else coins.words(self._rows, len(codes)))

    def _shown(self, a: Attribute, columns: Columns, positions: Mapping[str, Codes]) -> pa.Array:
        if a.name in positions:
            return self._numbers[a.name].column(positions[a.name])
        return columns[a.name] if a.raw else decode(columns[a.name], a.coded)

    def content(self) -> str:
        return self._digest.hexdigest()

    def counts(self) -> Mapping[str, Counts]:
        return self._counts

    def at(self, row: int) -> CodedTable:
        return CodedTable(self._attributes, self._coins, row)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedPlan(Plan):
    """A plan that draws codes from a mechanism."""

    @abstractmethod
    def usefulness(self) -> Usefulness:
        """What tables are worth, from what the certificate states."""

    def publish_drawn(
        self,
        rows: Rows,
        mechanism: Mechanism,
        context: str,
        checks: tuple[Check, ...] = (),
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> Publication:
        """Rows through the mechanism, under coins bound to `context`; `once` as `Draw` has it."""
        names = tuple(a.name for a in sorted(self.attributes, key=lambda a: a.raw))
        draw = partial(rows.publish, Draw(mechanism, context, self.shuffled, names, once=once))
        drawn = [name for name, numbers in numbers_of(self.attributes).items() if numbers.drawn]
        coins = {name: rows.stream(WITHIN_BIN, context, name, 0) for name in drawn}
        table = CodedTable(self.attributes, coins)
        return Publication(self, draw, table, rows.commitment(), checks=checks, usefulness=self.usefulness())

    def examine(self, bundle: Bundle) -> Examination:
        """The published values are in their domains, as many as certified, and have the certified content."""
        try:
            read = bundle.each_part(self._counted)
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        records = sum(part[0] for part in read)
        counts, positions = _summed([part[1] for part in read]), _summed([part[2] for part in read])
        if records != self.records:
            return Examination((Check("data", False, f"{self.records} records certified, {records} found"),))
        same = bundle.has_content(read[0][3])
        words = f"{self.records} records, all in their domains" if same else "other content"
        checks, numbers = [Check("data", same, words)], numbers_of(self.attributes)
        if self.law is not None:
            strange = [n for n in counts if contradicts(self.law, n, counts[n], self.repeated.get(n, 1))]
            checks.append(_by_chance("law and data", strange, "the published counts can have come from it"))
        if positions:  # byte for byte only the source and key tell whether numbers were drawn by their law
            strange = [n for n, table in positions.items() if uneven(table, numbers[n].chances(_PARTS))]
            checks.append(_by_chance("draws within bins", strange, "uniform, as far as the data tell"))
        return Examination(tuple(checks), counts, self.usefulness())

    def _counted(self, bundle: Bundle) -> tuple[int, dict[str, Counts], dict[str, Counts], str]:
        """Of a data file, or one part of a set: records, counts of codes, where in their bins drawn numbers lie,
        and the digest of one file; parts have those of their bytes."""
        content, records = ContentDigest(), 0
        coded = [a for a in self.attributes if not a.raw]
        counts = {a.name: np.zeros(a.coded.size, np.int64) for a in coded}
        numbers = numbers_of(self.attributes)
        positions = {
            name: np.zeros((len(n.domain.labels), _PARTS), np.int64) for name, n in numbers.items() if n.drawn
        }
        self._check_columns(bundle)
        for columns in bundle.content():
            if bundle.certificate.parts is None:
                content.update(columns)
            records += len(next(iter(columns.values())))
            for a in coded:
                own = numbers[a.name].codes(columns[a.name]) if a.name in numbers else columns[a.name]
                counts[a.name] += counted(own, a.coded.size)
            for name, table in positions.items():
                np.add.at(table, numbers[name].parts(columns[name], _PARTS), 1)
        return records, counts, positions, content.hexdigest()

    def examine_part(self, bundle: Bundle) -> Check:
        """Its values are in their domains, too."""

        def count() -> int:
            self._check_columns(bundle)
            return sum(len(next(iter(columns.values()))) for columns in bundle.content())

        return part_check(bundle, count)

    def _check_columns(self, bundle: Bundle) -> None:
        numbers = numbers_of(self.attributes)
        types = {a.name: None if a.raw else pa.string() for a in self.attributes}
        bundle.check_columns(types | {name: n.type for name, n in numbers.items()})
        check_dictionaries(bundle, [a for a in self.attributes if not a.raw and a.name not in numbers])


def _summed(parts: Sequence[Mapping[str, Counts]]) -> dict[str, Counts]:
    return {name: np.asarray(sum(part[name] for part in parts), np.int64) for name in parts[0]}


def _by_chance(name: str, strange: Sequence[str], otherwise: str) -> Check:
    """Whether chance explains what was drawn; `strange` are the columns where it does not."""
    return Check(name, not strange, f"never so by chance: {', '.join(strange)}" if strange else otherwise)


def check_dictionaries(bundle: Bundle, coded: Sequence[Attribute]) -> None:
    """The dictionary of a published column is its public domain, in public order, whatever rows use of it."""
    if bundle.certificate.output != "parquet" or not coded:
        return
    for batch in bundle.batches([a.name for a in coded]):
        for a in coded:
            column = batch.column(a.name)
            if not pa.types.is_dictionary(column.type) or column.dictionary.to_pylist() != list(a.coded.labels):
                raise BundleError(
                    f"The column {a.name!r} must have its public domain as dictionary",
                    f"a column of {column.type}",
                )
