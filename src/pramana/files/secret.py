"""Files that hold a secret: readable by their owner alone, whole or not at all, and never inside a bundle."""

from __future__ import annotations

import contextlib
import hmac
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pramana.errors import KeyFileError
from pramana.files.atomic import already_exists, bundle_around, is_own, sweep_unfinished, write_whole

KEY_BYTES = 32


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Create a file with this content outside of every bundle; an existing file is never touched."""
    try:
        check_outside_bundles(path)
        write_whole(path, content, mode)
    except FileExistsError:
        raise already_exists(
            f"The key file {path}", KeyFileError, "Choose another name; no key is ever replaced."
        ) from None
    except OSError as error:
        raise KeyFileError(f"The key file {path} must be writable", error.strerror) from None
    except ValueError:
        raise KeyFileError("The name of a key file must not contain a zero byte or half a character") from None


@dataclass(frozen=True)
class NewKey:
    """A key that is to become a file."""

    path: Path
    secret: bytes = field(repr=False)

    @property
    def content(self) -> bytes:
        return self.secret.hex().encode() + b"\n"

    def write(self) -> None:
        write_new(self.path, self.content, 0o600)

    def remove(self) -> None:
        """Remove the file if it holds this key: then this run has written it."""
        with contextlib.suppress(OSError):
            if is_own(os.lstat(self.path)) and self.path.read_bytes() == self.content:
                self.path.unlink()


def commitment(secret: bytes) -> str:
    """A public value that tells two keys apart and nothing about either: it is in certificates and in notes."""
    return hmac.digest(secret, b'["pramana",1,"commitment"]', "sha256").hex()


def commitment_in(content: bytes) -> str | None:
    """The commitment of the key that a key file with this content holds; None where it holds no key."""
    try:
        secret = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        return None
    return commitment(secret) if len(secret) == KEY_BYTES else None


# ---------------------------------------------------------------- where it lies, and who can read it


def check_outside_bundles(path: Path) -> None:
    """A bundle is given away as a whole: a key inside would go along, and undo it."""
    if (bundle := bundle_around(path)) is not None:
        raise KeyFileError(
            f"The key file {path} must lie outside of every bundle",
            f"a path inside {bundle}",
            "Choose another folder.",
        )


def own_secret_exists(path: Path) -> bool:
    """Whether the file exists, after a sweep; refused where another user may know its content."""
    sweep_unfinished(path)
    if not os.path.lexists(path):
        return False
    if not is_own(path.lstat()):
        raise KeyFileError(
            f"The key file {path} must be a file of your own",
            "a link, or a file of another user, who then knows the key",
            "Choose another name.",
        )
    return True


def check_private(path: Path) -> None:
    """Refuse a key that others can read.

    Refused rather than warned of: the key undoes a release, and a warning on a screen that nobody watches protects
    no one. Where the file system has no modes (a memory stick, a folder shared with Windows) every file looks
    open to all and chmod does nothing; access is controlled elsewhere, and the key is accepted.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & 0o077 and _has_modes(path.parent):
        raise KeyFileError(
            f"The key file {path} must be readable by its owner alone",
            f"mode {stat.S_IMODE(mode):o}",
            f"Run `chmod 600 {path}`, and think of who may have read it.",
        )


def _has_modes(folder: Path) -> bool:
    """Whether a file created for its owner alone is shown as such; assumed where none can be created."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mode & 0o077 == 0
    except OSError:
        return True
