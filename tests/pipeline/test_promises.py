"""Every promise of every method: certified at least as strong as it was asked for, or nothing is published."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Refused
from tests.golden.cells import AGE, FINE_AGE, FINE_SEX, FINE_TOWN, ILLNESS, JOB, MATRIX, RAW, SECRET, SEX, TOWN
from tests.golden.cells import make_tables as make_golden_tables

from pramana import Bundle
from pramana.app.main import run
from pramana.bundle.certificate import JsonObject
from pramana.errors import UnreachableError
from pramana.methods.generalize.setting import GeneralizeSetting
from pramana.methods.invariant.design import InvariantSetting
from pramana.methods.presence.method import PresenceSetting
from pramana.methods.registry import METHODS, method_named, restore
from pramana.notions.classes import KAnonymity
from pramana.notions.guarantee import ANY_TABLE, Guarantee
from pramana.notions.method_notions import DeltaPresence, IdentificationBound
from pramana.notions.randomised import CentralPrivacy, LocalPrivacy, PkAnonymity
from pramana.notions.registry import PROMISES, check_promises
from pramana.notions.sensitive_values import LDiversity, TCloseness
from pramana.schema.typed import keys_of

RELEASE = ("release", "recipe.toml", "--out", "out", "--seed", "1")
LISTED = {"sex": FINE_SEX, "age": FINE_AGE, "town": FINE_TOWN, "illness": SECRET}
NOISED = {"sex": {**SEX, "matrix": MATRIX}}
LINKED: dict[str, dict[str, Any]] = {"sex": {**SEX, "randomise": True}, "illness": ILLNESS}


@dataclass(frozen=True)
class Case:
    """A recipe that states one promise, and whether it can be kept."""

    method: str
    key: str
    value: Any
    attributes: Mapping[str, Mapping[str, Any]]
    besides: Mapping[str, Any] = field(default_factory=dict)
    source: str = "people.csv"
    refused: str = ""  # words of the refusal, where it cannot be kept
    code: int = 2

    def __str__(self) -> str:
        return f"{self.method} {self.key}{' refused' if self.refused else ''}"

    def write(self) -> None:
        write_recipe(
            {"method": self.method, **self.besides, self.key: self.value}, self.attributes, source=self.source
        )


def write_recipe(
    release: Mapping[str, Any], attributes: Mapping[str, Mapping[str, Any]], source: str = "people.csv"
) -> None:
    """recipe.toml; what JSON writes of texts, numbers, lists and truth values TOML reads."""
    sections = {"source": {"path": source}, "release": release}
    sections |= {f"attributes.{name}": column for name, column in attributes.items()}
    lines = []
    for section, body in sections.items():
        lines += [f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in body.items())]
    Path("recipe.toml").write_text("\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    return json.dumps(value)


CENTRAL = {"epsilon": 0.5, "delta": 1e-6}
PUBLIC = {"public": "everyone.csv"}
GAME = {"benefit": 100.0, "loss": 300.0, "gain": 300.0, "cost": 4.0}
MAPPED = {"population": "everyone.csv"}
UNKEPT = "must be kept by the release"
CASES = [
    Case("retention", "k", 5, {"sex": SEX, "age": AGE}),
    Case("retention", "k", 5, {"sex": SEX}, {"retention": 1.0}, refused="must reach"),
    Case("retention", "epsilon", 2.0, {"sex": SEX, "age": AGE, "income": RAW}),
    Case("retention", "delta", 1e-5, {"sex": SEX, "age": AGE}, {"epsilon": 1.0}),
    Case("retention", "delta", 1e-5, {"sex": SEX, "income": RAW}, {"epsilon": 1.0}, refused=UNKEPT),
    Case("retention", "central", CENTRAL, {"sex": SEX, "age": AGE}),
    Case("retention", "central", CENTRAL, {"sex": SEX, "income": RAW}, refused="central"),
    Case("matrix", "k", 5, NOISED),
    Case("matrix", "central", CENTRAL, NOISED),
    Case("matrix", "central", {"epsilon": 1e-4, "delta": 1e-6}, NOISED, refused="must reach"),
    Case("matrix", "epsilon", 1.26, NOISED),  # ln(0.7 / 0.2) = 1.2527...
    Case("matrix", "epsilon", 1.25, NOISED, refused="must reach"),
    Case("matrix", "delta", 1e-5, NOISED),
    Case("matrix", "delta", 1e-5, {**NOISED, "income": RAW}, refused=UNKEPT),
    Case("invariant", "xi", 0.2, {"job": JOB}),
    Case("invariant", "xi", 1e-4, {"job": JOB}, refused="must be reached on this table", code=1),
    Case("invariant", "k", 3, {"town": TOWN}, {"kind": "sinkhorn"}),
    Case("invariant", "k", 3, {"town": TOWN}, {"xi": 0.9}, refused="must promise xi"),
    Case("levels", "k", 5, LINKED),
    Case("levels", "k", 5, {"sex": SEX, "illness": ILLNESS}, refused=UNKEPT),  # sex is raw, and links
    Case("levels", "epsilon", 1.0, {"sex": RAW, "illness": ILLNESS}),
    Case("levels", "delta", 1e-5, LINKED, {"retention": 0.3}),
    Case("levels", "delta", 1e-5, {"sex": RAW, "illness": ILLNESS}, {"retention": 0.3}, refused=UNKEPT),
    Case("generalize", "k", 5, LISTED),
    Case("generalize", "k", 3001, LISTED, refused="at most the number of rows"),
    Case("generalize", "l", 3, LISTED, {"k": 5}),
    Case("generalize", "l", 5, LISTED, {"k": 5}, refused="Some generalisation must satisfy"),
    Case("generalize", "c", 3.0, LISTED, {"k": 5, "l": 2, "l_kind": "recursive"}),
    Case(
        "generalize",
        "c",
        0.01,
        LISTED,
        {"k": 5, "l": 2, "l_kind": "recursive"},
        refused="Some generalisation must satisfy",
    ),
    Case("generalize", "c", 3.0, LISTED, {"k": 5, "l": 2}, refused="c must go with"),
    Case("generalize", "c", 3.0, LISTED, {"k": 5}, refused="c must go with"),
    Case("generalize", "t", 0.4, LISTED, {"k": 5}),
    Case("generalize", "k_map", 20, LISTED, {"k": 2, **MAPPED}, "present.csv"),
    Case("generalize", "k_map", 20, LISTED, {"k": 2}, refused="must be counted in a population"),
    Case(
        "generalize", "k_map", 3001, LISTED, {"k": 2, **MAPPED}, "present.csv", refused="Some generalisation must"
    ),
    Case(
        "generalize", "delta", [0.1, 0.6], LISTED, {"k": 2, "cells": "hierarchy", "subset": "here"}, "everyone.csv"
    ),
    Case("generalize", "delta", [0.1, 0.6], LISTED, {"k": 2, "subset": "here"}, "everyone.csv", refused="cells ="),
    Case("generalize", "average_risk", 0.05, LISTED, {"k": 1}),
    Case("generalize", "average_risk", 1e-4, LISTED, {"k": 1}, refused="Some generalisation must satisfy"),
    Case("generalize", "population_uniques", 0.01, LISTED, {"k": 1, "population_size": 100_000}),
    Case("generalize", "population_uniques", 0.01, LISTED, {"k": 1}, refused="must go together"),
    Case("generalize", "d_disclosure", 2.0, LISTED, {"k": 2}),
    Case("generalize", "d_disclosure", 2.0, {"sex": FINE_SEX}, {"k": 2}, refused="must have a sensitive column"),
    Case("generalize", "b_likeness", 1.5, LISTED, {"k": 2}),
    Case("generalize", "b_likeness", 1.5, {"sex": FINE_SEX}, {"k": 2}, refused="must have a sensitive column"),
    Case("generalize", "profit", GAME, LISTED, {"k": 1, "cells": "hierarchy", "suppression": 0.05}),
    Case(
        "generalize",
        "profit",
        {**GAME, "loss": 1e9, "cost": 0.0},
        LISTED,
        {"k": 1, "cells": "hierarchy"},
        refused="Some generalisation must satisfy",
    ),
    Case("generalize", "profit", GAME, LISTED, {"k": 1}, refused="cells ="),
    Case("microaggregate", "k", 5, {"age": {"role": "quasi-identifying"}, "income": RAW}),
    Case("microaggregate", "k", 3001, {"age": {"role": "quasi-identifying"}}, refused="3001"),
    Case("swap", "rate", 0.2, {"age": {**RAW, "swap": True}, "income": RAW}),
    Case(
        "swap",
        "rate",
        0.9,
        {"age": {**RAW, "swap": True}, "income": RAW},
        {"kind": "record", "similar": ["income"]},
        refused="must find a partner",
    ),
    Case("noise", "amount", 0.2, {"age": {**RAW, "noise": True}, "income": RAW}),
    Case("noise", "amount", 0.2, {"age": {**RAW, "spread": 2.0}}, refused="an amount that no column takes"),
    Case("noise", "amount", 0.001, {"age": {**RAW, "noise": True}}, refused="at least one step of its last digit"),
    Case("presence", "delta", [0.01, 0.8], LISTED, PUBLIC, "present.csv"),
    Case("presence", "delta", [0.5, 0.51], LISTED, PUBLIC, "present.csv", refused="dmin = 0.5"),
]


@pytest.fixture(scope="module")
def golden_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    make_golden_tables(folder)
    return folder


@pytest.fixture
def tables(desk: Path, golden_tables: Path) -> Path:
    """The golden tables on the desk."""
    for path in golden_tables.iterdir():
        (desk / path.name).unlink(missing_ok=True)
        (desk / path.name).symlink_to(path)
    return desk


def test_the_walk_has_every_promise_of_every_method() -> None:
    theirs = {(name, key) for name in METHODS for key in PROMISES if key in keys_of(method_named(name).setting)}
    assert {(case.method, case.key) for case in CASES if not case.refused} == theirs


@pytest.mark.parametrize(
    ("method", "key"), [(m, k) for m in METHODS for k in PROMISES if k not in keys_of(method_named(m).setting)]
)
def test_a_promise_that_a_method_does_not_make_names_one_that_does(
    method: str, key: str, tables: Path, refused: Refused
) -> None:
    kept = next(case for case in CASES if case.method == method and not case.refused)
    write_recipe(
        {"method": method, **kept.besides, kept.key: kept.value, key: 0.5}, kept.attributes, source=kept.source
    )
    said = refused(*RELEASE)
    assert f"got {key!r}" in said and repr(method) in said
    others = [name for name in METHODS if key in keys_of(method_named(name).setting)]
    assert others and ", ".join(others) in said
    assert tables


# ---------------------------------------------------------------- promises that a method makes


def _numbers(guarantees: tuple[JsonObject, ...], *notions: str) -> list[Any]:
    return [g["value"] for g in guarantees if g["notion"] in notions]


def _diversity(guarantees: tuple[JsonObject, ...], key: str) -> list[float]:
    return [value[key] for value in _numbers(guarantees, "l-diversity")]


# Read off the certificate, by its documented notions: whether it is as strong as the recipe asked for.
CERTIFIED: dict[str, Callable[[Any, tuple[JsonObject, ...]], bool]] = {
    "k": lambda k, all_: max(_numbers(all_, "pk-anonymity", "k-anonymity")) >= k,
    "epsilon": lambda e, all_: min(_numbers(all_, "local-differential-privacy")) <= e * (1 + 1e-15),
    "delta": lambda d, all_: (
        _numbers(all_, "central-differential-privacy")[0]["delta"] <= d
        if isinstance(d, float)
        else d[0] <= _numbers(all_, "delta-presence")[0]["lowest"]
        and _numbers(all_, "delta-presence")[0]["highest"] <= d[1]
    ),
    "central": lambda wanted, all_: all(
        _numbers(all_, "central-differential-privacy")[0][key] <= wanted[key] for key in wanted
    ),
    "xi": lambda xi, all_: max(_numbers(all_, "identification-bound")) <= xi,
    "l": lambda l, all_: min(_diversity(all_, "l")) >= l,  # noqa: E741
    "c": lambda c, all_: max(_diversity(all_, "c")) <= c,
    "t": lambda t, all_: max(v["t"] for v in _numbers(all_, "t-closeness")) <= t,
    "k_map": lambda k, all_: min(_numbers(all_, "k-map")) >= k,
    "average_risk": lambda risk, all_: max(_numbers(all_, "average-risk")) <= risk,
    "population_uniques": lambda share, all_: _numbers(all_, "population-uniqueness")[0]["share"] <= share,
    "d_disclosure": lambda d, all_: max(v["d"] for v in _numbers(all_, "d-disclosure")) <= d,
    "rate": lambda rate, all_: _numbers(all_, "swapping")[0]["rate"] >= rate,
    "amount": lambda amount, all_: min(v["amount"] for v in _numbers(all_, "added-noise")) >= amount,
    "profit": lambda _, all_: _numbers(all_, "profitability")[0]["payoff"] > 0,
    "b_likeness": lambda b, all_: max(v["b"] for v in _numbers(all_, "b-likeness")) <= b,
}


@pytest.mark.parametrize("case", [case for case in CASES if not case.refused], ids=str)
def test_a_promise_is_certified_at_least_as_strong(case: Case, tables: Path) -> None:
    case.write()
    assert run([*RELEASE]) == 0
    certificate = Bundle.open(tables / "out").certificate
    assert CERTIFIED[case.key](case.value, certificate.guarantees), certificate.guarantees


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=str)
def test_a_promise_that_is_not_kept_publishes_nothing(case: Case, tables: Path, refused: Refused) -> None:
    case.write()
    assert case.refused in refused(*RELEASE, code=case.code)
    assert tables


def test_t_is_kept_among_the_records_that_are_published(desk: Path) -> None:
    """Against all rows t holds at the finest level. Against the published ones, without the class of four, not.

    By hand: of 90 a all are x, of 10 b half, of 4 c none. For b the distance to all 104 rows is
    95/104 - 1/2 = 0.413..., to the published 100 it is 95/100 - 1/2 = 0.45.
    """
    rows = ["a,x"] * 90 + ["b,x"] * 5 + ["b,y"] * 5 + ["c,y"] * 4
    (desk / "people.csv").write_text("\n".join(["group,illness", *rows]) + "\n")
    (desk / "group.csv").write_text("a;*\nb;*\nc;*\n")
    attributes = {"group": {"role": "quasi-identifying", "hierarchy": "group.csv"}, "illness": SECRET}
    release = {"method": "generalize", "k": 5, "suppression": 0.1, "cells": "hierarchy"}
    reached = {}
    for t in (0.43, 0.45):
        write_recipe({**release, "t": t}, attributes)
        # the one level that is left for the first of them tells nothing
        assert run(["release", "recipe.toml", "--out", f"out {t}", "--seed", "1", "--even-if-useless"]) == 0
        certificate = Bundle.open(desk / f"out {t}").certificate
        reached[t] = (certificate.mechanism["levels"], _numbers(certificate.guarantees, "t-closeness")[0]["t"])
    assert reached == {0.43: ([1], 0.0), 0.45: ([0], 0.45)}


def test_t_that_is_reached_exactly_is_kept(desk: Path) -> None:
    """Of 10 a none is x, of 40 b there are 15: for a the distance is 15/50, which no float is."""
    rows = ["a,y"] * 10 + ["b,x"] * 15 + ["b,y"] * 25
    (desk / "people.csv").write_text("\n".join(["group,illness", *rows]) + "\n")
    (desk / "group.csv").write_text("a;*\nb;*\n")
    attributes = {"group": {"role": "quasi-identifying", "hierarchy": "group.csv"}, "illness": SECRET}
    write_recipe({"method": "generalize", "k": 5, "t": 0.3, "cells": "hierarchy"}, attributes)
    assert run([*RELEASE]) == 0
    certificate = Bundle.open(desk / "out").certificate
    assert certificate.mechanism["levels"] == [0]
    assert 0.3 <= _numbers(certificate.guarantees, "t-closeness")[0]["t"] <= 0.3 + 1e-9 + 1e-15


@pytest.mark.parametrize("case", [case for case in CASES if not case.refused], ids=str)
def test_a_method_that_forgets_its_promise_is_refused(
    case: Case, tables: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is the method's own, but for the guarantees it derives."""
    case.write()
    assert run(["release", "recipe.toml", "--out", "honest", "--seed", "1"]) == 0
    plan = type(restore(Bundle.open(tables / "honest").certificate))
    monkeypatch.setattr(plan, "guarantees", lambda *_: ())
    said = refused(*RELEASE)
    assert UNKEPT in said and "these guarantees: nothing" in said


# ---------------------------------------------------------------- how much is enough

WORDS = (ANY_TABLE, "a statement")
ENOUGH: list[tuple[str, str, Any, Guarantee, Guarantee]] = [
    ("retention", "k", 5, PkAnonymity(*WORDS, k=5.0), PkAnonymity(*WORDS, k=4.999999999999999)),
    ("generalize", "k", 5, KAnonymity(*WORDS, k=5), KAnonymity(*WORDS, k=4)),
    (
        "retention",
        "epsilon",
        1.0,
        LocalPrivacy(*WORDS, epsilon=1.0),
        LocalPrivacy(*WORDS, epsilon=1.000000000000001),
    ),
    ("retention", "epsilon", 1.0, LocalPrivacy(*WORDS, epsilon=0.5), LocalPrivacy(*WORDS, epsilon=None)),
    (
        "retention",
        "delta",
        1e-6,
        CentralPrivacy(*WORDS, epsilon=1.0, delta=1e-6),
        CentralPrivacy(*WORDS, epsilon=1.0, delta=2e-6),
    ),
    ("invariant", "xi", 0.1, IdentificationBound(*WORDS, xi=0.1), IdentificationBound(*WORDS, xi=0.1000001)),
]


@pytest.mark.parametrize(("method", "key", "value", "kept", "missed"), ENOUGH)
def test_what_is_enough(method: str, key: str, value: Any, kept: Guarantee, missed: Guarantee) -> None:
    setting = method_named(method).setting(**{key: value})
    check_promises(setting, [missed, kept])
    for guarantees in ([missed], []):
        with pytest.raises(UnreachableError, match=f"The promise {key} = "):
            check_promises(setting, guarantees)


def test_every_sensitive_column_counts() -> None:
    """One column that misses l, c or t is enough to refuse."""

    def diverse(name: str, l: float, c: float) -> LDiversity:  # noqa: E741
        return LDiversity(*WORDS, attribute=name, kind="recursive", l=l, c=c)

    def close(name: str, t: float) -> TCloseness:
        return TCloseness(*WORDS, attribute=name, distance="equal", t=t)

    setting = GeneralizeSetting(k=2, l=3, l_kind="recursive", c=2.0, t=0.2)
    common = [KAnonymity(*WORDS, k=2), diverse("a", 3, 2.0), close("a", 0.2)]
    check_promises(setting, [*common, diverse("b", 4, 1.0), close("b", 0.1)])
    for name in ("a", "b"):  # of "a" another guarantee keeps the promise, which does not make up for it
        for missed in (diverse(name, 2, 1.0), diverse(name, 3, 2.1), close(name, 0.21)):
            with pytest.raises(UnreachableError):
                check_promises(setting, [*common, missed])


def test_a_range_of_presence_is_kept_on_both_sides() -> None:
    setting = PresenceSetting(delta=(0.25, 0.5))

    def between(low: float, high: float) -> DeltaPresence:
        return DeltaPresence(
            *WORDS,
            lowest=0.25,
            highest=0.5,
            reached_lowest=low,
            reached_highest=high,
            mode="public",
            reversal="none",
        )

    check_promises(setting, [between(0.25, 0.5)])
    for low, high in ((0.2, 0.5), (0.25, 0.6)):
        with pytest.raises(UnreachableError):
            check_promises(setting, [between(low, high)])


def test_only_a_promise_that_its_holder_gave_up_is_passed_over() -> None:
    setting = InvariantSetting(xi=0.1, unreached="publish")
    assert setting.waived == ("xi",)
    check_promises(setting, [], setting.waived)
    with pytest.raises(UnreachableError):
        check_promises(setting, [])
