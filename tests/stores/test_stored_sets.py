"""Sets of files in a store: parts go there from where their rows are, hidden until all of them are there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.bundle.test_parts import filled
from tests.object_store import Bucket
from tests.pipeline.elsewhere import Elsewhere
from tests.rows.people import LEVELS, people

import pramana
from pramana.errors import BundleError, SourceError, UnreachableError
from pramana.files import upload
from pramana.files.locations import located
from pramana.files.parts import IN_STORE, Claim, PartFolder, PartPrefix
from pramana.files.store_path import StorePath
from pramana.io.writing import write_table
from pramana.ledger.ledger import Ledger
from pramana.rows.memory import MemoryRows

HERE = {"people.csv", "recipe.toml"}
PARTS = [f"out/published/data/part-{number:05d}.parquet" for number in range(3)]
WHOLE = sorted(["out/published/certificate.json", *PARTS, "out/published/report.html"])


@pytest.fixture
def set_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of 2,500 people, in three parts; their rows lie elsewhere unless the output is of this machine."""
    people = "".join(f"Person {i},{'FM'[i * 7 % 3 % 2]},{i * 31 % 100}\n" for i in range(2_500))
    (desk / "people.csv").write_text("name,sex,age\n" + people)
    with (desk / "recipe.toml").open("a") as recipe:
        recipe.write('[output]\nfiles = "many"\npart_rows = 1000\n')
    publish = MemoryRows.publish
    monkeypatch.setattr(MemoryRows, "publish", lambda *args, **more: Elsewhere(publish(*args, **more)))
    return desk


@pytest.fixture
def prefix(bucket: Bucket, tmp_path: Path) -> PartPrefix:
    out = located(bucket.url("out/published"))
    assert isinstance(out, StorePath)
    staged = tmp_path / f".published.upload-{'0' * 16}-{'1' * 32}"
    staged.mkdir()
    made = upload.part_prefix(out, staged)
    made.create()
    return made


def released(bucket: Bucket, **options: Any) -> str:
    pramana.release("recipe.toml", bucket.url("out/published"), even_if_useless=True, **options)
    return bucket.url("out/published")


def test_parts_go_straight_there_and_are_those_of_the_local_bundle(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged: list[str] = []
    begin = upload.BundleUpload.begin

    def looked_at(self: upload.BundleUpload) -> None:
        """Before anything is at its place: the parts are hidden in the store, and none is here."""
        staged.extend(sorted(str(path.relative_to(self.staged)) for path in self.staged.rglob("*")))
        hidden = [key.rpartition("/")[2][:18] for key in bucket.objects("out/.published.parts/")]
        assert hidden == [name.rpartition("/")[2] for name in PARTS] and not bucket.objects("out/published/")
        begin(self)

    monkeypatch.setattr(upload.BundleUpload, "begin", looked_at)
    url = released(bucket)
    assert staged == [".in-store", ".in-store/parts.json", "certificate.json", "report.html"]
    assert bucket.objects() == WHOLE and bucket.unfinished() == []
    assert {path.name for path in set_desk.iterdir()} == {*HERE, "published.key"}
    pramana.release("recipe.toml", "here", key=set_desk / "published.key", even_if_useless=True)
    for name in WHOLE:
        local = set_desk / "here" / name.removeprefix("out/published/")
        assert bucket.get(name) == local.read_bytes()
    assert pramana.verify(url, source="people.csv", key=set_desk / "published.key").valid


def test_what_is_made_of_the_data_here_needs_the_parts_here(bucket: Bucket, set_desk: Path) -> None:
    recipe = (set_desk / "recipe.toml").read_text()
    (set_desk / "recipe.toml").write_text(recipe.replace("[output]\n", "[output]\nsynthetic = true\n"))
    released(bucket)
    assert set(bucket.objects()) == {*WHOLE, "out/published/synthetic.parquet"}


def test_attempts_do_not_meet_and_those_that_fail_leave_nothing(bucket: Bucket, prefix: PartPrefix) -> None:
    one, _ = prefix.write("part-00000.csv", partial(filled, b"the same"))
    other, _ = prefix.write("part-00000.csv", partial(filled, b"the same"))
    assert one.sha256 == other.sha256 and one.name != other.name
    assert {bucket.get(f"out/.published.parts/{'1' * 32}/{file.name}") for file in (one, other)} == {b"the same"}

    def torn(sink: Any) -> None:
        sink.write(os.urandom(12 << 20))
        raise SourceError("A table must have rows", "none")

    with pytest.raises(SourceError, match="must have rows"):
        prefix.write("part-00001.csv", torn)
    assert len(bucket.objects("out/.published.parts/")) == 2 and bucket.unfinished() == []
    prefix.claim.clear()
    assert bucket.objects() == []


def test_a_task_that_outlives_its_run_takes_its_part_away(bucket: Bucket, prefix: PartPrefix) -> None:
    def late(sink: Any) -> None:
        prefix.claim.clear()
        sink.write(b"too late")

    with pytest.raises(BundleError, match="a run that was given up"):
        prefix.write("part-00000.csv", late)
    assert bucket.objects() == []


@dataclass(frozen=True)
class OtherAttempt:
    """A part that another attempt wrote cut short, while it was told of the whole one."""

    write: Callable[..., Any]

    def __call__(self, target: PartPrefix, name: str, fill: Any) -> Any:
        file, told = self.write(target, name, fill)
        path = target.claim.hidden / file.name
        with path.open("wb") as cut:
            cut.write(b"cut")
        return file, told


def test_parts_that_are_not_as_they_were_told_are_noticed(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherAttempt(PartPrefix.write)
    monkeypatch.setattr(PartPrefix, "write", lambda *arguments: other(*arguments))
    with pytest.raises(BundleError, match="got objects that are missing or of other sizes"):
        released(bucket)
    assert bucket.objects() == []
    assert {path.name for path in set_desk.iterdir()} == HERE


def test_a_run_beside_another_is_refused_before_its_parts_are_written(
    bucket: Bucket, set_desk: Path, prefix: PartPrefix
) -> None:
    prefix.write("part-00000.parquet", partial(filled, b"of the first run"))
    before = bucket.objects()
    with pytest.raises(BundleError, match="Another run is writing"):
        released(bucket)
    assert bucket.objects() == before and len(before) == 2
    assert {path.name for path in set_desk.iterdir()} == HERE


@pytest.mark.parametrize("at", [(PartPrefix, "finish"), (upload.BundleUpload, "_copy")])
def test_a_run_that_fails_leaves_nothing(
    at: tuple[type, str], bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its parts are hidden, or when one of them has its place."""
    step = vars(at[0])[at[1]]

    def interrupted(*arguments: Any) -> None:
        step(*arguments)
        assert len(bucket.objects("out/.published.parts/")) == 3
        raise KeyboardInterrupt

    monkeypatch.setattr(*at, interrupted)
    with pytest.raises(KeyboardInterrupt):
        released(bucket)
    assert bucket.objects() == []
    assert {path.name for path in set_desk.iterdir()} == HERE


KILLED = """
import os, signal, sys
import pramana
from tests.pipeline.elsewhere import Elsewhere
from tests.rows.people import LEVELS, people
from pramana.files import upload
from pramana.rows.memory import MemoryRows
publish, copy = MemoryRows.publish, upload.BundleUpload._copy
MemoryRows.publish = lambda *args, **more: Elsewhere(publish(*args, **more))
def killed(self, name):
    copy(self, name)
    os.kill(os.getpid(), signal.SIGKILL)
upload.BundleUpload._copy, upload._COPIES = killed, 1
pramana.release("recipe.toml", sys.argv[1], even_if_useless=True)
"""


def test_what_a_killed_run_left_is_swept_by_the_next(bucket: Bucket, set_desk: Path) -> None:
    """Parts that are hidden still, and those that have their places."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, bucket.url("out/published")],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert ended.returncode == -9, ended.stderr
    assert len(bucket.objects("out/.published.parts/")) == 3
    assert PARTS[0] in bucket.objects("out/published/") and WHOLE[0] not in bucket.objects("out/published/")
    assert pramana.verify(released(bucket), source="people.csv", key="published.key").valid
    assert bucket.objects() == WHOLE
    assert {path.name for path in set_desk.iterdir()} == {*HERE, "published.key"}


def test_no_part_goes_up_of_a_release_that_does_not_keep_its_promises(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may read a bucket may read what is hidden in it."""

    def broken(*_: Any) -> None:
        raise UnreachableError("The promise must be kept by the release", "another")

    def written(*_: Any) -> None:
        raise AssertionError("a part was written")

    monkeypatch.setattr("pramana.run.run.check_promises", broken)
    monkeypatch.setattr(PartPrefix, "write", written)
    with pytest.raises(UnreachableError, match="must be kept"):
        released(bucket)
    assert bucket.objects() == [] and {path.name for path in set_desk.iterdir()} == HERE


def test_a_claim_is_of_one_run(bucket: Bucket) -> None:
    """What is under the prefix of one is not touched by the end of another."""
    out = located(bucket.url("out/published"))
    assert isinstance(out, StorePath)
    bucket.put(f"out/.published.parts/{'2' * 32}/part-00000.csv.0", b"another's")
    Claim(out, "1" * 32).clear()
    assert bucket.objects() == [f"out/.published.parts/{'2' * 32}/part-00000.csv.0"]


def test_another_object_of_the_same_size_is_not_a_claims(bucket: Bucket) -> None:
    out = located(bucket.url("out/published"))
    assert isinstance(out, StorePath)
    claim = Claim(out, "1" * 32)
    claim.write({"report.html": {"bytes": 4, "sha256": hashlib.sha256(b"ours").hexdigest()}})
    bucket.put("out/published/report.html", b"mine")
    assert not claim.is_whole()
    claim.clear()
    assert bucket.objects() == ["out/published/report.html"]


def test_a_run_that_is_killed_as_it_lays_its_claim_is_known_to_the_next(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay = Claim.lay

    def looked_for(claim: Claim) -> None:
        assert list(set_desk.glob(f".published.upload-*-{claim.token}/{IN_STORE}"))
        lay(claim)

    monkeypatch.setattr(Claim, "lay", looked_for)
    released(bucket)
    assert bucket.objects("out/") == WHOLE


def test_what_another_program_puts_there_meanwhile_is_noticed_and_left(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = upload.BundleUpload._put

    def beside(self: upload.BundleUpload, name: str) -> None:
        put(self, name)
        bucket.put("out/published/notes.txt", b"mine")

    monkeypatch.setattr(upload.BundleUpload, "_put", beside)
    with pytest.raises(BundleError, match="must hold objects of this run alone"):
        released(bucket)
    assert bucket.objects() == ["out/published/notes.txt"]
    assert {path.name for path in set_desk.iterdir()} == HERE


def test_a_version_whose_run_was_killed_is_made_again_without_a_folder_that_executors_share(
    bucket: Bucket, set_desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the ledger knew: the parts go to the store as before, are compared there, and go again."""
    write_table(people(2_500), set_desk / "people.parquet", "parquet")
    (set_desk / "levels.toml").write_text(f'{LEVELS}[output]\nfiles = "many"\npart_rows = 1000\n')
    pramana.create_levels("all.ledger", "levels.toml")
    before = {path.name for path in set_desk.iterdir()}
    url = bucket.url("out/published")

    def issued() -> Any:
        return pramana.issue("all.ledger", "university", 0.3, url, even_if_useless=True)

    def not_shared(*_: Any) -> None:
        raise AssertionError("a part was written to a folder of the driver")

    monkeypatch.setattr(PartFolder, "write", not_shared)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "commit", None)
        with pytest.raises(TypeError):
            issued()
    content = bucket.get(PARTS[1])
    assert bucket.objects() == WHOLE
    bucket.put(PARTS[1], b"another's")
    with pytest.raises(BundleError, match="already exists"):
        issued()
    assert bucket.objects() == WHOLE and bucket.get(PARTS[1]) == b"another's"
    bucket.put(PARTS[1], content)
    done = issued()
    assert str(done.out) == url and not done.again and done.release.status == "committed"
    assert bucket.objects() == WHOLE and {path.name for path in set_desk.iterdir()} == before
