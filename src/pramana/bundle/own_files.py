"""What belongs to a bundle is a file: readers hang on a pipe, and a link leads to what is none of the bundle's."""

from __future__ import annotations

import os
from pathlib import Path

from pramana.errors import BundleError
from pramana.stores import not_a_file


def own_file(path: Path) -> Path:
    """The path of a bundle's file that is about to be read; refused where none lies there, or something else."""
    try:
        other = not_a_file(os.lstat(path).st_mode)
    except OSError as error:
        other = "none" if isinstance(error, FileNotFoundError) else error.strerror
    if other is not None:
        raise BundleError(f"{path} must be a file of the bundle", other)
    return path
