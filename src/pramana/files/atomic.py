"""Files that appear whole or not at all, also under kill -9, and the removal of what killed writers left.

Where the system has files without names (O_TMPFILE), one is filled and then named: a killed writer leaves nothing.
Elsewhere a file is filled under a hidden name and locked while its writer lives. The next writer of the same file
removes hidden files that are not locked, if they belong to this user.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pramana.errors import BundleError, InputError

E = TypeVar("E", bound=InputError)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNFINISHED = ".unfinished"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
CERTIFICATE = "certificate.json"  # of a bundle
PARTS = "data"  # the folder of a bundle that holds its data as a set of parts
_DATA_FILES = ("data.parquet", "data.csv", f"{PARTS}/part-00000.parquet", f"{PARTS}/part-00000.csv")
_FROM_SHELL = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")  # a shell's <(command), which is being written
_OTHERS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


# ---------------------------------------------------------------- where a new file may be written


def already_exists(path: object, kind: type[E], hint: str = "Choose another name.") -> E:
    return kind(f"{path} already exists", hint=hint)


def check_free(paths: Iterable[Path], error: type[InputError] = InputError) -> None:
    """Refuse, before any work is done, new files that could not be written."""
    for path in paths:
        try:
            taken = os.path.lexists(path)
            str(path).encode()
        except ValueError:
            raise error("The name of a new file must not contain a zero byte or half a character") from None
        if taken:
            raise already_exists(path, error, "Choose another name, or move it away.")
        folder = path.absolute().parent
        if not folder.is_dir():
            raise error(f"The folder {folder} does not exist", hint="Create it first.")
        if (bundle := bundle_around(path)) is not None:
            raise error(f"{path} must lie outside of every bundle", f"a path inside {bundle}")


def bundle_around(path: Path) -> Path | None:
    """The bundle that a path lies inside of, if there is one."""
    for folder in (inside := Path(os.path.realpath(path.absolute().parent)), *inside.parents):
        if (folder / CERTIFICATE).is_file() and any((folder / name).is_file() for name in _DATA_FILES):
            return folder
    return None


def disk_fault(error: OSError) -> str:
    """What a disk could not do, in words."""
    return "a full disk" if error.errno in NO_ROOM else error.strerror or "an error of the file system"


# ---------------------------------------------------------------- writing


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Create a file with this content; FileExistsError where there is one.

    On a file system without hard links the file has its name while it is written.
    """
    if not _write_unnamed(path, content, mode):
        _write_hidden(path, content, mode)
    with contextlib.suppress(OSError):
        flush(path.parent)


def write_all(files: Mapping[Path, str], mode: int = 0o666) -> None:
    """Create all of the files, in their order; if one cannot be written, none stays.

    A run that is killed leaves the first of them. The same run again accepts those: a file that already has
    exactly this content counts as written.
    """
    missing = {path: text for path, text in files.items() if not _is_written(path, text)}
    check_free(missing or files)
    with contextlib.ExitStack() as undo:
        for path, text in missing.items():
            try:
                write_whole(path, text.encode("utf-8"), mode)
            except FileExistsError:
                raise already_exists(path, InputError) from None
            except OSError as error:
                raise InputError(f"{path} must be writable", error.strerror) from None
            undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()


def _is_written(path: Path, text: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        content = text.encode("utf-8")
        return not path.is_symlink() and path.is_file() and path.read_bytes() == content
    return False


def replace_whole(path: Path, content: bytes, mode: int) -> None:
    """Create or replace a file; an earlier one stays as it is until the new one is whole."""
    sweep_unfinished(path)
    with _hidden_and_filled(path, content, mode, whole=True) as hidden:
        hidden.replace(path)
    with contextlib.suppress(OSError):
        flush(path.parent)


@contextlib.contextmanager
def named_when_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; when the block ends the file gets the name `path`, which must be free."""
    file = open_unnamed(path.parent, 0o666)
    if file is not None:
        try:
            yield path_of_unnamed(file)
            name_unnamed(file, path)
        finally:
            os.close(file)
        return
    sweep_unfinished(path)
    hidden, descriptor = _locked_file(path, 0o666)
    try:
        yield hidden
        give_name(hidden, path)
    finally:
        hidden.unlink(missing_ok=True)
        os.close(descriptor)


def give_name(file: Path, path: Path) -> None:
    """Give a whole file the name `path`, which must be free; its own name may stay or go."""
    try:
        os.link(file, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        file.rename(path)


def open_unnamed(folder: Path, mode: int) -> int | None:
    """A file without a name, which ends with its process; None where the system has none, as macOS."""
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except (AttributeError, OSError):
        return None
    if os.path.lexists(path_of_unnamed(file)):
        return file
    os.close(file)
    return None


def path_of_unnamed(file: int) -> Path:
    return Path(f"/proc/self/fd/{file}")


def name_unnamed(file: int, path: Path) -> None:
    """Give a file without a name the name `path`, which must be free."""
    root = os.open(
        "/", os.O_RDONLY
    )  # linkat follows the link in /proc only when it is given a folder to start from
    try:
        os.link(path_of_unnamed(file), path, src_dir_fd=root, follow_symlinks=True)
    finally:
        os.close(root)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_unnamed(path: Path, content: bytes, mode: int) -> bool:
    """False where the system or the file system cannot do it this way."""
    descriptor = open_unnamed(path.parent, mode)
    if descriptor is None:
        return False
    with os.fdopen(descriptor, "wb") as file:
        _fill(file, content)
        try:
            name_unnamed(descriptor, path)
        except FileExistsError:
            raise
        except OSError:
            return False
    return True


def _write_hidden(path: Path, content: bytes, mode: int) -> None:
    """Write under a hidden name first, which the next run removes should this one be killed."""
    sweep_unfinished(path)
    with _hidden_and_filled(path, content, mode) as hidden:
        try:
            os.link(hidden, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _write_in_place(path, content, mode)


@contextlib.contextmanager
def _hidden_and_filled(path: Path, content: bytes, mode: int, whole: bool = False) -> Iterator[Path]:
    """A hidden sibling with this content, on disk; it is removed at the end, unless it was renamed.

    With `whole` it has no name before it is filled, where the system allows that.
    """
    hidden, unnamed = _hidden_beside(path), open_unnamed(path.parent, mode) if whole else None
    descriptor = unnamed
    if descriptor is None:
        hidden, descriptor = _locked_file(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _fill(file, content)
            if unnamed is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                name_unnamed(descriptor, hidden)
            yield hidden
    finally:
        hidden.unlink(missing_ok=True)


def _write_in_place(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        try:
            _fill(file, content)
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _fill(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _hidden_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")


def _locked_file(path: Path, mode: int) -> tuple[Path, int]:
    """A hidden sibling, locked while its writer lives."""
    while True:
        hidden = _hidden_beside(path)
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if hidden.exists():  # else another run removed it as a left-over before it was locked
            return hidden, descriptor
        os.close(descriptor)


# ---------------------------------------------------------------- what killed writers left


def sweep_unfinished(path: Path) -> None:
    """Remove the hidden files that killed writers of this file left, if they belong to this user."""
    try:
        names = [sibling.name for sibling in path.parent.iterdir()]
    except OSError:
        return
    for name in names:
        if name.startswith(f".{path.name}.") and name.endswith(_UNFINISHED):
            hidden = path.with_name(name)
            with contextlib.suppress(OSError):
                if is_own(os.lstat(hidden)):
                    with lock_of(hidden):
                        hidden.unlink()


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's: in a shared folder others can plant what looks like a left-over."""
    return status.st_uid == os.geteuid() and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


@contextlib.contextmanager
def lock_of(path: str | Path, folder: int | None = None) -> Iterator[None]:
    """Lock a file or folder, following no link; BlockingIOError where its writer lives."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------- reading regular files
# Pipes, sockets, devices and folders are refused before they are opened: opening a pipe waits for its writer, a
# device may never end, and opening one may have an effect. What is refused is an OSError whose text can be shown.


def not_a_file(mode: int) -> str | None:
    """What something of this mode is; None for a file."""
    if stat.S_ISREG(mode):
        return None
    return next((name for is_one, name in _OTHERS if is_one(mode)), "a device")


def open_regular(path: str | Path, *, follow: bool = True) -> io.BufferedReader:
    """Open a file for reading. Without `follow` a symbolic link is refused."""
    if follow and _FROM_SHELL.fullmatch(str(path)) and stat.S_ISFIFO(Path(path).stat().st_mode):
        return Path(path).open("rb")
    _refuse_others(Path(path).stat(follow_symlinks=follow).st_mode, path)
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)  # it may have been exchanged since
    descriptor = os.open(path, flags)
    try:
        _refuse_others(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refuse_others(mode: int, path: str | Path) -> None:
    if (other := not_a_file(mode)) is not None:
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, other, str(path))


def regular_bytes(path: str | Path, *, follow: bool = True) -> bytes:
    with open_regular(path, follow=follow) as file:
        return file.read()


def regular_text(path: str | Path) -> str:
    """Read UTF-8 with or without a byte order mark; every kind of line break becomes \\n."""
    with io.TextIOWrapper(open_regular(path), "utf-8-sig") as file:
        return file.read()


def own_file(path: Path) -> Path:
    """The path of a bundle's file that is about to be read; refused where it is missing, a link, or not a file."""
    try:
        other = not_a_file(os.lstat(path).st_mode)
    except OSError as error:
        other = "no file" if isinstance(error, FileNotFoundError) else error.strerror
    if other is not None:
        raise BundleError(f"{path} must be a file of the bundle", other)
    return path


class DigestedFile(io.RawIOBase):
    """A file that is digested as it is written; without one only the digest is made."""

    def __init__(self, file: Any = None) -> None:
        self.sha256, self.length, self._file = hashlib.sha256(), 0, file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._file is not None:
            self._file.write(data)
        self.sha256.update(data)
        self.length += len(data)
        return len(data)

    def tell(self) -> int:
        return self.length
