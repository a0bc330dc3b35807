"""One new file, here or in a store: whole or not at all, and never in the place of another."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.errors import InputError, PramanaError
from pramana.stores.faults import store_faults
from pramana.stores.store_path import StorePath

if TYPE_CHECKING:
    from pyarrow import NativeFile

_BLOCK = 1 << 22  # bytes that are sent at a time
# Where an object is there, and empty, from when it is begun; the others show it when it was sent to its end.
_SEEN_EARLY = ("abfs", "abfss", "hdfs")


def put_new(path: StorePath, content: Iterable[bytes], kind: type[InputError]) -> None:
    """Write a new object; one that exists is refused. What cannot be written in full is taken away again."""
    if path.again().exists():
        raise kind(f"{path} must not exist yet", "an existing one", "Choose another name.")
    put(path, content, kind)


def put(
    path: StorePath, content: Iterable[bytes], kind: type[InputError], hidden: StorePath | None = None
) -> None:
    """Write an object, which is seen when it is whole; where it is not, it is removed.

    What needs a place until it is whole gets one in `hidden`, else in a hidden folder beside its own.
    """
    with contextlib.ExitStack() as after:
        target = path
        if path.scheme in _SEEN_EARLY or (hidden is None and path.again().is_file()):
            token = secrets.token_hex(8)
            folder = path.with_name(f".{path.name}.{token}") if hidden is None else hidden / token
            after.callback(_remove, folder)
            target = folder / path.name
        with new_object(target, kind) as file:
            for block in content:
                file.write(block)
        if target is not path:
            target.copy_within(path, kind)


def put_file(path: StorePath, file: Path, kind: type[InputError], hidden: StorePath | None = None) -> None:
    """The same of a file of this machine."""
    with file.open("rb") as content:
        put(path, iter(lambda: content.read(_BLOCK), b""), kind, hidden)


def _remove(folder: StorePath) -> None:
    with contextlib.suppress(OSError, PramanaError):
        folder.remove_folder()


@contextlib.contextmanager
def new_object(path: StorePath, kind: type[InputError]) -> Iterator[ObjectWriter]:
    """An object to be written in the block, where nobody minds one that is not whole yet.

    What else fails in the block is not the store's.
    """
    try:
        with store_faults(path, kind):
            file = path.open("wb", kind)
    except FileNotFoundError:
        raise kind(f"{path} must lie in a bucket that exists", "none") from None
    whole = False
    try:
        yield ObjectWriter(path, kind, file)
        whole = True
        with store_faults(path, kind):
            file.close()
    except BaseException:
        # Arrow has no word for giving an upload up: what is closed appears, and is removed where it is not whole.
        # Where the store itself has failed closing says so once more, and nothing appears; or all of it, if no
        # more than the answer was lost. A whole object stays: its writer may have a use for it.
        with contextlib.suppress(OSError, ValueError, PramanaError):
            file.close()
            if not whole:
                path.unlink()
        raise


@dataclass(frozen=True)
class ObjectWriter:
    """What takes the bytes of an object that is on its way."""

    path: StorePath
    kind: type[InputError]
    file: NativeFile

    def write(self, block: bytes) -> None:
        with store_faults(self.path, self.kind):
            self.file.write(block)
