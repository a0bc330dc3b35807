"""From a local epsilon to the channel of least expected error, in integers that keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pramana.errors import InputError, RecipeError, UnreachableError
from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.table import Product
from pramana.methods.recipe import Recipe
from pramana.methods.retention.calibration import Wanted
from pramana.methods.retention.ordered_design import (
    Criterion,
    Floats,
    interval_design,
    interval_patterns,
    kept_or_redrawn,
    named_near,
    square_wave,
    two_point,
    with_missing,
)
from pramana.methods.retention.setting import RetentionColumn, RetentionSetting
from pramana.schema.axis import Axis
from pramana.schema.domain import Attribute, Domain
from pramana.schema.kind import Kind

MOST_VALUES = 256
_MOST_DESIGNED = 100  # beyond, only the closed forms: the linear programs would take minutes
_MOST_IMPROVED = 60  # beyond, a smooth column gets a square wave, for the same reason
_STARTS_WITH = 0.03  # of retention: a column that nothing uses would never be used
_HALVES = 48  # widths of the square wave that are tried
_ADDED = (0.0, 0.01, 0.05)  # shares of retention that are mixed in, so that a channel can be inverted
_HAIR = 1e-7  # epsilon is calculated with so much less, for what rounding adds
_MOST_RATIO = 1e9  # there retention errs hardly ever


@dataclass(frozen=True, eq=False)
class OrderedValues:
    """An attribute's values on a line, what is to be estimated best, and whether a missing category comes last."""

    criterion: Criterion
    missing: bool = False

    def __post_init__(self) -> None:
        if self.criterion.size > MOST_VALUES:
            raise InputError(
                f'channel = "ordered" must have at most {MOST_VALUES} values',
                str(self.criterion.size),
                "Put the values into bins.",
            )

    @property
    def size(self) -> int:
        return self.criterion.size + self.missing


def ordered_channel(values: OrderedValues, ratio: Fraction, design: bool = True) -> Channel:
    """Of the square waves, the two-point channel, the optimised one and retention, the one with the least error.

    None has two chances for a published value that differ by more than `ratio`: decided on the integers.
    """
    kept = _retention(values.size, ratio)
    if values.criterion.size < 3 or not 1 < ratio < _MOST_RATIO:
        return kept
    best: Floats | None = None
    least = values.criterion.expected_error(kept_or_redrawn(values.criterion.size, float(ratio)))
    for matrix in _candidates(values.criterion, 1 + (float(ratio) - 1) * (1 - _HAIR), design):
        error = values.criterion.expected_error(matrix)
        if error < least:
            best, least = matrix, error
    if best is None:
        return kept
    return in_integers(with_missing(best, float(ratio) * (1 - _HAIR)) if values.missing else best, ratio)


def _candidates(criterion: Criterion, ratio: float, design: bool) -> Iterator[Floats]:
    waves = [square_wave(criterion.line, ratio, half) for half in np.geomspace(0.2 / criterion.size, 1.0, _HALVES)]
    kept = kept_or_redrawn(criterion.size, ratio)
    optimised = []
    if design and criterion.error_of == "smooth" and criterion.size <= _MOST_IMPROVED:
        near = min(waves, key=criterion.smooth_error)
        start = (1 - _STARTS_WITH) * near + _STARTS_WITH * kept
        better = criterion.smooth_error.improved(start, interval_patterns(criterion.size, ratio), ratio)
        optimised = [named_near(better, criterion.line)]
    elif design and criterion.error_of != "smooth" and criterion.size <= _MOST_DESIGNED:
        optimised = [interval_design(criterion, ratio).matrix]
    for matrix in [*waves, *optimised, two_point(criterion.line, ratio)]:
        for added in _ADDED:
            yield (1 - added) * matrix + added * kept


def _retention(size: int, ratio: Fraction) -> Retention:
    """Corollary 2 solved for rho, in integers."""
    return Retention.at((ratio - 1) / (ratio - 1 + size), size)


def in_integers(matrix: Floats, ratio: Fraction) -> Dense:
    """Rounded out of 2^62 and checked; where the ratio is missed by a hair, blended with what tells nothing."""
    rows = np.maximum(matrix, 0.0)
    rows[:, rows.min(axis=0) < 1e-12] = 0.0  # never published, or hardly ever
    rows /= rows.sum(axis=1, keepdims=True)
    blend = 0.0
    for _ in range(40):
        tried = (1 - blend) * rows + blend * rows.mean(axis=0)
        exact = [[Fraction(entry) for entry in row] for row in tried.tolist()]
        channel = Dense.of([[entry / sum(row) for entry in row] for row in exact])
        reached = channel.likelihood_ratio
        if reached is not None and reached <= ratio:
            return channel
        blend = max(_HAIR, 2 * blend)
    raise UnreachableError("An ordered channel must reach its epsilon", "one that no blend reaches")


def with_ordered(law: Product, ordered: Mapping[str, OrderedValues], wanted: Wanted | None = None) -> Product:
    """The law with these attributes through ordered channels of the epsilon that their retention has.

    Their AR is at least 1/ratio^2, which is retention's: k is kept with epsilon. A central promise depends on
    the whole matrix; where it is missed the ordered attributes get less. Without `wanted` nothing is checked.
    """
    if not ordered:
        return law
    ratios = {name: law.channels[name].likelihood_ratio for name in ordered}
    for turn in range(30):
        part = Fraction(9, 10) ** turn
        channels = dict(law.channels)
        for name, values in ordered.items():
            ratio = ratios[name]
            if ratio is not None and ratio > 1:
                channels[name] = ordered_channel(values, 1 + (ratio - 1) * part, design=turn == 0)
        changed = Product(channels)
        if wanted is None or wanted.is_kept_by(changed):
            return changed
    raise UnreachableError(
        "The promise must be kept by ordered channels", "none that does", 'Leave out channel = "ordered".'
    )


# Columns with `channel = "ordered"`: where their values lie, and what is refused.


_PLANNED = 100_000  # records, where nobody says how many there will be
_FEWEST, _MOST = 1_000, 10_000_000


def ordered_columns(
    recipe: Recipe[RetentionSetting, RetentionColumn], attributes: tuple[Attribute, ...], records: int
) -> Mapping[str, OrderedValues]:
    """By column. The law follows from recipe, domains and number of records alone, never from a row."""
    named = {name: c for name, c in recipe.attributes.items() if c.channel == "ordered"}
    if not named:
        return {}
    from pramana.methods.retention.ordered_design import Criterion  # few columns are of this kind

    release = recipe.release
    if release.coin != "attribute":
        raise RecipeError('channel = "ordered" must go with coin = "attribute"', f"coin = {release.coin!r}")
    if release.retention is not None or any(c.retention is not None for c in recipe.attributes.values()):
        raise RecipeError('channel = "ordered" must go with k, epsilon or central', "a stated retention")
    by_name = {a.name: a for a in attributes if not a.raw}
    counted = min(max(records or _PLANNED, _FEWEST), _MOST)
    ordered = {}
    for name, column in named.items():
        if name not in by_name:
            raise RecipeError(f'The column {name!r} must be randomised to have channel = "ordered"', "not")
        domain = by_name[name].coded
        if not domain.kind.has_order:
            raise RecipeError(
                f'The column {name!r} must have values in order for channel = "ordered"',
                f"the kind {domain.kind.value}",
                'State kind = "ordered" if its domain is in order. For names retention is the best there is here.',
            )
        if len(domain.labels) > 1:
            wanted = column.error_of or "distribution"
            criterion = Criterion(_positions(domain), wanted, counted, column.shape or "even")
            ordered[name] = OrderedValues(criterion, domain.missing)
    return ordered


def _positions(domain: Domain) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Numbers and days where they are; the middle of a bin, one without an end as wide as the next; else ranks."""
    ranks = np.arange(len(domain.labels), dtype=np.float64)
    axis = Axis.of_domain("", domain)
    if domain.kind not in (Kind.NUMBER, Kind.DATE) or axis.lower is None or axis.upper is None:
        return ranks
    low, high = np.array(axis.lower[: len(ranks)]), np.array(axis.upper[: len(ranks)])
    if np.isinf(low[0]):
        low[0] = high[0] - (high[1] - low[1] if np.isfinite(high[1]) else 1.0)
    if np.isinf(high[-1]):
        high[-1] = low[-1] + (high[-2] - low[-2] if np.isfinite(low[-2]) else 1.0)
    middles = (low + high) / 2
    return middles if np.isfinite(middles).all() and (np.diff(middles) > 0).all() else ranks
