"""Where a survey lies while it is open, and the bundle it becomes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pramana.app.collector.store import CollectionStore
from pramana.app.collector.submission import new_invitations
from pramana.app.collector.survey import Survey
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import CollectionError, InputError, PramanaError
from pramana.files.folder import check_new
from pramana.files.secret import write_new
from pramana.mechanisms.guarantees import k_of
from pramana.randomness.samplers import Codes, code_dtype
from pramana.recipient.answers import Crosstab
from pramana.recipient.study import Study
from pramana.run.booking import book_collection, commit_collection
from pramana.run.devices import Devices, publish_collected
from pramana.schema.domain import Axis
from pramana.theory import rounding

# What an organiser sees while answers come in: reconstructed tables with intervals, and what k comes to.


MOST_CELLS = 400  # of a table that is shown while answers come in


@dataclass(frozen=True)
class CollectionResults:
    """`k` counts the records that came; `k_planned` those that are planned, which needs secret participants."""

    records: int
    planned: int | None
    k: float
    k_planned: float | None
    epsilon: float
    tables: tuple[Crosstab, ...]


def results_of(survey: Survey, records: Codes) -> CollectionResults:
    """Estimates of the true counts, from randomised records alone."""
    count = len(records)
    around, law = survey.plan.circumstances, survey.plan.mechanism
    planned = survey.planned

    def k_at(number: int) -> float:
        return rounding.float_down(k_of(law, replace(around, records=number)))

    return CollectionResults(
        records=count,
        planned=planned,
        k=k_at(count) if count else 1.0,
        k_planned=None if planned is None else k_at(planned),
        epsilon=survey.epsilon,
        tables=tuple(_tables(survey, records)) if count else (),
    )


def _tables(survey: Survey, records: Codes) -> list[Crosstab]:
    axes = [Axis.of_domain(a.name, a.coded) for a in survey.plan.attributes]
    size = {axis.name: axis.size for axis in axes}
    study = Study.of_codes(axes, survey.plan.mechanism, dict(zip(survey.columns, records.T, strict=True)))
    single = [(question.column,) for question in survey.questions]
    wanted = [table for table in survey.recipe.tables if math.prod(size[n] for n in table) <= MOST_CELLS]
    tables = []
    for names in dict.fromkeys([*single, *wanted]):
        try:
            tables.append(study.crosstab(list(names)))
        except InputError:  # a law that cannot be inverted tells nothing by itself
            continue
    return tables


_RELEASE_PROMISES = ("k", "central", "delta")  # which depend on how many answer; epsilon does not


@dataclass(frozen=True)
class CollectionFolder:
    """`out` is the bundle to come. Until then records lie in the folder OUT.collection beside it."""

    out: Path

    def __post_init__(self) -> None:
        check_new(self.out)

    @property
    def path(self) -> Path:
        return self.out.absolute().with_name(self.out.name + ".collection")

    @property
    def invitations(self) -> Path:
        return self.path / "invitations.txt"

    def open(self, page: str, columns: int, database: str | None = None) -> CollectionStore:
        """The store, made where there is none."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise CollectionError(f"The folder {self.path} must be writable", error.strerror) from None
        return CollectionStore.open(database or self.path / "records.db", page, columns)

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
            for a, codes in zip(survey.plan.attributes, records.T, strict=True)
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
    committed = commit_collection(survey.recipe, survey.plan, page, out, certificate.content)
    return certificate if committed else None
