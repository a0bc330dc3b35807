"""Bundles that someone changed and made to fit again: what they show by themselves, and what the holder can show.

A forger can make every digest again, the content's and the report's included. What then still fits the certificate
is a bundle that anyone could have made: that it is not the holder's, a signature tells, or source and key do.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.golden.cells import SETTINGS
from tests.security.bundles import (
    CASES,
    KEY,
    content_of,
    copied,
    failed,
    made,
    recipe_of,
    statement_of,
    write_report_again,
    write_statement,
)

from pramana import release, verify
from pramana.io.writing import write_table

PARQUET = [name for name, kind in CASES if kind == "parquet"]
NOWHERE = "no such value"
WITHOUT_DOMAINS = ("swap", "noise")  # methods that publish a source's own values, or numbers


def data_of(bundle: Path) -> Path:
    return next(p for p in bundle.iterdir() if p.name.startswith("data."))


def rows_of(bundle: Path) -> list[list[str]]:
    return list(csv.reader(data_of(bundle).read_text().splitlines()))


def write_rows(bundle: Path, rows: list[list[str]]) -> None:
    """As Pramana writes them: names in quotes, and what needs any."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(rows[0])
    csv.writer(lines, lineterminator="\n").writerows(rows[1:])
    data_of(bundle).write_text(lines.getvalue())


def change_table(bundle: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    data = data_of(bundle)
    write_table(change(pq.read_table(data)), data, "parquet")


def fit_again(bundle: Path) -> None:
    """All that a forger can make again: content, report, digests."""
    write_statement(bundle, statement_of(bundle), files=True)
    content = content_of(bundle)
    if content is not None:
        write_statement(bundle, {**statement_of(bundle), "content": content}, files=True)
    write_report_again(bundle)


def with_source(name: str, kind: str, tables: Path) -> dict[str, object]:
    return {"source": tables / (recipe_of(name, kind, tables).source.path or ""), "key": KEY}


# ---------------------------------------------------------------- columns, labels, the file


def more_columns(bundle: Path) -> None:
    if data_of(bundle).suffix == ".csv":
        rows = rows_of(bundle)
        write_rows(bundle, [[*row, "more" if place == 0 else "x"] for place, row in enumerate(rows)])
    else:
        change_table(bundle, lambda t: t.append_column("more", pa.array(["x"] * t.num_rows)))


def other_label(bundle: Path) -> None:
    """In a column that has a domain, or in the companion that stands for it."""
    statement = statement_of(bundle)
    name = next(a["name"] for a in statement["attributes"] if not a["raw"])
    if (bundle / "cells.csv").exists():
        lines = (bundle / "cells.csv").read_text().splitlines()
        first = lines[1].split(",")
        lines[1] = ",".join([*first[:2], NOWHERE, *first[3:]])
        (bundle / "cells.csv").write_text("\n".join(lines) + "\n")
    elif data_of(bundle).suffix == ".csv":
        rows = rows_of(bundle)
        rows[1][rows[0].index(name)] = NOWHERE
        write_rows(bundle, rows)
    else:
        change_table(bundle, lambda t: _relabelled(t, name))


def _relabelled(table: pa.Table, name: str) -> pa.Table:
    column = table[name].combine_chunks()
    place = table.column_names.index(name)
    if pa.types.is_dictionary(column.type):
        used = column.indices[0].as_py()
        texts = [NOWHERE if i == used else t for i, t in enumerate(column.dictionary.to_pylist())]
        changed = pa.DictionaryArray.from_arrays(column.indices, pa.array(texts))
    else:
        cells = column.to_pylist()
        first = cells[0]
        if isinstance(first, dict):
            cells[0] = {**first, "low": NOWHERE}
        else:
            cells[0] = [{**e, "value": NOWHERE} if isinstance(e, dict) else NOWHERE for e in first[:1]]
        changed = pa.array(cells, column.type)
    return table.set_column(place, table.field(name), changed)


def broken_companion(bundle: Path) -> None:
    """Another weight: what the rows of a class look like is told otherwise."""
    path = bundle / "cells.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",0"]) + "\n")


def _in_companion(name: str, kind: str) -> bool:
    """Whether a setting's cells stand in a table of their own."""
    setting = SETTINGS[name][0]
    cells, labels = setting.get("cells", "pdf"), setting.get("algorithm") == "spalm"
    by_class = setting["method"] == "generalize" and cells in ("pdf", "set")
    return kind == "csv" and (by_class or (setting["method"] == "presence" and not labels))


FORGED = [
    *((more_columns, *case) for case in CASES),
    *((other_label, *case) for case in CASES if SETTINGS[case[0]][0]["method"] not in WITHOUT_DOMAINS),
    *((broken_companion, *case) for case in CASES if _in_companion(*case)),
]


@pytest.mark.parametrize(("forge", "name", "kind"), FORGED)
def test_columns_and_labels_are_those_of_the_certificate(
    forge: Callable[[Path], None], name: str, kind: str, tables: Path, tmp_path: Path
) -> None:
    bundle = copied(made(name, kind, tables), tmp_path / "forged")
    forge(bundle)
    fit_again(bundle)
    assert failed(bundle) & {"data", "content"}


def metadata(bundle: Path) -> None:
    data = data_of(bundle)
    table = pq.read_table(data)
    pq.write_table(
        table.replace_schema_metadata({"note": "hidden"}), data, compression="none", write_statistics=False
    )


def statistics(bundle: Path) -> None:
    pq.write_table(pq.read_table(data_of(bundle)), data_of(bundle), compression="none")


def compression(bundle: Path) -> None:
    pq.write_table(pq.read_table(data_of(bundle)), data_of(bundle), compression="zstd", write_statistics=False)


@pytest.mark.parametrize("forge", [metadata, statistics, compression])
@pytest.mark.parametrize("name", ["retention k", "generalize labels", "presence flag"])
def test_a_file_holds_a_table_and_nothing_besides(
    forge: Callable[[Path], None], name: str, tables: Path, tmp_path: Path
) -> None:
    bundle = copied(made(name, "parquet", tables), tmp_path / "forged")
    forge(bundle)
    fit_again(bundle)
    assert failed(bundle) & {"data", "content"}


def _has_dictionary(name: str) -> bool:
    """Whether a setting publishes labels, which Parquet holds as a dictionary."""
    setting, columns = SETTINGS[name]
    if setting["method"] == "generalize":
        return bool(setting.get("cells") == "hierarchy")
    if setting["method"] == "presence":
        return bool(setting.get("algorithm") == "spalm")
    return setting["method"] not in ("microaggregate", *WITHOUT_DOMAINS) or any(
        "domain" in column for column in columns.values()
    )


@pytest.mark.parametrize("how", ["order", "surplus"])
@pytest.mark.parametrize("name", [name for name in PARQUET if _has_dictionary(name)])
def test_dictionaries_are_in_public_order_and_hold_nothing_more(
    how: str, name: str, tables: Path, tmp_path: Path
) -> None:
    bundle = copied(made(name, "parquet", tables), tmp_path / "forged")
    table = pq.read_table(data_of(bundle))
    names = [f.name for f in table.schema if pa.types.is_dictionary(f.type)]
    assert names

    def change(table: pa.Table) -> pa.Table:
        column = table[names[0]].combine_chunks()
        texts = column.dictionary.to_pylist()
        if how == "surplus":
            changed = pa.DictionaryArray.from_arrays(column.indices, pa.array([*texts, NOWHERE]))
        else:
            last = len(texts) - 1
            turned = [None if i is None else last - i for i in column.indices.to_pylist()]
            changed = pa.DictionaryArray.from_arrays(pa.array(turned, column.indices.type), pa.array(texts[::-1]))
        return table.set_column(table.column_names.index(names[0]), table.field(names[0]), changed)

    if how == "order" and len(table[names[0]].chunk(0).dictionary) == 1:
        pytest.skip("one label has one order")
    change_table(bundle, change)
    fit_again(bundle)
    assert failed(bundle) & {"data", "content"}


# ---------------------------------------------------------------- rows


def exchanged(bundle: Path) -> None:
    if data_of(bundle).suffix == ".csv":
        head, *rows = rows_of(bundle)
        other = next(i for i, row in enumerate(rows) if row != rows[0])
        rows[0], rows[other] = rows[other], rows[0]
        write_rows(bundle, [head, *rows])
        return
    rows = pq.read_table(data_of(bundle)).to_pylist()
    other = next(i for i, row in enumerate(rows) if row != rows[0])
    order = list(range(len(rows)))
    order[0], order[other] = other, 0
    change_table(bundle, lambda t: t.take(order))


def replaced(bundle: Path) -> None:
    if data_of(bundle).suffix == ".csv":
        head, *rows = rows_of(bundle)
        other = next(row for row in rows if row != rows[0])
        write_rows(bundle, [head, other, *rows[1:]])
        return
    cells = pq.read_table(data_of(bundle)).to_pylist()
    place = next(i for i, row in enumerate(cells) if row != cells[0])
    change_table(bundle, lambda t: t.take([place, *range(1, t.num_rows)]))


def doubled(bundle: Path) -> None:
    if data_of(bundle).suffix == ".csv":
        head, *rows = rows_of(bundle)
        write_rows(bundle, [head, *rows, *rows])
    else:
        change_table(bundle, lambda t: t.take([*range(t.num_rows), *range(t.num_rows)]))


@pytest.mark.parametrize("forge", [exchanged, replaced, doubled])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_other_rows_are_found_out(
    forge: Callable[[Path], None], name: str, kind: str, tables: Path, tmp_path: Path
) -> None:
    bundle = copied(made(name, kind, tables), tmp_path / "forged")
    forge(bundle)
    write_statement(bundle, statement_of(bundle), files=True)
    assert failed(bundle) & {"data", "content"}, "the content is certified"
    fit_again(bundle)
    wrong = failed(bundle)
    if forge is doubled:
        assert wrong, "and so is the number of records"
    if not wrong:
        assert failed(bundle, **with_source(name, kind, tables)) & {"made again"}, "which the holder can show"


@pytest.mark.parametrize("name", SETTINGS)
def test_twice_the_rows_with_the_records_changed(name: str, tables: Path, tmp_path: Path) -> None:
    """Twice the rows would be twice the k. The number is in every promise; and the source had another."""
    bundle = copied(made(name, "csv", tables), tmp_path / "forged")
    doubled(bundle)
    statement = statement_of(bundle)
    write_statement(bundle, {**statement, "records": 2 * statement["records"]}, files=True)
    fit_again(bundle)
    assert failed(bundle) or failed(bundle, **with_source(name, "csv", tables)) & {"source", "refused"}


@pytest.mark.parametrize("name", ["retention k", "retention record", "matrix", "levels"])
def test_data_that_contradicts_the_law(name: str, tables: Path, tmp_path: Path) -> None:
    """One value in all rows, though the law redraws a good part of them."""
    bundle = copied(made(name, "csv", tables), tmp_path / "forged")
    coded = [a["name"] for a in statement_of(bundle)["attributes"] if not a["raw"]]
    head, *rows = rows_of(bundle)
    for row in rows:
        for column in coded:
            row[head.index(column)] = rows[0][head.index(column)]
    write_rows(bundle, [head, *rows])
    fit_again(bundle)
    assert "law and data" in failed(bundle)


# ---------------------------------------------------------------- files


REPORTS: dict[str, Callable[[str], str]] = {
    "a number": lambda html: html.replace("records", "records and more", 1),
    "a script": lambda html: html.replace("</body>", "<script>alert(1)</script></body>"),
    "a picture that runs": lambda html: html.replace(
        "</body>", '<figure><svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg></figure></body>'
    ),
    "a picture more": lambda html: html.replace("</body>", "<svg><text>k is 1000</text></svg></body>"),
    "a picture that loads": lambda html: html.replace(
        "</p>", '<svg onload="alert(1)"></svg></p>', 1
    ),
    "words over the page": lambda html: html.replace(
        "</p>", '<svg style="position:fixed;top:0"></svg></p>', 1
    ),
    "an unfinished picture": lambda html: html.replace("</body>", "<figure><svg>" * 1000 + "</body>"),
}  # fmt: skip


@pytest.mark.parametrize("what", REPORTS)
@pytest.mark.parametrize("name", ["retention epsilon", "generalize labels", "presence flag", "invariant"])
def test_a_report_says_what_the_certificate_says(what: str, name: str, tables: Path, tmp_path: Path) -> None:
    bundle = copied(made(name, "parquet", tables), tmp_path / "forged")
    html = (bundle / "report.html").read_text()
    changed = REPORTS[what](html)
    assert changed != html
    (bundle / "report.html").write_text(changed)
    write_statement(bundle, statement_of(bundle), files=True)
    assert failed(bundle) == {"report"}


@pytest.mark.parametrize("file", ["data.parquet", "certificate.json", "report.html"])
def test_a_link_is_no_file_of_a_bundle(file: str, tables: Path, tmp_path: Path) -> None:
    bundle = copied(made("retention k", "parquet", tables), tmp_path / "forged")
    shutil.move(bundle / file, tmp_path / "elsewhere")
    (bundle / file).symlink_to(tmp_path / "elsewhere")
    assert failed(bundle)


def surplus(bundle: Path) -> Iterator[Path]:
    for name in ("more.html", ".hidden", "cells.csv", "data.csv", "certificate.json.bak"):
        yield bundle / name


def test_a_surplus_file_is_none_of_the_bundle_also_where_the_certificate_names_it(
    tables: Path, tmp_path: Path
) -> None:
    whole = made("retention k", "parquet", tables)
    for path in surplus(tmp_path / "forged"):
        bundle = copied(whole, tmp_path / "forged")
        path.write_text("x")
        assert "files" in failed(bundle)
        write_statement(bundle, statement_of(bundle), files=True)
        assert "files" in failed(bundle), path.name
    bundle = copied(whole, tmp_path / "forged")
    (bundle / "folder").mkdir()
    assert "files" in failed(bundle)
    for name in ("../data.parquet", "/etc/hostname", "a/b", ""):
        bundle = copied(whole, tmp_path / "forged")
        statement = statement_of(bundle)
        statement["files"][name] = statement["files"]["data.parquet"]
        write_statement(bundle, statement)
        assert failed(bundle), name


@pytest.mark.parametrize("name", SETTINGS)
def test_a_small_seed_that_is_not_told(name: str, tables: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "seeded"
    release(recipe_of(name, "csv", tables), bundle, seed=1999, threads=1, even_if_useless=True)
    assert verify(bundle, threads=1).valid
    honest = statement_of(made(name, "csv", tables))  # what an unseeded release promises and warns of
    statement = statement_of(bundle)
    statement["key"]["seeded"] = False
    forged = {**statement, "guarantees": honest["guarantees"], "warnings": honest["warnings"]}
    write_statement(bundle, forged)
    write_report_again(bundle)
    assert "key" in failed(bundle)
