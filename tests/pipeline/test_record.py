"""Keys, signatures, and a person's own record."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from pramana import make_signing_key, plan_for_records, randomise_record, release, verify
from pramana.errors import KeyFileError, PramanaError, RecipeError, SourceError
from pramana.methods.recipe import Recipe
from pramana.randomness.key import Key

CONTENT = {
    "release": {"epsilon": 1},
    "attributes": {
        "name": {"role": "identifying"},
        "sex": {"role": "quasi-identifying", "domain": ["F", "M"], "missing": "category"},
        "age": {"role": "quasi-identifying", "bins": [0, 50, 100]},
        "note": {"role": "insensitive"},
    },
}


def test_key_files_are_for_their_owner_alone_and_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "k"
    key = Key.create()
    key.write(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert Key.read(place) == key
    with pytest.raises(KeyFileError, match="already exists"):
        Key.create().write(place)
    assert Key.read(place) == key
    assert key.secret.hex() not in repr(key) and str(key.secret) not in repr(key)
    with pytest.raises(KeyFileError, match="seed"):
        Key.from_seed(1).write(tmp_path / "s")
    for length in (0, 31, 33):
        with pytest.raises(KeyFileError, match="32 bytes"):
            Key(bytes(length))


def test_the_key_of_a_release_is_for_its_owner_alone(desk: Path) -> None:
    made = release(desk / "recipe.toml", desk / "out")
    assert made.key_file is not None
    assert stat.S_IMODE(made.key_file.stat().st_mode) == 0o600
    assert made.key_file.stat().st_nlink == 1, "no copy is left"


def test_signatures_cover_everything(desk: Path) -> None:
    public = make_signing_key(desk / "holder")
    assert stat.S_IMODE((desk / "holder").stat().st_mode) == 0o600
    made = release(desk / "recipe.toml", desk / "out", sign=desk / "holder")
    certificate = made.certificate
    assert certificate.signature is not None and certificate.signature["public_key"] == public
    assert certificate.signature_holds() and certificate.signature_holds(bytes.fromhex(public))
    assert not certificate.signature_holds(bytes(32))
    statement = json.loads((made.bundle / "certificate.json").read_text())
    for key in set(statement) - {"signature", "digest", "format", "version"}:
        value = statement[key]
        other = {int: 7, bool: not value, str: "x", list: [], dict: {}}[type(value)]
        if value == other:
            continue
        try:
            changed = type(certificate).from_json({**statement, key: other})
        except PramanaError:
            continue
        assert not changed.signature_holds(), key
    assert verify(made.bundle, public_key=desk / "holder.pub").valid


def test_one_record_is_published_from_its_domains() -> None:
    plan = plan_for_records(Recipe.parse(CONTENT))
    seen = {str(randomise_record(plan, {"sex": "F", "age": 70, "note": "n", "name": "x"})) for _ in range(200)}
    assert len(seen) == 6, "every combination of three by two values comes up"
    published = randomise_record(Recipe.parse(CONTENT), {"sex": None, "age": "70", "note": 5})
    assert set(published) == {"sex", "age", "note"} and published["note"] == "5"
    assert published["sex"] in ("F", "M", None) and published["age"] in ("[0,50)", "[50,100)")


@pytest.mark.parametrize(
    "record",
    [
        {"sex": "SecretX", "age": 3},
        {"sex": "F", "age": 1000},
        {"sex": "F"},
        {"sex": "F", "age": ["SecretX"]},
        {"sex": "F", "age": float("nan")},
        {"sexx": "SecretX", "age": 3},
        {5: "SecretX"},
    ],
)
def test_a_record_outside_its_domains_is_refused_without_its_values(record: dict[object, object]) -> None:
    with pytest.raises(SourceError) as caught:
        randomise_record(Recipe.parse(CONTENT), record)  # type: ignore[arg-type]
    assert "SecretX" not in str(caught.value) and "1000" not in str(caught.value)


def test_a_recipe_for_individuals_must_say_enough() -> None:
    with pytest.raises(RecipeError, match="plan the number of records"):
        plan_for_records(Recipe.parse({**CONTENT, "release": {"k": 5}}))
    assert plan_for_records(Recipe.parse({**CONTENT, "release": {"k": 5, "records": 100}})).records == 100
    attributes = {"sex": {"role": "quasi-identifying", "domain": "from-data"}}
    with pytest.raises(RecipeError, match="must be declared"):
        plan_for_records(Recipe.parse({"release": {"epsilon": 1}, "attributes": attributes}))
