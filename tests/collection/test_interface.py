"""The interface between devices and store, tried through and through; and what answers carry."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import needs
from tests.collection.running import SURVEY, Running, collecting, record

from pramana.app.collector.application import openapi_of
from pramana.app.collector.survey import DEMONSTRATION, Survey

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "collector.openapi.json"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("interface")
    (folder / "survey.toml").write_text(SURVEY)
    with collecting(folder, "survey.toml", "--out", "bundle") as one:
        yield one


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.base) as one:
        yield one


def test_the_stored_description_is_that_of_the_demonstration() -> None:
    stored = openapi_of(Survey.read(DEMONSTRATION))
    assert json.loads(REFERENCE.read_text()) == stored, "python -m tests.reference writes it again"


def test_schemathesis_finds_no_fault(running: Running) -> None:
    program = Path(sys.executable).with_name("schemathesis")
    needs.package("schemathesis")
    options = ["--max-examples", "25", "--seed", "1", "--phases", "coverage,fuzzing", "--generation-deterministic"]
    done = subprocess.run(
        [str(program), "run", f"{running.base}/openapi.json", *options, "--suppress-health-check", "all"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]),
    st.text(max_size=40),
    st.binary(max_size=99),
)
@settings(max_examples=60)
def test_no_request_makes_it_stumble(client: httpx.Client, method: str, path: str, body: bytes) -> None:
    for base in ("/", "/organiser/", "/static/", "/records?"):
        try:
            url = httpx.URL(base + path.lstrip("/"))
        except httpx.InvalidURL:
            continue
        answer = client.request(method, url, content=body)
        assert answer.status_code < 500
        assert "content-security-policy" in answer.headers and "set-cookie" not in answer.headers
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", ["/", "/source", "/survey.json", "/openapi.json", "/organiser", "/nothing"])
def test_no_answer_sets_a_cookie_or_may_be_kept(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert "set-cookie" not in answer.headers and answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "date" not in answer.headers and "server" not in answer.headers


def test_the_page_is_the_same_for_everyone(client: httpx.Client) -> None:
    pages = {client.get("/", headers={"accept-language": tag}).content for tag in ("de", "en", "fr")}
    assert len(pages) == 1


def test_what_was_sent_twice_or_from_elsewhere_is_refused(client: httpx.Client) -> None:
    body = record()
    assert client.post("/records", json=body).status_code == 201
    assert client.post("/records", json=body).status_code == 409
    assert client.post("/records", json={**body, "answers": {"smokes": "no", "age": None}}).status_code == 409
    other = client.post("/records", json=record(), headers={"origin": "https://evil.example"})
    assert other.status_code == 403
    assert client.post("/records", json=record(), headers={"host": "evil.example"}).status_code == 421
    assert client.post("/records", content=json.dumps(record())).status_code == 415
    assert client.post("/records", content=b"x" * 70_000).status_code == 413
    assert client.get("/records").status_code == 405


def test_the_organisers_page_needs_its_session(running: Running, client: httpx.Client) -> None:
    assert client.get("/organiser").status_code == 403
    assert client.get("/organiser?token=guess").status_code == 403
    form = {"token": "0" * 64}
    assert client.post("/organiser/close", data=form, headers={"origin": running.base}).status_code == 403
    with httpx.Client(base_url=running.base) as organiser:
        entered = organiser.get(running.organiser)
        assert entered.status_code == 303 and entered.headers["location"] == "/organiser"
        cookie = entered.headers["set-cookie"].lower()
        assert "samesite=strict" in cookie and "httponly" in cookie and "path=/organiser" in cookie
        assert "Habits" in organiser.get("/organiser").text
        assert organiser.post("/organiser/close", data=form, headers={"origin": running.base}).status_code == 403
    assert httpx.get(running.organiser).status_code == 403, "the link opened once"


def test_one_answer_for_an_invitation(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY + "[survey]\ninvitations = 3\n")
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running, httpx.Client() as client:
        links = (tmp_path / "bundle.collection" / "invitations.txt").read_text().split()
        assert len(links) == 3 and all(link.startswith(f"{running.survey}#") for link in links)
        token = links[0].partition("#")[2]

        def send(**changes: Any) -> httpx.Response:
            return client.post(f"{running.base}/records", json={**record(), **changes})

        first = record()
        assert send(**first, invitation=token).status_code == 201
        assert send(**first, invitation=token).status_code == 409, "the same again, after a lost acknowledgement"
        assert send(invitation=token).status_code == 403
        assert send(invitation=secrets.token_hex(16)).status_code == 403
        assert send().status_code == 400 and send(invitation=5).status_code == 400
        schema = client.get(f"{running.base}/openapi.json").json()
        body = schema["paths"]["/records"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert "invitation" in body["required"]


def test_planted_texts_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    planted = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\\\"'&"
    recipe = f'''
[release]
epsilon = 4
[attributes."{planted.replace(chr(92) + chr(34), "")}"]
role = "quasi-identifying"
domain = ["{planted}", "b"]
[survey]
title = "{planted}"
introduction = "{planted}"
'''
    (tmp_path / "survey.toml").write_text(recipe)
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running, httpx.Client() as client:
        name = planted.replace('\\"', "")
        sent = {"id": secrets.token_hex(16), "answers": {name: planted.replace('\\"', '"')}}
        assert client.post(f"{running.base}/records", json=sent).status_code == 201
        client.follow_redirects = True
        for page in (
            client.get(running.organiser),
            client.get(running.survey),
            client.get(f"{running.base}/source"),
        ):
            assert page.status_code == 200
            assert "<script>alert" not in page.text and "<img src=x" not in page.text
