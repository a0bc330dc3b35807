"""The one page that respondents load. Its digest covers everything it runs: it names the digest of every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from pramana.app.web import Asset, Assets, Pages
from pramana.collection import Survey, interface_words

_SCRIPTS = ("survey.js", "organiser.js", "survey.css")
_READABLE = ("randomise.js", "survey.js", "survey.css", "report.css", "web.css")


@dataclass(frozen=True)
class SurveyPage:
    """The page of a survey, the same for everyone: an invitation is in the part of a link that is never sent."""

    survey: Survey

    @cached_property
    def assets(self) -> Assets:
        return Assets(
            Asset.of_package("pramana.collection", "browser/lib/randomise.js"),
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
