"""Paths as URLs. The URL of a store becomes a StorePath, which is read and written like a path of this machine.

A URL that carries credentials is refused, and shown in no message: they come from the environment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pramana.errors import InputError, RecipeError, SourceError
from pramana.stores.connecting import SCHEMES, file_system, path_in
from pramana.stores.faults import store_faults
from pramana.stores.listing import name_under, within_bounds

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileInfo, FileSelector, FileSystem

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?:/(?P<key>.*))?", re.DOTALL)
_AUTHORITY = {
    "s3": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "gs": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "abfs": re.compile(r"[a-z0-9$][a-z0-9-]*(?:@[a-z0-9]+(?:\.dfs\.core\.windows\.net)?)?"),
    "hdfs": re.compile(r"(?:[A-Za-z0-9._-]+(?::\d{1,5})?)?"),
}
_KNOWN = ", ".join(f"{scheme}://" for scheme in ("s3", "gs", "abfs", "hdfs", "file"))
_EXAMPLES = {
    "s3": "s3://bucket/name", "s3a": "s3://bucket/name", "s3n": "s3://bucket/name", "gs": "gs://bucket/name",
    "abfs": "abfs://container@account.dfs.core.windows.net/name",
    "abfss": "abfss://container@account.dfs.core.windows.net/name",
    "hdfs": "hdfs://host:8020/name", "file": "file:///folder/name",
}  # fmt: skip
_SCHEME = re.compile(rf"(?P<scheme>{'|'.join(_EXAMPLES)}):(?P<slash>/?)", re.IGNORECASE)
_DOTTED_SCHEME = re.compile(rf"(\./+)+({'|'.join(_EXAMPLES)}):", re.IGNORECASE)
_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_KEY",
    "abfss": "AZURE_STORAGE_KEY",
    "hdfs": "those of Hadoop",
}
_ENVIRONMENT = {s: f"Credentials come from the environment, such as {names}." for s, names in _VARIABLES.items()}
_MOST_PORT = (1 << 16) - 1
_BUFFER = 1 << 20  # bytes that are asked for at a time where a reader takes fewer


@dataclass(frozen=True)
class StoreStatus:
    """As much of a file's status as readers ask for."""

    st_size: int
    st_mode: int


@dataclass(frozen=True)
class StorePath:
    """An object of a store, or the prefix that some share; it stands for itself wherever it is sent.

    What was once asked of the store is not asked again: for one path, a listing is that of one moment.
    """

    scheme: str
    authority: str  # the bucket; of Hadoop the host
    key: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}/{self.key}"

    def __lt__(self, other: StorePath) -> bool:
        return self.parts < other.parts

    def __reduce__(self) -> tuple[type[StorePath], tuple[str, str, str]]:
        return StorePath, (self.scheme, self.authority, self.key)

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.scheme, self.authority, f"{self.key}/{name}" if self.key else name)

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.key)

    @property
    def parts(self) -> tuple[str, ...]:
        return self._pure.parts

    @property
    def name(self) -> str:
        return self._pure.name

    @property
    def suffix(self) -> str:
        return self._pure.suffix

    @property
    def stem(self) -> str:
        return self._pure.stem

    @property
    def parent(self) -> StorePath:
        return StorePath(self.scheme, self.authority, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> StorePath:
        return self.parent / name

    def relative_to(self, other: StorePath) -> PurePosixPath:
        return self._pure.relative_to(other._pure)

    def absolute(self) -> StorePath:
        return self

    def again(self) -> StorePath:
        """The same path, of which nothing was asked yet."""
        return StorePath(self.scheme, self.authority, self.key)

    # ------------------------------------------------------------ what the store says

    @property
    def file_system(self) -> FileSystem:
        with store_faults(self):
            return file_system(self.scheme, self.authority)

    @property
    def in_store(self) -> str:
        """What its file system calls it."""
        return path_in(self.scheme, self.authority, self.key)

    @cached_property
    def _info(self) -> FileInfo:
        system = self.file_system
        with store_faults(self):
            return within_bounds(self, lambda: system.get_file_info(self.in_store))

    @cached_property
    def _holds_something(self) -> bool:
        from pyarrow.fs import FileSelector

        return bool(self._listed(FileSelector(self.in_store, allow_not_found=True)))

    def _listed(self, selector: FileSelector) -> list[FileInfo]:
        system = self.file_system
        with store_faults(self):
            return within_bounds(self, lambda: system.get_file_info(selector))

    @cached_property
    def files(self) -> tuple[StorePath, ...]:
        """Every object under the prefix, in the order of their names, all of which are plain; else refused."""
        from pyarrow.fs import FileSelector, FileType

        inside = []
        for info in self._listed(FileSelector(self.in_store, allow_not_found=True, recursive=True)):
            if info.type == FileType.File:
                try:
                    name = name_under(self.in_store, info.path)
                except UnicodeDecodeError:  # a store may send any bytes
                    name = None
                if name is None:
                    raise SourceError(
                        f"Objects under {self} must have plain names between their slashes",
                        "an object whose name is empty, . or .. there, or lies elsewhere",
                        "Remove it, or choose another prefix.",
                    )
                path = self / name
                vars(path)["_info"] = info
                inside.append(path)
        return tuple(sorted(inside))

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        return bool(self._info.is_file)

    def is_dir(self) -> bool:
        from pyarrow.fs import FileType

        if self.scheme in ("abfs", "abfss") and self._info.type == FileType.NotFound:
            return self._holds_something  # Arrow looks at the first name that begins so, such as `name-of-another`
        return bool(self._info.type == FileType.Directory)

    def is_symlink(self) -> bool:
        return False

    def stat(self) -> StoreStatus:
        if self.is_file():
            return StoreStatus(int(self._info.size), stat.S_IFREG)
        if self.is_dir():
            return StoreStatus(0, stat.S_IFDIR)
        self.check_bucket()
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def check_bucket(self) -> None:
        """Whoever misses an object may have misspelt the bucket."""
        bucket = StorePath(self.scheme, self.authority)
        if self.scheme != "hdfs" and not bucket.is_dir():
            raise SourceError(f"{self} must lie in a bucket that exists", "none", "Is its name right?")

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """What lies right under the prefix."""
        return (path for path in self.rglob(pattern) if len(path.parts) == len(self.parts) + 1)

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        assert pattern == "*", "readers choose by the names' endings"
        return iter(self.files)

    # ------------------------------------------------------------ bytes

    def open(self, mode: str = "rb", kind: type[InputError] = SourceError) -> NativeFile:
        """To be read, from any place; or "wb", to be written from its beginning to its end."""
        with store_faults(self, kind):
            if mode == "wb":
                return self.file_system.open_output_stream(self.in_store, compression=None)
            return self.file_system.open_input_file(self.in_store)

    def read_bytes(self, most: int) -> bytes:
        """The object; refused where it is larger than so many bytes."""
        size = self.stat().st_size
        if size > most:
            raise SourceError(f"{self} must have at most {most:,} bytes", "more")
        with store_faults(self), self.open() as file:
            return bytes(file.read(max(size, 0)))  # memory is taken for as many as are asked for

    def copy_within(self, target: StorePath, kind: type[InputError] = SourceError) -> None:
        """Let the store make `target` of it, without the bytes coming here; Hadoop renames it instead."""
        with store_faults(target, kind):
            if self.scheme == "hdfs":
                self.file_system.create_dir(target.parent.in_store, recursive=True)
                if target.again().is_file():  # which no rename replaces there
                    target.unlink()
                self.file_system.move(self.in_store, target.in_store)
            else:
                self.file_system.copy_file(self.in_store, target.in_store)

    def remove_folder(self) -> None:
        """And all that is in it; some stores keep an object for an empty one."""
        try:
            with store_faults(self), contextlib.suppress(FileNotFoundError):  # where no object stands for it
                self.file_system.delete_dir(self.in_store)
        except SourceError:  # Azure is asked for all at once, which not every credential allows
            left = self.again().files
            if not left:
                raise
            for path in left:
                path.unlink()

    def unlink(self) -> None:
        with store_faults(self):
            self.file_system.delete_file(self.in_store)


AnyPath = Path | StorePath


def is_store_url(text: str) -> bool:
    """Whether a text begins like the URL of a store."""
    told = _URL.match(text)
    return told is not None and told["scheme"].lower() in SCHEMES


def path_text(path: object, what: str, error: type[InputError]) -> str:
    """A path as text: whatever else someone gives for one is refused here, and so is an empty name."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise error(f"{what} must be a path", type(path).__name__, "Give a text or a pathlib.Path.")
    if not text:
        raise error(f"{what} must be a path", "an empty name")
    return text


def located(
    path: str | os.PathLike[str] | StorePath, what: str = "The source", error: type[InputError] = SourceError
) -> AnyPath:
    """The path that a text names: of this machine, also as file://, or of a store."""
    if isinstance(path, StorePath):
        return path
    text = path_text(path, what, error)
    told = _URL.fullmatch(text)
    if told is None or not isinstance(path, str):  # pathlib makes one slash of two: no URL is left of one
        _refuse_half_url(text, not isinstance(path, str), what, error)
        # as the name of a file it stays one for whoever takes it for text, such as Arrow
        return Path(text).absolute() if _SCHEME.match(text.lstrip("./")) else Path(text)
    scheme, authority, key = told["scheme"].lower(), told["authority"], (told["key"] or "").rstrip("/")
    if scheme == "file":
        if authority not in ("", "localhost") or not key or "?" in key or "#" in key:
            raise error(f"{what} must be a path of this machine after file://", "something else")
        return Path("/" + unquote(key))
    if scheme not in SCHEMES:
        hint = "Write s3:// here." if scheme in ("s3a", "s3n") else f"It may begin with {_KNOWN}."
        if scheme in ("postgresql", "postgres", "sqlite", "duckdb"):
            hint = "Databases are named in a recipe, by url."
        raise error(f"{what} must be a file, or a URL of a store", "another URL", hint)
    return _checked(scheme, authority, key, what, error)


def _refuse_half_url(text: str, was_path: bool, what: str, error: type[InputError]) -> None:
    """It would be taken for a folder of this machine that has the name of a scheme; it may hold a password."""
    told = _SCHEME.match(text)
    if told is None or (was_path and not told["slash"]):  # a pathlib.Path of ./s3:name has lost its dot
        return
    example = _EXAMPLES[told["scheme"].lower()]
    hint = f"Write {example}; or ./ before the name, if there is a file or folder of that name."
    if was_path:
        hint = f"Write {example} as a text: pathlib keeps one of the two slashes."
    raise error(f"{what} must be a path, or a URL with two slashes", "a scheme with a colon, and no URL", hint)


def _checked(scheme: str, authority: str, key: str, what: str, error: type[InputError]) -> StorePath:
    if "?" in key or "#" in key or "?" in authority or "#" in authority:
        must = f"{what} must be a URL without options, keys and signatures"
        raise error(must, "one with some", _ENVIRONMENT[scheme])
    if _AUTHORITY[scheme.removesuffix("s") if scheme == "abfss" else scheme].fullmatch(authority) is None:
        if scheme == "hdfs" and "@" not in authority and authority.count(":") == 1:
            raise error(f"{what} must be a URL with a number as its port", "another port", _such_as(scheme))
        if "@" in authority or ":" in authority:
            raise error(f"{what} must be a URL without user and password", "one with some", _ENVIRONMENT[scheme])
        named = {"abfs": "a container", "abfss": "a container", "hdfs": "a host"}.get(scheme, "a bucket")
        raise error(f"{what} must be a URL that names {named}", "something else", _such_as(scheme))
    if scheme == "hdfs" and int(authority.partition(":")[2] or 0) > _MOST_PORT:
        raise error(f"{what} must be a URL with a port of at most {_MOST_PORT}", "another port", _such_as(scheme))
    if any(part in ("", ".", "..") for part in key.split("/") if key) or not key.isprintable():
        raise error(f"{what} must be a URL with plain names between its slashes", "others")
    return StorePath(scheme, authority, key)


def _such_as(scheme: str) -> str:
    return f"Such as {_EXAMPLES[scheme]}."


def local_path(path: str | os.PathLike[str], what: str, error: type[InputError]) -> Path:
    """The path of what is read and written on this machine only: keys, recipes and their like."""
    found = located(path, what, error)
    if isinstance(found, StorePath):
        raise error(f"{what} must lie on this machine", "a URL of a store")
    return found


def path_here(path: AnyPath, what: str) -> Path:
    """For who needs a path of this machine, and knows `out` for where something went."""
    if isinstance(path, StorePath):
        raise InputError(f"{what} must lie on this machine", str(path), "Ask for `out`.")
    return path


def named_in(folder: Path, text: str, what: str, error: type[InputError] = RecipeError) -> AnyPath:
    """A path as a recipe in `folder` names it: a URL as it is, and every other path beside the recipe."""
    path = located(text, what, error)
    if isinstance(path, StorePath):
        return path
    beside = folder / (text if _DOTTED_SCHEME.match(text) else path)
    return beside.absolute() if _SCHEME.match(str(beside)) else beside  # as text it would be half a URL


def arrow_input(path: AnyPath) -> Any:
    """What Arrow's readers take: a path of this machine as it is, and an object of a store opened."""
    return path.open() if isinstance(path, StorePath) else path
