"""A bundle that was touched anywhere is found out: exit 1 where it can be read, exit 2 where it cannot."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.conftest import PEOPLE, RECIPE
from tests.security.bundles import certificate_text, copied, failed, statement_of
from tests.security.edits import may_stay

from pramana import make_signing_key, release, verify
from pramana.app.main import run
from pramana.bundle.certificate import Certificate
from pramana.bundle.signing import read_signing_key
from pramana.errors import BundleError, KeyFileError


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "people.csv").write_text(PEOPLE)
    make_signing_key(folder / "holder")
    release(folder / "recipe.toml", folder / "out", threads=1)
    release(folder / "recipe.toml", folder / "signed", sign=folder / "holder", threads=1)
    yield folder


def ends(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capfd.readouterr()
    code = run(arguments)
    shown = capfd.readouterr()
    if code == 2:
        assert shown.out == "" and shown.err.count("\n") == 1
    else:
        assert shown.err == ""
    return code, shown.out + shown.err


def found_out(path: Path) -> bool:
    try:
        return not verify(path, threads=1).valid
    except BundleError:
        return True


@pytest.mark.parametrize("name", ["out", "signed"])
@pytest.mark.parametrize("file", ["certificate.json", "data.parquet", "report.html"])
def test_every_flipped_byte_is_found_out(bundle: Path, tmp_path: Path, name: str, file: str) -> None:
    copy = tmp_path / name
    shutil.copytree(bundle / name, copy)
    whole = (copy / file).read_bytes()
    step = max(1, len(whole) // 60)
    for place in range(0, len(whole), step):
        changed = bytearray(whole)
        changed[place] ^= (1, 2, 16, 32)[place % 4]
        (copy / file).write_bytes(changed)
        assert found_out(copy), f"byte {place} of {file}"
    (copy / file).write_bytes(whole)
    assert verify(copy).valid


def changes(statement: dict[str, object]) -> Iterator[tuple[str, object]]:
    wrong: list[object] = [None, 5, -1, "x", [], {}, [[]], True, 1e308, "\ud800", 10**30]
    for key in statement:
        for value in wrong:
            yield key, value


def signed_again(statement: dict[str, Any], holder: Ed25519PrivateKey) -> str:
    """The certificate as its own holder would write it: signature and digest are good, where it has a form."""
    whole = {name: value for name, value in statement.items() if name != "digest"}
    try:
        signer = {"algorithm": "Ed25519", "public_key": holder.public_key().public_bytes_raw().hex()}
        covered = rfc8785.dumps({**whole, "signature": signer})
        if whole["signature"] == statement["signature"] and isinstance(whole["signature"], dict):
            whole["signature"] = {**signer, "signature": holder.sign(covered).hex()}
    except (ValueError, TypeError):
        pass
    return certificate_text(whole)


def test_a_certificate_that_is_signed_again_is_good(bundle: Path, tmp_path: Path) -> None:
    """The forgeries below fail for what they say, not for how they are sealed."""
    copy = copied(bundle / "signed", tmp_path / "signed")
    statement, holder = statement_of(copy), read_signing_key(bundle / "holder")
    (copy / "certificate.json").write_text(signed_again(statement, holder))
    assert failed(copy) == set()
    (copy / "certificate.json").write_text(signed_again({**statement, "pramana": "0.0.0"}, holder))
    assert failed(copy) <= {"report"}


def test_every_certificate_of_the_wrong_shape_is_one_line(
    bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Sealed again each time, so that the shape is what is wrong."""
    copy = copied(bundle / "signed", tmp_path / "signed")
    statement, holder = statement_of(copy), read_signing_key(bundle / "holder")
    arguments = ["--source", str(bundle / "people.csv"), "--key", str(bundle / "signed.key")]
    places: list[tuple[str, ...]] = [(key,) for key in statement if key != "signature"]
    places += [(inner, key) for inner in ("mechanism", "key", "source") for key in statement[inner]]
    tried = by_the_seal = 0
    for place in places:
        part = statement if len(place) == 1 else statement[place[0]]
        for key, value in changes({place[-1]: part[place[-1]]}):
            if part[key] == value and isinstance(part[key], bool) == isinstance(value, bool):
                continue
            changed = {**part, key: value}
            edited = changed if len(place) == 1 else {**statement, place[0]: changed}
            (copy / "certificate.json").write_text(signed_again(edited, holder))
            code, said = ends(["verify", str(copy), *arguments], capfd)
            assert code in (1, 2) or may_stay(place, statement, edited, frozenset()), (place, value, said)
            noticed = {line.split()[1] for line in said.splitlines() if line.startswith("FAIL")}
            by_the_seal += code == 1 and noticed <= {"certificate:", "signature:"}
            tried += 1
    assert tried > 200 and by_the_seal < tried / 20, "what has no canonical form cannot be sealed"


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"format": NaN}', b"1" * 5000, b'"x"']
)
def test_what_is_no_certificate_is_bad_input(
    bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes
) -> None:
    copy = tmp_path / "out"
    shutil.copytree(bundle / "out", copy)
    (copy / "certificate.json").write_bytes(content)
    assert ends(["verify", str(copy)], capfd)[0] == 2


@pytest.mark.parametrize("damage", ["missing", "folder", "extra", "empty", "truncated"])
def test_a_file_that_is_gone_or_new_or_no_file(
    bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    copy = tmp_path / "out"
    shutil.copytree(bundle / "out", copy)
    data = copy / "data.parquet"
    whole = data.read_bytes()
    if damage == "extra":
        (copy / "more").write_text("")
    else:
        data.unlink()
    if damage == "folder":
        data.mkdir()
    if damage in ("empty", "truncated"):
        data.write_bytes(whole[: len(whole) // 2] if damage == "truncated" else b"")
    assert ends(["verify", str(copy)], capfd)[0] == 1


def test_a_changed_guarantee_with_its_digest_made_again_is_derived_otherwise(bundle: Path, tmp_path: Path) -> None:
    """Who changes a promise can make the digest again, but not the arithmetic, nor a signature."""
    copy = tmp_path / "signed"
    shutil.copytree(bundle / "signed", copy)
    statement = json.loads((copy / "certificate.json").read_text())
    statement["guarantees"][1]["value"] /= 2
    (copy / "certificate.json").write_text(Certificate.from_json(statement).text())
    wrong = {check.name for check in verify(copy).checks if not check.ok}
    assert wrong == {"signature", "guarantee local-differential-privacy", "data"}


def test_the_wrong_key_source_or_signer_is_a_no(
    bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out, source, key = str(bundle / "out"), str(bundle / "people.csv"), str(bundle / "out.key")
    assert ends(["verify", out, "--source", source, "--key", key], capfd)[0] == 0
    code, said = ends(["verify", out, "--source", source, "--key", str(bundle / "signed.key")], capfd)
    assert code == 1 and "not the key of this release" in said
    lines = PEOPLE.splitlines()
    for name, other in {
        "order": "\n".join([lines[0], *reversed(lines[1:])]),
        "fewer": "\n".join(lines[:-1]),
        "outside": PEOPLE.replace(",F,", ",SecretX,"),
    }.items():
        (tmp_path / name).write_text(other + "\n")
        code, said = ends(["verify", out, "--source", str(tmp_path / name), "--key", key], capfd)
        assert code == 1 and "FAIL  source" in said and "SecretX" not in said, name
    make_signing_key(tmp_path / "other")
    signed = str(bundle / "signed")
    assert ends(["verify", signed, "--public-key", str(bundle / "holder.pub")], capfd)[0] == 0
    assert ends(["verify", signed, "--public-key", str(tmp_path / "other.pub")], capfd)[0] == 1
    assert ends(["verify", out, "--public-key", str(bundle / "holder.pub")], capfd)[0] == 1
    for bad in (["--source", source], ["--key", key], ["--source", "nowhere", "--key", key],
                ["--source", source, "--key", source], ["--public-key", source], ["--public-key", "nowhere"],
                ["--seed", "1"], ["--source", source, "--key", key, "--seed", "1"]):  # fmt: skip
        assert ends(["verify", out, *bad], capfd)[0] == 2, bad


def test_a_signing_key_that_others_can_read_is_refused(tmp_path: Path, bundle: Path) -> None:
    make_signing_key(tmp_path / "open")
    (tmp_path / "open").chmod(0o640)
    with pytest.raises(KeyFileError, match="owner alone, got mode 640"):
        release(bundle / "recipe.toml", tmp_path / "out", seed=1, sign=tmp_path / "open")
    assert not (tmp_path / "out").exists()


def test_verifying_writes_nothing(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.conftest import snapshot

    before = snapshot(bundle)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert verify(bundle / "out", source=bundle / "people.csv", key=bundle / "out.key").valid
    assert snapshot(bundle) == before
