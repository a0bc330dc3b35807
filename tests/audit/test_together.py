"""Several releases of the same people: honest ones add up as composition says, broken ones are caught.

All broken bundles here lie on disk as a tool with a mistake wrote them, and the auditor has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.broken import KEY, RECIPE, coins_used_twice, own_coins_for_every_level, patched, write_people
from tests.audit.desk import audited, lay_out

from pramana import Ledger, create_levels, issue, release
from pramana.holder.audit.anonymity import attribute_inference, crossed_classes
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.epsilon import epsilon_by_attribute, epsilon_in_one_run
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.together import attacks_together, side_by_side
from pramana.holder.audit.verdict import Attack, NotRun, Outcome
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.levels import AtLevel
from pramana.randomness._kernels import retain
from pramana.run.trace import retraced

EPSILONS = ("1", "0.8", "0.9")
BOOK = '[ledger]\npath = "book.ledger"\npeople = "residents"\nrecipient = "university"\nagain = true\n'


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = lay_out(tmp_path_factory.mktemp("desk"))
    Ledger.create(folder / "book.ledger").close()
    for epsilon in EPSILONS:
        (folder / f"{epsilon}.toml").write_text(RECIPE.replace("epsilon = 1", f"epsilon = {epsilon}"))
        (folder / f"{epsilon} booked.toml").write_text((folder / f"{epsilon}.toml").read_text() + BOOK)
        release(folder / f"{epsilon} booked.toml", folder / epsilon, key=KEY)
    return folder


def released(desk: Path, what: str, *changes: tuple[str, object]) -> list[str]:
    """The releases of all epsilons by a tool with a mistake."""
    with patched(*changes):
        for epsilon in EPSILONS:
            release(desk / f"{epsilon}.toml", desk / f"{what} {epsilon}", key=KEY)
    return [f"{what} {epsilon}" for epsilon in EPSILONS]


def together(
    desk: Path, bundles: list[str], source: str = "people.csv", ledger: Path | None = None
) -> list[Outcome]:
    return attacks_together([Attacked.of(retraced(desk / b, desk / source, KEY)) for b in bundles], ledger)


def attack(outcomes: list[Outcome], name: str) -> Attack:
    [found] = [o for o in outcomes if o.name == name]
    assert isinstance(found, Attack), found
    return found


def beaten(outcomes: list[Outcome]) -> set[str]:
    return {o.name for o in outcomes if isinstance(o, Attack) and not o.ok}


# ---------------------------------------------------------------- averaging


def test_three_honest_releases_add_up(desk: Path) -> None:
    found = together(desk, list(EPSILONS), ledger=desk / "book.ledger")
    assert beaten(found) == set()
    assert {o.name for o in found} == {
        "two releases, rows side by side",
        "two releases, coins thrown anew",
        "three releases, attribute inference by averaging",
        "three releases, epsilon together",
    }
    added = attack(found, "three releases, epsilon together")
    assert added.claimed == pytest.approx(2.7, abs=1e-6) and added.measured <= 2.7
    assert added.more["ledger_total"] == pytest.approx(2.7, abs=1e-6) and "'residents'" in added.detail
    averaged = attack(found, "three releases, attribute inference by averaging")
    one = attack(together(desk, list(EPSILONS[:2])), "two releases, attribute inference by averaging")
    assert averaged.claimed is not None and one.claimed is not None and one.claimed < averaged.claimed


def test_the_audit_takes_any_number_of_bundles(desk: Path) -> None:
    found = audited(desk, "1", also=[desk / "0.8", desk / "0.9"])
    assert found.ok and "three releases, epsilon together" in {a.name for a in found.attacks}
    again = together(desk, ["1", "1"])
    assert [o.name for o in again if isinstance(o, NotRun)] == ["two releases, epsilon together"]
    assert "adds nothing" in attack(again, "two releases, rows side by side").detail


def _a_little_more(self: Retention, words: Any, codes: Any, out: Any) -> None:
    retain(words, codes, out, self.size, int(self.step * 0.96))


def test_averaging_shows_what_no_single_release_does(desk: Path) -> None:
    """Values are kept a little too often: of one release that is chance, of three together it is not."""
    bundles = released(desk, "more", ("pramana.mechanisms.channel.Retention.publish", _a_little_more))
    for bundle in bundles:
        table = Attacked.of(retraced(desk / bundle, desk / "people.csv", KEY)).table
        assert table is not None
        alone = [attribute_inference([table]), epsilon_in_one_run(table), *epsilon_by_attribute(table)]
        assert beaten(alone) == set()
    assert beaten(together(desk, bundles)) >= {"three releases, attribute inference by averaging"}


def test_the_claim_of_averaging_by_brute_force() -> None:
    """All that two laws can show of a value, one by one, beside the sum that the attack has."""
    from fractions import Fraction

    from tests.audit.test_linkage import published

    from pramana.mechanisms.channel import Dense
    from pramana.mechanisms.table import Product

    laws = [
        Product(
            {
                "a": Retention.at(Fraction(1, 5), 4),
                "b": Dense.of([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]),
            }
        ),
        Product({"a": Retention.at(Fraction(1, 3), 4), "b": Retention.at(Fraction(1, 10), 3)}),
    ]
    tables = [published(law, law, rows=500) for law in laws]
    found = attribute_inference(tables)
    assert isinstance(found, Attack) and found.ok
    for name, size in (("a", 4), ("b", 3)):
        share = np.bincount(tables[0].true[name], minlength=size) / 500
        matrices = [law.channels[name].weights / 2**62 for law in laws]
        best = sum(
            max(share[x] * matrices[0][x, y] * matrices[1][x, z] for x in range(size))
            for y in range(size)
            for z in range(size)
        )
        assert found.more["attributes"][name]["claimed"] == pytest.approx(best, rel=1e-9)


# ---------------------------------------------------------------- coins and orders


def test_coins_that_were_used_twice_are_seen_in_the_files(desk: Path) -> None:
    bundles = released(desk, "reused", ("pramana.mechanisms.table.Product.publish", coins_used_twice))
    assert "two releases, coins thrown anew" in beaten(together(desk, bundles))


def test_one_order_for_two_releases_is_seen_without_key_and_source(desk: Path) -> None:
    """Coins and order of no release in particular: rows at the same place are the same person."""
    context = ("pramana.methods.retention.plan.RandomisedPlan.context", lambda *_: "always the same")
    assert "two releases, rows side by side" in beaten(together(desk, released(desk, "same order", context)))


def test_rows_side_by_side() -> None:
    rng = np.random.default_rng(1)
    one = {"a": rng.integers(0, 4, 3000).astype(np.uint8)}
    other = {"a": np.where(rng.random(3000) < 0.2, one["a"], rng.integers(0, 4, 3000)).astype(np.uint8)}
    assert isinstance(found := side_by_side(one, other), Attack) and not found.ok
    turned = {"a": other["a"][rng.permutation(3000)]}
    assert isinstance(found := side_by_side(one, turned), Attack) and found.ok
    assert isinstance(side_by_side(one, {"b": other["a"]}), NotRun)


# ---------------------------------------------------------------- classes

CLASSES = """\
[source]
path = "people.csv"
[release]
method = "generalize"
k = 5
suppression = 0.1
cells = "hierarchy"
[attributes.sex]
role = "quasi-identifying"
hierarchy = "sex.csv"
[attributes.age]
role = "quasi-identifying"
hierarchy = "age.csv"
"""


def test_tables_of_classes_are_not_k_anonymous_together(tmp_path: Path) -> None:
    lines = [f"{'MF'[i * i % 7 % 2]},{min(i * i * 31 % 97 % 41, 39)}\n" for i in range(600)]
    (tmp_path / "people.csv").write_text("sex,age\n" + "".join(lines))
    (tmp_path / "sex.csv").write_text("M;*\nF;*\n")
    (tmp_path / "age.csv").write_text("".join(f"{a};{a // 2};{a // 10};*\n" for a in range(40)))
    Ledger.create(tmp_path / "book.ledger").close()
    levels = {
        "a": "levels = { sex = 1, age = 1 }",
        "b": "levels = { sex = 0, age = 2 }",
        "c": "levels = { sex = 1, age = 3 }",
    }
    for name, given in levels.items():
        (tmp_path / f"{name}.toml").write_text(CLASSES.replace("k = 5", f"k = 5\n{given}") + BOOK)
        release(tmp_path / f"{name}.toml", tmp_path / name, key=KEY, even_if_useless=True)
    found = together(tmp_path, ["a", "b", "c"], ledger=tmp_path / "book.ledger")
    crossed = attack(found, "three releases, intersection of classes")
    assert not crossed.ok and crossed.claimed == 12 and crossed.measured == 3  # of 5 asked for, 12 are reached
    assert "Classes of two releases can meet in one person" in crossed.detail
    same = attack(together(tmp_path, ["a", "a"]), "two releases, intersection of classes")
    assert same.ok


def test_classes_by_hand() -> None:
    one, other = np.array([0, 0, 1, 1, -1]), np.array([0, 1, 0, 1, 1])  # two in every class, one in both
    assert crossed_classes([one, other], 2, "two").measured == 1
    assert crossed_classes([one, one], 2, "two").measured == 2
    without = np.array([0, 0, -1, -1, -1])  # two people are left out of it, who were in one class
    assert crossed_classes([one, without], 2, "two").measured == 2
    assert crossed_classes([one, np.array([0, 0, 0, -1, -1])], 2, "two").measured == 1
    third = np.array([0, 1, 1, 0, -1])
    assert crossed_classes([one, third], 1, "two").measured == crossed_classes([one, one, third], 1, "3").measured


# ---------------------------------------------------------------- levels

LEVELS = """\
[source]
path = "people.csv"
[release]
method = "levels"
[attributes.sex]
role = "quasi-identifying"
[attributes.region]
role = "sensitive"
domain = ["north", "east", "south", "west"]
"""


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("levels")
    write_people(folder / "people.csv")
    (folder / "recipe.toml").write_text(LEVELS)
    create_levels(folder / "ledger", folder / "recipe.toml", key=folder / "key")
    for name, level in (("one", "0.5"), ("two", "0.3"), ("three", "0.2"), ("again", "0.5")):
        issue(folder / "ledger", name, level, folder / name)
    return folder


def versions(folder: Path, *names: str) -> list[Outcome]:
    return attacks_together(
        [Attacked.of(retraced(folder / n, folder / "people.csv", folder / "key")) for n in names], None
    )


def test_recipients_of_levels_collude(issued: Path) -> None:
    options: Any = {"ledger": issued / "ledger", "recipients": ["one", "two", "three"]}
    found = audit_bundle(issued / "one", issued / "people.csv", issued / "key", **options)
    assert found.ok and "collusion across levels" in {a.name for a in found.attacks}
    alone = audit_bundle(issued / "one", issued / "people.csv", issued / "key")
    left = [(n.name, n.reason) for n in alone.not_run]
    assert ("collusion across levels", "no ledger and recipients were given") in left


def test_files_at_levels_tell_no_more_than_the_best_of_them(issued: Path) -> None:
    found = versions(issued, "one", "two", "three")
    assert beaten(found) == set()
    joint = attack(found, "collusion across levels, in the files")
    assert joint.measured == pytest.approx(joint.claimed, abs=1e-9)


def test_a_level_that_is_asked_for_again_is_the_same_data(issued: Path) -> None:
    again = issue(issued / "ledger", "one", "0.5", issued / "once more")
    assert again.again
    assert (issued / "once more" / "data.parquet").read_bytes() == (issued / "one" / "data.parquet").read_bytes()
    found = versions(issued, "one", "once more", "again", "two")
    assert attack(found, "repeated requests of one level").measured == 0
    assert beaten(found) == set()


def test_versions_that_were_drawn_separately_are_seen_in_their_files(issued: Path) -> None:
    """Coins of its own for every level, and for every request: the auditor has the files, and no such tool."""
    apart = own_coins_for_every_level(AtLevel.publish)
    with patched(("pramana.mechanisms.levels.AtLevel.publish", apart)):
        for name, level in (("x", "0.5"), ("y", "0.4"), ("z", "0.45")):
            issue(issued / "ledger", name, level, issued / name)
    assert beaten(versions(issued, "x", "y", "z")) == {"collusion across levels, in the files"}
    assert beaten(versions(issued, "one", "x")) >= {"repeated requests of one level"}
