"""Columns with `channel = "ordered"`: where their values lie, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pramana.errors import RecipeError
from pramana.estimate import Axis
from pramana.methods.recipe import Recipe
from pramana.methods.retention.setting import RetentionColumn, RetentionSetting
from pramana.schema import Attribute, Domain, Kind

if TYPE_CHECKING:
    from pramana.calibration import OrderedValues

_PLANNED = 100_000  # records, where nobody says how many there will be
_FEWEST, _MOST = 1_000, 10_000_000


def ordered_columns(
    recipe: Recipe[RetentionSetting, RetentionColumn], attributes: tuple[Attribute, ...], records: int
) -> Mapping[str, OrderedValues]:
    """By column. The law follows from recipe, domains and number of records alone, never from a row."""
    named = {name: c for name, c in recipe.attributes.items() if c.channel == "ordered"}
    if not named:
        return {}
    from pramana.calibration import Criterion, OrderedValues  # few columns are of this kind

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
