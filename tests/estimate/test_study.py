from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tests.estimate.simulation import streams_of
from tests.statistical.thresholds import COVERAGE_OF_FEW, COVERAGE_OF_HUNDREDS, LEAST_COVERAGE_OF_FITS

from pramana.errors import InputError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.randomness.key import Key
from pramana.recipient import likelihood
from pramana.recipient.filters import Filter
from pramana.recipient.law import PublishedTable, check_memory
from pramana.recipient.study import Study
from pramana.schema.domain import Axis, Domain

AXES = [
    Axis.of_labels("sex", ["F", "M"]),
    Axis.of_domain("age", Domain.from_bins([0, 20, 40, 65, 90], missing=True)),
    Axis.of_labels("income", ["low", "middle", "high"]),
]
SIZES = {a.name: a.size for a in AXES}
EACH = Product({name: Retention.at(0.6, size) for name, size in SIZES.items()})
WHOLE = RecordRetention.at(0.4, SIZES)


def people(records: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, records)
    age = rng.choice(5, records, p=[0.25, 0.3, 0.25, 0.15, 0.05])
    income = (rng.random(records) * (2.4 + 0.4 * sex + 0.2 * (age == 2))).astype(int)
    return {"sex": sex.astype(np.uint8), "age": age.astype(np.uint8), "income": income.astype(np.uint8)}


def published(true: dict[str, np.ndarray], mechanism: Mechanism, seed: int) -> Study:
    out = {name: np.empty_like(codes) for name, codes in true.items()}
    key = Key.from_seed(seed)
    mechanism.publish(streams_of(key), 0, true, out)
    return Study.of_codes(AXES, mechanism, out)


def unprotected(true: dict[str, np.ndarray]) -> Study:
    return Study.of_codes(AXES, Product({n: Retention.at(1, v) for n, v in SIZES.items()}), true)


def test_a_difference_is_that_of_the_measures_shown() -> None:
    """Also where a tiny group's share is impossible and was moved into its range."""
    moved = 0
    for seed in range(20):
        study = published(people(60, seed), EACH, seed)
        found = study.compare("sex = F", "sex = M", share="age >= 65")
        assert found.difference.estimate == found.first.estimate - found.second.estimate
        assert found.difference.low <= found.difference.estimate <= found.difference.high
        moved += found.first.estimate in (0.0, 1.0) or found.second.estimate in (0.0, 1.0)
    assert moved


QUESTIONS = {
    "total": lambda s: s.total("age >= 65 and sex = F"),
    "share": lambda s: s.share("income = high", where="sex = M and age < 65"),
    "mean": lambda s: s.mean("age", where="sex = F or income = low"),
    "difference of shares": lambda s: s.compare("sex = F", "sex = M", share="income = high").difference,
    "difference of means": lambda s: s.compare("income = low", "income = high", mean="age").difference,
    "overlapping groups": lambda s: s.compare("age < 65", "sex = M", share="income = low").difference,
}


@pytest.mark.parametrize("mechanism", [EACH, WHOLE], ids=["each", "record"])
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_measures_cover_what_the_private_table_says(question: str, mechanism: Mechanism) -> None:
    covered, narrow = [], []
    for seed in range(250):
        true = people(3_000, seed)
        want = QUESTIONS[question](unprotected(true)).estimate
        found = QUESTIONS[question](published(true, mechanism, seed))
        covered.append(found.low <= want <= found.high)
        narrow.append(abs(found.estimate - want) <= 0.6 * (found.high - found.low) / 2)
    least, most = COVERAGE_OF_FEW
    assert least <= np.mean(covered) <= most
    assert np.mean(narrow) < 0.9


def test_without_randomisation_everything_is_exact() -> None:
    true = people(500, 1)
    study = unprotected(true)
    old = (true["age"] == 3) & (true["sex"] == 0)
    assert study.total("age >= 65 and sex = F") == study.total("age = '[65,90)' and sex = F")
    assert study.total("age >= 65 and sex = F").estimate == old.sum()
    assert study.total("age >= 65 and sex = F").low == pytest.approx(old.sum())
    middles = np.array([10, 30, 52.5, 77.5, np.nan])[true["age"]]
    assert study.mean("age").estimate == pytest.approx(np.nanmean(middles))
    for method in ("em", "inverse"):
        table = study.crosstab(["sex"], "age >= 65", method=method, shares=True)
        want = np.bincount(true["sex"][true["age"] == 3], minlength=2)
        assert table.estimate == pytest.approx(want / want.sum(), abs=1e-3)


@pytest.mark.parametrize("mechanism", [EACH, WHOLE], ids=["each", "record"])
def test_filters_on_the_attributes_of_the_table_itself(mechanism: Mechanism) -> None:
    """A filter that mixes attributes of the table with others selects differently in different cells."""
    text = "sex = F and age >= 65 or income = high and sex = M"
    study = published(people(5_000, 2), mechanism, 2)
    table = study.crosstab(["sex", "income"], text, method="inverse")
    for cell in table.cells():
        one = study.total(f"({text}) and sex = {cell['sex']} and income = {cell['income']}")
        assert cell["estimate"] == pytest.approx(one.estimate, abs=1e-6)
        if one.estimate or one.high:
            assert (cell["low"], cell["high"]) == pytest.approx((one.low, one.high), rel=0.05, abs=5)
    assert sum(c["estimate"] for c in table.cells()) == pytest.approx(study.total(text).estimate)


@pytest.mark.parametrize("mechanism", [EACH, WHOLE], ids=["each", "record"])
def test_shares_of_a_table_cover(mechanism: Mechanism) -> None:
    covered: list[np.ndarray] = []
    fitted: list[np.ndarray] = []
    for seed in range(120):
        true = people(2_000, seed)
        want = unprotected(true).crosstab(["income"], "age >= 20", method="inverse", shares=True).estimate
        for method, kept in (("inverse", covered), ("em", fitted)):
            table = published(true, mechanism, seed).crosstab(["income"], "age >= 20", method=method, shares=True)
            kept.append((table.low <= want) & (want <= table.high))
            assert ((table.low <= table.estimate) & (table.estimate <= table.high)).all()
    least, most = COVERAGE_OF_HUNDREDS
    assert least <= np.mean(covered) <= most
    assert np.mean(fitted) >= LEAST_COVERAGE_OF_FITS


def test_em_is_never_negative_and_keeps_the_total() -> None:
    study = published(people(300, 3), EACH, 3)
    table = study.crosstab(["sex", "age", "income"])
    assert (table.estimate >= 0).all()
    assert table.estimate.sum() == pytest.approx(300)
    assert (table.low >= 0).all()
    assert (table.high <= 300).all()
    assert {c["age"] for c in table.cells()} == {"[0,20)", "[20,40)", "[40,65)", "[65,90)", None}


def test_profile_intervals_lie_around_the_fit() -> None:
    study = published(people(2_000, 4), EACH, 4)
    plain, profile = study.crosstab(["income"]), study.crosstab(["income"], profile=True)
    assert profile.low == pytest.approx(plain.low, abs=25)
    assert profile.high == pytest.approx(plain.high, abs=25)
    with pytest.raises(InputError, match="without a filter"):
        study.crosstab(["income"], "sex = F", profile=True)


def test_survey_weights() -> None:
    true = people(4_000, 5)
    weights = np.random.default_rng(5).integers(0, 3, 4_000).astype(np.uint8)
    study = published(true, EACH, 5)
    codes = dict(study.columns(list(SIZES)))
    axis = Axis.of_labels("weight", ["0.5", "1", "4"])
    codes["weight"] = weights
    axes = {**study.axes, "weight": axis}
    weighted = Study(axes, EACH, lambda names: {n: codes[n] for n in names}, 4_000, weights="weight")
    found = weighted.total("sex = F")
    want = np.array([0.5, 1, 4])[weights][true["sex"] == 0].sum()
    assert found.low <= want <= found.high
    assert found.high - found.low > study.total("sex = F").high - study.total("sex = F").low


def test_bad_questions_are_refused_in_one_line() -> None:
    study = published(people(100, 6), EACH, 6)
    questions: list[tuple[Callable[[], object], str]] = [
        (lambda: study.crosstab(["sexx"]), "Did you mean 'sex'"),
        (lambda: study.crosstab(["sex", "sex"]), "each attribute once"),
        (lambda: study.crosstab(["sex"], method="magic"), "one of em, inverse, smooth"),
        (lambda: study.crosstab(["sex"], "height > 3"), "must be in the release"),
        (lambda: study.mean("sex"), "numeric"),
        (lambda: study.compare("sex = F", "sex = M"), "share or of a mean"),
        (lambda: study.share("sex = F", "age < 20 and age >= 65"), "too small"),
        (lambda: study.crosstab(["sex"], shares=True, method="inverse", confidence=2.0), "strictly between"),
    ]
    for ask, words in questions:
        with pytest.raises(InputError, match=words) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_tables_larger_than_memory_are_refused_before_starting() -> None:
    axes = [Axis.of_labels(f"a{i}", [f"v{j}" for j in range(1000)]) for i in range(5)]
    mechanism = Product({a.name: Retention.at(0.5, 1000) for a in axes})
    codes = {a.name: np.zeros(3, np.uint16) for a in axes}
    with pytest.raises(InputError, match="must fit in memory"):
        Study.of_codes(axes, mechanism, codes).crosstab([a.name for a in axes])
    check_memory([10, 10], available=6400)
    with pytest.raises(InputError, match="100 cells"):
        check_memory([10, 10], available=6399)


def test_a_mean_needs_bins_that_end() -> None:
    axis = Axis.of_labels("age", ["0-4", "5-9", "10+"], missing=True)
    assert axis.middles[:3].tolist() == [2.5, 7.5, math.inf]
    assert math.isnan(axis.middles[3])
    codes = {"age": np.array([0, 1, 1, 2, 3], np.uint8)}
    study = Study.of_codes([axis], Product({"age": Retention.at(1, 4)}), codes)
    with pytest.raises(InputError, match="bins have an end"):
        study.mean("age")
    assert study.mean("age", "age < 10").estimate == pytest.approx(17.5 / 3)
    with pytest.raises(InputError, match="one axis for each"):
        PublishedTable.of_counts([axis], np.zeros((3,)), EACH)


def test_impossible_shares_keep_the_width_of_their_intervals() -> None:
    """Where noise puts a share above 1, the interval must not shrink to nothing."""
    found = [published(people(150, seed), EACH, seed).share("income = high", "sex = F") for seed in range(60)]
    assert any(m.estimate in (0.0, 1.0) for m in found)
    assert min(m.high - m.low for m in found) > 0.1


def test_means_by_cells() -> None:
    true = people(2_000, 7)
    cells = published(true, EACH, 7).means("age", ["sex", "income"], "age is not missing")
    exact = unprotected(true).means("age", ["sex", "income"], "age is not missing")
    assert [(c["sex"], c["income"]) for c in cells] == [(s, i) for s in "FM" for i in ("low", "middle", "high")]
    covered = [c["low"] <= e["estimate"] <= c["high"] for c, e in zip(cells, exact, strict=True)]
    assert sum(covered) >= 5


def test_means_of_labels_that_no_text_can_quote() -> None:
    """The old code put each cell into a filter's text, and a label with both kinds of quote broke it."""
    axes = [Axis.of_labels('he said "it\'s"', ["5' 11\"", "6'"]), Axis.of_labels("age", ["10", "20"])]
    codes = {axes[0].name: np.array([0, 0, 1], np.uint8), "age": np.array([0, 1, 1], np.uint8)}
    study = Study.of_codes(axes, Product({a.name: Retention.at(1, 2) for a in axes}), codes)
    cells = study.means("age", [axes[0].name])
    assert [(cell[axes[0].name], cell["estimate"]) for cell in cells] == [("5' 11\"", 15), ("6'", 20)]


def test_means_read_the_rows_once() -> None:
    true, reads = people(500, 9), []

    def columns(names: list[str]) -> dict[str, np.ndarray]:
        reads.append(names)
        return {n: true[n] for n in names}

    study = Study({a.name: a for a in AXES}, EACH, columns, 500)
    assert len(study.means("age", ["sex", "income"], "age is not missing")) == 6
    assert len(reads) == 1


def test_questions_take_filters_as_objects_and_parse_texts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = published(people(1_000, 8), EACH, 8)
    texts = "sex = F", "age >= 65", "income = high"
    women, old, rich = map(Filter.parse, texts)
    asked: dict[int, Callable[..., object]] = {
        1: lambda a, _, __: study.crosstab(["income"], a, method="inverse").cells(),
        2: lambda a, _, c: study.share(c, a),
        3: lambda a, b, c: (study.compare(a, b, share=c), study.compare(a, b, mean="age")),
        4: lambda _, b, c: (study.total(b), study.mean("age", c), study.means("age", ["sex"], c)),
    }
    want = {number: ask(women, old, rich) for number, ask in asked.items()}
    parsed: list[str] = []
    parse = Filter.parse

    def counted(text: str) -> Filter:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(Filter, "parse", counted)
    for number, ask in asked.items():
        assert ask(*texts) == want[number]
    assert len(parsed) == 1 + 2 + (3 + 2) + (1 + 1 + 1)


def test_an_impossible_unbiased_estimate_keeps_the_width_of_its_interval() -> None:
    """With inversion at -13.75 and a standard error of 12.3, the count may still be some 20."""
    counts = np.array([[20, 10, 15], [12, 25, 18]])
    codes = {
        "sex": np.repeat([0, 0, 0, 1, 1, 1], counts.ravel()).astype(np.uint8),
        "age": np.repeat([0, 1, 2, 0, 1, 2], counts.ravel()).astype(np.uint8),
    }
    axes = [Axis.of_labels("sex", ["F", "M"]), Axis.of_labels("age", ["a", "b", "c"])]
    study = Study.of_codes(axes, Product({"sex": Retention.at(0.5, 2), "age": Retention.at(0.4, 3)}), codes)
    inverse, em = study.crosstab(["sex", "age"], method="inverse"), study.crosstab(["sex", "age"])
    assert inverse.estimate[0, 1] == pytest.approx(-13.75)
    assert em.low[0, 1] == 0
    assert em.high[0, 1] == pytest.approx(inverse.high[0, 1])
    assert 1.9 * 12.3 < em.high[0, 1] < 1.96 * 12.3 + 4.5  # upward from 0; and at most a record


def test_a_table_says_how_near_its_likelihood_is_to_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    study = published(people(3_000, 1), EACH, 1)
    best = study.crosstab(["sex", "age", "income"])
    assert best.converged
    assert best.gap <= 1e-6
    assert best.stopped() == []
    assert best.estimate.sum() == pytest.approx(3_000)
    assert sum(cell["estimate"] for cell in best.shown()) == 3_000
    monkeypatch.setattr(likelihood, "MOST_MAXIMISED", 1)
    near = study.crosstab(["sex", "age", "income"])
    assert 1e-3 < near.gap <= 0.005 * 30
    assert near.stopped() == [f"The log-likelihood is within {near.gap:,.3g} of its maximum."]
    assert near.stopped()[0] in near.remarks()
