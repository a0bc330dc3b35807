"""A store is someone else's: what it calls its objects, and how many it says there are, harms nobody who asks."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hostile_store import LyingStore
from tests.object_store import VARIABLES, Bucket

import pramana
from pramana.bundle.bundle import _stated_sizes
from pramana.bundle.certificate import MOST_BYTES
from pramana.errors import BundleError, SourceError
from pramana.files import fetch, store_clients, store_path
from pramana.files.locations import located
from pramana.files.parts import Claim
from pramana.files.store_path import StorePath, name_under

URL = "s3://box/bundle"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies of bundles go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def lying(desk: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingStore]:
    """A server with a good bundle, to which tests add what is bad."""
    del temporary
    pramana.release("recipe.toml", "here", even_if_useless=True)
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    with LyingStore().running() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        for path in (desk / "here").iterdir():
            server.objects[f"bundle/{path.name}"] = path.read_bytes()
        yield server


def certified(server: LyingStore, name: str, content: bytes) -> None:
    """Let the certificate name a file of the store's."""
    statement = json.loads(server.objects["bundle/certificate.json"])
    statement["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    server.objects["bundle/certificate.json"] = json.dumps(statement).encode()


def test_the_server_serves_a_bundle(lying: LyingStore) -> None:
    assert lying.pages == 0
    assert pramana.verify(URL).valid
    assert lying.pages > 0


CLIMBING = [
    "../../../climbed/.bashrc",
    "..",
    ".",
    "../bundle/data.parquet",
    "./data.parquet",
    "deep/../../../climbed",
    "deep//data.parquet",
    "/etc/climbed",
]


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("name", CLIMBING)
def test_a_name_that_leads_elsewhere_is_refused(
    name: str, stated: bool, lying: LyingStore, refused: Callable[..., str], tmp_path: Path, temporary: Path
) -> None:
    lying.objects[f"bundle/{name}"] = b"echo owned\n"
    if stated:
        certified(lying, name, b"echo owned\n")
    before = sorted(tmp_path.rglob("*"))
    shown = refused("verify", URL)
    assert "plain name" in shown and "climbed" not in shown
    assert sorted(tmp_path.rglob("*")) == before
    assert list(temporary.iterdir()) == []
    if not stated:  # the same listing, asked for as a table
        lying.objects["bundle/one.csv"] = b"a\n1\n"
        assert "plain names between their slashes" in refused("inspect", URL)


def test_the_copy_itself_makes_no_path_of_such_a_name(
    lying: LyingStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    """Whatever the listing lets through."""
    del lying
    origin = located(URL)
    assert isinstance(origin, StorePath)
    made = [StorePath("s3", "box", f"bundle/{name}") for name in CLIMBING]
    before = sorted(tmp_path.rglob("*"))
    for path in made:
        with monkeypatch.context() as patched:
            patched.setattr(StorePath, "files", (path,))
            with contextlib.suppress(BundleError):  # two of them are other spellings of plain names
                fetch.FetchedBundle(origin, MOST_BYTES, _stated_sizes)
    copy = fetch.FetchedBundle(origin, MOST_BYTES, _stated_sizes)
    for name in CLIMBING:
        with pytest.raises(BundleError, match="plain names"):
            copy._copy(origin, name, 0)
    del copy
    assert sorted(tmp_path.rglob("*")) == before and list(temporary.iterdir()) == []


@pytest.mark.parametrize("key", [b"elsewhere/x", b"bundleother", b"bundle/\xff\xfe.csv"])
def test_a_listing_of_another_place_is_refused(key: bytes, lying: LyingStore, refused: Callable[..., str]) -> None:
    lying.elsewhere.append(key)
    assert "plain names between their slashes" in refused("verify", URL)


@pytest.mark.parametrize("name", ["data.parquet/x", "report.html/y", "certificate.json/z"])
def test_a_name_that_is_file_and_folder_is_refused(
    name: str, lying: LyingStore, refused: Callable[..., str]
) -> None:
    lying.objects[f"bundle/{name}"] = b"x"
    assert "each name as a file or as a folder, got one that is both" in refused("verify", URL)


@pytest.mark.parametrize("name", ["x&#27;[31mRED", "y" * 300])
def test_a_name_that_nobody_could_read_is_refused_and_not_shown(
    name: str, lying: LyingStore, refused: Callable[..., str]
) -> None:
    lying.elsewhere.append(f"bundle/{name}".encode())
    shown = refused("verify", URL)
    assert "files with plain names" in shown and "RED" not in shown and "yyy" not in shown


def test_many_objects_that_nobody_expects_leave_a_few_names(lying: LyingStore) -> None:
    for number in range(3000):
        lying.objects[f"bundle/more-{number}"] = b"x"
    opened = pramana.Bundle.open(URL)
    assert len(list(opened.path.iterdir())) <= 103 and opened.data_path.stat().st_size > 0
    failed = {check.name: check.detail for check in pramana.verify(URL).checks if not check.ok}
    assert "not in the certificate: more-0, " in failed["files"] and len(failed["files"]) < 500
    assert failed["files"].endswith("and others")


def test_names_under_a_folder() -> None:
    assert name_under("box/bundle", "box/bundle/data/part-00000.csv") == "data/part-00000.csv"
    assert name_under("/", "/a b") == "a b" and name_under("box", "box/.hidden") == ".hidden"
    for path in ("bundle", "bundle/", "bundles/x", "/bundle/x", "bundle/a\0", "bundle/\ud800"):
        assert name_under("bundle", path) is None, path


# ---------------------------------------------------------------- listings without an end


@pytest.mark.parametrize(("bound", "most"), [("MOST_SECONDS", 1.0), ("MOST_GROWTH", 1 << 24)])
def test_a_listing_without_end_is_given_up(
    bound: str, most: float, lying: LyingStore, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lying.elsewhere += [b"bundle/%04d" % number + b"y" * 900 for number in range(500)]
    lying.endless = True
    monkeypatch.setattr(store_path, bound, most)
    begun = time.monotonic()
    assert "has not ended within" in refused("verify", URL)
    assert time.monotonic() - begun < 60
    assert lying.pages > 2


def test_what_a_store_says_comes_through_the_thread_that_asks() -> None:
    assert store_path.within_bounds("x", lambda: 3) == 3
    with pytest.raises(KeyError):
        store_path.within_bounds("x", lambda: os.environ["NO_SUCH_VARIABLE"])
    wait = threading.Event()
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store_path, "MOST_SECONDS", 0.2)
            with pytest.raises(SourceError, match="has not ended within"):
                store_path.within_bounds("x", wait.wait)
    finally:
        wait.set()


# ---------------------------------------------------------------- what a claim may make us remove


@pytest.mark.stores("s3")
@pytest.mark.parametrize("name", ["../precious", "deep/../../precious", "/precious", "a/b"])
def test_a_claim_that_was_rewritten_removes_nothing_elsewhere(name: str, bucket: Bucket) -> None:
    out = located(bucket.url("out/published"))
    assert isinstance(out, StorePath)
    bucket.put("out/precious", b"mine")
    claim = Claim(out, "1" * 32)
    claim.write({name: {"bytes": 4, "sha256": hashlib.sha256(b"mine").hexdigest()}})
    with pytest.raises(BundleError, match="must be the claim of a run"):
        claim.clear()
    assert "out/precious" in bucket.objects()
    claim.write({"report.html": {}})
    with pytest.raises(BundleError, match="must be the claim of a run"):
        claim.is_whole()


# ---------------------------------------------------------------- the environment


def test_variables_of_another_threads_client_are_not_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(store_clients, "_connected", lambda *arguments: asked.append(dict(arguments[2])))
    monkeypatch.delenv("AWS_CONFIG_FILE", raising=False)
    other = threading.Thread(target=store_clients.file_system, args=("s3", "two"))
    with store_clients._environment_with({"AWS_CONFIG_FILE": store_clients.NOWHERE}):
        other.start()
        other.join(0.5)
        assert not asked, "it waits until the environment is the user's again"
    other.join(30)
    assert len(asked) == 1 and "AWS_CONFIG_FILE" not in asked[0]


# ---------------------------------------------------------------- room for the copy


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "must have room for s3://box/bundle, got a full disk"),
        (errno.EDQUOT, "must have room for s3://box/bundle, got a full disk"),
        (errno.EACCES, "A copy of s3://box/bundle cannot be written to"),
        (errno.EIO, "A copy of s3://box/bundle cannot be written to"),
    ],
)
def test_what_fails_on_this_machine_is_told_as_what_it_is(
    number: int,
    words: str,
    lying: LyingStore,
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    temporary: Path,
) -> None:
    opened = Path.open

    class Failing:
        def __enter__(self) -> Failing:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, _: bytes) -> int:
            raise OSError(number, os.strerror(number))

    def failing(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        return Failing() if mode == "xb" else opened(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", failing)
    assert words in refused("verify", URL)
    assert lying.pages == 0 and list(temporary.iterdir()) == []


def test_an_object_that_goes_while_the_bundle_is_read(
    lying: LyingStore, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = fetch.FetchedBundle._strange

    def gone(self: fetch.FetchedBundle, *arguments: Any) -> Any:
        del lying.objects["bundle/data.parquet"]
        return strange(self, *arguments)

    monkeypatch.setattr(fetch.FetchedBundle, "_strange", gone)
    assert "data.parquet must stay while it is read" in refused("verify", URL)


# ---------------------------------------------------------------- what a killed reader leaves

KILLED = """
import os, signal, sys, tempfile
import pramana
tempfile.tempdir = sys.argv[1]
opened = pramana.Bundle.open("s3://box/bundle")
print(opened.path.parent, flush=True)
sys.stdin.read() if sys.argv[2] == "waits" else os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_copy_of_a_killed_reader_goes_with_the_next_and_no_other(
    lying: LyingStore, temporary: Path, tmp_path: Path
) -> None:
    del lying
    command = [sys.executable, "-c", KILLED, str(temporary)]
    killed = subprocess.run([*command, "is killed"], check=False, capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    left = Path(killed.stdout.strip())
    assert left.parent == temporary and left.stat().st_mode & 0o777 == 0o700
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    (left / "link").symlink_to(precious)
    planted = [left.with_name(".pramana-bundle.partial-mine"), left.with_name("pramana-bundle-notes")]
    for folder in planted:
        folder.mkdir()
    left.with_name(left.name[:-8] + "0" * 8).symlink_to(precious)
    with subprocess.Popen([*command, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as alive:
        assert alive.stdout is not None
        living = Path(alive.stdout.readline().strip())
        assert living.is_dir() and not left.exists()  # that one has swept
        assert pramana.verify(URL).valid
        assert (living / "bundle" / "certificate.json").is_file()  # its reader lives
        alive.communicate("")
    assert alive.returncode == 0 and not living.exists()
    assert all(folder.is_dir() for folder in planted) and (precious / "file").read_text() == "mine"
