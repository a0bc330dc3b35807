"""[survey]: how a recipe's columns are asked of people, each on a device of their own."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pramana.schema.sections import RecipeSection
from pramana.schema.typed import Count, Flag

_SAID = "text of 1 to 2,000 characters, or a section of such texts by language"
Said = Annotated[str, Meta(min_length=1, max_length=2000)]
Language = Annotated[str, Meta(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)]
Wording = Annotated[
    Said | dict[Language, Said],
    Meta(description="One text, or one for each language.", extra={"must": _SAID}),
]
Value = str | int | float | bool
Names = Annotated[list[str], Meta(extra={"must": "a list of attributes"})]


class QuestionSection(RecipeSection, frozen=True, kw_only=True):
    """[survey.questions.NAME]: what people read, and whom the question concerns."""

    text: Wording
    help: Wording | None = None
    options: Annotated[
        dict[str, Wording],
        Meta(description="What people read for a value.", extra={"must": "a section of values and their words"}),
    ] = {}
    when: Annotated[
        dict[str, list[Value]],
        Meta(
            description="Ask only who gave one of these answers to each of these earlier questions.",
            extra={"must": 'a section of earlier questions and lists of answers, such as { smokes = ["yes"] }'},
        ),
    ] = {}
    otherwise: Annotated[
        Value | None,
        Meta(description="The value of those who are not asked; without, the one of those who do not answer."),
    ] = None


class SurveySection(RecipeSection, frozen=True, kw_only=True):
    """[survey]: the page that people answer on, each for themselves."""

    title: Wording | None = None
    introduction: Wording | None = None
    languages: Annotated[
        list[Language],
        Meta(
            description="Those of the page, the first one first; without, English.",
            extra={"must": 'a list of languages such as ["en", "de"]'},
        ),
    ] = []
    order: Annotated[Names, Meta(description="The order of the questions; without, that of the columns.")] = []
    questions: Annotated[
        dict[str, QuestionSection], Meta(extra={"must": "a section [survey.questions.NAME] for each column"})
    ] = {}
    invitations: Annotated[
        Count | None, Meta(description="How many links to make, each for one answer; without, anyone may answer.")
    ] = None
    fewer: Annotated[
        Flag,
        Meta(description="Publish also if so few answer that k or central is not reached; what is, is certified."),
    ] = False
