"""Synthetic records in a store: two objects, the certificate first, so that no records are without it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pramana.bundle import check_new_object, scratch_beside
from pramana.errors import BundleError, PramanaError
from pramana.stores import StorePath, put_file

ENDING = ".certificate.json"  # of the certificate, after the name of the records


@contextlib.contextmanager
def objects_of_records(target: StorePath) -> Iterator[Path]:
    """A place on this machine for the records, beside which their certificate lies; both go up when all is well.

    A certificate without records, as a killed run leaves it, is taken up by the run that makes the same one.
    """
    beside = target.with_name(target.name + ENDING)
    check_new_object(target)
    if not (left := beside.again().is_file()):
        check_new_object(beside)
    with contextlib.ExitStack() as held:
        try:  # locked while this process lives: the next one removes what a killed one left
            folder = held.enter_context(scratch_beside(Path(tempfile.gettempdir()).resolve() / "pramana-records"))
        except OSError as error:
            raise BundleError("There must be a folder for temporary files", error.strerror) from None
        place = folder / target.name
        yield place
        certificate = place.with_name(place.name + ENDING)
        if left and not _is(beside, certificate.read_bytes()):
            check_new_object(beside)
        check_new_object(target)
        if not left:
            put_file(beside, certificate, BundleError)
        try:
            put_file(target, place, BundleError)
        except BaseException:
            if not left:
                _remove_unless(target, beside)
            raise


def _remove_unless(target: StorePath, certificate: StorePath) -> None:
    """Only what this run has put, and only where the store says that there are no records: its answer to them may
    be all that was lost."""
    with contextlib.suppress(PramanaError):
        if not target.again().exists():
            certificate.unlink()


def _is(path: StorePath, content: bytes) -> bool:
    now = path.again()
    return now.is_file() and now.stat().st_size == len(content) and now.read_bytes(len(content)) == content
