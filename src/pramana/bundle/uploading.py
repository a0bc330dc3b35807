"""A bundle in a store: whole or not at all, although stores know no rename.

It is made in a hidden folder of this machine, where the command runs, and goes up when it is whole: last the
certificate, without which it is no bundle. Before that a claim is laid beside its place: an object under a name
that no other run can guess, which lists what will go up. Listings show every object that was written before them,
so that of two runs that lay a claim at least one sees the other's, and withdraws. A run that is killed leaves its
claim, and on this machine the folder of its name: only who has both takes away what went up, and of that only
what is, byte for byte, what the claim lists.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pramana.bundle.folder import (
    key_of_a_table,
    name_here,
    place_key,
    remove_notes,
    settle,
    sweep_key_beside,
    write_used_note,
)
from pramana.errors import BundleError, PramanaError
from pramana.randomness import Key, is_own, lock_of
from pramana.stores import StorePath, put

CERTIFICATE = "certificate.json"
_BLOCK = 1 << 22  # bytes that are sent at a time
_MOST_CLAIM = 1 << 26
_FORMAT = "pramana-upload"
_TO_CLEAR = ".to-clear"  # in a folder whose name tells what is left in the store
Entry = dict[str, object]


def check_free(out: StorePath) -> None:
    """Refuse before any work is done: where anything lies, nothing is written."""
    if not out.key:
        raise BundleError(
            f"{out} must name a folder of the bucket", "the bucket itself", "Write s3://bucket/name."
        )
    out.check_bucket()
    above = out.parent
    while above.key:
        if (above / CERTIFICATE).is_file():
            raise BundleError(f"{out} must lie outside of every bundle", f"a place inside {above}")
        above = above.parent
    now = out.again()
    if now.is_file() or now.files:
        raise BundleError(
            f"The output {out} must not exist yet", "objects under that name", "Choose another name."
        )


@contextlib.contextmanager
def whole_upload(
    out: StorePath, key: Key | None, key_file: Path | None, last: Callable[[], None] | None
) -> Iterator[Path]:
    """Yield a folder to fill, which becomes `out` when the block ends well; otherwise as `whole_folder`."""
    sweep_upload(out)
    check_free(out)
    undo = contextlib.ExitStack()  # what must happen if this ends badly
    staged, lock = _locked_folder(out)
    try:
        undo.callback(_empty, staged)
        yield staged
        settle(staged)
        staged.chmod(0o700)
        if key is not None and key_file is not None:
            place_key(key, key_file, staged, undo)
        upload = BundleUpload(out, _token(staged), staged)
        try:
            upload.begin()
            if last is not None:
                if key is not None and key_file is not None:
                    write_used_note(key, staged, undo)
                last()
            upload.end()
        except BaseException:
            _give_up(upload, undo)
            raise
        undo.pop_all()  # from here on it is there, and its key stays, whatever the store says
        with contextlib.suppress(PramanaError):
            _leave(upload)
    except OSError as error:
        raise BundleError(f"{staged} must be writable", error.strerror or "an error of the file system") from None
    finally:
        undo.close()
        with contextlib.suppress(OSError):
            staged.rmdir()  # unless there is something left to do
        os.close(lock)


def _leave(upload: BundleUpload) -> None:
    """The bundle is there: nothing but it stays."""
    upload.claim.drop()
    _empty(upload.staged)
    remove_notes(upload.staged)


def _give_up(upload: BundleUpload, undo: contextlib.ExitStack) -> None:
    """Take back what went up. Where the store does not let us, the next run must still know what is ours."""
    try:
        if upload.may_be_whole and upload.claim.is_whole():
            undo.pop_all()
            _leave(upload)
        else:
            upload.claim.clear()
    except PramanaError as error:
        if upload.may_be_whole:  # nobody can tell whether there is a bundle: its key must stay
            undo.pop_all()
            raise _unsure(upload) from error
        undo.callback((upload.staged / _TO_CLEAR).touch)
        undo.callback(_empty, upload.staged)


def _empty(folder: Path) -> None:
    """Everything in it but the note that it is still needed."""
    for path in folder.iterdir():
        if path.name != _TO_CLEAR:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _unsure(upload: BundleUpload) -> BundleError:
    return BundleError(
        f"The store must say whether {upload.claim.out} is whole",
        "no answer after the certificate was sent",
        "Its key was kept. Run the same command again when the store answers: it tells, or begins anew.",
    )


@dataclass(frozen=True)
class Claim:
    """What a run says it will put under a prefix, beside which it lies."""

    out: StorePath
    token: str

    @property
    def path(self) -> StorePath:
        return self.out.with_name(f".{self.out.name}.upload") / self.token

    def write(self, files: Mapping[str, Entry]) -> None:
        text = json.dumps({"format": _FORMAT, "version": 1, "files": files}, sort_keys=True)
        put(self.path, [text.encode()], BundleError)

    def lay(self) -> None:
        """Refused where another run has laid one; then this one is withdrawn. It lists nothing yet."""
        self.write({})
        if [path for path in self.path.parent.again().files if path.name != self.token]:
            self.drop()
            raise BundleError(
                f"The output {self.out} must be free",
                "one that another run is writing, or was writing when it ended",
                "Wait for it; or run its command again where it ran, which clears up what it left.",
            )

    def files(self) -> dict[str, Entry] | None:
        """What it lists; None where there is none."""
        now = self.path.again()
        if not now.is_file():
            return None
        try:
            content = json.loads(now.read_bytes(_MOST_CLAIM))
            return {str(name): dict(entry) for name, entry in content["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BundleError(f"{self.path} must be as it was written", "something else") from None

    def is_whole(self) -> bool:
        """Whether all that it lists is there, the certificate included."""
        listed = self.files()
        return bool(listed) and all(self.has(name, entry) for name, entry in (listed or {}).items())

    def has(self, name: str, entry: Entry) -> bool:
        """Whether an object is there, byte for byte as listed."""
        path = (self.out / name).again()
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            return False
        digest = hashlib.sha256()
        with path.open() as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest() == entry["sha256"]

    def clear(self) -> None:
        """Remove what it lists, as far as that is there as listed, and then the claim itself."""
        for name, entry in (self.files() or {}).items():
            if self.has(name, entry):
                (self.out / name).unlink()
        self.drop()

    def drop(self) -> None:
        if self.path.again().is_file():
            self.path.unlink()
        folder = self.path.parent.again()
        if folder.is_dir() and not folder.files:
            folder.remove_folder()


class BundleUpload:
    """The files of a staged bundle on their way up."""

    def __init__(self, out: StorePath, token: str, staged: Path) -> None:
        self.claim, self.staged = Claim(out, token), staged
        names = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
        self.files = {name: _entry(staged / name) for name in names}
        self.may_be_whole = False  # from when the certificate is sent

    def begin(self) -> None:
        """Everything but the certificate; refused where anything else lies there."""
        self.claim.lay()
        check_free(self.claim.out)
        self.claim.write(self.files)  # what lies there from now on under these names is this run's
        others = [name for name in self.files if name != CERTIFICATE]
        for name in others:
            self._put(name)
        there = {path.relative_to(self.claim.out).as_posix() for path in self.claim.out.again().files}
        if there != set(others) or self.claim.files() != self.files:
            raise BundleError(f"The output {self.claim.out} must be this run's alone", "other objects there")

    def end(self) -> None:
        """The certificate. A store that fails now may have written it: it is asked, as long as it answers."""
        self.may_be_whole = True
        try:
            self._put(CERTIFICATE)
        except PramanaError:
            if not self.claim.has(CERTIFICATE, self.files[CERTIFICATE]):
                self.may_be_whole = False
                raise

    def _put(self, name: str) -> None:
        with (self.staged / name).open("rb") as file:
            put(self.claim.out / name, iter(lambda: file.read(_BLOCK), b""), BundleError)


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


# ---------------------------------------------------------------- on this machine


def _start_of_name(out: StorePath) -> str:
    return f".{out.name}.upload-{hashlib.sha256(str(out).encode()).hexdigest()[:16]}-"


def _token(staged: Path) -> str:
    return staged.name.rpartition("-")[2]


def _locked_folder(out: StorePath) -> tuple[Path, int]:
    staged = name_here(out).with_name(_start_of_name(out) + secrets.token_hex(16))
    try:
        staged.mkdir(mode=0o700)
    except OSError as error:
        raise BundleError(
            f"{staged.parent} must be writable: a bundle is made here before it goes up", error.strerror
        ) from None
    lock = os.open(staged, os.O_RDONLY | os.O_NOFOLLOW)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return staged, lock


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
    local = staged / CERTIFICATE
    finished = claim.is_whole() or (local.is_file() and claim.has(CERTIFICATE, _entry(local)))
    if finished:
        claim.drop()
        remove_notes(staged)
    else:
        claim.clear()
        key_file = name_here(out).with_name(out.name + ".key")
        kept = sweep_key_beside(staged, key_file)
        shutil.rmtree(staged, ignore_errors=True)
        if kept:
            raise key_of_a_table(key_file)
    shutil.rmtree(staged, ignore_errors=True)
