"""A survey: the law of a recipe, and the questions by which people answer it on their own devices."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pramana.errors import RecipeError
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.retention.plan import RandomisedPlan
from pramana.methods.retention.setting import DrawnSetting
from pramana.randomness.samplers import ONE
from pramana.run.devices import plan_for_records
from pramana.schema.domain import Attribute, Domain
from pramana.schema.kind import label_of
from pramana.schema.sections import QuestionSection, RandomisedColumn, SurveySection
from pramana.schema.typed import near
from pramana.theory import rounding

_FILES = files("pramana.app.collector")
# A survey to try, as its recipe has it.
DEMONSTRATION: dict[str, Any] = tomllib.loads((_FILES / "demonstration.toml").read_text("utf-8"))


@cache
def interface_words(language: str) -> Mapping[str, str]:
    """The page's own words by name; `de-AT` is served by `de`, and a language that does not ship by English."""
    folder = _FILES / "words"
    for name in (language.lower(), language.lower().partition("-")[0], "en"):
        file = folder / f"{name}.json"
        if file.is_file():
            words: dict[str, str] = json.loads(file.read_text("utf-8"))
            return words
    raise AssertionError("English ships with the package")


Wordings = Mapping[str, str]  # by language
MOST_OPTIONS = 500
MOST_QUESTIONS = 200


@dataclass(frozen=True)
class Question:
    """A column as it is asked. `when` names the answers, as codes, of earlier questions that it needs."""

    column: str
    text: Wordings
    help: Wordings | None
    options: tuple[Wordings, ...]  # of each value but the missing one
    when: Mapping[str, tuple[int, ...]]
    otherwise: int  # the code of those who are not asked


@dataclass(frozen=True, eq=False)
class Survey:
    """What is asked, in which words, and by which law every answer is randomised before it leaves a device."""

    recipe: AnyRecipe
    plan: RandomisedPlan
    questions: tuple[Question, ...]
    languages: tuple[str, ...]
    title: Wordings
    introduction: Wordings | None

    @classmethod
    def read(cls, recipe: str | Path | Mapping[str, Any] | AnyRecipe) -> Survey:
        """The survey of a recipe; refused where an answer could leave a device as it is."""
        stated = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
        answered = replace(stated, attributes={n: _refusable(n, c) for n, c in stated.attributes.items()})
        plan = plan_for_records(answered)
        plan = replace(plan, circumstances=replace(plan.circumstances, on_devices=True))
        _check_law(plan)
        section = stated.survey
        languages = tuple(dict.fromkeys(section.languages)) or ("en",)
        title = section.title or stated.about.title or "Survey"
        introduction = section.introduction
        return cls(
            answered,
            plan,
            _questions(section, plan.attributes, languages),
            languages,
            _said(title, languages, "survey.title"),
            None if introduction is None else _said(introduction, languages, "survey.introduction"),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.plan.attributes)

    @property
    def invitations(self) -> int | None:
        return self.recipe.survey.invitations

    @property
    def planned(self) -> int | None:
        setting = self.recipe.release
        return setting.records if isinstance(setting, DrawnSetting) else None

    @cached_property
    def _ratio(self) -> Fraction:
        ratio = self.plan.mechanism.likelihood_ratio
        assert ratio is not None  # such a law was refused
        return ratio

    @property
    def epsilon(self) -> float:
        return rounding.log_up(self._ratio)

    def question(self, column: str) -> Question:
        return next(question for question in self.questions if question.column == column)

    def words_of(self, column: str, label: str | None, language: str) -> str:
        """What people read for a value; None is that of those who do not answer."""
        if label is None:
            return interface_words(language)["refuse"]
        labels = next(a.coded.labels for a in self.plan.attributes if a.name == column)
        return self.question(column).options[labels.index(label)][language]

    def definition(self) -> dict[str, Any]:
        """All that the page needs, which is public: questions, law, words. The page's digest covers it."""
        return {
            "format": "pramana-survey",
            "version": 1,
            "languages": list(self.languages),
            "title": dict(self.title),
            "introduction": None if self.introduction is None else dict(self.introduction),
            "columns": list(self.columns),
            "labels": [list(a.coded.labels) for a in self.plan.attributes],
            "law": self.plan.mechanism.to_json(),
            "questions": [asdict(question) for question in self.questions],
            "kept": [_percent_up(self._same(a)) for a in self.plan.attributes],
            "factor": rounding.shown_up(self._ratio, 3),
            "epsilon": rounding.shown_up(self.epsilon, 4),
            "invited": self.invitations is not None,
            "words": {language: dict(interface_words(language)) for language in self.languages},
        }

    def _same(self, attribute: Attribute) -> Fraction:
        """The largest probability that an answer is sent as it is."""
        law, size = self.plan.mechanism, attribute.coded.size
        if isinstance(law, RecordRetention):
            return law.retention + (1 - law.retention) / size
        assert isinstance(law, Product)
        return Fraction(int(law.channels[attribute.name].weights.diagonal().max()), ONE)


def _percent_up(share: Fraction) -> str:
    return f"{math.ceil(share * 1000) / 10:g}"


def _refusable(name: str, column: Any) -> Any:
    """The column with a value for those who do not answer: not answering is an answer like the others."""
    if not isinstance(column, RandomisedColumn):
        return column  # of a method that does not randomise single records, which is refused by name
    if column.missing == "never":
        raise RecipeError(
            f"The question {name!r} must have a value for those who do not answer",
            'missing = "never"',
            'Write missing = "category".',
        )
    return msgspec.structs.replace(column, missing="category")


def _check_law(plan: RandomisedPlan) -> None:
    if raw := plan.raw_names():
        raise RecipeError(
            f"Every question of a survey must be randomised, {raw[0]!r} too",
            "a column that is released unchanged",
            "Write randomise = true, or leave the column out.",
        )
    if isinstance(plan.mechanism, CoinGroups):
        raise RecipeError(
            "The answers of a survey must have a coin each, or one for all of them",
            "coins for groups of questions",
            'Write coin = "attribute" or coin = "record"; `pramana plan` shows what each is worth.',
        )
    if not plan.shuffled:
        raise RecipeError("The records of a survey must be published in random order", "shuffle = false")
    if plan.mechanism.likelihood_ratio is None:
        raise RecipeError(
            "Every answer of a survey must be able to lead to everything that may be sent",
            "a law with zeros",
            "Let every entry of a matrix be positive, and every retention below 1.",
        )
    if len(plan.attributes) > MOST_QUESTIONS:
        raise RecipeError(f"A survey must have at most {MOST_QUESTIONS} questions", str(len(plan.attributes)))
    for a in plan.attributes:
        if a.coded.size > MOST_OPTIONS:
            raise RecipeError(
                f"The question {a.name!r} must have at most {MOST_OPTIONS} values", str(a.coded.size)
            )


def _questions(
    section: SurveySection, attributes: Sequence[Attribute], languages: Sequence[str]
) -> tuple[Question, ...]:
    by_name = {a.name: a for a in attributes}
    for where, names in (("survey.questions", section.questions), ("survey.order", section.order)):
        for name in names:
            if name not in by_name:
                raise RecipeError(f"{where} must name columns that are published", repr(name), near(name, by_name))
    if len(set(section.order)) < len(section.order):
        twice = next(name for name in section.order if section.order.count(name) > 1)
        raise RecipeError("survey.order must name every question once", f"{twice!r} twice")
    ordered = [*section.order, *(name for name in by_name if name not in section.order)]
    questions: dict[str, Question] = {}
    for name in ordered:
        question = section.questions.get(name) or QuestionSection(text=name)
        questions[name] = _question(by_name[name], question, languages, {n: by_name[n] for n in questions})
    return tuple(questions.values())


def _question(
    attribute: Attribute, section: QuestionSection, languages: Sequence[str], earlier: Mapping[str, Attribute]
) -> Question:
    where, domain = f"survey.questions.{attribute.name}", attribute.coded
    for value in section.options:
        if value not in domain.labels:
            raise RecipeError(
                f"{where}.options must name values of the column", repr(value), near(value, domain.labels)
            )
    when = {}
    for name, values in section.when.items():
        if name not in earlier:
            hint = near(name, earlier) or "A question is section or not by answers that were given before it."
            raise RecipeError(f"{where}.when must name earlier questions", repr(name), hint)
        when[name] = tuple(_code(earlier[name].coded, value, f"{where}.when.{name}") for value in values)
    missing = domain.missing_code
    assert missing is not None
    return Question(
        attribute.name,
        _said(section.text, languages, f"{where}.text"),
        None if section.help is None else _said(section.help, languages, f"{where}.help"),
        tuple(_option(domain, code, section, languages, where) for code in range(len(domain.labels))),
        when,
        missing if section.otherwise is None else _code(domain, section.otherwise, f"{where}.otherwise"),
    )


def _option(
    domain: Domain, code: int, section: QuestionSection, languages: Sequence[str], where: str
) -> dict[str, str]:
    """What people read for a value: the recipe's words, a range in words, or the value itself."""
    label = domain.labels[code]
    if label in section.options:
        return _said(section.options[label], languages, f"{where}.options.{label}")
    if not domain.edges:
        return dict.fromkeys(languages, label)
    low, high = domain.edges[code], domain.edges[code + 1]
    kind = "every" if math.isinf(low) and math.isinf(high) else "below" if math.isinf(low) else "above"
    kind = "range" if math.isfinite(low) and math.isfinite(high) else kind
    return {
        language: interface_words(language)[f"bin_{kind}"].format(low=f"{low:g}", high=f"{high:g}")
        for language in languages
    }


def _said(wording: str | Mapping[str, str], languages: Sequence[str], where: str) -> dict[str, str]:
    """A text in every language of the survey."""
    if isinstance(wording, str):
        return dict.fromkeys(languages, wording)
    for language in languages:
        if language not in wording:
            raise RecipeError(f"{where} must be said in every language of the survey", f"none in {language!r}")
    for language in wording:
        if language not in languages:
            raise RecipeError(f"{where} must be said in the languages of the survey", f"also {language!r}")
    return {language: wording[language] for language in languages}


def _code(domain: Domain, value: object, where: str) -> int:
    label = label_of(value)
    code = domain.missing_code if label == "" else None
    if code is None and label in domain.labels:
        code = domain.labels.index(label)
    if code is None:
        raise RecipeError(f"{where} must name values of the column", repr(value), near(label, domain.labels))
    return code
