"""Values to codes and back. A value outside its domain is an error that counts rows and shows none."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import OutsideDomainError, SchemaError, SourceError
from pramana.io.columns import compute as pc
from pramana.io.columns import flags_of, is_text, numbers, plain_type, texts, values_of
from pramana.randomness._order import translate as translated
from pramana.randomness.samplers import Codes, code_dtype
from pramana.randomness.shuffle import counted
from pramana.schema.domain import Domain
from pramana.schema.kind import Kind, label_of

_OUTSIDE, _MISSING = 1, 2
_PADDED, _COMMA = 3, 4  # outside its domain, but inside without the blanks around it, or with a decimal comma
_WITH_COMMA = re.compile(r"[+-]?[0-9][0-9. \u00a0\u202f']*+,[0-9]++")


def occurring(chunk: pa.Array) -> tuple[Codes, list[Any]]:
    """For every row the place of its value in a list, and that list, in which every value is some row's.

    What a dictionary holds beside the values of its rows (a pandas category nobody has, what a filter left
    behind) is nobody's: it must reach no domain, no certificate and no message. Nulls of either kind, of a row
    and of a dictionary's entry, are None. An entry that a dictionary has twice is there twice.
    """
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    positions, entries = _positions(coded), coded.dictionary
    used = counted(positions, len(entries) + 1) > 0
    if bool(used[:-1].all()):
        return positions, [*entries.to_pylist(), *([None] if used[-1] else [])]
    kept = np.flatnonzero(used)
    values = entries.take(numbers(kept[kept < len(entries)])).to_pylist()
    renumbered = np.zeros(len(used), positions.dtype)
    renumbered[kept] = np.arange(len(kept))
    return renumbered[positions], [*values, *([None] if used[-1] else [])]


def _positions(coded: pa.DictionaryArray) -> Codes:
    """Where in the dictionary each row's value is; one past its end stands for null."""
    indices, size = coded.indices, len(coded.dictionary)
    positions, kind = values_of(indices), code_dtype(size + 1)
    if indices.null_count:
        return np.where(flags_of(indices.is_valid()), positions.astype(kind), kind(size))
    size = positions.itemsize
    return np.asarray(positions.view(f"u{size}") if size <= 4 else positions.astype(np.uint32))


def has_missing(column: pa.ChunkedArray) -> bool:
    """Whether a row has a null, a NaN or an empty text."""
    kind = column.type
    if column.null_count:
        return True
    with _readable():
        if pa.types.is_dictionary(kind):
            return any(_has_empty(chunk) for chunk in column.chunks)
        if pa.types.is_floating(kind):
            return bool(pc.any(pc.is_nan(column)).as_py())
        if is_text(kind):
            return bool(pc.any(pc.equal(column, "")).as_py())
    return False


def _has_empty(chunk: pa.DictionaryArray) -> bool:
    """Whether a row has an entry that stands for nothing; where no entry does, no row is looked at."""
    if not any(label_of(value) == "" for value in chunk.dictionary.to_pylist()):
        return False
    return any(label_of(value) == "" for value in occurring(chunk)[1])


def domain_from_data(column: pa.ChunkedArray) -> Domain:
    """The values that occur, in the order of values, not of texts, which tells nothing of the rows' order."""
    with _readable():
        by_label = {label_of(value): value for chunk in column.chunks for value in occurring(chunk)[1]}
    by_label.pop("", None)
    if not by_label:
        raise SchemaError("A column whose domain is read from the data must have values", "only missing ones")
    if is_ordered(column.type):
        order = CategoryOrder()
        for chunk in column.chunks:
            order.add(chunk)
        return Domain(order.of(by_label), "from-data", kind=Kind.ORDERED)
    labels, kind = in_order_of_values(by_label, column.type)
    return Domain(tuple(labels), "from-data", kind=kind)


def in_order_of_values(by_label: Mapping[str, Any], type_: pa.DataType) -> tuple[list[str], Kind]:
    """The labels of values in the order of these, and their kind; texts as their labels read."""
    kind = Kind.of_labels(by_label)
    if not _has_values_in_order(plain_type(type_)):
        return kind.in_order(by_label), kind
    return sorted(by_label, key=lambda label: by_label[label]), kind if kind.has_order else Kind.ORDERED


def is_ordered(kind: pa.DataType) -> bool:
    """Whether a column's categories are declared to have an order."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


class CategoryOrder:
    """The declared order of categories, of chunks whatever their bounds: first those that every chunk declares."""

    def __init__(self) -> None:
        self.declared: list[str] | None = None
        self.others: set[str] = set()

    def add(self, chunk: pa.DictionaryArray) -> None:
        entries = [label_of(value) for value in chunk.dictionary.to_pylist()]
        known = entries if self.declared is None else self.declared
        self.declared = [label for label in known if label in set(entries)]
        self.others |= {*known, *entries} - set(self.declared)

    def of(self, labels: Iterable[str]) -> tuple[str, ...]:
        occurring_labels = set(labels)
        rest = Kind.NOMINAL.in_order(self.others)
        return tuple(label for label in [*(self.declared or ()), *rest] if label in occurring_labels)


def _has_values_in_order(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_temporal(kind)
    )


@contextlib.contextmanager
def _readable(name: str | None = None) -> Iterator[None]:
    """Bytes that are no text, times no calendar has, kinds Arrow cannot compare: their errors quote values."""
    try:
        yield
    except (pa.ArrowException, ValueError, OverflowError, TypeError):
        column = "Every column" if name is None else f"The column {name!r}"
        raise SourceError(
            f"{column} must hold texts, numbers, dates or truth values", "values of another kind"
        ) from None


@dataclass(frozen=True)
class Faults:
    """How many rows of a column have no code, and why; `seen` are their values, where those may be shown."""

    outside: int = 0  # of the domain; among them:
    padded: int = 0  # only by blanks around the value
    commas: int = 0  # numbers with a decimal comma
    unexpected: int = 0  # missing values where there must be none
    seen: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.outside or self.unexpected)

    def __add__(self, other: Faults) -> Faults:
        return Faults(
            self.outside + other.outside,
            self.padded + other.padded,
            self.commas + other.commas,
            self.unexpected + other.unexpected,
            tuple(sorted({*self.seen, *other.seen})),
        )


class Encoder:
    """Turns a column into the codes of its domain, chunk by chunk. Faults are counted; `finish` tells of them.

    Threads may encode chunks at once.
    """

    def __init__(self, domain: Domain, name: str, show: bool = False) -> None:
        self.domain, self.name, self.show = domain, name, show
        self.faults = Faults()
        self.lock = threading.Lock()

    def encode(self, chunk: pa.Array, out: Codes | None = None) -> Codes:
        """The codes of a chunk; anything at all where it has faults."""
        out = np.empty(len(chunk), code_dtype(self.domain.size)) if out is None else out
        with _readable(self.name):
            faults = _encode_chunk(chunk, self.domain, out)
        if faults is not None:
            self.add(self._counted(chunk, faults))
        return out

    def encode_column(self, column: pa.ChunkedArray) -> Codes:
        """The codes of all chunks, one after the other."""
        out = np.empty(len(column), code_dtype(self.domain.size))
        start = 0
        for chunk in column.chunks:
            self.encode(chunk, out[start : start + len(chunk)])
            start += len(chunk)
        return out

    def _counted(self, chunk: pa.Array, faults: NDArray[np.int8]) -> Faults:
        wrong = (faults != 0) & (faults != _MISSING)
        values = occurring(chunk.filter(pa.array(wrong)))[1] if self.show else []
        rows = {kind: int((faults == kind).sum()) for kind in (_PADDED, _COMMA, _MISSING)}
        seen = tuple(map(label_of, values))
        return Faults(int(wrong.sum()), rows[_PADDED], rows[_COMMA], rows[_MISSING], seen)

    def another(self) -> Encoder:
        """One for the same column that has seen nothing yet."""
        return Encoder(self.domain, self.name, self.show)

    def add(self, faults: Faults) -> None:
        """Count what another one has seen of the same column, too."""
        with self.lock:
            self.faults += faults

    def finish(self) -> None:
        """Refuse a column with values outside its domain, or without values where it must have them."""
        if self.faults.outside:
            self._refuse_outside()
        if number := self.faults.unexpected:
            raise SourceError(
                f"The column {self.name!r} must have no missing values",
                f"{number} {'row' if number == 1 else 'rows'} without one",
                'Set missing = "category" to publish missing as a value of its own.',
            )

    def _refuse_outside(self) -> NoReturn:
        faults = self.faults
        got = f"{faults.outside} {'row' if faults.outside == 1 else 'rows'} outside it"
        if faults.padded:
            number = "all" if faults.padded == faults.outside else str(faults.padded)
            got += f", {number} of them only by blanks around the value"
        if self.show:
            got += f": {', '.join(map(repr, Kind.of_labels(faults.seen).in_order(faults.seen)[:20]))}"
        hint = 'Is its decimal mark a comma? Set decimal = "," in [source].' if faults.commas else None
        raise OutsideDomainError(f"Every value of the column {self.name!r} must be in its domain", got, hint)


def encode(column: pa.ChunkedArray, domain: Domain, name: str, show: bool = False) -> Codes:
    """The codes of a column in domain order."""
    encoder = Encoder(domain, name, show)
    out = encoder.encode_column(column)
    encoder.finish()
    return out


class Numbering:
    """Numbers for the values of a column in the order they come: codes for a domain that is not known yet.

    Threads may number chunks at once; which of them comes first tells in the numbers, and nowhere else.
    """

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}  # the empty one stands for missing values
        self.values: list[Any] = []
        self.type: pa.DataType = pa.string()
        self.missing = 0
        self.order: CategoryOrder | None = None
        self.lock = threading.Lock()

    def number(self, chunk: pa.Array) -> Codes:
        with _readable():
            positions, values = occurring(chunk)
        with self.lock, _readable():
            self.type = plain_type(chunk.type)
            if is_ordered(chunk.type):
                self.order = self.order or CategoryOrder()
                self.order.add(chunk)
            assigned = np.array([self._of(value) for value in values] or [0], np.uint32)
            empty = self.labels.get("")
        codes: Codes = assigned[positions]
        if empty is not None:
            missing = int((codes == empty).sum())
            with self.lock:
                self.missing += missing
        return codes

    def _of(self, value: Any) -> int:
        label = label_of(value)
        if label not in self.labels:
            self.labels[label] = len(self.labels)
            if label != "":
                self.values.append(value)
        return self.labels[label]

    def seen(self) -> pa.ChunkedArray:
        """Every value once, and a missing one where there was any."""
        values = pa.array([*self.values, None] if self.missing else self.values, self.type)
        if self.order is None:
            return pa.chunked_array([values])
        by_label = {label_of(value): value for value in self.values}
        entries = pa.array([by_label[label] for label in self.order.of(by_label)], self.type)
        positions = pc.index_in(values, value_set=entries)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(positions, entries, ordered=True)])


def decode(codes: Codes, domain: Domain) -> pa.DictionaryArray:
    """Codes as an Arrow dictionary that holds the whole domain in its public order, used or not."""
    valid = None if domain.missing_code is None else codes != domain.missing_code
    kind = np.dtype(_index_dtype(domain.size))
    indices = numbers(codes.view(kind) if codes.itemsize == kind.itemsize else codes.astype(kind), valid)
    return pa.DictionaryArray.from_arrays(indices, texts(domain.labels))


def _index_dtype(size: int) -> type[np.signedinteger]:
    if size <= 1 << 7:
        return np.int8
    return np.int16 if size <= 1 << 15 else np.int32


# ---------------------------------------------------------------- one chunk


def _encode_chunk(chunk: pa.Array, domain: Domain, out: Codes) -> NDArray[np.int8] | None:
    """Write a chunk's codes; None, or per row its fault (_OUTSIDE, _MISSING, _PADDED) where any has one."""
    numeric = pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type)
    if numeric and domain.edges and domain.kind is Kind.NUMBER:
        return _encode_numbers(chunk, domain, out)
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    if _encode_known(coded, domain, out):
        return None
    positions, values = occurring(coded)
    labels = [label_of(value) for value in values]
    codes = [domain.missing_code if label == "" else domain.code_of(label) for label in labels]
    np.take(np.array([code or 0 for code in codes] or [0], out.dtype), positions, out=out, mode="clip")
    if None not in codes:
        return None
    faults = [_fault(label, domain) if code is None else 0 for label, code in zip(labels, codes, strict=True)]
    return np.array(faults, np.int8)[positions]


def _encode_known(coded: pa.DictionaryArray, domain: Domain, out: Codes) -> bool:
    """Whether every entry of the dictionary has a code, also one that no row has: then no row is looked at."""
    known = [_code_of(value, domain) for value in coded.dictionary.to_pylist()]
    if None in known or (coded.indices.null_count and domain.missing_code is None):
        return False
    translated(_positions(coded), np.array([*known, domain.missing_code or 0], out.dtype), out)
    return True


def _code_of(value: Any, domain: Domain) -> int | None:
    label = label_of(value)
    return domain.missing_code if label == "" else domain.code_of(label)


def _fault(label: str, domain: Domain) -> int:
    """Of a value that has no code."""
    if label == "":
        return _MISSING
    if domain.kind is Kind.NUMBER and _WITH_COMMA.fullmatch(label) is not None:
        return _COMMA
    trimmed = label.strip()
    known = domain.missing_code if trimmed == "" else domain.code_of(trimmed)
    return _OUTSIDE if known is None else _PADDED


def _encode_numbers(chunk: pa.Array, domain: Domain, out: Codes) -> NDArray[np.int8] | None:
    missing = flags_of(chunk.is_null(nan_is_null=True))
    values = np.where(missing, 0.0, values_of(chunk.cast(pa.float64(), safe=False)))
    bins = np.searchsorted(np.asarray(domain.edges), values, side="right") - 1
    outside = ((bins < 0) | (bins >= len(domain.labels))) & ~missing
    bins[outside | missing] = 0
    out[:] = bins
    if domain.missing_code is not None:
        out[missing] = domain.missing_code
        missing = np.zeros_like(missing)
    if not outside.any() and not missing.any():
        return None
    return np.where(outside, np.int8(_OUTSIDE), np.where(missing, np.int8(_MISSING), np.int8(0)))
