"""Calibration: what is promised is reached by what will be sampled, and nothing larger would do."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.calibration import Wanted, calibrate, expected_error
from pramana.errors import UnreachableError
from pramana.mechanisms import Circumstances, Product, RecordRetention, Redrawn, Retention, guarantees_of, k_of
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
    single = calibrate(SIZES, wanted(k=100), "best", tables=[("sex",), ("age",), ("income",)])
    assert isinstance(single, Product)


def test_the_sheets_variances() -> None:
    """Totals of n*(h-1): joint 16.9 against 521.9, two-way 15-17 against 52-87, one-way 8.5-15 against 4.9-8.9."""
    from pramana.calibration import variance_inflation

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
