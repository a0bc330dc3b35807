"""Sets of files: the Merkle root by brute force, statements that are none, and a folder that takes parts whole."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from msgspec import structs

from pramana.bundle.parts import Part, PartSet, merkle_root, part_name, parts_in
from pramana.errors import BundleError, RecipeError
from pramana.files.parts import PartFolder

# The reference leaves and roots of Certificate Transparency (RFC 6962), as its implementations test them.
LEAVES = [
    bytes.fromhex(leaf)
    for leaf in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def by_definition(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word: recursive, split at the largest power of two below the length."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = max(2**i for i in range(len(leaves).bit_length()) if 2**i < len(leaves))
    left, right = by_definition(leaves[:split]), by_definition(leaves[split:])
    return hashlib.sha256(b"\x01" + left + right).digest()


def test_the_root_is_that_of_rfc_6962() -> None:
    assert {count: merkle_root(LEAVES[:count]).hex() for count in ROOTS} == ROOTS
    for count in range(70):
        leaves = [f"{count} {i}".encode() for i in range(count)]
        assert merkle_root(iter(leaves)) == by_definition(leaves)


def test_other_lists_have_other_roots() -> None:
    """No node can pass for a leaf: the two inner nodes of a list are not a list of its root."""
    leaves = [bytes([i]) for i in range(4)]
    root = merkle_root(leaves)
    inner = [by_definition(leaves[:2]), by_definition(leaves[2:])]
    assert merkle_root(inner) != root
    assert merkle_root([b"\x01" + inner[0] + inner[1]]) != root
    assert merkle_root([*leaves, b""]) != root != merkle_root(leaves[::-1])


# ---------------------------------------------------------------- statements


def a_set(count: int = 3, rows: int = 10, last: int = 4, form: str = "parquet") -> PartSet:
    return PartSet(
        rows,
        tuple(
            Part(part_name(i, form), rows if i < count - 1 else last, 100 + i, f"{i:064x}") for i in range(count)
        ),
    )


def test_a_set_is_read_back_as_it_was_stated() -> None:
    parts = a_set()
    assert PartSet.from_json(parts.to_json()) == parts
    assert (parts.records, parts.form, parts.number("part-00001.parquet")) == (24, "parquet", 1)
    assert parts.root == by_definition([part.leaf for part in parts.files]).hex()
    assert parts.files[0].leaf == (
        b'{"bytes":100,"name":"part-00000.parquet","rows":10,"sha256":"' + b"0" * 64 + b'"}'
    )


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../part-00001.parquet"},
        {"name": "part-00002.parquet"},
        {"name": "part-00001.csv"},
        {"name": "part-1.parquet"},
        {"name": "part-00001.parquet\n"},
        {"rows": 9},
        {"rows": 0},
        {"size": -1},
        {"sha256": "00"},
        {"sha256": "Z" * 64},
    ],
)
def test_a_part_that_is_none_is_refused(change: dict[str, Any]) -> None:
    whole = a_set()
    with pytest.raises(BundleError):
        replace(whole, files=(whole.files[0], structs.replace(whole.files[1], **change), whole.files[2]))


def test_sets_that_are_none_are_refused() -> None:
    whole = a_set()
    with pytest.raises(BundleError):
        replace(whole, files=whole.files[::-1])
    with pytest.raises(BundleError):
        replace(whole, files=whole.files[1:])
    with pytest.raises(BundleError):
        replace(whole, files=())
    with pytest.raises(BundleError):
        a_set(last=11)
    with pytest.raises(BundleError, match="root"):
        PartSet.from_json({**whole.to_json(), "root": "0" * 64})
    for name in ("part-00003.parquet", "part-00000.csv", "../part-00000.parquet", "certificate.json", ""):
        with pytest.raises(BundleError, match="must be one of part-00000"):
            whole.number(name)


def test_more_parts_than_names_are_refused() -> None:
    assert parts_in(100_000_000, 1_000) == 100_000
    with pytest.raises(RecipeError, match="at most 100,000 parts"):
        parts_in(100_000_001, 1_000)


# ---------------------------------------------------------------- writing


def filled(content: bytes, sink: BinaryIO) -> str:
    sink.write(content)
    return "done"


def test_a_folder_takes_parts_whole_and_twice(tmp_path: Path) -> None:
    folder = PartFolder(tmp_path)
    folder.create()
    name, content = part_name(0, "csv"), b"a,b\n1,2\n"
    for _ in range(2):  # a task that is run twice writes the same bytes
        file, told = folder.write(name, partial(filled, content))
        assert (file.size, file.sha256, told) == (8, hashlib.sha256(content).hexdigest(), "done")

    def torn(sink: BinaryIO) -> None:
        sink.write(b"half")
        assert {p.name for p in folder.path.iterdir()} == {name}, "what is not whole is not among the parts"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write(part_name(1, "csv"), torn)
    folder.finish([Part(name, 1, file.size, file.sha256)], [file.name])
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["data", "data/part-00000.csv"]


def test_a_task_that_outlives_its_job_leaves_nothing(tmp_path: Path) -> None:
    """The bundle appears while it writes: it cannot put its part in the place, and no hidden file stays."""
    hidden, out = tmp_path / ".out.partial", tmp_path / "out"
    hidden.mkdir()
    folder = PartFolder(hidden)
    folder.create()
    file, _ = folder.write(part_name(0, "csv"), partial(filled, b"whole"))

    def late(sink: BinaryIO) -> None:
        folder.finish([Part(part_name(0, "csv"), 1, file.size, file.sha256)], [file.name])
        hidden.rename(out)
        sink.write(b"other")

    with pytest.raises(BundleError):
        folder.write(part_name(0, "csv"), late)
    with pytest.raises(BundleError, match="every executor"):  # nor one that begins afterwards
        folder.write(part_name(0, "csv"), partial(filled, b"other"))
    assert [str(p.relative_to(out)) for p in sorted(out.rglob("*"))] == ["data", "data/part-00000.csv"]
    assert (out / "data" / "part-00000.csv").read_bytes() == b"whole" and not hidden.exists()


def test_parts_that_are_missing_or_others_are_noticed(tmp_path: Path) -> None:
    folder = PartFolder(tmp_path)
    folder.create()
    file, _ = folder.write(part_name(0, "csv"), partial(filled, b"x"))
    part = Part(part_name(0, "csv"), 1, file.size, file.sha256)
    with pytest.raises(BundleError, match="that were written"):
        folder.finish([part, structs.replace(part, name=part_name(1, "csv"))], PartSet.names(2, "csv"))
