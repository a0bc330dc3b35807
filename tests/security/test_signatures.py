"""Signatures: nothing of a certificate can be changed under one, and no key signs for everybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.security.bundles import (
    certificate_text,
    copied,
    failed,
    made,
    recipe_of,
    statement_of,
    write_report_again,
    write_statement,
)
from tests.security.edits import dotted, edits

from pramana import make_signing_key, release
from pramana.bundle.certificate import Certificate
from pramana.bundle.signing import is_usable_key, read_public_key
from pramana.errors import InputError, KeyFileError

# ---------------------------------------------------------------- the curve, from RFC 8032, section 5.1

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493
Point = tuple[int, int]


def added(a: Point, b: Point) -> Point:
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, P - 2, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, P - 2, P)
    return x % P, y % P


def times(number: int, point: Point) -> Point:
    total = (0, 1)
    for bit in bin(number)[2:]:
        total = added(total, total)
        if bit == "1":
            total = added(total, point)
    return total


def x_of(y: int) -> int | None:
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    for candidate in (x, x * pow(2, (P - 1) // 4, P) % P):
        if (candidate * candidate - square) % P == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def small() -> set[Point]:
    """The points whose order divides 8, found by taking the large prime out of any points there are."""
    found: set[Point] = set()
    y = 2
    while len(found) < 8:
        if (x := x_of(y)) is not None:
            torsion = times(ORDER, (x, y))
            found |= {times(n, torsion) for n in range(8)}
        y += 1
    return found


def encodings(y: int) -> list[bytes]:
    """Every 32 bytes that a reader could take for a y: both signs, and y + p where it fits."""
    return [
        (value | sign << 255).to_bytes(32, "little") for value in range(y, 2**255, P) for sign in (0, 1)
    ]  # fmt: skip


def test_every_encoding_of_a_small_order_point_is_refused(small: set[Point], tmp_path: Path) -> None:
    assert all(times(8, point) == (0, 1) for point in small) and len(small) == 8
    refused = {raw for _, y in small for raw in encodings(y)}
    assert len(refused) == 14  # five y; those of 0 and 1 also as p and p + 1; each with two signs
    for raw in refused:
        assert not is_usable_key(raw)
        (tmp_path / "key").write_text(raw.hex())
        with pytest.raises(KeyFileError):
            read_public_key(tmp_path / "key")


def test_keys_in_use_are_usable_and_other_encodings_of_them_are_not() -> None:
    for number in range(50):
        raw = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32).public_key().public_bytes_raw()
        assert is_usable_key(raw)
    assert not is_usable_key((P + 3).to_bytes(32, "little")), "3 written as p + 3"
    assert not is_usable_key(b"") and not is_usable_key(bytes(31)) and not is_usable_key(b"\x09" * 33)


def test_a_signature_that_needs_no_key_is_bad(tables: Path, tmp_path: Path, small: set[Point]) -> None:
    """With the neutral point as key, R neutral and S = 0 fit every message: 0 B = R + h A."""
    bundle = copied(made("matrix", "csv", tables), tmp_path / "forged")
    for key in (1, 1 | 1 << 255, P + 1, P - 1, 0, *[y for _, y in small]):
        signer = {"algorithm": "Ed25519", "public_key": key.to_bytes(32, "little").hex()}
        for r in (1, P - 1):
            signature = r.to_bytes(32, "little").hex() + bytes(32).hex()
            write_statement(bundle, {**statement_of(bundle), "signature": {**signer, "signature": signature}})
            assert "signature" in failed(bundle)


# ---------------------------------------------------------------- what is signed


@pytest.fixture(scope="module")
def signed(tables: Path) -> Path:
    make_signing_key(tables / "holder")
    out = tables / "signed"
    release(recipe_of("levels", "csv", tables), out, sign=tables / "holder", threads=1)
    return out


def test_no_edit_stays_under_the_signature(signed: Path) -> None:
    """Every minimal edit, the digest made again: also of the algorithm, the public key and the signature."""
    statement = statement_of(signed)
    assert Certificate.from_json(statement).signature_holds()
    seen, kept = set(), []
    for place, what, edited in edits(statement):
        try:
            certificate = Certificate.from_json(json.loads(certificate_text(edited)))
        except (InputError, ValueError):
            continue  # no certificate at all
        seen.add(place[0] if place else "")
        if certificate.signature_holds():
            kept.append((dotted(place), what))
    assert not kept
    assert seen >= {"pramana", "dataset", "records", "attributes", "mechanism", "guarantees", "warnings", "files"}


def test_each_field_of_the_signature_is_needed(signed: Path, tables: Path, tmp_path: Path) -> None:
    statement = statement_of(signed)
    make_signing_key(tmp_path / "other")
    other = read_public_key(tmp_path / "other.pub").hex()
    copy = copied(signed, tmp_path / "copy")
    changes: list[dict[str, Any]] = [{"public_key": other}, {"algorithm": "ed25519"}, {"signature": "00" * 64}]
    for change in changes:
        write_statement(copy, {**statement, "signature": {**statement["signature"], **change}})
        assert failed(copy) & {"signature", "refused"}, change
    write_statement(copy, {k: v for k, v in statement.items() if k != "signature"})
    assert failed(copy) == {"report"}, "the report still says who signed"
    write_report_again(copy)
    assert failed(copy) == set(), "unsigned, which anyone can make, and is told so"
    assert "signature" in failed(copy, public_key=tables / "holder.pub")
    assert failed(signed, public_key=tables / "holder.pub") == set()
    assert "signature" in failed(signed, public_key=tmp_path / "other.pub")
