"""The one page that respondents load. Its digest covers everything it runs: it names the digest of every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from pramana.app.collector.closing import CollectionResults
from pramana.app.collector.survey import Survey, interface_words
from pramana.app.web.serving import Asset, Assets, Pages
from pramana.pages.content import Bar, Bars, Legend, Section
from pramana.recipient.answers import Crosstab
from pramana.theory import rounding

_SCRIPTS = ("survey.js", "organiser.js", "survey.css")
_READABLE = ("randomise.js", "survey.js", "survey.css", "report.css", "web.css")


@dataclass(frozen=True)
class SurveyPage:
    """The page of a survey, the same for everyone: an invitation is in the part of a link that is never sent."""

    survey: Survey

    @cached_property
    def assets(self) -> Assets:
        return Assets(
            Asset.of_package("pramana.app.collector", "randomiser/lib/randomise.js"),
            *(Asset.of_package("pramana.app.collector", f"static/{name}") for name in _SCRIPTS),
        )

    @cached_property
    def pages(self) -> Pages:
        return Pages(self.assets, "pramana.app.collector")

    @cached_property
    def definition(self) -> bytes:
        return json.dumps(self.survey.definition(), ensure_ascii=True, allow_nan=False).encode()

    @cached_property
    def content(self) -> bytes:
        first = self.survey.languages[0]
        page = self.pages.html(
            "survey.html",
            language=first,
            title=self.survey.title[first],
            words=interface_words(first),
            definition=Markup(_harmless(self.definition.decode())),
        )
        return page.encode()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def files(self) -> list[Asset]:
        """What the page loads, and anyone may read."""
        return [self.assets[name] for name in _READABLE]


def _harmless(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# The organiser's results in the blocks of the report.


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
