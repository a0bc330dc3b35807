"""Columns that are read batch by batch: coded by a domain that is known, or numbered until it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


class Coder(ABC):
    """Codes for the values of a column in the order they come; which of the domain's they are shows at the end."""

    missing: bool = False

    @abstractmethod
    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        """Codes for a chunk, and whether it holds values that `lookup` refuses, whose codes mean nothing."""

    @abstractmethod
    def without_others(self, occurring: frozenset[int], faulty: Iterable[pa.Array]) -> Coder:
        """The same where rows were left out: the codes of those that stay, and their chunks that have faults."""

    @abstractmethod
    def values(self) -> pa.ChunkedArray:
        """The values that occurred, where they have to be known."""

    @abstractmethod
    def unfit(self, domain: Domain) -> Unfit:
        """Which of the codes that `take` gave stand for values that a domain does not have."""

    @abstractmethod
    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger] | None:
        """From what `take` gave to the domain's codes, if they differ; values outside it are refused."""


class KnownCoder(Coder):
    """A column whose domain is stated; whether it has missing values shows at the end."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.missing_code = encoder.domain.missing_code

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        own = self.encoder.another()
        codes = own.encode(chunk)
        if self.missing_code is not None and not self.missing:
            self.missing = bool((codes == self.missing_code).any())
        self.encoder.add(own.faults)
        return codes, bool(own.faults)

    def without_others(self, occurring: frozenset[int], faulty: Iterable[pa.Array]) -> KnownCoder:
        fewer = KnownCoder(self.encoder.another())
        for chunk in faulty:
            fewer.take(chunk)
        fewer.missing = self.missing_code in occurring
        return fewer

    def values(self) -> pa.ChunkedArray:
        return pa.chunked_array([texts([])])

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


class DiscoveringCoder(Coder):
    """A column whose domain is what occurs: values are numbered as they come, and sorted at the end."""

    def __init__(self, numbering: Numbering, occurring: frozenset[int] | None = None) -> None:
        """`occurring`: the codes that rows have, where some rows were left out."""
        self.numbering, self.occurring = numbering, occurring

    @property
    def missing(self) -> bool:  # type: ignore[override]  # shows at the end
        return "" in self._codes

    @property
    def _codes(self) -> dict[str, int]:
        """Of the values that occur, by their labels, missing ones last."""
        labels = self.numbering.labels
        known = {label: labels[label] for label in sorted(labels, key=lambda label: (label == "", labels[label]))}
        return {label: n for label, n in known.items() if self.occurring is None or n in self.occurring}

    def take(self, chunk: pa.Array) -> tuple[Codes, bool]:
        return self.numbering.number(chunk), False

    def without_others(self, occurring: frozenset[int], faulty: Iterable[pa.Array]) -> DiscoveringCoder:
        del faulty  # whatever occurs has a code
        return DiscoveringCoder(self.numbering, occurring)

    def values(self) -> pa.ChunkedArray:
        every_code, codes = DiscoveringCoder(self.numbering)._codes.values(), {*self._codes.values()}
        return self.numbering.seen().filter(pa.array([code in codes for code in every_code], pa.bool_()))

    def unfit(self, domain: Domain) -> Unfit:
        codes = self._codes
        missing = codes.pop("", None)
        outside = {label: n for label, n in codes.items() if domain.code_of(label) is None}
        return Unfit(tuple(outside.values()), tuple(outside), None if domain.missing_code is not None else missing)

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger]:
        labels = self.numbering.labels
        codes = [domain.missing_code if label == "" else domain.code_of(label) for label in labels]
        return np.array([code or 0 for code in codes], code_dtype(domain.size))


def coders_for(readings: Sequence[ColumnReading], show: bool) -> dict[str, Coder]:
    coders: dict[str, Coder] = {}
    for reading in readings:
        if reading.discovered:
            coders[reading.name] = DiscoveringCoder(Numbering())
        elif (domain := reading.domain) is not None:
            domain = domain.with_missing() if reading.open_ended else domain
            coders[reading.name] = KnownCoder(Encoder(domain, reading.name, show))
    return coders
