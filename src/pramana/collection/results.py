"""What an organiser sees while answers come in: reconstructed tables with intervals, and what k comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pramana.collection.survey import Survey
from pramana.errors import InputError
from pramana.estimate import Axis, Crosstab, Study
from pramana.mechanisms import k_of
from pramana.randomness import Codes
from pramana.theory import rounding

MOST_CELLS = 400  # of a table that is shown while answers come in


@dataclass(frozen=True)
class CollectionResults:
    """`k` counts the records that came; `k_planned` those that are planned, which needs secret participants."""

    records: int
    planned: int | None
    k: float
    k_planned: float | None
    epsilon: float
    tables: tuple[Crosstab, ...]


def results_of(survey: Survey, records: Codes) -> CollectionResults:
    """Estimates of the true counts, from randomised records alone."""
    count = len(records)
    around, law = survey.plan.circumstances, survey.plan.mechanism
    planned = survey.planned

    def k_at(number: int) -> float:
        return rounding.float_down(k_of(law, replace(around, records=number)))

    return CollectionResults(
        records=count,
        planned=planned,
        k=k_at(count) if count else 1.0,
        k_planned=None if planned is None else k_at(planned),
        epsilon=survey.epsilon,
        tables=tuple(_tables(survey, records)) if count else (),
    )


def _tables(survey: Survey, records: Codes) -> list[Crosstab]:
    axes = [Axis.of_domain(a.name, a.coded) for a in survey.plan.attributes]
    size = {axis.name: axis.size for axis in axes}
    study = Study.of_codes(axes, survey.plan.mechanism, columns_of(survey, records))
    asked = [(question.column,) for question in survey.questions]
    wanted = [table for table in survey.recipe.tables if math.prod(size[n] for n in table) <= MOST_CELLS]
    tables = []
    for names in dict.fromkeys([*asked, *wanted]):
        try:
            tables.append(study.crosstab(list(names)))
        except InputError:  # a law that cannot be inverted tells nothing by itself
            continue
    return tables


def columns_of(survey: Survey, records: Codes) -> dict[str, Codes]:
    return {name: records[:, i] for i, name in enumerate(survey.columns)}
