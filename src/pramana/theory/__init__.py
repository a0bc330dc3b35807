"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import every_count, identification, outcome_search, pk, rounding, shuffling
from pramana.theory.guarantee import (
    ANY_TABLE,
    THIS_TABLE,
    CentralPrivacy,
    EveryCountBound,
    Guarantee,
    IdentificationBound,
    LocalPrivacy,
    PkAnonymity,
)
from pramana.theory.statements import PAPERS, STATEMENTS, Statement

__all__ = [
    "ANY_TABLE",
    "PAPERS",
    "STATEMENTS",
    "THIS_TABLE",
    "CentralPrivacy",
    "EveryCountBound",
    "Guarantee",
    "IdentificationBound",
    "LocalPrivacy",
    "PkAnonymity",
    "Statement",
    "every_count",
    "identification",
    "outcome_search",
    "pk",
    "rounding",
    "shuffling",
]
