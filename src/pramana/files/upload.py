"""A bundle in a store: whole or not at all, although stores cannot rename.

It is made in a hidden folder of this machine, where the command runs, and uploaded when it is whole: last the
certificate, without which it is no bundle. Before that a claim is written beside it: an object under a name that
no other run can guess, which lists what will be uploaded. Listings show every object that was written before
them, so that of two runs that claim the same output at least one sees the other, and withdraws. A run that is
killed leaves its claim, and on this machine the folder of the same name: only a run that has both removes what
was uploaded, and only what is, byte for byte, what the claim lists. Parts that executors write are in the store
already, under a prefix of the claim's name, which goes with it; the store copies them to their names when all
the rest is ready.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pramana.errors import BundleError, PramanaError
from pramana.files.atomic import CERTIFICATE, already_exists, disk_fault, is_own, lock_of
from pramana.files.folder import (
    do_last,
    flush_all,
    key_of_a_table,
    locked_folder,
    name_here,
    remove_notes,
    sweep_key_beside,
    write_key_and_note,
)
from pramana.files.parts import IN_STORE, Claim, Entry, PartPrefix, hidden_parts, is_claimed
from pramana.files.secret import NewKey
from pramana.files.store_path import StorePath, put_file

_COPIES = 16  # that a store makes at a time; no byte of them comes here


def check_free(out: StorePath) -> None:
    """Refuse before any work is done: where anything lies, nothing is written."""
    if not out.key:
        raise BundleError(
            f"{out} must name a folder of the bucket", "the bucket itself", "Write s3://bucket/name."
        )
    out.check_bucket()
    check_outside(out)
    now = out.again()
    if now.is_file() or now.files:
        hint = "Choose another name."
        if is_claimed(out):
            left = "its command, run again where it ran, removes what it left"
            hint = f"A run is writing it, or was killed while it did: {left}. {hint}"
        raise already_exists(f"The output {out}", BundleError, hint)


def check_outside(path: StorePath) -> None:
    """Nothing is put into a bundle, whose files are certified."""
    above = path.parent
    while above.key:
        if (above / CERTIFICATE).is_file():
            raise BundleError(f"{path} must lie outside of every bundle", f"a path inside {above}")
        above = above.parent


def check_new_object(path: StorePath) -> None:
    """Refuse before any work is done what could not be written as one new object."""
    check_outside(path)
    if path.again().exists():
        raise already_exists(path, BundleError)
    path.check_bucket()


@contextlib.contextmanager
def whole_upload(out: StorePath, key: NewKey | None, last: Callable[[], None] | None) -> Iterator[Path]:
    """Yield a folder to fill, which becomes `out` when the block ends well; otherwise as `whole_folder`."""
    sweep_upload(out)
    check_free(out)
    with _staged(out) as (staged, undo):
        try:
            yield staged
            flush_all(staged)
            staged.chmod(0o700)
            write_key_and_note(key, staged, undo)
            upload = BundleUpload(out, _token(staged), staged)
        except BaseException:
            _withdraw(Claim(out, _token(staged)), staged)
            raise
        try:
            upload.begin()
            do_last(last, key, staged, undo)
            upload.end()
        except BaseException:
            _give_up(upload, undo)
            raise
        undo.pop_all()  # from here on it is there, and its key stays, whatever the store says
        with contextlib.suppress(PramanaError):
            _leave(upload)


@contextlib.contextmanager
def compared_upload(out: StorePath) -> Iterator[Path]:
    """Yield a folder to fill as `whole_upload` does; nothing of it stays, and `out` must be the same already.

    Parts go where those of a new bundle would go: executors may share no folder with this machine.
    """
    with _staged(out) as (staged, _):
        try:
            yield staged
            if not BundleUpload(out, _token(staged), staged).is_there():
                check_free(out)
                raise BundleError(f"{out} must stay until it is compared", "objects that were removed")
        finally:
            _withdraw(Claim(out, _token(staged)), staged)


@contextlib.contextmanager
def _staged(out: StorePath) -> Iterator[tuple[Path, contextlib.ExitStack]]:
    """A locked folder, and what must happen if this ends badly: at first, that the folder is emptied."""
    undo = contextlib.ExitStack()
    start = name_here(out).with_name(_start_of_name(out))
    try:
        staged, lock = locked_folder(start, 16)
    except OSError as error:
        must = f"{start.parent} must be writable: a bundle is made here before it goes up"
        raise BundleError(must, disk_fault(error)) from None
    try:
        undo.callback(_empty, staged)
        yield staged, undo
    except OSError as error:
        raise BundleError(f"{staged} must be writable", disk_fault(error)) from None
    finally:
        undo.close()
        with contextlib.suppress(OSError):
            staged.rmdir()  # unless there is something left to do
        os.close(lock)


def _leave(upload: BundleUpload) -> None:
    """The bundle is there: remove everything else."""
    upload.claim.drop()
    _forget(upload.staged)
    _empty(upload.staged)
    remove_notes(upload.staged)


def _forget(staged: Path) -> None:
    shutil.rmtree(staged / IN_STORE, ignore_errors=True)


def _withdraw(claim: Claim, staged: Path) -> None:
    """Remove what tasks have written to the store; the next run does what cannot be done now."""
    if (staged / IN_STORE).exists():
        with contextlib.suppress(PramanaError):
            claim.clear()
            _forget(staged)


def _give_up(upload: BundleUpload, undo: contextlib.ExitStack) -> None:
    """Remove what was uploaded. Where the store refuses, the next run must still know what is ours."""
    try:
        if upload.may_be_whole and upload.claim.is_whole():
            undo.pop_all()
            _leave(upload)
        else:
            upload.claim.clear()
            _forget(upload.staged)
    except PramanaError as error:
        if upload.may_be_whole:  # nobody can tell whether there is a bundle: its key must stay
            undo.pop_all()
            raise BundleError(
                f"The store must say whether {upload.claim.out} is whole",
                "no answer after the certificate was sent",
                "Its key was kept. Run the same command again when the store answers: it tells, or begins anew.",
            ) from error
        undo.callback((upload.staged / IN_STORE).mkdir, exist_ok=True)
        undo.callback(_empty, upload.staged)


def _empty(folder: Path) -> None:
    """Remove everything in it but the note that it is still needed."""
    for path in folder.iterdir():
        if path.name != IN_STORE:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


class BundleUpload:
    """The upload of a staged bundle."""

    def __init__(self, out: StorePath, token: str, staged: Path) -> None:
        self.claim, self.staged = Claim(out, token), staged
        here = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
        notes = hidden_parts(staged)
        self.hidden = {name: str(note.pop("hidden")) for name, note in notes.items()}  # in the store already
        self.files = {name: _entry(staged / name) for name in here if not name.startswith(IN_STORE)} | notes
        self.may_be_whole = False  # from when the certificate is sent

    def begin(self) -> None:
        """Everything but the certificate; refused where anything else lies there."""
        self.claim.lay()
        check_free(self.claim.out)
        self.claim.write(self.files)  # what lies there from now on under these names is this run's
        others = {name: entry["bytes"] for name, entry in self.files.items() if name != CERTIFICATE}
        for name in others:
            if name not in self.hidden:
                self._put(name)
        copying = ThreadPoolExecutor(_COPIES)
        try:
            list(copying.map(self._copy, self.hidden))
        finally:
            copying.shutdown(cancel_futures=True)
        out = self.claim.out
        there = {path.relative_to(out).as_posix(): path.stat().st_size for path in out.again().files}
        if there != others or self.claim.files() != self.files:
            raise BundleError(f"The output {out} must hold objects of this run alone", "other objects there")

    def end(self) -> None:
        """The certificate. A store that fails now may have written it: it is asked, as long as it answers."""
        self.may_be_whole = True
        try:
            self._put(CERTIFICATE)
        except PramanaError:
            if not self.claim.has(CERTIFICATE, self.files[CERTIFICATE]):
                self.may_be_whole = False
                raise

    def is_there(self) -> bool:
        """Whether the objects are these files, byte for byte, and no others."""
        there = {path.relative_to(self.claim.out).as_posix() for path in self.claim.out.again().files}
        return there == {*self.files} and all(self.claim.has(name, self.files[name]) for name in sorted(there))

    def _put(self, name: str) -> None:
        put_file(self.claim.out / name, self.staged / name, BundleError, self.claim.hidden)

    def _copy(self, name: str) -> None:
        """By the store itself."""
        (self.claim.hidden / self.hidden[name]).copy_within(self.claim.out / name, BundleError)


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


# ---------------------------------------------------------------- on this machine


def _start_of_name(out: StorePath) -> str:
    return f".{out.name}.upload-{hashlib.sha256(str(out).encode()).hexdigest()[:16]}-"


def _token(staged: Path) -> str:
    return staged.name.rpartition("-")[2]


def part_prefix(out: StorePath, staged: Path) -> PartPrefix:
    """Where executors write the parts of a bundle whose other files are gathered in a staged folder."""
    return PartPrefix(Claim(out, _token(staged)), staged)


def sweep_upload(out: StorePath) -> None:
    """Remove what this user's killed runs with the same output left, here and in the store."""
    folder = name_here(out).parent
    try:
        left = [path for path in folder.iterdir() if path.name.startswith(_start_of_name(out))]
    except OSError:
        return
    for staged in left:
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            if not is_own(os.lstat(staged)):
                continue
            if staged.is_dir():
                with lock_of(staged):
                    _sweep_one(out, staged)
            elif not staged.with_suffix("").exists():
                staged.unlink()  # a note whose folder is gone, since the bundle is there


def _sweep_one(out: StorePath, staged: Path) -> None:
    claim = Claim(out, _token(staged))
    local, must_stay = staged / CERTIFICATE, False
    key_file = name_here(out).with_name(out.name + ".key")
    if claim.is_whole() or (local.is_file() and claim.has(CERTIFICATE, _entry(local))):
        claim.drop()
        remove_notes(staged)
    else:
        claim.clear()
        must_stay = sweep_key_beside(staged, key_file)
    shutil.rmtree(staged, ignore_errors=True)
    if must_stay:
        raise key_of_a_table(key_file)
