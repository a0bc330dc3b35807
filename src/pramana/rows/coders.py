"""Columns that are read batch by batch: coded by a domain that is known, or numbered until it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.io.codes import Encoder, Numbering
from pramana.io.columns import texts
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import ColumnReading
from pramana.schema.domain import Domain


@dataclass(frozen=True)
class Unfit:
    """Codes of values outside a domain, the values, and the code of missing ones that it has no room for."""

    outside: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    missing: int | None = None

    def __bool__(self) -> bool:
        return bool(self.outside) or self.missing is not None


class Coder(Protocol):
    """Codes for the values of a column in the order they come; which of the domain's they are shows at the end."""

    @property
    def missing(self) -> bool: ...

    @property
    def missing_code(self) -> int | None: ...

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        """Codes for a chunk, and whether it holds values that `lookup` refuses, whose codes mean nothing."""

    def without(self, faulty: Iterable[pa.Array]) -> Coder:
        """The same where rows were left out: of the chunks with values that `lookup` refuses, what stays."""

    def values(self) -> pa.ChunkedArray:
        """The values that occurred, where they have to be known."""

    def codes(self) -> list[int]:
        """What `take` gave for these values."""

    def unfit(self, domain: Domain) -> Unfit:
        """Which of the codes that `take` gave stand for values that a domain does not have."""

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger] | None:
        """From what `take` gave to the domain's codes, if they differ; values outside it are refused."""


class KnownCoder:
    """A column whose domain is stated; whether it has missing values shows at the end."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.missing_code = encoder.domain.missing_code
        self.missing = False

    @classmethod
    def of(cls, reading: ColumnReading, domain: Domain, show: bool = False) -> KnownCoder:
        return cls(Encoder(domain.with_missing() if reading.open_ended else domain, reading.name, show))

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        own = self.encoder.another()
        codes = own.encode(chunk)
        if self.missing_code is not None and not self.missing:
            self.missing = bool((codes == self.missing_code).any())
        self.encoder.add(own.faults)
        return codes, bool(own.faults)

    def without(self, faulty: Iterable[pa.Array]) -> KnownCoder:
        fewer = KnownCoder(self.encoder.another())
        for chunk in faulty:
            fewer.take(chunk)
        return fewer

    def values(self) -> pa.ChunkedArray:
        return pa.chunked_array([texts([])])

    def codes(self) -> list[int]:
        return []

    def unfit(self, domain: Domain) -> Unfit:
        without = self.missing and domain.missing_code is None
        return Unfit(missing=self.missing_code if without else None)

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger] | None:
        self.encoder.finish()
        if domain.labels != self.encoder.domain.labels:  # a coarser one was chosen since
            return np.array(self.encoder.domain.codes_in(domain), code_dtype(domain.size))
        if code_dtype(domain.size) == code_dtype(self.encoder.domain.size):
            return None
        return np.arange(self.encoder.domain.size, dtype=code_dtype(domain.size))


class DiscoveringCoder:
    """A column whose domain is what occurs: values are numbered as they come, and sorted at the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbering = Numbering()

    @property
    def missing(self) -> bool:
        return self.numbering.missing > 0

    @property
    def missing_code(self) -> int | None:
        return self.numbering.labels.get("")

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        return self.numbering.number(chunk), False

    def without(self, faulty: Iterable[pa.Array]) -> DiscoveringCoder:
        del faulty
        return self

    def values(self) -> pa.ChunkedArray:
        return self.numbering.seen()

    def codes(self) -> list[int]:
        numbered = [number for label, number in self.numbering.labels.items() if label != ""]
        return [*numbered, *([self.numbering.labels[""]] if self.missing else [])]

    def unfit(self, domain: Domain) -> Unfit:
        numbered = [(label, n) for label, n in self.numbering.labels.items() if label != ""]
        outside = {label: n for label, n in numbered if domain.code_of(label) is None}
        without = self.missing and domain.missing_code is None
        return Unfit(tuple(outside.values()), tuple(outside), self.numbering.labels.get("") if without else None)

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger]:
        labels = self.numbering.labels
        codes = [domain.missing_code if label == "" else domain.code_of(label) for label in labels]
        return np.array([code or 0 for code in codes], code_dtype(domain.size))


@dataclass(frozen=True)
class KeptCoder:
    """A column of which rows were left out: `kept` are the codes of the others, and all that occurred."""

    coder: Coder
    kept: frozenset[int]

    @property
    def missing(self) -> bool:
        return self.missing_code in self.kept

    @property
    def missing_code(self) -> int | None:
        return self.coder.missing_code

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        return self.coder.take(chunk)

    def without(self, faulty: Iterable[pa.Array]) -> KeptCoder:
        return KeptCoder(self.coder.without(faulty), self.kept)

    def values(self) -> pa.ChunkedArray:
        return self.coder.values().filter(pa.array([code in self.kept for code in self.coder.codes()], pa.bool_()))

    def codes(self) -> list[int]:
        return [code for code in self.coder.codes() if code in self.kept]

    def unfit(self, domain: Domain) -> Unfit:
        unfit = self.coder.unfit(domain)
        outside = {c: label for c, label in zip(unfit.outside, unfit.labels, strict=True) if c in self.kept}
        missing = unfit.missing if unfit.missing in self.kept else None
        return Unfit(tuple(outside), tuple(outside.values()), missing)

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger] | None:
        return self.coder.lookup(domain)


def coders_for(readings: Sequence[ColumnReading], show: bool) -> dict[str, Coder]:
    coders: dict[str, Coder] = {}
    for reading in readings:
        if reading.discovered:
            coders[reading.name] = DiscoveringCoder(reading.name)
        elif reading.domain is not None:
            coders[reading.name] = KnownCoder.of(reading, reading.domain, show)
    return coders
