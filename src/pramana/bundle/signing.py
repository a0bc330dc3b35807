"""Key pairs of holders: who signed a certificate can be checked by anyone who knows the public half."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pramana.bundle.small_order import is_usable_key
from pramana.errors import KeyFileError
from pramana.randomness import check_private, write_new
from pramana.stores import local_path, regular_bytes


def make_signing_key(path: str | Path) -> str:
    """Create a key pair: the private half at `path`, for its owner alone, the public half at `path`.pub.

    >>> import pramana
    >>> len(pramana.make_signing_key("office"))  # the public half, in hexadecimal digits
    64
    """
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    path = local_path(path, "The signing key", KeyFileError)
    write_new(path, pem, 0o600)
    try:
        write_new(Path(f"{path}.pub"), public, 0o644)
    except KeyFileError:
        path.unlink(missing_ok=True)  # half a pair is of no use
        raise
    return key.public_key().public_bytes_raw().hex()


def read_signing_key(path: str | Path) -> Ed25519PrivateKey:
    """An unencrypted PEM private key, as `pramana key sign FILE` or openssl write it."""
    path = local_path(path, "The signing key", KeyFileError)
    try:
        check_private(path)
        key = serialization.load_pem_private_key(regular_bytes(path), None)
    except OSError as error:
        raise KeyFileError(f"The signing key {path} must be readable", error.strerror) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"The signing key {path} must be an unencrypted Ed25519 key in PEM form") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"The signing key {path} must be an Ed25519 key", type(key).__name__.strip("_"))
    return key


def read_public_key(path: str | Path) -> bytes:
    """The holder's public key, PEM or 64 hexadecimal digits, to compare a signature with."""
    path = local_path(path, "The public key", KeyFileError)
    try:
        content = regular_bytes(path)
    except OSError as error:
        raise KeyFileError(f"The public key {path} must be readable", error.strerror) from None
    except ValueError:
        raise KeyFileError("A public key must be a file", "a name that is none") from None
    raw = b""
    try:
        if b"BEGIN" in content:
            key = serialization.load_pem_public_key(content)
            raw = key.public_bytes_raw() if isinstance(key, Ed25519PublicKey) else b""
        else:
            raw = bytes.fromhex(content.decode("ascii").strip())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    if is_usable_key(raw):
        return raw
    if len(raw) == 32:
        raise KeyFileError(
            f"The public key {path} must be one that a private key belongs to", "one of small order"
        )
    raise KeyFileError(f"The public key {path} must be an Ed25519 key, in PEM form or 64 hexadecimal digits")
