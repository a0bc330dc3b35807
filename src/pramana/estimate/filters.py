"""Filters such as `age >= 65 and sex = F`: read by a small parser, never evaluated as code.

    filter      = term {"or" term}
    term        = factor {"and" factor}
    factor      = "not" factor | "(" filter ")" | comparison
    comparison  = name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | name ["not"] "in" "(" value {"," value} ")"
                | name "is" ["not"] "missing"

Names and values with spaces or signs stand in quotes. A missing value fulfils no comparison.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.estimate.axis import Axis

Holds = NDArray[np.bool_]
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,)|(?P<word>[^\s"'()<>=!,]+))"""
)
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MOST_TOKENS = 1000
_DEEPEST = 50


@dataclass(frozen=True)
class Comparison:
    """One attribute's condition: a sign and a value, or membership in several."""

    name: str
    sign: str  # one of = < <= > >= or "missing"
    values: tuple[str, ...] = ()

    def holds(self, axis: Axis) -> Holds:
        """For each code of the attribute, whether it fulfils the comparison."""
        if self.sign == "missing":
            return np.array([axis.label(code) is None for code in range(axis.size)])
        if self.sign == "=":
            return np.asarray(np.any([_equal(axis, value) for value in self.values], axis=0))
        return _ordered(axis, self.sign, self.values[0])


@dataclass(frozen=True)
class Not:
    inner: Node


@dataclass(frozen=True)
class Both:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Node, ...]


Node = Comparison | Not | Both | Either


@dataclass(frozen=True)
class Filter:
    """A parsed filter and the attributes it speaks of, in order of appearance."""

    text: str
    node: Node
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Filter:
        node = _Parser(text).whole()
        return cls(text, node, tuple(dict.fromkeys(_names(node))))

    def over(self, axes: Sequence[Axis]) -> NDArray[np.float64]:
        """1 where the filter holds, over the joint domain of `axes`, which must have every name it uses."""
        places = {axis.name: i for i, axis in enumerate(axes)}
        held = _evaluate(self.node, dict(zip(places, axes, strict=True)), places)
        return np.broadcast_to(held, [axis.size for axis in axes]).astype(np.float64)


def _names(node: Node) -> list[str]:
    if isinstance(node, Comparison):
        return [node.name]
    if isinstance(node, Not):
        return _names(node.inner)
    return [name for part in node.parts for name in _names(part)]


def _evaluate(node: Node, axes: Mapping[str, Axis], places: Mapping[str, int]) -> Holds:
    if isinstance(node, Comparison):
        shape = [1] * len(places)
        shape[places[node.name]] = -1
        return node.holds(axes[node.name]).reshape(shape)
    if isinstance(node, Not):
        return np.asarray(~_evaluate(node.inner, axes, places))
    parts = [_evaluate(part, axes, places) for part in node.parts]
    held = parts[0]
    for part in parts[1:]:
        held = held & part if isinstance(node, Both) else held | part
    return held


# ---------------------------------------------------------------- what a comparison means


def _equal(axis: Axis, value: str) -> Holds:
    same: Holds = np.array([axis.label(code) == value for code in range(axis.size)])
    if same.any():
        return same
    number = _number(value)
    if number is not None and axis.lower is not None:
        same = (np.array(axis.lower) == number) & (np.array(axis.upper) == number)
        if same.any():
            return same
    raise InputError(
        f"A value of {axis.name} in a filter must be one of its published values",
        repr(value),
        f"It has {_listed(axis)}.",
    )


def _ordered(axis: Axis, sign: str, value: str) -> Holds:
    number = _number(value)
    if axis.lower is None or axis.upper is None or number is None:
        raise InputError(
            f"A filter with {sign} must compare a numeric attribute with a number",
            f"{axis.name} {sign} {value}",
            f"{axis.name} has {_listed(axis)}.",
        )
    found = []
    for code, (low, high) in enumerate(zip(axis.lower, axis.upper, strict=True)):
        last = (
            low if high - low <= 1 else high
        )  # [3,4) holds just 3; [0,5) may hold all up to 5, which it excludes
        inside = low < number < high and high > low + 1
        if inside or (low == number and sign in ("<=", ">") and last > low):
            raise InputError(
                f"A filter must not cut a published bin of {axis.name}",
                f"{sign} {value}, which lies inside {axis.labels[code]}",
                "Compare with an edge of the bins.",
            )
        found.append(low == low and _ORDER[sign](low, number))
    return np.array(found)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number


def _listed(axis: Axis) -> str:
    shown = ", ".join(axis.labels[:8])
    return shown if axis.size <= 8 else f"{shown} and {axis.size - 8} more"


# ---------------------------------------------------------------- the parser


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None or len(self.tokens) > _MOST_TOKENS:
                raise self.fault(f"{text[place : place + 10]!r}")
            kind = str(found.lastgroup)
            part = found.group(kind)
            self.tokens.append((kind, part[1:-1] if kind == "quoted" else part))
            place = found.end()
        self.at = 0
        self.depth = 0

    def fault(self, got: str) -> InputError:
        return InputError("A filter must read like: age >= 65 and (sex = F or region in (north, 'far east'))", got)

    def next_is(self, kind: str, *parts: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        found, part = self.tokens[self.at]
        return found == kind and (part.lower() if kind == "word" else part) in parts

    def take(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise self.fault("an end too early" if self.tokens else "nothing")
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, sign: str) -> None:
        kind, part = self.take()
        if kind != "sign" or part != sign:
            raise self.fault(f"{part!r} instead of {sign!r}")

    def value(self) -> str:
        kind, part = self.take()
        if kind == "sign":
            raise self.fault(f"{part!r} instead of a name or value")
        return part

    def whole(self) -> Node:
        node = self.either()
        if self.at < len(self.tokens):
            raise self.fault(f"{self.tokens[self.at][1]!r} after the end of it")
        return node

    def either(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault("parentheses that are nested too deep")
        parts = [self.both()]
        while self.next_is("word", "or"):
            self.take()
            parts.append(self.both())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def both(self) -> Node:
        parts = [self.factor()]
        while self.next_is("word", "and"):
            self.take()
            parts.append(self.factor())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def factor(self) -> Node:
        negations = 0
        while self.next_is("word", "not"):
            self.take()
            negations += 1
        if self.next_is("sign", "("):
            self.take()
            node = self.either()
            self.expect(")")
        else:
            node = self.comparison()
        return Not(node) if negations % 2 else node

    def comparison(self) -> Node:
        name = self.value()
        negated = self.next_is("word", "not")
        if negated:
            self.take()
        if self.next_is("word", "in"):
            self.take()
            node: Node = Comparison(name, "=", self.members())
            return _known(name, node, negated)
        if negated:
            raise self.fault("'not' without 'in'")
        if self.next_is("word", "is"):
            self.take()
            negated = self.next_is("word", "not")
            if negated:
                self.take()
            if self.value().lower() != "missing":
                raise self.fault("'is' without 'missing'")
            return Not(Comparison(name, "missing")) if negated else Comparison(name, "missing")
        kind, sign = self.take()
        if kind != "sign" or sign not in ("=", "==", "!=", *_ORDER):
            raise self.fault(f"{sign!r} instead of a comparison")
        value = self.value()
        if sign == "!=":
            return _known(name, Comparison(name, "=", (value,)), True)
        return Comparison(name, "=" if sign == "==" else sign, (value,))

    def members(self) -> tuple[str, ...]:
        self.expect("(")
        values = [self.value()]
        while self.next_is("sign", ","):
            self.take()
            values.append(self.value())
        self.expect(")")
        return tuple(values)


def _known(name: str, node: Node, negated: bool) -> Node:
    """`a != b` and `a not in (...)` fail for a missing value, like every comparison."""
    return Both((Not(node), Not(Comparison(name, "missing")))) if negated else node
