"""The organiser's results in the blocks of the report."""

from __future__ import annotations

from typing import Any

from pramana.collection import CollectionResults, Survey
from pramana.estimate import Crosstab
from pramana.pages import Bar, Bars, Legend, Section
from pramana.theory import rounding


def results_context(survey: Survey, results: CollectionResults) -> dict[str, Any]:
    """What the template shows. Numbers of promises are rounded against ourselves."""
    language = survey.languages[0]
    return {
        "title": survey.title[language],
        "results": results,
        "k_now": rounding.shown_down(results.k, 4),
        "k_planned": None if results.k_planned is None else rounding.shown_down(results.k_planned, 4),
        "epsilon": rounding.shown_up(results.epsilon, 4),
        "legend": Legend(estimated=True),
        "tables": [_section(survey, table, language) for table in results.tables],
    }


def _section(survey: Survey, table: Crosstab, language: str) -> Section:
    names = [axis.name for axis in table.axes]
    bars = [
        Bar(
            [survey.words_of(name, cell[name], language) for name in names],
            estimate=cell["estimate"],
            low=cell["low"],
            high=cell["high"],
        )
        for cell in table.cells()
    ]
    title = survey.question(names[0]).text[language] if len(names) == 1 else " by ".join(names)
    return Section(title, [Bars(bars, ["answer"] if len(names) == 1 else names)], part=True)
