"""Names, labels and texts of anyone's files on a screen: nothing that a terminal obeys, no line of their own."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from tests.security.bundles import copied, make_small_tables, statement_of, write_report_again, write_statement

from pramana import Recipe, release
from pramana.app.main import run

VALID = "The bundle is valid."
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n" + VALID + "\n\u202egpj.exe\u2066\u200f\x9b31m\x7f\u2028\x00"
SHORT = "a\x1b[1mb\rc\u202ed"  # where a file system or a parser would not take all of it


def tame(text: str) -> bool:
    """No control or format character except the ends of lines."""
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs") for c in text)


class Screen:
    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def shows(self, *arguments: str) -> tuple[int, str]:
        """The exit code and everything shown, which must be tame."""
        self.capture.readouterr()
        code = run(list(arguments))
        shown = self.capture.readouterr()
        assert tame(shown.out) and tame(shown.err), arguments
        assert "internal error" not in shown.err, arguments
        return code, shown.out + shown.err


@pytest.fixture
def screen(capfd: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capfd)


def quoted(text: str) -> str:
    return json.dumps(text).replace("\\u0000", "")  # TOML has the same escapes, and no zero


def recipe_text(column: str, label: str, path: str, method: str = "epsilon = 2") -> str:
    return (
        f"[source]\npath = {quoted(path)}\n[release]\n{method}\n"
        f'[attributes.{quoted(column)}]\nrole = "quasi-identifying"\ndomain = ["F", {quoted(label)}]\n'
        f'[attributes.raw]\nrole = "insensitive"\n'
    )


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A table, a recipe and a bundle whose names and labels are all hostile."""
    folder = tmp_path / SHORT
    folder.mkdir()
    rows = "".join(f"{'F' if i % 2 else SHORT_LABEL},x{i % 3}\n" for i in range(40))
    (folder / f"{SHORT}.csv").write_text(f'"{COLUMN}",raw\n{rows}', newline="")
    (folder / "recipe.toml").write_text(recipe_text(COLUMN, LABEL, f"{SHORT}.csv"))
    return folder


LABEL = "a\x1b[1mb\u202ed"
SHORT_LABEL = LABEL
COLUMN = "col\x1b[2J\u2066umn"


def test_every_command_that_prints_names_and_labels(desk: Path, screen: Screen) -> None:
    recipe, out, key = (str(desk / name) for name in ("recipe.toml", f"o{SHORT}", f"o{SHORT}.key"))
    source = str(desk / f"{SHORT}.csv")
    assert screen.shows("release", recipe, "--out", out)[0] == 0
    assert screen.shows("release", recipe, "--out", out)[0] == 2
    assert screen.shows("release", recipe, "--out", f"{out}2", "--json")[0] == 0
    for arguments in (
        ["verify", out], ["verify", out, "--json"], ["verify", out, "--source", source, "--key", key],
        ["crosstab", out, "--by", COLUMN], ["crosstab", out, "--by", COLUMN, "--json"],
        ["report", out], ["plan", recipe], ["plan", recipe, "--json"], ["recipe", "check", recipe],
        ["anonymity", source, "--quasi", COLUMN],
    ):  # fmt: skip
        code, shown = screen.shows(*arguments)
        assert code in (0, 2), (arguments, shown)


@pytest.mark.parametrize("hostile", [ESCAPES, SHORT, "\x1b[31m", "\r", "\n" + VALID, "\u202e", "\x9b2J"])
def test_every_error_that_quotes_what_it_was_given(hostile: str, desk: Path, screen: Screen) -> None:
    name = hostile.replace("\x00", "")
    for arguments in (
        ["verify", name], ["release", name, "--out", "x"], [name], ["verify", "x", name], ["release", f"--{name}"],
        ["crosstab", name, "--by", name], ["report", name], ["plan", name], ["recipe", "check", name],
        ["levels", "history", name], ["levels", "check", name], ["key", "make", f"{name}/{name}"],
        ["guarantee", "--matrix", name], ["calibrate", "--k", name], ["block", name], ["theorems", name],
        ["anonymity", name, "--quasi", name], ["identification", name], ["presence", name],
        ["verify", name, "--public-key", name], ["release", name, "--out", "x", "--memory", name],
    ):  # fmt: skip
        code, shown = screen.shows(*arguments)
        assert code in (0, 1, 2), arguments
        assert VALID not in shown.splitlines(), arguments
    for text in (
        recipe_text(name, "M", "x.csv"), recipe_text("sex", name, "x.csv"), recipe_text("sex", "M", name),
        recipe_text("sex", "M", "x.csv", f"method = {quoted(name)}"), f"[{quoted(name)}]\n",
        recipe_text("sex", "M", "x.csv", f"{quoted(name)} = 1"), f"a = {name}",
        recipe_text("sex", "M", "x.csv", f"k = {quoted(name)}"),
    ):  # fmt: skip
        (desk / "bad.toml").write_text(text)
        code, shown = screen.shows("release", str(desk / "bad.toml"), "--out", str(desk / "never"))
        assert code == 2 and shown.count("\n") == 1, shown


def test_no_text_of_an_invalid_bundle_says_that_it_is_valid(tmp_path: Path, screen: Screen) -> None:
    """Whatever its certificate says, in whichever field: no line of the screen is the verdict but the last."""
    make_small_tables(tmp_path)
    statement = {
        "source": {"path": "people.csv"},
        "release": {"epsilon": 2.0},
        "attributes": {
            "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
            "town": {"role": "insensitive"},
        },
    }
    release(Recipe.parse(statement, tmp_path), tmp_path / "out", threads=1)
    hostile = f"x\n{VALID}\r\x1b[2K{VALID}\n"
    stated = statement_of(tmp_path / "out")
    edits: list[dict[str, object]] = [
        {key: hostile} for key in ("pramana", "method", "dataset", "content", "output", "format")
    ]
    edits += [
        {"warnings": [hostile]},
        {"dropped": [hostile]},
        {"guarantees": [{**g, "words": hostile, "notion": hostile} for g in stated["guarantees"]]},
        {"files": {**stated["files"], hostile: {"sha256": "0" * 64, "bytes": 1}}},
        {"attributes": [{**a, "name": hostile + a["name"]} for a in stated["attributes"]]},
        {"mechanism": {**stated["mechanism"], hostile: 1}},
        {"version": hostile},
        {hostile: 1},
    ]
    for edit in edits:
        copy = copied(tmp_path / "out", tmp_path / "copy")
        write_statement(copy, {**stated, **edit})
        for remade in (False, True):
            if remade and ("files" in edit or not write_report_again(copy)):
                continue
            for command in (["verify"], ["report"], ["crosstab", "--by", "sex"]):
                code, shown = screen.shows(command[0], str(copy), *command[1:])
                lines = shown.splitlines()
                assert VALID not in lines, edit
                if command == ["verify"] and code == 0:  # the version's text, a name: valid, and unsigned
                    assert set(edit) <= {"pramana", "dataset", "dropped"}
    copy = copied(tmp_path / "out", tmp_path / "copy")
    (copy / f"{SHORT}.html").write_text("")
    code, shown = screen.shows("verify", str(copy))
    assert code == 1 and VALID not in shown.splitlines()
