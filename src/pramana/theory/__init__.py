"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import levels, pk, rounding, shuffling
from pramana.theory.guarantee import (
    ANY_TABLE,
    THIS_TABLE,
    CentralPrivacy,
    Guarantee,
    LocalPrivacy,
    PkAnonymity,
)
from pramana.theory.levels import GRID, Level

__all__ = [
    "ANY_TABLE",
    "GRID",
    "THIS_TABLE",
    "CentralPrivacy",
    "Guarantee",
    "Level",
    "LocalPrivacy",
    "PkAnonymity",
    "levels",
    "pk",
    "rounding",
    "shuffling",
]
