"""Which files a source is, and that they are files."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from pramana.errors import SourceError
from pramana.stores import AnyPath, StorePath

SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".sav": "sav", ".zsav": "sav", ".dta": "dta", ".sas7bdat": "sas7bdat",
    ".xpt": "xpt", ".xlsx": "xlsx", ".xlsm": "xlsx", ".xlsb": "xlsx", ".xls": "xlsx", ".ods": "xlsx",
}  # fmt: skip
KINDS = tuple(dict.fromkeys(SUFFIXES.values()))
IN_STORES = ("csv", "parquet", "arrow")  # that can be read where they lie
SURVEYS = ("sav", "dta", "sas7bdat", "xpt")  # files of programs for statistics
_PACKED = (".gz", ".zst")


def is_packed(path: AnyPath) -> bool:
    return path.suffix.lower() in _PACKED


def kind_by_name(path: AnyPath) -> str | None:
    """What a file's ending says it is; of a packed one, the ending before. None where it says nothing."""
    suffix = path.suffix.lower()
    if is_packed(path):
        return "csv" if SUFFIXES.get(Path(path.stem).suffix.lower()) == "csv" else None
    return SUFFIXES.get(suffix)


def check_kind(path: AnyPath, kind: str) -> None:
    """A pipe or a device can be read once, or for ever: a table is read from a file or a folder of files."""
    if isinstance(path, StorePath) and kind not in IN_STORES:
        raise SourceError(
            f"A source in a store must be {', '.join(IN_STORES[:-1])} or {IN_STORES[-1]}",
            f"format = {kind!r}",
            "Copy it to this machine first.",
        )
    try:
        str(path).encode()  # Arrow takes names in UTF-8 only
        mode = path.stat().st_mode
    except (FileNotFoundError, ValueError):
        if isinstance(path, Path) and re.search(
            r"^[a-z][a-z0-9+]*:|/[a-z][a-z0-9+]*:/", str(path)
        ):  # it may hold a password, which must not be shown
            raise SourceError(
                "A source must be a file", "a URL", "Databases are named in a recipe, by url."
            ) from None
        raise SourceError(f"The source {path} must exist", "no such file") from None
    if stat.S_ISDIR(mode):
        if kind not in ("csv", "parquet"):
            raise SourceError(f"The source {path} must be a file", f"a folder, and format = {kind!r}")
        if not files_of(path, kind):
            raise SourceError(f"The folder {path} must hold {kind} files", "none")
    elif not stat.S_ISREG(mode):
        raise SourceError(f"The source {path} must be a file", "a device")


def is_folder(path: AnyPath) -> bool:
    """Whether there is more than one file to it; false, and no error, for what can be no name."""
    return path.is_dir() if isinstance(path, StorePath) else os.path.isdir(path)  # noqa: PTH112


def files_of(path: AnyPath, kind: str) -> list[AnyPath]:
    """The files of a source in the order of their names; of a folder those of its kind, hidden ones left out.

    Folders of Parquet may have folders inside, as engines write them.
    """
    if not is_folder(path):
        return [path]
    if isinstance(path, StorePath):
        objects = path.rglob("*") if kind == "parquet" else path.glob("*")
        return [p for p in objects if kind_by_name(p) == kind and not _hidden(p.relative_to(path).parts)]
    inside = path.rglob("*") if kind == "parquet" else path.glob("*")
    found = (p for p in inside if kind_by_name(p) == kind and p.is_file())
    return [*sorted(p for p in found if not _hidden(p.relative_to(path).parts))]


def _hidden(parts: tuple[str, ...]) -> bool:
    return any(part[0] in "._" for part in parts)
