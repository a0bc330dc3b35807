"""From a recipe to a survey: what people read, skip rules, and recipes that would let an answer leave as it is."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.collection.people import simulated_answers

from pramana.app.collector.submission import AddressLimit, Submission
from pramana.app.collector.survey import DEMONSTRATION, Survey, interface_words
from pramana.errors import PramanaError, RecipeError, SourceError


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    recipe = copy.deepcopy(DEMONSTRATION)
    change(recipe)
    return recipe


def test_a_recipe_without_a_survey_section_asks_by_the_names_of_its_columns() -> None:
    sex = {"role": "quasi-identifying", "domain": ["F", "M"]}
    survey = Survey.read({"release": {"epsilon": 1}, "attributes": {"name": {"role": "identifying"}, "sex": sex}})
    (question,) = survey.questions
    assert question.text == {"en": "sex"} and question.options == ({"en": "F"}, {"en": "M"})
    assert survey.plan.attributes[0].coded.size == 3, "not answering is a value"
    assert not survey.plan.attributes[0].coded.missing_from_data
    assert survey.languages == ("en",) and survey.title == {"en": "Survey"}


def test_ranges_are_said_in_words_and_every_language_has_all_words() -> None:
    survey = Survey.read(DEMONSTRATION)
    ages = survey.question("age").options
    assert [words["en"] for words in ages][::3] == ["16 to under 30", "60 or more"]
    assert ages[0]["de"] == "16 bis unter 30"
    assert set(interface_words("de")) == set(interface_words("en"))
    assert interface_words("de-AT")["send"] == "Senden" and interface_words("fr")["send"] == "Send"
    below = Survey.read(changed(lambda r: r["attributes"]["age"].update(bins=[float("-inf"), 30, float("inf")])))
    assert below.question("age").options[0]["en"] == "under 30"


def test_the_definition_is_json_that_names_the_law_in_integers() -> None:
    definition = json.loads(json.dumps(Survey.read(DEMONSTRATION).definition(), allow_nan=False))
    assert definition["columns"] == ["ill_at_work", "reason", "age"]
    assert definition["law"]["coin"] == "attribute"
    asked = {question["column"]: question for question in definition["questions"]}
    assert asked["reason"]["when"] == {"ill_at_work": [0]} and asked["reason"]["otherwise"] == 4
    assert float(definition["factor"]) >= 20.085 and definition["epsilon"] == "3"
    assert all(0 < float(kept) < 100 for kept in definition["kept"])


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "not randomised": (lambda r: r["attributes"]["reason"].pop("randomise"), "'reason' too"),
    "must answer": (lambda r: r["attributes"]["age"].update(missing="never"), "do not answer"),
    "in order": (lambda r: r["release"].update(shuffle=False), "random order"),
    "kept for certain": (lambda r: r["release"].pop("epsilon") and r["release"].update(retention=1.0), "lead to"),
    "another method": (
        lambda r: r.update(release={"method": "generalize", "k": 2}),
        "retention and matrix|randomise",
    ),
    "from the data": (lambda r: r["attributes"]["ill_at_work"].update(domain="from-data"), "must be declared"),
    "k without number": (lambda r: r.update(release={"k": 10}), "plan the number"),
    "unknown question": (lambda r: r["survey"]["questions"].update(agee={"text": "x"}), "Did you mean 'age'"),
    "unknown in order": (lambda r: r["survey"]["order"].append("agee"), "survey.order"),
    "order twice": (lambda r: r["survey"]["order"].append("age"), "once"),
    "later question": (
        lambda r: r["survey"]["questions"]["ill_at_work"].update(when={"age": ["[16,30)"]}),
        "earlier questions",
    ),
    "unknown answer": (
        lambda r: r["survey"]["questions"]["reason"].update(when={"ill_at_work": ["perhaps"]}),
        "values of the column",
    ),
    "unknown otherwise": (lambda r: r["survey"]["questions"]["reason"].update(otherwise="x"), "otherwise"),
    "unknown option": (lambda r: r["survey"]["questions"]["reason"]["options"].update(x="y"), "options"),
    "language missing": (lambda r: r["survey"].update(title={"en": "x"}), "none in 'de'"),
    "language too many": (lambda r: r["survey"].update(title={"en": "x", "de": "y", "fr": "z"}), "also 'fr'"),
    "no language": (lambda r: r["survey"].update(languages=["english please"]), "survey.languages"),
    "empty text": (lambda r: r["survey"]["questions"]["age"].update(text=""), "survey.questions"),
    "strange key": (lambda r: r["survey"].update(invitation=5), "invitations"),
    "no invitations": (lambda r: r["survey"].update(invitations=0), "at least 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_surveys_are_refused(name: str) -> None:
    change, words = BAD[name]
    with pytest.raises(PramanaError, match=words):
        Survey.read(changed(change))


def test_a_matrix_with_zeros_is_refused_and_one_without_is_not() -> None:
    def recipe(matrix: list[list[float]]) -> dict[str, Any]:
        column = {"role": "quasi-identifying", "domain": ["a"], "matrix": matrix}
        return {"release": {"method": "matrix"}, "attributes": {"x": column}}

    assert Survey.read(recipe([[0.7, 0.3], [0.2, 0.8]])).definition()["law"]["channels"]["x"]["kind"] == "dense"
    with pytest.raises(RecipeError, match="a law with zeros"):
        Survey.read(recipe([[0.7, 0.3], [0, 1]]))


GOOD = {"id": "0" * 32, "answers": {"ill_at_work": "yes", "reason": None, "age": "[16,30)"}}


def test_what_a_device_sends_is_read() -> None:
    read = Submission.read(Survey.read(DEMONSTRATION), json.dumps(GOOD).encode())
    assert read == Submission(bytes(16), (0, 5, 0))


ANSWERS: dict[str, Any] = {"ill_at_work": "yes", "reason": None, "age": "[16,30)"}
STRANGE: list[Any] = ["SecretX", "20", "", 20, True, [], {}, "[16,30) ", "\ud800"]
BODIES: list[dict[str, Any]] = [
    {}, {"id": "0" * 32}, {**GOOD, "id": "0" * 31}, {**GOOD, "id": "g" * 32}, {**GOOD, "id": 5},
    {**GOOD, "more": 1},
    {**GOOD, "invitation": "0" * 32}, {**GOOD, "answers": []}, {**GOOD, "answers": {}},
    {**GOOD, "answers": {**ANSWERS, "x": 1}}, *({**GOOD, "answers": {**ANSWERS, "age": v}} for v in STRANGE),
]  # fmt: skip
RAW = [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"id": NaN}', b"[" * 100_000]
RAW += [b'{"id": "%s", "id": "%s", "answers": {}}' % (b"0" * 32, b"0" * 32)]


@pytest.mark.parametrize("body", [*RAW, *(json.dumps(body).encode() for body in BODIES)])
def test_what_no_page_would_send_is_refused_and_not_quoted(body: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        Submission.read(Survey.read(DEMONSTRATION), body)
    assert "SecretX" not in str(caught.value)


def test_a_soft_limit_counts_addresses_for_a_minute_and_keeps_none() -> None:
    now = [0.0]
    limit = AddressLimit(2, lambda: now[0])
    assert [limit.allows("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert limit.allows("192.0.2.2")
    assert [limit.allows(f"2001:db8::{i}") for i in range(3)] == [True, True, False], "one household, one network"
    assert all(limit.allows(own) for own in ["127.0.0.1"] * 5 + ["::1"] * 5)
    assert "192.0.2.1" not in str(vars(limit)) and b"192.0.2.1" not in b"".join(limit._counts)
    key = limit._key
    now[0] = 61.0
    assert limit.allows("192.0.2.1") and limit._key != key and len(limit._counts) == 1
    assert all(AddressLimit(0).allows("192.0.2.1") for _ in range(1000))


def test_simulated_people_answer_what_the_survey_asks() -> None:
    survey, people = Survey.read(DEMONSTRATION), simulated_answers(500)
    assert simulated_answers(500) == people
    for one in people:
        Submission.read(survey, json.dumps({"id": "0" * 32, "answers": one}).encode())
        assert (one["reason"] == "does not apply") == (one["ill_at_work"] != "yes")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["collect"], "neither"),
        (["collect", "recipe.toml", "--demo", "--out", "x"], "both"),
        (["collect", "recipe.toml"], "--out"),
        (["collect", "nothing.toml", "--out", "x"], "must be readable"),
        (["collect", "recipe.toml", "--out", "people.csv"], "already exists"),
        (["collect", "recipe.toml", "--out", "x", "--url", "survey.example.org", "--no-browser"], "--url"),
        (["collect", "recipe.toml", "--out", "x", "--host", "192.0.2.7", "--no-browser"], "must be free"),
    ],
)
def test_bad_command_lines_are_refused(refused: Callable[..., str], arguments: list[str], words: str) -> None:
    assert words in refused(*arguments)


def test_the_recipe_of_the_guide_on_individuals_is_a_survey() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "individuals.md").read_text()
    import tomllib

    recipe = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    assert Survey.read(recipe).planned == 20000


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['starlette'] = None\nfrom pramana.app.main import run\n"
    code += "sys.exit(run(['collect', '--demo', '--out', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    assert "pip install 'pramana-privacy[studio]'" in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
