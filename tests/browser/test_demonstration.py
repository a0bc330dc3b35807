"""Two thousand people who do not exist answer the demonstration through the page's own module.

The organiser's table holds the truth inside its intervals, and the closed survey is a bundle like any other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.browser.conftest import NewPage, axe_problems
from tests.collection.people import simulated_answers
from tests.collection.running import collecting

from pramana import crosstab, verify
from pramana.app.collector.survey import DEMONSTRATION, Survey
from pramana.app.main import run

pytestmark = pytest.mark.xdist_group("browser")
PEOPLE = 2000
COLUMNS = ("ill_at_work", "reason", "age")

BY_THE_BROWSER = 120  # send from the browser itself, which opens six connections; the others from many at once

# Each person's coins are thrown by the module that the page runs; words are fixed, so that the verdict is, too.
RANDOMISE = """async ([module, truth, secret]) => {
  const { randomiserOf, freshIdentifier } = await import(module);
  const survey = await (await fetch("/survey.json")).json();
  const key = await crypto.subtle.importKey("raw", new Uint8Array(secret), "AES-CTR", false, ["encrypt"]);
  const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 64 };
  const coins = await crypto.subtle.encrypt(counter, key, new Uint8Array(64 * truth.length));
  const words = new BigUint64Array(coins);
  let next = 0;
  const person = randomiserOf(survey.law, survey.columns, () => words[next++]);
  const codes = (one) => survey.columns.map((name, i) =>
    one[name] === null ? survey.labels[i].length : survey.labels[i].indexOf(one[name]));
  return truth.map((one) => {
    const sent = person.randomise(codes(one));
    const answers = Object.fromEntries(survey.columns.map((name, i) => [name, survey.labels[i][sent[i]] ?? null]));
    return JSON.stringify({ id: freshIdentifier(), answers });
  });
}"""
SEND = """(bodies) => Promise.all(bodies.map(async (body) => {
  const headers = { "content-type": "application/json" };
  return (await fetch("/records", { method: "POST", body, headers })).status;
}))"""


def send(base: str, bodies: list[str]) -> list[int]:
    with httpx.Client(base_url=base, limits=httpx.Limits(max_connections=64)) as client:

        def one(body: str) -> int:
            return client.post("/records", content=body, headers={"content-type": "application/json"}).status_code

        with ThreadPoolExecutor(64) as pool:
            return list(pool.map(one, bodies))


def shown_table(page: Any, question: str) -> dict[str, tuple[float, float, float]]:
    """What the organiser's page says: answer -> estimate, from, to."""
    section = page.locator(f"h3:has-text('{question}') + div table tbody tr")
    rows = [[cell.strip() for cell in row.locator("td").all_text_contents()] for row in section.all()]
    return {row[0]: tuple(float(cell.replace(",", "")) for cell in row[2:]) for row in rows}  # type: ignore[misc]


def test_the_organisers_table_holds_the_truth(new_page: NewPage, tmp_path: Path, capfd: Any) -> None:
    truth = simulated_answers(PEOPLE, seed=3)
    survey = Survey.read(DEMONSTRATION)
    with collecting(tmp_path, "--demo") as running:
        page = new_page()
        content = page.goto(running.survey).body()
        (module,) = re.findall(r'src="([^"]+randomise\.js)"', page.content())
        bodies = page.evaluate(RANDOMISE, [module, truth, list(range(32))])
        statuses = page.evaluate(SEND, bodies[:BY_THE_BROWSER])
        statuses += send(running.base, bodies[BY_THE_BROWSER:])
        assert Counter(statuses) == {201: PEOPLE}
        organiser = new_page()
        organiser.goto(running.organiser)
        assert organiser.url == f"{running.base}/organiser", "the token is gone from the address"
        assert organiser.locator("#records").text_content().startswith("2,000")
        assert axe_problems(organiser) == []
        for question in survey.questions:
            counts = Counter(one[question.column] for one in truth)
            shown = shown_table(organiser, question.text["en"].partition("?")[0])
            for label, true in counts.items():
                estimate, low, high = shown[survey.words_of(question.column, label, "en")]
                assert low <= true <= high, (question.column, label, true, low, estimate, high)
        other = new_page()
        other.goto(running.organiser)
        assert "This page is for the organiser" in other.content(), "the link opened once"
        organiser.get_by_role("button", name="Close and publish").click()
        organiser.get_by_role("heading", name="Closed").wait_for()
        assert page.goto(running.survey).status == 410
    out = tmp_path / "collected"
    checked = verify(out)
    assert checked.valid, checked.checks
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["records"] == PEOPLE and certificate["key"] is None
    assert certificate["source"]["format"] == "devices"
    assert certificate["source"]["page"] == hashlib.sha256(content).hexdigest(), "the page that was answered"
    for column in COLUMNS:
        counts = Counter(one[column] for one in truth)
        for cell in crosstab(out, [column]).cells():
            assert cell["low"] <= counts[cell[column]] <= cell["high"]
    assert run(["verify", str(out), "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert {"page", "key"} <= {check["name"] for check in told["checks"] if not check["derived"]}


def test_results_are_kept_current_while_answers_come_in(new_page: NewPage, tmp_path: Path) -> None:
    with collecting(tmp_path, "--demo") as running:
        organiser = new_page(360, color_scheme="dark")
        organiser.goto(running.organiser)
        assert "Nobody has answered yet" in organiser.content()
        assert axe_problems(organiser) == []
        page = new_page()
        page.goto(running.survey)
        page.get_by_role("button", name="See what would be sent").click()
        page.get_by_role("button", name="Send").click()
        page.wait_for_selector("#thanks:not([hidden])")
        organiser.wait_for_selector("#results[data-records='1']", timeout=15000)
        assert organiser.evaluate("document.documentElement.scrollWidth <= innerWidth")
