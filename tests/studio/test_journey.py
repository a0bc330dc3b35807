"""The holder's journey without a browser: every job, back and forth, and what is left of a stopped release."""

from __future__ import annotations

import io
import threading
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.studio.conftest import Visit
from tests.studio.running import people

import pramana
from pramana import Recipe, verify
from pramana.app.main import run
from pramana.app.studio import dial as dial_module
from pramana.app.studio.dial import Dial, DialSetting


@pytest.mark.parametrize("job", ["publish", "frequencies", "levels", "k-anonymity", "microaggregate", "presence"])
def test_every_job_ends_in_the_bundle_that_the_command_line_makes(visit: Visit, job: str) -> None:
    everyone = people(visit.folder / "people.csv", 1500)
    if job == "presence":
        lines = everyone.read_text().splitlines()
        (visit.folder / "everyone.csv").write_text("\n".join(lines))
        everyone.write_text("\n".join([lines[0], *lines[1::3]]))
        visit.to_release(job=job, public="everyone.csv")
    else:
        visit.to_release(job=job)
    assert visit.get("/publish/dial").status_code == 200
    assert "look at this" in visit.get("/publish/check").text
    visit.release("out")
    assert verify(visit.folder / "out").valid
    _check_made_again(visit, "out")
    assert visit.get("/publish/report").status_code == 200
    page = visit.get("/publish/report/page")
    assert "What is promised" in page.text and "'unsafe-inline'" not in page.headers["content-security-policy"]


def _check_made_again(visit: Visit, name: str) -> None:
    """With the recipe and the key that the studio hands over, the command line makes the same files."""
    with zipfile.ZipFile(io.BytesIO(visit.get("/publish/recipe.zip").content)) as packed:
        packed.extractall(visit.folder)
    key = visit.folder / "taken.key"
    key.write_text(visit.post("/publish/report/key").text)
    key.chmod(0o600)
    again = visit.folder / "again"
    assert run(["release", str(visit.folder / "recipe.toml"), "--out", str(again), "--key", str(key)]) == 0
    made = {path.name: path.read_bytes() for path in (visit.folder / name).iterdir()}
    assert {path.name: path.read_bytes() for path in again.iterdir()} == made


def test_a_movement_of_the_dial_never_waits_for_another_place(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not worked out yet is said to be, at once, and is worked out next."""
    visit.to_release(job="k-anonymity")
    journey = visit.studio.desk.journey
    plain = journey.dial()
    worked_out, go_on, calculated = [], threading.Event(), Dial._calculated

    def slow(self: Dial, value: float) -> DialSetting:
        if self is plain:  # which may still be at work
            return calculated(self, value)
        worked_out.append(value)
        assert go_on.wait(30)
        return calculated(self, value)

    monkeypatch.setattr(dial_module, "_OPENING", 0.0)
    monkeypatch.setattr(Dial, "_calculated", slow)
    dial = Dial(journey.recipe(), journey.document.promise, journey.source)
    dial.prepare(journey.value)
    monkeypatch.setattr(journey, "_dial", ("", dial))
    places = dial.positions(journey.value)
    wanted = max(places, key=lambda value: abs(value - journey.value))
    answer = visit.get(f"/publish/dial/figures?at={places.index(wanted)}")  # while the work stands still
    assert answer.status_code == 202 and "being worked out" in answer.text
    go_on.set()
    end = time.monotonic() + 30
    while (setting := dial.ready(wanted)) is None and time.monotonic() < end:
        time.sleep(0.01)
    assert worked_out.index(wanted) <= 1  # after what was under way
    assert setting == plain.at(wanted)
    assert visit.get(f"/publish/dial/figures?at={places.index(wanted)}").status_code == 200


def test_presence_takes_a_public_list(visit: Visit) -> None:
    everyone = (visit.folder / "people.csv").read_text().splitlines()
    (visit.folder / "everyone.csv").write_text("\n".join(everyone))
    (visit.folder / "ill.csv").write_text("\n".join([everyone[0], *everyone[1::3]]))
    visit.post("/publish/open", kind="file", file="ill.csv")
    visit.post("/publish/columns", unit="row")
    answer = visit.post("/publish/job", job="presence", public="everyone.csv")
    assert answer.url.path == "/publish/dial", answer.text
    document = visit.studio.desk.journey.document
    assert document.section("release")["public"] == "everyone.csv" and document.promise == "delta"


def test_the_recipe_is_visible_at_every_step_and_nothing_is_lost_going_back(visit: Visit) -> None:
    visit.to_release()
    journey = visit.studio.desk.journey
    for step in ("open", "columns", "job", "dial", "check", "release"):
        page = visit.get(f"/publish/{step}")
        assert 'id="recipe-text"' in page.text and "method = &#34;retention&#34;" in page.text, step
    before = journey.document.text
    visit.post("/publish/columns", unit="row")
    visit.post("/publish/job", job="publish")
    assert journey.document.text == before, "the same answers again change nothing"
    stated = tomllib.loads(visit.get("/publish/recipe.toml").text)
    assert stated == journey.document.content
    Recipe.parse(stated)


def test_a_role_that_is_changed_later_keeps_what_the_dial_says(visit: Visit) -> None:
    visit.to_release()
    journey = visit.studio.desk.journey
    places = journey.dial().positions(journey.value)
    visit.post("/publish/dial", at=str(len(places) - 2), act="set")
    value = journey.value
    assert value == places[-2]
    number = list(journey.roles).index("region")
    visit.post("/publish/columns", unit="row", **{f"role-{number}": "identifying"})
    assert journey.document.columns["region"]["role"] == "identifying"
    assert journey.value == value
    assert not journey.looked_at, "what changed is to be looked at again"


def test_the_unit_is_asked_and_its_column_dropped(visit: Visit) -> None:
    lines = (visit.folder / "people.csv").read_text().splitlines()
    (visit.folder / "twice.csv").write_text("\n".join([*lines, *lines[1:]]))
    visit.post("/publish/open", kind="file", file="twice.csv")
    page = visit.page("/publish/columns")
    assert page.forms[0].filled()["unit"] == "person", "a repeated identifier is offered"
    visit.post("/publish/columns", unit="person", person="0", rows="2")
    unit = visit.studio.desk.journey.document.section("unit")
    assert unit == {"person": "person_id", "rows": 2}
    assert "states no promise for them together" in visit.get("/publish/job").text


def test_a_hierarchy_is_built_looked_at_and_used(visit: Visit) -> None:
    visit.post("/publish/open", kind="file", file="people.csv")
    number = list(visit.studio.desk.journey.roles).index("age")
    page = visit.post(f"/publish/columns/{number}", kind="intervals", widths="10, 20", act="build")
    assert "How it looks" in page.text and "Level 2" in page.text
    visit.post(f"/publish/columns/{number}", act="use", level="1")
    visit.post("/publish/columns", unit="row")
    visit.post("/publish/job", job="k-anonymity")
    column = visit.studio.desk.journey.document.columns["age"]
    assert column == {"role": "quasi-identifying", "hierarchy": "hierarchy-4-age.csv", "level": 1}
    tree = '[all]\ncold = ["north", "east"]\nwarm = ["south", "west"]\n'
    page = visit.post(f"/publish/columns/{number - 1}", kind="tree", tree=tree, act="build")
    assert "How it looks" in page.text and "warm" in page.text
    page = visit.post(f"/publish/columns/{number - 1}", kind="tree", tree='[all]\ncold = ["north"]\n', act="build")
    assert "Not done." in page.text and "south" not in page.text.partition("Not done.")[2].partition("</div>")[0]


def test_a_stopped_release_leaves_nothing_behind(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    visit.to_release()
    whole = pramana.release
    stopped_at: list[str] = []

    def stopping(recipe: object, out: Path, **options: object) -> object:
        told = options["progress"]

        def watched(stage: str, done: int, of: int) -> None:
            visit.studio.desk.journey.job.stop()  # type: ignore[union-attr]
            stopped_at.append(stage)
            told(stage, done, of)  # type: ignore[operator]

        return whole(recipe, out, **{**options, "progress": watched})  # type: ignore[arg-type]

    before = sorted(path.name for path in visit.folder.iterdir())
    monkeypatch.setattr("pramana.app.studio.recipe.release", stopping)
    visit.post("/publish/release", name="out")
    job = visit.studio.desk.journey.job
    assert job is not None
    job.join(30)
    assert stopped_at and job.released is None and not job.problem and not job.has_key
    assert sorted(path.name for path in visit.folder.iterdir()) == before
    assert "Nothing was left behind" in visit.get("/publish/release").text


def test_a_stop_that_comes_too_late_takes_the_bundle_away(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pramana.release

    def late(recipe: object, out: Path, **options: object) -> object:
        done = whole(recipe, out, **options)  # type: ignore[arg-type]
        visit.studio.desk.journey.job.stop()  # type: ignore[union-attr]
        return done

    monkeypatch.setattr("pramana.app.studio.recipe.release", late)
    visit.to_release()
    visit.post("/publish/release", name="out")
    job = visit.studio.desk.journey.job
    assert job is not None
    job.join(30)
    assert not (visit.folder / "out").exists() and job.released is None and not job.problem


def test_the_key_is_given_once(visit: Visit) -> None:
    visit.to_release()
    visit.release("out")
    assert not list(visit.folder.glob("*.key"))
    first = visit.post("/publish/report/key")
    assert len(first.text.strip()) == 64
    again = visit.post("/publish/report/key")
    assert again.url.path == "/publish/report" and "taken already" in again.text and first.text not in again.text


def test_an_existing_recipe_is_opened_with_its_files(visit: Visit) -> None:
    visit.to_release(job="k-anonymity")
    files = visit.studio.desk.journey.files()
    assert len(files) > 1
    for name, text in files.items():
        (visit.folder / name).write_text(text)
    visit.post("/publish/forget")
    assert visit.get("/publish/columns").url.path == "/publish/open"
    assert visit.post("/publish/open", kind="recipe", recipe="recipe.toml").url.path == "/publish/columns"
    assert visit.studio.desk.journey.files() == files
    visit.post("/publish/columns", unit="row")
    stated = visit.studio.desk.journey.document
    assert stated.section("unit") == {"row": True}
    assert visit.studio.desk.journey.files().keys() == files.keys(), "what was written by hand stays"
    assert visit.get("/publish/dial").status_code == 200
    visit.post("/publish/check", confirmed="yes", format="parquet")
    visit.release("from-recipe")
    assert verify(visit.folder / "from-recipe").valid


def test_a_recipe_by_hand_keeps_its_columns_when_a_role_moves(visit: Visit) -> None:
    (visit.folder / "mine.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "retention"\nepsilon = 3.3\n'
        '[attributes.sex]\nrole = "quasi-identifying"\ndomain = ["M", "F", "X"]\n'
        '[attributes.region]\nrole = "quasi-identifying"\ndomain = "from-data"\n'
        '[attributes.age]\nrole = "quasi-identifying"\nbins = [0, 40, 100]\n'
    )
    visit.post("/publish/open", kind="recipe", recipe="mine.toml")
    number = list(visit.studio.desk.journey.roles).index("region")
    answer = visit.post("/publish/columns", unit="row", **{f"role-{number}": "identifying"})
    assert answer.url.path == "/publish/job", answer.text
    document = visit.studio.desk.journey.document
    assert document.columns["sex"]["domain"] == ["M", "F", "X"] and document.columns["age"]["bins"] == [0, 40, 100]
    assert document.columns["region"] == {"role": "identifying"} and document.section("release")["epsilon"] == 3.3
    assert "person_id" not in document.columns or document.columns["person_id"]["role"] == "identifying"


def test_a_recipe_of_matrices_is_released_as_it_is(visit: Visit) -> None:
    (visit.folder / "matrix.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "matrix"\n'
        '[attributes.sex]\nrole = "quasi-identifying"\ndomain = ["F", "M"]\nmatrix = [[0.8, 0.2], [0.2, 0.8]]\n'
    )
    visit.post("/publish/open", kind="recipe", recipe="matrix.toml")
    assert visit.post("/publish/columns", unit="row").url.path == "/publish/job"
    assert "no single number" in visit.get("/publish/dial").text
    visit.post("/publish/check", confirmed="yes", format="csv")
    visit.release("out")
    assert verify(visit.folder / "out").valid


def test_a_database_is_opened_by_the_variable_that_names_it(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    import csv
    import sqlite3

    rows = list(csv.reader((visit.folder / "people.csv").read_text().splitlines()))
    place = visit.folder.parent / "people.db"
    with sqlite3.connect(place) as base:
        base.execute("create table people (person_id, sex, region, age, illness)")
        base.executemany("insert into people values (?, ?, ?, ?, ?)", rows[1:])
    base.close()
    monkeypatch.setenv("STUDIO_TEST_URL", f"sqlite:///{place}")
    assert "Not done." in visit.post("/publish/open", kind="database", variable="NOT_SET_ANYWHERE", table="x").text
    for variable in ("../x", "A B", "sqlite:///x"):
        assert "Not done." in visit.post("/publish/open", kind="database", variable=variable, table="people").text
    answer = visit.post("/publish/open", kind="database", variable="STUDIO_TEST_URL", table="people")
    assert answer.url.path == "/publish/columns", answer.text
    visit.post("/publish/columns", unit="row")
    assert visit.post("/publish/job", job="publish").url.path == "/publish/dial"
    recipe = visit.studio.desk.journey.document
    assert recipe.section("source") == {"url": "env:STUDIO_TEST_URL", "table": "people"}
    assert str(place) not in visit.get("/publish/dial").text
    visit.post("/publish/check", confirmed="yes", format="csv")
    visit.release("out")
    assert verify(visit.folder / "out").valid
