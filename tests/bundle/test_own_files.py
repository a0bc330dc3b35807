"""In the place of a file may lie something else: nobody waits for it, and it is named."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Refused

from pramana import Recipe, release
from pramana.app.main import run
from pramana.files.atomic import open_regular, regular_text

READERS = (
    ("crosstab", "x", "--by", "sex", "--unverified"),
    ("export", "x", "--out", "x.arrow", "--unverified"),
    ("synthesise", "x", "--out", "x.csv", "--unverified"),
    ("report", "x", "--unverified"),
)
DATA = {"many": "data/part-00001.parquet", "one": "data.parquet", "csv": "data.csv"}


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Who waits for a writer of a pipe waits for ever."""

    def give_up(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def put(path: Path, what: str) -> None:
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
    elif what == "a symbolic link":
        path.symlink_to("/dev/zero")
    elif what == "a socket":
        here = Path.cwd()
        os.chdir(path.parent)  # such a name must be short
        with socket.socket(socket.AF_UNIX) as open_one:
            open_one.bind(path.name)
        os.chdir(here)


@pytest.fixture(params=DATA)
def broken(desk: Path, request: pytest.FixtureRequest) -> Path:
    """Where a data file of the bundle `x` was."""
    content: dict[str, dict[str, object]] = {
        "source": {"path": "people.csv"},
        "release": {"method": "retention", "epsilon": 3},
        "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}},
        "output": {"format": "csv"} if request.param == "csv" else {"format": "parquet"},
    }
    if request.param == "many":
        content["output"] |= {"files": "many", "part_rows": 1000}
        (desk / "people.csv").write_text("sex\n" + "F\nM\n" * 1000)
    release(Recipe.parse(content, desk), desk / "x", seed=1, even_if_useless=True)
    place = desk / "x" / DATA[request.param]
    place.unlink()
    return place


@pytest.mark.parametrize("what", ["a pipe", "a folder", "a symbolic link", "a socket", "no file"])
def test_readers_name_the_file_that_is_none(broken: Path, refused: Refused, what: str) -> None:
    put(broken, what)
    for reader in READERS:
        said = refused(*reader)
        assert f"{broken.name} must be a file of the bundle, got {what}" in said, reader


@pytest.mark.parametrize("what", ["a pipe", "a folder", "a symbolic link", "a socket", "no file"])
def test_verification_fails_and_says_of_which(
    broken: Path, refused: Refused, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    put(broken, what)
    assert run(["verify", "x"]) == 1
    assert f"FAIL  digest {broken.name}" in capfd.readouterr().out
    assert f"digest {broken.name}" in refused("crosstab", "x", "--by", "sex")


@pytest.mark.parametrize("what", ["a pipe", "a folder", "a socket"])
def test_no_input_is_waited_for(desk: Path, refused: Refused, what: str) -> None:
    assert run(["release", "recipe.toml", "--out", "x", "--seed", "1"]) == 0
    put(desk / "none", what)
    (desk / "tree.toml").write_text((desk / "recipe.toml").read_text().replace("bins", "hierarchy = 'none' #"))
    for line in (
        ("release", "none", "--out", "out"),
        ("recipe", "check", "none"),
        ("release", "tree.toml", "--out", "out"),
        ("release", "recipe.toml", "--out", "out", "--key", "none"),
        ("release", "recipe.toml", "--out", "out", "--sign", "none"),
        ("release", "recipe.toml", "--out", "out", "--source", "none"),
        ("verify", "x", "--public-key", "none"),
        ("verify", "none"),
        ("report", "x", "--audit", "none"),
        ("guarantee", "--records", "9", "--matrix", "none"),
        ("hierarchy", "check", "none"),
        ("inspect", "none"),
        ("ledger", "list", "none"),
    ):
        if line == ("inspect", "none") and what == "a folder":
            continue
        if line[0] == "recipe":
            assert run(list(line)) in (1, 2)
        else:
            assert "none" in refused(*line), line
    shutil.rmtree("x")


def test_a_pipe_that_a_shell_hands_over_is_read(desk: Path) -> None:
    """As of `pramana recipe check <(command)`."""
    reading, writing = os.pipe()
    os.write(writing, b"\xef\xbb\xbfa\r\nb")
    os.close(writing)
    assert regular_text(f"/dev/fd/{reading}") == "a\nb"
    os.close(reading)
    with pytest.raises(OSError, match="a device"):
        open_regular("/dev/zero")
    (desk / "link").symlink_to("people.csv")
    open_regular(desk / "link").close()
    with pytest.raises(OSError, match="a symbolic link"):
        open_regular(desk / "link", follow=False)
