"""One new file, here or in a store: whole or not at all, and never in the place of another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from pramana.errors import InputError, PramanaError
from pramana.stores.faults import store_faults
from pramana.stores.store_path import StorePath


def put_new(path: StorePath, content: Iterable[bytes], kind: type[InputError]) -> None:
    """Write a new object; one that exists is refused. What cannot be written in full is taken away again."""
    if path.again().exists():
        raise kind(f"{path} must not exist yet", "an existing one", "Choose another name.")
    put(path, content, kind)


def put(path: StorePath, content: Iterable[bytes], kind: type[InputError]) -> None:
    """Write an object. Stores show it when it is whole; where it is not, it is removed."""
    with store_faults(path, kind):
        file = path.open("wb")
        try:
            for block in content:
                file.write(block)
            file.close()
        except BaseException:
            # Arrow has no word for giving an upload up: what is closed appears, and is removed then. Where the
            # store itself has failed nothing appears, and closing says so once more.
            with contextlib.suppress(OSError, ValueError, PramanaError):
                file.close()
                path.unlink()
            raise
