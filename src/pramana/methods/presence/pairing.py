"""The two tables of a presence release: counts of combinations, and who of the public one is private."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pramana.errors import SourceError
from pramana.generalize import ClassFinder, Layout, Pair, grouped, matched_lines
from pramana.methods.marks import MARK, derive_marks
from pramana.methods.quasi import Quasi
from pramana.rows import Columns, ContentDigest, Rows


def pair_of(quasi: Sequence[Quasi], rows: Rows, public: Rows | None, flag: str | None) -> Pair:
    """Both tables: the combinations that people have, how many have each, and how many of them are private."""
    layout = Layout(tuple(q.ladder for q in quasi))
    sizes = {q.name: q.attribute.coded.size for q in quasi}
    if flag is not None:
        derive_marks(rows, flag)
        [lines] = rows.combinations([{**sizes, MARK: 2}])
        *codes, marks = lines.columns
        return Pair(layout, tuple(codes), np.where(marks == 1, lines.times, 0).astype(np.uint32), lines.times)
    [private], [everyone] = rows.combinations([sizes]), _at_hand(public).combinations([sizes])
    present = matched_lines(layout, (everyone.columns, everyone.times), (private.columns, private.times))
    return Pair(layout, everyone.columns, present, everyone.times)


def digest_of_pair(quasi: Sequence[Quasi], pair: Pair, rows: Rows, public: Rows | None, flag: str | None) -> str:
    """Of the public table person by person, in its order, with who of them is present."""
    digest, names = ContentDigest(), [q.name for q in quasi]
    pieces = rows.in_order([*names, MARK]) if flag is not None else _with_marks(pair, _at_hand(public), names)
    for columns in pieces:
        people = {str(i): columns[name] for i, name in enumerate(names)}
        digest.update({**people, "present": columns[MARK]})
    return digest.hexdigest()


def _with_marks(pair: Pair, public: Rows, names: Sequence[str]) -> Iterator[Columns]:
    """People who agree on every attribute cannot be told apart by anyone; the first of them are present."""
    base, index = grouped(pair.layout, pair.columns)
    left = np.bincount(index, pair.present, len(base)).astype(np.int64)
    finder = ClassFinder(pair.layout, pair.layout.bottom, base.keys)
    for columns in public.in_order(names):
        number = finder.find([columns[name] for name in names]).astype(np.int64)
        order = np.argsort(number, kind="stable")
        counts = np.bincount(number, minlength=len(base))
        rank = np.empty(len(number), np.int64)
        rank[order] = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield {**columns, MARK: (rank < left[number]).astype(np.uint8)}
        left = np.maximum(left - counts, 0)


def _at_hand(public: Rows | None) -> Rows:
    if public is None:
        raise SourceError("The public table must be at hand", "none")
    return public
