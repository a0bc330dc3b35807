"""A folder that appears whole or not at all, also under kill -9.

Everything is written into a hidden sibling, flushed to disk, and renamed in one step. What an earlier run that
was killed left behind is removed by the next one; a folder of a run that is still alive is left alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pramana.errors import BundleError

_FILE_TIME = 946684800  # 2000-01-01: when a file was written tells how long a release took


def check_new(out: Path) -> None:
    """Refuse before any work is done: nothing that exists is overwritten."""
    if out.exists() or out.is_symlink():
        raise BundleError(
            f"The output folder {out} must not exist yet",
            "an existing one",
            "Choose another name, or move it away.",
        )
    parent = out.absolute().parent
    if not parent.is_dir():
        raise BundleError(f"The folder {parent} must exist", "none", "Create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BundleError(f"The folder {parent} must be writable", "one that is not")


@contextlib.contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to fill; it becomes `out` when the block ends well, and vanishes when it does not."""
    check_new(out)
    out = out.absolute()
    _sweep(out)
    partial = out.parent / f".{out.name}.partial-{os.getpid()}"
    try:
        partial.mkdir(mode=0o700)
        yield partial
        _settle(partial)
        check_new(out)  # someone may have made it meanwhile; rename would replace an empty folder
        partial.rename(out)
        _flush_folder(out.parent)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise BundleError(f"{out.parent} must have room for the release", "a full disk") from None
        raise BundleError(f"{out} must be writable", error.strerror or "an error of the file system") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _sweep(out: Path) -> None:
    for left in out.parent.glob(f".{out.name}.partial-*"):
        owner = left.name.rpartition("-")[2]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    if process == os.getpid():
        return False  # a leftover of an earlier process that had this number
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
