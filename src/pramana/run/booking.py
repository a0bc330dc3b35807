"""A release and the ledger that its recipe names: reserved before it is made, committed when it is there."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import rfc8785

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import LedgerError, PramanaError
from pramana.files.store_path import AnyPath, StorePath
from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Booking
from pramana.ledger.state import Cost, Release, ReleasedTable
from pramana.ledger.turns import whoami
from pramana.methods.protocol import Plan
from pramana.methods.recipe import AnyRecipe
from pramana.methods.retention.plan import RandomisedPlan
from pramana.notions.guarantee import Guarantee
from pramana.notions.randomised import LocalPrivacy
from pramana.randomness.key import Key
from pramana.rows.protocol import Rows
from pramana.run.version_store import DigestUnderKeys
from pramana.theory import rounding

Commit = Callable[[Certificate], tuple[str, ...]]
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
    ledger = Ledger.open(section.path)
    try:
        booking = _booking(recipe, plan, guarantees, rows, holding)
        under = DigestUnderKeys(rows.commitment)
        for _, earlier in ledger.state().tables():
            if earlier.records == booking.table.records:
                under(earlier)  # before anyone has to wait for it
        booked_now = ledger.book(booking, under)
        release, unsure = booked_now.release, booked_now.unsure
        try:
            yield lambda certificate: (*_committed(ledger, release, certificate, holding, section.people), *unsure)
        except BaseException:
            if booked_now.new and not _appeared(holding):
                with contextlib.suppress(LedgerError):
                    ledger.abandon(release.id, booking.who, "it failed before a bundle appeared")
            raise
    finally:
        ledger.close()


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


def _booking(
    recipe: AnyRecipe, plan: Plan, guarantees: Sequence[Guarantee], rows: Rows, holding: Holding
) -> Booking:
    section = recipe.ledger
    assert section is not None
    key, key_file = holding.key, holding.key_file
    return Booking(
        dataset=recipe.source.dataset or holding.out.name,
        people=section.people,
        recipient=section.recipient or recipe.about.recipient or ANYONE,
        method=recipe.method,
        table=ReleasedTable(
            source=rows.commitment(),
            design=_sealed(key, "design", rfc8785.dumps(plan.statement())),
            key=key.commitment(),
            records=plan.source_records,
            key_file="" if key_file is None else str(key_file.absolute()),
        ),
        cost=Cost.of(guarantees, plan.profile(), key.seeded),
        again=section.again,
        who=whoami(),
    )


def _sealed(key: Key, what: str, content: bytes) -> str:
    return hmac.digest(key.derive("ledger", what), content, "sha256").hex()


def _committed(
    ledger: Ledger, release: Release, certificate: Certificate, holding: Holding, people: str
) -> tuple[str, ...]:
    content = _sealed(holding.key, "content", certificate.content.encode())
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
    told = hashlib.sha256(f"{page}\n{out.absolute()}".encode()).hexdigest()
    booking = Booking(
        dataset=recipe.source.dataset or out.name,
        people=section.people,
        recipient=section.recipient or recipe.about.recipient or ANYONE,
        method=recipe.method,
        table=ReleasedTable(source=told, design=page, key="", records=0),
        cost=Cost(epsilon, promises=({"notion": LocalPrivacy.notion, "value": epsilon},)),
        again=section.again,
        who=whoami(),
    )
    ledger = Ledger.open(section.path)
    try:
        return ledger.book(booking, lambda _: None).release
    finally:
        ledger.close()


def commit_collection(recipe: AnyRecipe, plan: RandomisedPlan, page: str, out: Path, content: str) -> bool:
    """The survey is closed, and its bundle is there. False where no ledger was waiting to hear it."""
    release = book_collection(recipe, plan, page, out)
    if recipe.ledger is None or release is None or release.status != "reserved":
        return False
    ledger = Ledger.open(recipe.ledger.path)
    try:
        ledger.commit(release.id, content, whoami(), {"bundle": str(out)})
    finally:
        ledger.close()
    return True
