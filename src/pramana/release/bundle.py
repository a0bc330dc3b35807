"""A bundle as its recipient has it: certificate, data, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import BundleError
from pramana.release.certificate import Certificate
from pramana.rows import Column
from pramana.sources import FILE_NAMES, Encoder, Source, Table, encode, raw_column, read_published

CELL_METHODS = ("generalize", "presence")  # whose cells are no codes: they examine their own columns
_ROWS = 1 << 18  # read at a time
_BYTES = 1 << 22


@dataclass(frozen=True)
class Bundle:
    """An opened folder; nothing of it has been verified yet."""

    path: Path
    certificate: Certificate

    @classmethod
    def open(cls, path: str | Path) -> Bundle:
        path = Path(path)
        if not path.is_dir():
            raise BundleError(f"The bundle {path} must be a folder", "a file" if path.exists() else "none there")
        if not (path / "certificate.json").is_file():
            raise BundleError(f"The bundle {path} must hold certificate.json", "none")
        certificate = Certificate.read(path / "certificate.json")
        if certificate.output not in FILE_NAMES:
            raise BundleError("The data of a bundle must be parquet or csv", repr(certificate.output))
        return cls(path, certificate)

    @property
    def data_path(self) -> Path:
        return self.path / FILE_NAMES[self.certificate.output]

    def table(self, names: list[str] | None = None) -> Table:
        return read_published(self.data_path, self.certificate.output, names)

    def arrow(self, text: Sequence[str] = ()) -> pa.Table:
        """The whole file, cells included; in a CSV the columns `text` are read as they are written."""
        try:
            if self.certificate.output == "parquet":
                return pq.read_table(self.data_path)
            types = dict.fromkeys(text, pa.string())
            return pacsv.read_csv(self.data_path, convert_options=pacsv.ConvertOptions(column_types=types))
        except (OSError, pa.ArrowException):
            raise BundleError(f"{self.data_path} must be a readable {self.certificate.output} file") from None

    def arrow_pieces(self) -> Iterator[pa.RecordBatch]:
        """The same batch by batch; in a CSV every column but the numbers of classes is read as it is written."""
        try:
            if self.certificate.output == "parquet":
                with pq.ParquetFile(self.data_path, pre_buffer=False) as file:
                    yield from filter(len, file.iter_batches(_ROWS))
                return
            types = dict.fromkeys((a.name for a in self.certificate.attributes), pa.string())
            with pacsv.open_csv(
                self.data_path,
                read_options=pacsv.ReadOptions(block_size=_BYTES),
                parse_options=pacsv.ParseOptions(newlines_in_values=True),
                convert_options=pacsv.ConvertOptions(column_types=types),
            ) as reader:
                yield from filter(len, reader)
        except (OSError, pa.ArrowException):
            raise BundleError(f"{self.data_path} must be a readable {self.certificate.output} file") from None

    def codes(self, names: list[str]) -> dict[str, Any]:
        """The published codes of randomised attributes."""
        table = self.table(names)
        return {n: encode(table.column(n), self.certificate.attribute(n).coded.as_published(), n) for n in names}

    def pieces(self, names: list[str] | None = None) -> Iterator[dict[str, Column]]:
        """Columns as the content digest sees them, batch by batch: codes where there is a domain, else values.

        A value outside its domain shows after the last piece.
        """
        named = [a for a in self.certificate.attributes if names is None or a.name in names]
        attributes = sorted(named, key=lambda a: a.raw)
        encoders = {a.name: Encoder(a.coded.as_published(), a.name) for a in attributes if not a.raw}
        source = Source(path=self.data_path, format=self.certificate.output)
        for batch in source.batches([a.name for a in attributes], _ROWS):
            yield {
                a.name: raw_column(pa.chunked_array([batch.column(a.name)]), None)
                if a.raw
                else encoders[a.name].encode(batch.column(a.name))
                for a in attributes
            }
        for encoder in encoders.values():
            encoder.finish()
