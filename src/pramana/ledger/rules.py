"""The rules of a ledger: what is checked, within its transaction, before an entry is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pramana.errors import LedgerError, RefusedError
from pramana.ledger.state import DONE, OPEN, Cost, Dataset, Release, ReleasedTable, State
from pramana.ledger.turns import whoami
from pramana.notions.registry import said_together
from pramana.theory import rounding
from pramana.theory.composition import PrivacyProfile, composed_epsilon
from pramana.theory.levels import Level

# What all releases about some people add up to, by the tightest composition that is sound.


DEFAULT_DELTA = 1e-6


@dataclass(frozen=True)
class Total:
    """The local epsilons of independent releases add up; the central ones are composed at one delta.

    No epsilon stands for none that holds. `notes` say what is not in these numbers.
    """

    people: str
    releases: int
    epsilon: float | None
    central: float | None
    delta: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "people": self.people,
            "releases": self.releases,
            "epsilon": self.epsilon,
            "central": {"epsilon": self.central, "delta": self.delta},
            "notes": list(self.notes),
        }

    def words(self) -> str:
        """In half a sentence."""
        if self.epsilon is None:
            return "no epsilon: some release about them has none"
        central = "" if self.central is None else f", central {rounding.shown_up(self.central, 4)}"
        return f"epsilon {rounding.shown_up(self.epsilon)}{central} at delta {self.delta:g}"


def total_about(state: State, people: str, delta: float = DEFAULT_DELTA, extra: Release | None = None) -> Total:
    """With `extra`, as it would be after one more release."""
    single = [*state.single(people), *([extra] if extra is not None and extra.cost is not None else [])]
    versions = None if extra is None or extra.cost is not None else extra
    ratios = state.ratios(people, versions)
    epsilons = [None if r.cost is None else r.cost.epsilon for r in single]
    at_levels = [r for name, d in state.datasets.items() if d.people == people for r in state.live(name)]
    count = len(single) + len(at_levels) + (versions is not None)
    notes = tuple(_notes(single))
    if None in ratios or None in epsilons:
        return Total(people, count, None, None, delta, notes)
    finite = [ratio for ratio in ratios if ratio is not None]  # datasets at levels multiply
    exact = Fraction(rounding.log_up(math.prod(finite, start=Fraction(1))))
    exact += sum(Fraction(e) for e in epsilons if e is not None)
    local = rounding.float_up(exact)
    profiles = [p for r in single if r.cost is not None and (p := r.cost.central) is not None]
    profiles += [PrivacyProfile.pure(rounding.log_up(ratio)) for ratio in finite]
    central = composed_epsilon(profiles, delta)
    return Total(people, count, local, local if central is None else min(central, local), delta, notes)


def _notes(single: Sequence[Release]) -> Iterator[str]:
    promised = [str(p["notion"]) for r in single if r.cost is not None for p in r.cost.promises]
    if len(single) > 1:
        yield from said_together(promised)
    without = [r for r in single if r.cost is not None and r.cost.epsilon is None]
    if without:
        yield f"{len(without)} of these releases have no epsilon, so none holds of all."


KeyedDigest = Callable[[Dataset | ReleasedTable], str | None]


def check_name(what: str, text: str) -> None:
    if not text.strip() or len(text) > 200 or not text.isprintable():
        raise LedgerError(f"The name of a {what} must be 1 to 200 printable characters", repr(text)[:80])


@dataclass(frozen=True)
class Request:
    """Someone wants a version: of what, for whom, at which level, and from which table under which key."""

    dataset: str
    recipient: str
    level: Level
    source: str
    key: str
    design: str
    ratio: Fraction | None
    who: str = field(default_factory=whoami)

    def __post_init__(self) -> None:
        check_name("recipient", self.recipient)
        check_name("dataset", self.dataset)


@dataclass(frozen=True)
class Booking:
    """Someone wants a release that stands by itself: of which table, about whom, for whom, and at what cost."""

    dataset: str
    people: str
    recipient: str
    method: str
    table: ReleasedTable
    cost: Cost
    again: bool = False
    who: str = field(default_factory=whoami)

    def __post_init__(self) -> None:
        check_name("recipient", self.recipient)
        check_name("dataset", self.dataset)
        check_name("group of people", self.people)


@dataclass(frozen=True)
class Booked:
    """A release that may be made. `new` says that this booking wrote it down: else it was begun or made before.

    `unsure` is what the rules could not tell.
    """

    release: Release
    new: bool
    unsure: tuple[str, ...] = ()


def same_table(state: State, dataset: Dataset, digest_under: KeyedDigest, independent: bool) -> list[str]:
    """The earlier datasets that are the same table, or may be for all that can be told without their keys."""
    alike = {name: (digest_under(t), t) for name, t in state.tables() if t.records == dataset.records}
    again = [name for name, (d, t) in alike.items() if d == t.source or (d is None and isinstance(t, Dataset))]
    if again and not independent:
        name = again[0]
        if alike[name][0] is None:
            raise RefusedError(
                f"The key of {name!r}, which has as many records, must be at hand to tell the two tables apart",
                "none",
                "Put it back where it was made, or say --independent if they are about other people.",
            )
        raise RefusedError(
            "A table must be released under one key",
            f"the table of {name!r} under another",
            "Recipients of independent releases learn more together than the best of them alone. "
            f"Issue from {name!r}, or say --independent.",
        )
    return again


def warnings_about(state: State, dataset: Dataset, again: list[str]) -> Iterator[str]:
    """What is allowed, and yet weakens what each certificate says by itself."""
    if again:
        yield f"If this is the table released as {again[0]!r}, the two are independent, and collusion pays."
    alike = [d.name for d in state.datasets.values() if dataset.people and d.people == dataset.people]
    if alike and dataset.limit is None and dataset.people not in state.limits:
        yield f"{alike[0]!r} is about {dataset.people!r} too: their epsilons add up, and nothing limits the total."


def version_of(state: State, dataset: str, recipient: str, level: Level) -> Release | None:
    versions = [r for r in state.live(dataset) if (r.recipient, r.level) == (recipient, level)]
    return versions[-1] if versions else None


def check_content(known: Release, content: str) -> None:
    if known.status != DONE or known.content != content:
        raise RefusedError(
            "A release made again must have the same content",
            "content with another digest",
            "The source, the key or the program has changed since; nothing may be given out.",
        )


def checked_dataset(state: State, request: Request) -> Dataset:
    dataset = state.datasets.get(request.dataset)
    if dataset is None:
        raise LedgerError("The dataset must be in the ledger", repr(request.dataset))
    if request.key != dataset.key:
        raise RefusedError(
            f"All versions of {dataset.name!r} must come from its one key",
            "another key",
            "A version under another key is an independent release: with it, collusion pays.",
        )
    dataset.check_digests()
    if request.source != dataset.source:
        raise RefusedError(
            f"The source of {dataset.name!r} must be the table it was registered with",
            "a changed table",
            "Under the same key, two tables tell where they differ. Register the new table as a new dataset.",
        )
    if request.design != dataset.design:
        raise RefusedError(
            f"The attributes, domains and replacement laws of {dataset.name!r} must stay as registered",
            "a changed design",
        )
    return dataset


def check_level(state: State, request: Request) -> None:
    allowed = state.allowance(request.dataset, request.recipient)
    if allowed is not None and request.level > allowed:
        raise RefusedError(
            f"The level for {request.recipient!r} must be at most {allowed}, their allowance", str(request.level)
        )


def check_total(state: State, people: str, wanted: Release) -> None:
    """No limit that was set about these people may be passed."""
    if not people:
        return
    if (limit := state.limits.get(people)) is not None:
        epsilon = total_about(state, people, extra=wanted).epsilon
        if epsilon is None or Fraction(epsilon) > limit:
            raise RefusedError(
                f"The total epsilon of all releases about {people!r} must stay within {float(limit):g}",
                "infinity" if epsilon is None else rounding.shown_up(epsilon),
                "Ask for less, or set another limit with `pramana ledger limit`.",
            )
    if people in state.central_limits:
        most, delta = state.central_limits[people]
        central = total_about(state, people, delta, wanted).central
        if central is None or central > most:
            raise RefusedError(
                f"The central epsilon of releases about {people!r} must stay within {most:g} at delta {delta:g}",
                "infinity" if central is None else rounding.shown_up(central, 4),
                "Ask for less, or set another limit with `pramana ledger limit --delta`.",
            )


def check_turn(state: State, dataset: Dataset) -> None:
    """With a history every version is drawn from those before it: one release at a time."""
    if dataset.keyed:
        return
    begun = [r for r in state.live(dataset.name) if r.status == OPEN]
    if begun:
        raise RefusedError(
            f"The releases of {dataset.name!r} must be made one after another",
            f"one for {begun[0].recipient!r} at {begun[0].level} that is not finished",
            "Ask for that one again to finish it, or abandon it if its bundle reached no one.",
        )


# ---------------------------------------------------------------- releases that stand by themselves


def booked_before(state: State, booking: Booking) -> Release | None:
    """The same release, begun or made before: the same table, law, key and recipient."""
    same = [
        r
        for r in state.single(booking.people)
        if r.table is not None
        and (r.recipient, r.table.key, r.table.source, r.table.design)
        == (booking.recipient, booking.table.key, booking.table.source, booking.table.design)
    ]
    return same[-1] if same else None


def check_first(state: State, booking: Booking, wanted: Release, digest_under: KeyedDigest) -> list[str]:
    """Refuse a second, independent release of a table, unless it is meant; its cost is said either way.

    Earlier tables with as many records are told apart under their own keys. Returned is what could not be told.
    """
    digests = [(name, t, digest_under(t)) for name, t in state.tables() if t.records == booking.table.records]
    unknown = [name for name, _, digest in digests if digest is None]
    for name, table, digest in digests:
        if digest == table.source and not booking.again:
            before = total_about(state, booking.people)
            after = total_about(state, booking.people, extra=wanted)
            raise RefusedError(
                "A table must be released again only where that is meant",
                f"the table of {name!r}, which was released before; all releases about {booking.people!r} "
                f"would have {after.words()}, and have {before.words()}",
                "Write again = true in [ledger] if it is meant.",
            )
    return [f"Whether this is the table of {name!r} cannot be told: its key is not at hand." for name in unknown]
