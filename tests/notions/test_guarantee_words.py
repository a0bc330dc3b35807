"""What every guarantee says: number, unit, scope and what it does not cover in one sentence, and no more."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.notions.sentence_page import PAGE, tables
from tests.notions.word_checks import overclaims_in, pattern_of, problems_of, sentence_table

from pramana.notions.classes import AverageRisk, KAnonymity, KMap, PopulationUniqueness, Profitability
from pramana.notions.guarantee import ANY_TABLE, CONDITIONS, IN_EARNEST, OWN_COINS, THIS_TABLE, Guarantee
from pramana.notions.method_notions import (
    AddedNoise,
    DeltaPresence,
    EveryCountBound,
    IdentificationBound,
    Swapping,
)
from pramana.notions.randomised import (
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
)
from pramana.notions.registry import NOTIONS, explanation_of
from pramana.notions.sensitive_values import BLikeness, DDisclosure, LDiversity, TCloseness

SEEDED = (f"{IN_EARNEST}: the key was made from a seed; reproducible, not private",)
UNIT_WORDS = {"record": "each record", "person": "all records of a person", "household": "of a household"}


def presence(value: float, reversal: str = "withstood") -> DeltaPresence:
    return DeltaPresence(
        THIS_TABLE, "s", lowest=value, highest=value, reached_lowest=value, reached_highest=value,
        mode="public", reversal=reversal,
    )  # fmt: skip


# One number each, wherever the notion has more than one: the awkward values go through all of them.
BUILT: dict[str, Callable[[float], list[Guarantee]]] = {
    "pk-anonymity": lambda x: [PkAnonymity(ANY_TABLE, "s", k=x)],
    "local-differential-privacy": lambda x: [LocalPrivacy(ANY_TABLE, "s", epsilon=e) for e in (x, None)],
    "central-differential-privacy": lambda x: [CentralPrivacy(ANY_TABLE, "s", epsilon=x, delta=x)],
    "rho1-rho2-privacy": lambda x: [PosteriorBound(ANY_TABLE, "s", pairs=((x, x), (0.05, x)))],
    "delta-growth": lambda x: [GrowthBound(ANY_TABLE, "s", delta=x)],
    "collusion": lambda x: [CollusionBound(ANY_TABLE, "s", level=repr(x))],
    "identification-bound": lambda x: [IdentificationBound(THIS_TABLE, "s", xi=x)],
    "identification-bound-every-count": lambda x: [
        EveryCountBound(THIS_TABLE, "s", xi=x, left_out=rest) for rest in (0.0, x)
    ],
    "k-anonymity": lambda x: [KAnonymity(THIS_TABLE, "s", k=max(1, int(x)))],
    "l-diversity": lambda x: [
        LDiversity(THIS_TABLE, "s", attribute="illness", kind=kind, l=x, c=c)
        for kind, c in (("distinct", None), ("entropy", None), ("recursive", x))
    ],
    "t-closeness": lambda x: [TCloseness(THIS_TABLE, "s", attribute="illness", distance="equal", t=x)],
    "k-map": lambda x: [KMap(THIS_TABLE, "s", k=max(1, int(x)))],
    "average-risk": lambda x: [AverageRisk(THIS_TABLE, "s", average=x)],
    "population-uniqueness": lambda x: [
        PopulationUniqueness(THIS_TABLE, "s", share=x, population=1000, model="Pitman")
    ],
    "d-disclosure": lambda x: [DDisclosure(THIS_TABLE, "s", attribute="illness", d=x)],
    "b-likeness": lambda x: [
        BLikeness(THIS_TABLE, "s", attribute="illness", kind=kind, b=x) for kind in ("basic", "enhanced")
    ],
    "profitability": lambda x: [
        Profitability(
            THIS_TABLE,
            "s",
            payoff=x,
            benefit=9.0,
            loss=8.0,
            gain=7.0,
            cost=6.0,
            intruder="prosecutor",
            attacked=True,
        )
    ],
    "swapping": lambda x: [Swapping(THIS_TABLE, "s", attribute="illness", kind="rank", rate=x)],
    "added-noise": lambda x: [
        AddedNoise(THIS_TABLE, "s", attribute="income", kind=kind, amount=x)
        for kind in ("deviations", "units", "correlated")
    ],
    "delta-presence": lambda x: [presence(x, verdict) for verdict in ("withstood", "broken", "unproven")],
}
AWKWARD = [1.99999975, 0.30000000000000004, 2 - 1e-12, 1e-300, 1e300, 1.0, 2.0, 5.0, 1 / 3, 99.9999999, 0.9999999]
DOWN = {"payoff", "rate", "amount", "k", "l", "others", "lowest", "dmin", "rho1"}
UP = {"epsilon", "times", "delta", "xi", "chance", "t", "c", "highest", "dmax", "left_out", "rho2"}
WORDS = {"scope", "unit", "uncovered", "benefit", "loss", "gain", "cost", "intruder"}
UP |= {"average", "share", "d", "b"}


def every() -> list[Guarantee]:
    """Every notion, with and without columns released unchanged, under a key and under a seed, in every unit."""
    built = []
    for make in BUILT.values():
        for one, uncovered, assumptions, unit in itertools.product(
            make(1.379), [(), ("sex",), ("sex", "zip code", "income")], [("a",), SEEDED], UNIT_WORDS
        ):
            built.append(replace(one, uncovered=uncovered, assumptions=assumptions, unit=unit))
    return built


def first_sentence(words: str) -> str:
    return re.split(r"(?<=[^\d\s])\. |(?<=\d\))\. |\.$", words)[0]


def test_every_notion_is_looked_at() -> None:
    assert set(BUILT) == set(NOTIONS)


@pytest.mark.parametrize("notion", BUILT)
def test_one_sentence_has_number_unit_scope_and_what_is_not_covered(notion: str) -> None:
    for guarantee in every():
        if guarantee.notion != notion:
            continue
        sentence = first_sentence(guarantee.in_words())
        assert guarantee.scope in sentence
        assert UNIT_WORDS[guarantee.unit] in sentence
        assert all(column in sentence for column in guarantee.uncovered)
        assert ("released unchanged" in sentence) == bool(guarantee.uncovered)
        assert (guarantee.assumptions == SEEDED) == sentence.startswith("If the key were a secret")
        for name, shown in guarantee.numbers().items():
            assert f"{{{name}}}" not in sentence
            assert shown in sentence or name in ("left_out", "c", "chance", "others")
        assert overclaims_in(guarantee.in_words()) == []
        stated = guarantee.to_json()
        assert problems_of(stated) == []
        assert stated["unit"] == guarantee.unit
        assert stated["uncovered"] == list(guarantee.uncovered)
        assert {"notion", "value", "scope", "statement", "words", "assumptions"} <= set(stated)


def test_exactly_one_sentence_may_be_said_of_a_guarantee() -> None:
    for guarantee in every():
        stated = guarantee.to_json()
        assert sum(s.may_be_said_of(stated) for s in guarantee.sentences) == 1


def test_every_sentence_is_said_of_some_guarantee() -> None:
    """Nothing in the table is a sentence that no release can come to."""
    stated = [g.to_json() for make in BUILT.values() for x in (1.0, 1.379, 3.0) for g in make(x)]
    columns: tuple[list[str], ...] = ([], ["sex"])
    around = [
        {"uncovered": c, "assumptions": a, "unit": unit}
        for c in columns
        for a in ((), SEEDED, [OWN_COINS])
        for unit in UNIT_WORDS
    ]
    stated = [{**g, **circumstances} for g in stated for circumstances in around]
    for name, notion in NOTIONS.items():
        for sentence in notion.sentences:
            assert any(sentence.may_be_said_of(g) for g in stated if g["notion"] == name), sentence.when


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize("notion", BUILT)
def test_printed_numbers_are_on_the_safe_side(notion: str, value: float) -> None:
    """Read back from the words, by what the sentence says of them."""
    for guarantee in BUILT[notion](value):
        words = guarantee.in_words()
        said = next(s for s in guarantee.sentences if s.may_be_said_of(guarantee.to_json()))
        found = pattern_of(said.words).fullmatch(words)
        assert found is not None
        true = float(max(1, int(value))) if notion in ("k-anonymity", "k-map") else value
        for name, text in found.groupdict().items():
            if name == "pairs":
                numbers = re.findall(r"at most ([^\s,]+)", text)
                assert float(numbers[0]) <= value <= float(numbers[1])
                assert float(numbers[2]) <= 0.05
                assert value <= float(numbers[3])
            elif name == "times":
                if text.startswith("e^"):
                    assert float(text[2:]) >= true
                else:
                    assert float(text) >= math.exp(true) * (1 - 1e-12)
            elif name == "chance":
                assert float(text) >= 1 / true
            elif name in DOWN:
                assert float(text) <= (true - 1 if name == "others" else true)
            elif name in UP:
                assert float(text) >= true
            else:
                assert name in {*WORDS, "attribute", "distance", "level", "population", "model"}
        assert problems_of(guarantee.to_json()) == []


def test_an_l_just_short_of_2_is_not_called_2() -> None:
    words = LDiversity(THIS_TABLE, "s", attribute="illness", kind="entropy", l=1.99999975).in_words()
    assert "1.99999 " in words
    assert not re.search(r"\b2\b", words)
    words = TCloseness(THIS_TABLE, "s", attribute="illness", distance="equal", t=0.30000000000000004).in_words()
    assert "0.300001" in words


def test_epsilon_is_also_told_as_times() -> None:
    assert "at most 124.2 times" in LocalPrivacy(ANY_TABLE, "s", epsilon=4.82185).in_words()
    assert "(epsilon 4.82185)" in LocalPrivacy(ANY_TABLE, "s", epsilon=4.82185).in_words()


def test_titles_and_meanings_hold_for_any_number() -> None:
    for notion in NOTIONS:
        explanation = explanation_of(notion)
        assert explanation.title and explanation.meaning
        assert overclaims_in(explanation.title) == overclaims_in(explanation.meaning) == []
    assert explanation_of("a notion of a later version").title == "a notion of a later version"


@pytest.mark.parametrize(
    "text",
    [
        "No one can be picked out (Pk-anonymity)",
        "No one who sees the release, whatever they know besides, links a person",
        "Someone who knows a person's true record, and everything else there is to know except the key",
        "What anyone believes of a person grows little (delta-growth)",
        "Nobody can say who is in the table (delta-presence)",
        "A match stays unlikely (identification bound)",
        "A match stays unlikely for who sees every count",
        "Each record protects itself (local differential privacy)",
        "Nobody stands out among the published records (k-anonymity)",
        "Recipients learn nothing more by putting versions together",
        "Every group of records looks like the whole table (t-closeness)",
    ],
)
def test_what_was_once_said_and_must_not_be(text: str) -> None:
    assert overclaims_in(text)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda w: w.replace("1.37", "1.38"), "k is on the wrong side"),
        (lambda w: w.replace("0.725164", "0.72"), "chance is on the wrong side"),
        (lambda w: w.replace("In any table of this size", "In any table"), "another scope"),
        (lambda w: w.replace("each record as one person", "all records of a person together"), "another unit"),
        (lambda w: w.replace("sex and ", ""), "do not name the columns"),
        (lambda w: w.split(";")[0] + ".", "conditions do not hold: some, keyed, covered, secret"),
        (lambda w: w + " Nobody is at risk.", "none of the notion's sentences"),
    ],
)
def test_words_that_say_more_are_noticed(change: Callable[[str], str], problem: str) -> None:
    stated = PkAnonymity(ANY_TABLE, "s", k=1.379, uncovered=("sex", "zip")).to_json()
    assert problems_of(stated) == []
    changed = change(stated["words"])
    assert changed != stated["words"]
    assert any(problem in found for found in problems_of({**stated, "words": changed}))


def test_a_column_may_be_called_anything() -> None:
    names = ("picked out", "a {k} b", "who knows; a, b and c", "\u00e9(k = 9)")
    assert problems_of(PkAnonymity(ANY_TABLE, "s", k=3.0, uncovered=names).to_json()) == []
    diverse = LDiversity(THIS_TABLE, "s", attribute="perfect", kind="distinct", l=2)
    assert problems_of(diverse.to_json()) == []


def test_units_and_scopes_are_known_ones() -> None:
    with pytest.raises(ValueError, match="unit"):
        GrowthBound(ANY_TABLE, "s", delta=0.1, unit="village")
    with pytest.raises(ValueError, match="scope"):
        GrowthBound("every table", "s", delta=0.1)


def test_the_page_has_the_table_of_sentences() -> None:
    """docs/understanding/guarantees.md, line by line; `python -m tests.notions.sentence_page` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert all(table in page for table in tables())
    assert "If the key were a secret, and not made from a seed: " in page
    assert all(set(row["conditions"]) <= set(CONDITIONS) for row in sentence_table())
