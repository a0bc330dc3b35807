"""What commands make of a bundle goes to a store as it goes to a folder: whole, new, and the same bytes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.object_store import Bucket
from tests.rows.people import LEVELS, people

import pramana
from pramana.app.main import run
from pramana.errors import BundleError, InputError, SourceError
from pramana.files import upload
from pramana.files.locations import located
from pramana.files.store_path import StorePath, put, put_file
from pramana.io.writing import write_table
from pramana.ledger.ledger import Ledger
from pramana.recipient import synthesis as record_objects


@pytest.fixture
def here(desk: Path) -> Path:
    """A bundle, and nothing else that a command could have left."""
    pramana.release("recipe.toml", "here", even_if_useless=True)
    return desk / "here"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_synthetic_records_and_their_certificate(
    bucket: Bucket, here: Path, refused: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    before = names(here.parent)
    url = bucket.url("drawn/records.csv")
    assert run(["synthesise", "here", "--out", url, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["path"], told["certificate"]) == (url, f"{url}.certificate.json")
    assert names(here.parent) == before
    pramana.synthesise(here, here.parent / "records.csv")
    for name in ("records.csv", "records.csv.certificate.json"):
        assert bucket.get(f"drawn/{name}") == (here.parent / name).read_bytes()
    assert "already exists" in refused("synthesise", "here", "--out", url)
    assert "must " in refused("synthesise", "here", "--out", bucket.url("drawn"))
    assert len(bucket.objects()) == 2
    with pytest.raises(InputError, match="Ask for `out`"):
        assert pramana.synthesise(here, bucket.url("more.parquet")).path


def test_records_that_do_not_arrive_leave_no_certificate(
    bucket: Bucket, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a killed run left is taken up by the run that makes the same, and by no other."""
    url = bucket.url("records.csv")

    def failing(path: Any, *arguments: Any) -> None:
        if path.suffix == ".csv":
            assert bucket.objects() == ["records.csv.certificate.json"]
            raise KeyboardInterrupt
        put_file(path, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(record_objects, "put_file", failing)
        with pytest.raises(KeyboardInterrupt):
            pramana.synthesise(here, url)
    assert bucket.objects() == []
    pramana.synthesise(here, url)
    bucket.remove("records.csv")
    with pytest.raises(BundleError, match=r"certificate\.json already exists"):
        pramana.synthesise(here, url, records=7)
    assert bucket.objects() == ["records.csv.certificate.json"]
    pramana.synthesise(here, url)
    assert bucket.objects() == ["records.csv", "records.csv.certificate.json"]


@pytest.mark.parametrize("silent", [False, True], ids=["says", "does not say"])
def test_records_whose_arrival_was_not_told_keep_their_certificate(
    bucket: Bucket, here: Path, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may have written what it never answered to, and not tell either whether it has."""
    both = ["records.csv", "records.csv.certificate.json"]

    def unanswered(path: Any, *arguments: Any) -> None:
        put_file(path, *arguments)
        if path.suffix == ".csv":
            if silent:
                patched.setattr(StorePath, "exists", no_answer)
            raise BundleError("A store must answer", "no answer")

    def no_answer(path: StorePath) -> bool:
        raise SourceError(f"{path} must be in a store that answers", "none")

    with monkeypatch.context() as patched:
        patched.setattr(record_objects, "put_file", unanswered)
        with pytest.raises(BundleError, match="A store must answer"):
            pramana.synthesise(here, bucket.url("records.csv"))
    assert bucket.objects() == both


def test_a_certificate_that_was_there_before_is_not_this_runs_to_remove(
    bucket: Bucket, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = bucket.url("records.csv")
    pramana.synthesise(here, url)
    bucket.remove("records.csv")

    def failing(path: Any, *_: Any) -> None:
        raise BundleError(f"{path} must be writable", "no answer")

    monkeypatch.setattr(record_objects, "put_file", failing)
    with pytest.raises(BundleError, match="must be writable"):
        pramana.synthesise(here, url)
    assert bucket.objects() == ["records.csv.certificate.json"]


def test_records_for_a_store_are_made_where_they_are_asked_for(bucket: Bucket, here: Path) -> None:
    with pytest.raises(InputError, match="engine"):
        pramana.synthesise(here, bucket.url("records.csv"), engine="abacus")
    assert bucket.objects() == []


@pytest.mark.stores("s3")
def test_records_that_a_killed_run_left_here_go_with_the_next(
    bucket: Bucket, here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".pramana-records.partial-0123abcd"
    left.mkdir()
    (left / "records.csv").write_text("drawn")
    pramana.synthesise(here, bucket.url("records.csv"))
    assert names(tmp_path) == {"desk"} and len(bucket.objects()) == 2


def test_an_export(bucket: Bucket, here: Path, refused: Callable[..., str]) -> None:
    before = names(here.parent)
    for name, more in (("data.arrow", []), ("ddi.xml", ["--as", "ddi"])):
        url = bucket.url(f"exports/{name}")
        assert run(["export", "here", "--out", url, *more]) == 0
        assert "already exists" in refused("export", "here", "--out", url, *more)
        assert names(here.parent) == before
    pramana.export(here, here.parent / "data.arrow")
    assert bucket.get("exports/data.arrow") == (here.parent / "data.arrow").read_bytes()


def test_a_report_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    bucket: Bucket, here: Path, refused: Callable[..., str]
) -> None:
    before, url = names(here.parent), bucket.url("pages/report.html")
    for _ in range(2):
        assert run(["report", "here", "--out", url]) == 0
    assert names(here.parent) == before
    assert bucket.get("pages/report.html") == pramana.report(here).read_bytes()
    bucket.put("pages/notes.html", b"mine")
    for out in ("pages/notes.html", "pages"):
        assert "must not exist, or be an earlier report" in refused("report", "here", "--out", bucket.url(out))
    told = refused("report", "here", "--out", bucket.url("private.html"), "--source", "people.csv")
    assert "A private page must be written to this machine" in told
    assert bucket.objects() == ["pages/notes.html", "pages/report.html"]


def test_nothing_is_put_into_a_bundle(bucket: Bucket, here: Path, refused: Callable[..., str]) -> None:
    del here
    bucket.put("published/certificate.json", b"{}")
    for command, name in (("report", "r.html"), ("synthesise", "data/s.csv"), ("export", "e.arrow")):
        out = bucket.url(f"published/{name}")
        assert "must lie outside of every bundle" in refused(command, "here", "--out", out)
    assert "bucket that exists" in refused(
        "export", "here", "--out", bucket.server.url("no-such-bucket", "e.arrow")
    )
    assert bucket.objects() == ["published/certificate.json"]


@pytest.fixture
def ledger(desk: Path) -> Path:
    write_table(people(1_000), desk / "people.parquet", "parquet")
    (desk / "levels.toml").write_text(LEVELS)
    pramana.create_levels(desk / "all.ledger", desk / "levels.toml")
    return desk / "all.ledger"


def issued(ledger: Path, out: str | Path) -> Any:
    return pramana.issue(ledger, "university", 0.3, out, even_if_useless=True)


def test_a_version_of_a_ledger(
    bucket: Bucket, ledger: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also one whose run could not tell the ledger: asked again, the same bundle is there, and is committed."""
    before, url = names(ledger.parent), bucket.url("versions/university")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "commit", None)
        with pytest.raises(TypeError):
            issued(ledger, url)
    assert len(bucket.objects()) == 3
    bucket.put("versions/university/report.html", b"someone else's")
    with pytest.raises(BundleError, match="already exists"):
        issued(ledger, url)
    for name in bucket.objects():
        bucket.remove(name)
    with monkeypatch.context() as patched:
        patched.setattr(upload, "_leave", lambda _: (_ for _ in ()).throw(BundleError("the store is gone")))
        patched.setattr(Ledger, "commit", None)
        with pytest.raises(TypeError):
            issued(ledger, url)
    done = issued(ledger, url)
    assert str(done.out) == url and not done.again and done.release.status == "committed"
    assert names(ledger.parent) == before
    again = issued(ledger, ledger.parent / "again")
    assert again.again
    for name in ("certificate.json", "data.parquet", "report.html"):
        assert bucket.get(f"versions/university/{name}") == (again.bundle / name).read_bytes()
    capfd.readouterr()
    command = ["levels", "issue", str(ledger), "--recipient", "b", "--retention", "0.3", "--even-if-useless"]
    assert run([*command, "--out", bucket.url("versions/b"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["bundle"] == bucket.url("versions/b")


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "again"])
@pytest.mark.parametrize("moment", ["write", "close"])
def test_an_interrupted_object_is_whole_or_gone(
    moment: str, earlier: bool, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is not whole is ever seen, and an earlier one stays until then."""
    place = located(bucket.url("report.html"))
    assert isinstance(place, StorePath)
    if earlier:
        put(place, [b"the earlier one"], BundleError)

    class Interrupted:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, block: bytes) -> None:
            self.file.write(block)
            if moment == "write" and block == b"more":
                raise KeyboardInterrupt

        def close(self) -> None:
            already = self.file.closed
            self.file.close()
            if moment == "close" and not already:
                raise KeyboardInterrupt

    opened = StorePath.open
    with monkeypatch.context() as patched:
        patched.setattr(StorePath, "open", lambda *arguments: Interrupted(opened(*arguments)))
        with pytest.raises(KeyboardInterrupt):
            put(place, [b"the new one ", b"more", b" and more"], BundleError)
    if earlier:
        assert bucket.objects() == ["report.html"] and bucket.get("report.html") == b"the earlier one"
        put(place, [b"the new one"], BundleError)
        assert bucket.objects() == ["report.html"] and bucket.get("report.html") == b"the new one"
    elif moment == "write" or bucket.server.scheme == "abfs":
        assert bucket.objects() == []
    else:
        assert bucket.get("report.html") == b"the new one more and more"
