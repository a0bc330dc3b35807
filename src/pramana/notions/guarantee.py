"""What has been proved of a release: the class that every privacy notion derives from.

A notion is one class. It has its value, the sentences it may be stated in, the recipe keys that promise it, what
several releases that state it come to, and the risks it is about. The classes keep the notions apart: a k of one
table can never be printed as if it were a k of every table, nor either as if it were differential privacy.
`registry` collects the subclasses of all modules of this room.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar

from pramana.notions.sentences import SCOPES, UNITS, Sentence, Stated, listed, unit_words
from pramana.theory import rounding

_PICTURED = 2000  # e^epsilon is written out below this epsilon
BOUND = "a bound"
SINGLING_OUT, LINKABILITY, INFERENCE = (
    "singling-out",
    "linkability",
    "inference",
)  # the risks a notion may be about
AT_THE_NINTH_PLACE = 1.5e-9  # numbers counted in classes are rounded against ourselves there, and compared so
Promises = Mapping[str, Callable[[Any, Any], bool | None]]


@dataclass(frozen=True)
class Guarantee:
    """Notion, value, scope, unit, the statement it follows from, its assumptions, and what it does not cover."""

    notion: ClassVar[str]
    title: ClassVar[str]  # neutral: it stands above any number
    meaning: ClassVar[str]
    sentences: ClassVar[tuple[Sentence, ...]]
    scopes: ClassVar[Mapping[str, str]] = SCOPES
    down: ClassVar[tuple[str, ...]] = ()  # numbers of its sentences that are rounded down, all others up
    texts: ClassVar[tuple[str, ...]] = ()  # its fields that are no numbers
    # By key of [release]: whether a guarantee keeps what the recipe states under that key; None where it says
    # nothing of it.
    promises: ClassVar[Promises] = {}
    together: ClassVar[str] = ""  # what can be said of several releases about the same people that state it
    risks: ClassVar[Mapping[str, str]] = {}  # the risks it is about, and what it says of each
    kind_of_number: ClassVar[str] = BOUND  # what its number is, where it is no bound
    technique: ClassVar[tuple[str, str] | None] = None  # what was done, and its name in ISO/IEC 20889
    listed_model: ClassVar[tuple[str, str] | None] = None  # the same of the model it is there

    scope: str
    statement: str
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="record", kw_only=True)  # whose data may differ: one row of the table
    uncovered: tuple[str, ...] = field(default=(), kw_only=True)  # the columns released unchanged
    most: Mapping[str, int] | None = field(default=None, kw_only=True)  # of a unit: its rows, its persons

    def __post_init__(self) -> None:
        if self.scope not in SCOPES or self.unit not in UNITS:
            raise ValueError(f"scope must be of {list(SCOPES)} and unit of {list(UNITS)}")

    # ------------------------------------------------------------------ value and certificate form

    @property
    def value(self) -> Any:
        """The notion's own fields by name, or the field itself where there is one."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _SHARED}
        return own if len(own) > 1 else next(iter(own.values()))

    def stated(self) -> dict[str, Any]:
        """All but its words."""
        return {
            "notion": self.notion,
            "value": self.value,
            "scope": self.scope,
            "unit": self.unit,
            "uncovered": list(self.uncovered),
            "statement": self.statement,
            "assumptions": list(self.assumptions),
            **({"most": dict(self.most)} if self.most else {}),
        }

    def to_json(self) -> dict[str, Any]:
        return {**self.stated(), "words": self.in_words()}

    # ------------------------------------------------------------------ words

    def numbers(self) -> Mapping[str, str]:
        """The fields of its sentences, as they are printed."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if self._prints(f.name)}
        return {name: str(value) if name in self.texts else self.shown(name, value) for name, value in own.items()}

    @classmethod
    def _prints(cls, name: str) -> bool:
        return name not in _SHARED and any(f"{{{name}}}" in sentence.words for sentence in cls.sentences)

    @classmethod
    def shown(cls, name: str, value: float | Fraction, digits: int = 6) -> str:
        """A number as people read it, on the safe side of the value."""
        return (rounding.shown_down if name in cls.down else rounding.shown_up)(value, digits)

    def in_words(self) -> str:
        stated = self.stated()
        sentence = next(s for s in self.sentences if s.may_be_said_of(stated))
        where = self.scopes[self.scope]
        return sentence.words.format(
            scope=where if sentence.words.startswith("{scope}") else where.lower(),
            unit=unit_words(self.unit, self.most),
            uncovered=listed(self.uncovered),
            **self.numbers(),
        )

    @classmethod
    def overstated(cls, name: str, text: str, stated: Stated) -> bool:
        """Whether a printed number says more than the stated one."""
        if name in (*cls.texts, "scope", "unit", "uncovered"):
            return False
        if text.startswith("e^"):
            name, text = "epsilon", text.removeprefix("e^")
        printed, true = Fraction(text), cls.true_number(name, stated)
        return printed > true if name in cls.down else printed < true

    @classmethod
    def true_number(cls, name: str, stated: Stated) -> Fraction:
        """The number that a field of a sentence stands for."""
        value = stated["value"]
        return Fraction(repr(value[name] if isinstance(value, Mapping) else value))

    # ------------------------------------------------------------------ promises and risks

    @property
    def promised_of(self) -> Hashable:
        """The part of a promise that it answers for, such as one column: every part must be kept."""
        return ()

    @classmethod
    def is_empty(cls, value: Any) -> bool:
        """Whether a number of this notion bounds nothing."""
        return value is None


_SHARED = {f.name for f in fields(Guarantee)}


def e_to_the(epsilon: float) -> str:
    """e^epsilon, which is what people can picture; past a thousand digits nobody can."""
    if epsilon < _PICTURED:
        return rounding.shown_up(rounding.exp_up(epsilon), 4)
    return f"e^{rounding.shown_up(epsilon)}"
