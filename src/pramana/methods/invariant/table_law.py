"""From a design and a table's rows to the law of an invariant release, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import UnreachableError
from pramana.io.codes import domain_from_data, encode, has_missing
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.invariant import MatchRisk, match_risk, sinkhorn, two_stage
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.methods.columns import sizes_of
from pramana.methods.invariant.blocks import plan_blocks, plan_strata
from pramana.methods.invariant.design import InvariantDesignForm
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import Columns, Rows, Work, chunks_of
from pramana.schema.domain import Attribute, Domain
from pramana.theory import pk, rounding

Counts = NDArray[np.int64]

_LARGEST = 1 << 20  # combinations of a group
_LARGEST_MATRIX = 1 << 12
_LISTED = 1 << 10  # groups of at most so many combinations list a risk for each


@dataclass(frozen=True)
class InvariantLaw:
    """The mechanism made from a table, and the risks on it."""

    mechanism: Exchange
    frequencies: Mapping[str, list[int]]
    summaries: Mapping[str, Mapping[str, Any]]
    retention: Fraction | None

    def k(self, records: int, published: bool) -> float:
        """Of a withheld matrix to two digits: it follows from the true frequencies."""
        k = rounding.float_down(pk.k_from_ratio(records, self.mechanism.anonymity_ratio))
        return k if published else down_to_digits(k, 2)


def stratum_of(group: tuple[str, ...]) -> str:
    """The column whose codes are the strata, for one group: every group has its own, with the same codes."""
    return f"stratum of {' and '.join(group)}"


def law_for(
    design: InvariantDesignForm,
    attributes: tuple[Attribute, ...],
    rows: Rows,
    published: bool,
    k: float | None = None,
) -> InvariantLaw:
    """The same for the same table and design, always: `verify` calls it again."""
    sizes = sizes_of(attributes)
    strata = derive_strata(design, rows)
    columns: list[tuple[str, ...]] = []
    for group in design.groups:
        if strata is not None:
            sizes[stratum_of(group)] = strata
        columns.append((stratum_of(group), *group) if strata is not None else group)
    counts = {c: _counted(c, rows, sizes) for c in columns}
    retention = design.exact_retention
    if k is not None:
        retention = _retention_for(k, rows.records, counts)
    channels = [
        channel_for(design, group, counts[c], retention) for group, c in zip(design.groups, columns, strict=True)
    ]
    groups = tuple(ChannelGroup(c, channel) for c, channel in zip(columns, channels, strict=True))
    mechanism = Exchange(sizes, groups)
    frequencies = {
        " and ".join(g): counts[c].reshape(-1).tolist() for g, c in zip(design.groups, columns, strict=True)
    }
    return InvariantLaw(mechanism, frequencies, summaries_of(mechanism, frequencies, design, published), retention)


def derive_strata(design: InvariantDesignForm, rows: Rows) -> int | None:
    """How many strata occur, after making their numbers a column of the rows; None where none are asked for."""
    if not design.strata:
        return None
    seen = rows.values(design.strata)
    domains = {name: _stratum_domain(seen[name]) for name in design.strata}
    sizes = tuple(domain.size for domain in domains.values())
    for name, domain in domains.items():
        rows.derive(_coded(name), (name,), _encoding(name, domain))
    (lines,) = rows.combinations([{_coded(name): domain.size for name, domain in domains.items()}])
    occurring = np.sort(np.ravel_multi_index(lines.columns, sizes))
    kind = code_dtype(len(occurring))
    coded = tuple(_coded(name) for name in domains)

    def number(columns: Columns) -> Codes:
        joint = np.ravel_multi_index([columns[name] for name in coded], sizes)
        return np.asarray(np.searchsorted(occurring, joint).astype(kind))

    for group in design.groups:
        rows.derive(stratum_of(group), coded, number)
    return len(occurring)


def _coded(name: str) -> str:
    return f"\0{name}"  # a name that no column of a source has


def _encoding(name: str, domain: Domain) -> Work:
    return lambda columns: encode(chunks_of(columns[name]), domain, name)


def _stratum_domain(column: pa.ChunkedArray) -> Domain:
    domain = domain_from_data(column)
    return domain.with_missing() if has_missing(column) else domain


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


def channel_for(
    design: InvariantDesignForm, group: tuple[str, ...], counts: Counts, retention: Fraction | None
) -> Channel:
    """What the design makes of these counts; they have an axis for the strata, and one for every column."""
    if design.kind != "blocks":
        if counts.size > _LARGEST_MATRIX:
            raise UnreachableError(f"A matrix must have at most {_LARGEST_MATRIX} values", str(counts.size))
        flat = counts.reshape(-1)
        if design.kind == "two-stage":
            return two_stage(flat, design.diagonal, design.alpha)
        return sinkhorn(flat, float(retention or 0))
    xi = design.exact_xi or Fraction(1)
    ordered = [name in design.ordered for name in group]
    barred = dict(design.forbidden)
    forbidden = [barred.get(name, []) for name in group]
    plan = plan_strata if design.strata else plan_blocks
    return plan(counts, xi, rule=design.rule, ordered=ordered, forbidden=forbidden).channel


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
    mechanism: Exchange, frequencies: Mapping[str, list[int]], design: InvariantDesignForm, published: bool
) -> dict[str, dict[str, Any]]:
    """By group: both intruders' largest risks and the error of the frequencies, as far as they may be told."""
    summaries = {}
    for group, own in zip(mechanism.groups, design.groups, strict=True):
        name = " and ".join(own)
        risk = match_risk(group.channel, np.array(frequencies[name], np.int64))
        summaries[name] = _in_full(risk) if published else _in_classes(risk, design.exact_xi)
    return summaries


def _in_full(risk: MatchRisk) -> dict[str, Any]:
    """Where matrix and frequencies are published, nothing that follows from them is a secret."""
    drift = max((abs(d) for d in risk.drift), default=Fraction(0))
    matches = [m for m in risk.match if m is not None]
    return {
        **(risk.to_json() if len(risk.risk) <= _LISTED else {}),
        "xi": risk.xi,
        "xi_all_counts": rounding.float_up(risk.largest_all_counts),
        "risk_all_counts_left_out": risk.left_out,
        "largest_match": max(matches, default=0.0),
        "total_expected_squared_error": float(sum(risk.squared_error)),
        "largest_drift": str(drift),
    }


def _in_classes(risk: MatchRisk, wanted: Fraction | None) -> dict[str, Any]:
    """Where the matrix is withheld, every figure is a number of the table's true frequencies.

    With all digits, or by value, the frequencies can be worked out from them. So the xi that was asked for is
    stated and not the one that was reached, where it was; the rest is rounded up to one or two digits, and the
    error to a power of ten, for all values together.
    """
    reached = risk.xi if wanted is None or risk.xi > rounding.float_up(wanted) else None
    return {
        "xi": rounding.float_up(wanted) if reached is None and wanted is not None else up_to_digits(risk.xi, 2),
        "xi_all_counts": up_to_digits(rounding.float_up(risk.largest_all_counts), 2),
        "risk_all_counts_left_out": up_to_digits(risk.left_out, 1),
        "total_expected_squared_error": _power_of_ten(float(sum(risk.squared_error))),
    }


def _power_of_ten(value: float) -> float:
    """The least power of ten that is not below: with a digit more, the error of one rare value tells its count."""
    return 0.0 if value <= 0 else float(Fraction(10) ** math.ceil(math.log10(value) - 1e-12))


def up_to_digits(value: float, digits: int) -> float:
    """The least number of so many significant digits that is not below."""
    if value <= 0:
        return 0.0
    step = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return rounding.float_up(math.ceil(Fraction(str(value)) / step) * step)


def down_to_digits(value: float, digits: int) -> float:
    """The greatest number of so many significant digits that is not above."""
    if value <= 0:
        return 0.0
    step = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return rounding.float_down(math.floor(Fraction(str(value)) / step) * step)


def alike(derived: Any, stated: Any) -> bool:
    """The same numbers, but for the last digits, which a sum of floats may have otherwise on another machine."""
    if isinstance(derived, Mapping) and isinstance(stated, Mapping):
        return derived.keys() == stated.keys() and all(alike(derived[key], stated[key]) for key in derived)
    if isinstance(derived, list) and isinstance(stated, list):
        return len(derived) == len(stated) and all(alike(a, b) for a, b in zip(derived, stated, strict=True))
    if isinstance(derived, float) and isinstance(stated, float | int) and not isinstance(stated, bool):
        return math.isclose(derived, stated, rel_tol=1e-9, abs_tol=1e-12)
    return type(derived) is type(stated) and bool(derived == stated)
