"""Files that hold a secret: for their owner alone, whole or not at all, and never inside a bundle."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from pramana.errors import KeyFileError
from pramana.randomness.whole_file import write_whole

_DATA_FILES = ("data.parquet", "data.csv", "data/part-00000.parquet", "data/part-00000.csv")


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Create a file with this content, whole or not at all; an existing file is never touched."""
    try:
        check_outside_bundles(path)
        write_whole(path, content, mode)
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
