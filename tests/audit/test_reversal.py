"""Reversal of published bundles: the paper's own example is broken, the default is not, and lies are seen."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import pramana
from pramana.errors import BundleError
from pramana.holder.audit.presence import ReversalAudit, reversal, reversal_attack
from pramana.holder.audit.verdict import Attack, NotRun
from pramana.methods.presence.reversal import Reversal

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


@pytest.mark.parametrize(
    ("at_their_word", "ok"),
    [((0.4, 0.95), True), ((0.5, 0.6), True), ((0.39, 0.6), False), ((0.5, 0.96), False), ((0.0, 1.0), False)],
)
def test_existence_probabilities_beyond_the_claim_break_it(at_their_word: tuple[float, float], ok: bool) -> None:
    """Also where undoing the distributions came to nothing."""
    withstood = Reversal("withstood", "", 0.5, 0.5, 1, 0, 0, None)
    assert ReversalAudit((0.4, 0.95), at_their_word, withstood).ok is ok
    assert not ReversalAudit((0.4, 0.95), (0.5, 0.6), Reversal("broken", "", 0.5, 0.5, 1, 0, 0, None)).ok
    assert not ReversalAudit((0.4, 0.95), (0.5, 0.6), Reversal("unproven", "", None, None, 1, 0, 0, None)).ok


def test_cells_that_tell_more_than_is_claimed_are_seen_from_the_files_alone(tmp_path: Path) -> None:
    """A certificate that claims a narrower range than its cells keep: 8/17 to 16/17."""
    recipe = world(tmp_path, 'delta = [0.4, 0.95]\nalgorithm = "wpalm"\nmode = "private"')
    release(recipe, tmp_path / "out", seed=1)
    place = tmp_path / "out" / "certificate.json"
    content = json.loads(place.read_text())
    for claim in (["0.48", "0.95"], ["0.4", "0.94"]):
        content["mechanism"]["setting"]["delta"] = claim
        place.write_text(json.dumps(content))
        found = reversal(tmp_path / "out", tmp_path / "people.csv")
        assert found.claimed == (float(claim[0]), float(claim[1])) and not found.ok
        assert found.at_their_word == pytest.approx((8 / 17, 16 / 17))


def test_people_of_classes_that_publish_nothing_are_known_to_be_absent(tmp_path: Path) -> None:
    recipe = world(tmp_path, 'delta = [0, 0.9]\nchoose = "searched"')
    absent = "".join(f"Absent {i},Pr,{n},0\n" for i, n in enumerate(("US", "Ca")))
    (tmp_path / "people.csv").write_text(
        "name,job,nation,ext\nChris,St,Ca,1\nLuke,St,US,1\nDarth,St,US,0\n" + absent
    )
    release(recipe, tmp_path / "out", seed=1)
    found = reversal(tmp_path / "out", tmp_path / "people.csv")
    # two of three, of likelihoods 1, 2 and 2: pairs weigh 2, 2 and 4, so one of US is there with 6/8
    assert found.at_their_word[0] == 0.0 and found.at_their_word[1] == pytest.approx(3 / 4)
    assert found.reversal.lowest == 0.0


def test_other_bundles_are_refused(tmp_path: Path) -> None:
    world(tmp_path, "delta = [0.4, 0.95]")
    (tmp_path / "other.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "retention"\nretention = 0.5\n'
        '[attributes.job]\nrole = "quasi-identifying"\ndomain = ["Pr", "St"]\n'
    )
    release(tmp_path / "other.toml", tmp_path / "other", seed=1, even_if_useless=True)
    with pytest.raises(BundleError, match="method presence"):
        reversal(tmp_path / "other", tmp_path / "people.csv")


def test_a_range_that_is_not_known_is_not_measured() -> None:
    """Worlds that are too many leave the attack out; cells that are not the public table's are a broken claim."""
    unproven = Reversal(
        "unproven", "3 of 3 classes have more worlds than were enumerated", None, None, 3, 0, 0, None
    )
    assert reversal_attack(ReversalAudit((0.1, 0.9), (0.2, 0.8), unproven)) == NotRun(
        "presence, reversal", unproven.reason
    )
    broken = Reversal("broken", "the cells are not those of the public table", None, None, 3, 0, 0, None)
    found = reversal_attack(ReversalAudit((0.1, 0.9), (0.2, 0.8), broken))
    assert isinstance(found, Attack) and not found.ok and found.measured == 0.8
