"""`pramana audit` on hostile bundles: it refuses in one line or attacks what is there, in bounded memory, tamely.

One test for each class of what was fixed: forged certificates, planted values, key races, escapes on a terminal,
Parquet bombs.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.audit.written_files import file_attacks
from tests.security.bundles import (
    KEY,
    certificate_text,
    copied,
    made,
    recipe_of,
    statement_of,
    write_statement,
)
from tests.security.edits import edits
from tests.security.fuzz import damaged
from tests.security.test_planted_values import PLANT, holds, recipe
from tests.security.test_planted_values import planted as planted  # the fixture
from tests.security.test_terminal import COLUMN, LABEL, SHORT, Screen, recipe_text

from pramana import release, report
from pramana.app.main import run
from pramana.errors import InputError, PramanaError
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import attack_page, write_attack_page
from pramana.run.trace import retraced

MEMORY = 300 << 20
POOL = pa.proxy_memory_pool(pa.default_memory_pool())  # outlives whatever was allocated in it


def attacked(bundle: Path, source: Path) -> str:
    """ "" where the files were attacked, else the one line by which the bundle was refused."""
    try:
        file_attacks(Attacked.of(retraced(bundle, source, KEY)))
    except PramanaError as error:
        assert "\n" not in str(error) and str(error).isprintable()
        return str(error)
    return ""


def source_of(name: str, kind: str, tables: Path) -> Path:
    return tables / (recipe_of(name, kind, tables).source.path or "")


# ---------------------------------------------------------------- forged certificates


FORGED = [
    ("retention k", "csv"), ("generalize labels", "parquet"), ("invariant", "parquet"), ("presence flag", "csv"),
    ("levels", "parquet"), ("microaggregate", "csv"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), FORGED)
def test_forged_certificates(name: str, kind: str, tables: Path, tmp_path: Path) -> None:
    """Edits with their digests made again, and damaged bytes: an error of ours, or an audit."""
    bundle, draw = made(name, kind, tables), random.Random(f"{name} {kind}")
    copy, source = copied(bundle, tmp_path / "copy"), source_of(name, kind, tables)
    assert attacked(bundle, source) == ""
    refused = 0
    for _, _, edited in draw.sample(list(edits(statement_of(bundle))), 16):
        write_statement(copy, edited)
        refused += attacked(copy, source) != ""
    text = (bundle / "certificate.json").read_bytes()
    for _ in range(6):
        (copy / "certificate.json").write_bytes(damaged(draw, text))
        refused += attacked(copy, source) != ""
    assert refused > 6


def test_a_certificate_that_claims_more_than_the_release_keeps(tables: Path, tmp_path: Path) -> None:
    """k is said to be a hundred times what it is: digests are good, and linkage counts for itself."""
    bundle = copied(made("generalize labels", "csv", tables), tmp_path / "forged")
    statement = statement_of(bundle)
    for guarantee in statement["guarantees"]:
        if guarantee["notion"] == "k-anonymity":
            guarantee["value"] = 100 * guarantee["value"]
    (bundle / "certificate.json").write_text(certificate_text(statement))
    found = audit_bundle(bundle, source_of("generalize labels", "csv", tables), KEY)
    assert "linkage, smallest class" in {attack.name for attack in found.attacks if not attack.ok}


# ---------------------------------------------------------------- Parquet bombs


def many_rows(bundle: Path) -> None:
    """Five million rows of one value: some kilobytes."""
    table = pq.read_table(bundle / "data.parquet")
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(5_000_000, np.int8)), table["sex"].chunk(0).dictionary
    )
    pq.write_table(pa.table({"sex": column, "age": column}), bundle / "data.parquet", compression="none")


def squeezed(bundle: Path) -> None:
    """Some kilobytes that stand for twenty megabytes, and might for as many gigabytes."""
    texts = pa.array(["x" * (1 << 16)] * 300)
    table = pa.table({"sex": texts, "age": texts})
    pq.write_table(table, bundle / "data.parquet", compression="zstd", use_dictionary=False)


def long_text(bundle: Path) -> None:
    """One text of sixteen megabytes, three hundred times: a number each."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(300, np.int8)), pa.array(["x" * (1 << 24)]))
    pq.write_table(pa.table({"sex": texts, "age": texts}), bundle / "data.parquet", compression="none")


def long_lists(bundle: Path) -> None:
    numbers = pa.array(np.zeros(8_000_000, np.int8))
    lists = pa.ListArray.from_arrays(pa.array(np.linspace(0, len(numbers), 301).astype(np.int32)), numbers)
    pq.write_table(pa.table({"sex": lists, "age": lists}), bundle / "data.parquet", compression="none")


@pytest.mark.parametrize("bomb", [many_rows, squeezed, long_text, long_lists])
def test_parquet_bombs(bomb: Callable[[Path], None], tables: Path, tmp_path: Path) -> None:
    bundle = copied(made("retention k", "parquet", tables), tmp_path / "bomb")
    bomb(bundle)
    write_statement(bundle, statement_of(bundle), files=True)
    assert (bundle / "data.parquet").stat().st_size < 40 << 20
    before = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        told = attacked(bundle, source_of("retention k", "parquet", tables))
    finally:
        pa.set_memory_pool(before)
    assert "data.parquet must" in told
    assert 0 < POOL.max_memory() < MEMORY


@pytest.mark.parametrize("name", ["retention k", "generalize pdf", "microaggregate"])
def test_damaged_files(name: str, tables: Path, tmp_path: Path) -> None:
    for kind in ("parquet", "csv"):
        bundle, draw = made(name, kind, tables), random.Random(name)
        data = next(path.name for path in bundle.iterdir() if path.name.startswith("data."))
        copy = copied(bundle, tmp_path / kind)
        for _ in range(12):
            (copy / data).write_bytes(damaged(draw, (bundle / data).read_bytes()))
            write_statement(copy, statement_of(copy), files=True)
            attacked(copy, source_of(name, kind, tables))
        (copy / data).unlink()
        (copy / data).symlink_to(bundle / data)
        assert "symbolic link" in attacked(copy, source_of(name, kind, tables))


# ---------------------------------------------------------------- terminals, planted values, keys


def test_escapes_on_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, screen = tmp_path / SHORT, Screen(capfd)
    folder.mkdir()
    rows = "".join(f"{'F' if i % 2 else LABEL},x{i % 3}\n" for i in range(60))
    (folder / f"{SHORT}.csv").write_text(f'"{COLUMN}",raw\n{rows}', newline="")
    (folder / "recipe.toml").write_text(recipe_text(COLUMN, LABEL, f"{SHORT}.csv"))
    out, key, source = (str(folder / name) for name in (f"o{SHORT}", f"o{SHORT}.key", f"{SHORT}.csv"))
    assert screen.shows("release", str(folder / "recipe.toml"), "--out", out)[0] == 0
    page = str(folder / f"{SHORT}.html")
    code, shown = screen.shows("audit", out, "--source", source, "--key", key, "--html", page)
    assert code == 0 and "epsilon of " in shown
    assert "\x1b" not in Path(page).read_text()
    code, shown = screen.shows("audit", out, "--source", source, "--key", key, "--json")
    assert code == 0
    (folder / "found.json").write_text(shown)
    assert screen.shows("report", out, "--audit", str(folder / "found.json"))[0] == 0
    for name in (SHORT, "\n\u202e"):
        for arguments in (
            ["audit", name, "--source", name, "--key", name],
            ["audit", out, "--source", name, "--key", key],
            ["audit", out, "--source", source, "--key", name],
            ["audit", out, "--source", source, "--key", key, "--also", name],
            ["report", out, "--audit", name],
        ):
            assert screen.shows(*arguments)[0] == 2, arguments


@pytest.mark.parametrize("name", ["retention k", "generalize labels", "presence flag"])
def test_planted_values(name: str, planted: Path, tmp_path: Path) -> None:
    wanted = recipe(name, planted, "csv")
    release(wanted, tmp_path / "out", key=KEY, threads=1, even_if_useless=True)
    found = audit_bundle(tmp_path / "out", wanted.source.path, KEY)
    (tmp_path / "found.json").write_text(json.dumps(found.to_json()))
    texts = [*found.sentences(), attack_page(found, "out"), (tmp_path / "found.json").read_text()]
    texts.append(report(tmp_path / "out", tmp_path / "r.html", audit=tmp_path / "found.json").read_text())
    assert not any(holds(text.encode()) for text in texts)
    assert holds(f"{PLANT} would be found".encode())


def test_the_audit_leaves_bundle_key_and_source_as_they_are(tables: Path, tmp_path: Path) -> None:
    """And a page's name is taken by the first of many, never through a link that someone has laid."""
    bundle = copied(made("retention k", "csv", tables), tmp_path / "out")
    KEY.write(tmp_path / "key")
    source = source_of("retention k", "csv", tables)

    def everything() -> dict[str, tuple[str, int]]:
        files = [*bundle.iterdir(), tmp_path / "key", source]
        return {str(p): (hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mode) for p in files}

    before = everything()
    found = audit_bundle(bundle, source, tmp_path / "key")
    assert everything() == before and {p.name for p in tmp_path.iterdir()} == {"out", "key"}
    won: list[str] = []

    def write(title: str) -> None:
        try:
            write_attack_page(found, title, tmp_path / "page.html")
            won.append(title)
        except InputError:
            pass

    threads = [threading.Thread(target=write, args=(f"writer {i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and won[0] in (tmp_path / "page.html").read_text()
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="already exists"):
        write_attack_page(found, "x", tmp_path / "link.html")
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_file_that_is_none(tables: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bundle, source = made("retention k", "csv", tables), source_of("retention k", "csv", tables)
    names: dict[str, Any] = {
        "empty": "",
        "short": "ab" * 31,
        "other": "ab" * 32,
        "long": "ab" * 4000,
        "no": "z" * 64,
    }
    for name, text in names.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
        assert run(["audit", str(bundle), "--source", str(source), "--key", str(tmp_path / name)]) == 2
        shown = capfd.readouterr()
        assert shown.out == "" and shown.err.count("\n") == 1 and (not text or text not in shown.err)
