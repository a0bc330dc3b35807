"""The certificate: what a recipient needs to analyse the data and an auditor to re-derive the guarantees.

It is JSON. A signature covers its canonical form (RFC 8785), and so does a digest of itself, so that damage shows
where there is no signature. It holds no path, no time, no digest of the source (that would let anyone test a guess
of the whole table), and of the key only a commitment.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np
import rfc8785

from pramana.bundle.form import FORMAT, VERSION, CertificateForm
from pramana.bundle.parts import PartSet
from pramana.errors import BundleError, SchemaError
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.results import Scalar, TabularResult
from pramana.schema.domain import Attribute
from pramana.schema.typed import read_section
from pramana.schema.unit import Unit

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


MOST_BYTES = 1 << 28  # of a certificate
# Every value of JSON takes up to some 350 bytes of memory, however short it is written. A set of 100,000 parts has
# half a million, and a column with the most bins that there may be two million.
MOST_VALUES = 1 << 22
_SIGNS = (b",", b"[", b"{")
_BLOCK = 1 << 20  # bytes that are looked at at a time
_FILE_NAME = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9._-]{1,100}")  # readers make paths of them
JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class Certificate:
    """Everything a release says of itself."""

    pramana: str
    method: str
    records: int
    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    mechanism: JsonObject
    source: JsonObject
    output: str
    shuffled: bool
    guarantees: tuple[JsonObject, ...]
    warnings: tuple[str, ...]
    key: JsonObject | None  # None where records were randomised on people's own devices
    files: Mapping[str, JsonObject]
    content: str
    dataset: str = ""
    about: Mapping[str, str] = field(default_factory=dict)  # what the holder says of the release
    escaped: bool = False  # texts of a CSV that a spreadsheet would run have an apostrophe before them
    signature: Mapping[str, str] | None = field(default=None)
    unit: Unit | None = None  # whose privacy is meant, where the recipe said so; else every row is a person
    codebook: Mapping[str, JsonObject] = field(default_factory=dict)  # labels that the source had for its codes
    parts: PartSet | None = None  # of the data, where it is a set of files

    def __post_init__(self) -> None:
        names = [a.name for a in self.attributes]
        if not names or len(set(names)) != len(names):
            raise BundleError("A certificate must name its columns, each once", f"{len(names)} names")
        if self.escaped and self.output != "csv":
            raise BundleError("Texts can be escaped for spreadsheets in a CSV only", self.output)
        from_devices = {"on devices": self.on_devices, "no key": self.key is None}
        from_devices |= {"page": "page" in self.source, "no digest": "commitment" not in self.source}
        if len(set(from_devices.values())) > 1:
            got = ", ".join(name for name, holds in from_devices.items() if holds)
            raise BundleError("Records from devices, and no others, must come with a page and without a key", got)
        if self.parts is not None and (
            self.parts.records != self.records or self.parts.form != self.output or self.content != self.parts.root
        ):
            raise BundleError(
                "The parts of a certificate must be of its records, form and content",
                f"{self.parts.records} rows in {self.parts.form}",
            )
        others = {"certificate.json"} if self.parts is None else {"certificate.json", "data"}
        if odd := [name for name in self.files if name in others or not _FILE_NAME.fullmatch(name)]:
            raise BundleError(
                "The files of a certificate must have plain names of their own", f"{len(odd)} that do not"
            )
        if self.records < 1:
            raise BundleError("A certificate must be of at least one record", str(self.records))

    @property
    def on_devices(self) -> bool:
        """Whether people randomised their own records, so that nobody can make them again."""
        return self.source.get("format") == "devices"

    @property
    def promises(self) -> PromiseTable:
        """What is promised, as a table: each guarantee in numbers and in words."""

        return PromiseTable(self.guarantees)

    def attribute(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        stated = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        for name in ("unit", "codebook", "parts", "signature"):
            if not stated[name]:
                del stated[name]
        return {"format": FORMAT, "version": VERSION, **stated}

    @classmethod
    def from_json(cls, statement: object) -> Certificate:
        if isinstance(statement, Mapping) and statement.get("format") == FORMAT:
            version = statement.get("version")
            if version != VERSION:
                made_by = str(statement.get("pramana"))[:20]
                hint = f"It was made by Pramana {made_by}; use that version, or have the release made again."
                raise BundleError(f"The certificate must be of format version {VERSION}", str(version)[:20], hint)
        try:
            form = read_section(CertificateForm, statement, "certificate.json", BundleError)
            attributes = tuple(Attribute.from_json(a) for a in form.attributes)
        except SchemaError as error:
            raise BundleError(
                "The columns and the unit of a certificate must be stated in full", str(error)
            ) from None
        stated = msgspec.to_builtins(form)
        del stated["format"], stated["version"], stated["digest"]
        stated |= {name: tuple(stated[name]) for name in ("dropped", "guarantees", "warnings")}
        if "parts" in stated:
            stated["parts"] = PartSet.from_json(stated["parts"])
        return cls(**{**stated, "attributes": attributes, "unit": form.unit})

    @classmethod
    def read(cls, path: Path) -> Certificate:
        try:
            with path.open("rb") as file:
                # no more than it has: memory is taken for as many as are asked for
                written = file.read(min(path.stat().st_size, MOST_BYTES) + 1)
            check_json_size(written, path)
            content = json.loads(
                written.decode(),  # no other encoding: of UTF-16 the size was not seen right
                object_pairs_hook=_without_repetition,
                parse_constant=_no_number,
                parse_float=_finite_number,
            )
            return cls.from_json(content)
        except (ValueError, RecursionError):
            raise BundleError(f"{path} must be JSON", "text that is none") from None
        except OSError as error:
            raise BundleError(f"{path} must be readable", error.strerror) from None

    def _signed_bytes(self) -> bytes:
        """What a signature covers: everything but the signature itself, the signer's public key included."""
        assert self.signature is not None
        signer = {name: value for name, value in self.signature.items() if name != "signature"}
        return canonical({**self.to_json(), "signature": signer})

    def text(self) -> str:
        """The file: what the certificate states, and a digest of it."""
        statement = self.to_json()
        statement["digest"] = hashlib.sha256(canonical(statement)).hexdigest()
        text = json.dumps(statement, indent=2, sort_keys=True, allow_nan=False) + "\n"
        check_json_size(text.encode(), "The certificate")  # nobody could read a larger one
        return text

    def signed(self, key: Ed25519PrivateKey) -> Certificate:
        signer = {"algorithm": "Ed25519", "public_key": key.public_key().public_bytes_raw().hex()}
        named = replace(self, signature=signer)
        return replace(self, signature={**signer, "signature": key.sign(named._signed_bytes()).hex()})

    def signature_holds(self, public_key: bytes | None = None) -> bool:
        """Whether the signature is good; with `public_key`, also whether it is that holder's."""
        if self.signature is None or self.signature.get("algorithm") != "Ed25519":
            return False
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        from pramana.bundle.signing import is_usable_key

        try:
            stated = bytes.fromhex(self.signature["public_key"])
            if not is_usable_key(stated) or (public_key is not None and stated != public_key):
                return False
            signature = bytes.fromhex(self.signature["signature"])
            Ed25519PublicKey.from_public_bytes(stated).verify(signature, self._signed_bytes())
        except (InvalidSignature, KeyError, TypeError, ValueError):
            return False
        return True


def check_json_size(written: bytes, what: object) -> None:
    """Refuse JSON in UTF-8, before it is decoded, that would take far more memory than its bytes.

    Every value but the first follows one of three signs. Those within texts do not count, as in "[10, 20)".
    """
    if len(written) > MOST_BYTES:
        raise BundleError(f"{what} must have at most {MOST_BYTES:,} bytes", f"at least {len(written):,}")
    if sum(map(written.count, _SIGNS)) >= MOST_VALUES and _signs_outside_texts(written) >= MOST_VALUES:
        raise BundleError(
            f"{what} must have at most {MOST_VALUES:,} values", f"at least {_signs_outside_texts(written):,}"
        )


def _signs_outside_texts(written: bytes) -> int:
    """Some bytes at a time; of JSON whose last text does not end, those within texts, too."""
    plain = written.replace(rb"\\", b"").replace(rb"\"", b"")  # what is left are quotes around texts
    outside, within = 0, np.uint8(0)
    for start in range(0, len(plain), _BLOCK):
        block = np.frombuffer(plain, np.uint8, min(_BLOCK, len(plain) - start), start)
        texts = (np.cumsum(block == ord('"'), dtype=np.uint8) + within) & 1  # how many quotes came, odd or even
        outside += int((np.isin(block, np.frombuffer(b"".join(_SIGNS), np.uint8)) & (texts == 0)).sum())
        within = texts[-1]
    return sum(map(written.count, _SIGNS)) if within else outside


def canonical(statement: JsonObject) -> bytes:
    """The one form of a JSON object (RFC 8785): sorted keys, no blanks, numbers as ECMAScript writes them."""
    return rfc8785.dumps(dict(statement))


def _plain(value: Any) -> Any:
    """A field of a certificate as JSON has it."""
    if isinstance(value, Attribute | Unit | PartSet):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return dict(value) if isinstance(value, Mapping) else value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that occurs twice would be read one way by us and another way by others."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key that occurs twice")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is none of JSON's numbers")


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


# The guarantees of a certificate as a table to look at and to take elsewhere.


@dataclass(frozen=True, repr=False)
class PromiseTable(TabularResult):
    """One row for each guarantee: its notion, number, unit, scope, statement and words."""

    guarantees: Sequence[Mapping[str, Any]]

    def to_rows(self) -> list[dict[str, Scalar]]:
        keys = ("notion", "unit", "scope", "statement", "words")
        return [
            {"notion": str(g["notion"]), "value": _number(g["value"]), **{k: str(g[k]) for k in keys[1:]}}
            for g in self.guarantees
        ]

    def picture(self) -> Picture:
        """The numbers side by side; each notion has a scale of its own, so each has a panel."""
        rows = [row for row in self.to_rows() if isinstance(row["value"], float)]
        panels = [
            Panel([Series(str(row["notion"]), [str(row["notion"])], [float(row["value"] or 0)], kind="bars")])
            for row in rows[:8]
        ]
        return Picture(panels or [Panel([])], columns=4, height=2.2)


def _number(value: object) -> float | None:
    """The guarantee's number, where it is one and not a table of several."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
