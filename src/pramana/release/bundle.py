"""A bundle as its recipient has it: certificate, data, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import BundleError
from pramana.release.certificate import Certificate
from pramana.schema import Attribute
from pramana.sources import FILE_NAMES, Table, encode, raw_column, read_published

CELL_METHODS = ("generalize", "presence")


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

    def codes(self, names: list[str]) -> dict[str, Any]:
        """The published codes of randomised attributes."""
        table = self.table(names)
        return {n: encode(table.column(n), self.certificate.attribute(n).coded.as_published(), n) for n in names}

    def columns(self) -> dict[str, Any] | None:
        """Every column as the content digest sees it: codes where there is a domain, plain values elsewhere."""
        attributes = self.certificate.attributes
        if self.certificate.method in CELL_METHODS:
            return None  # cells are no codes: the method examines its own columns
        table = self.table([a.name for a in attributes])
        return {a.name: _column(table, a) for a in sorted(attributes, key=lambda a: a.raw)}


def _column(table: Table, attribute: Attribute) -> Any:
    column = table.column(attribute.name)
    if attribute.raw:
        return raw_column(column, None)
    return encode(column, attribute.coded.as_published(), attribute.name)
