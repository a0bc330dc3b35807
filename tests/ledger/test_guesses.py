"""What an export tells: nobody without the key can test a guess about the table, its domains or a version."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from tests.ledger.flow import dataset, register, request
from tests.rows.test_digest import digest_of_columns

from pramana import Ledger, Recipe, create_levels, issue
from pramana.errors import LedgerError, RefusedError
from pramana.io.source import Source
from pramana.ledger.state import DATASET, Entry
from pramana.ledger.store import append
from pramana.methods.levels.method import LevelsRecipe, attributes_at_levels, design_of
from pramana.randomness.key import Key
from pramana.rows.digest import commitment_to
from pramana.rows.memory import MemoryRows

RECIPE = """
[source]
path = "people.csv"
[release]
method = "levels"
shuffle = false
[attributes.ill]
role = "sensitive"
domain = {domain}
"""
TRUE = (1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1)
ILLNESSES = ("asthma", "flu", "gout", "measles", "mumps", "typhus")


def desk(folder: Path, values: Iterable[str], domain: str) -> Path:
    (folder / "people.csv").write_text("ill\n" + "".join(f"{value}\n" for value in values))
    (folder / "recipe.toml").write_text(RECIPE.format(domain=domain))
    return folder / "recipe.toml"


def digests_in(text: str) -> set[str]:
    return set(re.findall(r"[0-9a-f]{64}", text))


def rows_recovered(export: str) -> list[tuple[int, ...]]:
    """The attack: every table of that many rows and two values, digested and looked for in the export."""
    seen = digests_in(export)
    known = Key.from_seed(0)  # a key, but not the holder's
    return [
        guess
        for guess in itertools.product((0, 1), repeat=len(TRUE))
        for columns in [{"ill": np.array(guess, np.uint8)}]
        if seen & {digest_of_columns(columns), commitment_to(columns, known)}
    ]


def fingerprint_of(recipe: LevelsRecipe, values: Iterable[str]) -> str:
    """The digest of attributes and design as it is without a key."""
    table = Source(frame=pa.table({"ill": list(values)})).read(None)
    attributes = attributes_at_levels(recipe, MemoryRows(table, Key.from_seed(0)))
    stated = [[a.to_json() for a in attributes], design_of(recipe, attributes).to_json()]
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


def domains_recovered(recipe: LevelsRecipe, export: str) -> list[tuple[str, ...]]:
    seen = digests_in(export)
    guesses = itertools.chain(*(itertools.combinations(ILLNESSES, size) for size in range(2, 7)))
    return [guess for guess in guesses if fingerprint_of(recipe, guess) in seen]


def test_no_row_can_be_guessed_from_an_export(tmp_path: Path) -> None:
    """At level 1 a version is the table itself: its digest must tell no more than the table's."""
    recipe = desk(tmp_path, (("no", "yes")[code] for code in TRUE), '["no", "yes"]')
    create_levels(tmp_path / "ledger.db", recipe)
    issue(tmp_path / "ledger.db", "auditor", "1", tmp_path / "out")
    export = "\n".join(Ledger.open(tmp_path / "ledger.db").lines())
    assert len(digests_in(export)) >= 6, "there is something to try"
    assert rows_recovered(export) == []
    unkeyed = digest_of_columns({"ill": np.array(TRUE, np.uint8)})
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["content"] == unkeyed
    for name in ("source", "content"):
        line = next(line for line in export.splitlines() if name in json.loads(line)["body"])
        given_away = line.replace(json.loads(line)["body"][name], unkeyed)
        assert rows_recovered(given_away) == [TRUE], "the attack works where the digest is not under the key"


def test_no_domain_can_be_guessed_from_an_export(tmp_path: Path) -> None:
    present = ("asthma", "gout", "typhus")
    place = desk(tmp_path, present * 3, '"from-data"')
    create_levels(tmp_path / "ledger.db", place)
    export = "\n".join(Ledger.open(tmp_path / "ledger.db").lines())
    recipe = cast(LevelsRecipe, Recipe.read(place))
    assert domains_recovered(recipe, export) == []
    assert domains_recovered(recipe, export + fingerprint_of(recipe, present)) == [present]


# ---------------------------------------------------------------- the same table is still known again


def test_the_same_table_is_known_under_every_key_at_hand(tmp_path: Path) -> None:
    recipe, ledger = desk(tmp_path, ["no", "yes"] * 5, '["no", "yes"]'), tmp_path / "ledger.db"
    first = create_levels(ledger, recipe, name="first")
    with pytest.raises(RefusedError, match="the table of 'first' under another"):
        create_levels(ledger, recipe, name="second")
    hidden = first.key_file.rename(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"The key of 'first'.* must be at hand"):
        create_levels(ledger, recipe, name="second")
    Key.create().write(first.key_file)  # another key in its place tells no more than none
    with pytest.raises(RefusedError, match="must be at hand"):
        create_levels(ledger, recipe, name="second")
    first.key_file.unlink()
    assert not list(tmp_path.glob("*second*"))
    made = create_levels(ledger, recipe, name="second", independent=True)
    assert any("collusion pays" in warning for warning in made.warnings)
    hidden.rename(first.key_file)
    desk(tmp_path, ["yes", "no"] * 5, '["no", "yes"]')
    assert create_levels(ledger, recipe, name="third").warnings == (), "as many records, and another table"
    desk(tmp_path, ["yes", "no"] * 6, '["no", "yes"]')
    first.key_file.unlink()
    assert create_levels(ledger, recipe, name="fourth").warnings == (), "another number of records needs no key"


# ---------------------------------------------------------------- ledgers of before


def test_a_ledger_with_unkeyed_digests_is_refused_by_name_and_not_exported(place: str) -> None:
    old = dataset("old", source="5" * 64, design="6" * 64)
    body = {name: value for name, value in old.to_json().items() if name != "digests"}
    ledger = Ledger.create(place)
    with ledger.store.writing() as connection:
        append(connection, Entry(1, "then", DATASET, "test", dataset="old", body=body))
    for refused in (
        lambda: ledger.reserve(request("anna", "0.3", dataset="old", source="5" * 64, design="6" * 64)),
        lambda: register(ledger, dataset("new", source="other", key="other")),
    ):
        with pytest.raises(RefusedError, match=r"digests of 'old' must be under its key.*a new ledger"):
            refused()
    assert ledger.is_unbroken() and len(ledger.entries()) == 1
    exported = "\n".join(ledger.lines())
    assert "5" * 64 not in exported and "6" * 64 not in exported
    assert json.loads(exported)["withheld"] is True


def test_an_old_ledger_is_moved_to_a_new_one_with_the_same_versions(tmp_path: Path) -> None:
    """What the refusal advises: the same name and key in a new ledger make the same data."""
    recipe = desk(tmp_path, ["no", "yes"] * 50, '["no", "yes"]')
    made = create_levels(tmp_path / "one.db", recipe)
    issue(tmp_path / "one.db", "anna", "0.3", tmp_path / "one")
    create_levels(tmp_path / "two.db", recipe, key=made.key_file)
    issue(tmp_path / "two.db", "anna", "0.3", tmp_path / "two")
    same = [(tmp_path / name / "data.parquet").read_bytes() for name in ("one", "two")]
    assert same[0] == same[1]


@pytest.mark.parametrize("command", ["issue", "collude"])
def test_an_old_dataset_is_refused_before_its_table_is_read(tmp_path: Path, command: str) -> None:
    from pramana import collude

    body = {name: value for name, value in dataset("old").to_json().items() if name != "digests"}
    body["details"] = {"key_file": str(tmp_path / "key"), "recipe": "", "folder": str(tmp_path)}
    ledger = Ledger.create(tmp_path / "ledger.db")
    with ledger.store.writing() as connection:
        append(connection, Entry(1, "then", DATASET, "test", dataset="old", body=body))
    with pytest.raises((RefusedError, LedgerError), match="under its key"):
        if command == "issue":
            issue(tmp_path / "ledger.db", "anna", "0.3", tmp_path / "out")
        else:
            collude(tmp_path / "ledger.db", ["anna"])
