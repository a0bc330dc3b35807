"""The job publish: fewer and fewer columns are randomised until a promise leaves something to learn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

from pramana.calibration import Wanted, calibrate, expected_error
from pramana.errors import PramanaError, RecipeError
from pramana.inspection.drafting import vocabulary
from pramana.inspection.drafting.columns import ColumnDraft, coded, left_out, unchanged
from pramana.inspection.drafting.drafts import MOST_VALUES, Draft, Wish, passed, roles_of
from pramana.inspection.drafting.toml_text import Value
from pramana.inspection.drafting.units import PersonGuess, person_of
from pramana.inspection.guesses import Look
from pramana.inspection.inspecting import Examined
from pramana.mechanisms import Circumstances
from pramana.schema import Role

KS = (100, 50, 20, 10, 5, 3, 2)
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
STRONG_EPSILON = 4.0  # up to here a promise is worth leaving columns out for
COINS = ("attribute", "record")
BEARABLE = 0.15  # expected L1 error of a single column's shares
_LEAST_COLUMNS = 3  # of a table that is published


def publish(examined: Examined, wish: Wish) -> Iterator[Draft]:
    """Retention: fewer and fewer columns are randomised until a promise leaves something to learn."""
    del wish
    roles = roles_of(examined)
    wanted = [look for look in examined.looks if look.name and _is_randomised(look, roles[look.name][0])]
    person = person_of(examined) if vocabulary.knows_units() else None
    constant = {look.name for look in wanted if person is not None and person.is_constant(look)}
    weaker: list[Draft] = []
    for most in (MOST_VALUES, 10):
        coding = {look.name: coded(look, *roles[look.name], most, examined.looks) for look in wanted}
        drafts = {name: draft for name, draft in coding.items() if draft is not None}
        while drafts:
            drafts |= {name: drafts[name].of_persons() for name in constant if name in drafts}
            sizes = _sizes(drafts, constant, person)
            if person is None:
                found = _bearable(sizes, examined.records)
            else:  # a person's rows have no coin of their own
                found = _bearable(sizes, person.people, COINS[:1])
            if found is not None:
                made = _published(examined, roles, drafts, *found)
                if _is_strong(found[0]):
                    yield made
                    break
                weaker.append(made)
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
    roles: Mapping[str, tuple[Role, str]],
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
