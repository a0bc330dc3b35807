"""The jobs a first recipe can be for: candidates for its sections, the preferred one first.

A candidate may still fail on the table (xi out of reach, a class that is too small); the first that runs is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pramana.errors import RecipeError
from pramana.inspection.drafting.columns import (
    ColumnDraft,
    coded,
    left_out,
    reads_plainly,
    with_hierarchy,
)
from pramana.inspection.drafting.drafts import MOST_VALUES, Draft, Wish, passed, roles_of
from pramana.inspection.drafting.publishing import publish
from pramana.inspection.drafting.toml_text import Value
from pramana.inspection.guesses import Look
from pramana.inspection.inspecting import Examined
from pramana.schema import Role

TOO_MANY = "they have too many values"
_MOST_NODES = 4_000  # of a lattice that is searched whole


Candidates = Callable[[Examined, Wish], Iterator[Draft]]


# ---------------------------------------------------------------- frequencies, levels


def frequencies(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Invariant: counts kept in expectation, no match likelier than xi."""
    del wish
    roles = roles_of(examined)
    for most in (60, MOST_VALUES, 10):
        drafts = _coded_columns(examined, roles, most, Role.QUASI_IDENTIFYING)
        if not any(draft.role is Role.QUASI_IDENTIFYING for draft in drafts):
            raise _none_suits("frequencies", "a quasi-identifying column with a domain of some values")
        for xi in (0.1, 0.2, 0.3, 0.5):
            words = f"Counts of every column are kept in expectation; nobody is matched with a chance above {xi}."
            yield Draft({"method": "invariant", "xi": xi}, words, drafts)


def levels(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Levels: sensitive columns are perturbed, all others pass."""
    del wish
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


def _coded_columns(
    examined: Examined, roles: Mapping[str, tuple[Role, str]], most: int, wanted: Role
) -> tuple[ColumnDraft, ...]:
    """Columns of one role with a domain, the others as they pass."""
    drafts = []
    for look in examined.looks:
        role, reason = roles[look.name]
        draft = None
        if role is wanted and not look.is_constant and look.name:
            draft = coded(look, role, reason, most, examined.looks)
            draft = draft or left_out(look, f"{reason}, with too many values", TOO_MANY)
        drafts.append(draft or passed(look, role, reason))
    return tuple(drafts)


def _none_suits(job: str, what: str) -> RecipeError:
    return RecipeError(
        f"A table for the job {job} must have {what}", "none", "Try another job, or write a recipe."
    )


# ---------------------------------------------------------------- k-anonymity, microaggregate, presence


def k_anonymity(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Generalisation over hierarchies."""
    del wish
    roles = roles_of(examined)
    drafts = _with_hierarchies(examined, roles)
    quasi = [draft for draft in drafts if draft.role is Role.QUASI_IDENTIFYING]
    if not quasi:
        raise _none_suits("k-anonymity", "a quasi-identifying column that can have a hierarchy")
    nodes = 1
    for draft in quasi:
        nodes *= 2 if draft.built is None else draft.built.hierarchy.height
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


def _with_hierarchies(examined: Examined, roles: Mapping[str, tuple[Role, str]]) -> tuple[ColumnDraft, ...]:
    drafts = []
    for look in examined.looks:
        role, reason = roles[look.name]
        if role is not Role.QUASI_IDENTIFYING or look.is_constant or not look.name:
            drafts.append(passed(look, role, reason))
            continue
        draft = with_hierarchy(look, role, reason, examined.looks) or coded(look, role, reason, 200)
        drafts.append(
            draft
            or left_out(
                look, f"{reason}, and no hierarchy could be made for it", "no hierarchy could be made for them"
            )
        )
    return tuple(drafts)


def microaggregate(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Means of small classes of near records."""
    del wish
    roles, drafts, numbers = roles_of(examined), [], 0
    for look in examined.looks:
        role, reason = roles[look.name]
        measured = role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE) and look.form.kind == "number"
        if measured and not look.is_constant and look.name and _is_plain_number(look):
            numbers += 1
            words = f"{reason}; published as means of small classes"
            drafts.append(ColumnDraft(look.name, Role.QUASI_IDENTIFYING, words=words))
        elif role is Role.QUASI_IDENTIFYING and not look.is_constant and look.name:
            draft = coded(look, role, reason, 60, examined.looks)
            drafts.append(draft or left_out(look, f"{reason}, with too many values", TOO_MANY))
        else:
            drafts.append(passed(look, role, reason))
    if not numbers:
        raise _none_suits("microaggregate", "a column of plain numbers without missing values")
    for k in [k for k in (5, 3, 2) if examined.records >= 2 * k]:
        words = f"Every record has the means of at least {k} near records."
        confirm = ("Sensitive numbers are averaged as well: make those `sensitive` that must stay exact.",)
        yield Draft({"method": "microaggregate", "k": k}, words, tuple(drafts), confirm, sample=2_000)
    raise RecipeError("A table to microaggregate must have at least 4 records", str(examined.records))


def _is_plain_number(look: Look) -> bool:
    plain = look.form.decimal == "." and not look.form.thousands and not look.form.words.any()
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
    drafts = _with_hierarchies(examined, {**roles})
    if not any(draft.role is Role.QUASI_IDENTIFYING for draft in drafts):
        raise _none_suits("presence", "a quasi-identifying column that can have a hierarchy")
    confirm = ("delta was chosen around the share of people who are present: state the range that you must keep.",)
    for low, high in ((0.0, 0.5), (0.0, 0.7), (0.0, 0.9), (0.0, 1.0)):
        words = f"Nobody of the public list is known to be in the table with a chance above {high}."
        yield Draft({**release, "delta": [low, high]}, words, drafts, confirm)


def _mark(examined: Examined) -> str | None:
    """A column of 1 and 0 without missing values, the last where there are several."""
    marks = [
        look.name
        for look in examined.looks
        if not look.column.missing
        and {text.strip().lower() for text in _few_texts(look)} in ({"0", "1"}, {"true", "false"})
    ]
    return marks[-1] if marks else None


def _few_texts(look: Look) -> list[str]:
    return look.column.texts() if look.column.distinct == 2 else []


JOBS: dict[str, Candidates] = {
    "publish": publish,
    "frequencies": frequencies,
    "levels": levels,
    "k-anonymity": k_anonymity,
    "presence": presence,
    "microaggregate": microaggregate,
}
