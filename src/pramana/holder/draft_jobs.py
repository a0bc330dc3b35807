"""The jobs a first recipe can be for: candidates for its sections, the preferred one first.

A candidate may still fail on the table (xi out of reach, a class that is too small); the first that runs is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pramana.errors import PramanaError, RecipeError
from pramana.holder.draft_columns import (
    ColumnDraft,
    Value,
    coded,
    left_out,
    reads_plainly,
    unchanged,
    with_hierarchy,
)
from pramana.holder.guesses import Look
from pramana.holder.inspect import Examined
from pramana.mechanisms.guarantees import Circumstances
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.usefulness import expected_error
from pramana.schema.domain import Role

# What a candidate for a first recipe is, and what every job does with columns outside its promise.


MOST_VALUES = 24  # of a domain that is randomised
Roles = Mapping[str, tuple[Role, str]]  # of every column, with the reason


@dataclass(frozen=True)
class Draft:
    """The sections of a candidate, but for the source, and what is to be confirmed of the whole."""

    release: Mapping[str, Value]
    words: str
    columns: tuple[ColumnDraft, ...]
    confirm: tuple[str, ...] = ()
    sample: int | None = None  # rows on which it is tried, where all would take too long

    def without_constants(self) -> Draft:
        """For a table in which every row is a person."""
        return replace(self, columns=tuple(column.of_rows() for column in self.columns))


@dataclass(frozen=True)
class Wish:
    """What the holder said besides the table: the public table of presence, and the column that marks it."""

    public: str | None = None
    present: str | None = None


def roles_of(examined: Examined) -> dict[str, tuple[Role, str]]:
    """Guessed roles; of more quasi-identifiers than can be protected together, those that others know are dropped.

    Those that others only may know pass as insensitive, and are asked of.
    """
    chosen = set(examined.guessed_quasi())
    roles = {}
    for look in examined.looks:
        guess = examined.guesses[look.name]
        role, reason = guess.role, guess.reason
        if role is Role.QUASI_IDENTIFYING and look.name not in chosen:
            role = Role.IDENTIFYING if guess.firm or look.is_near_unique else Role.INSENSITIVE
            reason = f"{reason}, but there are too many such columns"
        roles[look.name] = role, reason
    return roles


def passed(look: Look, role: Role, reason: str) -> ColumnDraft:
    """A column outside the promise: dropped if it names people, else as it is."""
    if not look.name:
        return left_out(look, "it has no name", "they have no name")
    if role is Role.IDENTIFYING:
        return ColumnDraft(look.name, role, words=f"{reason}: dropped")
    if look.is_near_unique and role is not Role.INSENSITIVE:
        return left_out(
            look,
            "nearly every row has a value of its own, which would give people away",
            "nearly every row has a value of its own there",
        )
    return unchanged(look, role, reason)


# Whose rows they are, by the look of a table: persons with several rows, and what is the same on all of them.


@dataclass(frozen=True, eq=False)
class PersonGuess:
    """A column that numbers persons, and the most rows that one of them has."""

    look: Look

    @property
    def rows(self) -> int:
        return int(self.look.column.counts.max())

    @property
    def people(self) -> int:
        return self.look.column.distinct

    def is_constant(self, other: Look) -> bool:
        """Whether every person has one value of a column."""
        person, column = self.look.column, other.column
        pairs = person.codes.astype(np.int64) * (column.distinct + 1) + column.codes
        return len(np.unique(pairs)) == person.size


def persons_in(examined: Examined) -> list[Look]:
    """The columns that may number persons, the finest first; one that is on one row only beside households."""
    looks = _repeated(examined)
    households = households_in(examined)
    persons = [look for look in looks if look not in households]
    return persons + ([look for look in examined.looks if _names_each_row(look)] if households else [])


def households_in(examined: Examined) -> list[Look]:
    return [look for look in _repeated(examined) if "household" in look.hints]


def person_of(examined: Examined) -> PersonGuess | None:
    """Who has several rows, if anyone seems to."""
    looks = persons_in(examined) or _repeated(examined)
    guess = PersonGuess(looks[0]) if looks else None
    return guess if guess is not None and guess.rows > 1 else None


def _repeated(examined: Examined) -> list[Look]:
    return sorted((examined.look(name) for name in examined.repeated), key=lambda look: -look.column.distinct)


def _names_each_row(look: Look) -> bool:
    """Whether a column numbers persons, one row each."""
    return look.is_near_unique and look.is_numbered and "identifier" in look.hints and not look.column.missing


# The job publish: fewer and fewer columns are randomised until a promise leaves something to learn.


KS = (100, 50, 20, 10, 5, 3, 2)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
STRONG_EPSILON = 4.0  # up to here a promise is worth leaving columns out for
COINS = ("attribute", "record")
BEARABLE = 0.15  # expected L1 error of a single column's shares
_LEAST_COLUMNS = 3  # of a table that is published


def publish(examined: Examined, _: Wish) -> Iterator[Draft]:
    """Retention: fewer and fewer columns are randomised until a promise leaves something to learn."""
    roles = roles_of(examined)
    wanted = [look for look in examined.looks if look.name and _is_randomised(look, roles[look.name][0])]
    person = person_of(examined)
    constant = {look.name for look in wanted if person is not None and person.is_constant(look)}
    weaker: list[Draft] = []
    for most in (MOST_VALUES, 10):
        coding = {look.name: coded(look, *roles[look.name], most, examined.looks) for look in wanted}
        drafts = {name: draft for name, draft in coding.items() if draft is not None}
        while drafts:
            drafts |= {name: drafts[name].of_persons() for name in constant if name in drafts}
            sizes = _sizes(drafts, constant, person)
            if person is None:
                promise = _bearable(sizes, examined.records)
            else:  # a person's rows have no coin of their own
                promise = _bearable(sizes, person.people, COINS[:1])
            if promise is not None:
                draft = _published(examined, roles, drafts, *promise)
                if _is_strong(promise[0]):
                    yield draft
                    break
                weaker.append(draft)
            if most == MOST_VALUES or len(drafts) <= _LEAST_COLUMNS:
                break
            drafts = _without_least(drafts, examined, constant)
    yield from reversed(weaker)
    raise RecipeError(
        "A table to publish must have a column that can be randomised",
        "none with a domain of some values",
        "State a domain, bins or a hierarchy in a recipe of your own.",
    )


def _is_randomised(look: Look, role: Role) -> bool:
    if look.is_constant:
        return False
    return role is Role.QUASI_IDENTIFYING or (role is Role.SENSITIVE and look.column.distinct > MOST_VALUES)


def _is_strong(release: Mapping[str, Value]) -> bool:
    epsilon = release.get("epsilon", 0.0)
    return isinstance(epsilon, float) and epsilon <= STRONG_EPSILON


def _sizes(
    drafts: Mapping[str, ColumnDraft], constant: Collection[str], person: PersonGuess | None
) -> dict[str, int]:
    """Of all values of a record, or of a person: what is constant counts once, the others once for every row."""
    if person is None:
        return {name: draft.size for name, draft in drafts.items()}
    times = {name: 1 if name in constant else person.rows for name in drafts}
    return {f"{name} {i}": drafts[name].size for name in drafts for i in range(times[name])}


def _without_least(
    drafts: Mapping[str, ColumnDraft], examined: Examined, constant: Collection[str]
) -> dict[str, ColumnDraft]:
    """Leave out what costs most: what differs within persons, else what is only maybe known, else a long one."""
    others = [name for name in drafts if constant and name not in constant] or list(drafts)
    loose = [name for name in others if not examined.guesses[name].firm]
    gone = loose[-1] if loose else max(others, key=lambda name: examined.look(name).column.distinct)
    return {name: draft for name, draft in drafts.items() if name != gone}


def _bearable(
    sizes: Mapping[str, int], records: int, coins: Sequence[str] = COINS
) -> tuple[dict[str, Value], float] | None:
    """The strongest promise that leaves every single column a bearable error: largest k, else least epsilon."""
    sizes = {name: max(size, 2) for name, size in sizes.items()}
    around = Circumstances(records=records)
    promises: list[tuple[str, float]] = [("k", float(k)) for k in KS if 4 * k <= records]
    promises += [("epsilon", epsilon) for epsilon in EPSILONS]
    for name, value in promises:
        for coin in coins:
            wanted = Wanted(around, **{name: Fraction(str(value))})
            try:
                mechanism = calibrate(sizes, wanted, coin)
                error = max(expected_error(mechanism, (column,), records) for column in sizes)
            except (PramanaError, ZeroDivisionError, OverflowError):
                continue
            if error <= BEARABLE:
                keys: dict[str, Value] = {"method": "retention", name: int(value) if name == "k" else value}
                return keys | ({"coin": "record"} if coin == "record" else {}), error
    return None


def _published(
    examined: Examined,
    roles: Roles,
    randomised: Mapping[str, ColumnDraft],
    release: dict[str, Value],
    error: float,
) -> Draft:
    columns = []
    for look in examined.looks:
        role, reason = roles[look.name]
        if look.name in randomised:
            draft = randomised[look.name]
            columns.append(draft.with_role(role, randomise=True) if role is Role.SENSITIVE else draft)
        elif role is Role.QUASI_IDENTIFYING or (role is Role.SENSITIVE and look.is_near_unique):
            columns.append(_not_randomised(look, reason, examined))
        else:
            columns.append(passed(look, role, reason))
    promise = f"k = {release['k']}" if "k" in release else f"epsilon = {release['epsilon']}"
    words = (
        f"The strongest round promise with which the shares of every single randomised column are off by at most "
        f"{100 * error:.0f} points in all (half of that is the total variation)."
    )
    if release.get("coin") == "record":
        words += " One coin for a whole record leaves joint tables more exact than a coin for each column."
    confirm = (f"The promise is {promise}: confirm that it is strong enough for these people.",)
    return Draft(release, words, tuple(columns), confirm)


def _not_randomised(look: Look, reason: str, examined: Examined) -> ColumnDraft:
    firm = examined.guesses[look.name].firm
    if firm or look.is_near_unique or look.column.distinct > MOST_VALUES:
        return left_out(
            look,
            f"{reason}, and with it nothing could be learned from the others",
            "with them nothing could be learned from the others",
        )
    return unchanged(look, Role.INSENSITIVE, reason)


_MOST_NODES = 4_000  # of a lattice that is searched whole


Candidates = Callable[[Examined, Wish], Iterator[Draft]]


# ---------------------------------------------------------------- frequencies, levels


def frequencies(examined: Examined, _: Wish) -> Iterator[Draft]:
    """Invariant: counts kept in expectation, no match likelier than xi."""
    roles = roles_of(examined)
    for most in (60, MOST_VALUES, 10):
        drafts = _coded_columns(examined, roles, most, Role.QUASI_IDENTIFYING)
        if not any(draft.role is Role.QUASI_IDENTIFYING for draft in drafts):
            raise _none_suits("frequencies", "a quasi-identifying column with a domain of some values")
        for xi in (0.1, 0.2, 0.3, 0.5):
            words = f"Counts of every column are kept in expectation; nobody is matched with a chance above {xi}."
            yield Draft({"method": "invariant", "xi": xi}, words, drafts)


def levels(examined: Examined, _: Wish) -> Iterator[Draft]:
    """Levels: sensitive columns are perturbed, all others pass."""
    roles = roles_of(examined)
    role = Role.SENSITIVE
    drafts = _coded_columns(examined, roles, 60, role)
    if not any(draft.role is role and draft.size for draft in drafts):
        role = Role.QUASI_IDENTIFYING
        drafts = tuple(
            draft.with_role(role, randomise=True) if draft.role is role and draft.size else draft
            for draft in _coded_columns(examined, roles, 60, role)
        )
    if not any(draft.size for draft in drafts):
        raise _none_suits("levels", "a column with a domain of some values")
    words = (
        "Serve many recipients with `pramana levels create LEDGER --recipe ...` and `levels issue`; retention is "
        "the level of a plain `pramana release`."
    )
    confirm = ("Columns that are not perturbed pass unchanged to every recipient: confirm that they may.",)
    yield Draft({"method": "levels", "retention": 0.5}, words, drafts, confirm)


def _coded_columns(examined: Examined, roles: Roles, most: int, wanted: Role) -> tuple[ColumnDraft, ...]:
    """Columns of one role with a domain, the others as they pass."""

    def drafted(look: Look, role: Role, reason: str) -> ColumnDraft | None:
        return _coded_or_left_out(examined, look, role, reason, most) if role is wanted else None

    return _columns(examined, roles, drafted)


def _columns(
    examined: Examined, roles: Roles, drafted: Callable[[Look, Role, str], ColumnDraft | None]
) -> tuple[ColumnDraft, ...]:
    """Columns with a name and several values as `drafted` has them; others, and where that is none, pass."""
    drafts = []
    for look in examined.looks:
        role, reason = roles[look.name]
        draft = None if look.is_constant or not look.name else drafted(look, role, reason)
        drafts.append(draft or passed(look, role, reason))
    return tuple(drafts)


def _coded_or_left_out(examined: Examined, look: Look, role: Role, reason: str, most: int) -> ColumnDraft:
    draft = coded(look, role, reason, most, examined.looks)
    return draft or left_out(look, f"{reason}, with too many values", "they have too many values")


def _none_suits(job: str, what: str) -> RecipeError:
    return RecipeError(
        f"A table for the job {job} must have {what}", "none", "Try another job, or write a recipe."
    )


# ---------------------------------------------------------------- k-anonymity, microaggregate, presence


def k_anonymity(examined: Examined, _: Wish) -> Iterator[Draft]:
    """Generalisation over hierarchies."""
    roles = roles_of(examined)
    drafts = _with_hierarchies(examined, roles)
    quasi = [draft for draft in drafts if draft.role is Role.QUASI_IDENTIFYING]
    if not quasi:
        raise _none_suits("k-anonymity", "a quasi-identifying column that can have a hierarchy")
    nodes = math.prod(2 if draft.built is None else draft.built.hierarchy.height for draft in quasi)
    ks = [k for k in (5, 3, 2) if examined.records >= 4 * k] or [2]
    for k in ks:
        release: dict[str, Value] = {
            "method": "generalize",
            "k": k,
            "algorithm": "incognito",
            "cells": "hierarchy",
        }
        words = f"Every record looks like at least {k - 1} others on the quasi-identifying columns."
        if nodes <= _MOST_NODES:
            yield Draft({**release, "suppression": 0.02}, f"{words} At most 2% of the rows are left out.", drafts)
        yield Draft({**release, "algorithm": "mondrian"}, words, drafts)
        yield Draft({**release, "algorithm": "mondrian", "cells": "set"}, words, drafts)


def _with_hierarchies(examined: Examined, roles: Roles) -> tuple[ColumnDraft, ...]:

    def drafted(look: Look, role: Role, reason: str) -> ColumnDraft | None:
        if role is not Role.QUASI_IDENTIFYING:
            return None
        draft = with_hierarchy(look, role, reason, examined.looks) or coded(look, role, reason, 200)
        why = f"{reason}, and no hierarchy could be made for it"
        return draft or left_out(look, why, "no hierarchy could be made for them")

    return _columns(examined, roles, drafted)


def microaggregate(examined: Examined, _: Wish) -> Iterator[Draft]:
    """Means of small classes of near records."""
    averaged: list[str] = []

    def drafted(look: Look, role: Role, reason: str) -> ColumnDraft | None:
        if role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE) and _is_plain_number(look):
            averaged.append(look.name)
            words = f"{reason}; published as means of small classes"
            return ColumnDraft(look.name, Role.QUASI_IDENTIFYING, words=words)
        if role is Role.QUASI_IDENTIFYING:
            return _coded_or_left_out(examined, look, role, reason, 60)
        return None

    drafts = _columns(examined, roles_of(examined), drafted)
    if not averaged:
        raise _none_suits("microaggregate", "a column of plain numbers without missing values")
    for k in [k for k in (5, 3, 2) if examined.records >= 2 * k]:
        words = f"Every record has the means of at least {k} near records."
        confirm = ("Sensitive numbers are averaged as well: make those `sensitive` that must stay exact.",)
        yield Draft({"method": "microaggregate", "k": k}, words, drafts, confirm, sample=2_000)
    raise RecipeError("A table to microaggregate must have at least 4 records", str(examined.records))


def _is_plain_number(look: Look) -> bool:
    form = look.form
    plain = form.kind == "number" and form.decimal == "." and not form.thousands and not form.words.any()
    return plain and not look.column.missing and reads_plainly(look) and not look.is_postcode


def presence(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Whether someone is in the table is the secret."""
    roles = roles_of(examined)
    release: dict[str, Value] = {"method": "presence"}
    mark = wish.present or (None if wish.public else _mark(examined))
    if wish.public is not None:
        release["public"] = wish.public
    elif mark is None:
        raise RecipeError(
            "The job presence must know everyone who could be in the table",
            "neither a public table nor a column of 1 and 0",
            "Name the public table with --public, or the column that marks who is present with --present.",
        )
    if mark is not None:
        release["present"] = mark
        examined = Examined(tuple(look for look in examined.looks if look.name != mark), examined.guesses)
    drafts = _with_hierarchies(examined, roles)
    if not any(draft.role is Role.QUASI_IDENTIFYING for draft in drafts):
        raise _none_suits("presence", "a quasi-identifying column that can have a hierarchy")
    confirm = ("delta was chosen around the share of people who are present: state the range that you must keep.",)
    for low, high in ((0.0, 0.5), (0.0, 0.7), (0.0, 0.9), (0.0, 1.0)):
        words = f"Nobody of the public list is known to be in the table with a chance above {high}."
        yield Draft({**release, "delta": [low, high]}, words, drafts, confirm)


def _mark(examined: Examined) -> str | None:
    """A column of 1 and 0 without missing values, the last where there are several."""
    for look in reversed(examined.looks):
        texts = look.column.texts() if look.column.distinct == 2 and not look.column.missing else []
        if {text.strip().lower() for text in texts} in ({"0", "1"}, {"true", "false"}):
            return look.name
    return None


JOBS: dict[str, Candidates] = {
    "publish": publish,
    "frequencies": frequencies,
    "levels": levels,
    "k-anonymity": k_anonymity,
    "presence": presence,
    "microaggregate": microaggregate,
}
