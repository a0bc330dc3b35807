"""A studio in this process, spoken to as a browser would; a reader of its pages that presses what they show."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.studio.running import people

from pramana.app.studio.application import Studio
from pramana.app.studio.folders import AllowedFolder
from pramana.app.web.guard import POLICY

with warnings.catch_warnings():  # it would rather have another client package
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

HOST = "127.0.0.1:8123"
BASE = f"http://{HOST}"


@dataclass
class PageForm:
    """A form as a page shows it: where it goes, and what its fields may be."""

    action: str
    method: str
    fields: dict[str, list[str]] = field(default_factory=dict)  # name -> what may be chosen; the default first
    free: set[str] = field(default_factory=set)  # fields that take any text

    def filled(self, draw: random.Random | None = None, **stated: str) -> dict[str, str]:
        values = {}
        for name, choices in self.fields.items():
            chosen = choices[0] if draw is None else draw.choice(choices)
            if draw is not None and name in self.free and draw.random() < 0.3:
                chosen = draw.choice(["", "0", "-1", "x" * 300, "../../etc/passwd", "<b>", "0.5", "new-name"])
            values[name] = chosen
        return {**values, **stated}


class PageReader(HTMLParser):
    """Links and forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._select: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        if tag == "a" and a.get("href", "").startswith("/"):
            self.links.append(a["href"])
        elif tag == "form":
            self._form = PageForm(a["action"], a.get("method", "get"))
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag == "select":
            self._select = a["name"]
            self._form.fields[a["name"]] = []
        elif tag == "option" and self._select is not None:
            values = self._form.fields[self._select]
            values.insert(0 if "selected" in a else len(values), a.get("value", ""))
        elif tag in ("input", "textarea", "button") and a.get("name"):
            kind = a.get("type", "text" if tag != "button" else "submit")
            if "disabled" in a:
                return
            values = self._form.fields.setdefault(a["name"], [])
            first = "checked" in a or not values
            values.insert(0 if first and kind != "submit" else len(values), a.get("value", ""))
            if kind in ("text", "number") or tag == "textarea":
                self._form.free.add(a["name"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None


@dataclass
class Visit:
    """One person's browser without the browser."""

    client: TestClient
    studio: Studio
    folder: Path

    def get(self, address: str) -> httpx.Response:
        return checked(self.client.get(address))

    def post(self, address: str, **fields: str) -> httpx.Response:
        token = self.studio.visitor.form_token("studio")
        return checked(self.client.post(address, data={"token": token, **fields}, headers={"origin": BASE}))

    def page(self, address: str) -> PageReader:
        return PageReader(self.get(address).text)

    def upload(self, address: str, content: bytes, name: str) -> Any:
        headers = {
            "origin": BASE, "x-form-token": self.studio.visitor.form_token("studio"), "x-file-name": name,
            "content-type": "application/octet-stream",
        }  # fmt: skip
        return checked(self.client.post(address, content=content, headers=headers)).json()

    def to_release(self, name: str = "people.csv", job: str = "publish", **job_fields: str) -> None:
        assert self.post("/publish/open", kind="file", file=name).url.path == "/publish/columns"
        assert self.post("/publish/columns", unit="row").url.path == "/publish/job"
        answer = self.post("/publish/job", job=job, **job_fields)
        assert answer.url.path == "/publish/dial", answer.text
        assert self.post("/publish/check", confirmed="yes", format="csv").url.path == "/publish/release"

    def release(self, name: str) -> None:
        self.post("/publish/release", name=name)
        job = self.studio.desk.journey.job
        assert job is not None
        job.join(60)
        assert job.released is not None, job.problem


def checked(answer: httpx.Response) -> httpx.Response:
    """Whatever is asked, the answer has our policy and tells nothing of the program."""
    policy = answer.headers["content-security-policy"]
    assert policy == POLICY or (
        "script-src" not in policy and policy.startswith("default-src 'none'; style-src '")
    )
    assert answer.status_code != 500, answer.text
    assert "Traceback" not in answer.text
    return answer


def browser_of(studio: Studio) -> TestClient:
    return TestClient(studio.application(), base_url=BASE)


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Visit]:
    folder = tmp_path / "data"
    folder.mkdir()
    people(folder / "people.csv", 400)
    studio = Studio(AllowedFolder.of(folder), frozenset({HOST}))
    with browser_of(studio) as client:
        client.get("/", params={"token": studio.visitor.new_token()})
        yield Visit(client, studio, folder)
