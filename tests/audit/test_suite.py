"""The whole suite, on honest bundles and on broken ones: every attack must win somewhere, or it proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.audit.broken import (
    KEY,
    MISTAKES,
    broken_release,
    write_people,
    write_plain,
)
from tests.audit.desk import audited, lay_out, lost

from pramana import Key, release
from pramana.app.main import run
from pramana.errors import BundleError, KeyFileError, SourceError
from pramana.holder.audit.suite import audit_bundle


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("desk"))


def test_an_honest_release_stands(desk: Path) -> None:
    found = audited(desk, "honest", control=desk / "others.csv")
    assert found.ok, found.sentences()
    assert found.not_run == ()
    names = [attack.name for attack in found.attacks]
    assert len(names) == len(set(names)) == 15


LOSES = {
    "rows unshuffled": {
        "rows, guessed order",
        "rows, places",
        "linkage, best matching",
        "linkage, sampled posterior",
        "linkage, everyone by value",
    },
    "order not keyed": set(),
    "coin of a wrong law": {"epsilon of region, from its records", "attribute inference"},
    "float coin": {"epsilon of region, from its records", "attribute inference"},
    "one epsilon forgotten": {"epsilon of region, from its records", "attribute inference"},
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_release_loses(desk: Path, mistake: str) -> None:
    broken_release(desk, mistake, mistake)
    found = audited(desk, mistake)
    assert not found.ok
    assert lost(found) >= LOSES[mistake] | {"data, made again"}, found.sentences()


def test_a_key_that_was_made_from_a_seed_is_guessed(desk: Path) -> None:
    secret = Key(Key.from_seed(7).secret)  # and the certificate does not say so
    release(desk / "recipe.toml", desk / "seeded", key=secret)
    assert lost(audited(desk, "seeded", secret)) == {"key, guessed seed"}


def test_a_release_from_a_seed_is_not_private_whatever_the_seed(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release(desk / "recipe.toml", desk / "marked", seed=987_654)
    command = ["audit", str(desk / "marked"), "--source", str(desk / "people.csv")]
    assert run([*command, "--seed", "987654", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [attack["name"] for attack in found["attacks"] if not attack["ok"]] == ["key, guessed seed"]
    assert run(command) == 2
    assert "--key or --seed must be given" in capsys.readouterr().err


def test_another_key_or_source_is_refused(desk: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="the one of this release"):
        audited(desk, "honest", Key(bytes(32)))
    write_people(tmp_path / "fewer.csv", rows=10)
    with pytest.raises(SourceError, match="4000 records, got 10"):
        audit_bundle(desk / "honest", tmp_path / "fewer.csv", KEY)
    with pytest.raises(BundleError, match="must be a folder"):
        audited(desk, "nothing")


def test_the_command_says_what_was_claimed_and_measured(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--source", str(desk / "people.csv"), "--key", str(desk / "key")]
    assert run(["audit", str(desk / "honest"), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all({"name", "claimed", "measured", "ok"} <= set(attack) for attack in found["attacks"])
    reason = {"name": "attribute inference, against a control", "reason": "no control table was given"}
    assert reason in found["not_run"]
    assert run(["audit", str(broken_release(desk, "rows unshuffled", "by command")), *options]) == 1
    told = capsys.readouterr().out
    assert "LOST  rows, guessed order" in told and "claims are broken." in told
    assert run(["audit", str(desk / "honest"), "--source", str(desk / "people.csv"), "--key", "nowhere"]) == 2
    page = desk / "attacks.html"
    assert run(["audit", str(desk / "by command"), *options, "--html", str(page)]) == 1
    text = page.read_text()
    assert "NOT FOR RELEASE" in text.upper() and "BROKEN" in text and "rows, guessed order" in text
    assert page.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert run(["audit", str(desk / "honest"), *options, "--html", str(page)]) == 2
    inside = str(desk / "honest" / "attacks.html")
    assert run(["audit", str(desk / "honest"), *options, "--html", inside]) == 2
    refused = capsys.readouterr()
    assert refused.out == "" and "already exists" in refused.err and "outside of every bundle" in refused.err


# ---------------------------------------------------------------- other methods

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


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    lines = [f"{'MF'[i * i % 7 % 2]},{min(i * i * 31 % 97 % 41, 39)}\n" for i in range(600)]
    (folder / "people.csv").write_text("sex,age\n" + "".join(lines))
    (folder / "sex.csv").write_text("M;*\nF;*\n")
    (folder / "age.csv").write_text("".join(f"{a};{a // 2};{a // 10};*\n" for a in range(40)))
    (folder / "recipe.toml").write_text(CLASSES)
    release(folder / "recipe.toml", folder / "honest", key=KEY)
    return folder


def test_honest_classes_stand(classes: Path) -> None:
    found = audited(classes, "honest")
    assert found.ok, found.sentences()
    assert {"linkage, smallest class", "linkage, within classes"} <= {a.name for a in found.attacks}


def test_suppressed_rows_that_were_left_in_are_seen(classes: Path) -> None:
    release(classes / "recipe.toml", classes / "left in", key=KEY)
    path = classes / "left in" / "data.parquet"
    table = pq.read_table(path)
    lone = pa.table({"sex": ["M"], "age": ["39"]}).cast(table.schema.remove_metadata())
    write_plain(pa.concat_tables([table.replace_schema_metadata(None), lone]), path.parent)
    assert lost(audited(classes, "left in")) == {
        "data, made again",
        "linkage, smallest class",
        "suppressed rows, left in",
    }


def test_classes_in_source_order_are_linked(classes: Path) -> None:
    broken_release(classes, "rows unshuffled", "unshuffled")
    assert lost(audited(classes, "unshuffled")) >= {
        "rows, guessed order",
        "rows, places",
        "linkage, within classes",
    }


def test_the_intruders_of_invariant_releases(tmp_path: Path) -> None:
    rows = ["farmer"] * 400 + ["smith"] * 150 + ["clerk"] * 60 + ["astronomer"] * 2
    (tmp_path / "people.csv").write_text("job\n" + "".join(f"{job}\n" for job in rows))
    (tmp_path / "recipe.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "invariant"\nxi = 0.1\n[attributes.job]\n'
        'role = "quasi-identifying"\ndomain = ["farmer", "smith", "clerk", "astronomer"]\n'
    )
    release(tmp_path / "recipe.toml", tmp_path / "out", key=KEY)
    found = audit_bundle(tmp_path / "out", tmp_path / "people.csv", KEY)
    assert found.ok, found.sentences()
    names = {
        "identification, own count",
        "identification, every count",
        "identification, matrix estimated from the file",
    }
    assert names <= {a.name for a in found.attacks}


def test_presence_is_attacked_by_reversal(tmp_path: Path) -> None:
    from tests.audit.test_reversal import world

    private = world(tmp_path, 'delta = [0.4, 0.95]\nalgorithm = "wpalm"\nmode = "private"')
    release(private, tmp_path / "private", key=KEY, even_if_useless=True)
    assert "presence, reversal" in lost(audit_bundle(tmp_path / "private", tmp_path / "people.csv", KEY))
    release(world(tmp_path, "delta = [0.4, 0.95]"), tmp_path / "default", key=KEY, even_if_useless=True)
    found = audit_bundle(tmp_path / "default", tmp_path / "people.csv", KEY)
    assert found.ok, found.sentences()
