"""What a generalised table came to: counted from what is published, at the release and again by `verify`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.engines import digest_of_columns
from pramana.errors import PramanaError
from pramana.generalize import (
    CLASS,
    Generalised,
    Risks,
    by_appearance,
    cell_codes,
    entropy_l_diversity,
    k_anonymity,
    kl_cost,
    l_diversity,
    recursive_c,
    t_closeness,
)
from pramana.randomness import Codes
from pramana.release.bundle import Bundle
from pramana.release.generalized_columns import Quasi, Sensitive
from pramana.release.generalized_setting import Setting
from pramana.sources import numbers, raw_column
from pramana.theory import THIS_TABLE, Guarantee, KAnonymity, LDiversity, TCloseness

_DIGITS = 1e9  # l is rounded down and t up at the ninth place


@dataclass(frozen=True)
class Measured:
    """Numbers of this table. `l` and `t` are by sensitive column."""

    records: int
    classes: int
    k: int
    l: Mapping[str, Mapping[str, Any]]  # noqa: E741 - the notion's own name
    t: Mapping[str, float]
    single_valued: int
    inferred: Mapping[str, float]  # the largest share of one sensitive value in a class
    kl_cost: float
    cost: float | None
    nodes: int | None
    checked: int | None
    by_class: bool
    prosecutor: float
    journalist: float | None
    marketer: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Measured:
        return cls(**statement)

    def guarantees(self, setting: Setting, raw: Sequence[str], seeded: bool) -> tuple[Guarantee, ...]:
        common = [
            "the quasi-identifying columns are all an intruder can know of a person",
            "this is the only release about these people; another one of the same people may tell classes apart",
        ]
        if raw:
            common.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
        if seeded:
            common.append("the order of the records comes from a seed and is no secret")
        words = tuple(common)
        found: list[Guarantee] = [KAnonymity(THIS_TABLE, "paper 4, Definition 1", k=self.k, assumptions=words)]
        for name, value in self.l.items():
            statement = "Machanavajjhala et al. 2006, counted in the published classes"
            kind, c = str(value["kind"]), value.get("c")
            found.append(
                LDiversity(THIS_TABLE, statement, attribute=name, kind=kind, l=value["l"], c=c, assumptions=words)
            )
        for name, distance in self.t.items():
            statement = "Li, Li and Venkatasubramanian 2007, counted in the published classes"
            found.append(
                TCloseness(
                    THIS_TABLE,
                    statement,
                    attribute=name,
                    distance=setting.t_distance,
                    t=distance,
                    assumptions=words,
                )
            )
        return tuple(found)


def measured(
    made: Generalised,
    setting: Setting,
    sensitive: Sequence[Sensitive],
    codes: Sequence[Codes],
    by_class: bool,
    population: NDArray[np.int64] | None,
) -> Measured:
    kept = made.class_of >= 0
    # a class number in the file tells classes apart even where their cells are the same
    alike = np.arange(made.classes) if by_class else _alike(made, setting)
    shown = [alike[made.class_of[kept]].astype(np.uint32)]
    secret = [code[kept] for code in codes]
    ls, ts, single = _sensitive_measures(shown, sensitive, secret, setting)
    inferred = {s.name: _largest_share(shown[0], code) for s, code in zip(sensitive, secret, strict=True)}
    sizes = np.bincount(shown[0]).astype(np.uint32)
    if population is None:
        risks = Risks.of(sizes)
    else:
        risks = Risks.of(made.sizes.astype(np.uint32), population.astype(np.uint32))
    published = made.cells(setting.cells, setting.intermediate)
    return Measured(
        records=int(kept.sum()),
        classes=len(sizes),
        k=k_anonymity(shown),
        l=ls,
        t=ts,
        single_valued=single,
        inferred=inferred,
        kl_cost=float(sum(kl_cost(o, p) for o, p in zip(made.pdf, published, strict=True))),
        cost=made.cost,
        nodes=made.nodes,
        checked=made.checked,
        by_class=by_class,
        **asdict(risks),
    )


def _alike(made: Generalised, setting: Setting) -> NDArray[np.int64]:
    """For each class a number that classes with the same published cells share."""
    published = made.cells(setting.cells, setting.intermediate)
    known: dict[tuple[bytes, ...], int] = {}
    found = np.empty(made.classes, np.int64)
    bounds = [(c.first.tolist(), c.values, c.weights) for c in published]
    for number in range(made.classes):
        cell = []
        for first, values, weights in bounds:
            here = slice(first[number], first[number + 1])
            cell.append(values[here].tobytes() + weights[here].tobytes())
        found[number] = known.setdefault(tuple(cell), len(known))
    return found


def _sensitive_measures(
    shown: Sequence[Codes], sensitive: Sequence[Sensitive], codes: Sequence[Codes], setting: Setting
) -> tuple[dict[str, dict[str, Any]], dict[str, float], int]:
    ls: dict[str, dict[str, Any]] = {}
    ts: dict[str, float] = {}
    single = 0
    for column, code in zip(sensitive, codes, strict=True):
        single += _single_valued(shown, code)
        if setting.l is not None:
            ls[column.name] = _diversity(shown, code, setting)
        if setting.t is not None:
            tree = () if column.parents is None else column.parents
            reached = t_closeness(shown, code, setting.t_distance, tree)
            ts[column.name] = min(math.ceil(reached * _DIGITS) / _DIGITS, 1.0)
    return ls, ts, single


def _diversity(shown: Sequence[Codes], code: Codes, setting: Setting) -> dict[str, Any]:
    if setting.l_kind == "distinct":
        return {"kind": "distinct", "l": l_diversity(shown, code)}
    if setting.l_kind == "entropy":
        # e^H of l equally frequent values is l up to rounding: shave only beyond the ninth place
        return {"kind": "entropy", "l": math.floor(entropy_l_diversity(shown, code) * _DIGITS + 0.5) / _DIGITS}
    least = recursive_c(shown, code, int(setting.l or 1))
    return {"kind": "recursive", "l": int(setting.l or 1), "c": math.ceil(least * _DIGITS) / _DIGITS}


def _single_valued(shown: Sequence[Codes], code: Codes) -> int:
    """Classes in which every record has the same sensitive value."""
    pairs = np.unique(shown[0].astype(np.int64) << 32 | code.astype(np.int64))
    return int((np.bincount(pairs >> 32) == 1).sum())


def _largest_share(shown: Codes, code: Codes) -> float:
    """How sure someone who knows a person's class can be of that person's value, at most; rounded up."""
    pairs, counts = np.unique(shown.astype(np.int64) << 32 | code.astype(np.int64), return_counts=True)
    share = float((counts / np.bincount(shown)[pairs >> 32]).max())
    return min(math.ceil(share * _DIGITS) / _DIGITS, 1.0)


# ------------------------------------------------------------------ in the published data


def content_of(table: Any, quasi: Sequence[str], output: str) -> dict[str, Any]:
    """A published table as its content digest sees it: cells by what they say, whatever file they are in.

    Other columns of a CSV have no types of their own: they are covered by the digest of the file.
    """
    found: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in quasi or name == CLASS:
            plain = joined_column(column)
            codes, rows = cell_codes(plain)
            found |= _cell_content(name, codes, plain.take(numbers(rows)))
        elif output == "parquet":
            found[name] = raw_column(column, None)
    return found


def content_by_class(name: str, cells: Any, class_of: NDArray[np.int32]) -> dict[str, Any]:
    """The same of one column, from its cells by class: no row's cell need be looked at."""
    alike, _ = cell_codes(cells)
    codes, rows = by_appearance(alike[class_of])
    return _cell_content(name, codes, cells.take(numbers(class_of[rows])))


def _cell_content(name: str, codes: NDArray[np.uint32], cells: Any) -> dict[str, Any]:
    text = json.dumps(cells.to_pylist(), ensure_ascii=True)
    return {name: codes, f"{name} cells": np.frombuffer(text.encode(), np.uint8)}


def joined_column(column: Any) -> Any:
    """One array of a chunked column."""
    combined = column.combine_chunks()
    return combined.chunk(0) if hasattr(combined, "num_chunks") else combined


def examined(
    bundle: Bundle, quasi: Sequence[Quasi], sensitive: Sequence[Sensitive], stated: Measured
) -> list[tuple[str, bool, str]]:
    """k and l counted again from the published file, and its content compared with the certificate."""
    try:
        names = [q.name for q in quasi]
        table = bundle.arrow(text=names)
        columns = [n for n in (CLASS, *names) if n in table.column_names]
        shown = [cell_codes(joined_column(table.column(name)))[0] for name in columns]
        k = k_anonymity(shown)
        content = content_of(table, names, bundle.certificate.output)
        digest = digest_of_columns({name: content[name] for name in sorted(content)})
        same = digest == bundle.certificate.content
        found = [
            ("content", same, "as certified" if same else "other content"),
            ("records", table.num_rows == stated.records, f"{table.num_rows} found"),
        ]
        found.append(("k counted again", k == stated.k, f"{k} records in the smallest class"))
        for column in sensitive:
            if stated.l.get(column.name, {}).get("kind") == "distinct":
                values = l_diversity(shown, column.codes_of(table.column(column.name)))
                right = values == stated.l[column.name]["l"]
                found.append((f"l of {column.name} counted again", right, f"{values} values"))
    except PramanaError as error:
        return [("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [("data", False, "the columns are not those of a generalised table")]
    return found
