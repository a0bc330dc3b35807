"""Files that hold a secret: for their owner alone, whole or not at all, and never inside a bundle."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pramana.errors import KeyFileError

_UNFINISHED = ".unfinished"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_DATA_FILES = ("data.parquet", "data.csv")


# ---------------------------------------------------------------- writing


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Create a file with this content, whole or not at all, also under kill -9. An existing file is never touched.

    A file system that knows no links has the file under its name while it is written.
    """
    try:
        check_outside_bundles(path)
        if not _write_unnamed(path, content, mode):
            _write_hidden(path, content, mode)
        with contextlib.suppress(OSError):
            flush_folder(path.parent)
    except FileExistsError:
        raise KeyFileError(
            f"The key file {path} must not exist yet",
            "an existing one",
            "Choose another name; no key is ever replaced.",
        ) from None
    except OSError as error:
        raise KeyFileError(f"The key file {path} must be writable", error.strerror) from None
    except ValueError:
        raise KeyFileError("A key file must be a path", "a name that is none") from None


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


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
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
    hidden, descriptor = _locked_file(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _fill(file, content)
            try:
                os.link(hidden, path)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                _write_in_place(path, content, mode)
            hidden.unlink()
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


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


def _locked_file(path: Path, mode: int) -> tuple[Path, int]:
    """A hidden sibling, locked while its writer lives."""
    while True:
        hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_UNFINISHED}")
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if hidden.exists():  # else another run took it for a left-over before it was locked
            return hidden, descriptor
        os.close(descriptor)


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


# ---------------------------------------------------------------- where it lies, and who can read it


def bundle_around(path: Path) -> Path | None:
    """The bundle that a path lies inside of, if there is one."""
    for folder in (inside := Path(os.path.realpath(path.absolute().parent)), *inside.parents):
        if (folder / "certificate.json").is_file() and any((folder / name).is_file() for name in _DATA_FILES):
            return folder
    return None


def check_outside_bundles(path: Path) -> None:
    """A bundle is given away as a whole: a key inside would go along, and undo it."""
    if (bundle := bundle_around(path)) is not None:
        raise KeyFileError(
            f"The key file {path} must lie outside of every bundle",
            f"one in {bundle}",
            "Choose another place.",
        )


def check_private(path: Path) -> None:
    """A key must be for its owner alone.

    Refused rather than warned of: the key undoes a release, and a warning on a screen that nobody watches protects
    no one. Where the file system has no modes (a memory stick, a folder shared with Windows) every file looks
    open to all and chmod does nothing; who may read there is settled elsewhere, and the key is taken.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & 0o077 and _has_modes(path.parent):
        raise KeyFileError(
            f"The key file {path} must be for its owner alone",
            f"one of mode {stat.S_IMODE(mode):o}",
            f"Run `chmod 600 {path}`, and think of who may have read it.",
        )


def _has_modes(folder: Path) -> bool:
    """Whether a file made for its owner alone is shown as such. Where none can be made, it is taken to be so."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mode & 0o077 == 0
    except OSError:
        return True
