"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
from pramana.theory.notions.guarantee import (
    NOTIONS,
    Guarantee,
    NotionExplanation,
    explanation_of,
    problems_of,
    sentence_table,
)
from pramana.theory.notions.of_models import (
    AddedNoise,
    AverageRisk,
    BLikeness,
    DDisclosure,
    KMap,
    PopulationUniqueness,
    Profitability,
    Swapping,
)
from pramana.theory.notions.of_tables import (
    DeltaPresence,
    EveryCountBound,
    IdentificationBound,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from pramana.theory.notions.randomised import (
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
)
from pramana.theory.notions.wording import (
    ANY_TABLE,
    CONDITIONS,
    IN_EARNEST,
    OWN_COINS,
    THIS_TABLE,
    Sentence,
    SentenceCondition,
    overclaims_in,
)

if TYPE_CHECKING:
    from pramana.theory import (
        blanket,
        disclosure,
        every_count,
        identification,
        levels,
        outcome_search,
        pk,
        positive_part,
        presence,
        presence_rows,
        rounding,
        shuffling,
    )
    from pramana.theory.composition import PrivacyProfile, composed_epsilon
    from pramana.theory.levels import GRID, Level
    from pramana.theory.statements import PAPERS, STATEMENTS, Statement

_MODULE_OF = {  # a command loads what it uses
    "GRID": "levels",
    "Level": "levels",
    "PAPERS": "statements",
    "PrivacyProfile": "composition",
    "STATEMENTS": "statements",
    "Statement": "statements",
    "composed_epsilon": "composition",
}
_MODULES = (
    "blanket",
    "disclosure",
    "every_count",
    "identification",
    "levels",
    "outcome_search",
    "pk",
    "positive_part",
    "presence",
    "presence_rows",
    "rounding",
    "shuffling",
)

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF, _MODULES)

__all__ = [
    "ANY_TABLE",
    "CONDITIONS",
    "GRID",
    "IN_EARNEST",
    "NOTIONS",
    "OWN_COINS",
    "PAPERS",
    "STATEMENTS",
    "THIS_TABLE",
    "AddedNoise",
    "AverageRisk",
    "BLikeness",
    "CentralPrivacy",
    "CollusionBound",
    "DDisclosure",
    "DeltaPresence",
    "EveryCountBound",
    "GrowthBound",
    "Guarantee",
    "IdentificationBound",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Level",
    "LocalPrivacy",
    "NotionExplanation",
    "PkAnonymity",
    "PopulationUniqueness",
    "PosteriorBound",
    "PrivacyProfile",
    "Profitability",
    "Sentence",
    "SentenceCondition",
    "Statement",
    "Swapping",
    "TCloseness",
    "blanket",
    "composed_epsilon",
    "disclosure",
    "every_count",
    "explanation_of",
    "identification",
    "levels",
    "outcome_search",
    "overclaims_in",
    "pk",
    "positive_part",
    "presence",
    "presence_rows",
    "problems_of",
    "rounding",
    "sentence_table",
    "shuffling",
]
