"""The demonstration survey in a real browser: answered, watched, cut off, by keyboard, on a phone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.browser.conftest import WIDTHS, NewPage, axe_problems
from tests.collection.running import Running

pytestmark = pytest.mark.xdist_group("browser")
SENTENCE = "Whatever you see here, every other answer could have led to it."


def answer(page: Any, *labels: str) -> None:
    for label in labels:
        page.get_by_label(label, exact=True).check()


def see(page: Any) -> dict[str, Any]:
    """What the page says it would send."""
    page.get_by_role("button", name="See what would be sent").click()
    page.wait_for_selector("#review:not([hidden])")
    message: dict[str, Any] = json.loads(page.locator("#exact").text_content())
    return message


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_a_person_answers_and_nothing_but_what_was_shown_leaves(
    demo: Running, new_page: NewPage, width: int
) -> None:
    page = new_page(width)
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(demo.survey, wait_until="networkidle")  # the last of its files may be asked for after it is shown
    assert page.title() == "Work and health"
    loaded = len(requests)
    assert all(r.url.startswith(demo.survey) and r.method == "GET" for r in requests)
    answer(page, "Yes", "Loss of pay", "45 to under 60")
    shown = see(page)
    assert SENTENCE in page.locator("#review").inner_text()
    rows = page.locator("#sent-rows tr").all()
    assert [row.locator("td").nth(0).text_content() for row in rows] == ["Yes", "Loss of pay", "45 to under 60"]
    assert {row.locator("td").nth(1).text_content() for row in rows} <= {"left it", "changed it"}
    assert len(requests) == loaded, "until the moment of sending nothing leaves"
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector("#thanks:not([hidden])")
    (sent,) = requests[loaded:]
    assert (sent.method, sent.url) == ("POST", f"{demo.base}/records")
    assert json.loads(sent.post_data) == shown and set(shown) == {"id", "answers"}
    headers = {name.lower() for name in sent.all_headers()}
    assert not headers & {"cookie", "referer", "authorization"}
    assert page.context.cookies() == []
    assert page.evaluate("Object.keys(localStorage)") == ["pramana coins"]
    assert page.evaluate("sessionStorage.length") == 0


def test_no_answer_is_a_value_and_skipped_questions_are_sent_like_all(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    page.goto(demo.survey)
    assert page.get_by_text("What was the main reason?").is_hidden()
    answer(page, "Yes")
    assert page.get_by_text("What was the main reason?").is_visible()
    assert page.get_by_label("does not apply").count() == 0
    answer(page, "Pressure from above", "No")
    assert page.get_by_text("What was the main reason?").is_hidden()
    shown = see(page)
    assert set(shown["answers"]) == {"ill_at_work", "reason", "age"}, "every question is sent, shown or not"
    cells = [row.locator("td").nth(0).text_content() for row in page.locator("#sent-rows tr").all()]
    assert cells == ["No", "not asked", "I would rather not say"]


def test_the_same_answers_are_sent_alike_and_what_is_kept_does_not_tell_them(
    demo: Running, new_page: NewPage
) -> None:
    page = new_page()
    seen = []
    for _ in range(3):
        page.goto(demo.survey)
        answer(page, "No", "16 to under 30")
        seen.append(see(page))
        page.get_by_role("button", name="Change my answers").click()
        answer(page, "Yes", "60 or more")
        see(page)
    assert seen[0]["answers"] == seen[1]["answers"] == seen[2]["answers"]
    assert len({message["id"] for message in seen}) == 3
    kept = json.loads(page.evaluate("localStorage.getItem('pramana coins')"))
    assert [len(entry["sent"]) for entry in kept] == [3, 6, 5], "a draw for every answer that could be given"
    assert "Your device remembers" in page.locator("#remembered").text_content()
    page.get_by_role("button", name="Forget it on this device").click()
    assert page.evaluate("localStorage.length") == 0


def test_other_devices_draw_other_coins(demo: Running, new_page: NewPage) -> None:
    """With the demonstration's law six people send the same with a chance below 1 in 10,000."""
    sent = set()
    for _ in range(6):
        page = new_page()
        page.goto(demo.survey)
        answer(page, "Yes", "Loss of pay", "30 to under 45")
        sent.add(json.dumps(see(page)["answers"]))
    assert len(sent) > 1


def test_without_a_network_it_says_not_sent_and_the_same_is_sent_later(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    page.goto(demo.survey)
    page.context.set_offline(True)
    answer(page, "No")
    shown = see(page)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Not sent").wait_for()
    assert "Nothing was lost" in page.locator("#status").inner_text()
    page.context.set_offline(False)
    with page.expect_request("**/records") as sending:
        page.get_by_role("button", name="Try again").click()
    assert json.loads(sending.value.post_data) == shown
    page.wait_for_selector("#thanks:not([hidden])")


REFUSALS = {
    503: "could not store",
    410: "closed",
    403: "invitation is not valid",
    429: "in a minute",
    400: "did not accept",
}


@pytest.mark.parametrize(("status", "words"), REFUSALS.items())
def test_every_refusal_says_not_sent(demo: Running, new_page: NewPage, status: int, words: str) -> None:
    page = new_page()
    page.goto(demo.survey)
    page.route("**/records", lambda route: route.fulfill(status=status, json={}))
    see(page)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Not sent").wait_for()
    assert words in page.locator("#status").inner_text()


def test_a_lost_acknowledgement_ends_well(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    page.goto(demo.survey)
    see(page)
    lost: list[int] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch().status)
            route.abort()

    page.route("**/records", lose)
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("#thanks:not([hidden])")
    assert lost == [201]


def test_by_keyboard_alone(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    page.goto(demo.survey)
    page.wait_for_selector("#ask:not([hidden])")

    def tab_to(what: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("what => document.activeElement.matches(what)", what):
                return
        raise AssertionError(what)

    tab_to("a.skip")
    page.keyboard.press("Enter")
    tab_to("input[name=ill_at_work]")
    page.keyboard.press("Space")
    tab_to("input[name=reason]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    tab_to("input[name=age]")
    page.keyboard.press("ArrowDown")
    tab_to("button[type=submit]")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "This would be sent"
    answers = [row.locator("td").nth(0).text_content() for row in page.locator("#sent-rows tr").all()]
    assert answers[:2] == ["Yes", "Loss of pay"]
    tab_to("#send")
    page.keyboard.press("Enter")
    page.wait_for_selector("#thanks:not([hidden])")
    assert page.evaluate("document.activeElement.textContent") == "Thank you"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_axe_finds_nothing_and_nothing_overflows(
    demo: Running, new_page: NewPage, width: int, scheme: str
) -> None:
    page = new_page(width, color_scheme=scheme)

    def check() -> None:
        assert axe_problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto(demo.survey)
    answer(page, "Yes")
    check()
    see(page)
    page.locator("summary").first.click()
    check()
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector("#thanks:not([hidden])")
    check()
    page.goto(f"{demo.base}/source")
    check()
    page.goto(f"{demo.base}/organiser")
    check()


def test_languages_are_switched_without_a_request_and_coins_stay(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    page.goto(demo.survey)
    answer(page, "Yes", "Loss of pay")
    shown = see(page)
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    page.get_by_label("Language").select_option("de")
    assert page.locator("#review h2").text_content() == "Das würde gesendet"
    assert page.evaluate("document.documentElement.lang") == "de"
    assert json.loads(page.locator("#exact").text_content()) == shown
    assert requests == []
    german = new_page()
    german.add_init_script("Object.defineProperty(navigator, 'languages', {get: () => ['de-AT', 'en']})")
    german.goto(demo.survey)
    assert german.locator("#title").text_content() == "Arbeit und Gesundheit"


def test_the_digest_that_is_shown_is_that_of_the_page(demo: Running, new_page: NewPage) -> None:
    import hashlib

    page = new_page()
    content = page.goto(demo.survey).body()
    page.goto(f"{demo.base}/source")
    digest = page.locator("#digest").text_content()
    assert digest == hashlib.sha256(content).hexdigest()
    named = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))" integrity="sha256-([^"]+)"', content.decode())
    assert len(named) == 5


def test_a_changed_file_is_not_run(demo: Running, new_page: NewPage) -> None:
    page = new_page()
    changed = {"content-type": "text/javascript"}
    page.route("**/randomise.js", lambda route: route.fulfill(body="export {}", headers=changed))
    page.goto(demo.survey)
    page.wait_for_timeout(300)
    assert page.locator("#ask").is_hidden()
