"""Populations drawn attribute by attribute: each from a table of laws chosen by the attributes drawn before it.

A row is a pure function of (seed, row number): column c of row i reads word i of its own keyed stream. Any slice
of rows can therefore be made alone, in any order and on any number of threads, and is the same.
Laws are built in whole numbers from start to end, so the same seed gives the same population on every machine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.population import Population
from pramana.errors import InputError
from pramana.randomness import ONE, Codes, Key, Stream, alias_table, code_dtype, draw_from_table

CHUNK = 1 << 16  # rows drawn at a time: words, conditions and codes of a chunk stay in a core's cache
MOST_CONDITIONS = 1 << 16
MOST_ROWS = 1 << 60  # a row number times eight must stay an offset of its stream


def law(weights: Sequence[int]) -> list[int]:
    """Whole-number weights scaled to sum to ONE exactly; what flooring leaves over goes to the heaviest."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError("weights must be whole numbers, none negative, and not all zero")
    scaled = [weight * ONE // total for weight in weights]
    scaled[max(range(len(scaled)), key=weights.__getitem__)] += ONE - sum(scaled)
    return scaled


def bell(size: int, centre: int, spread: int, scale: int = 1_000_000) -> list[int]:
    """A bell over 0 .. size-1, centre and spread in tenths of a step: 1 / (1 + z^2 + z^4), rational throughout."""
    fourth = spread**4
    distances = [10 * place - centre for place in range(size)]
    return [scale * fourth // (fourth + (spread * d) ** 2 + d**4) for d in distances]


@dataclass(frozen=True)
class Parent:
    """An earlier attribute that a law depends on, read whole or through `groups` (category -> group)."""

    name: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class ConditionalAttribute:
    """A name, its labels in order, and the weights of its categories given its parents' groups."""

    name: str
    labels: tuple[str, ...]
    parents: tuple[Parent, ...]
    weights: Callable[..., list[int]]


@dataclass(frozen=True)
class _Step:
    attribute: ConditionalAttribute
    conditions: tuple[int, ...]
    laws: NDArray[np.int64] = field(repr=False)
    table: NDArray[np.uint64] = field(repr=False)
    bits: int


@dataclass(frozen=True)
class Chain:
    """Attributes in the order they are drawn; `published` is the order of the columns."""

    name: str
    attributes: tuple[ConditionalAttribute, ...]
    published: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    steps: tuple[_Step, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known: dict[str, int] = {}
        steps = []
        for attribute in self.attributes:
            steps.append(_step(attribute, known))
            known[attribute.name] = len(attribute.labels)
        if sorted(self.published) != sorted(known):
            raise ValueError("published must name every attribute once")
        object.__setattr__(self, "steps", tuple(steps))

    def laws(self, name: str) -> NDArray[np.int64]:
        """The laws of an attribute, out of ONE: one axis per parent (its groups), the categories last."""
        step = next(step for step in self.steps if step.attribute.name == name)
        return step.laws.reshape(*step.conditions, -1)

    def draw(self, rows: int, seed: int, first: int, threads: int | None = None) -> Population:
        """Rows first .. first+rows-1 of the population of this seed."""
        _check_order(rows, seed, first, threads)
        key = Key.from_seed(seed)
        streams = [key.stream("dataset", self.name, step.attribute.name) for step in self.steps]
        try:
            codes = {a.name: np.empty(rows, code_dtype(len(a.labels))) for a in self.attributes}
        except MemoryError:
            hint = "Make it in parts with `first`."
            raise InputError("rows must be few enough for this machine's memory", str(rows), hint) from None
        # chunks begin at multiples of CHUNK of the whole population, so cutting never changes a word's place
        starts = [first, *range(first - first % CHUNK + CHUNK, first + rows, CHUNK)] if rows else []
        memory = threading.local()

        def fill(start: int) -> None:
            stop = min(start - start % CHUNK + CHUNK, first + rows)
            if not hasattr(memory, "words"):
                memory.words = np.empty(CHUNK, np.uint64)
            part = {name: column[start - first : stop - first] for name, column in codes.items()}
            self._fill(streams, start, part, memory.words[: stop - start])

        workers = threads or len(os.sched_getaffinity(0))
        if workers == 1 or len(starts) < 2:
            for start in starts:
                fill(start)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(fill, starts))
        labels = {a.name: a.labels for a in self.attributes}
        return Population(
            names=self.published,
            labels=tuple(labels[name] for name in self.published),
            codes=tuple(codes[name] for name in self.published),
            sensitive=self.sensitive,
        )

    def _fill(self, streams: list[Stream], start: int, part: dict[str, Codes], words: NDArray[np.uint64]) -> None:
        for stream, step in zip(streams, self.steps, strict=True):
            stream.fill(start, words)
            out = part[step.attribute.name]
            if len(step.laws) <= 1 << 8 * out.itemsize:
                condition = _condition(step, part, out.dtype.type, len(words))
                draw_from_table(words, condition, out, step.table, step.bits)
            else:
                condition = _condition(step, part, np.uint16, len(words))
                draw_from_table(words, condition, condition, step.table, step.bits)
                out[:] = condition


def _check_order(rows: int, seed: int, first: int, threads: int | None) -> None:
    least = {"rows": (rows, 0), "first": (first, 0), "threads": (1 if threads is None else threads, 1)}
    for what, (value, low) in least.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InputError(f"{what} must be a whole number, {low} or more", repr(value))
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError("seed must be a whole number", repr(seed))
    if first + rows > MOST_ROWS:
        raise InputError("The last row's number must be at most 2^60", f"{first + rows}")


def _condition(step: _Step, part: dict[str, Codes], dtype: type[np.unsignedinteger], rows: int) -> Codes:
    """The row of the step's table that each record reads: its parents' groups in mixed radix."""
    code = np.zeros(rows, dtype)
    for parent, size in zip(step.attribute.parents, step.conditions, strict=True):
        code *= dtype(size)
        values = part[parent.name]
        code += np.array(parent.groups, dtype)[values] if parent.groups else values
    return code


def _step(attribute: ConditionalAttribute, known: dict[str, int]) -> _Step:
    conditions = []
    for parent in attribute.parents:
        if parent.groups and len(parent.groups) != known[parent.name]:
            raise ValueError(f"the groups of {parent.name} must cover its {known[parent.name]} categories")
        conditions.append(max(parent.groups) + 1 if parent.groups else known[parent.name])
    if prod(conditions) > MOST_CONDITIONS:
        raise ValueError(f"{attribute.name} has too many conditions: read a parent through groups")
    rows = [law(attribute.weights(*at)) for at in product(*(range(size) for size in conditions))]
    if any(len(row) != len(attribute.labels) for row in rows):
        raise ValueError(f"{attribute.name} must have one weight for each of its {len(attribute.labels)} labels")
    laws = np.array(rows, np.int64)
    distinct, place = np.unique(laws, axis=0, return_inverse=True)
    table, bits = alias_table(distinct)
    whole = np.ascontiguousarray(table.reshape(len(distinct), -1)[place.reshape(-1)]).reshape(-1)
    return _Step(attribute, tuple(conditions), laws, whole, bits)
