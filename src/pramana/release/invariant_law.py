"""From a setting and a table's codes to the law of an invariant release, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.calibration import plan_blocks, plan_combinations, plan_strata
from pramana.errors import UnreachableError
from pramana.mechanisms import Channel, Exchange, Group, MatchRisk, match_risk, sinkhorn, two_stage
from pramana.randomness import Codes, code_dtype
from pramana.release.invariant_setting import InvariantSetting
from pramana.schema import Attribute, Domain
from pramana.sources import Table, domain_from_data, encode, has_missing
from pramana.theory import pk, rounding

Counts = NDArray[np.int64]

_LARGEST = 1 << 20  # combinations of a group
_LARGEST_MATRIX = 1 << 12
_LISTED = 1 << 10  # groups of at most so many combinations list a risk for each


class Rows(Protocol):
    """A table's codes, wherever they are, to be counted."""

    @property
    def records(self) -> int: ...

    def counts(self, columns: tuple[str, ...], shape: tuple[int, ...]) -> Counts:
        """How often each combination of codes occurs."""


@dataclass(frozen=True)
class CodedRows:
    """Codes in memory, those of strata among them."""

    codes: Mapping[str, Codes]
    records: int
    strata: int | None = None  # how many, if the setting has any

    def counts(self, columns: tuple[str, ...], shape: tuple[int, ...]) -> Counts:
        joint = np.ravel_multi_index([self.codes[name] for name in columns], shape)
        return np.bincount(joint, minlength=math.prod(shape)).astype(np.int64).reshape(shape)


@dataclass(frozen=True)
class Law:
    """The mechanism, and the risks on this table."""

    mechanism: Exchange
    frequencies: Mapping[str, list[int]]
    summaries: Mapping[str, Mapping[str, Any]]
    retention: Fraction | None

    def k(self, records: int) -> float:
        return rounding.float_down(pk.k_from_ratio(records, self.mechanism.anonymity_ratio))


def stratum_of(group: tuple[str, ...]) -> str:
    """The column whose codes are the strata, for one group: every group has its own, with the same codes."""
    return f"stratum of {' and '.join(group)}"


def law_for(
    setting: InvariantSetting,
    attributes: tuple[Attribute, ...],
    rows: Rows,
    strata: int | None,
    k: float | None = None,
) -> Law:
    """The same for the same table and setting, always: `verify` calls it again. `strata` is how many there are."""
    sizes = {a.name: a.coded.size for a in attributes if not a.raw}
    columns: list[tuple[str, ...]] = []
    for group in setting.groups:
        if strata is not None:
            sizes[stratum_of(group)] = strata
        columns.append((stratum_of(group), *group) if strata is not None else group)
    counts = {c: _counted(c, rows, sizes) for c in columns}
    retention = setting.retention
    if k is not None:
        retention = _retention_for(k, rows.records, counts)
    channels = [
        _channel(setting, group, counts[c], retention) for group, c in zip(setting.groups, columns, strict=True)
    ]
    mechanism = Exchange(sizes, tuple(Group(c, channel) for c, channel in zip(columns, channels, strict=True)))
    frequencies = {
        " and ".join(g): counts[c].reshape(-1).tolist() for g, c in zip(setting.groups, columns, strict=True)
    }
    return Law(mechanism, frequencies, summaries_of(mechanism, frequencies, setting), retention)


def coded_rows(
    setting: InvariantSetting, attributes: tuple[Attribute, ...], table: Table, show: bool = False
) -> CodedRows:
    """The codes of a table in memory, with those of its strata."""
    codes = {a.name: encode(table.column(a.name), a.coded, a.name, show) for a in attributes if not a.raw}
    if not setting.strata:
        return CodedRows(codes, table.records)
    domains = {name: stratum_domain(table.column(name)) for name in setting.strata}
    joint = joined_strata({name: encode(table.column(name), d, name) for name, d in domains.items()}, domains)
    found, places = np.unique(joint, return_inverse=True)
    strata = places.astype(code_dtype(len(found)))
    return CodedRows({**codes, **{stratum_of(g): strata for g in setting.groups}}, table.records, len(found))


def stratum_domain(column: pa.ChunkedArray) -> Domain:
    domain = domain_from_data(column)
    return domain.with_missing() if has_missing(column) else domain


def joined_strata(codes: Mapping[str, Codes], domains: Mapping[str, Domain]) -> NDArray[np.int64]:
    """A number for every combination of the strata's values, in the order of the values."""
    joint = np.zeros(len(next(iter(codes.values()))), np.int64)
    for name, domain in domains.items():
        joint = joint * domain.size + codes[name]
    return joint


def _counted(columns: tuple[str, ...], rows: Rows, sizes: Mapping[str, int]) -> Counts:
    shape = tuple(sizes[name] for name in columns)
    total = math.prod(shape)
    if total > _LARGEST:
        raise UnreachableError(
            f"Columns protected together must have at most {_LARGEST:,} combinations",
            f"{total:,}",
            "Use coarser bins or levels, or protect fewer together.",
        )
    return rows.counts(columns, shape)


def _channel(
    setting: InvariantSetting, group: tuple[str, ...], counts: Counts, retention: Fraction | None
) -> Channel:
    if setting.kind != "blocks":
        if counts.size > _LARGEST_MATRIX:
            raise UnreachableError(f"A matrix must have at most {_LARGEST_MATRIX} values", str(counts.size))
        flat = counts.reshape(-1)
        if setting.kind == "two-stage":
            return two_stage(flat, setting.diagonal, setting.alpha)
        return sinkhorn(flat, float(retention or 0))
    xi = setting.xi or Fraction(1)
    ordered = [name in setting.ordered for name in group]
    forbidden = [setting.barred(name) for name in group]
    if setting.strata:
        return plan_strata(counts, xi, rule=setting.rule, ordered=ordered, forbidden=forbidden).channel
    if len(group) > 1:
        return plan_combinations(counts, xi, rule=setting.rule, ordered=ordered, forbidden=forbidden).channel
    return plan_blocks(counts, xi, rule=setting.rule, ordered=ordered[0], forbidden=forbidden[0]).channel


def _retention_for(k: float, records: int, counts: Mapping[Any, Counts]) -> Fraction:
    """Retention that reaches k after the scaled matrices are rounded to integers."""
    seen = [int((c > 0).sum()) for c in counts.values()]
    retention = pk.retention_for_pk(records, seen, k)
    for _ in range(20):
        ratio = math.prod(
            (sinkhorn(c.reshape(-1), float(retention)).anonymity_ratio for c in counts.values()), start=Fraction(1)
        )
        if pk.k_from_ratio(records, ratio) >= Fraction(str(k)):
            return retention
        retention = retention * (1 - Fraction(1, 10**9))
    raise UnreachableError(f"k = {k} must be reachable with these matrices", "a rounding below it")


def summaries_of(
    mechanism: Exchange, frequencies: Mapping[str, list[int]], setting: InvariantSetting
) -> dict[str, dict[str, Any]]:
    """By group: both intruders' largest risks, the error of the frequencies, and the drift of the integers."""
    found = {}
    for group, own in zip(mechanism.groups, setting.groups, strict=True):
        name = " and ".join(own)
        risk = match_risk(group.channel, np.array(frequencies[name], np.int64))
        found[name] = {**_listed(risk, setting.published), **_summary(risk)}
    return found


def _listed(risk: MatchRisk, published: bool) -> dict[str, Any]:
    """Numbers for every category. Where the matrix is withheld, so few digits that it cannot be worked out."""
    if len(risk.risk) > _LISTED:
        return {}
    listed = risk.to_json()
    if published:
        return listed
    return {
        "risk": [None if r is None else rounded_up(r, 3) for r in listed["risk"]],
        "risk_all_counts": [None if r is None else rounded_up(r, 3) for r in listed["risk_all_counts"]],
        "expected_squared_error": [rounded_up(e, 2) for e in listed["expected_squared_error"]],
    }


def rounded_up(value: float, digits: int) -> float:
    """The next number above with so many significant digits; a hair of rounding error does not count as above."""
    if value <= 0:
        return 0.0
    step = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return float(math.ceil(Fraction(value) / step - Fraction(1, 10**9)) * step)


def _summary(risk: MatchRisk) -> dict[str, Any]:
    drift = max((abs(d) for d in risk.drift), default=Fraction(0))
    matches = [m for m in risk.match if m is not None]
    return {
        "xi": risk.xi,
        "xi_all_counts": rounding.float_up(risk.largest_all_counts),
        "risk_all_counts_left_out": risk.left_out,
        "largest_match": max(matches, default=0.0),
        "total_expected_squared_error": float(sum(risk.squared_error)),
        "largest_drift": str(drift),
    }


def alike(mine: Any, stated: Any) -> bool:
    """The same numbers, but for the last digits, which a sum of floats may have otherwise on another machine."""
    if isinstance(mine, Mapping) and isinstance(stated, Mapping):
        return mine.keys() == stated.keys() and all(alike(mine[key], stated[key]) for key in mine)
    if isinstance(mine, list) and isinstance(stated, list):
        return len(mine) == len(stated) and all(alike(a, b) for a, b in zip(mine, stated, strict=True))
    if isinstance(mine, float) and isinstance(stated, float | int) and not isinstance(stated, bool):
        return math.isclose(mine, stated, rel_tol=1e-9, abs_tol=1e-12)
    return type(mine) is type(stated) and bool(mine == stated)
