"""Regular files only: pipes, sockets, devices and folders are refused before they are opened.

Opening a pipe waits for its writer, a device may never end, and opening one may have an effect. What is refused is
an OSError whose text can be shown.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from pathlib import Path

from pramana.errors import BundleError

_FROM_SHELL = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")  # a shell's <(command), which is being written
_OTHERS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


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
