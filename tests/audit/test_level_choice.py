"""Presence: what a choice of levels tells, against every small world; nothing where it is made in public."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.audit.broken import KEY
from tests.generalize.worlds import LAYOUT, levels_in_every_world, searched, told_by, worlds_of

from pramana import release
from pramana.holder.audit.presence import NAME, class_of_people, some_worlds
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import Attack, NotRun
from pramana.methods.presence.search import Pair
from pramana.methods.presence.shaping import Presence

SEX, AGE = (0, 0, 0, 0, 1, 1), (0, 0, 0, 1, 1, 1)
HERE = (1, 0, 0, 1, 0, 0)  # the search finds (1, 0), and then the fourth person is here for certain


def recipe(folder: Path, lines: str) -> Path:
    rows = [f"{'FM'[s]},{'abc'[a]},{h}\n" for s, a, h in zip(SEX, AGE, HERE, strict=True)]
    (folder / "people.csv").write_text("sex,age,here\n" + "".join(rows))
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "age.csv").write_text("a;ab;*\nb;ab;*\nc;c;*\n")
    path = folder / "recipe.toml"
    path.write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "presence"\npresent = "here"\ndelta = [0.2, 0.8]\n'
        f"{lines}\n"
        '[attributes.sex]\nrole = "quasi-identifying"\nhierarchy = "sex.csv"\n'
        '[attributes.age]\nrole = "quasi-identifying"\nhierarchy = "age.csv"\n'
    )
    return path


def outcome(folder: Path, bundle: str) -> Attack | NotRun:
    found = audit_bundle(folder / bundle, folder / "people.csv", KEY)
    outcomes: list[Attack | NotRun] = [*found.attacks, *found.not_run]
    [one] = [o for o in outcomes if o.name == NAME]
    return one


def test_searched_levels_tell_what_every_world_says_they_tell(tmp_path: Path) -> None:
    release(recipe(tmp_path, 'choose = "searched"'), tmp_path / "out", key=KEY, even_if_useless=True)
    found = outcome(tmp_path, "out")
    assert isinstance(found, Attack) and found.ok and found.claimed is None, "nothing is claimed of it"
    assert found.more["measured_range"] == [0.0, 1.0] and found.more["inside"] is False
    assert "LEAVES" in found.detail
    columns, wanted = (np.array(SEX, np.uint8), np.array(AGE, np.uint8)), Presence.of(0.2, 0.8)
    levels = levels_in_every_world(columns, 2, wanted, searched)
    here = np.array(HERE, bool)
    own = levels[[world.tolist() for world in worlds_of(6, 2)].index(here.tolist())]
    told = told_by(columns, 2, wanted, [one if one == own else None for one in levels])
    assert (found.more["fitting"], 0.0, 1.0) in [(t.worlds, t.lowest, t.highest) for t in told]


def test_searched_levels_under_the_name_of_public_ones_are_seen(tmp_path: Path) -> None:
    release(recipe(tmp_path, 'choose = "searched"'), tmp_path / "out", key=KEY, even_if_useless=True)
    path = tmp_path / "out" / "certificate.json"
    content = json.loads(path.read_text())
    content["mechanism"]["levels_chosen"] = "public"
    path.write_text(json.dumps(content))
    found = outcome(tmp_path, "out")
    assert isinstance(found, Attack) and not found.ok and found.claimed == 0.8 and found.measured == 1.0


def test_levels_from_the_public_table_tell_nothing(tmp_path: Path) -> None:
    release(recipe(tmp_path, ""), tmp_path / "out", key=KEY, even_if_useless=True)
    found = outcome(tmp_path, "out")
    assert isinstance(found, Attack) and found.ok
    assert found.more["measured_range"] == pytest.approx([1 / 3, 1 / 3])


def test_levels_that_were_given_are_not_attacked(tmp_path: Path) -> None:
    release(recipe(tmp_path, "levels = { sex = 1, age = 1 }"), tmp_path / "out", key=KEY, even_if_useless=True)
    assert isinstance(outcome(tmp_path, "out"), NotRun)


def test_random_worlds_have_the_published_counts_and_are_equally_likely() -> None:
    pair = Pair(LAYOUT, (np.array(SEX, np.uint8), np.array(AGE, np.uint8)), np.array(HERE, bool))
    class_of = class_of_people(pair, (1, 0))
    assert class_of.tolist() == [0, 0, 0, 1, 1, 1]
    worlds = np.array(list(some_worlds(class_of, np.array([1, 2]), 3000)))
    assert (worlds[:, :3].sum(1) == 1).all() and (worlds[:, 3:].sum(1) == 2).all()
    _, counts = np.unique(worlds, axis=0, return_counts=True)
    assert len(counts) == 9 and np.abs(counts / 3000 - 1 / 9).max() < 5 * np.sqrt(1 / 9 * 8 / 9 / 3000)
