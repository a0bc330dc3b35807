"""Anything can be sent to any address, and nothing breaks: no fault, no traceback, and our policy always."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.routing import Route
from tests.studio.conftest import BASE, HOST, PageReader, Visit, browser_of, checked
from tests.studio.running import people

from pramana.app.studio.application import Studio
from pramana.app.studio.folders import AllowedFolder

SESSIONS = 50
CLICKS = 12
_texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["0", "1", "3", "-1", "999999", "1e9", "row", "person", "yes", "people.csv", "out", "0.5", "k"]
    ),
)
_names = st.sampled_from(
    [
        "kind",
        "file",
        "recipe",
        "variable",
        "table",
        "query",
        "encoding",
        "delimiter",
        "unit",
        "person",
        "household",
        "rows",
        "role-0",
        "role-1",
        "act",
        "level",
        "widths",
        "units",
        "sizes",
        "order",
        "levels",
        "tree",
        "job",
        "public",
        "present",
        "at",
        "confirmed",
        "format",
        "ledger",
        "people",
        "title",
        "recipient",
        "name",
        "even",
        "bundle",
        "row",
        "column",
        "shares",
        "only-0-0",
        "only-1-1",
        "first",
        "second",
        "share",
        "dataset",
        "member-0",
    ]
)


def routes(studio: Studio) -> list[tuple[str, str]]:
    """Every address with every way to ask for it, but the one that lasts as long as a page is open."""
    found = []
    for route in studio.application()._app.routes:  # type: ignore[attr-defined]
        assert isinstance(route, Route) and route.methods
        if route.path != "/alive":
            found += [(route.path, method) for method in sorted(route.methods)]
    return found


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder = tmp_path_factory.mktemp("fuzzed") / "data"
    folder.mkdir()
    people(folder / "people.csv", 60)
    studio = Studio(AllowedFolder.of(folder), frozenset({HOST}))
    with browser_of(studio) as client:
        client.get("/", params={"token": studio.visitor.new_token()})
        visit = Visit(client, studio, folder)
        visit.to_release()
        yield visit


def test_every_route_is_fuzzed(fuzzed: Visit) -> None:
    known = {path for path, _ in routes(fuzzed.studio)}
    assert {"/", "/publish/open", "/publish/dial/figures", "/study/table", "/ledger/issue"} <= known
    assert len(known) >= 30


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_anything_can_be_sent_to_any_address(fuzzed: Visit, data: st.DataObject) -> None:
    journey = fuzzed.studio.desk.journey
    if not journey.document.job:  # what came before has closed the table
        fuzzed.to_release()
    path, method = data.draw(st.sampled_from(routes(fuzzed.studio)))
    path = path.replace("{number:int}", str(data.draw(st.integers(0, 10**12)))).replace("{name}", "x")
    query = data.draw(st.dictionaries(st.sampled_from(["at", "token", "x"]), _texts, max_size=2))
    headers = {"origin": BASE, "x-form-token": fuzzed.studio.visitor.form_token("studio"), "x-file-name": "a.csv"}
    if data.draw(st.booleans()):
        fields = data.draw(st.dictionaries(_names, _texts, max_size=5))
        body = {"token": fuzzed.studio.visitor.form_token("studio"), **fields}
        answer = fuzzed.client.request(method, path, params=query, data=body, headers=headers)
    else:
        raw = data.draw(st.binary(max_size=200))
        answer = fuzzed.client.request(method, path, params=query, content=raw, headers=headers)
    checked(answer)
    assert [entry.name for entry in fuzzed.folder.parent.iterdir()] == ["data"], (
        "nothing appears beside the folder"
    )


def clicked(visit: Visit, draw: random.Random) -> int:
    """One session: links and forms of the page at hand, pressed as they come; returns how many were."""
    address = "/"
    for number in range(CLICKS):
        answer = visit.get(address)
        if "text/html" not in answer.headers["content-type"]:
            address = "/"
            continue
        page = PageReader(answer.text)
        forms = [form for form in page.forms if not form.action.endswith("/forget") or draw.random() < 0.1]
        if forms and draw.random() < 0.65:
            form = draw.choice(forms)
            stated = {"token": visit.studio.visitor.form_token("studio")}
            answer = checked(
                visit.client.post(form.action, data=form.filled(draw, **stated), headers={"origin": BASE})
            )
            address = answer.url.path
        elif page.links:
            address = draw.choice([link for link in page.links if link != "/alive"])
        else:
            return number
        job = visit.studio.desk.journey.job
        if job is not None:
            job.join(20)
    return CLICKS


def test_fifty_sessions_of_clicks_at_random(tmp_path: Path) -> None:
    people(tmp_path / "people.csv", 80)
    studio = Studio(AllowedFolder.of(tmp_path), frozenset({HOST}))
    with browser_of(studio) as client:
        client.get("/", params={"token": studio.visitor.new_token()})
        visit = Visit(client, studio, tmp_path)
        done = sum(clicked(visit, random.Random(seed)) for seed in range(SESSIONS))
    assert done > SESSIONS * CLICKS // 2
