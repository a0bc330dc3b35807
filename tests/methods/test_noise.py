"""Noise for numbers: its law, what correlated noise keeps, how sums are rounded, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.statistical.thresholds import ACCEPT, OF_A_SHARE, REJECT, SHIFT

from pramana import Bundle, Recipe, open_study, plan, release, verify
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, PramanaError, RecipeError, SourceError
from pramana.io.source import Table
from pramana.methods.noise.columns import NoiseDesign, NoiseLoss, NoiseSums, design_of
from pramana.methods.noise.numbers import Moments, kept_share, moments_of, normals, root_of
from pramana.methods.protocol import coins_context
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.rows.memory import MemoryRows
from pramana.schema.domain import Attribute, Role
from pramana.schema.kind import Kind

ROWS = 20_000
SOURCE = "people.parquet"


def people(folder: Path, rows: int = ROWS) -> pa.Table:
    """Incomes hang on ages; `gaps` has missing values, and `same` one value."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 70, rows)
    table = pa.table(
        {
            "id": pa.array(range(rows)),
            "age": pa.array(age),
            "income": pa.array((1000 * age + rng.normal(0, 9000, rows)).round(2)),
            "height": pa.array(rng.normal(170, 9, rows).round(1)),
            "gaps": pa.array([None if i % 10 == 0 else i % 97 for i in range(rows)]),
            "same": pa.array([7] * rows),
            "exact": pa.array(rng.normal(0, 1, rows)),
            "town": pa.array([f"t{i % 5}" for i in range(rows)]),
        }
    )
    pq.write_table(table, folder / SOURCE)
    return table


def recipe(folder: Path, setting: dict[str, Any], **columns: dict[str, Any]) -> Any:
    stated = {"id": {}, **columns}
    content = {
        "source": {"path": SOURCE},
        "release": {"method": "noise", "shuffle": False, **setting},
        "attributes": {name: {"role": "insensitive", **column} for name, column in stated.items()},
    }
    return Recipe.parse(content, folder)


def published(folder: Path, setting: dict[str, Any], seed: int = 1, **columns: dict[str, Any]) -> pa.Table:
    """In source order, so that rows can be held against the source's."""
    out = folder / f"out {len(list(folder.iterdir()))}"
    release(recipe(folder, setting, **columns), out, seed=seed)
    found = verify(out, source=folder / SOURCE, seed=seed)
    assert found.valid, [check for check in found.checks if not check.ok]
    return pq.read_table(out / "data.parquet")


def numbers_of(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table.column(name).to_pylist(), float)


# ---------------------------------------------------------------- the law


def keyed(rows: int) -> np.ndarray:
    return normals(Key.from_seed(11).stream("test", "", "", 0).words(0, rows))


def test_draws_are_normal_and_others_are_refused() -> None:
    """By Kolmogorov and Smirnov; normal numbers with a little more spread, or of another shape, are caught."""
    draws = keyed(200_000)
    assert stats.kstest(draws, "norm").pvalue > ACCEPT
    assert stats.kstest(draws[::2] * draws[1::2], "norm").pvalue < REJECT
    assert stats.kstest(draws * (1 + 2 * SHIFT), "norm").pvalue < REJECT
    assert stats.pearsonr(draws[::2], draws[1::2]).pvalue > ACCEPT


def test_a_word_is_the_quantile_of_the_middle_of_its_cell() -> None:
    words = [0, 1 << 12, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 3 << 62]
    found = normals(np.array(words, np.uint64))
    for word, number in zip(words, found, strict=True):
        assert math.isclose(number, stats.norm.ppf(((word >> 12) + 0.5) / 2**52), rel_tol=1e-6, abs_tol=1e-12)
    assert found[0] == -found[2] and found[3] == -found[4], "symmetric about 0"
    assert abs(found[0]) < 8.3


@pytest.mark.parametrize(
    ("setting", "column", "spread"),
    [({"amount": 0.5}, {"noise": True}, None), ({}, {"spread": 700.0}, 700.0)],
    ids=["in deviations", "in units"],
)
def test_what_is_added_has_the_law_that_is_stated(
    tmp_path: Path, setting: dict[str, Any], column: dict[str, Any], spread: float | None
) -> None:
    source = people(tmp_path)
    true = numbers_of(source, "income")
    added = numbers_of(published(tmp_path, setting, income=column), "income") - true
    stated = spread or 0.5 * float(np.std(true, ddof=1))
    assert stats.kstest(added / stated, "norm").pvalue > ACCEPT
    assert of_spread(added, stated) > ACCEPT
    for wrong in (0.9, 1.1):
        assert of_spread(added, wrong * stated) < REJECT
    assert stats.pearsonr(added, true).pvalue > ACCEPT


def of_spread(added: np.ndarray, spread: float) -> float:
    """The p-value of normal numbers with mean 0 and this spread, by the sum of their squares."""
    squares = float(((added / spread) ** 2).sum())
    return 2 * float(min(stats.chi2.cdf(squares, len(added)), stats.chi2.sf(squares, len(added))))


def test_noise_of_two_columns_is_independent(tmp_path: Path) -> None:
    source = people(tmp_path)
    done = published(tmp_path, {}, income={"spread": 500.0}, height={"spread": 3.0})
    added = [numbers_of(done, n) - numbers_of(source, n) for n in ("income", "height")]
    assert stats.pearsonr(*added).pvalue > ACCEPT


def test_variances_can_be_corrected_by_what_the_certificate_says(tmp_path: Path) -> None:
    source = people(tmp_path)
    done = published(tmp_path, {"amount": 0.5}, income={"noise": True}, height={"spread": 4.0})
    for name, corrected in (
        ("income", np.var(numbers_of(done, "income"), ddof=1) / (1 + 0.5**2)),
        ("height", np.var(numbers_of(done, "height"), ddof=1) - 4.0**2),
    ):
        true = np.var(numbers_of(source, name), ddof=1)
        off = math.sqrt(
            2 / ROWS
        )  # relative standard error of a variance of normal numbers, at least that of these
        assert abs(corrected / true - 1) < OF_A_SHARE * off
        assert np.var(numbers_of(done, name), ddof=1) / true - 1 > 10 * off, "uncorrected they are too large"


# ---------------------------------------------------------------- correlated noise


def test_correlated_noise_keeps_means_and_covariances(tmp_path: Path) -> None:
    """And independent noise of the same amount does not, by far."""
    names = ("age", "income", "height")
    source = people(tmp_path)
    true = np.stack([numbers_of(source, n) for n in names])
    scale = np.std(true, axis=1, ddof=1)

    def off(kind: str) -> tuple[float, float]:
        done = published(tmp_path, {"amount": 0.8, "kind": kind, "decimals": 3}, 1, **dict.fromkeys(names, NOISY))
        after = np.stack([numbers_of(done, n) for n in names])
        means = np.abs(after.mean(axis=1) - true.mean(axis=1)) / scale
        moved = np.abs(np.cov(after) - np.cov(true)) / np.outer(scale, scale)
        return float(means.max()), float(moved.max())

    error = 1 / math.sqrt(ROWS)
    mean, covariance = off("correlated")
    assert mean < OF_A_SHARE * error and covariance < OF_A_SHARE * math.sqrt(2) * error
    assert off("independent")[1] > 0.5
    deviations = numbers_of(published(tmp_path, CORRELATED, 1, **dict.fromkeys(names, NOISY)), "income") - true[1]
    law = math.sqrt(2 - 2 * kept_share(0.8)) * scale[1]
    assert abs(np.std(deviations) / law - 1) < OF_A_SHARE * error


NOISY = {"noise": True}
CORRELATED = {"amount": 0.8, "kind": "correlated", "decimals": 3}


def test_a_case_by_hand() -> None:
    """Numbers 1, 2, 3, 6 have mean 3 and variance 14/3; beside 2, 4, 6, 12, the root of all covariances is
    (sqrt(14/3), 0) and (2 sqrt(14/3), 0), as the second column follows from the first."""
    found = moments([[1.0, 2, 3, 6], [2.0, 4, 6, 12]])
    assert found.mean("c0") == 3.0 and found.deviation("c0") == math.sqrt(14 / 3)
    assert list(found.covariances.values()) == [14 / 3, 28 / 3, 56 / 3]
    root = root_of([[14 / 3], [28 / 3, 56 / 3]])
    assert root[0] == [math.sqrt(14 / 3), 0.0]
    assert root[1][0] == pytest.approx(2 * math.sqrt(14 / 3)) and root[1][1] == 0.0
    assert kept_share(0.75) == 0.8


def moments(columns: Any) -> Moments:
    names = [f"c{i}" for i in range(len(columns))]
    design = NoiseDesign(kind="correlated", amount=0.5, columns=names, spread={}, decimals={})
    table = pa.table(dict(zip(names, map(pa.array, columns), strict=True)))
    rows = MemoryRows(Table({n: table.column(n) for n in names}, table.num_rows), Key.create())
    return moments_of(rows, design.columns, design.relative, design.kind == "correlated")


def test_covariances_and_roots_are_those_of_a_library() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 5):
        columns = rng.normal(0, 1, (size, 40)) * rng.uniform(0.1, 1e4, (size, 1))
        found = moments(columns)
        for (a, b), covariance in found.covariances.items():
            i, j = int(a[1:]), int(b[1:])
            assert covariance == pytest.approx(np.cov(columns).reshape(size, size)[i, j], rel=1e-12, abs=1e-9)
        matrix = np.atleast_2d(np.cov(columns))
        assert np.allclose(root_of(matrix.tolist()), np.linalg.cholesky(matrix), rtol=1e-9)


# ---------------------------------------------------------------- what is published


def test_a_published_cell_is_the_true_one_with_its_own_draw(tmp_path: Path) -> None:
    """From the documented parts: the key's stream of the column, a quantile by another library, and rounding."""
    source = people(tmp_path, 50)
    stated = recipe(tmp_path, {}, age={"spread": 8.0})
    done = published(tmp_path, {}, age={"spread": 8.0})
    rows = MemoryRows(Table({n: source.column(n) for n in ("id", "age")}, 50), Key.from_seed(1))
    rows.encode([Attribute("id", Role.INSENSITIVE, None), Attribute("age", Role.INSENSITIVE, None, Kind.NUMBER)])
    words = rows.stream("noise", coins_context("", "noise", design_of(stated), rows.commitment()), "age", 0).words(
        0, 50
    )
    quantiles = [NormalDist().inv_cdf(((int(word) >> 12) + 0.5) / 2**52) for word in words]
    expected = [round(age + 8 * q) for age, q in zip(source.column("age").to_pylist(), quantiles, strict=True)]
    assert done.column("age").to_pylist() == expected
    assert done.schema.field("age").type == pa.int64()


def test_sums_have_as_many_decimals_as_the_source_or_as_stated(tmp_path: Path) -> None:
    people(tmp_path, 300)
    done = published(tmp_path, {}, income={"spread": 900.0}, height={"spread": 200.0, "decimals": -2}, age=NOISED)
    for name, places in (("income", 2), ("height", -2), ("age", 1)):
        texts = [repr(x) for x in done.column(name).to_pylist()]
        assert all(float(t) == round(float(t), places) for t in texts)
        assert max(len(t.partition(".")[2]) for t in texts) <= max(places, 0)
    assert done.schema.field("height").type == pa.int64()


NOISED = {"spread": 1.0, "decimals": 1}


def test_missing_numbers_stay_missing_and_others_are_as_they_were(tmp_path: Path) -> None:
    source = people(tmp_path, 500)
    done = published(tmp_path, {"amount": 0.3}, gaps=NOISY, town={}, same={"spread": 5.0})
    before, after = source.column("gaps").to_pylist(), done.column("gaps").to_pylist()
    assert [x is None for x in before] == [x is None for x in after]
    assert done.column("town").equals(source.column("town"))
    assert len(set(done.column("same").to_pylist())) > 5, "a constant gets noise in units"


def test_the_same_key_gives_the_same_bytes_and_others_do_not(tmp_path: Path) -> None:
    people(tmp_path, 200)
    one, again, other = (published(tmp_path, {"amount": 0.5}, age=NOISY, seed=seed) for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)
    more = published(tmp_path, {"amount": 0.5000001}, age=NOISY)
    assert not one.equals(more), "another law has other draws"


def test_a_changed_cell_is_noticed_with_the_source(tmp_path: Path) -> None:
    source = people(tmp_path, 100)
    release(recipe(tmp_path, {"amount": 0.5}, age=NOISY), tmp_path / "out", seed=1)
    ages = source.column("age").to_pylist()
    other = source.set_column(1, "age", pa.array([ages[0] + 1, *ages[1:]]))
    pq.write_table(other, tmp_path / "other.parquet")
    assert not verify(tmp_path / "out", source=tmp_path / "other.parquet", seed=1).valid


# ---------------------------------------------------------------- what is said of it


def test_measures_are_for_the_holder_alone(tmp_path: Path) -> None:
    """They are told after a release and in a plan, and stand in no file."""
    people(tmp_path, 1000)
    stated = recipe(tmp_path, {"amount": 0.5}, age=NOISY, income=NOISY)
    done = release(stated, tmp_path / "out", seed=1)
    planned = plan(stated, with_data=True)
    for notes in (done.notes, planned.notes):
        assert any("IL1s" in note and "age" in note and "income" in note for note in notes)
        assert any("eigenvalues" in note for note in notes)
    for path in (tmp_path / "out").iterdir():
        assert b"IL1s" not in path.read_bytes() and b"igenvalue" not in path.read_bytes()
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert set(certificate["mechanism"]) == {"setting"}, "the law, and nothing that was measured"
    assert [g["notion"] for g in certificate["guarantees"]] == ["added-noise"] * 2
    assert all("bounds nothing" in g["words"] for g in certificate["guarantees"])


def test_recipients_are_told_that_nothing_bounds_the_truth(tmp_path: Path) -> None:
    """Also where one record is published, whose number has no company to be averaged with."""
    for rows in (1, 60):
        source = people(tmp_path, rows)
        out = tmp_path / f"out {rows}"
        release(recipe(tmp_path, {}, age={"spread": 5.0}), out, seed=1)
        study = open_study(out)
        mean, true = study.mean("age"), float(np.mean(numbers_of(source, "age")))
        assert not math.isfinite(mean.low) and not math.isfinite(mean.high)
        assert abs(mean.estimate - true) < OF_A_SHARE * 5 / math.sqrt(rows)
        for limit in (-1000, 45, 1000):  # also where all published numbers are on one side
            found = study.total(f"age >= {limit}")
            assert found.low == 0 and found.high == rows
        with pytest.raises(BundleError, match="released unchanged"):
            open_study(out, weights="age")


def test_measures_by_hand() -> None:
    """|differences| 1, 1, 0, 2 over sqrt(2) sqrt(14/3). Two columns of correlation r have eigenvalues 1 - r and
    1 + r: from r = 0.6 to 0 these differ by 0.6/0.4 + 0.6/1.6."""
    true, shown = [1.0, 2, 3, 6], [0.0, 1, 3, 8]
    loss = measured([true], [shown])
    assert loss.distance["c0"] == pytest.approx(1 / math.sqrt(2 * 14 / 3)) and loss.eigenvalues is None
    gap = [1.0, 2, 3, math.nan], [0.0, 1, 3, math.nan]
    assert measured([gap[0], gap[0]], [gap[1], gap[1]]).eigenvalues is None
    assert measured([gap[0]], [gap[1]]).distance["c0"] == pytest.approx((2 / 3) / math.sqrt(2))
    first, second, other = [-3.0, -1, 1, 3], [-1.0, -3, 3, 1], [1.0, -1, -1, 1]
    assert measured([first, second], [first, other]).eigenvalues == pytest.approx(0.6 / 0.4 + 0.6 / 1.6)
    assert measured([[7.0] * 4], [shown]) == NoiseLoss({}, None), "a constant has no deviation to compare with"


def measured(true: list[list[float]], shown: list[list[float]]) -> NoiseLoss:
    """Of two pieces, and of numbers far from their centres: neither matters."""
    before, after, centres = np.array(true), np.array(shown), np.arange(5.0, 5.0 + len(true))
    places = [0] * len(true)
    pieces = [NoiseSums.of(before[:, at], after[:, at], centres, places) for at in (slice(3), slice(3, 4))]
    return NoiseLoss.of([f"c{i}" for i in range(len(true))], pieces[0] + pieces[1])


@pytest.mark.parametrize(
    ("setting", "columns", "error", "words"),
    [
        ({"amount": 0.5}, {}, RecipeError, "must have a column that gets noise"),
        ({}, {"age": NOISY}, RecipeError, "no amount"),
        ({"amount": 0.5}, {"age": {"spread": 2.0}}, RecipeError, "an amount that no column takes"),
        ({"amount": 0.5, "kind": "correlated"}, {"age": {"spread": 2.0}}, RecipeError, "spread with kind"),
        ({"amount": 0.0}, {"age": NOISY}, RecipeError, "above 0"),
        ({"amount": 0.5}, {"age": NOISY, "town": {"decimals": 1}}, RecipeError, "decimals must be of a column"),
        ({"amount": 0.5}, {"age": {**NOISY, "bins": [0, 50, 99]}}, RecipeError, "as in the source"),
        ({"amount": 0.5, "k": 5}, {"age": NOISY}, RecipeError, "got 'k'"),
        ({"amount": 0.5, "epsilon": 1.0}, {"age": NOISY}, RecipeError, "got 'epsilon'"),
        ({"amount": 0.5}, {"town": NOISY}, SourceError, "must be a number to get noise"),
        ({"amount": 0.5}, {"same": NOISY}, SourceError, "must differ"),
        ({"amount": 0.5, "kind": "correlated"}, {"gaps": NOISY}, SourceError, "no missing values to get noise"),
        ({"amount": 0.01}, {"age": NOISY}, SourceError, "at least one step of its last digit, 1"),
        ({"amount": 0.5}, {"exact": NOISY}, SourceError, "at most 15 decimals"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, setting: dict[str, Any], columns: dict[str, Any], error: type[PramanaError], words: str
) -> None:
    people(tmp_path, 100)
    with pytest.raises(error, match=words):
        published(tmp_path, setting, **columns)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(columns=["nothing"]),
        lambda s: s.update(columns=["age", "age"]),
        lambda s: s.update(amount=None),
        lambda s: s.update(spread={"id": 3.0}),
        lambda s: s.update(kind="correlated", spread={"age": 3.0}),
    ],
)
def test_a_statement_that_does_not_fit_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    people(tmp_path, 50)
    release(recipe(tmp_path, {"amount": 0.5}, age=NOISY), tmp_path / "out", seed=1)
    stated = Bundle.open(tmp_path / "out").certificate.to_json()
    change(stated["mechanism"]["setting"])
    with pytest.raises(BundleError, match="must be of its columns"):
        restore(Certificate.from_json(stated))


def test_numbers_that_noise_makes_longer_than_doubles_hold_are_refused(tmp_path: Path) -> None:
    """The last digits of longer ones would be those of the double, and tell which numbers can have been below."""
    pq.write_table(pa.table({"id": range(40), "much": [9 * 10**15 + i for i in range(40)]}), tmp_path / SOURCE)
    with pytest.raises(SourceError, match="must have at most 15 digits in all"):
        release(recipe(tmp_path, {}, much={"spread": 1e14}), tmp_path / "out", seed=1)
