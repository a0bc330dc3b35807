"""Files that appear whole or not at all, also under kill -9, and what killed writers left.

Where the system has files without names, one is filled and named when it is whole: who is killed before leaves
nothing. Elsewhere it is filled under a hidden name, locked while its writer lives; the next writer of the same
file removes what it finds unlocked, if it is this user's own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_UNFINISHED = ".unfinished"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """Create a file with this content; FileExistsError where there is one.

    A file system that knows no links has the file under its name while it is written.
    """
    if not _write_unnamed(path, content, mode):
        _write_hidden(path, content, mode)
    with contextlib.suppress(OSError):
        flush(path.parent)


def replace_whole(path: Path, content: bytes, mode: int) -> None:
    """Put a file with this content in its place; what lay there stays as it is until the new one is whole."""
    sweep_unfinished(path)
    with _hidden_and_filled(path, content, mode, whole=True) as hidden:
        hidden.replace(path)
    with contextlib.suppress(OSError):
        flush(path.parent)


@contextlib.contextmanager
def named_when_whole(path: Path) -> Iterator[Path]:
    """A place to write a file that takes its name, which must be free, when the block ends."""
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
    """Let a file that is whole appear under a name, which must be free; its own name may stay or go."""
    try:
        os.link(file, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        file.rename(path)


def open_unnamed(folder: Path, mode: int) -> int | None:
    """A file without a name, which ends with its process; None where there is no such thing, as on a Mac."""
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
    """Give it its name, which must be free."""
    root = os.open("/", os.O_RDONLY)  # a link is followed only by the call that is told where to start from
    try:
        os.link(path_of_unnamed(file), path, src_dir_fd=root, follow_symlinks=True)
    finally:
        os.close(root)


def flush(path: Path) -> None:
    """See to it that a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_unnamed(path: Path, content: bytes, mode: int) -> bool:
    """Whether it could be done this way."""
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
    """Under a hidden name first, which the next run removes should this one be killed."""
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
    """A hidden sibling with this content, on disk; it is gone at the end, unless it was renamed.

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
        if hidden.exists():  # else another run took it for a left-over before it was locked
            return hidden, descriptor
        os.close(descriptor)


# ---------------------------------------------------------------- what killed writers left


def sweep_unfinished(path: Path) -> None:
    """Remove the hidden files that killed writers of this file left: this user's own, and no others."""
    try:
        names = [place.name for place in path.parent.iterdir()]
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
    """Hold the lock of a file or folder, following no link; BlockingIOError where its writer lives."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
