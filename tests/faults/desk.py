"""The place a command is run in, put back before every fault; and what must be true of it whatever happened."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from tests.servers import Server

from pramana.randomness.key import Key

NAMES = [f"Quill{i:04}feather" for i in range(60)]  # occur in the source, and must occur nowhere else
AGES = [f"{20 + i % 53}.{17:03}{i:04}" for i in range(60)]  # exact ages, which are published in bins alone
PEOPLE = "name,sex,age,ill\n" + "".join(
    f"{name},{'FM'[i * 7 % 3 % 2]},{age},{('no', 'yes', 'no')[i % 3]}\n"
    for i, (name, age) in enumerate(zip(NAMES, AGES, strict=True))
)
_LEDGERS = (".ledger", ".ledger-journal", ".db", ".db-journal", ".sqlite", ".sqlite-journal")


def key_of(attempt: int) -> Key:
    """The key that a run makes: known here, so that it can be looked for, and another for every attempt."""
    return Key(hashlib.sha256(f"attempt {attempt}".encode()).digest())


@dataclass
class Desk:
    """A working folder and a folder for temporary files. `template` is how both are before a run."""

    base: Path
    said: Path  # where what a run says is kept: another disk than the one that is full
    server: Server | None = None
    sources: set[str] = field(default_factory=set)  # files that hold the data in the clear, as they should
    changed: set[str] = field(default_factory=set)  # files of before that a run may change
    database: str = ""

    @property
    def folder(self) -> Path:
        return self.base / "desk"

    @property
    def temporary(self) -> Path:
        return self.base / "tmp"

    def make(self) -> None:
        for folder in (self.folder, self.temporary):
            folder.mkdir(parents=True)

    def keep(self, name: str) -> None:
        """Remember everything as it is now under a name."""
        shutil.copytree(self.folder, self.base / name, symlinks=True)
        if self.server is not None:
            self._databases(f'CREATE DATABASE "{self.database}-{name}" TEMPLATE "{self.database}"')

    def put_back(self, name: str) -> None:
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.base / name, self.folder, symlinks=True)
        self.temporary.mkdir()
        if self.server is not None:
            self._databases(
                f'DROP DATABASE IF EXISTS "{self.database}" WITH (FORCE)',
                f'CREATE DATABASE "{self.database}" TEMPLATE "{self.database}-{name}"',
            )

    def _databases(self, *statements: str) -> None:
        assert self.server is not None
        psql = [str(self.server.bin / "psql"), "-q", "-h", str(self.server.folder), "-U", "postgres"]
        self.server.run(*psql, *(part for statement in statements for part in ("-c", statement)))

    # ------------------------------------------------------------ what must be true

    def files(self) -> Iterator[Path]:
        for folder in (self.folder, self.temporary):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    yield path

    def check_nothing_before_is_lost(self, name: str) -> None:
        """Every file of before is there, with its bytes."""
        before = self.base / name
        for path in sorted(before.rglob("*")):
            place = str(path.relative_to(before))
            if path.is_file() and place not in self.changed:
                now = self.folder / place
                assert now.is_file() and now.read_bytes() == path.read_bytes(), f"{place} was changed"

    def check_nothing_in_the_clear(self, keys: int = 3) -> None:
        """Nowhere but in the sources is a value of them, and nowhere but in a key file a key."""
        sought = [name.encode() for name in NAMES] + [age.encode() for age in AGES]
        sought += [struct.pack("<d", float(age)) for age in AGES]
        secrets_ = [key_of(i).secret for i in range(keys)]
        secrets_ += [secret.hex().encode() for secret in secrets_]
        for path in self.files():
            place = str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
            if place in self.sources:
                continue
            content = path.read_bytes() + _decoded(path)
            assert not any(value in content for value in sought), f"{place} holds values of the source"
            if path.suffix == ".key" and not path.name.startswith("."):
                assert path.stat().st_mode & 0o077 == 0, f"{place} can be read by others"
            else:
                assert not any(secret in content for secret in secrets_), f"{place} holds a key"

    def check_nothing_is_left_over(self, also: set[str] | None = None) -> None:
        """After the owner's next run nothing hidden is there, and nothing in the folder for temporary files."""
        hidden = {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.name.startswith(".")}
        journals = {str(p.relative_to(self.folder)) for p in self.folder.rglob("*-journal")}
        assert not hidden - (also or set()), f"left over: {sorted(hidden)}"
        assert not journals, f"left over: {sorted(journals)}"
        assert not list(self.temporary.iterdir()), f"left over in tmp: {sorted(self.temporary.iterdir())}"


def same_tree(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes."""
    names = [{str(p.relative_to(f)) for p in f.rglob("*")} if f.is_dir() else {"none"} for f in (one, other)]
    return names[0] == names[1] and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names[0] if (one / name).is_file()
    )


def _decoded(path: Path) -> bytes:
    """The cells of a Parquet file as text and as numbers, where it is whole enough to be read."""
    if path.suffix != ".parquet":
        return b""
    with contextlib.suppress(Exception):
        table = pq.read_table(io.BytesIO(path.read_bytes()))
        return "\n".join(str(cell) for column in table.columns for cell in column.to_pylist()).encode()
    return b""


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
