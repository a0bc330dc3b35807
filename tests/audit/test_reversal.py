"""Reversal of published bundles: the paper's own example is broken, the default is not, and lies are seen."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import pramana
from pramana.audit import reversal
from pramana.errors import BundleError

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


PEOPLE = "name,job,nation,ext\nChris,St,Ca,1\nLuke,St,US,1\nDarth,St,US,1\nGeorge,Pr,US,1\nObi,Pr,Ca,0\n"


def world(folder: Path, lines: str) -> Path:
    """Paper 4, Table III: the men. Their likelihoods under Table V's cells are 3, 9, 9, 3 and 1 sixteenths."""
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "job.csv").write_text("Pr;*\nSt;*\n")
    (folder / "nation.csv").write_text("Ca;*\nUS;*\n")
    place = folder / "recipe.toml"
    place.write_text(
        f'[source]\npath = "people.csv"\n[release]\nmethod = "presence"\npresent = "ext"\n{lines}\n'
        '[attributes.name]\nrole = "identifying"\n'
        '[attributes.job]\nrole = "quasi-identifying"\nhierarchy = "job.csv"\n'
        '[attributes.nation]\nrole = "quasi-identifying"\nhierarchy = "nation.csv"\n'
    )
    return place


def test_the_papers_release_is_broken_from_the_files_alone(tmp_path: Path) -> None:
    recipe = world(tmp_path, 'delta = [0.4, 0.95]\nalgorithm = "wpalm"\nmode = "private"')
    done = release(recipe, tmp_path / "out", seed=1, even_if_useless=True)
    found = reversal(tmp_path / "out", tmp_path / "people.csv")
    assert found.at_their_word == pytest.approx((8 / 17, 16 / 17))
    assert not found.ok
    assert found.reversal.verdict == "broken"
    assert found.reversal.fewest_worlds == 1
    assert (found.reversal.lowest, found.reversal.highest) == (0.0, 1.0)
    assert done.guarantees[0]["value"]["reversal"] == "broken"
    assert "learns more" in done.guarantees[0]["words"]


@pytest.mark.parametrize("output", ["parquet", "csv"])
def test_the_default_withstands(tmp_path: Path, output: str) -> None:
    recipe = world(tmp_path, "delta = [0.4, 0.95]")
    recipe.write_text(recipe.read_text() + f'[output]\nformat = "{output}"\n')
    release(recipe, tmp_path / "out", seed=1, even_if_useless=True)
    found = reversal(tmp_path / "out", tmp_path / "people.csv")
    assert found.ok, found
    assert (found.reversal.lowest, found.reversal.highest) == (0.8, 0.8)
    line = found.to_json()
    assert {"name", "claimed", "measured", "ok"} <= set(line)


def test_private_cells_under_the_name_of_public_ones_are_seen(tmp_path: Path) -> None:
    recipe = world(tmp_path, 'delta = [0.4, 0.95]\nalgorithm = "wpalm"\nmode = "private"')
    release(recipe, tmp_path / "out", seed=1, even_if_useless=True)
    place = tmp_path / "out" / "certificate.json"
    content = json.loads(place.read_text())
    content["mechanism"]["setting"]["mode"] = "public"
    place.write_text(json.dumps(content))
    assert reversal(tmp_path / "out", tmp_path / "people.csv").reversal.verdict == "broken"


def test_other_bundles_are_refused(tmp_path: Path) -> None:
    world(tmp_path, "delta = [0.4, 0.95]")
    (tmp_path / "other.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "retention"\nretention = 0.5\n'
        '[attributes.job]\nrole = "quasi-identifying"\ndomain = ["Pr", "St"]\n'
    )
    release(tmp_path / "other.toml", tmp_path / "other", seed=1, even_if_useless=True)
    with pytest.raises(BundleError, match="method presence"):
        reversal(tmp_path / "other", tmp_path / "people.csv")
