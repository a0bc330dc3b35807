"""Objects of a store and prefixes, read and written like paths of this machine; the store's errors in our words.

Objects appear whole or not at all, and never replace another.

A store's own words name the server's address, requests and keys: only the kind of failure is shown. A listing
comes in pages, and whether there is another page is the store's word: Arrow asks on until it says no, and cannot
be stopped. So it asks in a thread of its own, for some minutes at most, and while the process has not grown by
more than any honest listing needs. A thread that is given up goes on until the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from pramana.errors import InputError, PramanaError, SourceError
from pramana.files.atomic import already_exists
from pramana.files.store_clients import file_system, path_in

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileInfo, FileSelector, FileSystem


T = TypeVar("T")
MOST_SECONDS = 300.0  # a million objects take some two minutes
MOST_GROWTH = 2 << 30  # bytes of this process
_LOOK = 0.1  # seconds between looks at how large it is
_STATUS = Path("/proc/self/status")  # where there is none, time alone is bounded
_CREDENTIALS = (
    "Credentials come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "GOOGLE_APPLICATION_CREDENTIALS, or AZURE_STORAGE_KEY and their kin."
)
_ADDRESS = "Is the network up, and is its address right, if a variable such as AWS_ENDPOINT_URL gives one?"
# what a message holds -> what must be, what was got, and a hint
_KINDS: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "NO_SUCH_BUCKET|bucket does not exist|ContainerNotFound",
        "lie in a bucket that exists",
        "no such bucket",
        None,
    ),
    (
        "ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN|"
        r"EXPIRED_TOKEN|HTTP status 40[13]|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed|\b40[13]\b|"
        "AuthorizationFailure|[Cc]redential|[Aa]uthentication|access token|Access[A-Z][a-z]+Mismatch",
        "be open to the credentials in use",
        "a refusal of the store",
        _CREDENTIALS,
    ),
    (
        r"NETWORK_CONNECTION|curlCode|REQUEST_TIMEOUT|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|UNAVAILABLE|"
        r"DEADLINE_EXCEEDED|Could not connect|[Cc]onnection|HTTP status 5\d\d|ENDPOINT|resolve host|Retry policy",
        "be in a store that answers",
        "no answer",
        _ADDRESS,
    ),
    (
        "libhdfs|libjvm|HDFS|hdfs",
        "be in a Hadoop file system that answers",
        "no answer",
        "Its client is Hadoop's own: set HADOOP_HOME, CLASSPATH and JAVA_HOME.",
    ),
    ("OutOfRangeInput|InvalidResourceName", "have a name that its store allows", "a name it refuses", None),
    ("NO_SUCH_KEY|NotFound|does not exist|No such (file|dir)", "exist", "no such object", None),
)
_BLOCK = 1 << 22  # bytes that are sent at a time
# Where an object is there, and empty, from when it is begun; the others show it when it was sent to its end.
_SEEN_EARLY = ("abfs", "abfss", "hdfs")


@dataclass(frozen=True)
class StoreStatus:
    """The part of a file's status that readers ask for."""

    st_size: int
    st_mode: int


@dataclass(frozen=True)
class StorePath:
    """An object of a store, or the prefix that some share; it can be sent to other processes.

    Answers of the store are kept: for one path, a listing is that of one moment. `again` gives a path without
    them.
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
        """The same path without the answers that were kept."""
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
        """Refuse a bucket that does not exist: its name may be misspelt."""
        bucket = StorePath(self.scheme, self.authority)
        if self.scheme != "hdfs" and not bucket.is_dir():
            raise SourceError(f"{self} must lie in a bucket that exists", "no such bucket", "Is its name right?")

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """What lies right under the prefix."""
        return (path for path in self.rglob(pattern) if len(path.parts) == len(self.parts) + 1)

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        assert pattern == "*", "readers choose by the names' endings"
        return iter(self.files)

    # ------------------------------------------------------------ bytes

    def open(self, mode: str = "rb", kind: type[InputError] = SourceError) -> NativeFile:
        """Open for reading with seeks ("rb"), or for writing from its beginning to its end ("wb")."""
        with store_faults(self, kind):
            if mode == "wb":
                return self.file_system.open_output_stream(self.in_store, compression=None)
            return self.file_system.open_input_file(self.in_store)

    def read_bytes(self, most: int) -> bytes:
        """The object; refused where it is larger than so many bytes."""
        size = self.stat().st_size
        if size > most:
            raise SourceError(f"{self} must have at most {most:,} bytes", f"{size:,} bytes")
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


# ---------------------------------------------------------------- whole objects


def put_new(path: StorePath, content: Iterable[bytes], kind: type[InputError]) -> None:
    """Write a new object; refused where it exists. What cannot be written in full is removed."""
    if path.again().exists():
        raise already_exists(path, kind)
    put(path, content, kind)


def put(
    path: StorePath, content: Iterable[bytes], kind: type[InputError], hidden: StorePath | None = None
) -> None:
    """Write an object that others see when it is whole; where it cannot be, it is removed.

    In stores that show it earlier it is written under `hidden` first, else in a hidden folder beside it.
    """
    with contextlib.ExitStack() as after:
        target = path
        if path.scheme in _SEEN_EARLY or (hidden is None and path.again().is_file()):
            token = secrets.token_hex(8)
            folder = path.with_name(f".{path.name}.{token}") if hidden is None else hidden / token
            after.callback(_remove, folder)
            target = folder / path.name
        with new_object(target, kind) as file:
            for block in content:
                file.write(block)
        if target is not path:
            target.copy_within(path, kind)


def put_file(path: StorePath, file: Path, kind: type[InputError], hidden: StorePath | None = None) -> None:
    """Write a file of this machine as an object, like `put`."""
    with file.open("rb") as content:
        put(path, iter(lambda: content.read(_BLOCK), b""), kind, hidden)


def _remove(folder: StorePath) -> None:
    with contextlib.suppress(OSError, PramanaError):
        folder.remove_folder()


@contextlib.contextmanager
def new_object(path: StorePath, kind: type[InputError]) -> Iterator[ObjectWriter]:
    """Yield the writer of an object that others may see before it is whole.

    Other failures in the block are raised as they are.
    """
    try:
        with store_faults(path, kind):
            file = path.open("wb", kind)
    except FileNotFoundError:
        raise kind(f"{path} must lie in a bucket that exists", "no such bucket") from None
    whole = False
    try:
        yield ObjectWriter(path, kind, file)
        whole = True
        with store_faults(path, kind):
            file.close()
    except BaseException:
        # Arrow cannot abort an upload: closing makes the object appear, and it is removed if it is not whole.
        # Where the store itself failed, closing fails again and nothing appears; or all of it, if only the answer
        # was lost. A whole object stays: its writer may need it.
        with contextlib.suppress(OSError, ValueError, PramanaError):
            file.close()
            if not whole:
                path.unlink()
        raise


@dataclass(frozen=True)
class ObjectWriter:
    """Takes the bytes of an object that is being written."""

    path: StorePath
    kind: type[InputError]
    file: NativeFile

    def write(self, block: bytes) -> None:
        with store_faults(self.path, self.kind):
            self.file.write(block)


# ---------------------------------------------------------------- what a store answers


def store_error(name: object, error: BaseException, kind: type[InputError] = SourceError) -> InputError | None:
    """The error in our words; None where it is not the store that failed, but what it holds."""
    words = re.sub(r"'[^']*'", "", str(error))  # keys and buckets, which may be called anything
    for pattern, must, got, hint in _KINDS:
        if re.search(pattern, words):
            return kind(f"{name} must {must}", got, hint)
    return None


@contextlib.contextmanager
def store_faults(name: object, kind: type[InputError] = SourceError) -> Iterator[None]:
    """Raise every failure of a store as one line of ours; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, PramanaError):
        raise
    except Exception as error:  # Arrow's own, which is not loaded for this, and those of every store's library
        known = store_error(name, error, kind)
        raise (known or kind(f"{name} must be usable", "an error of its store")) from None


# ---------------------------------------------------------------- listings


def within_bounds(name: object, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises; refused where the store's answer does not end."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # raised again where it is waited for
            answer.set_exception(error)

    end, before = time.monotonic() + MOST_SECONDS, _size()
    threading.Thread(target=work, name="pramana-listing", daemon=True).start()
    while not wait([answer], _LOOK).done:
        if time.monotonic() > end or _size() - before > MOST_GROWTH:
            raise SourceError(
                f"The listing of {name} has not ended within {MOST_SECONDS:.0f} seconds and "
                f"{MOST_GROWTH >> 20:,} MB of memory",
                hint="Is the store to be trusted? If so, name a prefix with fewer objects.",
            )
    return answer.result()


def _size() -> int:
    """Bytes of memory that this process has, or 0 where the system does not say."""
    try:
        size = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(size.split()[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def name_under(folder: str, path: str) -> str | None:
    """What an object is called within a folder of its store; None where that is no name for a file in a folder.

    Whoever has listed names may make paths of them: none climbs, is absolute, or is another spelling of another.
    """
    start = f"{folder.rstrip('/')}/"
    name = path.removeprefix(start)
    if not path.startswith(start) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        return None
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
