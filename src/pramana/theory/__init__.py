"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from pramana.theory import (
    every_count,
    identification,
    levels,
    outcome_search,
    pk,
    presence,
    presence_rows,
    rounding,
    shuffling,
)
from pramana.theory.guarantee import NOTIONS, Explanation, Guarantee, explanation_of, problems_of, sentence_table
from pramana.theory.levels import GRID, Level
from pramana.theory.randomised_notions import (
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
)
from pramana.theory.statements import PAPERS, STATEMENTS, Statement
from pramana.theory.table_notions import (
    DeltaPresence,
    EveryCountBound,
    IdentificationBound,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from pramana.theory.wording import (
    ANY_TABLE,
    CONDITIONS,
    IN_EARNEST,
    THIS_TABLE,
    Condition,
    Sentence,
    overclaims_in,
)

__all__ = [
    "ANY_TABLE",
    "CONDITIONS",
    "GRID",
    "IN_EARNEST",
    "NOTIONS",
    "PAPERS",
    "STATEMENTS",
    "THIS_TABLE",
    "CentralPrivacy",
    "CollusionBound",
    "Condition",
    "DeltaPresence",
    "EveryCountBound",
    "Explanation",
    "GrowthBound",
    "Guarantee",
    "IdentificationBound",
    "KAnonymity",
    "LDiversity",
    "Level",
    "LocalPrivacy",
    "PkAnonymity",
    "PosteriorBound",
    "Sentence",
    "Statement",
    "TCloseness",
    "every_count",
    "explanation_of",
    "identification",
    "levels",
    "outcome_search",
    "overclaims_in",
    "pk",
    "presence",
    "presence_rows",
    "problems_of",
    "rounding",
    "sentence_table",
    "shuffling",
]
