"""A folder that appears whole or not at all, also under kill -9.

Everything is written into a hidden sibling, flushed to disk, and renamed in one step. Its writer holds a lock on
it, which ends with the writer however that ends: the next run removes what it finds unlocked, and leaves a folder
alone whose writer still lives. A new key takes its place just before the rename; a copy of it waits beside the
hidden folder until the rename is done, by which the next run knows a key that was never used.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pramana.errors import BundleError, KeyFileError
from pramana.randomness import Key

_FILE_TIME = 946684800  # 2000-01-01: when a file was written tells how long a release took
_LONGEST_NAME = 230  # of the 255 bytes a name may have, the hidden sibling needs a few more
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def check_new(out: Path) -> None:
    """Refuse before any work is done: nothing that exists is overwritten."""
    try:
        str(out.absolute()).encode()
        os.lstat(out)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BundleError(f"{out} must be a place for a folder", error.strerror) from None
    except ValueError:
        raise BundleError("The output must be a folder", "a name that is none") from None
    else:
        _refuse(out)
    parent = out.absolute().parent
    if len(os.fsencode(out.name)) > _LONGEST_NAME:
        raise BundleError("The name of the output folder must be shorter", f"{len(out.name)} characters")
    if not parent.is_dir():
        raise BundleError(f"The folder {parent} must exist", "none", "Create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BundleError(f"The folder {parent} must be writable", "one that is not")


def _refuse(out: Path) -> None:
    raise BundleError(
        f"The output folder {out} must not exist yet", "an existing one", "Choose another name, or move it away."
    )


@contextlib.contextmanager
def whole_folder(
    out: Path, key: Key | None = None, key_file: Path | None = None, last: Callable[[], None] = lambda: None
) -> Iterator[Path]:
    """Yield a folder to fill; it becomes `out` when the block ends well, and vanishes when it does not.

    `key`, if it is to be kept, becomes `key_file` just before, so that no bundle is ever without its key. `last`
    is called when nothing but the rename is left to do.
    """
    check_new(out)
    out = out.absolute()
    sweep(out)
    made: list[Path] = []  # what must vanish if this ends badly
    lock = -1
    try:
        partial, lock = _locked_folder(out)
        made.append(partial)
        yield partial
        _settle(partial)
        if key is not None and key_file is not None:
            _place_key(key, key_file, _spare(partial), made)
        check_new(out)  # someone may have made it meanwhile; rename would replace an empty folder
        last()
        partial.rename(out)
        made.clear()  # from here on it is there, and its key stays, whatever the disk says
        with contextlib.suppress(OSError):
            _flush_folder(out.parent)
            _spare(partial).unlink(missing_ok=True)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise BundleError(f"{out.parent} must have room for the release", "a full disk") from None
        if error.errno in _TAKEN:
            _refuse(out)
        raise BundleError(f"{out} must be writable", error.strerror or "an error of the file system") from None
    finally:
        for path in reversed(made):
            _remove(path)
        if lock >= 0:
            os.close(lock)


@contextlib.contextmanager
def named_when_whole(path: Path) -> Iterator[Path]:
    """A place to write a file that takes its name when the block ends: who is killed before leaves nothing of it.

    File systems without files that have no name get it at once.
    """
    try:
        file = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        yield path
        return
    place = Path(f"/proc/self/fd/{file}")
    root = os.open("/", os.O_RDONLY)  # a link is followed only by the call that is told where to start from
    try:
        yield place
        os.link(place, path, src_dir_fd=root, follow_symlinks=True)
    finally:
        os.close(root)
        os.close(file)


def sweep(out: Path) -> None:
    """Remove what runs that were killed left behind: hidden folders, and a key that no bundle was made with."""
    out = out.absolute()
    for left in out.parent.glob(f".{glob.escape(out.name)}.partial-*"):
        if left.suffix == ".key":
            if not left.with_suffix("").exists():  # its folder became the bundle; the key is in its place
                left.unlink(missing_ok=True)
        elif left.is_dir() and not left.is_symlink():
            with contextlib.suppress(OSError), _lock_of(left):
                if not out.exists():
                    _sweep_key(left, out.with_name(out.name + ".key"))
                _spare(left).unlink(missing_ok=True)
                shutil.rmtree(left, ignore_errors=True)


def _sweep_key(left: Path, key_file: Path) -> None:
    """Only a key that the killed run itself had made goes, and only while its bundle never appeared."""
    spare = _spare(left)
    with contextlib.suppress(OSError, KeyFileError):
        if Key.read(spare) == Key.read(key_file):
            key_file.unlink()


def _spare(partial: Path) -> Path:
    return partial.with_name(partial.name + ".key")


def _locked_folder(out: Path) -> tuple[Path, int]:
    while True:
        partial = out.parent / f".{out.name}.partial-{secrets.token_hex(4)}"
        partial.mkdir(mode=0o700)
        lock = os.open(partial, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if partial.exists():  # else another run took it for a left-over before it was locked
            return partial, lock
        os.close(lock)


@contextlib.contextmanager
def _lock_of(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; BlockingIOError where its writer lives."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _place_key(key: Key, key_file: Path, spare: Path, made: list[Path]) -> None:
    """Whole or not at all: the spare copy is written first and then linked to its name, which must be free."""
    made.append(spare)
    key.write(spare)
    try:
        os.link(spare, key_file)
    except FileExistsError:
        raise KeyFileError(f"The key file {key_file} must not exist yet", "an existing one") from None
    except OSError:  # a file system without links
        key.write(key_file)
    made.append(key_file)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)


def _settle(folder: Path) -> None:
    """Flush every file, and give all of them one time that tells nothing."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        os.utime(path, (_FILE_TIME, _FILE_TIME))
    folder.chmod(0o777 & ~_umask())
    _flush_folder(folder)
    os.utime(folder, (_FILE_TIME, _FILE_TIME))


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
