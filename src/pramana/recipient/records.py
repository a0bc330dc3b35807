"""Where synthetic records come from: a model of a randomised bundle, or the published records themselves.

A release with a law is modelled, and records are drawn from the model. One without has records that are true as
far as they go: each is taken equally often, in an order of the key, and a cell that stands for several values
becomes one of them, drawn by the cell's published distribution.
"""

from __future__ import annotations

import contextlib
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError, PramanaError
from pramana.files.folder import scratch_beside
from pramana.files.store_path import StorePath, put_file
from pramana.files.upload import check_new_object
from pramana.io.codes import decode
from pramana.io.columns import numbers
from pramana.methods.protocol import Plan
from pramana.methods.published_cells import PublishedCells
from pramana.randomness.key import Key
from pramana.randomness.shuffle import shuffled_order
from pramana.recipient.axes import BundleAxes
from pramana.recipient.model import RecordModel, fit_records
from pramana.recipient.study import Study

ROWS = 1 << 18  # made at a time
_PURPOSE = "synthetic records"


class RecordSource(ABC):
    """Synthetic records of a bundle, as many as wanted, in pieces."""

    @abstractmethod
    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]: ...

    @abstractmethod
    def statement(self) -> dict[str, Any]:
        """What the records were drawn from."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The same, for people."""


class ModelledRecords(RecordSource):
    """Drawn from a model of the private table that was fitted through the law of the release."""

    def __init__(self, axes: BundleAxes, model: RecordModel) -> None:
        self.axes, self.model = axes, model

    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]:
        context = self.axes.bundle.certificate.content
        for first in range(0, records, ROWS):
            codes = self.model.draw(key, context, first, min(ROWS, records - first))
            yield pa.table({name: self.axes.shown(name, codes[name]) for name in self.axes})

    def statement(self) -> dict[str, Any]:
        return {
            "kind": self.model.kind,
            "tables": [list(names) for names in self.model.tables],
            "converged": self.model.converged,
        }

    @property
    def words(self) -> str:
        if self.model.kind == "joint":
            return "Records were drawn from the maximum-likelihood table of all columns."
        return (
            "Records were drawn from a graphical model of the tables named here; columns together in none of "
            "them hang together only through others."
        )


class PublishedRecords(RecordSource):
    """The published records, each equally often, with one value for every cell."""

    def __init__(self, bundle: Bundle, plan: Plan) -> None:
        self.bundle, self.several = bundle, plan.celled
        self.cells = PublishedCells.of_bundle(bundle) if self.several else None
        self.table = self.cells.others if self.cells is not None else pa.Table.from_batches(bundle.batches())

    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]:
        own, context = self.bundle.certificate.records, self.bundle.certificate.content
        for turn, first in enumerate(range(0, records, own)):
            whole = self._one_of_each(key, turn)
            order = shuffled_order(key, f"{_PURPOSE}\n{context}\n{turn}", own)[: records - first]
            for start in range(0, len(order), ROWS):
                yield whole.take(numbers(order[start : start + ROWS].astype(np.int64)))

    def _one_of_each(self, key: Key, turn: int) -> pa.Table:
        drawn: dict[str, Any] = {}
        if self.cells is not None:
            codes = self.cells.codes(key, turn)
            drawn = {a.name: decode(c, a.coded) for a, c in zip(self.several, codes, strict=True)}
        names = [a.name for a in self.bundle.certificate.attributes]
        return pa.table({n: drawn[n] if n in drawn else self.table.column(n) for n in names})

    def statement(self) -> dict[str, Any]:
        return {"kind": "cells" if self.several else "published", "tables": [], "converged": True}

    @property
    def words(self) -> str:
        if self.several:
            return "Every published record was taken equally often, with a value drawn for each of its cells."
        return "Every published record was taken equally often; its values are the published ones."


def source_of_records(bundle: Bundle, plan: Plan, study: Study | None, axes: BundleAxes) -> RecordSource:
    """`study`: of a bundle with a law."""
    if study is None:
        return PublishedRecords(bundle, plan)
    return ModelledRecords(axes, fit_records(study, _names(axes)))


def _names(axes: BundleAxes) -> Sequence[str]:
    return list(axes)


# Synthetic records in a store: two objects, the certificate first, so that no records are without it.


ENDING = ".certificate.json"  # of the certificate, after the name of the records


@contextlib.contextmanager
def objects_of_records(target: StorePath) -> Iterator[Path]:
    """A place on this machine for the records, beside which their certificate lies; both go up when all is well.

    A certificate without records, as a killed run leaves it, is taken up by the run that makes the same one.
    """
    beside = target.with_name(target.name + ENDING)
    check_new_object(target)
    if not (left := beside.again().is_file()):
        check_new_object(beside)
    with contextlib.ExitStack() as held:
        try:  # locked while this process lives: the next one removes what a killed one left
            folder = held.enter_context(scratch_beside(Path(tempfile.gettempdir()).resolve() / "pramana-records"))
        except OSError as error:
            raise BundleError("There must be a folder for temporary files", error.strerror) from None
        place = folder / target.name
        yield place
        certificate = place.with_name(place.name + ENDING)
        if left and not _is(beside, certificate.read_bytes()):
            check_new_object(beside)
        check_new_object(target)
        if not left:
            put_file(beside, certificate, BundleError)
        try:
            put_file(target, place, BundleError)
        except BaseException:
            if not left:
                _remove_unless(target, beside)
            raise


def _remove_unless(target: StorePath, certificate: StorePath) -> None:
    """Only what this run has put, and only where the store says that there are no records: its answer to them may
    be all that was lost."""
    with contextlib.suppress(PramanaError):
        if not target.again().exists():
            certificate.unlink()


def _is(path: StorePath, content: bytes) -> bool:
    now = path.again()
    return now.is_file() and now.stat().st_size == len(content) and now.read_bytes(len(content)) == content
