"""What attacks found in the holder's report: shown, escaped, bounded, and of this bundle alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.audit.broken import KEY
from tests.audit.desk import lay_out

from pramana import report
from pramana.app.main import run
from pramana.bundle.bundle import Bundle
from pramana.errors import InputError
from pramana.holder.audit.verdict import Attack, AttackReport, NotRun
from pramana.reporting.attacks import audited_files

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("desk"))


def stated(desk: Path, **changes: Any) -> dict[str, Any]:
    """A short audit of the honest bundle."""
    attacks = (
        Attack("rows, places", 0.25, 0.5, False, f"all stand where {SCRIPT} puts them", (0.4, 0.6)),
        Attack("epsilon", None, 0.1, True, "at least 0.1"),
    )
    left = (NotRun("l and t", f"not attacked {SCRIPT}"),)
    found = AttackReport(attacks, left, audited_files(Bundle.open(desk / "honest"))).to_json()
    return {**found, **changes}


def written(desk: Path, content: object) -> Path:
    path = desk / "attacks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_command_takes_what_the_audit_wrote(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--source", str(desk / "people.csv"), "--key", str(desk / "key")]
    assert run(["audit", str(desk / "honest"), *options, "--json"]) == 0
    path = written(desk, capsys.readouterr().out)
    target = desk / "with attacks.html"
    assert run(["report", str(desk / "honest"), "--audit", str(path), "--out", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(target), "private": True}
    text = target.read_text()
    assert "No attack broke a claim." in text and "linkage, best matching" in text
    assert "NOT FOR RELEASE" in text.upper() and target.stat().st_mode & 0o777 == 0o600
    assert run(["report", str(desk / "honest"), "--audit", str(path), *options[:2], "--out", str(target)]) == 0
    assert "true counts and attacks" in capsys.readouterr().out
    plain = report(desk / "honest", desk / "plain.html").read_text()
    assert "Attacks that were run" not in plain and "NOT FOR RELEASE" not in plain.upper()


def test_broken_claims_are_shown_and_every_text_is_escaped(desk: Path) -> None:
    text = report(desk / "honest", desk / "lost.html", audit=written(desk, stated(desk))).read_text()
    assert "1 of 2 claims are broken." in text and "BROKEN" in text and "0.4 to 0.6" in text
    assert SCRIPT not in text and text.count("&lt;script&gt;") == 2


def test_an_audit_of_another_bundle_is_refused(desk: Path) -> None:
    other = stated(desk, bundle={"certificate.json": "0" * 64, "data.parquet": "0" * 64})
    with pytest.raises(InputError, match="must be of this bundle, as its files are now"):
        report(desk / "honest", desk / "no.html", audit=written(desk, other))
    found = stated(desk)
    found["bundle"].pop("data.parquet")
    with pytest.raises(InputError, match="must be of this bundle"):
        report(desk / "honest", desk / "no.html", audit=written(desk, found))
    assert not (desk / "no.html").exists()


LINE = {"name": "a", "claimed": 1.0, "measured": 1.0, "ok": True, "detail": "b"}
HOSTILE: dict[str, object] = {
    "no JSON": "attacks",
    "nothing": "{}",
    "a list": "[]",
    "no attacks": {"attacks": []},
    "too many": {"attacks": [LINE] * 501},
    "a long name": {"attacks": [{**LINE, "name": "x" * 401}]},
    "long words": {"attacks": [{**LINE, "detail": "x" * 4001}]},
    "no number": {"attacks": [{**LINE, "measured": "1"}]},
    "a text for truth": {"attacks": [{**LINE, "ok": "yes"}]},
    "deep": '{"attacks": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "not finite": '{"attacks": [{"name": "a", "claimed": NaN, "measured": 1e999, "ok": true, "detail": ""}]}',
    "half a character": '{"attacks": "\\ud800"}',
    "large": '{"attacks": "' + "x" * (1 << 22) + '"}',
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_is_no_audit_is_refused_in_one_line(
    what: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = HOSTILE[what]
    path = written(desk, stated(desk, **content) if isinstance(content, dict) else content)
    assert run(["report", str(desk / "honest"), "--audit", str(path), "--out", str(desk / "never.html")]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "JSON file of an audit" in shown.err
    assert not (desk / "never.html").exists()


def test_a_file_that_is_not_there(desk: Path) -> None:
    for path in (desk / "nowhere", desk, Path("\0")):
        with pytest.raises(InputError, match="must be the JSON file of an audit"):
            report(desk / "honest", audit=path)
    assert KEY.commitment() in (desk / "honest" / "certificate.json").read_text()
