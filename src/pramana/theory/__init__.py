"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import levels, pk, rounding, shuffling
from pramana.theory.guarantee import (
    ANY_TABLE,
    THIS_TABLE,
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    Guarantee,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
)
from pramana.theory.levels import GRID, Level

__all__ = [
    "ANY_TABLE",
    "GRID",
    "THIS_TABLE",
    "CentralPrivacy",
    "CollusionBound",
    "GrowthBound",
    "Guarantee",
    "Level",
    "LocalPrivacy",
    "PkAnonymity",
    "PosteriorBound",
    "levels",
    "pk",
    "rounding",
    "shuffling",
]
