"""What the report of every method shows, in the order of the page, and what it must not say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from tests.golden import cells

import pramana
from pramana import Recipe
from pramana.app.main import run
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import PramanaError, RecipeError
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import restore
from pramana.pages.rendering import html_of
from pramana.reporting.page import PageMaterial, page_of
from pramana.run.write import file_entry

Make = Callable[[str], Path]
QUASI = {"role": "quasi-identifying"}
ENDS = ["How to use this release"]
MEANING = ["What the promises mean", "What the promises assume"]
STARTS = ["What is promised", "What happened to the columns", "What the tables are worth"]
DATA = ["What the data say"]
STRUCTURE = {  # the sections between those that every page has, and whether published counts are shown
    "retention epsilon": (["Privacy and usefulness"], DATA),
    "retention record": (["Privacy and usefulness"], DATA),
    "matrix": (["The matrices"], DATA),
    "invariant": (["Risks and errors"], DATA),
    "invariant two-stage": (["Risks and errors"], DATA),
    "levels": (["Privacy and usefulness"], DATA),
    "generalize pdf": (["Classes, risks and loss"], []),
    "generalize labels": (["Classes, risks and loss"], []),
    "generalize mondrian": (["Classes, risks and loss"], []),
    "generalize kl": (["Classes, risks and loss"], []),
    "presence flag": (["The chance of being present", "Classes and distributions"], []),
    "presence labels": (["The chance of being present", "Classes and distributions"], []),
}


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The bundle of a golden setting, made once."""
    folder = tmp_path_factory.mktemp("golden")
    cells.make_tables(folder)
    bundles: dict[str, Path] = {}

    def made(name: str) -> Path:
        if name not in bundles:
            setting, columns = cells.SETTINGS[name]
            content = {
                "source": {"path": cells.path_of(name, "parquet"), "dataset": "golden"},
                "release": dict(setting),
                "attributes": dict(columns),
            }
            bundles[name] = folder / name.replace(" ", "-")
            pramana.release(Recipe.parse(content, folder), bundles[name], even_if_useless=True)
        return bundles[name]

    return made


def text_of(bundle: Path) -> str:
    return (bundle / "report.html").read_text()


def words_of(html: str) -> str:
    bare = re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(bare).split())


def headings(html: str) -> list[str]:
    return [words_of(found) for found in re.findall(r"<h2.*?</h2>", html, re.DOTALL)]


@pytest.mark.parametrize("name", STRUCTURE)
def test_the_page_of_each_method_has_its_parts_in_order(name: str, make: Make) -> None:
    own, data = STRUCTURE[name]
    bundle = make(name)
    html, certificate = text_of(bundle), Certificate.read(bundle / "certificate.json")
    limits = [f"Known limits ({len(certificate.warnings)})"]
    assert headings(html) == [*STARTS, *own, *limits, *MEANING, *data, *ENDS]
    words, last = words_of(html), 0
    for guarantee in certificate.guarantees:  # the promises in their order, before anything but the title
        last = words.index(" ".join(guarantee["words"].split()), last)
    assert last < words.index("What happened to the columns")
    assert all(" ".join(warning.split()) in words for warning in certificate.warnings)


@pytest.mark.parametrize("name", STRUCTURE)
def test_every_assumption_stands_on_the_page_once(name: str, make: Make) -> None:
    bundle = make(name)
    guarantees = Certificate.read(bundle / "certificate.json").guarantees
    items = [words_of(item) for item in re.findall(r"<li>.*?</li>", text_of(bundle), re.DOTALL)]
    for assumption in {a for g in guarantees for a in g["assumptions"]}:
        assert items.count(" ".join(assumption.split())) == 1


@pytest.mark.parametrize("name", STRUCTURE)
def test_verify_makes_the_same_page_again(name: str, make: Make) -> None:
    checks = {check.name: check for check in pramana.verify(make(name)).checks}
    assert checks["report"].ok
    assert checks["report"].derived


@pytest.mark.parametrize("name", STRUCTURE)
def test_a_picture_comes_before_the_limits(name: str, make: Make) -> None:
    html = text_of(make(name))
    first = min(place for mark in ('<svg class="line"', 'class="steps"') if (place := html.find(mark)) > 0)
    assert first < html.index('id="limits"')


def altered(bundle: Path, folder: Path, change: Callable[[str], str]) -> Path:
    """The bundle with another report, certified anew as a stranger could."""
    folder.mkdir()
    for path in bundle.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "report.html").write_text(change(text_of(bundle)))
    certificate = Certificate.read(bundle / "certificate.json")
    files = {**certificate.files, "report.html": file_entry(folder / "report.html")}
    (folder / "certificate.json").write_text(replace(certificate, files=files).text())
    return folder


@pytest.mark.parametrize("change", ["drawing", "words"])
def test_a_page_that_draws_or_says_something_else_is_found_out(change: str, make: Make, tmp_path: Path) -> None:
    bundle = make("retention epsilon")
    old, new = {
        "drawing": ('<svg class="plot"', '<svg class="plot" opacity="0"'),
        "words": ("Known limits", "No limits"),
    }[change]
    assert pramana.verify(altered(bundle, tmp_path / "same", lambda html: html)).valid
    failed = [
        c.name
        for c in pramana.verify(altered(bundle, tmp_path / "other", lambda h: h.replace(old, new))).checks
        if not c.ok
    ]
    assert failed == ["report"]


def test_the_page_tells_who_signed_and_what_nobody_signed(make: Make, tmp_path: Path) -> None:
    assert "Signed by no one: nothing shows who made it" in words_of(text_of(make("matrix")))
    cells.make_tables(tmp_path)
    setting, columns = cells.SETTINGS["matrix"]
    recipe = Recipe.parse(
        {"source": {"path": "people.csv"}, "release": dict(setting), "attributes": dict(columns)}, tmp_path
    )
    public = pramana.make_signing_key(tmp_path / "holder.pem")
    pramana.release(recipe, tmp_path / "out", sign=tmp_path / "holder.pem")
    assert f"Signed with the key {public}" in words_of(text_of(tmp_path / "out"))
    assert pramana.verify(tmp_path / "out", public_key=tmp_path / "holder.pem.pub").valid


# ---------------------------------------------------------------- what the data say


def table_of(html: str, name: str) -> tuple[list[str], list[list[str]]]:
    """The bars of one column: the heads, and the rows."""
    part = html[html.index('id="data"') :]
    part = part[part.index(f"<h3><bdi>{name}</bdi></h3>") :]
    table = part[part.index("<table") : part.index("</table>")]
    heads = [words_of(h) for h in re.findall(r"<th.*?</th>", table, re.DOTALL)]
    rows = re.findall(r"<tr>(.*?)</tr>", table[table.index("<tbody>") :], re.DOTALL)
    return heads, [[words_of(c) for c in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]


@pytest.mark.parametrize(
    "name", ["retention epsilon", "retention record", "matrix", "levels", "invariant two-stage"]
)
def test_the_estimates_are_those_of_crosstab_and_sum_to_the_records(name: str, make: Make) -> None:
    bundle = make(name)
    for attribute in Certificate.read(bundle / "certificate.json").attributes:
        if attribute.raw:
            continue
        heads, rows = table_of(text_of(bundle), attribute.name)
        table = pramana.crosstab(bundle, [attribute.name])
        for head, key in (("estimate", "estimate"), ("from", "low"), ("to", "high")):
            assert [row[heads.index(head)] for row in rows] == [f"{cell[key]:,.0f}" for cell in table.shown()]
        shown = [int(row[heads.index("estimate")].replace(",", "")) for row in rows]
        assert sum(shown) == table.records
        assert np.abs(np.array(shown) - table.estimate).max() < 1
        assert min(shown) >= 0


def recipe_of(
    folder: Path, columns: dict[str, list[str]], release: dict[str, Any], domains: dict[str, Any]
) -> AnyRecipe:
    pacsv.write_csv(pa.table(columns), folder / "people.csv")
    attributes = {name: {**QUASI, **domain} for name, domain in domains.items()}
    content = {
        "source": {"path": "people.csv"},
        "release": {"method": "retention", **release},
        "attributes": attributes,
    }
    return Recipe.parse(content, folder)


def test_command_line_and_report_show_the_same_whole_numbers(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make("retention record")
    name = next(a.name for a in Certificate.read(bundle / "certificate.json").attributes if not a.raw)
    heads, rows = table_of(text_of(bundle), name)
    assert run(["crosstab", str(bundle), "--by", name]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    first = heads.index("estimate")
    assert [line[-3:] for line in lines] == [row[first : first + 3] for row in rows]


def test_of_a_thousand_dates_the_luckiest_are_shown_with_intervals_that_hold_together(tmp_path: Path) -> None:
    """One by one, the intervals of the most frequent dates would miss the truth far too often."""
    records = 5_000
    rng = np.random.default_rng(3)
    dates = [str(day) for day in np.datetime64("2020-01-01") + np.arange(1000)]
    born = rng.integers(0, 1000, records)
    columns = {"sex": rng.choice(["F", "M"], records).tolist(), "day": [dates[i] for i in born]}
    domains = {"sex": {"domain": ["F", "M"]}, "day": {"domain": dates}}
    pramana.release(recipe_of(tmp_path, columns, {"retention": 0.05}, domains), tmp_path / "out", seed=1)
    html = text_of(tmp_path / "out")
    heads, rows = table_of(html, "day")
    assert heads == ["value", "drawing", "published", "estimate", "from", "to"]
    assert len(rows) == 60
    assert rows[-1][0] == "941 other values"
    numbers = [[int(n.replace(",", "")) for n in row[2:4]] for row in rows]
    assert np.sum(numbers, axis=0).tolist() == [records, records]
    assert "with 95% chance all 1,000 hold at once" in words_of(html)
    assert "with 95% chance all 2 hold" not in words_of(html)

    true = np.bincount(born, minlength=1000)
    top = [dates.index(row[0]) for row in rows[:-1]]
    shown = np.array([[int(n.replace(",", "")) for n in row[4:6]] for row in rows[:-1]])
    assert ((shown[:, 0] <= true[top]) & (true[top] <= shown[:, 1])).all()
    study = pramana.open_study(tmp_path / "out")
    every = study.crosstab(["day"], simultaneous=True).shown()
    assert [[every[i]["low"], every[i]["high"]] for i in top] == shown.tolist()
    one_by_one = study.crosstab(["day"])
    assert ((one_by_one.low <= true) & (true <= one_by_one.high))[top].mean() < 0.85


def test_where_nothing_can_be_learned_the_page_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    names = [f"q{i}" for i in range(10)]
    columns = {name: rng.choice(list("abcd"), 3_000).tolist() for name in names}
    domains = {name: {"domain": list("abcd")} for name in names}
    recipe = recipe_of(tmp_path, columns, {"k": 1000}, domains)
    with pytest.raises(PramanaError, match="Something must be learned"):
        pramana.release(recipe, tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()
    pramana.release(recipe, tmp_path / "out", seed=1, even_if_useless=True)
    html = text_of(tmp_path / "out")
    assert "This release is useless: nothing can be learned from it" in words_of(html)
    assert "Nothing can be learned of these columns: q0, q1, q2, q3, q4, q5, q6, q7, q8, q9." in words_of(html)
    assert table_of(html, "q0")[0] == ["value", "drawing", "published"]
    assert 'class="estimate"' not in html
    assert "estimate of the true count" not in html


def test_a_column_of_pure_chance_and_one_that_tells_little(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = [f"v{i}" for i in range(40)]
    columns = {name: rng.choice(values, 2_000).tolist() for name in ("pure", "little", "much")}
    domains = {"pure": {"retention": 0.0}, "little": {"retention": 0.03}, "much": {"retention": 0.9}}
    recipe = recipe_of(tmp_path, columns, {}, {n: {**d, "domain": values} for n, d in domains.items()})
    pramana.release(recipe, tmp_path / "out", seed=1)
    html = text_of(tmp_path / "out")
    parts = {n: words_of(html[html.index(f"<h3><bdi>{n}</bdi>") :][:1500]) for n in domains}
    assert "drawn by chance alone" in parts["pure"]
    assert re.search("Little can be learned here: (none|[1-4]) of the 40 intervals begin above 0", parts["little"])
    assert "can be learned" not in parts["much"]
    assert "Nothing can be learned of these columns: pure." in words_of(html)


# ---------------------------------------------------------------- what a page must not say


def test_an_exchange_is_told_as_it_is(make: Make) -> None:
    words = words_of(text_of(make("invariant")))
    assert "town as in the source: no value is rare" in words
    assert "job exchanged within blocks" in words
    assert "generalised" not in words
    assert "estimate of the true count" not in words
    assert "derives every promise again" not in words
    assert "The matrices are withheld, so it compares the promises with the risks" in words
    assert "It derives every promise again" in words_of(text_of(make("invariant two-stage")))


def test_a_generalised_column_shows_its_level_and_what_a_label_stands_for(make: Make) -> None:
    html = text_of(make("generalize labels"))
    assert '<span>100</span><span class="here">10</span><span>2</span><span>1</span>' in html
    words = words_of(html)
    assert "age generalised 100 10 2 1 10 100 quasi-identifying" in words
    assert "sex as in the source 2 1 1 2 quasi-identifying" in words
    assert "illness released unchanged" in words
    assert "records left out 45 of 3,000" in words


def test_the_line_of_this_release_is_explained_where_it_is_drawn(make: Make) -> None:
    for name, drawn in (("retention epsilon", True), ("levels", True), ("matrix", False)):
        html = text_of(make(name))
        assert ('class="mark"' in html) == drawn
        assert ("The dotted line is where this release sits" in html) == drawn


def test_only_a_promised_k_has_a_curve(make: Make) -> None:
    """The levels' quasi-identifiers are none, so no k is promised; a retention's is."""
    assert ">k</text>" in text_of(make("retention epsilon"))
    assert ">k</text>" not in text_of(make("levels"))


# ---------------------------------------------------------------- a stranger's certificate


def test_a_strangers_certificate_makes_a_page_with_a_bound(make: Make) -> None:
    bundle = Bundle.open(make("retention epsilon"))
    plan = restore(bundle.certificate)
    counts = plan.examine(bundle).counts
    usual = len(html_of(page_of(PageMaterial(bundle.certificate, plan, counts))))
    long = "y" * 60_000
    many = [
        {**bundle.certificate.guarantees[0], "words": long, "assumptions": [f"{i} {long}"]} for i in range(2000)
    ]
    stranger = replace(
        bundle.certificate,
        dataset=long,
        method=long,
        guarantees=tuple(many),
        warnings=tuple(f"{i} {long}" for i in range(5000)),
        dropped=tuple(f"d{i}" for i in range(100_000)),
    )
    assert len(html_of(page_of(PageMaterial(stranger, plan, counts)))) < usual + 4_000_000


def test_names_and_values_from_a_table_are_words(tmp_path: Path) -> None:
    rows = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'] * 40
    name = "</style><b>"
    recipe = recipe_of(tmp_path, {name: rows}, {"retention": 0.5}, {name: {"domain": sorted(set(rows))}})
    pramana.release(recipe, tmp_path / "out", seed=1)
    html = text_of(tmp_path / "out")
    assert html.count("<style>") == html.count("</style>") == 1
    assert not re.search(r"<script|<img|<b>", html)
    assert words_of(html).count("<script>alert(1)</script>") == 1
    assert pramana.verify(tmp_path / "out").valid


def test_the_certificate_alone_decides_the_page(make: Make) -> None:
    """Read back from JSON, whose keys are sorted, it makes the same bytes: no order of a dictionary shows."""
    bundle = Bundle.open(make("presence flag"))
    again = Certificate.from_json(json.loads(bundle.certificate.text()))
    worth = restore(again).examine(bundle).usefulness
    pages = [
        html_of(page_of(PageMaterial(c, restore(c), {}, usefulness=worth))) for c in (bundle.certificate, again)
    ]
    assert pages[0] == pages[1] == text_of(bundle.path)


ABOUT = {
    "title": "Survey <2026>",
    "holder": "Office of Statistics",
    "contact": "desk 7",
    "recipient": "University & partners",
    "purpose": "teaching",
    "date": "2026-03-31",
}


def test_what_the_holder_says_of_a_release_stands_in_certificate_and_report(tmp_path: Path) -> None:
    """[about] goes in as it is written, escaped; a page without it names no holder and no recipient."""
    cells.make_tables(tmp_path)
    recipe = cells.document(*cells.SETTINGS["retention k"], "people.csv", "csv")
    plain = pramana.release(Recipe.parse(recipe, tmp_path), tmp_path / "plain", seed=1).bundle
    said = pramana.release(Recipe.parse({**recipe, "about": ABOUT}, tmp_path), tmp_path / "said", seed=1)
    assert said.certificate.about == ABOUT
    page, without = ((bundle / "report.html").read_text() for bundle in (said.bundle, plain))
    assert "<h1><bdi>Survey &lt;2026&gt;</bdi></h1>" in page
    for words in ("Office of Statistics", "desk 7", "University &amp; partners", "teaching", "2026-03-31"):
        assert words in page and words not in without
    assert ">Holder<" in page and ">Holder<" not in without and ">Recipient<" not in without
    assert pramana.verify(said.bundle).valid


@pytest.mark.parametrize("about", [{"titel": "x"}, {"title": ""}, {"title": 5}, {"holder": "x" * 501}])
def test_what_cannot_be_said_is_refused(about: dict[str, Any], tmp_path: Path) -> None:
    recipe = cells.document(*cells.SETTINGS["retention k"], "people.csv", "csv")
    with pytest.raises(RecipeError, match="about"):
        Recipe.parse({**recipe, "about": about}, tmp_path)
