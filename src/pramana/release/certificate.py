"""The certificate: what a recipient needs to analyse the data and an auditor to re-derive the guarantees.

It is JSON with one canonical form (sorted keys, no spaces, ASCII), which is what a signature covers, and with
a digest of itself, so that damage shows where there is no signature. It holds
no path, no time, no digest of the source (that would let anyone test a guess of the whole table), and of the
key only a commitment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pramana.errors import BundleError, KeyFileError, SchemaError
from pramana.randomness import write_new
from pramana.schema import Attribute

FORMAT = "pramana-certificate"
VERSION = 1
_KEYS = {
    "format", "version", "pramana", "method", "dataset", "records", "attributes", "dropped", "mechanism", "source",
    "output", "shuffled", "guarantees", "warnings", "key", "files", "content", "signature", "digest",
}  # fmt: skip


@dataclass(frozen=True)
class Certificate:
    """Everything a release says of itself."""

    pramana: str
    method: str
    records: int
    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    mechanism: Mapping[str, Any]
    source: Mapping[str, Any]
    output: str
    shuffled: bool
    guarantees: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    key: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]]
    content: str
    dataset: str = ""
    signature: Mapping[str, str] | None = field(default=None)

    def __post_init__(self) -> None:
        names = [a.name for a in self.attributes]
        if not names or len(set(names)) != len(names):
            raise BundleError("A certificate must name its columns, each once", f"{len(names)} names")
        if self.records < 1:
            raise BundleError("A certificate must be of at least one record", str(self.records))

    def attribute(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "pramana": self.pramana,
            "method": self.method,
            "dataset": self.dataset,
            "records": self.records,
            "attributes": [a.to_json() for a in self.attributes],
            "dropped": list(self.dropped),
            "mechanism": dict(self.mechanism),
            "source": dict(self.source),
            "output": self.output,
            "shuffled": self.shuffled,
            "guarantees": [dict(g) for g in self.guarantees],
            "warnings": list(self.warnings),
            "key": dict(self.key),
            "files": {name: dict(entry) for name, entry in self.files.items()},
            "content": self.content,
        }
        if self.signature is not None:
            found["signature"] = dict(self.signature)
        return found

    @classmethod
    def from_json(cls, statement: Any) -> Certificate:
        try:
            if statement["format"] != FORMAT:
                raise ValueError
            if statement["version"] != VERSION:
                raise BundleError(f"The certificate must be of version {VERSION}", str(statement["version"]))
            if set(statement) - _KEYS:
                raise ValueError
            return cls(
                pramana=str(statement["pramana"]),
                method=str(statement["method"]),
                records=int(statement["records"]),
                attributes=tuple(Attribute.from_json(a) for a in statement["attributes"]),
                dropped=tuple(str(n) for n in statement["dropped"]),
                mechanism=dict(statement["mechanism"]),
                source=dict(statement["source"]),
                output=str(statement["output"]),
                shuffled=bool(statement["shuffled"]),
                guarantees=tuple(dict(g) for g in statement["guarantees"]),
                warnings=tuple(str(w) for w in statement["warnings"]),
                key=dict(statement["key"]),
                files={str(n): dict(e) for n, e in statement["files"].items()},
                content=str(statement["content"]),
                dataset=str(statement["dataset"]),
                signature=None if statement.get("signature") is None else dict(statement["signature"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, SchemaError):
            raise BundleError("certificate.json must be a Pramana certificate", "something else") from None

    @classmethod
    def read(cls, path: Path) -> Certificate:
        try:
            return cls.from_json(json.loads(path.read_text("utf-8")))
        except (ValueError, RecursionError):
            raise BundleError(f"{path} must be JSON", "something else") from None
        except OSError as error:
            raise BundleError(f"{path} must be readable", error.strerror) from None

    def canonical(self) -> bytes:
        """The bytes a signature covers: everything but the signature itself."""
        return json.dumps(
            replace(self, signature=None).to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False
        ).encode()

    def text(self) -> str:
        """The file: what the certificate states, and a digest of it."""
        statement = self.to_json()
        plain = json.dumps(statement, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        statement["digest"] = hashlib.sha256(plain).hexdigest()
        return json.dumps(statement, indent=2, sort_keys=True, allow_nan=False) + "\n"

    def signed(self, key: Ed25519PrivateKey) -> Certificate:
        public = key.public_key().public_bytes_raw().hex()
        signature = {"algorithm": "Ed25519", "public_key": public, "signature": key.sign(self.canonical()).hex()}
        return replace(self, signature=signature)

    def signature_holds(self, public_key: bytes | None = None) -> bool:
        """Whether the signature is good; with `public_key`, also whether it is that holder's."""
        if self.signature is None:
            return False
        try:
            stated = bytes.fromhex(self.signature["public_key"])
            if public_key is not None and stated != public_key:
                return False
            Ed25519PublicKey.from_public_bytes(stated).verify(
                bytes.fromhex(self.signature["signature"]), self.canonical()
            )
        except (InvalidSignature, KeyError, TypeError, ValueError):
            return False
        return self.signature.get("algorithm") == "Ed25519"


def make_signing_key(path: str | Path) -> str:
    """Create a key pair: the private half at `path`, for its owner alone, the public half at `path`.pub."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_new(Path(path), pem, 0o600)
    try:
        write_new(Path(f"{path}.pub"), public, 0o644)
    except KeyFileError:
        Path(path).unlink(missing_ok=True)  # half a pair is of no use
        raise
    return key.public_key().public_bytes_raw().hex()


def read_signing_key(path: str | Path) -> Ed25519PrivateKey:
    """An unencrypted PEM private key, as `pramana key sign FILE` or openssl write it."""
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as error:
        raise KeyFileError(f"The signing key {path} must be readable", error.strerror) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"The signing key {path} must be an unencrypted Ed25519 key in PEM form") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"The signing key {path} must be an Ed25519 key", type(key).__name__.strip("_"))
    return key


def read_public_key(path: str | Path) -> bytes:
    """The holder's public key, PEM or 64 hexadecimal digits, to compare a signature with."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise KeyFileError(f"The public key {path} must be readable", error.strerror) from None
    except ValueError:
        raise KeyFileError("A public key must be a file", "a name that is none") from None
    try:
        if b"BEGIN" in content:
            key = serialization.load_pem_public_key(content)
            if isinstance(key, Ed25519PublicKey):
                return key.public_bytes_raw()
        elif len(raw := bytes.fromhex(content.decode().strip())) == 32:
            return raw
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise KeyFileError(f"The public key {path} must be an Ed25519 key, in PEM form or 64 hexadecimal digits")
