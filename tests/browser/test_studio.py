"""The journeys of the studio in a real browser, each from an empty start."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import WIDTHS, NewPage, axe_problems
from tests.docs.pictures import WIDEST, check_picture
from tests.studio.running import RunningStudio, people, studio

from pramana.app.main import run

pytestmark = pytest.mark.xdist_group("browser")
# What reaches beyond the window, for the message.
WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 99)).slice(0, 3)"""
PICTURES = os.environ.get("PRAMANA_PICTURES")  # a folder for screenshots; without, none are kept
SHOWN = {
    "2-columns": "studio-columns",
    "4-dial": "studio-dial",
    "7-report": "studio-report",
}  # on pages of the guide


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningStudio]:
    folder = tmp_path / "data"
    folder.mkdir()
    shown = request.node.name.endswith(
        "[desktop]"
    )  # its pictures are on pages: of a table that is worth something
    people(folder / "people.csv", records=20_000 if shown else 1500)
    with studio(folder) as started:
        yield started


def enter(running: RunningStudio, page: Any) -> Any:
    page.goto(running.url)
    assert page.url == f"{running.base}/", "the token is gone from the address"
    return page


def looked_at(page: Any, name: str) -> None:
    """Nothing overflows, axe-core finds nothing, and a picture is kept where one is asked for."""
    page.wait_for_load_state("load")  # styles included
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, page.evaluate(WIDE))
    assert axe_problems(page) == [], name
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        width = page.viewport_size["width"]
        page.screenshot(path=f"{PICTURES}/studio-{name}-{width}.png", full_page=True)
    if name in SHOWN and page.viewport_size["width"] == WIDTHS["desktop"]:
        page.set_viewport_size({"width": WIDEST, "height": 900})
        check_picture(page, SHOWN[name], 900)
        page.set_viewport_size({"width": WIDTHS["desktop"], "height": 900})


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def to_release(page: Any, look: Any = lambda *_: None) -> None:
    """From the start to the page of the release, as someone does who has read nothing."""
    page.get_by_role("link", name="Publish a table").click()
    page.get_by_role("heading", name="Open a table").wait_for()
    look(page, "1-open")
    press(page, "Open")
    page.get_by_role("heading", name="What are the columns?").wait_for()
    look(page, "2-columns")
    press(page, "These are right")
    page.get_by_role("heading", name="What is the release for?").wait_for()
    look(page, "3-job")
    press(page, "Write the recipe")
    page.get_by_role("heading", name="How private, how accurate?").wait_for()
    look(page, "4-dial")
    press(page, "Take this")
    page.get_by_role("heading", name="Before it leaves your hands").wait_for()
    look(page, "5-check")
    page.get_by_label("I have looked at all of this").check()
    press(page, "Go on to the release")
    page.get_by_role("heading", name="Release", exact=True).wait_for()
    look(page, "6-release")


def release(page: Any, name: str) -> None:
    page.get_by_label("Name of the new folder").fill(name)
    press(page, "Release")
    page.get_by_role("heading", name="Published", exact=True).wait_for(timeout=30000)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_a_table_is_published_and_the_command_line_makes_the_same_bytes(
    running: RunningStudio, new_page: NewPage, tmp_path: Path, width: int
) -> None:
    scheme = "dark" if width == WIDTHS["tablet"] else "light"
    page = enter(running, new_page(width, accept_downloads=True, color_scheme=scheme))
    looked_at(page, "0-home")
    to_release(page, looked_at)
    release(page, "out")
    looked_at(page, "7-report")
    with page.expect_download() as kept:
        press(page, "Take the key, once")
    key = tmp_path / "out.key"
    kept.value.save_as(key)
    key.chmod(0o600)
    with page.expect_download() as kept:
        page.locator(".recipe .downloads a").click()
    recipe = running.folder / "recipe.toml"
    if kept.value.suggested_filename.endswith(".zip"):
        import zipfile

        kept.value.save_as(tmp_path / "recipe.zip")
        zipfile.ZipFile(tmp_path / "recipe.zip").extractall(running.folder)
    else:
        kept.value.save_as(recipe)
    page.reload()
    assert "The key was taken" in page.content()
    assert run(["release", str(recipe), "--out", str(tmp_path / "again"), "--key", str(key)]) == 0
    assert digests(tmp_path / "again") == digests(running.folder / "out")
    assert run(["verify", str(running.folder / "out")]) == 0
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    report = opened.value
    report.wait_for_load_state()
    assert report.get_by_role("heading", name="What is promised").is_visible()
    assert report.evaluate("getComputedStyle(document.querySelector('.promises')).borderLeftWidth") == "4px"
    with page.expect_download() as kept:
        page.get_by_role("link", name=re.compile("as a zip file")).click()
    assert kept.value.suggested_filename == "out.zip"


def test_every_other_page_is_sound_on_a_phone(running: RunningStudio, new_page: NewPage) -> None:
    page = enter(running, new_page(WIDTHS["phone"], color_scheme="dark"))
    page.goto(f"{running.base}/publish/open")
    press(page, "Open")
    page.get_by_role("link", name="Build a hierarchy of age").click()
    page.get_by_role("heading", name="A hierarchy for").wait_for()
    looked_at(page, "2-hierarchy")
    press(page, "Build and look")
    page.get_by_role("heading", name="How it looks").wait_for()
    looked_at(page, "2-hierarchy-preview")
    press(page, "Use this hierarchy")
    press(page, "These are right")
    page.get_by_label("The rule says k-anonymous").check()
    press(page, "Write the recipe")
    page.get_by_role("heading", name="What happens to the columns").wait_for()
    looked_at(page, "4-dial-levels")
    press(page, "Take this")
    press(page, "Go on to the release")
    page.get_by_role("alert").wait_for()  # without the mark it does not go on
    looked_at(page, "5-check-refused")
    page.get_by_label("I have looked at all of this").check()
    press(page, "Go on to the release")
    release(page, "out")
    page.goto(f"{running.base}/publish/release/status")
    page.goto(f"{running.base}/study")
    press(page, "Open and check")
    press(page, "Estimate the table")
    page.locator("#answer").wait_for()
    looked_at(page, "9-cells")
    page.goto(f"{running.base}/ledger")
    press(page, "Create it")
    page.get_by_role("heading", name="Totals in").wait_for()
    looked_at(page, "10-empty-ledger")
    assert page.goto(f"{running.base}/nowhere").status == 404
    looked_at(page, "fault")
    other = new_page(WIDTHS["phone"])
    assert other.goto(running.url).status == 403, "the link opened once"
    looked_at(other, "no-entry")
