"""A folder that appears whole or not at all, also under kill -9.

Everything is written into a hidden sibling, flushed to disk, and renamed in one step. Its writer holds a lock on
it, which ends with the writer however that ends: the next run removes hidden folders that are not locked. A new
key is written just before the rename. A note with the key's public commitment lies beside the hidden folder until
the rename is done, so that the next run recognises a key that was never used. In a folder that many may write to,
a run removes nothing but its own user's left-overs, and follows no link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import filecmp
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.errors import BundleError, KeyFileError
from pramana.files.atomic import NO_ROOM, already_exists, bundle_around, flush, is_own, lock_of, sweep_unfinished
from pramana.files.secret import NewKey, commitment, commitment_in, write_new
from pramana.files.store_path import AnyPath, StorePath

if TYPE_CHECKING:
    from pramana.files.parts import NewParts


_FILE_TIME = 946684800  # 2000-01-01: when a file was written would show how long a release took
_LONGEST_NAME = 230  # of the 255 bytes a name may have, the hidden sibling needs a few more
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
_NEW_KEY, _USED_KEY = ".key", ".used-key"  # endings of the notes beside a hidden folder


def check_new(out: AnyPath) -> None:
    """Refuse, before any work is done, an output that exists or cannot be written."""
    if isinstance(out, StorePath):
        from pramana.files.upload import check_free

        check_free(out)
        return
    try:
        str(out.absolute()).encode()
        os.lstat(out)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BundleError(f"{out} must be a path for a new folder", error.strerror) from None
    except ValueError:
        raise BundleError("The name of the output must not contain a zero byte or half a character") from None
    else:
        raise _exists_already(out)
    parent = out.absolute().parent
    if (length := len(os.fsencode(out.name))) > _LONGEST_NAME:
        raise BundleError(
            f"The name of the output folder must have at most {_LONGEST_NAME} bytes", f"{length} bytes"
        )
    if not parent.is_dir():
        raise BundleError(f"The folder {parent} does not exist", hint="Create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BundleError(f"You may not write to the folder {parent}", hint="Choose another one.")
    if (bundle := bundle_around(out)) is not None:
        raise BundleError(f"{out} must lie outside of every bundle", f"a path inside {bundle}")


def is_taken(out: AnyPath) -> bool:
    """Whether anything lies there."""
    return bool(out.again().files) if isinstance(out, StorePath) else os.path.lexists(out)


def name_here(out: AnyPath) -> Path:
    """A bundle's name on this machine, beside which its key lies; for a store, in the folder of the command."""
    return Path.cwd() / out.name if isinstance(out, StorePath) else out.absolute()


def _exists_already(out: Path) -> BundleError:
    return already_exists(f"The output folder {out}", BundleError, "Choose another name, or move it away.")


@contextlib.contextmanager
def whole_folder(
    out: AnyPath, key: NewKey | None = None, last: Callable[[], None] | None = None
) -> Iterator[Path]:
    """Yield a folder to fill; it becomes `out` when the block ends well, and is removed when it does not.

    The file of `key` is written just before the rename, so that no bundle is ever without its key. `last` is
    called when only the rename is left to do. What it does outlasts this run: should the run be killed after it,
    the key stays. What is to lie in a store is written on this machine first.
    """
    if isinstance(out, StorePath):
        from pramana.files.upload import whole_upload

        with whole_upload(out, key, last) as staged:
            yield staged
        return
    check_new(out)
    out = out.absolute()
    sweep(out)
    undo = contextlib.ExitStack()  # what must happen if this ends badly
    lock = -1
    try:
        partial, lock = _locked_folder(out)
        undo.callback(shutil.rmtree, partial, ignore_errors=True)
        yield partial
        flush_all(partial)
        write_key_and_note(key, partial, undo)
        check_new(out)  # it may exist by now; rename would replace an empty folder
        do_last(last, key, partial, undo)
        partial.rename(out)
        undo.pop_all()  # from here on the bundle is there, and its key stays, whatever the disk says
        with contextlib.suppress(OSError):
            flush(out.parent)
        remove_notes(partial)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise BundleError(f"{out.parent} must have room for the release", "a full disk") from None
        if error.errno in _TAKEN:
            raise _exists_already(out) from None
        raise BundleError(f"{out} must be writable", error.strerror or "an error of the file system") from None
    finally:
        undo.close()
        if lock >= 0:
            os.close(lock)


def new_parts(out: AnyPath, folder: Path, spread: bool) -> NewParts:
    """Where the parts of `out` are written: the hidden `folder`, or, from many machines (`spread`), the store."""
    from pramana.files.parts import PartFolder

    if isinstance(out, StorePath) and spread:
        from pramana.files.upload import part_prefix

        return part_prefix(out, folder)
    return PartFolder(folder)


@contextlib.contextmanager
def scratch_beside(out: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `out` that is removed afterwards; the next run removes that of a killed one."""
    out = out.absolute()
    sweep(out)
    scratch, lock = _locked_folder(out)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes, parts of a set included, and nothing else."""
    names = [{path.name for path in folder.iterdir()} if _plain(folder) else {""} for folder in (one, other)]
    return names[0] == names[1] and all(_same(one / name, other / name) for name in names[0])


def _same(one: Path, other: Path) -> bool:
    if not (_plain(one) and _plain(other)) or one.is_dir() != other.is_dir():
        return False
    return same_files(one, other) if one.is_dir() else filecmp.cmp(one, other, False)


def _plain(path: Path) -> bool:
    return (path.is_file() or path.is_dir()) and not path.is_symlink()


# ---------------------------------------------------------------- what killed runs left


def sweep(out: AnyPath) -> None:
    """Remove what this user's killed runs left behind: hidden folders, and a key that no bundle was made with.

    A key is kept, and reported, where the run had begun to commit a table in a database under it.
    """
    if isinstance(out, StorePath):
        from pramana.files.upload import sweep_upload

        sweep_upload(out)
        return
    out = out.absolute()
    if not out.name:
        return
    try:
        parent = os.open(out.parent, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError):  # `check_new` says what is wrong with it
        return
    try:
        left = re.compile(rf"\.{re.escape(out.name)}\.partial-[0-9a-f]{{8}}({_NEW_KEY}|{_USED_KEY})?")
        names = [path.name for path in out.parent.iterdir() if left.fullmatch(path.name)]
        kept = [_sweep_one(parent, name, out) for name in names]
    finally:
        os.close(parent)
    key_file = out.with_name(out.name + ".key")
    sweep_unfinished(key_file)
    if any(kept):
        raise key_of_a_table(key_file)


def key_of_a_table(key_file: Path) -> KeyFileError:
    return KeyFileError(
        f"The key file {key_file} must stay with the table that was written under it",
        "a run that was killed before its bundle appeared",
        "See whether its table is in the database. To make both again, drop it and pass "
        f"--key {key_file.name}; else move the key to where you keep it.",
    )


def _sweep_one(parent: int, name: str, out: Path) -> bool:
    """Whether a key was kept that a table may have been written under."""
    kept = False
    with contextlib.suppress(OSError):
        if not is_own(os.stat(name, dir_fd=parent, follow_symlinks=False)):
            return False
        folder = name.removesuffix(_NEW_KEY).removesuffix(_USED_KEY)
        if folder != name:
            if not _exists(parent, folder):  # it became the bundle, and the key is its own
                os.unlink(name, dir_fd=parent)
            return False
        with lock_of(name, parent):
            if not _exists(parent, out.name):
                kept = _sweep_key(parent, name, out.name + ".key")
            _sweep_notes(parent, out.with_name(name))
            shutil.rmtree(name, ignore_errors=True, dir_fd=parent)
    return kept


def _sweep_notes(parent: int, partial: Path) -> None:
    for ending in (_NEW_KEY, _USED_KEY):
        sweep_unfinished(_note(partial, ending))
        if _own_content(parent, partial.name + ending) is not None:
            os.unlink(partial.name + ending, dir_fd=parent)


def sweep_key_beside(partial: Path, key_file: Path) -> bool:
    """The same for one hidden folder whose bundle has not appeared; whether the key had to be kept."""
    parent = os.open(partial.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        kept = _sweep_key(parent, partial.name, key_file.name)
        _sweep_notes(parent, partial)
    finally:
        os.close(parent)
    sweep_unfinished(key_file)
    return kept


def _sweep_key(parent: int, folder: str, key_file: str) -> bool:
    """Remove a key that the killed run had created, if nothing was made with it; whether it must be kept."""
    content = _own_content(parent, key_file)
    if content is None:
        return False
    noted = commitment_in(content)
    if noted is None:
        return False
    if _own_content(parent, folder + _USED_KEY) == noted.encode():
        return True
    if _own_content(parent, folder + _NEW_KEY) == noted.encode():
        os.unlink(key_file, dir_fd=parent)
    return False


def _own_content(parent: int, name: str) -> bytes | None:
    """The content of this user's own small file; None for anything else, and for what a link leads to."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(200).strip() if is_own(os.fstat(descriptor)) else None


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


# ---------------------------------------------------------------- one run's own


def _locked_folder(out: Path) -> tuple[Path, int]:
    return locked_folder(out.parent / f".{out.name}.partial-", 4)


def locked_folder(start: Path, random_bytes: int) -> tuple[Path, int]:
    """A new folder whose name begins as `start`, and the lock that its writer holds on it."""
    while True:
        partial = start.with_name(start.name + secrets.token_hex(random_bytes))
        partial.mkdir(mode=0o700)
        lock = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if partial.exists():  # else another run removed it as a left-over before it was locked
            return partial, lock
        os.close(lock)


def _note(partial: Path, ending: str) -> Path:
    return partial.with_name(partial.name + ending)


def remove_notes(partial: Path) -> None:
    for ending in (_NEW_KEY, _USED_KEY):
        with contextlib.suppress(OSError):
            _note(partial, ending).unlink()


def write_key_and_note(key: NewKey | None, partial: Path, undo: contextlib.ExitStack) -> None:
    """Write a new key. Its note comes first, so that the next run recognises every key."""
    if key is None:
        return
    _write_note(key, partial, _NEW_KEY, undo)
    undo.callback(key.remove)
    key.write()


def do_last(
    last: Callable[[], None] | None, key: NewKey | None, partial: Path, undo: contextlib.ExitStack
) -> None:
    """Write outside of the bundle, such as to a database; first it is noted that the key may have been used."""
    if last is None:
        return
    if key is not None:
        _write_note(key, partial, _USED_KEY, undo)
    last()


def _write_note(key: NewKey, partial: Path, ending: str, undo: contextlib.ExitStack) -> None:
    undo.callback(_note(partial, ending).unlink, missing_ok=True)
    write_new(_note(partial, ending), commitment(key.secret).encode() + b"\n", 0o600)


def flush_all(folder: Path) -> None:
    """Flush every file to disk, and give all of them the same time, which says nothing of the run."""
    for path in sorted(folder.rglob("*")):
        flush(path)
        os.utime(path, (_FILE_TIME, _FILE_TIME))
    folder.chmod(0o777 & ~_umask())
    flush(folder)
    os.utime(folder, (_FILE_TIME, _FILE_TIME))


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
