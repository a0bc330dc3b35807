"""What every description is made from: the certificate, what is said of the release, the columns of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import msgspec
import pyarrow as pa

from pramana.bundle import Bundle, Certificate, WrittenFile
from pramana.errors import BundleError, RecipeError, printable
from pramana.pipeline.files.codebook import read_codebook
from pramana.schema import AboutSection, check_keys, keys_of, read_section
from pramana.sources import Variable

NOT_STATED = "not stated"


@dataclass(frozen=True)
class DescribedRelease:
    """A release with its columns as the data file has them; `about` is [about], and what was said besides."""

    certificate: Certificate
    about: Mapping[str, str]
    name: str  # of the data file, or of the folder of a set
    columns: Mapping[str, pa.DataType]

    @classmethod
    def of(cls, bundle: Bundle, said: Mapping[str, str]) -> DescribedRelease:
        certificate = bundle.certificate
        schema = next(iter(bundle.batches())).schema
        names = {a.name for a in certificate.attributes}
        if set(schema.names) != names or any(pa.types.is_nested(field.type) for field in schema):
            raise BundleError(
                "A release that is described must have one value in each cell",
                f"cells of method {certificate.method!r}",
                "Its certificate describes it.",
            )
        columns = {field.name: field.type for field in schema}
        return cls(certificate, _about(certificate, said), bundle.data_path.name, columns)

    @property
    def files(self) -> dict[str, WrittenFile]:
        """The files of the data by their places in the bundle, in the order of their rows."""
        parts = self.certificate.parts
        if parts is None:
            entry = self.certificate.files[self.name]
            return {self.name: WrittenFile(int(entry["bytes"]), str(entry["sha256"]))}
        return {f"{self.name}/{part.name}": WrittenFile(part.size, part.sha256) for part in parts.files}

    @property
    def digest(self) -> tuple[str, str]:
        """What stands for the data, in words, and the digest itself."""
        parts = self.certificate.parts
        if parts is None:
            return f"SHA-256 of {self.name}", self.files[self.name].sha256
        return f"Root of the Merkle tree (RFC 6962, SHA-256) over the files in {self.name}", parts.root

    @property
    def title(self) -> str:
        """As it is said, or the dataset's name, or what is known of it."""
        certificate = self.certificate
        named = self.about.get("title") or certificate.dataset
        return printable(named or f"Release of {certificate.records} records")

    def said(self, key: str) -> str:
        return printable(self.about.get(key, NOT_STATED))

    @property
    def day(self) -> str | None:
        """The date, where it is written as a day."""
        stated = self.about.get("date", "")
        try:
            return date.fromisoformat(stated).isoformat() if len(stated) == 10 else None
        except ValueError:
            return None

    @property
    def promises(self) -> list[str]:
        """In the words of the certificate."""
        return [printable(str(g["words"])) for g in self.certificate.guarantees]

    @property
    def summary(self) -> str:
        """What is published, and what is promised of it."""
        certificate = self.certificate
        first = (
            f"{certificate.records} records of {len(certificate.attributes)} columns, released by method "
            f"{certificate.method} with Pramana {certificate.pramana}."
        )
        limits = [f"Limit: {printable(warning)}" for warning in certificate.warnings]
        return " ".join([first, *(f"Promised: {words}" for words in self.promises), *limits])

    @property
    def variables(self) -> dict[str, Variable]:
        return read_codebook(self.certificate.codebook)


def _about(certificate: Certificate, said: Mapping[str, str]) -> dict[str, str]:
    """What the certificate has, and what it has not; nothing else than it has."""
    check_keys(said, keys_of(AboutSection), "a key of [about]")
    read = msgspec.to_builtins(read_section(AboutSection, dict(said), "[about]", prefix="about."))
    for key, words in read.items():
        if certificate.about.get(key, words) != words:
            raise RecipeError(f"about.{key} must be as the certificate has it", "other words")
    return {**certificate.about, **read}
