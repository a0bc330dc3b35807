"""Where a survey lies while it is open, and the bundle it becomes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pramana.bundle import Bundle, Certificate, check_new
from pramana.collection.results import columns_of
from pramana.collection.store import CollectionStore
from pramana.collection.submission import new_invitations
from pramana.collection.survey import Survey
from pramana.errors import CollectionError, PramanaError
from pramana.pipeline import Devices, book_collection, commit_collection, publish_collected
from pramana.randomness import code_dtype, write_new

_RELEASE_PROMISES = ("k", "central", "delta")  # which depend on how many answer; epsilon does not


@dataclass(frozen=True)
class CollectionPlace:
    """`out` is the bundle to come. Until then records lie in the folder OUT.collection beside it."""

    out: Path

    def __post_init__(self) -> None:
        check_new(self.out)

    @property
    def folder(self) -> Path:
        return self.out.absolute().with_name(self.out.name + ".collection")

    @property
    def invitations(self) -> Path:
        return self.folder / "invitations.txt"

    def open(self, page: str, columns: int, database: str | None = None) -> CollectionStore:
        """The store, made where there is none."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise CollectionError(f"The folder {self.folder} must be writable", error.strerror) from None
        return CollectionStore.open(database or self.folder / "records.db", page, columns)

    def reserve(self, survey: Survey, page: str) -> None:
        """Enter the survey into its recipe's ledger before anyone answers, unless a limit would be passed."""
        book_collection(survey.recipe, survey.plan, page, self.out)

    def invite(self, survey: Survey, store: CollectionStore, link: Callable[[str], str]) -> None:
        """Make a survey's invitations, once: links in a file for the organiser, digests in the store."""
        if survey.invitations is None or store.has_invitations:
            return
        tokens = new_invitations(survey.invitations)
        with contextlib.suppress(FileNotFoundError):  # of a run that was killed before the store knew them
            self.invitations.unlink()
        write_new(self.invitations, "".join(f"{link(token)}\n" for token in tokens).encode(), 0o600)
        store.invite(tokens)


def close_collection(
    survey: Survey, store: CollectionStore, page: str, out: Path, *, sign: str | Path | None = None
) -> Certificate:
    """Take no more records and publish those that came; where that is refused, records are taken as before."""
    store.set_closed(True)
    try:
        records = store.records()
        columns = {
            a.name: codes.astype(code_dtype(a.coded.size))
            for a, codes in zip(survey.plan.attributes, columns_of(survey, records).values(), strict=True)
        }
        waived: Sequence[str] = _RELEASE_PROMISES if survey.recipe.survey.fewer else ()
        certificate = publish_collected(
            survey.recipe, survey.plan, columns, Devices(page), out, sign=sign, waived=waived
        )
    except BaseException:
        if not out.exists():
            store.set_closed(False)
        raise
    commit_collection(survey.recipe, survey.plan, page, out, certificate.content)
    return certificate


def complete_collection(survey: Survey, page: str, out: Path) -> Certificate | None:
    """Tell the ledger of a bundle that is there already: a run may have been killed in between. None elsewhere."""
    try:
        certificate = Bundle.open(out).certificate
    except PramanaError:
        return None
    if certificate.source != Devices(page).to_json():
        return None
    told = commit_collection(survey.recipe, survey.plan, page, out, certificate.content)
    return certificate if told else None
