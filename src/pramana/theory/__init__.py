"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import every_count, identification, outcome_search, pk, rounding, shuffling
from pramana.theory.guarantee import (
    ANY_TABLE,
    THIS_TABLE,
    CentralPrivacy,
    EveryCountBound,
    Guarantee,
    IdentificationBound,
    KAnonymity,
    LDiversity,
    LocalPrivacy,
    PkAnonymity,
    TCloseness,
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
    "KAnonymity",
    "LDiversity",
    "LocalPrivacy",
    "PkAnonymity",
    "Statement",
    "TCloseness",
    "every_count",
    "identification",
    "outcome_search",
    "pk",
    "rounding",
    "shuffling",
]
