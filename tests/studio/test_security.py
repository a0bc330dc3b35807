"""Who gets in, what may be reached, what a file's texts can do, and when private files go."""

from __future__ import annotations

import io
import socket
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest
from tests.studio.conftest import BASE, HOST, Visit, checked
from tests.studio.running import people, studio

from pramana.app.studio.folders import PrivateFolder
from pramana.app.web.guard import POLICY

PAGES = (
    "/", "/publish/open", "/publish/columns", "/publish/columns/0", "/publish/job", "/publish/dial",
    "/publish/dial/figures?at=1", "/publish/check", "/publish/release", "/publish/release/status",
    "/publish/report", "/publish/report/page", "/ledger", "/study",
)  # fmt: skip


# ---------------------------------------------------------------- who gets in


def test_the_link_opens_once_and_nobody_enters_without_it(visit: Visit) -> None:
    visit.client.cookies.clear()
    for address in PAGES:
        assert visit.get(address).status_code in (303, 403) or "someone&#39;s own" in visit.get(address).text
    token = visit.studio.visitor.new_token()
    entered = visit.client.get("/", params={"token": token}, follow_redirects=False)
    cookie = entered.headers["set-cookie"].lower()
    assert "samesite=strict" in cookie and "httponly" in cookie
    assert visit.get("/").status_code == 200
    visit.client.cookies.clear()
    assert visit.get(f"/?token={token}").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:8123", ""])
def test_another_name_is_not_answered(visit: Visit, host: str) -> None:
    assert checked(visit.client.get("/", headers={"host": host})).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": f"http://{HOST}"},
        {},
    ],
)
def test_a_form_must_come_from_our_own_page(visit: Visit, headers: dict[str, str]) -> None:
    fields = {"token": visit.studio.visitor.form_token("studio"), "kind": "file", "file": "people.csv"}
    answer = checked(visit.client.post("/publish/open", data=fields, headers=headers))
    assert answer.status_code == 403 and visit.studio.desk.journey.inspection is None


def test_a_form_must_carry_its_token(visit: Visit) -> None:
    for token in ("", "0" * 64, visit.studio.visitor.form_token("close")):
        fields = {"token": token, "kind": "file", "file": "people.csv"}
        answer = checked(visit.client.post("/publish/open", data=fields, headers={"origin": BASE}))
        assert answer.status_code == 403
    assert visit.studio.desk.journey.inspection is None


def test_every_answer_has_the_policy(visit: Visit) -> None:
    for address in (*PAGES, "/nowhere", "/static/none"):
        answer = visit.client.get(address)
        if address != "/publish/report/page":
            assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


# ---------------------------------------------------------------- what may be reached


@pytest.fixture
def outside(visit: Visit) -> Path:
    """A table beside the allowed folder, and links to it from inside."""
    secret = people(visit.folder.parent / "secret.csv", 50)
    (visit.folder / "link.csv").symlink_to(secret)
    (visit.folder / "folder").symlink_to(visit.folder.parent)
    return secret


@pytest.mark.parametrize(
    "name", ["../secret.csv", "link.csv", "folder/secret.csv", "/etc/passwd", "x\0.csv", "a" * 5000, "", "."]
)
def test_nothing_outside_the_folder_is_opened(visit: Visit, outside: Path, name: str) -> None:
    for fields in ({"kind": "file", "file": name}, {"kind": "recipe", "recipe": name}):
        answer = visit.post("/publish/open", **fields)
        assert answer.url.path == "/publish/open" and "Not done." in answer.text
        assert visit.studio.desk.journey.inspection is None
    absolute = visit.post("/publish/open", kind="file", file=str(outside))
    assert visit.studio.desk.journey.inspection is None and "Not done." in absolute.text
    assert "Not done." in visit.post("/study", bundle=name).text
    assert "Not done." in visit.post("/ledger/open", ledger=name).text


def test_links_that_lead_out_are_not_listed(visit: Visit, outside: Path) -> None:
    assert outside.exists()
    page = visit.get("/publish/open").text
    assert "people.csv" in page and "link.csv" not in page and "secret" not in page


RECIPE = """[source]
path = "{path}"
[release]
method = "{method}"
k = 5
{more}
[attributes.sex]
role = "quasi-identifying"
{how}
"""
OUTSIDE = {
    "source": ("../secret.csv", "retention", "", 'domain = ["F", "M"]'),
    "absolute": ("{outside}", "retention", "", 'domain = ["F", "M"]'),
    "link": ("link.csv", "retention", "", 'domain = ["F", "M"]'),
    "hierarchy": ("people.csv", "generalize", "", 'hierarchy = "../secret.csv"'),
    "population": ("people.csv", "generalize", 'population = "../secret.csv"', 'domain = ["F", "M"]'),
    "ledger": (
        "people.csv", "retention", "", 'domain = ["F", "M"]\n[ledger]\npath = "../secret.csv"\npeople = "x"',
    ),
    "output": (
        "people.csv", "retention", "", 'domain = ["F", "M"]\n[output]\nurl = "sqlite:////tmp/x.db"\ntable = "t"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", OUTSIDE)
def test_a_recipe_reaches_nothing_outside_either(visit: Visit, outside: Path, which: str) -> None:
    path, method, more, how = OUTSIDE[which]
    text = RECIPE.format(path=path.format(outside=outside), method=method, more=more, how=how)
    (visit.folder / "bad.toml").write_text(text)
    answer = visit.post("/publish/open", kind="recipe", recipe="bad.toml")
    assert "Not done." in answer.text
    assert visit.studio.desk.journey.inspection is None


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "/tmp/out", "people.csv", "", "x\ny", "out."])
def test_a_bundle_goes_into_the_folder_and_nowhere_else(visit: Visit, name: str) -> None:
    visit.to_release()
    answer = visit.post("/publish/release", name=name)
    assert "Not done." in answer.text and visit.studio.desk.journey.job is None
    assert not (visit.folder.parent / "out").exists()


def test_a_folder_of_a_recipe_holds_no_links(visit: Visit, outside: Path) -> None:
    (visit.folder / "parts").mkdir()
    (visit.folder / "parts" / "a.csv").symlink_to(outside)
    text = RECIPE.format(path="parts", method="retention", more="", how='domain = ["F", "M"]')
    (visit.folder / "parts.toml").write_text(text)
    assert "symbolic links" in visit.post("/publish/open", kind="recipe", recipe="parts.toml").text
    assert visit.studio.desk.journey.inspection is None


def packed(*entries: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries:
            file.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        packed(("../certificate.json", b"{}")),
        packed(("/tmp/certificate.json", b"{}")),
        packed(("a/certificate.json", b"{}"), ("b/data.csv", b"")),
        packed(*((f"{i}.csv", b"") for i in range(100))),
        packed(("certificate.json", b"{}"), ("bad\nname", b"")),
        b"PK\x03\x04 and nothing",
        b"",
    ],
)
def test_a_hostile_zip_file_is_refused_and_writes_nothing(visit: Visit, content: bytes) -> None:
    told = visit.upload("/study/upload", content, "b.zip")
    assert "problem" in told
    assert not (visit.studio.private.path / "received").exists() or not list(
        (visit.studio.private.path / "received").glob("../certificate.json")
    )
    assert not (visit.studio.private.path / "certificate.json").exists()


def test_an_upload_that_is_too_large_is_refused(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    from pramana.app.studio import application

    monkeypatch.setattr(application, "MOST_UPLOADED", 1000)
    headers = {"origin": BASE, "x-form-token": visit.studio.visitor.form_token("studio"), "x-file-name": "a.csv"}
    answer = visit.client.post("/publish/upload", content=b"x" * 1001, headers=headers)
    assert answer.status_code == 413
    pieces = (b"x" * 100 for _ in range(20))  # of no stated length
    answer = visit.client.post("/publish/upload", content=pieces, headers=headers)
    assert answer.status_code == 413 and visit.studio.desk.journey.inspection is None


# ---------------------------------------------------------------- what a file's texts can do

EVIL = "<script>alert(1)</script>\"'</style><img src=x onerror=alert(2)>"


def test_texts_of_a_file_are_never_markup(visit: Visit) -> None:
    quoted = '"' + EVIL.replace('"', '""') + '"'
    rows = [f"{quoted},{i % 3},{100 + i}" for i in range(300)] + [f"plain,{i % 3},{500 + i}" for i in range(300)]
    file = "a<script>b&'.csv"
    header = '"' + (EVIL + "sex").replace('"', '""') + '",group,id'
    (visit.folder / file).write_text("\n".join([header, *rows]) + "\n")
    visit.to_release(file, "k-anonymity")
    visit.post("/publish/columns/0", kind="ordered", sizes="2", act="build")
    about = dict.fromkeys(("title", "holder", "recipient", "purpose"), EVIL)
    visit.post("/publish/check", confirmed="yes", format="csv", **about)
    visit.release("out")
    visit.post("/study", bundle="out")
    visit.post("/ledger/create", name="x.ledger")
    visit.post("/study/table", row="0", **{"only-0-0": "yes"})
    visit.post("/study/compare", first="0-0", second="0-0", share="0-0")
    shown = 0
    for address in PAGES:
        page = visit.get(address).text
        assert "<script>alert" not in page and "<img" not in page and "</style><img" not in page, address
        assert "\"'</style>" not in page, address
        shown += "&lt;script&gt;alert(1)" in page
    assert shown >= 8, "the texts are on most of the pages, as texts"
    page = visit.post("/publish/columns/0", kind="mask", act="build").text
    assert "<script>alert" not in page


def test_no_value_of_the_table_is_in_an_error_or_an_address(visit: Visit) -> None:
    rare = "Xanthippe-Original"
    lines = (visit.folder / "people.csv").read_text().splitlines()
    lines[5] = lines[5].replace(lines[5].split(",")[3], rare)
    (visit.folder / "odd.csv").write_text("\n".join(lines))
    visit.post("/publish/open", kind="file", file="odd.csv")
    visit.post("/publish/columns", unit="row")
    age = list(visit.studio.desk.journey.roles).index("age")
    page = visit.post(f"/publish/columns/{age}", kind="intervals", widths="5", act="build")
    assert "Not done." in page.text and rare not in page.text
    for job in ("publish", "microaggregate", "frequencies"):
        answer = visit.post("/publish/job", job=job)
        assert rare not in answer.text.partition("Not done.")[2].partition("</div>")[0]
        assert rare not in str(answer.url)


# ---------------------------------------------------------------- when private files go


def test_an_upload_is_encrypted_unless_it_is_read_and_goes_when_it_is_closed(visit: Visit) -> None:
    content = (visit.folder / "people.csv").read_bytes()
    before = set(Path("/proc/self/fd").iterdir())
    assert visit.upload("/publish/upload", content, "my%20people.csv") == {"to": "/publish/columns"}
    private = visit.studio.private
    link = private.path / "my-people.csv"
    assert "memfd" in str(link.resolve()) and link.read_bytes() == b""
    with private.reading(), private.reading():
        assert link.read_bytes() == content
    assert link.read_bytes() == b""
    opened = [d for d in Path("/proc/self/fd").iterdir() if d not in before and d.exists()]
    nameless = [d for d in opened if str(d.readlink()).startswith(f"{private.path}/")]
    assert [d.stat().st_size >= len(content) for d in nameless] == [True]
    lines = content.splitlines()
    assert not any(line in nameless[0].read_bytes() for line in lines)
    assert private.path.stat().st_mode & 0o077 == 0
    visit.post("/publish/columns", unit="row")
    visit.post("/publish/job", job="publish")
    assert visit.studio.desk.journey.document.section("source") == {"path": "my-people.csv"}
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    visit.post("/publish/forget")
    assert list(visit.studio.private.path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) < descriptors


def test_the_private_folder_goes_however_the_server_ends(tmp_path: Path) -> None:
    people(tmp_path / "people.csv")
    (tmp_path / "tmp").mkdir()
    with studio(tmp_path, TMPDIR=str(tmp_path / "tmp")) as running:
        client = httpx.Client(base_url=running.base, follow_redirects=True)
        assert client.get(running.url).status_code == 200
        (private,) = (tmp_path / "tmp").iterdir()
        running.kill()
        client.close()
        end = time.monotonic() + 10
        while private.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not private.exists()


def test_private_files_go_when_the_browser_has_gone(visit: Visit) -> None:
    visit.to_release("people.csv")
    desk = visit.studio.desk
    desk.was_connected, desk.connections, desk.last_seen = True, 0, time.monotonic() - 3600
    end = time.monotonic() + 15
    while desk.journey.inspection is not None and time.monotonic() < end:
        time.sleep(0.1)
    assert desk.journey.inspection is None and list(visit.studio.private.path.iterdir()) == []


def test_a_private_folder_takes_no_name_outside() -> None:
    from pramana.errors import InputError

    folder = PrivateFolder()
    try:
        for name in ("../x", "/tmp/x", "", "a/../../x"):
            with pytest.raises(InputError):
                folder.write(name, "x")
    finally:
        folder.close()
    assert not folder.path.exists()


def test_a_studio_that_cannot_start_says_so_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pramana.app.main import run

    assert run(["studio", "--no-browser", "--data", str(tmp_path / "none")]) == 2
    told = capfd.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and "does not exist" in told.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["studio", "--no-browser", "--data", str(tmp_path), "--port", port]) == 2
    assert "must be free" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "pramana.app.studio.application", None)
    assert run(["studio", "--no-browser", "--data", str(tmp_path)]) == 2
    assert "pip install 'pramana-privacy[studio]'" in capfd.readouterr().err


def test_it_listens_on_this_machine_alone(tmp_path: Path) -> None:
    with studio(tmp_path) as running:
        assert running.url.startswith("http://127.0.0.1:")
        port = int(running.base.rpartition(":")[2])
        listening = [
            line.split()[1]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
        ]
        assert listening == [f"0100007F:{port:04X}"]
        assert running.process.poll() is None
