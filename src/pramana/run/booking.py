"""A release and the ledger that its recipe names: reserved before it is made, committed when it is there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import io
import os
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import rfc8785

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import KeyFileError, LedgerError, MatrixError, PramanaError, RefusedError
from pramana.files.atomic import write_whole
from pramana.files.secret import own_secret_exists
from pramana.files.store_path import AnyPath, StorePath
from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Booking
from pramana.ledger.state import Cost, Dataset, Release, ReleasedTable
from pramana.ledger.turns import whoami
from pramana.mechanisms.history import History
from pramana.methods.protocol import Plan
from pramana.methods.recipe import AnyRecipe
from pramana.methods.retention.plan import RandomisedPlan
from pramana.notions.guarantee import Guarantee
from pramana.notions.randomised import LocalPrivacy
from pramana.randomness.key import Key
from pramana.rows.protocol import Rows
from pramana.theory import rounding

Commit = Callable[[Certificate], tuple[str, ...]]
Group = tuple[str, ...]
_RELEASE = re.compile(r"[A-Za-z0-9_-]{1,64}")
ANYONE = "everyone"  # where neither [ledger] nor [about] names a recipient


@dataclass(frozen=True)
class Holding:
    """The key of a release, where it is or will be kept, and where its bundle goes."""

    key: Key
    key_file: Path | None
    out: AnyPath


@contextlib.contextmanager
def booked(
    recipe: AnyRecipe, plan: Plan, guarantees: Sequence[Guarantee], rows: Rows, holding: Holding
) -> Iterator[Commit]:
    """Reserve the release in its recipe's ledger; what is yielded commits it, and returns what it comes to.

    A release that fails has shown nothing to anyone, and is given up. One that is killed stays reserved and
    counts: its bundle may have appeared. So does one that another run has begun, whatever becomes of this one.
    """
    section = recipe.ledger
    assert section is not None
    with contextlib.closing(Ledger.open(section.path)) as ledger:
        key, key_file = holding.key, holding.key_file
        table = ReleasedTable(
            source=rows.commitment(),
            design=sealed(key, "design", rfc8785.dumps(plan.statement())),
            key=key.commitment(),
            records=plan.source_records,
            key_file="" if key_file is None else str(key_file.absolute()),
        )
        booking = _booking(recipe, holding.out, table, Cost.of(guarantees, plan.profile(), key.seeded))
        under = DigestUnderKeys.prepared(rows.commitment, ledger, booking.table.records)
        booked_now = ledger.book(booking, under)
        release, unsure = booked_now.release, booked_now.unsure
        try:
            yield lambda certificate: (*_committed(ledger, release, certificate, holding, section.people), *unsure)
        except BaseException:
            if booked_now.new and not _appeared(holding):
                with contextlib.suppress(LedgerError):
                    ledger.abandon(release.id, booking.who, "it failed before a bundle appeared")
            raise


def _appeared(holding: Holding) -> bool:
    """Whether the bundle is there: one under another key is that of a run beside this one."""
    try:
        if not (
            (holding.out / "certificate.json").again().is_file()
            if isinstance(holding.out, StorePath)
            else os.path.lexists(holding.out)
        ):
            return False
        key = Bundle.open(holding.out).certificate.key
    except PramanaError:
        return True  # for all that can be told
    return key is not None and key.get("commitment") == holding.key.commitment()


def _booking(recipe: AnyRecipe, out: AnyPath, table: ReleasedTable, cost: Cost) -> Booking:
    section = recipe.ledger
    assert section is not None
    return Booking(
        dataset=recipe.source.dataset or out.name,
        people=section.people,
        recipient=section.recipient or recipe.about.recipient or ANYONE,
        method=recipe.method,
        table=table,
        cost=cost,
        again=section.again,
        who=whoami(),
    )


def sealed(key: Key, what: str, content: bytes) -> str:
    """A digest for the ledger that only the key's holder can compute."""
    return hmac.digest(key.derive("ledger", what), content, "sha256").hex()


def _committed(
    ledger: Ledger, release: Release, certificate: Certificate, holding: Holding, people: str
) -> tuple[str, ...]:
    content = sealed(holding.key, "content", certificate.content.encode())
    try:
        if release.status == "committed":
            ledger.repeat(release.id, content, whoami())
        else:
            ledger.commit(release.id, content, whoami(), {"bundle": str(holding.out)})
    except LedgerError as error:
        hint = f"The bundle {holding.out} is made, and the ledger only says that it was about to be."
        raise LedgerError(error.what, error.got, hint) from None
    total = ledger.total(people)
    count = "1 release" if total.releases == 1 else f"{total.releases} releases"
    return (f"The ledger has {count} about {people!r}: {total.words()}.", *(f"{n}" for n in total.notes))


# ---------------------------------------------------------------- answers of people's own devices


def book_collection(recipe: AnyRecipe, plan: RandomisedPlan, page: str, out: Path) -> Release | None:
    """Reserve a survey in its recipe's ledger before anyone answers: what an answer tells is told when it is sent.

    The same page for the same folder is taken up again. A further wave counts on its own: people whose answers
    have not changed send what they sent before, but who has changed theirs is not known.
    """
    section = recipe.ledger
    if section is None:
        return None
    ratio = plan.mechanism.likelihood_ratio
    epsilon = None if ratio is None else rounding.log_up(ratio)
    source = hashlib.sha256(f"{page}\n{out.absolute()}".encode()).hexdigest()
    table = ReleasedTable(source=source, design=page, key="", records=0)
    cost = Cost(epsilon, promises=({"notion": LocalPrivacy.notion, "value": epsilon},))
    with contextlib.closing(Ledger.open(section.path)) as ledger:
        return ledger.book(_booking(recipe, out, table, cost), lambda _: None).release


def commit_collection(recipe: AnyRecipe, plan: RandomisedPlan, page: str, out: Path, content: str) -> bool:
    """The survey is closed, and its bundle is there. False where no ledger was waiting to hear it."""
    release = book_collection(recipe, plan, page, out)
    if recipe.ledger is None or release is None or release.status != "reserved":
        return False
    with contextlib.closing(Ledger.open(recipe.ledger.path)) as ledger:
        ledger.commit(release.id, content, whoami(), {"bundle": str(out)})
    return True


# ---------------------------------------------------------------- digests, keys and versions of tables in a ledger


@dataclass
class DigestUnderKeys:
    """The digest of a table under the key of each dataset it is compared with, computed once."""

    digest: Callable[[Key], str]
    known: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def prepared(cls, digest: Callable[[Key], str], ledger: Ledger, records: int) -> DigestUnderKeys:
        """Computed for all tables of so many records: while the ledger is locked, others would wait for it."""
        under = cls(digest)
        for _, earlier in ledger.state().tables():
            if earlier.records == records:
                under(earlier)
        return under

    def __call__(self, table: Dataset | ReleasedTable) -> str | None:
        """None where the key is not where it was made, or is another."""
        if table.key not in self.known:
            try:
                key = Key.read(table.key_file)
            except KeyFileError:
                key = None
            its_own = key is not None and key.commitment() == table.key
            self.known[table.key] = self.digest(key) if key is not None and its_own else None
        return self.known[table.key]


# The key of a dataset in a ledger: made once, kept beside the ledger, and removed by no one but its maker.


@dataclass
class DatasetKey:
    """A key and the file it is to be in. Of two runs at once only the one that registers it has written it."""

    file: Path
    key: Key
    adopted: bool
    written: bool = False

    @classmethod
    def at(cls, file: Path) -> DatasetKey:
        """A new key; or the one in the file, which a run that was killed may have left unregistered."""
        if own_secret_exists(file):
            return cls(file, Key.read(file), adopted=True)
        return cls(file, Key.create(), adopted=False)

    def keep(self) -> None:
        """Called within the ledger's transaction, when nothing but the entry is left to write."""
        if not self.adopted:
            self.key.write(self.file)
            self.written = True
        elif Key.read(self.file) != self.key:
            raise RefusedError(
                f"The key file {self.file} must stay as it was read", "a file that changed meanwhile"
            )

    def give_up(self, ledger: Ledger) -> None:
        """Remove the file if this run wrote it, it still holds this key, and no dataset is registered under it.

        All of that is looked at while no one else can register anything. Where the ledger cannot be asked the file
        stays, and the same request takes it up again.
        """
        if not self.written:
            return
        with contextlib.suppress(PramanaError, OSError), ledger.exclusive() as state:
            registered = any(d.key == self.key.commitment() for d in state.datasets.values())
            if not registered and Key.read(self.file) == self.key:
                self.file.unlink()


# Where histories of versions are kept between releases: one file per release, whole or not at all.


@dataclass(frozen=True)
class VersionStore:
    """The histories of one dataset, as of each release that is begun or is the latest."""

    root: Path
    dataset: str

    @property
    def folder(self) -> Path:
        """Named by a digest: a dataset may be called anything."""
        return self.root / hashlib.sha256(self.dataset.encode()).hexdigest()[:16]

    def _file(self, release: str) -> Path:
        if _RELEASE.fullmatch(release) is None:  # others may write to the ledger that says what it is called
            raise LedgerError("A release must be called by a plain word of letters and digits", repr(release[:80]))
        return self.folder / f"{release}.npz"

    def has(self, release: str) -> bool:
        return self._file(release).is_file()

    def write(self, release: str, histories: Mapping[Group, History]) -> None:
        """Keep the histories as of a release, unless they are kept already: a version is drawn once."""
        arrays = {"groups": np.array(["\0".join(group) for group in histories])}
        for i, history in enumerate(histories.values()):
            arrays |= {f"{i} {name}": column for name, column in history.to_columns().items()}
        packed = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        try:
            for folder in (self.root, self.folder):  # the modes of parents that mkdir makes are not its mode
                folder.mkdir(mode=0o700, exist_ok=True)
                if folder.stat().st_mode & 0o077 and folder.stat().st_uid == os.geteuid():
                    folder.chmod(0o700)
            with contextlib.suppress(FileExistsError):  # another process was first: its version stands
                write_whole(self._file(release), packed.getvalue(), 0o600)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise LedgerError(
                f"{self.root} must be writable and have room", "a full disk" if full else error.strerror
            ) from None

    def read(self, release: str) -> dict[Group, History]:
        try:
            with np.load(self._file(release), allow_pickle=False) as file:
                groups = [tuple(str(name).split("\0")) for name in file["groups"]]
                return {
                    group: History.from_columns({part: file[f"{i} {part}"] for part in History.COLUMNS})
                    for i, group in enumerate(groups)
                }
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, MatrixError):
            raise LedgerError(
                f"{self.root} must hold the history of every version", "a missing or damaged file"
            ) from None

    def keep_only(self, releases: Collection[str]) -> None:
        for file in self.folder.glob("*.npz"):
            if file.stem not in releases:
                file.unlink(missing_ok=True)
