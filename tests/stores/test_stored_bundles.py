"""Bundles in a store: whole or not at all, nothing that was there is lost, and recipients read them there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.object_store import Bucket

import pramana
from pramana.app.main import run
from pramana.errors import BundleError
from pramana.files import upload
from pramana.files.parts import Claim

FILES = ["certificate.json", "data.parquet", "report.html"]


def released(bucket: Bucket, name: str = "out/published") -> str:
    pramana.release("recipe.toml", bucket.url(name), even_if_useless=True)
    return bucket.url(name)


def test_the_bundle_there_is_the_one_that_is_made_here(bucket: Bucket, desk: Path) -> None:
    url = released(bucket)
    assert bucket.objects() == [f"out/published/{name}" for name in FILES]
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml", "published.key"}
    assert (desk / "published.key").stat().st_mode & 0o777 == 0o600
    pramana.release("recipe.toml", "here", key=desk / "published.key", even_if_useless=True)
    key = (desk / "published.key").read_text()
    for name in FILES:
        content = bucket.get(f"out/published/{name}")
        assert content == (desk / "here" / name).read_bytes()
        for told in (*bucket.server.secrets(), bucket.name, str(bucket.server.port), key):
            assert told.strip().encode() not in content
    assert pramana.verify(url, source="people.csv", key=desk / "published.key").valid


def test_recipients_read_it_where_it_lies(bucket: Bucket, desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    url = released(bucket)
    pramana.release("recipe.toml", "here", key=desk / "published.key", even_if_useless=True)
    for command in (["crosstab", "--by", "sex"], ["verify"], ["compare", "--share", "sex = F", "--by", "age"]):
        told = []
        for place in (url, "here"):
            capfd.readouterr()
            code = run([command[0], place, *command[1:], "--json"])
            told.append((code, capfd.readouterr()))
        assert told[0] == told[1], command
    assert run(["report", url]) == 0
    assert run(["synthesise", url, "--out", "drawn.csv"]) == 0
    assert pramana.report("here").read_bytes() == (desk / "published.report.html").read_bytes()
    pramana.synthesise("here", "again.csv")
    assert (desk / "drawn.csv").read_bytes() == (desk / "again.csv").read_bytes()
    assert pramana.Bundle.open(url).certificate == pramana.Bundle.open("here").certificate
    assert len(list(pramana.Bundle.open(url).batches())) == 1  # the copy lives as long as it is read


def test_nothing_that_is_there_is_touched(bucket: Bucket, refused: Callable[..., str]) -> None:
    bucket.put("out/published/notes.txt", b"mine")
    bucket.put("file", b"mine")
    for out in ("out/published", "file"):
        told = refused("release", "recipe.toml", "--out", bucket.url(out), "--even-if-useless")
        assert "already exists" in told
    assert "must name a folder of the bucket" in refused("release", "recipe.toml", "--out", bucket.url(""))
    assert bucket.objects() == ["file", "out/published/notes.txt"]
    url = released(bucket, "out/beside")
    assert "must lie outside of every bundle" in refused("release", "recipe.toml", "--out", f"{url}/inside")


@pytest.mark.parametrize("at", ["report.html", "certificate.json"])
def test_what_fails_on_the_way_leaves_nothing(
    at: str, bucket: Bucket, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = upload.BundleUpload._put

    def failing(self: upload.BundleUpload, name: str) -> None:
        if name == at:
            raise KeyboardInterrupt
        put(self, name)

    with monkeypatch.context() as patched:
        patched.setattr(upload.BundleUpload, "_put", failing)
        with pytest.raises(KeyboardInterrupt):
            released(bucket)
    assert bucket.objects() == [] and bucket.unfinished() == []
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml"}
    assert pramana.verify(released(bucket)).valid


def test_an_upload_in_parts_that_is_broken_off_is_taken_away(bucket: Bucket) -> None:
    from pramana.files.locations import located
    from pramana.files.store_path import put

    def blocks() -> object:
        yield os.urandom(12 << 20)
        raise KeyboardInterrupt

    path = located(bucket.url("large"))
    with pytest.raises(KeyboardInterrupt):
        put(path, blocks(), BundleError)  # type: ignore[arg-type]
    assert bucket.objects() == [] and bucket.unfinished() == []


KILLED = """
import os, signal, sys
import pramana
from pramana.files import upload
put = upload.BundleUpload._put
def killed(self, name):
    if name == sys.argv[2] and sys.argv[3] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, name)
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
upload.BundleUpload._put = killed
pramana.release("recipe.toml", sys.argv[1], even_if_useless=True)
"""


def kill_at(url: str, name: str, when: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, url, name, when], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr


@pytest.mark.stores("s3", "abfs")
def test_what_a_killed_run_left_is_swept_by_its_owner_alone(
    bucket: Bucket, desk: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = bucket.url("out/published")
    kill_at(url, "report.html", "before")
    left = bucket.objects()
    assert "out/published/data.parquet" in left and len(left) == 2
    assert (desk / "published.key").exists()
    assert "must hold certificate.json" in refused("verify", url)  # without its certificate it is no bundle
    other = tmp_path / "other"
    other.mkdir()
    for name in ("recipe.toml", "people.csv"):
        (other / name).write_bytes((desk / name).read_bytes())
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(other)
        with pytest.raises(BundleError, match="its command, run again where it ran, removes what it left"):
            released(bucket)
    assert bucket.objects() == left
    bucket.put("out/published/report.html", b"someone else's")
    with pytest.raises(BundleError, match="already exists"):  # what is ours goes, and nothing else
        released(bucket)
    assert bucket.objects() == ["out/published/report.html"]
    bucket.remove("out/published/report.html")
    assert pramana.verify(released(bucket), source="people.csv", key=desk / "published.key").valid
    assert bucket.objects() == [f"out/published/{name}" for name in FILES]
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml", "published.key"}


@pytest.mark.stores("s3", "abfs")  # of Google's kind in test_stored_sets.py
def test_a_run_that_is_killed_when_all_is_there_leaves_a_bundle_and_its_key(bucket: Bucket, desk: Path) -> None:
    url = bucket.url("out/published")
    kill_at(url, "certificate.json", "after")
    assert pramana.verify(url, source="people.csv", key=desk / "published.key").valid
    with pytest.raises(BundleError, match="already exists"):
        pramana.release("recipe.toml", url, key=desk / "published.key", even_if_useless=True)
    assert (desk / "published.key").exists()
    assert bucket.objects() == [f"out/published/{name}" for name in FILES]


def test_of_two_runs_at_once_at_most_one_writes(bucket: Bucket, desk: Path, tmp_path: Path) -> None:
    """Whatever the order: who comes second sees the other's claim, and withdraws its own."""
    from pramana.files.locations import located
    from pramana.files.store_path import StorePath

    out = located(bucket.url("out/published"))
    assert isinstance(out, StorePath)
    first, second = Claim(out, "1" * 32), Claim(out, "2" * 32)
    first.lay()
    with pytest.raises(BundleError, match="Another run is writing"):
        second.lay()
    assert bucket.objects() == [f"out/.published.upload/{'1' * 32}"]
    with pytest.raises(BundleError, match="Another run is writing"):
        released(bucket)
    first.drop()
    assert bucket.objects() == []
    staged = tmp_path / "staged"
    staged.mkdir()
    (staged / "data.parquet").write_bytes(b"the same bytes")
    (staged / "certificate.json").write_bytes(b"{}")
    bucket.put("out/published/data.parquet", b"the same bytes")  # by someone else
    second_upload = upload.BundleUpload(out, "3" * 32, staged)
    with pytest.raises(BundleError, match="already exists"):
        second_upload.begin()
    second_upload.claim.clear()
    assert bucket.objects() == ["out/published/data.parquet"]
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml"}


def test_a_ledger_knows_where_its_bundle_lies_and_is_exported_there(
    bucket: Bucket, desk: Path, refused: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["ledger", "create", "all.db"]) == 0
    text = (desk / "recipe.toml").read_text()
    (desk / "recipe.toml").write_text(f'{text}\n[ledger]\npath = "all.db"\npeople = "patients"\n')
    url = released(bucket)
    capfd.readouterr()
    assert run(["ledger", "export", "all.db"]) == 0
    lines = capfd.readouterr().out
    assert url in lines and not any(secret in lines for secret in bucket.server.secrets())
    export = bucket.url("exports/all.jsonl")
    assert run(["ledger", "export", "all.db", "--out", export]) == 0
    assert bucket.get("exports/all.jsonl").decode() == lines
    capfd.readouterr()
    assert "already exists" in refused("ledger", "export", "all.db", "--out", export)
    assert run(["levels", "export", "all.db", "--out", (desk / "all.jsonl").as_uri()]) == 0
    assert (desk / "all.jsonl").read_text() == lines
    assert json.loads(lines.splitlines()[0])
    capfd.readouterr()
    assert "already exists" in refused("ledger", "export", "all.db", "--out", "all.jsonl")
