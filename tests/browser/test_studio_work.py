"""What the studio's pages do beyond forms: the dial, files that are dropped, bundles, ledgers, and leaving."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.browser.conftest import NewPage
from tests.browser.test_studio import enter, looked_at, press, release, running, to_release  # noqa: F401
from tests.studio.running import RunningStudio, people

from pramana.app.main import run
from pramana.app.studio.application import Studio
from pramana.app.studio.folders import AllowedFolder
from pramana.app.web.serving import Listener

pytestmark = pytest.mark.xdist_group("browser")
SESSIONS, CLICKS = 50, 3
LEVELS = (
    '[source]\npath = "people.csv"\n[release]\nmethod = "levels"\npeople = "town"\n'
    '[attributes.person_id]\nrole = "identifying"\n[attributes.region]\nrole = "insensitive"\n'
    '[attributes.illness]\nrole = "sensitive"\ndomain = ["none", "flu", "diabetes"]\n'
)
LONGEST = 100  # milliseconds from a movement of the dial to its picture


def reach(page: Any, **wanted: str) -> None:
    """Tab on until the focus is on what is wanted; everything must be reachable so."""
    for _ in range(120):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const e = document.activeElement; return [e.tagName, e.innerText.trim(), e.id, e.name,"
            " e.labels?.length ? e.labels[0].innerText.trim() : ''] }"
        )
        tag, text, id_, name, label = (str(part or "") for part in found)
        focused = {"text": text, "id": id_, "name": name, "tag": tag, "label": label}
        if all(focused[key] == value for key, value in wanted.items()):
            shown = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            assert shown != "none" or name == "confirmed", "what has the focus shows it"
            return
    raise AssertionError(f"{wanted} is not reached")


def choose(page: Any, option: str, **wanted: str) -> None:
    """An entry of a list, by the arrow keys."""
    reach(page, tag="SELECT", **wanted)
    page.keyboard.press("Home")
    for _ in range(40):
        if page.evaluate("document.activeElement.selectedOptions[0].text.trim()") == option:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{option} is not in the list")


def write_over(page: Any, text: str, **wanted: str) -> None:
    reach(page, **wanted)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def go(page: Any, text: str, **wanted: str) -> None:
    reach(page, text=text, **wanted)
    page.keyboard.press("Enter")


def test_bundles_are_checked_and_asked_with_the_keyboard_alone(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    columns = "".join(
        f'[attributes.{name}]\nrole = "quasi-identifying"\ndomain = {domain}\n'
        for name, domain in (("sex", '["F", "M"]'), ("region", '["north", "south", "east", "west"]'))
    )
    recipe = running.folder / "recipe.toml"
    recipe.write_text(f'[source]\npath = "people.csv"\n[unit]\nrow = true\n[release]\nk = 5\n{columns}')
    assert run(["release", str(recipe), "--out", str(running.folder / "given"), "--seed", "1"]) == 0
    page = enter(running, new_page())
    go(page, "Analyse", tag="A")
    page.get_by_role("heading", name="Open a bundle").wait_for()
    choose(page, "given", label="Bundle")
    go(page, "Open and check")
    page.get_by_text("The bundle is valid").wait_for()
    choose(page, "region", label="Rows")
    choose(page, "sex", label="By")
    go(page, "Estimate the table")
    page.locator("#answer").wait_for()
    assert page.locator("#answer tbody tr").count() == 8
    choose(page, "sex = F", label="The share of")
    choose(page, "region = north", label="Among")
    choose(page, "region = south", label="Against")
    go(page, "Compare")
    page.get_by_text("Difference, in points").wait_for()
    go(page, "Draw them")
    page.get_by_text("records are in synthetic.csv").wait_for()


def test_partners_are_served_with_the_keyboard_alone(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    (running.folder / "levels.toml").write_text(LEVELS)
    page = enter(running, new_page())
    go(page, "Ledger", tag="A")
    page.get_by_role("heading", name="Account of releases").wait_for()
    go(page, "Create it")
    page.get_by_label("A recipe with the method levels").wait_for()
    choose(page, "levels.toml", label="A recipe with the method levels")
    write_over(page, "town", label="Its name in the ledger")
    go(page, "Register")
    page.get_by_role("heading", name="town", exact=True).wait_for()
    write_over(page, "university", label="Recipient")
    write_over(page, "0.5", name="level")
    write_over(page, "for-university", label="Name of the new folder")
    go(page, "Issue")
    page.get_by_text("The version of university is in for-university").wait_for()
    go(page, "See what they would learn")
    page.locator("#coalition").wait_for()


def test_the_whole_journey_with_the_keyboard_alone(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    page = enter(running, new_page())
    keys = page.keyboard
    keys.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.goto(f"{running.base}/publish/open")
    reach(page, text="Open", tag="BUTTON")
    keys.press("Enter")
    page.get_by_role("heading", name="What are the columns?").wait_for()
    reach(page, text="These are right")
    keys.press("Enter")
    page.get_by_role("heading", name="What is the release for?").wait_for()
    reach(page, name="job")
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    reach(page, text="Write the recipe")
    keys.press("Enter")
    page.get_by_role("heading", name="How private, how accurate?").wait_for()
    reach(page, id="at")
    before = page.locator("#dial-value").text_content()
    keys.press("ArrowLeft")
    page.wait_for_selector("#figures[data-at]")
    assert page.locator("#dial-value").text_content() != before
    assert page.locator("#at").get_attribute("aria-valuetext").startswith("epsilon = ")
    reach(page, text="Take this")
    keys.press("Enter")
    page.get_by_role("heading", name="Before it leaves your hands").wait_for()
    reach(page, name="confirmed")
    keys.press("Space")
    reach(page, text="Go on to the release")
    keys.press("Enter")
    page.get_by_role("heading", name="Release", exact=True).wait_for()
    reach(page, id="name")
    keys.press("Control+A")
    keys.type("by-keyboard")
    keys.press("Enter")
    page.get_by_role("heading", name="Published", exact=True).wait_for(timeout=30000)
    assert (running.folder / "by-keyboard" / "certificate.json").exists()


# The time from the movement to the frame after the figures changed.
MOVED = """([slider, to]) => new Promise((done) => {
  const input = document.getElementById("at"), figures = document.getElementById("figures");
  const begun = performance.now();
  new MutationObserver((_, seen) => {
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
  }).observe(figures, { childList: true });
  input.value = to;
  input.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def test_the_dial_of_a_million_rows_moves_figures_within_a_tenth_of_a_second(
    tmp_path: Path, new_page: NewPage
) -> None:
    import pyarrow.parquet as pq
    from tests.studio.running import studio

    import pramana

    table = pramana.datasets.census(1_000_000, seed=1).to_arrow().select(["sex", "age", "education", "income"])
    pq.write_table(table, tmp_path / "million.parquet")
    attributes = "".join(
        f'[attributes.{name}]\nrole = "quasi-identifying"\ndomain = "from-data"\n'
        for name in ("sex", "age", "education")
    )
    (tmp_path / "recipe.toml").write_text(
        f'[source]\npath = "million.parquet"\n[release]\nmethod = "retention"\nk = 10\n{attributes}'
        '[attributes.income]\nrole = "sensitive"\nrandomise = true\ndomain = "from-data"\n'
    )
    with studio(tmp_path) as running:  # noqa: F811
        page = enter(running, new_page())
        page.goto(f"{running.base}/publish/open")
        press(page, "Open the recipe")
        page.get_by_role("heading", name="What are the columns?").wait_for(timeout=60000)
        page.goto(f"{running.base}/publish/dial")
        steps = int(page.locator("#at").get_attribute("max"))
        taken = [page.evaluate(MOVED, ["at", str(step)]) for step in range(1, steps)]
        assert "1,000,000 records" in page.content()
        usual = sorted(taken)[len(taken) // 2]
        print(f"dial: median {usual:.0f} ms, slowest {max(taken):.0f} ms of {len(taken)} movements")  # noqa: T201
        assert usual < LONGEST, taken


def test_two_settings_are_pinned_side_by_side(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    page = enter(running, new_page())
    page.goto(f"{running.base}/publish/open")
    press(page, "Open")
    press(page, "These are right")
    press(page, "Write the recipe")
    press(page, "Pin it to compare")
    page.locator(".pin").wait_for()
    page.locator("#at").press("ArrowLeft")
    page.wait_for_selector("#figures[data-at]")
    press(page, "Pin it to compare")
    page.locator(".pin").nth(1).wait_for()
    promises = page.locator(".pin .figures div:first-child dd").all_text_contents()
    assert len(set(promises)) == 2
    looked_at(page, "4-dial-pinned")


def late_script(page: Any) -> list[Any]:
    """The page's script stays on its way until it is let through: a slow machine, at will."""
    held: list[Any] = []
    page.route("**/studio*.js*", lambda route: held.append(route))
    return held


def arrive(page: Any, held: list[Any]) -> None:
    while not held:
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()


def test_a_dial_that_is_moved_before_the_script_is_there_moves_its_figures(
    running: RunningStudio,  # noqa: F811
    new_page: NewPage,
) -> None:
    page = enter(running, new_page())
    page.goto(f"{running.base}/publish/open")
    press(page, "Open")
    press(page, "These are right")
    press(page, "Write the recipe")
    page.get_by_role("heading", name="How private, how accurate?").wait_for()
    before = page.locator("#figures").text_content()
    held = late_script(page)
    page.reload(wait_until="commit")
    page.locator("#at").press("ArrowLeft")
    assert page.locator("#figures[data-at]").count() == 0
    arrive(page, held)
    page.wait_for_selector("#figures[data-at]")
    page.wait_for_function("was => document.getElementById('figures').textContent !== was", arg=before)


def test_a_file_that_is_chosen_before_the_script_is_there_is_sent(
    running: RunningStudio,  # noqa: F811
    new_page: NewPage,
    tmp_path: Path,
) -> None:
    mine = people(tmp_path / "mine.csv", 500, seed=9)
    page = enter(running, new_page())
    held = late_script(page)
    page.goto(f"{running.base}/publish/open", wait_until="commit")
    page.locator("#upload").set_input_files(mine)
    arrive(page, held)
    page.get_by_role("heading", name="What are the columns?").wait_for()


def test_a_file_is_uploaded_and_published(running: RunningStudio, new_page: NewPage, tmp_path: Path) -> None:  # noqa: F811
    mine = people(tmp_path / "mine.csv", 500, seed=9)
    page = enter(running, new_page())
    page.goto(f"{running.base}/publish/open")
    page.locator("#upload").set_input_files(mine)
    page.get_by_role("heading", name="What are the columns?").wait_for()
    assert "500 rows" in page.content()
    page.goto(f"{running.base}/publish/open")
    page.locator("#upload").set_input_files(files=[{"name": "x.exe", "mimeType": "x/y", "buffer": b"MZ"}])
    page.wait_for_function("document.getElementById('upload-status').textContent.includes('must end in')")


def test_a_bundle_is_checked_and_asked_by_clicking(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    page = enter(running, new_page(accept_downloads=True))
    to_release(page)
    release(page, "out")
    page.get_by_role("link", name="Analyse").click()
    page.get_by_role("heading", name="Open a bundle").wait_for()
    looked_at(page, "8-bundles")
    page.get_by_label("Bundle", exact=True).select_option("out")
    press(page, "Open and check")
    page.get_by_text("The bundle is valid").wait_for()
    page.get_by_label("Rows", exact=True).select_option(label="region")
    page.get_by_label("By", exact=True).select_option(label="sex")
    press(page, "Estimate the table")
    page.locator("#answer").wait_for()
    assert page.locator("#answer tbody tr").count() == 8
    looked_at(page, "9-table")
    page.get_by_text("Only some records").click()
    page.get_by_role("group", name="sex").get_by_label("F").check()
    page.get_by_label("By", exact=True).select_option(label="nothing else")
    press(page, "Estimate the table")
    page.locator("#answer tbody tr").nth(4).wait_for(state="detached")
    assert page.locator("#answer tbody tr").count() == 4
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download as CSV").click()
    lines = Path(kept.value.path()).read_text().splitlines()
    assert lines[0] == "region,estimate,low,high" and len(lines) == 5
    page.get_by_label("The share of").select_option(label="sex = F")
    page.get_by_label("Among").select_option(label="region = north")
    page.get_by_label("Against").select_option(label="region = south")
    press(page, "Compare")
    page.get_by_text("Difference, in points").wait_for()
    press(page, "Draw them")
    page.get_by_text("records are in synthetic.csv").wait_for()
    assert (running.folder / "synthetic.csv").exists()
    looked_at(page, "9-study")


def test_a_ledger_is_kept_and_versions_are_issued(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    (running.folder / "levels.toml").write_text(LEVELS)
    page = enter(running, new_page())
    page.get_by_role("link", name="Ledger").click()
    page.get_by_role("heading", name="Account of releases").wait_for()
    looked_at(page, "10-no-ledger")
    press(page, "Create it")
    page.get_by_label("A recipe with the method levels").select_option("levels.toml")
    page.get_by_label("Its name in the ledger").fill("town")
    press(page, "Register")
    page.get_by_role("heading", name="town", exact=True).wait_for()
    for who, level in (("university", "0.5"), ("newspaper", "0.2")):
        page.get_by_label("Recipient", exact=True).fill(who)
        page.get_by_label("Level, from 0").fill(level)
        page.get_by_label("Name of the new folder").fill(f"for-{who}")
        press(page, "Issue")
        page.get_by_text(f"The version of {who} is in for-{who}").wait_for()
    page.get_by_label("Recipient (empty").fill("newspaper")
    page.get_by_label("Highest level").fill("0.25")
    press(page, "Allow")
    press(page, "See what they would learn")
    page.get_by_text("Collusion is useless").wait_for()
    assert page.locator("#coalition svg.plot").count() == 1
    looked_at(page, "11-ledger")
    page.get_by_label("Recipient", exact=True).fill("newspaper")
    page.get_by_label("Level, from 0").fill("0.9")
    page.get_by_label("Name of the new folder").fill("too-much")
    press(page, "Issue")
    page.get_by_role("alert").wait_for()
    assert not (running.folder / "too-much").exists()


def test_fifty_sessions_of_clicks_leave_no_traceback(running: RunningStudio, new_page: NewPage) -> None:  # noqa: F811
    people(running.folder / "people.csv", 60)
    page = enter(running, new_page(accept_downloads=True))
    pressed = 0
    for seed in range(SESSIONS):
        draw = random.Random(seed)
        page.goto(f"{running.base}/{draw.choice(['', 'publish/open', 'study', 'ledger'])}")
        for _ in range(CLICKS):
            things = page.query_selector_all("main a, nav a, main button, summary")
            draw.shuffle(things)
            next(thing for thing in things if thing.is_visible()).click(timeout=20000)
            page.wait_for_load_state()
            assert "Something went wrong" not in page.content()
            pressed += 1
    assert pressed > SESSIONS * CLICKS * 0.8
    assert running.process.poll() is None


@pytest.fixture
def short_lived(tmp_path: Path) -> Iterator[tuple[Studio, str]]:
    """A studio in this process that waits half a second for a browser to come back."""
    people(tmp_path / "people.csv", 100)
    listener = Listener.open()
    studio = Studio(AllowedFolder.of(tmp_path), listener.hosts, closed_after=0.5)
    server = uvicorn.Server(
        uvicorn.Config(studio.application(), log_level="critical", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]})
    thread.start()
    yield studio, f"{listener.base}/?token={studio.visitor.new_token()}"
    server.should_exit = True
    thread.join(20)
    listener.socket.close()


def test_private_files_go_when_the_browser_is_closed(short_lived: tuple[Studio, str], browser: Any) -> None:
    studio, url = short_lived
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    page.goto(f"{url.partition('/?')[0]}/publish/open")
    press(page, "Open")
    page.get_by_role("heading", name="What are the columns?").wait_for()
    time.sleep(1.5)
    assert studio.desk.journey.inspection is not None, "an open page keeps its table"
    context.close()
    end = time.monotonic() + 20
    while studio.desk.journey.inspection is not None and time.monotonic() < end:
        time.sleep(0.1)
    assert studio.desk.journey.inspection is None
    assert list(studio.private.path.iterdir()) == []


def test_who_goes_back_after_an_upload_is_not_sent_on_again(
    running: RunningStudio,  # noqa: F811
    new_page: NewPage,
    tmp_path: Path,
) -> None:
    """A browser may restore what was chosen."""
    mine = people(tmp_path / "mine.csv", 500, seed=9)
    page = enter(running, new_page())
    page.goto(f"{running.base}/publish/open")
    page.locator("#upload").set_input_files(mine)
    page.get_by_role("heading", name="What are the columns?").wait_for()
    page.go_back()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    assert page.url.endswith("/publish/open"), page.url
    assert page.locator("#upload").evaluate("chooser => chooser.files.length") == 0
