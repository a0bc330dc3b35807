"""Bins published as midpoints or draws: the same codes, a law that is kept, and bundles that work as before."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.security.bundles import content_of, statement_of, write_report_again, write_statement
from tests.statistical.thresholds import ACCEPT, KEY, REJECT

from pramana import Bundle, Key, Recipe, open_study, randomise_record, release, verify
from pramana.bundle.published_numbers import WITHIN_BIN, PublishedNumbers, numbers_of
from pramana.errors import BundleError, PramanaError, RecipeError, SchemaError
from pramana.io.writing import write_table
from pramana.methods.recipe import AnyRecipe
from pramana.rows.engines import LEAST_MEMORY
from pramana.schema.domain import Domain
from pramana.schema.kind import BinNumbers, Kind

ROWS = 4_000
QUASI = {"role": "quasi-identifying"}
BORN = {"bins": {"calendar": "quarter", "from": "1990-01-01", "to": "1993-01-01"}}
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {**QUASI, "bins": {"width": 10, "from": 0}, "top": 80},
    "income": {**QUASI, "round": 500, "bottom": 0, "top": 3000},
    "hours": {**QUASI, "bins": [0, 0.5, 2, 7.25, 24]},
    "born": {**QUASI, **BORN, "missing": "category"},
}
MATRIX = (np.eye(4) * 0.5 + 0.125).tolist()
METHODS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]] = {
    "retention": ({"retention": 0.6}, COLUMNS),
    "record coin": ({"retention": 0.6, "coin": "record", "shuffle": False}, COLUMNS),
    "matrix": ({"method": "matrix"}, {"hours": {**COLUMNS["hours"], "matrix": MATRIX}}),
    "invariant": (
        {"method": "invariant", "xi": 0.5, "matrix": "published", "unreached": "publish"},
        {"age": COLUMNS["age"], "income": COLUMNS["income"]},
    ),
    "levels": (
        {"method": "levels", "retention": 0.4},
        {name: {**column, "role": "sensitive"} for name, column in COLUMNS.items()},
    ),
}
PUBLISH = ("interval", "midpoint", "draw")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    days = rng.integers(0, 3 * 365, ROWS)
    born = [datetime.date(1990, 1, 1) + datetime.timedelta(days=int(d)) for d in days]
    table = pa.table(
        {
            "age": rng.integers(0, 110, ROWS),
            "income": rng.normal(1500, 900, ROWS).round(2),
            "hours": rng.random(ROWS) * 24,
            "born": pa.array(born, mask=rng.random(ROWS) < 0.02),
        }
    )
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(table, path)
    return path


def recipe(people: Path, method: str, publish: str, form: str = "parquet") -> AnyRecipe:
    setting, columns = METHODS[method]
    attributes = {name: {**column, "publish": publish} for name, column in columns.items()}
    output = {"format": form}
    return Recipe.parse(
        {"source": {"path": str(people)}, "release": setting, "attributes": attributes, "output": output}
    )


# ---------------------------------------------------------------- releases


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("method", METHODS)
def test_numbers_tell_the_same_bins_and_are_made_again(
    method: str, form: str, people: Path, tmp_path: Path
) -> None:
    codes, tables = [], []
    names = list(METHODS[method][1])
    for publish in PUBLISH:
        bundle = tmp_path / publish
        stated = recipe(people, method, publish, form)
        release(stated, bundle, seed=5)
        streamed = tmp_path / f"{publish} streamed"
        release(stated, streamed, seed=5, memory=LEAST_MEMORY)
        for file in bundle.iterdir():
            assert file.read_bytes() == (streamed / file.name).read_bytes(), file.name
        checks = verify(bundle, source=people, seed=5)
        assert checks.valid, [check for check in checks.checks if not check.ok]
        assert [c.detail for c in checks.checks if c.name == "made again"] == ["byte for byte"]
        assert ("draws within bins" in {c.name for c in checks.checks}) == (publish == "draw")
        codes.append(Bundle.open(bundle).codes(names))
        study = open_study(bundle)
        tables.append(study.crosstab(names[:2]).estimate)
    for name in names:
        assert (codes[0][name] == codes[1][name]).all() and (codes[0][name] == codes[2][name]).all()
    assert (tables[0] == tables[1]).all() and (tables[0] == tables[2]).all()


def test_what_is_published_lies_in_its_bin_and_has_its_type(people: Path, tmp_path: Path) -> None:
    for publish in PUBLISH[1:]:
        release(recipe(people, "retention", publish), tmp_path / publish, seed=5)
        data = pq.read_table(tmp_path / publish / "data.parquet")
        expected = [
            pa.int64(),
            pa.int64(),
            pa.float64(),
            pa.date32(),
        ]  # tens, multiples, decimals, days
        assert data.schema.types == expected
        assert data["born"].null_count > 0
        bundle = Bundle.open(tmp_path / publish)
        for name, codes in bundle.codes(list(COLUMNS)).items():
            domain = bundle.certificate.attribute(name).coded
            labels = [None if v is None else str(v) for v in data[name].to_pylist()]
            again = [domain.missing_code if label is None else domain.code_of(label) for label in labels]
            assert again == codes.tolist()


def test_filters_speak_of_numbers_and_dates(people: Path, tmp_path: Path) -> None:
    release(recipe(people, "retention", "draw"), tmp_path / "out", seed=5)
    study = open_study(tmp_path / "out")
    true = pq.read_table(people)
    counts = {
        "age < 40": pc.less(true["age"], 40),
        "born >= 1991-01-01": pc.greater_equal(true["born"], datetime.date(1991, 1, 1)),
        "born <= 1990": pc.less(true["born"], datetime.date(1991, 1, 1)),
        "born > 1990-Q3": pc.greater(true["born"], datetime.date(1990, 9, 30)),
        "income < 250": pc.less(true["income"], 250),
    }
    for words, flags in counts.items():
        found, truth = study.total(words, confidence=0.9999), pc.sum(flags).as_py()
        assert found.low <= truth <= found.high, words
    with pytest.raises(PramanaError, match="must not cut"):
        study.total("born >= 1991-01-15")


def test_versions_at_levels_draw_a_row_with_the_same_coins(people: Path, tmp_path: Path) -> None:
    """So that versions together tell of a row what their bins tell: where these agree, so do the numbers."""
    numbers, codes = [], []
    for retention in (0.3, 0.6):
        stated = recipe(people, "levels", "draw")
        at = replace(stated, release=msgspec.structs.replace(stated.release, retention=retention))
        release(at, tmp_path / str(retention), seed=5)
        numbers.append(pq.read_table(tmp_path / str(retention) / "data.parquet")["age"].to_numpy())
        codes.append(Bundle.open(tmp_path / str(retention)).codes(["age"])["age"])
    alike = codes[0] == codes[1]
    assert 0.3 < alike.mean() < 0.9
    assert (numbers[0][alike] == numbers[1][alike]).all()


def test_one_record_is_published_the_same_way(people: Path) -> None:
    for publish in PUBLISH[1:]:
        stated = recipe(people, "retention", publish)
        seen = [
            randomise_record(stated, {"age": 33, "income": 1234, "hours": 3, "born": "1991-05-05"})
            for _ in range(9)
        ]
        by_name = {name: column.binning.domain() for name, column in stated.attributes.items() if column.binning}
        for one in seen:
            assert all(value is None or by_name[n].code_of(value) is not None for n, value in one.items())


# ---------------------------------------------------------------- the law of a draw

EDGES = st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=8, unique=True).map(sorted)


@given(EDGES, st.sampled_from([1, 10, 100]), st.sampled_from(["midpoint", "draw"]), st.data())
def test_every_number_of_a_bin_is_one_the_brute_force_knows(
    edges: list[int], scale: int, publish: Any, data: st.DataObject
) -> None:
    """Multiples of the step from edge to edge, by counting; what is written is read back."""
    bounds = [edge / scale for edge in edges]
    domain = Domain(
        Domain.from_bins(bounds).labels,
        "bins",
        edges=tuple(bounds),
        missing=True,
        kind=Kind.NUMBER,
        publish=publish,
    )
    stated = domain.numbers
    assert stated is not None
    step = 10**stated.decimals
    exact = [Fraction(edge, scale) for edge in edges]
    for (low, high), first, count in zip(pairwise(exact), stated.first, stated.counts, strict=True):
        inside = [n for n in range(first - 2, first + count + 2) if low <= Fraction(n, step) < high]
        if publish == "draw":
            assert inside == list(range(first, first + count))
        else:
            assert count == 1 and first in inside and Fraction(first, step) == (low + high) / 2
    numbers = PublishedNumbers("x", domain)
    positions = np.array(data.draw(st.lists(st.integers(0, numbers.size - 1), max_size=20)), np.uint32)
    column = numbers.column(positions.astype(numbers.positions(np.zeros(1, np.uint8)).dtype))
    assert (numbers.read(column) == positions).all()
    text = pa.array([None if v is None else repr(v) for v in column.to_pylist()], pa.string())
    assert (numbers.read(text.dictionary_encode()) == positions).all()


def test_draws_are_uniform_on_the_numbers_of_their_bin() -> None:
    """Every bin, every number; coins that are used twice over, and a law with one number less, are noticed."""
    bounds = (0.0, 3.0, 10.0, 64.0)
    labels = Domain.from_bins(bounds).labels
    numbers = PublishedNumbers("x", Domain(labels, "bins", edges=bounds, publish="draw"))
    rows = 60_000
    codes = np.repeat(np.arange(3, dtype=np.uint8), rows)
    words = Key(KEY).stream(WITHIN_BIN, "statistical", "x").words(0, 3 * rows)
    column = numbers.column(numbers.positions(codes, words)).to_numpy()
    for code, (low, high) in enumerate(pairwise(bounds)):
        seen = np.bincount(column[codes == code].astype(int), minlength=64)
        assert seen[: int(low)].sum() == 0 and seen[int(high) :].sum() == 0
        inside = seen[int(low) : int(high)]
        assert stats.chisquare(inside).pvalue > ACCEPT
        short = np.append(inside[:-2], inside[-2] + inside[-1])
        assert stats.chisquare(short).pvalue < REJECT
    both = stats.chi2_contingency(np.histogram2d(column[:rows], column[rows : 2 * rows], [3, 7])[0]).pvalue
    assert both > ACCEPT  # neighbouring columns' draws have nothing to do with each other


def test_a_bin_without_an_end_is_published_at_the_edge_it_has() -> None:
    stated = BinNumbers.of_bins("draw", (-np.inf, 10.0, 20.0, np.inf), Kind.NUMBER)
    assert (stated.first, stated.counts) == ((9, 10, 20), (1, 10, 1))
    rounded = BinNumbers.of_bins("midpoint", (-np.inf, 50.0, 150.0, np.inf), Kind.NUMBER, 100.0)
    assert (rounded.first, rounded.decimals) == ((0, 100, 200), 0)
    thirds = BinNumbers.of_bins("draw", (0.0, 1 / 3, 2 / 3, 1.0), Kind.NUMBER)
    assert thirds.step == "1e-06" and thirds.counts == (333334, 333333, 333333)
    with pytest.raises(SchemaError, match="has an end"):
        BinNumbers.of_bins("midpoint", (-np.inf, np.inf), Kind.NUMBER)
    with pytest.raises(SchemaError, match="at most"):
        BinNumbers.of_bins("draw", (0.0, 1e12), Kind.NUMBER)


# ---------------------------------------------------------------- what a forger can do


def fit_again(bundle: Path) -> None:
    """Every digest made again, the content's and the report's included."""
    write_statement(bundle, statement_of(bundle), files=True)
    content = content_of(bundle)
    write_statement(bundle, {**statement_of(bundle), **({"content": content} if content else {})}, files=True)
    write_report_again(bundle)


def changed(bundle: Path, name: str, column: pa.Array) -> None:
    data = pq.read_table(bundle / "data.parquet")
    place = data.schema.get_field_index(name)
    field = data.schema.field(name).with_type(column.type)
    write_table(data.set_column(place, field, column), bundle / "data.parquet", "parquet")
    fit_again(bundle)


def test_numbers_that_the_law_cannot_have_published_are_refused(people: Path, tmp_path: Path) -> None:
    release(recipe(people, "retention", "draw"), tmp_path / "out", seed=5)
    bundle = tmp_path / "out"
    fit_again(bundle)
    assert verify(bundle).valid
    honest = pq.read_table(bundle / "data.parquet")["hours"].to_numpy()
    wrong = {
        "between the multiples": np.append(honest[:-1], 3.0001),
        "outside the bins": np.append(honest[:-1], 24.0),
        "no number": np.append(honest[:-1], np.nan),
        "endless": np.append(honest[:-1], np.inf),
    }
    for values in wrong.values():
        changed(bundle, "hours", pa.array(values))
        failed = {check.name for check in verify(bundle).checks if not check.ok}
        assert "data" in failed
    changed(bundle, "hours", pa.array(honest))
    assert verify(bundle).valid
    changed(bundle, "hours", pa.array(honest.astype(str)))
    assert not verify(bundle).valid


def test_draws_that_were_put_where_someone_wanted_them_show(people: Path, tmp_path: Path) -> None:
    """Each in its bin, so that every count is as before; but at the lower end, as no chance has it."""
    release(recipe(people, "retention", "draw"), tmp_path / "out", seed=5)
    data = pq.read_table(tmp_path / "out" / "data.parquet")["age"].to_numpy()
    changed(tmp_path / "out", "age", pa.array(data // 10 * 10))
    failed = {check.name for check in verify(tmp_path / "out").checks if not check.ok}
    assert failed == {"draws within bins"}
    again = verify(tmp_path / "out", source=people, seed=5)
    assert "made again" in {check.name for check in again.checks if not check.ok}


def test_a_text_that_is_no_number_of_the_law_is_refused() -> None:
    numbers = PublishedNumbers("x", Domain(("[0,5)", "[5,10)"), "bins", edges=(0.0, 5.0, 10.0), publish="draw"))
    for text in ("1.5", "10", "-1", "one", "", "1e400", "9" * 30, "nan"):
        with pytest.raises(BundleError):
            numbers.read(pa.array([text]).dictionary_encode())
    assert numbers.read(pa.array(["4", "5"]).dictionary_encode()).tolist() == [4, 5]
    with pytest.raises(BundleError, match="no missing"):
        numbers.read(pa.array([1, None]))
    with pytest.raises(BundleError):
        numbers.read(pa.array([1.0]))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("method", ["generalize", "microaggregate", "presence"])
def test_methods_that_publish_cells_refuse_it_by_name(method: str) -> None:
    setting: dict[str, Any] = {"method": method, "k": 3}
    if method == "presence":
        setting = {"method": method, "delta": [0.1, 0.9], "public": "p.csv"}
    column = {**QUASI, "bins": [0, 5, 10], "publish": "draw"}
    with pytest.raises(RecipeError, match=f"with method '{method}', got 'publish'"):
        Recipe.parse({"release": setting, "attributes": {"age": column}})


@pytest.mark.parametrize("keys", [{"publish": "draw"}, {"top": 80}, {"round": 5, "bottom": 0, "top": 90}])
def test_a_column_released_unchanged_is_not_coded_and_says_so(
    keys: dict[str, Any], people: Path, tmp_path: Path
) -> None:
    bins = {} if "round" in keys else {"bins": [0, 80, 120]}
    attributes = {"income": COLUMNS["income"], "age": {"role": "insensitive", **bins, **keys}}
    stated = {"source": {"path": str(people)}, "release": {"retention": 0.5}, "attributes": attributes}
    with pytest.raises(RecipeError, match="released unchanged"):
        release(Recipe.parse(stated), tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("memory", [None, LEAST_MEMORY])
def test_values_outside_the_bounds_are_counted_and_not_shown(
    memory: int | None, people: Path, tmp_path: Path
) -> None:
    column = {**QUASI, "bins": {"width": 10, "from": 0, "to": 100}}
    stated = Recipe.parse(
        {"source": {"path": str(people)}, "release": {"retention": 0.5}, "attributes": {"age": column}}
    )
    outside = pc.sum(pc.greater_equal(pq.read_table(people)["age"], 100)).as_py()
    with pytest.raises(PramanaError, match=f"got {outside} rows outside it$"):
        release(stated, tmp_path / "out", seed=1, memory=memory)
    with pytest.raises(PramanaError, match="outside it: '100', '101', '102'"):
        release(stated, tmp_path / "out", seed=1, memory=memory, show_values=True)


def test_values_that_are_shown_stand_in_the_order_of_values(tmp_path: Path) -> None:
    """They stood in the order of their letters: 1000 before 200."""
    pq.write_table(pa.table({"n": ["1000", "200", "30", "5"]}), tmp_path / "n.parquet")
    column = {**QUASI, "bins": [0, 10, 20]}
    stated = {"source": {"path": "n.parquet"}, "release": {"retention": 0.5}, "attributes": {"n": column}}
    with pytest.raises(PramanaError, match="'30', '200', '1000'"):
        release(Recipe.parse(stated, tmp_path), tmp_path / "out", seed=1, show_values=True)


@pytest.mark.parametrize("memory", [None, LEAST_MEMORY])
@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.string(), "times", "years"]
)
def test_dates_of_every_type_find_their_period(kind: Any, memory: int | None, tmp_path: Path) -> None:
    days = [datetime.date(1979 + i % 40, 1 + i % 12, 1 + i % 28) for i in range(400)]
    column = pa.array(days)
    if kind == "years":
        column = pa.array([day.year for day in days])
    elif kind == "times":
        column = pa.array([f"{day}T23:59:59.5+02:00" for day in days])
    else:
        column = column.cast(pa.timestamp("s")).cast(kind) if pa.types.is_timestamp(kind) else column.cast(kind)
    pq.write_table(pa.table({"born": column}), tmp_path / "t.parquet")
    bins = {"calendar": "decade", "from": "1970-01-01", "to": "2020-01-01"}
    stated = {
        "source": {"path": "t.parquet"},
        "release": {"retention": 1.0, "shuffle": False},
        "attributes": {"born": {**QUASI, "bins": bins}},
    }
    release(Recipe.parse(stated, tmp_path), tmp_path / "out", seed=1, memory=memory)
    seen = pq.read_table(tmp_path / "out" / "data.parquet")["born"].to_pylist()
    assert seen == [f"{day.year // 10 * 10}s" for day in days]


def test_the_report_names_the_law_of_every_column(people: Path, tmp_path: Path) -> None:
    for publish, words in (
        ("draw", "a draw, uniform on the days in its bin"),
        ("midpoint", "the middle of its bin"),
    ):
        release(recipe(people, "retention", publish), tmp_path / publish, seed=5)
        report = (tmp_path / publish / "report.html").read_text()
        assert f"born is published as {words}" in report and "the multiple it was rounded to" in report


def test_only_columns_with_numbers_have_numbers(people: Path, tmp_path: Path) -> None:
    release(recipe(people, "retention", "interval"), tmp_path / "out", seed=5)
    assert numbers_of(Bundle.open(tmp_path / "out").certificate.attributes) == {}
    assert all("publish" not in a["domain"] for a in statement_of(tmp_path / "out")["attributes"])
