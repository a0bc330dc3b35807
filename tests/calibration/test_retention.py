"""Calibration: what is promised is reached by what will be sampled, and nothing larger would do."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import UnreachableError
from pramana.mechanisms.channel import Dense, Redrawn, Retention, central_excess
from pramana.mechanisms.guarantees import Circumstances, guarantees_of, k_of
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.methods.retention import calibration as retention
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.usefulness import expected_error
from pramana.theory import rounding

SIZES = {"sex": 2, "age": 5, "income": 10}


def wanted(records: int = 100_000, **promise: float) -> Wanted:
    return Wanted(Circumstances(records), **promise)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 10**7),
    st.lists(st.integers(1, 200), min_size=1, max_size=8),
    st.floats(0, 1),
    st.one_of(st.none(), st.floats(0.01, 20)),
    st.sampled_from(["attribute", "record"]),
)
def test_what_is_promised_is_kept_exactly(
    records: int, sizes: list[int], place: float, epsilon: float | None, coin: str
) -> None:
    k = 1 + (records - 1) * place
    promise = Wanted(Circumstances(records), k, epsilon)
    mechanism = calibrate({str(i): v for i, v in enumerate(sizes)}, promise, coin)
    assert k_of(mechanism, promise.circumstances) >= Fraction(k)
    ratio = mechanism.likelihood_ratio
    if epsilon is not None:
        assert ratio is not None
        assert ratio <= rounding.exp_down(Fraction(epsilon))


@pytest.mark.parametrize("coin", ["attribute", "record"])
def test_a_hair_more_would_break_the_promise(coin: str) -> None:
    promise = wanted(k=100)
    mechanism = calibrate(SIZES, promise, coin)
    hair = Fraction(1, 1 << 60)
    if isinstance(mechanism, RecordRetention):
        more: Product | RecordRetention = RecordRetention.at(mechanism.retention + hair, SIZES)
    else:
        rho = max(c.retention for c in mechanism.channels.values() if isinstance(c, Retention))
        more = Product({n: Retention.at(rho + hair, v) for n, v in SIZES.items()})
    assert promise.is_kept_by(mechanism)
    assert not promise.is_kept_by(more)


def test_both_coins_reach_the_same_k_and_epsilon() -> None:
    each, one = calibrate(SIZES, wanted(k=100)), calibrate(SIZES, wanted(k=100), "record")
    a, b = each.likelihood_ratio, one.likelihood_ratio
    assert a is not None
    assert b is not None
    assert math.log(a) == pytest.approx(math.log(b), rel=1e-12) == pytest.approx(3.458897807392820)


def test_best_allocation_serves_the_tables_that_matter() -> None:
    tables = [("income",)]
    equal = calibrate(SIZES, wanted(k=100))
    best = calibrate(SIZES, wanted(k=100), allocation="best", tables=tables)
    assert wanted(k=100).is_kept_by(best)
    assert expected_error(best, ("income",), 100_000) < expected_error(equal, ("income",), 100_000) / 2
    total = best.likelihood_ratio
    assert total is not None
    assert math.log(total) == pytest.approx(3.458897807392820, rel=1e-6)  # nothing of the budget is left over


def test_best_coin_is_the_one_with_the_smaller_error() -> None:
    joint = calibrate(SIZES, wanted(k=100), "best", tables=[("sex", "age", "income")])
    assert isinstance(joint, RecordRetention)
    tables = [("sex",), ("age",), ("income",)]
    single = calibrate(SIZES, wanted(k=100), "best", tables=tables)
    others = [calibrate(SIZES, wanted(k=100), coin) for coin in ("attribute", "record")]
    errors = [sum(expected_error(law, table, 100_000) for table in tables) for law in (single, *others)]
    assert errors[0] < min(errors[1:])
    assert errors[1] < errors[2]


def test_the_sheets_variances() -> None:
    """Totals of n*(h-1): joint 16.9 against 521.9, two-way 15-17 against 52-87, one-way 8.5-15 against 4.9-8.9."""
    from pramana.methods.usefulness import variance_inflation

    each, one = calibrate(SIZES, wanted(k=100)), calibrate(SIZES, wanted(k=100), "record")
    names = list(SIZES)
    two = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert variance_inflation(one, names) - 1 == pytest.approx(16.9, abs=0.1)
    assert variance_inflation(each, names) - 1 == pytest.approx(521.9, abs=0.5)
    assert {round(variance_inflation(one, t) - 1) for t in two} <= {15, 16, 17}
    assert all(51 < variance_inflation(each, t) - 1 < 88 for t in two)
    assert all(8.4 < variance_inflation(one, [n]) - 1 < 15.5 for n in names)
    assert all(4.8 < variance_inflation(each, [n]) - 1 < 9.0 for n in names)


def test_unreachable_promises_say_why() -> None:
    with pytest.raises(UnreachableError, match="k must be at most the number of records, 10, got 11"):
        wanted(10, k=11)
    with pytest.raises(UnreachableError, match="epsilon must be a positive number of at most 1000, got 0"):
        wanted(10, epsilon=0)
    with pytest.raises(UnreachableError, match="neither k nor epsilon"):
        wanted(10)


def test_raw_columns_have_no_central_guarantee() -> None:
    mechanism = calibrate(SIZES, wanted(k=100))
    without = guarantees_of(mechanism, Circumstances(100_000))
    with_raw = guarantees_of(mechanism, Circumstances(100_000, raw_columns=("diagnosis",)))
    assert [g.notion for g in without] == [
        "pk-anonymity",
        "local-differential-privacy",
        "central-differential-privacy",
    ]
    assert [g.notion for g in with_raw] == ["pk-anonymity", "local-differential-privacy"]
    assert any("diagnosis" in a for a in with_raw[0].assumptions)


def test_source_order_has_no_pk_and_no_central_guarantee() -> None:
    mechanism = calibrate(SIZES, wanted(k=100))
    found = guarantees_of(mechanism, Circumstances(100_000, shuffled=False))
    assert [g.notion for g in found] == ["local-differential-privacy"]


def test_a_secret_sample_counts_for_more() -> None:
    mechanism = calibrate(SIZES, wanted(1000, k=10))
    assert k_of(mechanism, Circumstances(1000, candidates=50_000)) > k_of(mechanism, Circumstances(1000))


@pytest.mark.parametrize("coin", ["attribute", "record"])
@pytest.mark.parametrize("sizes", [{"a": 3}, {"a": 2, "b": 7, "c": 100}, {"a": 1, "b": 70_000}])
def test_as_much_anonymity_as_there_are_records_can_be_promised(sizes: dict[str, int], coin: str) -> None:
    """k = R takes a law that tells nothing: retention 0 misses it in integers where V does not divide 2^62."""
    promise = wanted(records=3, k=3)
    mechanism = calibrate(sizes, promise, coin)
    assert promise.is_kept_by(mechanism)
    assert k_of(mechanism, promise.circumstances) == 3
    assert mechanism.likelihood_ratio == 1
    found = {g.notion: g for g in guarantees_of(mechanism, promise.circumstances)}
    assert found["pk-anonymity"].value == 3
    assert found["local-differential-privacy"].value == 0
    assert "at most 1 times" in found["local-differential-privacy"].in_words()


def test_any_positive_epsilon_can_be_promised() -> None:
    mechanism = calibrate({"a": 3}, wanted(epsilon=1e-300))
    assert mechanism == Product({"a": Redrawn(3)})


def test_the_law_that_tells_nothing_is_only_taken_where_it_must_be() -> None:
    """Where integers of retention 0 are enough the law, and with it the published bytes, stays what it was."""
    found = calibrate({"a": 4}, wanted(records=3, k=3))
    assert found == Product({"a": Retention.at(0, 4)})
    found = calibrate({"a": 3}, wanted(records=3, k=2.9999))
    assert isinstance(found, Product)
    assert type(found.channels["a"]) is Retention


def test_a_sampled_table_can_promise_all_candidates() -> None:
    circumstances = Circumstances(10, candidates=50)
    mechanism = calibrate({"a": 3}, Wanted(circumstances, 50))
    assert k_of(mechanism, circumstances) == 50


def certified(mechanism: Mechanism, circumstances: Circumstances) -> float:
    by_notion = {g.notion: g.value for g in guarantees_of(mechanism, circumstances)}
    return float(by_notion["central-differential-privacy"]["epsilon"])


@pytest.mark.parametrize("coin", ["attribute", "record"])
@pytest.mark.parametrize(
    ("records", "delta", "central", "sizes"),
    [
        (50, 1e-3, 0.8, SIZES),
        (1000, 1e-6, 0.1, {"a": 2}),
        (100_000, 1e-6, 0.123456, {"a": 100}),
        (100_000, 1e-12, 0.5, SIZES),
        (10**9, 1e-9, 0.002, {"a": 20}),
        (100, 1e-6, 1e-9, {"a": 2, "b": 5}),
        (100_000, 1e-6, 0.1, {"a": 100}),
    ],
)
def test_a_central_promise_is_kept_by_what_is_certified_and_just_so(
    records: int, delta: float, central: float, sizes: dict[str, int], coin: str
) -> None:
    promise = Wanted(Circumstances(records, delta=delta), central=central)
    mechanism = calibrate(sizes, promise, coin)
    assert promise.is_kept_by(mechanism)
    assert certified(mechanism, promise.circumstances) <= central
    more = Fraction(max(mechanism.retentions())) * Fraction(1001, 1000)
    larger: Product | RecordRetention = (
        RecordRetention.at(more, sizes)
        if coin == "record"
        else Product({n: Retention.at(more, v) for n, v in sizes.items()})
    )
    assert not promise.is_kept_by(larger)


@pytest.mark.parametrize("central", [0.1, Fraction(1, 10), 0.3, Fraction(3, 10)])
def test_a_promise_of_few_digits_is_used_up(central: float | Fraction) -> None:
    """Neither float is the decimal it is written as; the promise is."""
    promise = Wanted(Circumstances(10_000), central=central)
    assert certified(calibrate({"a": 10}, promise), promise.circumstances) == float(central)


def test_a_retention_below_any_use_ends_too() -> None:
    promise = Wanted(Circumstances(100, delta=1e-15), central=Fraction(1, 10**12))
    mechanism = calibrate({"a": 1000}, promise)
    assert promise.is_kept_by(mechanism)


def test_a_central_half_allows_a_large_retention() -> None:
    """R = 100,000, V = 100: .887 is known to keep (1/2, 1e-6); k is then near 1, and said."""
    promise = wanted(central=0.5)
    mechanism = calibrate({"a": 100}, promise)
    assert mechanism.retentions()[0] >= 0.887
    assert certified(mechanism, promise.circumstances) <= 0.5
    assert 1 < k_of(mechanism, promise.circumstances) < 1.2


def test_the_strictest_of_several_promises_decides() -> None:
    by_k = calibrate(SIZES, wanted(k=100))
    assert calibrate(SIZES, wanted(k=100, central=0.5)) == by_k
    both = wanted(k=100, epsilon=3.4, central=0.02)
    mechanism = calibrate(SIZES, both)
    assert both.is_kept_by(mechanism)
    assert mechanism.retentions()[0] < by_k.retentions()[0]
    assert certified(mechanism, both.circumstances) == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize(("records", "central"), [(100_000, 0.5), (10_000_000, 0.1)])
def test_few_turns_of_the_real_bound_calibrate_twenty_columns(
    records: int, central: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time, some 5 ms a turn, is what a calibration costs: the rough bound goes first."""
    turns = []

    def counted(*given: Any) -> Any:
        turns.append(1)
        return central_excess(*given)

    monkeypatch.setattr(retention, "central_excess", counted)
    sizes = [9, 5, 16, 7, 14, 6, 5, 2, 3, 11, 4, 8, 2, 2, 3, 20, 6, 5, 12, 2]
    promise = wanted(records, central=central)
    assert promise.is_kept_by(calibrate({str(i): size for i, size in enumerate(sizes)}, promise))
    assert len(turns) <= 6


def test_best_allocation_keeps_a_central_promise() -> None:
    promise = wanted(central=0.1)
    best = calibrate(SIZES, promise, allocation="best", tables=[("income",)])
    assert promise.is_kept_by(best)
    equal = calibrate(SIZES, promise)
    assert expected_error(best, ("income",), 100_000) < expected_error(equal, ("income",), 100_000)


def test_a_central_promise_can_be_asked_of_a_matrix() -> None:
    matrix = Product({"a": Dense.of([[0.7, 0.3], [0.2, 0.8]])})
    known = certified(matrix, Circumstances(1000))
    assert known < math.log(3.5) / 5
    assert wanted(1000, central=known).is_kept_by(matrix)
    assert not wanted(1000, central=known * 0.99).is_kept_by(matrix)
    blocks = Product({"a": Dense.of([[1.0, 0.0], [0.0, 1.0]])})
    assert not wanted(1000, central=100).is_kept_by(blocks)


def test_a_central_epsilon_needs_a_shuffled_release_of_randomised_columns_alone() -> None:
    for around, got in (
        (Circumstances(10, shuffled=False), "in the order of the source"),
        (Circumstances(10, raw_columns=("diagnosis",)), "columns released unchanged"),
        (Circumstances(10, data_dependent=True), "matrices made from the table"),
    ):
        with pytest.raises(UnreachableError, match=got):
            Wanted(around, k=2, central=1.0)
    with pytest.raises(UnreachableError, match="epsilon must be a positive number"):
        wanted(10, central=0)


@pytest.mark.parametrize("coin", ["attribute", "record"])
@pytest.mark.parametrize(("records", "central"), [(2_000, 0.3), (100_000, 0.5), (10_000_000, 0.05)])
def test_halving_finds_the_same_retention_for_a_central_epsilon(records: int, central: float, coin: str) -> None:
    promise = wanted(records, central=central)
    quick = calibrate(SIZES, promise, coin).retentions()[0]
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        tried: Product | RecordRetention = Product({n: Retention.at(middle, v) for n, v in SIZES.items()})
        if coin == "record":
            tried = RecordRetention.at(middle, SIZES)
        low, high = (middle, high) if promise.is_kept_by(tried) else (low, middle)
    assert quick == pytest.approx(low, rel=3e-5, abs=2e-6)
