"""Values to codes and back. A value outside its domain is an error that counts rows and shows none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.errors import SchemaError, SourceError
from pramana.randomness import Codes, code_dtype
from pramana.schema import Domain, Kind, label_of
from pramana.sources.arrays import flags_of, numbers, texts, values_of

_OUTSIDE, _MISSING = 1, 2


def has_missing(column: pa.ChunkedArray) -> bool:
    """Whether a column has a null, a NaN or an empty text; of a dictionary, among the values that occur."""
    if column.null_count:
        return True
    if pa.types.is_dictionary(column.type):
        return any(_refers_to_missing(chunk) for chunk in column.chunks)
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_nan(column)).as_py())
    if _is_text(column.type):
        return bool(pc.any(pc.equal(column, "")).as_py())
    return False


def _refers_to_missing(chunk: pa.DictionaryArray) -> bool:
    with _readable():
        missing = [i for i, value in enumerate(chunk.dictionary.to_pylist()) if label_of(value) == ""]
    return bool(missing) and bool(np.isin(values_of(chunk.indices), missing).any())


def domain_from_data(column: pa.ChunkedArray) -> Domain:
    """The values that occur, in the order of values, not of texts, which tells nothing of the rows' order."""
    plain = _plain(column)
    with _readable():
        by_label = {label_of(value): value for value in pc.unique(plain).to_pylist()}
    by_label.pop("", None)
    if not by_label:
        raise SchemaError("A column whose domain is read from the data must have values", "only missing ones")
    kind = Kind.of_labels(by_label)
    if not _has_values_in_order(plain.type):
        return Domain(tuple(kind.in_order(by_label)), "from-data", kind=kind)
    labels = tuple(sorted(by_label, key=lambda label: by_label[label]))
    return Domain(labels, "from-data", kind=kind if kind.has_order else Kind.ORDERED)


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
        raise SourceError(f"{column} must hold texts, numbers, dates or truth values", "others") from None


class Encoder:
    """Turns a column into the codes of its domain, chunk by chunk. Faults are counted; `finish` tells of them.

    Threads may encode chunks at once.
    """

    def __init__(self, domain: Domain, name: str, show: bool = False) -> None:
        self.domain, self.name, self.show = domain, name, show
        self.outside, self.unexpected, self.seen = 0, 0, set[str]()
        self.lock = threading.Lock()

    def encode(self, chunk: pa.Array, out: Codes | None = None) -> Codes:
        """The codes of a chunk; anything at all where it has faults."""
        out = np.empty(len(chunk), code_dtype(self.domain.size)) if out is None else out
        with _readable(self.name):
            faults = _encode_chunk(chunk, self.domain, out)
        if faults is not None:
            with self.lock:
                self._note(chunk, faults)
        return out

    def _note(self, chunk: pa.Array, faults: NDArray[np.int8]) -> None:
        self.unexpected += int((faults == _MISSING).sum())
        wrong = faults == _OUTSIDE
        self.outside += int(wrong.sum())
        if self.show:
            self.seen |= {label_of(v) for v in pc.unique(_plain(chunk).filter(pa.array(wrong))).to_pylist()}

    def finish(self) -> None:
        """Refuse a column with values outside its domain, or without values where it must have them."""
        if self.outside:
            _refuse_outside(self.name, self.outside, self.seen if self.show else None)
        if self.unexpected:
            raise SourceError(
                f"The column {self.name!r} must have no missing values",
                f"{self.unexpected} {'row' if self.unexpected == 1 else 'rows'} without one",
                'Set missing = "category" to publish missing as a value of its own.',
            )


def encode(column: pa.ChunkedArray, domain: Domain, name: str, show: bool = False) -> Codes:
    """The codes of a column in domain order."""
    encoder = Encoder(domain, name, show)
    out = np.empty(len(column), code_dtype(domain.size))
    start = 0
    for chunk in column.chunks:
        encoder.encode(chunk, out[start : start + len(chunk)])
        start += len(chunk)
    encoder.finish()
    return out


def _refuse_outside(name: str, outside: int, seen: set[str] | None) -> None:
    raise SourceError(
        f"Every value of the column {name!r} must be in its domain",
        f"{outside} {'row' if outside == 1 else 'rows'} outside it"
        + ("" if seen is None else f": {', '.join(map(repr, sorted(seen)[:20]))}"),
        None if seen is not None else "Run with --show-values to see them on this screen.",
    )


class Numbering:
    """Numbers for the values of a column in the order they come: codes for a domain that is not known yet.

    Threads may number chunks at once; which of them comes first tells in the numbers, and nowhere else.
    """

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}  # the empty one stands for missing values
        self.values: list[Any] = []
        self.type: pa.DataType = pa.string()
        self.missing = 0
        self.lock = threading.Lock()

    def number(self, chunk: pa.Array) -> Codes:
        with _readable():
            coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
            values = coded.dictionary.to_pylist()
        indices = coded.indices
        if indices.null_count:
            indices = indices.fill_null(len(values))
            values.append(None)
        with self.lock, _readable():
            self.type = coded.type.value_type
            places = [self._of(value) for value in values]
            empty = self.labels.get("")
        found: Codes = np.array(places or [0], np.uint32)[values_of(indices)]
        if empty is not None:
            missing = int((found == empty).sum())
            with self.lock:
                self.missing += missing
        return found

    def _of(self, value: Any) -> int:
        label = label_of(value)
        if label not in self.labels:
            self.labels[label] = len(self.labels)
            if label != "":
                self.values.append(value)
        return self.labels[label]

    def seen(self) -> pa.ChunkedArray:
        """Every value once, and a missing one where there was any."""
        return pa.chunked_array([pa.array([*self.values, None] if self.missing else self.values, self.type)])


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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _plain(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _encode_chunk(chunk: pa.Array, domain: Domain, out: Codes) -> NDArray[np.int8] | None:
    """Write a chunk's codes; None, or per row which fault it has (_OUTSIDE, _MISSING) where any has one."""
    numeric = pa.types.is_integer(chunk.type) or pa.types.is_floating(chunk.type)
    if numeric and domain.edges:
        return _encode_numbers(chunk, domain, out)
    if not pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_encode()
    return _encode_dictionary(chunk, domain, out)


def _encode_numbers(chunk: pa.Array, domain: Domain, out: Codes) -> NDArray[np.int8] | None:
    missing = flags_of(chunk.is_null(nan_is_null=True))
    values = np.where(missing, 0.0, values_of(chunk.cast(pa.float64(), safe=False)))
    place = np.searchsorted(np.asarray(domain.edges), values, side="right") - 1
    outside = ((place < 0) | (place >= len(domain.labels))) & ~missing
    place[outside | missing] = 0
    out[:] = place
    return _faults(outside, missing, domain, out)


def _encode_dictionary(chunk: pa.DictionaryArray, domain: Domain, out: Codes) -> NDArray[np.int8] | None:
    labels = [label_of(value) for value in chunk.dictionary.to_pylist()]
    codes = [domain.code_of(label) if label != "" else 0 for label in labels]
    places = values_of(chunk.indices)
    if chunk.indices.null_count:  # one slot past the end serves the nulls
        places = np.where(flags_of(chunk.indices.is_valid()), places.astype(np.int64), len(labels))
    np.take(np.array([code or 0 for code in codes] + [0], out.dtype), places, out=out, mode="clip")
    unknown = np.array([code is None for code in codes] + [False])
    empty = np.array([label == "" for label in labels] + [True])
    if not unknown.any() and not empty[:-1].any() and not chunk.indices.null_count:
        return None
    return _faults(unknown[places], empty[places], domain, out)


def _faults(
    outside: NDArray[np.bool_], missing: NDArray[np.bool_], domain: Domain, out: Codes
) -> NDArray[np.int8] | None:
    if domain.missing_code is not None:
        out[missing] = domain.missing_code
        missing = np.zeros_like(missing)
    if not outside.any() and not missing.any():
        return None
    return np.where(outside, np.int8(_OUTSIDE), np.where(missing, np.int8(_MISSING), np.int8(0)))
