"""Surveys unlike the demonstration: by invitation, with one coin for the record, long lists, and hostile texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import NewPage, axe_problems
from tests.collection.running import SURVEY, collecting

pytestmark = pytest.mark.xdist_group("browser")


def send(page: Any) -> None:
    page.get_by_role("button", name="See what would be sent").click()
    page.get_by_role("button", name="Send").click()


def test_an_invitation_is_good_for_one_answer(new_page: NewPage, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY + "[survey]\ninvitations = 2\n")
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running:
        link = (tmp_path / "bundle.collection" / "invitations.txt").read_text().split()[0]
        page = new_page(360)
        page.goto(running.survey)
        page.get_by_role("heading", name="An invitation is needed").wait_for()
        assert axe_problems(page) == []
        requests: list[Any] = []
        page = new_page(360)
        page.on("request", lambda request: requests.append(request))
        page.goto(link)
        send(page)
        page.wait_for_selector("#thanks:not([hidden])")
        token = link.partition("#")[2]
        assert [request.method for request in requests if token in request.url] == [], "no address holds it"
        assert [token in (request.post_data or "") for request in requests].count(True) == 1
        again = new_page(360)
        again.goto(link)
        send(again)
        again.get_by_role("heading", name="Not sent").wait_for()
        assert "was used already" in again.locator("#status").inner_text()


RECORD = """\
[release]
epsilon = 3
coin = "record"
[attributes.town]
role = "quasi-identifying"
domain = [{towns}]
[attributes."10"]
role = "quasi-identifying"
domain = ["a", "b"]
"""


def test_one_coin_for_the_record_and_a_list_to_choose_from(new_page: NewPage, tmp_path: Path) -> None:
    towns = [f"Town {i}" for i in range(20)]
    (tmp_path / "survey.toml").write_text(RECORD.format(towns=", ".join(f'"{t}"' for t in towns)))
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running:
        page = new_page()
        page.goto(running.survey)
        seen = set()
        for town in (3, 7, 3, 7):
            page.get_by_label("town").select_option(label=f"Town {town}")
            page.get_by_label("b", exact=True).check()
            assert axe_problems(page) == []
            page.get_by_role("button", name="See what would be sent").click()
            message = json.loads(page.locator("#exact").text_content())
            assert set(message["answers"]) == {"town", "10"}
            cells = [row.locator("td").nth(0).text_content() for row in page.locator("#sent-rows tr").all()]
            assert sorted(cells) == sorted([f"Town {town}", "b"])
            seen.add((town, json.dumps(message["answers"])))
            page.get_by_role("button", name="Change my answers").click()
        assert len(seen) == 2, "the same answers send the same"
        send(page)
        page.wait_for_selector("#thanks:not([hidden])")


def test_texts_of_a_recipe_are_shown_and_not_obeyed(new_page: NewPage, tmp_path: Path) -> None:
    planted = "</script><img src=x onerror=document.title='taken'><style>*{{}}</style>&amp;"
    content = (
        SURVEY.replace('"yes"', f'"{planted}"') + f'[survey]\ntitle = "{planted}"\nintroduction = "{planted}"\n'
    )
    content += f'[survey.questions.smokes]\ntext = "{planted}"\nhelp = "{planted}"\n'
    (tmp_path / "survey.toml").write_text(content)
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running:
        page = new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(running.survey)
        page.get_by_label(planted, exact=True).check()
        send(page)
        page.wait_for_selector("#thanks:not([hidden])")
        assert page.locator("#title").text_content() == planted
        page.goto(running.organiser)
        assert page.locator("h1").text_content() == planted
        assert page.locator("img").count() == 0 and not any(url.endswith("/x") for url in requests)
