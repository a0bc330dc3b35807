"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import every_count, identification, levels, outcome_search, pk, presence, rounding, shuffling
from pramana.theory.guarantee import (
    ANY_TABLE,
    THIS_TABLE,
    CentralPrivacy,
    CollusionBound,
    DeltaPresence,
    EveryCountBound,
    GrowthBound,
    Guarantee,
    IdentificationBound,
    KAnonymity,
    LDiversity,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
    TCloseness,
)
from pramana.theory.levels import GRID, Level
from pramana.theory.statements import PAPERS, STATEMENTS, Statement

__all__ = [
    "ANY_TABLE",
    "GRID",
    "PAPERS",
    "STATEMENTS",
    "THIS_TABLE",
    "CentralPrivacy",
    "CollusionBound",
    "DeltaPresence",
    "EveryCountBound",
    "GrowthBound",
    "Guarantee",
    "IdentificationBound",
    "KAnonymity",
    "LDiversity",
    "Level",
    "LocalPrivacy",
    "PkAnonymity",
    "PosteriorBound",
    "Statement",
    "TCloseness",
    "every_count",
    "identification",
    "levels",
    "outcome_search",
    "pk",
    "presence",
    "rounding",
    "shuffling",
]
