"""Key pairs of holders: who signed a certificate can be checked by anyone who knows the public half."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pramana.errors import KeyFileError
from pramana.files.atomic import regular_bytes
from pramana.files.locations import local_path
from pramana.files.secret import check_private, write_new

# Ed25519 public keys that anybody can sign for: points of small order, in every encoding a reader may take.
#
# RFC 8032, section 5.1, gives the curve and the encoding: y in 255 bits, then the sign of x; 5.1.3 decodes no
# y that is p or more. The curve's order is 8 times a prime, so eight points have an order that divides 8.
# With such a key a signature can be made that is good for a share of all messages, or for every one, without
# any secret; verification with or without the cofactor does not refuse it by itself. Their y are 0, 1, -1 and
# the two below.


_P = 2**255 - 19
_Y_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL = frozenset({0, 1, _P - 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8})


def is_usable_key(raw: bytes) -> bool:
    """Whether 32 bytes can be a holder's public key: the one encoding of its point, and none of small order."""
    if len(raw) != 32:
        return False
    y = int.from_bytes(raw, "little") & (2**255 - 1)  # both signs of x
    return y < _P and y not in _SMALL


def make_signing_key(path: str | Path) -> str:
    """Create a key pair to sign certificates with.

    Args:
        path: Where the private half goes, for its owner alone; the public half goes to `path`.pub.

    Returns:
        The public half, in hexadecimal digits.

    Raises:
        KeyFileError: A file exists already, or cannot be written.

    >>> import pramana
    >>> len(pramana.make_signing_key("office"))
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
