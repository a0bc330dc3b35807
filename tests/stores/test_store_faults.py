"""What goes wrong with a store is told in one line, soon, and leaves nothing half-written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.object_store import Bucket, StoreServer, led_to

import pramana
from pramana.errors import BundleError
from pramana.files import atomic, upload
from pramana.files.parts import Claim

SOON = 60  # seconds; an answer that never comes is given up long before


@pytest.fixture
def asked(bucket: Bucket, refused: Callable[..., str]) -> Callable[..., str]:
    """A refusal that comes soon and shows neither who asked nor whom."""

    def check(*arguments: str) -> str:
        begun = time.monotonic()
        told = refused(*arguments)
        assert time.monotonic() - begun < SOON
        for secret in (*bucket.server.secrets(), "127.0.0.1", "AWS Error", "Azure Error", "google::cloud"):
            assert secret not in told
        return told

    return check


@pytest.fixture
def locked(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket of a store that asks for credentials, and knows none of ours."""
    bucket.put("people.csv", b"sex,age\nF,1\n")
    with bucket.server.locked(monkeypatch):
        yield bucket


def commands(url: str) -> list[tuple[str, ...]]:
    return [
        ("release", "recipe.toml", "--source", f"{url}/people.csv", "--out", "published"),
        ("release", "recipe.toml", "--out", f"{url}/published"),
        ("verify", f"{url}/published"),
        ("inspect", f"{url}/people.csv"),
    ]


def test_a_missing_bucket(bucket: Bucket, asked: Callable[..., str]) -> None:
    for command in commands(bucket.server.url("no-such-bucket", "")[:-1]):
        assert "must lie in a bucket that exists, got no such bucket" in asked(*command)


def test_a_missing_object(bucket: Bucket, asked: Callable[..., str]) -> None:
    for command in commands(bucket.url("nothing"))[2:]:
        told = asked(*command)
        assert "must exist, got no such file" in told or "must hold certificate.json, got nothing there" in told
    bucket.put("only/data.parquet", b"PAR1")
    assert "must hold certificate.json, got no such object" in asked("verify", bucket.url("only"))


@pytest.mark.stores("s3", "abfs")  # the one like Google's asks nobody for credentials
def test_wrong_credentials(locked: Bucket, asked: Callable[..., str]) -> None:
    for command in commands(locked.url("some")):
        told = asked(*command)
        assert "must be open to the credentials in use" in told and "Credentials come from the environment" in told


def test_no_network(bucket: Bucket, asked: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.server.silent().items():
        monkeypatch.setenv(name, value)
    for command in commands(bucket.url("some"))[1 if bucket.server.scheme == "s3" else 2 : 3]:
        assert "must be in a store that answers, got no answer" in asked(*command)


@pytest.fixture
def mortal(bucket: Bucket, desk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[StoreServer, Bucket]]:
    """A store of this test's own, which dies in it."""
    server = type(bucket.server).start()
    led_to(server, monkeypatch)
    bucket = Bucket.new(server)
    bucket.put("people.csv", (desk / "people.csv").read_bytes())
    yield server, bucket
    server.kill()


@pytest.mark.stores("s3")  # the clients of the others take half a minute to give up
def test_a_store_that_dies_on_the_way(
    mortal: tuple[StoreServer, Bucket],
    asked: Callable[..., str],
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """First while a bundle goes up, then while a table is read: nothing but a mark for the next run stays here."""
    server, bucket = mortal
    put = upload.BundleUpload._put

    def dying(self: upload.BundleUpload, name: str) -> None:
        if name == "report.html":
            server.kill()
        put(self, name)

    monkeypatch.setattr(upload.BundleUpload, "_put", dying)
    before = {path.name for path in desk.iterdir()}
    begun = time.monotonic()
    with pytest.raises(BundleError, match="must be in a store that answers, got no answer"):
        pramana.release("recipe.toml", bucket.url("out/published"), even_if_useless=True)
    assert time.monotonic() - begun < SOON
    left = {path.name for path in desk.iterdir()} - before
    assert len(left) == 1 and next(iter(left)).startswith(".published.upload-")
    assert [path.name for path in (desk / next(iter(left))).iterdir()] == [".in-store"]
    assert "got no answer" in asked("inspect", bucket.url("people.csv"))
    assert capfd.readouterr().out == ""


def test_who_cannot_tell_whether_the_certificate_arrived_keeps_the_key(
    bucket: Bucket, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, has = upload.BundleUpload._put, Claim.has
    out, answers = bucket.url("out/published"), [False]

    def lost(self: upload.BundleUpload, name: str) -> None:
        put(self, name)
        if name == atomic.CERTIFICATE:
            raise BundleError("the answer was lost")

    def asked(self: Claim, name: str, entry: dict[str, Any]) -> bool:
        if not answers[0]:
            raise BundleError("the store is gone")
        return has(self, name, entry)

    with monkeypatch.context() as patched:
        patched.setattr(upload.BundleUpload, "_put", lost)
        patched.setattr(Claim, "has", asked)
        with pytest.raises(BundleError, match=r"must say whether .* is whole.*Its key was kept"):
            pramana.release("recipe.toml", out, even_if_useless=True)
    assert (desk / "published.key").is_file()
    with pytest.raises(BundleError, match="already exists"):  # and the next run finds that it is whole
        pramana.release("recipe.toml", out, key=desk / "published.key", even_if_useless=True)
    assert pramana.verify(out, source="people.csv", key=desk / "published.key").valid
    assert not [name for name in bucket.objects() if ".upload" in name]
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml", "published.key"}


def test_hostile_sizes_are_not_fetched(bucket: Bucket, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than its certificate says, or what it does not name, stays where it is."""
    out = bucket.url("published")
    pramana.release("recipe.toml", out, even_if_useless=True)
    assert pramana.verify(out).valid
    data = bucket.get("published/data.parquet")
    bucket.put("published/data.parquet", data + bytes(1 << 20))
    bucket.put("published/deep/extra.bin", bytes(1 << 20))
    monkeypatch.chdir(desk.parent)
    opened = pramana.Bundle.open(out)
    assert [opened.data_path.stat().st_size, (opened.path / "deep").stat().st_size] == [0, 0]
    failed = {check.name: check.detail for check in pramana.verify(out).checks if not check.ok}
    assert failed["digest data.parquet"] == "differs from the certificate"
    assert "not in the certificate: deep" in failed["files"]
    copy = opened.path
    del opened
    assert not copy.parent.exists()
    statement = json.loads(bucket.get("published/certificate.json"))
    statement["files"]["data.parquet"]["bytes"] = 1 << 50  # more than any disk has
    bucket.put("published/certificate.json", json.dumps(statement).encode())
    assert not pramana.verify(out).valid
