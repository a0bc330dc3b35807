"""Files that appear whole or not at all, and take the place of none; and texts that are read like files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.bundle import scratch_beside
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
    """All of the files, in their order; where one cannot be written, none stays.

    A run that is killed leaves the first of them. The same run again takes those for its own: a file that is there
    with just this content is as good as written.
    """
    missing = {path: text for path, text in files.items() if not _is_written(path, text)}
    check_free(missing or files)
    with contextlib.ExitStack() as undo:
        for path, text in missing.items():
            try:
                write_new(path, text.encode("utf-8"), mode)
            except KeyFileError as error:
                raise InputError(f"{path} must be writable, and new", error.got) from None
            undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()


def _is_written(path: Path, text: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        content = text.encode("utf-8")
        return not path.is_symlink() and path.is_file() and path.read_bytes() == content
    return False


@contextlib.contextmanager
def readable_by_name(texts: Mapping[str, str], beside: Path) -> Iterator[dict[str, Path]]:
    """Texts with values of a table, under paths at which they can be read: in memory, which ends with the process.

    A system without files in memory gets a hidden folder beside what is to be written; the next run removes that
    of a killed one.
    """
    with contextlib.ExitStack() as stack:
        paths = {}
        folder: Path | None = None
        for name, text in texts.items():
            try:
                file = os.memfd_create("pramana-text", os.MFD_CLOEXEC)
            except (AttributeError, OSError):
                folder = folder or stack.enter_context(scratch_beside(beside))
                paths[name] = folder / name
                paths[name].write_text(text, "utf-8", newline="")
                continue
            stack.callback(os.close, file)
            with os.fdopen(file, "w", encoding="utf-8", newline="", closefd=False) as writing:
                writing.write(text)
            paths[name] = Path(f"/proc/self/fd/{file}")
        yield paths
