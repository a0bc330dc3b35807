"""Method presence from recipe to verified bundle: one file or two, every algorithm and mode, and bad input."""

from __future__ import annotations

import contextlib
import csv
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana
from pramana import PublishedCells, verify
from pramana.app.main import run
from pramana.errors import PramanaError, SourceError, UnreachableError
from pramana.holder.audit.presence import reversal
from pramana.theory import presence

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


AGES = ["20", "30", "40", "50"]
SEXES = ["F", "M"]
HIERARCHY_AGE = "20;young;*\n30;young;*\n40;old;*\n50;old;*\n"
HIERARCHY_SEX = "F;*\nM;*\n"


def world(folder: Path, people: int = 240) -> None:
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(people):
        age, sex = int(rng.integers(4)), int(rng.integers(2))
        ill = rng.random() < 0.15 + 0.1 * age
        rows.append([AGES[age], SEXES[sex], str(int(ill)), str(rng.integers(3))])
    rows.sort(key=lambda r: r[:2])
    (folder / "age.csv").write_text(HIERARCHY_AGE)
    (folder / "sex.csv").write_text(HIERARCHY_SEX)
    with (folder / "everyone.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "sex", "ill", "stage"], *rows])
    with (folder / "private.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "sex", "stage"], *[[a, s, g] for a, s, i, g in rows if i == "1"]])


def recipe(folder: Path, lines: str, two: bool = False, output: str = "parquet") -> Path:
    source = '[source]\npath = "private.csv"\n' if two else '[source]\npath = "everyone.csv"\n'
    pair = 'public = "everyone.csv"' if two else 'present = "ill"'
    place = folder / "recipe.toml"
    place.write_text(
        f'{source}[release]\nmethod = "presence"\n{pair}\n{lines}\n'
        '[attributes.age]\nrole = "quasi-identifying"\nhierarchy = "age.csv"\n'
        '[attributes.sex]\nrole = "quasi-identifying"\nhierarchy = "sex.csv"\n'
        f'[attributes.stage]\nrole = "sensitive"\n[output]\nformat = "{output}"\n'
    )
    return place


def independent(folder: Path, out: Path) -> tuple[float, float]:
    """Existence probabilities from the published file and everyone.csv alone, class by class."""
    opened = PublishedCells.open(out)
    ages, sexes = (opened.leaves[opened.names.index(n)] for n in ("age", "sex"))
    with (folder / "everyone.csv").open(newline="") as file:
        people = [(ages.index(r["age"]), sexes.index(r["sex"])) for r in csv.DictReader(file)]
    a, s = opened.names.index("age"), opened.names.index("sex")
    low, high, reached = 1.0, 0.0, 0
    levels = json.loads((out / "certificate.json").read_text())["mechanism"]["levels"]
    maps = {"age": [[0, 1, 2, 3], [0, 0, 1, 1], [0] * 4], "sex": [[0, 1], [0, 0]]}
    label = [maps[n][level] for n, level in zip(opened.names, levels, strict=True)]
    for c, n in enumerate(opened.sizes):
        f = [opened.cells[a].at(c), opened.cells[s].at(c)]
        one = (next(iter(f[0])), next(iter(f[1])))
        here = [p for p in people if all(label[i][p[i]] == label[i][one[i]] for i in range(2))]
        reached += len(here)
        w = [float(f[0].get(p[0], 0) * f[1].get(p[1], 0)) for p in here]
        least, most = presence.extremes(w, int(n))
        low, high = min(low, least), max(high, most)
    return (low if reached == len(people) else 0.0), high


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("algorithm", ["spalm", "wpalm", "ppalm", "optimal"])
@pytest.mark.parametrize("two", [False, True])
def test_bundles_verify_and_pass_an_independent_check(
    tmp_path: Path, algorithm: str, two: bool, output: str
) -> None:
    world(tmp_path)
    place = recipe(tmp_path, f'delta = [0.1, 0.6]\nalgorithm = "{algorithm}"', two, output)
    done = release(place, tmp_path / "out", key=None)
    value = done.guarantees[0]["value"]
    low, high = independent(tmp_path, tmp_path / "out")
    assert 0.1 <= value["lowest"] <= low + 1e-9
    assert high - 1e-9 <= value["highest"] <= 0.6
    assert (value["lowest"], value["highest"]) == pytest.approx((low, high), abs=2e-9)
    assert value["reversal"] == "withstood"
    source = tmp_path / ("private.csv" if two else "everyone.csv")
    found = verify(tmp_path / "out", source=source, key=done.key_file)
    assert found.valid, found.to_json()
    assert verify(tmp_path / "out", source=place, key=done.key_file) == found  # the recipe tells where it is
    names = {check.name for check in found.checks}
    assert {"made again", "content", "guarantee delta-presence"} <= names
    with (tmp_path / "private.csv").open(newline="") as file:
        stages = sorted(r["stage"] for r in csv.DictReader(file))
    published = PublishedCells.open(tmp_path / "out").others.column("stage").to_pylist()
    assert sorted(map(str, published)) == stages


def test_one_file_and_two_publish_the_same_cells(tmp_path: Path) -> None:
    world(tmp_path)
    cells = []
    for two in (False, True):
        out = tmp_path / f"out{two}"
        release(recipe(tmp_path, "delta = [0.1, 0.6]", two), out, seed=3)
        cells.append(sorted(map(str, pq.read_table(out / "data.parquet").select(["age", "sex"]).to_pylist())))
    assert cells[0] == cells[1]


def test_modes_are_named_and_their_reversal_told(tmp_path: Path) -> None:
    world(tmp_path)
    verdicts = {}
    for mode, more in (("private", ""), ("quantised", "\nquantum = 4"), ("noised", "\nnoise_epsilon = 0.2")):
        out = tmp_path / mode
        place = recipe(tmp_path, f'delta = [0.1, 0.6]\nalgorithm = "wpalm"\nmode = "{mode}"{more}')
        done = release(place, out)
        guarantee = done.guarantees[0]
        assert guarantee["value"]["mode"] == mode
        verdicts[mode] = guarantee["value"]["reversal"]
        warned = " ".join(done.certificate.warnings)
        assert ("reversal" in warned.lower()) == (verdicts[mode] != "withstood")
        assert verify(out, source=tmp_path / "everyone.csv", key=done.key_file).valid
    assert verdicts["private"] != "withstood"
    spent = json.loads((tmp_path / "noised" / "certificate.json").read_text())["guarantees"][0]["value"]
    assert 0 < spent["noise_epsilon"] <= 0.2 * (1 + 1e-9)


def test_distributions_searched_by_spalm(tmp_path: Path) -> None:
    """Levels at which the distributions themselves hold; the certificate says so, and verify makes them again."""
    world(tmp_path)
    for mode in ("public", "quantised"):
        out = tmp_path / mode
        lines = f'delta = [0.1, 0.6]\nalgorithm = "spalm"\ncells = "pdf"\nmode = "{mode}"'
        done = release(recipe(tmp_path, lines), out)
        assert done.certificate.mechanism["setting"]["start"] == "pdf"
        assert verify(out, source=tmp_path / "everyone.csv", key=done.key_file).valid
        low, high = independent(tmp_path, out)
        assert 0.1 <= low <= high <= 0.6
        assert low < high
        assert mode != "public" or reversal(out, tmp_path / "everyone.csv").ok
    assert done.guarantees[0]["value"]["mode"] == "quantised"


def test_how_the_levels_were_chosen_is_told(tmp_path: Path) -> None:
    world(tmp_path)
    said, warned, levels = {}, {}, {}
    ways = {"public": "", "searched": '\nchoose = "searched"', "given": "\nlevels = { age = 2, sex = 0 }"}
    for way, lines in ways.items():
        out = tmp_path / way
        done = release(recipe(tmp_path, f"delta = [0.1, 0.6]{lines}"), out)
        said[way], warned[way] = " ".join(done.guarantees[0]["assumptions"]), " ".join(done.certificate.warnings)
        levels[way] = done.certificate.mechanism["levels"]
        assert done.certificate.mechanism["levels_chosen"] == way
        assert verify(out, source=tmp_path / "everyone.csv", key=done.key_file).valid
        assert reversal(out, tmp_path / "everyone.csv").ok
    assert levels["given"] == [2, 0]
    assert "follow from the public table" in said["public"] and "levels were given" in said["given"]
    # Nobody is said to know the method and yet to draw nothing from the choice it made.
    assert "infers nothing from the choice of levels" in said["searched"] and "the method" not in said["searched"]
    assert all("knows the public table, the method" in said[way] for way in ("public", "given"))
    assert [way for way, words in warned.items() if "searched on the private table" in words] == ["searched"]


def test_who_is_present_does_not_move_the_levels(tmp_path: Path) -> None:
    """As many others present: the same levels, or nothing is published."""
    world(tmp_path)
    with (tmp_path / "everyone.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    chosen, wanted = set(), "delta = [0.0, 0.9]"
    for turn in range(4):
        marks = np.random.default_rng(turn).permutation([r["ill"] for r in rows])
        with (tmp_path / "everyone.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, rows[0])
            out.writeheader()
            out.writerows({**r, "ill": mark} for r, mark in zip(rows, marks, strict=True))
        with contextlib.suppress(UnreachableError):
            done = release(recipe(tmp_path, wanted), tmp_path / f"out{turn}")
            chosen.add(tuple(done.certificate.mechanism["levels"]))
    assert len(chosen) == 1


def test_given_levels_publish_what_the_counts_of_classes_and_public_table_say(tmp_path: Path) -> None:
    """Other people present, as many in each class: the same cells, so that nothing else can be read from them."""
    world(tmp_path)
    place = recipe(tmp_path, "delta = [0.1, 0.6]\nlevels = { age = 1, sex = 1 }")
    found = []
    for turn in range(2):
        if turn:
            with (tmp_path / "everyone.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
            for young in (True, False):
                here = [r for r in rows if (r["age"] in ("20", "30")) is young]
                marks = [r["ill"] for r in here]
                assert marks != marks[::-1]
                for r, mark in zip(here, marks[::-1], strict=True):
                    r["ill"] = mark
            with (tmp_path / "everyone.csv").open("w", newline="") as file:
                out = csv.DictWriter(file, ["age", "sex", "ill", "stage"])
                out.writeheader()
                out.writerows(rows)
        release(place, tmp_path / f"out{turn}", seed=3)
        table = pq.read_table(tmp_path / f"out{turn}" / "data.parquet").select(["age", "sex"])
        found.append(sorted(map(str, table.to_pylist())))
    assert found[0] == found[1]


def test_certificate_and_report_say_what_is_gained(tmp_path: Path) -> None:
    world(tmp_path)
    gains = {}
    for algorithm in ("spalm", "wpalm", "ppalm", "optimal"):
        place = recipe(tmp_path, f'delta = [0.1, 0.6]\nalgorithm = "{algorithm}"\ncompare = true')
        done = release(place, tmp_path / algorithm, seed=1)
        gains[algorithm] = done.certificate.mechanism["reached"]["expected_gains"]
        page = (tmp_path / algorithm / "report.html").read_text()
        assert "KL cost saved" in page
        assert f"{100 * gains[algorithm][algorithm]:.1f}%" in page
    assert all(g == gains["spalm"] for g in gains.values())  # each says all four
    assert gains["spalm"]["spalm"] == 0 < gains["spalm"]["ppalm"] <= gains["spalm"]["wpalm"]
    assert gains["spalm"]["wpalm"] <= gains["spalm"]["optimal"]
    place = recipe(tmp_path, 'delta = [0.1, 0.6]\nalgorithm = "wpalm"\nmode = "private"')
    done = release(place, tmp_path / "private", seed=1)
    # other algorithms' cells would tell more of the private counts
    assert list(done.certificate.mechanism["reached"]["expected_gains"]) == ["wpalm"]


def test_private_cells_may_exclude_a_value(tmp_path: Path) -> None:
    """Nobody of 30 is present: private counts give it no weight, and an expected cost would be infinite."""
    world(tmp_path)
    people = ["20,F,1,0", "20,F,1,1", "20,F,0,0", "30,F,0,0", "40,M,1,0", "40,M,0,1"]
    (tmp_path / "everyone.csv").write_text("\n".join(["age,sex,ill,stage", *people, ""]))
    for extra in ('algorithm = "wpalm"', 'algorithm = "spalm"\ncells = "pdf"'):
        out = tmp_path / extra[13:16]
        lines = f'delta = [0.0, 0.99]\nmode = "private"\nlevels = {{ age = 2, sex = 1 }}\n{extra}'
        done = release(recipe(tmp_path, lines), out, even_if_useless=True)  # two people, at the top
        certificate = json.loads((out / "certificate.json").read_text())
        assert certificate["mechanism"]["reached"]["expected_cost"] is None
        assert done.guarantees[0]["value"]["lowest"] == 0.0
        assert verify(out, source=tmp_path / "everyone.csv", key=done.key_file).valid
        assert "unbounded loss" in (out / "report.html").read_text()


def test_a_forged_range_is_found(tmp_path: Path) -> None:
    world(tmp_path)
    release(recipe(tmp_path, "delta = [0.1, 0.6]"), tmp_path / "out", seed=1)
    place = tmp_path / "out" / "certificate.json"
    place.write_text(place.read_text().replace('"dmax": 0.6', '"dmax": 0.5'))
    assert not verify(tmp_path / "out").valid


def test_public_table_gone_is_said(tmp_path: Path) -> None:
    world(tmp_path)
    done = release(recipe(tmp_path, "delta = [0.1, 0.6]", two=True), tmp_path / "out")
    (tmp_path / "everyone.csv").unlink()
    found = verify(tmp_path / "out", source=tmp_path / "private.csv", key=done.key_file)
    assert [c.name for c in found.checks if not c.ok] == ["public table"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("delta = [0.5, 0.9]", "dmin = 0.5 with"),
        ("delta = [0.0, 0.1]", "dmax = 0.1 with"),
        ("delta = [0.9, 0.1]", "smaller first"),
        ("delta = 0.5", "two numbers"),
        ("", "two numbers"),
        ('delta = [0.1, 0.6]\nalgorithm = "palm"', "algorithm must be one of"),
        ('delta = [0.1, 0.6]\nmode = "secret"', "mode must be one of"),
        ('delta = [0.1, 0.6]\nmode = "noised"', "noise_epsilon"),
        ("delta = [0.1, 0.6]\nquantum = 4", "quantum must go with"),
        ("delta = [0.1, 0.6]\nsuppression = 0.1", "nothing may be suppressed"),
        ("delta = [0.1, 0.6]\nk = 5", "presence makes no such promise"),
        ('delta = [0.1, 0.6]\nmeasure = "kl"', "measure must be one of"),
        ('delta = [0.1, 0.6]\ncells = "interval"', "cells must be one of"),
        ('delta = [0.1, 0.6]\ncells = "pdf"', 'must go with algorithm = "spalm"'),
        (
            'delta = [0.32, 0.321]\ncells = "pdf"\nalgorithm = "spalm"\nchoose = "searched"',
            "with distributions as its cells",
        ),
        ('delta = [0.1, 0.6]\nchoose = "searched"\nspread = 2', 'spread must go with choose = "public"'),
        ("delta = [0.1, 0.6]\nspread = 0.5", "spread must be a number of at least 1"),
        ("delta = [0.1, 0.6]\nlevels = 1", "every quasi-identifying column"),
        ("delta = [0.1, 0.6]\nlevels = { age = 1 }", "every quasi-identifying column"),
        ("delta = [0.1, 0.6]\nlevels = { age = 3, sex = 0 }", "from 0 to 2"),
        ("delta = [0.25, 0.4]\nlevels = { age = 0, sex = 0 }", "classes that have not, with shares"),
    ],
)
def test_bad_recipes_are_one_line_and_write_nothing(
    tmp_path: Path, lines: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path)
    assert run(["release", str(recipe(tmp_path, lines)), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_unmatched_rows_marks_and_missing_tables(tmp_path: Path) -> None:
    world(tmp_path)
    place = recipe(tmp_path, "delta = [0.1, 0.6]", two=True)
    with (tmp_path / "private.csv").open("a") as file:
        file.write("20,F,1\n" * 300)
    with pytest.raises(PramanaError, match=r"of \d+ rows without a match"):
        release(place, tmp_path / "out", seed=1)
    text = recipe(tmp_path, "delta = [0.1, 0.6]").read_text()
    place.write_text(
        text.replace('present = "ill"', 'present = "sex"').replace("[attributes.sex]", "[attributes.x]")
    )
    with pytest.raises(PramanaError, match="'x'"):
        release(place, tmp_path / "out", seed=1)
    place.write_text(text.replace('present = "ill"', 'present = "stage"'))
    with pytest.raises(PramanaError, match="must not be published"):
        release(place, tmp_path / "out", seed=1)
    place.write_text(text.replace('present = "ill"\n', ""))
    with pytest.raises(PramanaError, match="must have a public table"):
        release(place, tmp_path / "out", seed=1)
    place.write_text(text.replace('present = "ill"', 'public = "nowhere.csv"'))
    with pytest.raises(PramanaError, match="must exist"):
        release(place, tmp_path / "out", seed=1)
    bad = (tmp_path / "everyone.csv").read_text().replace(",1,", ",maybe,")
    (tmp_path / "everyone.csv").write_text(bad)
    place.write_text(text)
    with pytest.raises(PramanaError, match="by 1 and 0"):
        release(place, tmp_path / "out", seed=1)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="ascii", exclude_characters='"\\', min_codepoint=32), max_size=8),
    st.lists(st.floats(-1, 2), max_size=3),
)
KEYS = [
    "delta",
    "algorithm",
    "mode",
    "cells",
    "quantum",
    "noise_epsilon",
    "measure",
    "present",
    "public",
    "weights",
    "levels",
]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=4))
def test_no_recipe_makes_a_traceback(options: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world(folder, 40)
        given_ = {"delta": [0.0, 1.0], "present": "ill", **options}
        lines = "\n".join(f"{k} = {json.dumps(v)}" for k, v in given_.items() if v is not None)
        place = recipe(folder, lines)
        place.write_text(place.read_text().replace('present = "ill"\n', "", 1))
        assert run(["release", str(place), "--out", str(folder / "out"), "--seed", "1"]) in (0, 2)


def test_columns_without_a_hierarchy_and_a_recipe_without_a_source(tmp_path: Path) -> None:
    """A declared domain is generalised to everything at once; a marked public table is the source by itself."""
    world(tmp_path)
    place = recipe(tmp_path, 'delta = [0.1, 0.6]\npublic = "everyone.csv"')
    text = place.read_text().replace('[source]\npath = "everyone.csv"\n', "")
    text = text.replace('hierarchy = "sex.csv"', 'domain = ["F", "M"]').replace(
        'hierarchy = "age.csv"', "bins = [0, 35, 99]"
    )
    place.write_text(text)
    done = release(place, tmp_path / "out")
    assert verify(tmp_path / "out", source=tmp_path / "everyone.csv", key=done.key_file).valid


def test_domains_read_from_the_public_table_are_flagged(tmp_path: Path) -> None:
    world(tmp_path)
    place = recipe(tmp_path, "delta = [0.05, 0.6]")
    place.write_text(place.read_text().replace('hierarchy = "sex.csv"', 'domain = "from-data"'))
    done = release(place, tmp_path / "out")
    words = "Domains read from the public table, which tells which values occur in it: sex."
    assert words in done.certificate.warnings
    assert verify(tmp_path / "out").valid


@pytest.mark.parametrize("algorithm", ["spalm", "optimal"])
def test_who_asks_for_a_table_gets_expected_counts(
    tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path)
    release(recipe(tmp_path, f'delta = [0.05, 0.6]\nalgorithm = "{algorithm}"'), tmp_path / "out", seed=1)
    assert run(["crosstab", str(tmp_path / "out"), "--by", "age"]) == 0
    assert "what they leave possible" in capsys.readouterr().out


@pytest.mark.parametrize("domain", ["", 'domain = "from-data"'])
def test_values_that_the_public_table_lacks_are_refused_alike_in_every_home(tmp_path: Path, domain: str) -> None:
    """Someone of another sex, and someone whose sex is missing: counted, in memory and within a bound."""
    world(tmp_path)
    place = recipe(tmp_path, "delta = [0.05, 0.6]", two=True)
    if domain:
        place.write_text(place.read_text().replace('hierarchy = "sex.csv"', domain))
    private = tmp_path / "private.csv"
    before = private.read_text()
    for odd, said in (("20,X,1\n20,X,2\n", "2 rows outside it"), ("20,,1\n", "1 row without one")):
        private.write_text(before + odd)
        errors = []
        for memory in (None, 1 << 30):
            with pytest.raises(SourceError, match=said) as found:
                release(place, tmp_path / "out", seed=1, memory=memory)
            errors.append(str(found.value))
        assert errors[0] == errors[1]
