"""Files of this machine that are opened by their names. Whatever else can have a name there is refused.

A pipe is waited for until someone writes to it, a device may have no end, and to open one may set it going. So it
is asked first what lies there, and what is refused is refused as an OSError whose words can be shown.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from pathlib import Path

_HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")  # a shell's <(command), which is being written
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
    """A file to be read; unless `follow`, a link is none."""
    if follow and _HANDED_OVER.fullmatch(str(path)) and stat.S_ISFIFO(Path(path).stat().st_mode):
        return Path(path).open("rb")
    _refuse_others(Path(path).stat(follow_symlinks=follow).st_mode, path)
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)  # it may be another one by now
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
    """UTF-8, with or without a mark in front; every kind of line break is one."""
    with io.TextIOWrapper(open_regular(path), "utf-8-sig") as file:
        return file.read()
