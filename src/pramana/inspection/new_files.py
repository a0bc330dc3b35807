"""Files that appear whole or not at all, and take the place of none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.errors import InputError, KeyFileError
from pramana.randomness import bundle_around, write_new

if TYPE_CHECKING:
    from pramana.inspection.inspecting import Inspection


def write_page(found: Inspection, path: Path) -> None:
    """The page of an inspection, readable by its owner alone."""
    write_all({path: found.html()}, mode=0o600)


def check_free(paths: Iterable[Path]) -> None:
    """Refuse before any work is done."""
    for path in paths:
        try:
            taken = os.path.lexists(path)
            str(path).encode()
        except ValueError:
            raise InputError("A new file must have a name", "a name that is none") from None
        if taken:
            raise InputError(
                f"{path} must not exist yet", "an existing file", "Choose another name, or move it away."
            )
        folder = path.absolute().parent
        if not folder.is_dir():
            raise InputError(f"The folder {folder} must exist", "none", "Create it first.")
        if (bundle := bundle_around(path)) is not None:
            raise InputError(f"{path} must lie outside of every bundle", f"a place inside {bundle}")


def write_all(files: Mapping[Path, str], mode: int = 0o666) -> None:
    """All of the files, in their order; where one cannot be written, none stays."""
    check_free(files)
    with contextlib.ExitStack() as undo:
        for path, text in files.items():
            try:
                write_new(path, text.encode("utf-8"), mode)
            except KeyFileError as error:
                raise InputError(f"{path} must be writable, and new", error.got) from None
            undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()
