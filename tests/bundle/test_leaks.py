"""What a bundle must not tell: no record, no key, no path, no order, no time, no trace of how it was computed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.randomness import documented

import pramana
from pramana import Recipe, release
from pramana.io.source import Source
from pramana.methods.protocol import Publication
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import method_named
from pramana.randomness.key import Key
from pramana.rows.engines import LocalEngine
from pramana.rows.memory import MemoryRows
from pramana.run import write

ROWS = 5_000
DOMAIN = ["delta", "alpha", "never", "charlie", "bravo"]
KEY = Key(bytes(range(32)))


def frame() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "name": [f"SecretName{i}" for i in range(ROWS)],
            "word": pa.array(np.array(["bravo", "charlie", "alpha", "delta"])[rng.integers(0, 4, ROWS)]),
            "age": rng.integers(0, 90, ROWS),
            "town": pa.array([f"town {i % 17}" for i in range(ROWS)]).dictionary_encode(),
        }
    ).replace_schema_metadata({"pandas": "SecretMetadata"})


def recipe(output: object = None, **release_: object) -> AnyRecipe:
    return Recipe.parse(
        {
            "output": output or {},
            "release": release_ or {"epsilon": 2},
            "attributes": {
                "name": {"role": "identifying"},
                "word": {"role": "quasi-identifying", "domain": DOMAIN},
                "age": {"role": "quasi-identifying", "bins": [0, 30, 60, 90]},
                "town": {"role": "insensitive"},
            },
        }
    )


def published(wanted: AnyRecipe, source: pa.Table, engine: LocalEngine) -> tuple[pa.Table, Publication]:
    """The published rows, without a bundle around them."""
    method = method_named("retention")
    names = [reading.name for reading in method.readings(wanted)]
    rows = MemoryRows(Source(frame=source).read(names), KEY, engine)
    plan = method.plan(wanted, rows)
    rows.encode(plan.attributes)
    publication = plan.publish(rows)
    return pa.concat_tables([publication.table.table(piece) for piece in publication.pieces()]), publication


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(recipe(), tmp_path_factory.mktemp("SecretFolder") / "out", data=frame(), key=KEY).bundle


def test_no_file_holds_a_name_the_key_or_a_path(bundle: Path) -> None:
    for path in bundle.iterdir():
        content = path.read_bytes()
        for secret in (b"Secret", KEY.secret, KEY.secret.hex().encode(), str(bundle.parent).encode()):
            assert secret not in content, path.name


def test_files_have_one_time_and_there_are_three(bundle: Path) -> None:
    assert sorted(p.name for p in bundle.iterdir()) == ["certificate.json", "data.parquet", "report.html"]
    assert {p.stat().st_mtime for p in (bundle, *bundle.iterdir())} == {946684800}


def test_dictionary_pages_are_the_whole_public_domain_in_public_order(bundle: Path) -> None:
    table = pq.read_table(bundle / "data.parquet")
    assert pa.types.is_dictionary(table.column("word").type), "the file keeps it a dictionary"
    for chunk in table.column("word").chunks:
        assert chunk.dictionary.to_pylist() == DOMAIN, "though the value 'never' never occurs in the source"
    for chunk in table.column("age").chunks:
        assert chunk.dictionary.to_pylist() == ["[0,30)", "[30,60)", "[60,90)"]
    assert table.column("town").type == pa.string(), "the source's dictionary does not come along"


def test_the_file_has_no_statistics_and_no_foreign_metadata(bundle: Path) -> None:
    file = pq.ParquetFile(bundle / "data.parquet")
    assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            assert not chunk.is_stats_set
            assert not chunk.has_offset_index and not chunk.has_column_index


def test_rows_are_in_the_keyed_order(bundle: Path) -> None:
    """By docs/certificate.md and library primitives, from the certificate and the key alone."""
    certificate = json.loads((bundle / "certificate.json").read_text())
    order = documented.order(KEY.secret, documented.context_of(certificate), ROWS)
    source = frame().column("town").to_pylist()
    assert pq.read_table(bundle / "data.parquet").column("town").to_pylist() == [source[row] for row in order]
    assert order != list(range(ROWS))


def test_the_content_is_the_documented_digest_of_what_is_published(bundle: Path) -> None:
    certificate = json.loads((bundle / "certificate.json").read_text())
    shown = pq.read_table(bundle / "data.parquet").to_pydict()
    labels = {a["name"]: a["domain"]["labels"] for a in certificate["attributes"] if not a["raw"]}
    codes = {name: (len(own), [own.index(cell) for cell in shown[name]]) for name, own in labels.items()}
    assert certificate["content"] == documented.content({**codes, "town": shown["town"]})
    other = [*shown["town"][1:], shown["town"][0]]
    assert certificate["content"] != documented.content({**codes, "town": other})


@pytest.mark.parametrize("coin", ["attribute", "record"])
def test_every_cell_is_the_documented_function_of_key_row_and_value(coin: str, tmp_path: Path) -> None:
    done = release(recipe(epsilon=2, coin=coin), tmp_path / "out", data=frame(), key=KEY).bundle
    certificate = json.loads((done / "certificate.json").read_text())
    law, context = certificate["mechanism"]["law"], documented.context_of(certificate)
    order = documented.order(KEY.secret, context, ROWS)
    true = {
        "word": [DOMAIN.index(word) for word in frame().column("word").to_pylist()],
        "age": [age // 30 for age in frame().column("age").to_pylist()],
    }
    labels = {a["name"]: a["domain"]["labels"] for a in certificate["attributes"] if not a["raw"]}
    coins = documented.words(KEY.secret, "coin", context, "", ROWS)
    for name, codes in true.items():
        drawn = documented.words(KEY.secret, "value", context, name, ROWS)
        if coin == "record":
            size, bound = law["sizes"][name], int(law["bound"])
            cells = map(documented.retained_record, coins, drawn, codes, [size] * ROWS, [bound] * ROWS)
        else:
            channel = law["channels"][name]
            size, step = channel["size"], int(channel["step"])
            cells = map(documented.retained, drawn, codes, [size] * ROWS, [step] * ROWS)
        published = list(cells)
        assert published != codes
        shown = pq.read_table(done / "data.parquet").column(name).to_pylist()
        assert shown == [labels[name][published[row]] for row in order]


@pytest.mark.parametrize("coin", ["attribute", "record"])
def test_threads_and_chunks_change_nothing(coin: str) -> None:
    wanted = recipe(epsilon=2, coin=coin)
    made = [
        published(wanted, frame(), LocalEngine(threads, chunk))
        for threads, chunk in ((1, 1 << 15), (2, 1 << 15), (1, 999), (2, 64), (3, ROWS + 1))
    ]
    assert all(table.equals(made[0][0]) for table, _ in made)
    assert len({(p.table.content(), p.commitment) for _, p in made}) == 1


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_two_runs_with_one_key_are_the_same_bytes(tmp_path: Path, format_: str) -> None:
    made = []
    for number, threads in enumerate((1, 2, 2)):
        parsed = recipe(output={"format": format_})
        out = release(parsed, tmp_path / str(number), data=frame(), key=KEY, threads=threads).bundle
        made.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert made[0] == made[1] == made[2]
    other = release(recipe(), tmp_path / "other", data=frame()).bundle
    assert (other / "data.parquet").read_bytes() != made[0].get("data.parquet")


def test_the_certificate_tells_what_it_must_and_no_more(bundle: Path) -> None:
    stated = json.loads((bundle / "certificate.json").read_text())
    assert stated["dropped"] == ["name"]
    assert [a["name"] for a in stated["attributes"] if a["raw"]] == ["town"]
    assert any("town" in w for w in stated["warnings"])
    assert set(stated["source"]) == {"format", "missing", "commitment"}
    notions = {g["notion"] for g in stated["guarantees"]}
    assert "central-differential-privacy" not in notions, "a raw column allows none"


@pytest.mark.parametrize(
    "line", ["F,SecretAge", "SecretSex,3", "F,3,SecretMore", '"SecretQuote,3', "F\xffSecret,3"]
)
def test_no_error_quotes_a_record(desk: Path, capfd: pytest.CaptureFixture[str], line: str) -> None:
    from pramana.app.main import run

    (desk / "people.csv").write_bytes(b"sex,age\nF,3\n" + line.encode("latin-1") + b"\nM,4\n")
    assert run(["release", "recipe.toml", "--out", "out"]) == 2
    shown = capfd.readouterr()
    assert "Secret" not in shown.out + shown.err
    assert "F,3" not in shown.err


def test_an_unforeseen_error_shows_its_kind_alone(
    desk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pramana.app.main import run

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("SecretValue")

    monkeypatch.setattr(write, "html_of", broken)
    assert run(["release", "recipe.toml", "--out", "out"]) == 70
    shown = capfd.readouterr()
    assert "Secret" not in shown.err and "RuntimeError" in shown.err and shown.err.count("\n") == 1
    assert sorted(p.name for p in desk.iterdir()) == ["people.csv", "recipe.toml"]


def test_a_seeded_release_says_so_everywhere(desk: Path) -> None:
    made = release(desk / "recipe.toml", desk / "out", seed=1)
    assert made.key_file is None and not (desk / "out.key").exists()
    assert any("not private" in w for w in made.certificate.warnings)
    assert all(any("seed" in a for a in g["assumptions"]) for g in made.guarantees)


def test_a_key_used_again_on_a_changed_table_shows_no_one() -> None:
    """With the same coins the two releases would differ in the changed person's row alone, and show it true."""
    before = frame()
    words = before.column("word").to_pylist()
    words[17] = "alpha" if words[17] == "bravo" else "bravo"
    after = before.set_column(before.column_names.index("word"), "word", pa.array(words))
    wanted = recipe(epsilon=2)
    made = [published(wanted, f, LocalEngine(1))[0] for f in (before, after)]
    differ = sum(a != b for a, b in zip(made[0].to_pylist(), made[1].to_pylist(), strict=True))
    assert differ > ROWS / 2


def test_a_private_report_is_for_its_owner_alone(desk: Path) -> None:
    """Whatever the umask, and also where an open one lay before."""
    release(desk / "recipe.toml", desk / "out")
    before = os.umask(0)
    try:
        private = pramana.report(desk / "out", source=desk / "people.csv")
        assert private.stat().st_mode & 0o777 == 0o600
        private.chmod(0o644)
        assert pramana.report(desk / "out", source=desk / "people.csv") == private
        assert private.stat().st_mode & 0o777 == 0o600
        assert pramana.report(desk / "out").stat().st_mode & 0o044 == 0o044, "the recipients' page is for all"
    finally:
        os.umask(before)
