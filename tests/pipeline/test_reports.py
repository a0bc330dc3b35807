from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.estimate.simulation import streams_of

import pramana
from pramana.app.main import run
from pramana.errors import BundleError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Product
from pramana.recipient.law import tabulate
from pramana.schema.domain import Axis

RECIPE = """
[source]
path = "people.csv"
[release]
{promise}
tables = [["sex", "age"], ["age"]]
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 65, 90]
[attributes.note]
role = "insensitive"
[attributes.name]
role = "identifying"
"""


def people(folder: Path, promise: str = "k = 20") -> Path:
    rng = np.random.default_rng(1)
    rows = zip(
        rng.choice(["F", "M"], 3_000), rng.integers(0, 90, 3_000), rng.choice(["x", "y"], 3_000), strict=True
    )
    lines = [f"Person-{i},{sex},{age},{note}" for i, (sex, age, note) in enumerate(rows)]
    (folder / "people.csv").write_text("\n".join(["name,sex,age,note", *lines]) + "\n")
    (folder / "recipe.toml").write_text(RECIPE.format(promise=promise))
    return folder / "recipe.toml"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    pramana.release(people(folder), folder / "out", seed=1)
    return folder / "out"


def test_every_bundle_carries_a_report_of_what_may_be_published(bundle: Path) -> None:
    text = (bundle / "report.html").read_text()
    for words in ("Linking a person to", "sex x age", "this release", "Left out before anything else: name",
                  "released unchanged", "not private", "<polyline"):  # fmt: skip
        assert words in text
    assert "Person-" not in text
    assert "NOT FOR RELEASE" not in text


@pytest.mark.parametrize("promise", ['epsilon = 2.0\ncoin = "record"', "retention = 0.5", "retention = 0"])
def test_every_kind_of_law_has_its_report(promise: str, tmp_path: Path) -> None:
    pramana.release(people(tmp_path, promise), tmp_path / "out", seed=1, even_if_useless=True)
    text = pramana.report(tmp_path / "out", tables=[] if promise == "retention = 0" else [["age"]])
    assert "What happened to the columns" in text.read_text()


def test_an_attribute_of_many_values_is_shown_in_part(tmp_path: Path) -> None:
    recipe = people(tmp_path, "retention = 0.5")
    ages = ", ".join(map(str, range(91)))
    recipe.write_text(recipe.read_text().replace("bins = [0, 20, 40, 65, 90]", f"bins = [{ages}]"))
    pramana.release(recipe, tmp_path / "out", seed=1)
    text = pramana.report(tmp_path / "out", source=tmp_path / "people.csv").read_text()
    assert "31 other values" in text
    assert text.count('<path class="true"') == 1 + 2 + 59  # the legend, sex, and the ages that are drawn


def test_only_what_is_claimed_is_drawn(tmp_path: Path) -> None:
    """Without a shuffle there is no Pk-anonymity, and so no curve of k."""
    with_k = (people(tmp_path).parent, "k = 20")
    without = (tmp_path / "plain", "epsilon = 2.0\nshuffle = false")
    without[0].mkdir()
    found = []
    for folder, promise in (with_k, without):
        pramana.release(people(folder, promise), folder / "out", seed=1)
        found.append((folder / "out" / "report.html").read_text())
    assert ">k</text>" in found[0]
    assert ">k</text>" not in found[1]
    assert "local epsilon" in found[1]


def test_report_command(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(bundle), "--table", "sex,age", "--json"]) == 0
    path = Path(json.loads(capsys.readouterr().out)["path"])
    assert path == bundle.with_name("out.report.html")
    text = path.read_text()
    assert "Reconstructed tables" in text
    assert "sex by age" in text
    assert pramana.verify(bundle).valid
    assert run(["report", str(bundle)]) == 0  # an earlier report may be written over


def test_the_holders_private_report_shows_the_truth_and_says_so(bundle: Path, tmp_path: Path) -> None:
    path = pramana.report(bundle, tmp_path / "private.html", source=bundle.with_name("people.csv"))
    text = path.read_text()
    assert text.count("NOT FOR RELEASE") == 2
    assert "true count, not for release" in text


def test_reports_never_touch_a_bundle_or_a_strangers_file(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="must not be written into the bundle"):
        pramana.report(bundle, bundle / "report.html")
    (tmp_path / "mine.html").write_text("my own page")
    with pytest.raises(BundleError, match="earlier report"):
        pramana.report(bundle, tmp_path / "mine.html")
    with pytest.raises(BundleError, match="folder that exists"):
        pramana.report(bundle, tmp_path / "no" / "where.html")
    with pytest.raises(BundleError, match="3000 records"):
        pramana.report(bundle, tmp_path / "r.html", source=pa.table({"sex": ["F"], "age": [3]}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--table", "sex,height"], "must be in the release"), (["--source", "nothing.csv"], "nothing.csv")],
)
def test_bad_reports_end_with_one_line(
    bundle: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(bundle), *arguments]) == 2
    captured = capsys.readouterr().err
    assert words in captured
    assert captured.count("\n") == 1


def test_plan_needs_only_the_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = people(tmp_path)
    (tmp_path / "people.csv").unlink()
    assert run(["plan", str(recipe), "--records", "100000", "--k", "10,100", "--epsilon", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tables"] == [["sex", "age"], ["age"]]
    choices = {(c["promise"], c["value"], c["coin"]): c for c in found["choices"]}
    assert len(choices) == 6
    for coin in ("attribute", "record"):
        assert choices["k", 10, coin]["k"] == pytest.approx(10)
        assert choices["epsilon", 2, coin]["epsilon"] == pytest.approx(2)
        assert choices["k", 10, coin]["errors"]["age"] < choices["k", 100, coin]["errors"]["age"]


def test_a_plans_errors_are_those_that_releases_have(tmp_path: Path) -> None:
    recipe = people(tmp_path)
    outlook = pramana.plan(recipe, ks=[20], epsilons=[], with_data=True)
    blind = pramana.plan(recipe, ks=[20], epsilons=[])
    choice = next(c for c in outlook.choices if c.coin == "attribute")
    assert choice.retention is not None
    assert choice.errors["sex x age"] == pytest.approx(blind.choices[0].errors["sex x age"], rel=0.05)
    rows = [line.split(",") for line in (tmp_path / "people.csv").read_text().splitlines()[1:]]
    codes = {
        "sex": np.array(["FM".index(row[1]) for row in rows], np.uint8),
        "age": (np.searchsorted([0, 20, 40, 65, 90], [int(row[2]) for row in rows], "right") - 1).astype(np.uint8),
    }
    law = Product({n: Retention.at(choice.retention, v) for n, v in (("sex", 2), ("age", 4))})
    axes = [Axis.of_labels("sex", "FM"), Axis.of_labels("age", "0123")]
    true = tabulate(codes, axes, law).counts
    errors = []
    for seed in range(60):
        out = {name: np.empty_like(c) for name, c in codes.items()}
        law.publish(streams_of(pramana.Key.from_seed(seed)), 0, codes, out)
        table = tabulate(out, axes, law)
        errors.append(np.abs(table.law.inverse(table.counts) - true).sum() / 3_000)
    assert np.mean(errors) == pytest.approx(choice.errors["sex x age"], rel=0.12)
    assert np.mean(errors) != pytest.approx(1.3 * choice.errors["sex x age"], rel=0.12)


def test_plan_writes_a_table_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = people(tmp_path)
    assert run(["plan", str(recipe), "--k", "2,20", "--out", str(tmp_path / "plan")]) == 0
    assert "L1 sex x age" in capsys.readouterr().out
    assert {p.name for p in (tmp_path / "plan").iterdir()} == {"plan.csv", "plan.md", "plan.svg", "plan.png"}


@pytest.mark.parametrize(
    ("arguments", "words"), [(["--k", "two"], "numbers"), (["--k", "1e9", "--epsilon", ","], "can be reached")]
)
def test_bad_plans_end_with_one_line(
    tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(people(tmp_path)), *arguments]) == 2
    captured = capsys.readouterr().err
    assert words in captured
    assert captured.count("\n") == 1
