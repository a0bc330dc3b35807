"""Ledgers and bundles in the studio: versions for partners, releases that are booked, and no way outside."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tests.studio.conftest import Visit
from tests.studio.running import people

import pramana


def test_partners_are_served_from_the_recipe_that_the_journey_wrote(visit: Visit) -> None:
    visit.to_release(job="levels")
    assert visit.post("/publish/recipe/save", name="town").url.path == "/ledger"
    assert (visit.folder / "town" / "recipe.toml").exists()
    visit.post("/ledger/create", name="accounts")
    page = visit.post("/ledger/register", recipe="town/recipe.toml", dataset="town")
    assert "are registered as town" in page.text
    for who, level in (("a", "0.5"), ("b", "0.2"), ("a", "0.5")):
        name = f"for-{who}{len(list(visit.folder.iterdir()))}"
        page = visit.post("/ledger/issue", dataset="town", recipient=who, level=level, name=name)
        assert f"The version of {who} is in {name}" in page.text
        assert pramana.verify(visit.folder / name).valid
    assert "the same as before" in page.text
    page = visit.post("/ledger/collude", dataset="town", **{"member-0": "yes", "member-1": "yes"})
    assert "Collusion is useless" in page.text
    page = visit.post("/ledger/issue", dataset="town", recipient="", level="0.5", name="for-nobody")
    assert "Not done." in page.text and not (visit.folder / "for-nobody").exists()


def test_a_ledger_that_names_files_elsewhere_is_not_followed(visit: Visit, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    people(elsewhere / "people.csv", 100)
    recipe = elsewhere / "levels.toml"
    recipe.write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "levels"\n'
        '[attributes.illness]\nrole = "sensitive"\ndomain = ["none", "flu", "diabetes"]\n'
    )
    pramana.create_levels(visit.folder / "x.ledger", recipe, name="town")
    visit.post("/ledger/open", ledger="x.ledger")
    page = visit.post("/ledger/issue", dataset="town", recipient="a", level="0.5", name="out")
    assert "Not done." in page.text and not (visit.folder / "out").exists()
    page = visit.post("/ledger/collude", dataset="town", **{"member-0": "yes"})
    assert "Not done." in page.text


def test_a_release_with_a_ledger_is_booked_and_seen_the_next_time(visit: Visit) -> None:
    visit.post("/ledger/create", name="x.ledger")
    visit.to_release()
    stated = {"confirmed": "yes", "format": "csv", "ledger": "x.ledger", "people": "town"}
    visit.post("/publish/check", **stated)
    assert 'path = "x.ledger"' in visit.studio.desk.journey.document.text
    visit.release("first")
    assert (visit.folder / "first.key").stat().st_mode & 0o077 == 0
    assert "first.key" in visit.get("/publish/report").text
    assert "1 release about town before this one" in visit.get("/publish/check").text
    assert "first" in visit.get("/ledger").text
    visit.post("/publish/release", name="second")
    job = visit.studio.desk.journey.job
    assert job is not None
    job.join(60)
    assert job.released is None and job.problem, "the same table again is refused"
    assert not (visit.folder / "second").exists()


def test_a_bundle_as_a_zip_file_is_unpacked_checked_and_let_go_of(visit: Visit) -> None:
    visit.to_release()
    visit.release("out")
    packed = visit.get("/publish/report/bundle.zip").content
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert names == [f"out/{path.name}" for path in sorted((visit.folder / "out").iterdir())]
    assert visit.upload("/study/upload", packed, "given.zip") == {"to": "/study"}
    page = visit.get("/study")
    assert "The bundle is valid" in page.text
    assert visit.get("/study/report").status_code == 200
    assert (visit.studio.private.path / "received").is_dir()
    visit.post("/study/close")
    assert not (visit.studio.private.path / "received").exists()


def test_a_changed_bundle_is_shown_as_not_valid_and_not_asked(visit: Visit) -> None:
    visit.to_release()
    visit.release("out")
    data = visit.folder / "out" / "data.csv"
    data.write_bytes(data.read_bytes() + b"F,north,1,none\n")
    page = visit.post("/study", bundle="out")
    assert "NOT valid" in page.text and "Estimate the table" not in page.text
    assert "Not done." in visit.post("/study/table", row="0").text


def test_tables_can_be_asked_of_generalised_bundles_too(visit: Visit) -> None:
    visit.to_release(job="k-anonymity")
    visit.release("out")
    visit.post("/study", bundle="out")
    page = visit.post("/study/table", row="0")
    assert 'id="answer"' in page.text
    lines = visit.get("/study/table.csv").text.splitlines()
    assert len(lines) > 1
    page = visit.post("/study/compare", first="0-0", second="0-1", share="1-0")
    assert "Difference, in points" in page.text
