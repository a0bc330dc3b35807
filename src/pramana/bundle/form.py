"""The form of certificate.json as types: what is not so is refused before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pramana.bundle.parts import Digest, Part, Whole
from pramana.schema.sections import MOST_PART_ROWS
from pramana.schema.unit import Unit

FORMAT = "pramana-certificate"
VERSION = 2
Label = Annotated[str, Meta(max_length=1 << 16)]
AboutKey = Literal[
    "title", "holder", "contact", "recipient", "purpose", "date",
    "release_model", "storage_period", "region", "license", "holder_kind",
]  # fmt: skip
Json = Any  # a method's own statement, which the method checks against its own type


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a certificate: all of it is stated, and nothing else."""


class FileForm(Form, frozen=True, kw_only=True):
    """A file of the bundle."""

    sha256: Digest
    bytes: Whole


class PartsForm(Form, frozen=True, kw_only=True):
    """The parts in their order, the rows of each but the last, and the root of the Merkle tree over them."""

    rows: Annotated[int, Meta(ge=1, le=MOST_PART_ROWS)]
    root: Digest
    files: Annotated[list[Part], Meta(min_length=1, max_length=100_000)]


class KeyForm(Form, frozen=True, kw_only=True):
    """A commitment to the release's key, and whether the key was made from a seed that anyone can guess."""

    commitment: Digest
    seeded: bool


class ColumnForm(Form, frozen=True, kw_only=True, omit_defaults=True):
    """How the values of one column were written, where that was stated."""

    missing: list[Label] | msgspec.UnsetType = msgspec.UNSET
    dates: Label | msgspec.UnsetType = msgspec.UNSET
    codes: bool | msgspec.UnsetType = msgspec.UNSET
    as_written: bool | msgspec.UnsetType = msgspec.UNSET


class VariableForm(Form, frozen=True, kw_only=True):
    """What a file of a statistics program says of a variable: its label, and codes by the labels published."""

    label: Label
    codes: dict[Label, int | float | Label]
    ordered: bool


class SourceForm(Form, frozen=True, kw_only=True, omit_defaults=True):
    """How the source was read, and a keyed digest of it; of records that came from devices, the page's digest."""

    format: Literal[
        "csv", "parquet", "frame", "database", "arrow", "sav", "dta", "sas7bdat", "xpt", "xlsx", "devices"
    ]
    commitment: Digest | msgspec.UnsetType = msgspec.UNSET
    page: Digest | msgspec.UnsetType = msgspec.UNSET
    missing: list[Label] | msgspec.UnsetType = msgspec.UNSET
    delimiter: Label | msgspec.UnsetType | None = msgspec.UNSET
    encoding: Label | msgspec.UnsetType = msgspec.UNSET
    decimal: Literal[","] | msgspec.UnsetType = msgspec.UNSET
    thousands: Annotated[str, Meta(max_length=1)] | msgspec.UnsetType = msgspec.UNSET
    trim: Literal[False] | msgspec.UnsetType = msgspec.UNSET
    sheet: Label | msgspec.UnsetType = msgspec.UNSET
    columns: dict[Label, ColumnForm] | msgspec.UnsetType = msgspec.UNSET


class GuaranteeForm(Form, frozen=True, kw_only=True, omit_defaults=True):
    """One promise: what it is called, its number, what it holds for, what it rests on and needs, in words too."""

    notion: Label
    value: Json
    scope: Label
    statement: str
    words: str
    assumptions: list[str]
    unit: Literal["record", "person", "household"]
    uncovered: list[Label]
    left_out: float | None = None
    most: dict[Literal["rows", "persons"], Annotated[int, Meta(ge=1)]] | None = None


class SignatureForm(Form, frozen=True, kw_only=True):
    """By whom the certificate is signed."""

    algorithm: Literal["Ed25519"]
    public_key: Digest
    signature: Annotated[str, Meta(pattern="^[0-9a-f]{128}$", extra={"must": "128 hexadecimal digits"})]


class CertificateForm(Form, frozen=True, kw_only=True):
    """certificate.json"""

    format: Literal["pramana-certificate"]
    version: Literal[2]
    pramana: Label
    method: Label
    dataset: Label
    records: Annotated[int, Meta(ge=1, le=(1 << 53) - 1)]
    attributes: Annotated[list[dict[str, Json]], Meta(min_length=1)]
    dropped: list[Label]
    mechanism: dict[str, Json]
    source: SourceForm
    output: Literal["parquet", "csv"]
    about: dict[AboutKey, Annotated[str, Meta(min_length=1, max_length=500)]]
    escaped: bool
    shuffled: bool
    guarantees: list[GuaranteeForm]
    warnings: list[str]
    key: KeyForm | None
    files: dict[Label, FileForm]
    content: Digest
    codebook: dict[Label, VariableForm] | msgspec.UnsetType = msgspec.UNSET
    parts: PartsForm | msgspec.UnsetType = msgspec.UNSET
    digest: Digest | None = None
    signature: SignatureForm | None = None
    unit: Unit | None = None


# One thing that was checked of a bundle.


MOST_NAMED = 20  # files that fail and are named: whoever made a bundle chose how many there are


@dataclass(frozen=True)
class Check:
    """`derived` is false where a statement was only read: nothing at hand could show that it is wrong."""

    name: str
    ok: bool
    detail: str
    derived: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "derived": self.derived}


def first_names(names: Sequence[str]) -> str:
    """The first of them, and whether there are others."""
    return ", ".join([*names[:MOST_NAMED], *(["and others"] if len(names) > MOST_NAMED else [])])
