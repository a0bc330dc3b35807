"""What has been proved of a release. One class per privacy notion, each of which renders itself.

The classes keep the notions apart: a k of one table can never be printed as if it were a k of every table,
nor either as if it were differential privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from pramana.theory.rounding import shown_down, shown_up

ANY_TABLE = "any table"
THIS_TABLE = "this table"


@dataclass(frozen=True)
class Guarantee:
    """Notion, value, scope, the statement it rests on, and the assumptions it needs."""

    notion: ClassVar[str]
    scope: str
    statement: str
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def value(self) -> Any:
        raise NotImplementedError

    def in_words(self) -> str:
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {
            "notion": self.notion,
            "value": self.value,
            "scope": self.scope,
            "statement": self.statement,
            "words": self.in_words(),
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True)
class PkAnonymity(Guarantee):
    """No one links a person to a record with more than 1/k confidence."""

    notion: ClassVar[str] = "pk-anonymity"
    k: float = field(kw_only=True)
    unknown: tuple[str, ...] = field(default=(), kw_only=True)  # columns released unchanged

    @property
    def value(self) -> float:
        return self.k

    def in_words(self) -> str:
        knows = "whatever they know besides"
        if self.unknown:
            knows = f"and does not know people's values of {', '.join(self.unknown)}"
        return (
            f"No one who sees the release, {knows}, links a person to a record with a confidence "
            f"above 1/{shown_down(self.k)}."
        )


@dataclass(frozen=True)
class LocalPrivacy(Guarantee):
    """epsilon-differential privacy of each record's own randomisation. An infinite epsilon is None."""

    notion: ClassVar[str] = "local-differential-privacy"
    epsilon: float | None = field(kw_only=True)

    @property
    def value(self) -> float | None:
        return self.epsilon

    def in_words(self) -> str:
        if self.epsilon is None:
            return "The published record can rule out a true value with certainty: no finite epsilon holds."
        return (
            f"Whatever a person's true record, any published record is at most e^{shown_up(self.epsilon)} times "
            f"as likely as under any other true record."
        )


@dataclass(frozen=True)
class CentralPrivacy(Guarantee):
    """(epsilon, delta)-differential privacy of the whole shuffled release."""

    notion: ClassVar[str] = "central-differential-privacy"
    epsilon: float = field(kw_only=True)
    delta: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def in_words(self) -> str:
        return (
            f"Replacing one person's record changes the probability of any outcome of the shuffled release "
            f"by at most a factor e^{shown_up(self.epsilon)}, up to a probability of {shown_up(self.delta)}."
        )


@dataclass(frozen=True)
class IdentificationBound(Guarantee):
    """No target is matched with a chance above xi by an intruder who knows its category and sees its count."""

    notion: ClassVar[str] = "identification-bound"
    xi: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.xi

    def in_words(self) -> str:
        return (
            f"Whoever knows a person's true category and picks one of the records published in it finds that "
            f"person's record with a chance of at most {shown_up(self.xi)}, however many records the category "
            "shows."
        )


@dataclass(frozen=True)
class EveryCountBound(Guarantee):
    """The same against an intruder who sees every published count and may guess any record."""

    notion: ClassVar[str] = "identification-bound-every-count"
    xi: float = field(kw_only=True)
    left_out: float = field(default=0.0, kw_only=True)

    @property
    def value(self) -> float:
        return self.xi

    def in_words(self) -> str:
        usual = f", but for outcomes of a total probability of {self.left_out:g}" if self.left_out else ""
        return (
            f"Whoever knows a person's true category, sees every published count and guesses as well as can be "
            f"finds that person's record with a chance of at most {shown_up(self.xi)}{usual}."
        )


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """Every record of this table shows the same quasi-identifiers as at least k - 1 others."""

    notion: ClassVar[str] = "k-anonymity"
    k: int = field(kw_only=True)

    @property
    def value(self) -> int:
        return self.k

    def in_words(self) -> str:
        return (
            f"Every record of this table shows the same quasi-identifiers as at least {self.k - 1} others. This "
            "says nothing of what an intruder learns from the other columns, and nothing of other tables."
        )


@dataclass(frozen=True)
class LDiversity(Guarantee):
    """Every class of this table has enough different sensitive values; `kind` says how that is counted."""

    notion: ClassVar[str] = "l-diversity"
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    l: float = field(kw_only=True)  # noqa: E741 - the notion's own name
    c: float | None = field(default=None, kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        found: dict[str, Any] = {"attribute": self.attribute, "kind": self.kind, "l": self.l}
        return found if self.c is None else {**found, "c": self.c}

    def in_words(self) -> str:
        return f"Among records that look alike, {self.attribute} is {self.kind} {self.l:g}-diverse."


@dataclass(frozen=True)
class TCloseness(Guarantee):
    """In every class of this table a sensitive attribute is distributed nearly as in the whole table."""

    notion: ClassVar[str] = "t-closeness"
    attribute: str = field(kw_only=True)
    distance: str = field(kw_only=True)
    t: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "distance": self.distance, "t": self.t}

    def in_words(self) -> str:
        return (
            f"Among records that look alike, {self.attribute} is distributed as in the whole table, up to a "
            f"distance ({self.distance}) of {self.t:g}."
        )


@dataclass(frozen=True)
class DeltaPresence(Guarantee):
    """For this pair of tables, how likely anyone of the public one is in the private one; `mode` says for whom."""

    notion: ClassVar[str] = "delta-presence"
    lowest: float = field(kw_only=True)
    highest: float = field(kw_only=True)
    reached_lowest: float = field(kw_only=True)
    reached_highest: float = field(kw_only=True)
    mode: str = field(kw_only=True)
    reversal: str = field(kw_only=True)
    epsilon: float | None = field(default=None, kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {
            "dmin": self.lowest,
            "dmax": self.highest,
            "lowest": self.reached_lowest,
            "highest": self.reached_highest,
            "mode": self.mode,
            "reversal": self.reversal,
            **({} if self.epsilon is None else {"noise_epsilon": self.epsilon}),
        }

    def in_words(self) -> str:
        after = {
            "withstood": "Undoing the distributions tells no more than that.",
            "broken": "Whoever undoes the distributions learns more than that.",
        }.get(self.reversal, "It was not shown that undoing the distributions tells no more than that.")
        return (
            "Anyone of the public table is in the private one with a probability from "
            f"{shown_down(self.reached_lowest)} to {shown_up(self.reached_highest)}, within the wanted "
            f"{self.lowest:g} to {self.highest:g}, for these two tables. {after}"
        )


@dataclass(frozen=True)
class PosteriorBound(Guarantee):
    """rho1-rho2 privacy: pairs (prior below rho1, posterior below rho2), each also read backwards."""

    notion: ClassVar[str] = "rho1-rho2-privacy"
    pairs: tuple[tuple[float, float], ...] = field(kw_only=True)

    @property
    def value(self) -> list[dict[str, float]]:
        return [{"rho1": prior, "rho2": posterior} for prior, posterior in self.pairs]

    def in_words(self) -> str:
        said = ", ".join(f"below {prior:g} stays below {shown_up(posterior)}" for prior, posterior in self.pairs)
        return f"A belief about a person's perturbed values that was {said}, whatever is published of them."


@dataclass(frozen=True)
class GrowthBound(Guarantee):
    """delta-growth: no belief grows by more than delta."""

    notion: ClassVar[str] = "delta-growth"
    delta: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.delta

    def in_words(self) -> str:
        grows = f"grows by more than {shown_up(self.delta)}"
        return f"No belief about a person's perturbed values {grows} through the release."


@dataclass(frozen=True)
class CollusionBound(Guarantee):
    """Whoever holds versions at this level or below learns together what this version alone tells."""

    notion: ClassVar[str] = "collusion"
    level: str = field(kw_only=True)

    @property
    def value(self) -> str:
        return self.level

    def in_words(self) -> str:
        return (
            f"Any number of recipients of this table at level {self.level} or below who put their versions "
            f"together learn exactly what a version at level {self.level} tells by itself."
        )
