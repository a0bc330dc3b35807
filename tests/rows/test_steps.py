"""Steps on runs of rows: however a table is cut, what comes out is what the local engine publishes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import SourceError
from pramana.io.codes import encode
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention, streams_of
from pramana.randomness.key import Key
from pramana.randomness.shuffle import tag_stream
from pramana.rows.digest import commitment_secret, commitment_to
from pramana.rows.engines import LocalEngine
from pramana.rows.protocol import ROW_NUMBER
from pramana.rows.spark import blocks, steps
from pramana.rows.spark.blocks import DerivedColumn, refuse, root_of_digests
from pramana.rows.spark.parts import Buckets, DrawRun, OrderPart, PartBorders
from pramana.rows.spark.steps import REPORT, ReadRun, RunReport, Seal, SumRun, performed
from pramana.schema.domain import Attribute, Domain, Role

KEY = Key.from_seed(8)
SEAL = Seal(bytes(32))
RECORDS = 3000
SIZES = {"sex": 2, "town": 300, "job": 11}
ATTRIBUTES = tuple(
    Attribute(name, Role.QUASI_IDENTIFYING, Domain.declared([f"{name} {i}" for i in range(size)]))
    for name, size in SIZES.items()
)
RAW = Attribute("note", Role.INSENSITIVE, None)
MECHANISM = Product({name: Retention.at(Fraction(1, 3), size) for name, size in SIZES.items()})
TOGETHER = CoinGroups(
    SIZES,
    (RecordRetention({name: SIZES[name] for name in ("sex", "job")}, 1 << 61),),
    {"town": MECHANISM.channels["town"]},
)


def table_of(records: int = RECORDS) -> pa.Table:
    generator = np.random.default_rng(5)
    columns: dict[str, Any] = {
        a.name: np.array(a.coded.labels)[generator.integers(0, a.coded.size, records)] for a in ATTRIBUTES
    }
    columns["note"] = [None if i % 7 == 0 else f"note {i}" for i in range(records)]
    return pa.table(columns)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves and blocks so small that a short table has many of them."""
    from pramana.rows import digest

    monkeypatch.setattr(digest, "LEAF", 64)
    monkeypatch.setattr(blocks, "LEAF", 64)
    monkeypatch.setattr(blocks, "BLOCK", 256)


def runs_of(table: pa.Table, cuts: list[int]) -> Iterator[tuple[int, int, list[pa.Table]]]:
    """A table in runs, each of them in batches of 100 rows."""
    for run, (first, stop) in enumerate(pairwise([0, *sorted(cuts), table.num_rows])):
        part = table.slice(first, stop - first)
        yield run, first, [part.slice(i, 100) for i in range(0, part.num_rows, 100)]


def seen_of(step: Any, table: pa.Table, cuts: list[int]) -> tuple[dict[int, RunReport], list[steps.Sent]]:
    reports, sent = {}, []
    for run, first, tables in runs_of(table, cuts):
        for place, number, content in performed(step, run, first, tables):
            if place == REPORT:
                reports[number] = pickle.loads(SEAL.opened(place, number, content))
            else:
                sent.append((place, number, content))
    return reports, sent


def root(reports: dict[int, RunReport], records: int) -> str:
    return root_of_digests((seen.digests for seen in reports.values()), commitment_secret(KEY), records)


def read(attributes: tuple[Attribute, ...], **options: Any) -> ReadRun:
    return ReadRun(attributes=attributes, seal=SEAL, secret=commitment_secret(KEY), **options)


def draw(
    attributes: tuple[Attribute, ...], shown: tuple[str, ...], law: Any, buckets: Buckets, **options: Any
) -> DrawRun:
    """A step that draws some columns, by coins that are bound to "here"."""
    return DrawRun(
        attributes=attributes,
        seal=SEAL,
        shown=shown,
        mechanism=law,
        streams={(purpose, name): KEY.stream(purpose, "here", name) for purpose, name in streams_of(law)},
        buckets=buckets,
        secret=commitment_secret(KEY),
        **{"borders": PartBorders.of_buckets(buckets), **options},
    )


def published(table: pa.Table, attributes: tuple[Attribute, ...], mechanism: Any, bits: int, shuffled: bool,
              cuts: list[int]) -> dict[str, Any]:  # fmt: skip
    buckets = Buckets(bits, tag_stream(KEY, "here") if shuffled else None, -(-table.num_rows >> bits))
    step = draw(attributes, tuple(a.name for a in attributes), mechanism, buckets)
    _, sent = seen_of(step, table, cuts)
    return dict(brought_back(step, sent).columns)


def brought_back(step: DrawRun, sent: list[steps.Sent]) -> blocks.RowBlock:
    """All buckets one after the other; of what comes back nothing can be read on its way."""
    found, order = [], OrderPart(step.buckets, step.borders, SEAL)
    for place in range(1, order.buckets.count + 1):
        contents = [(number, content) for p, number, content in reversed(sent) if p == place]
        for back in order.ordered(place, contents):
            found.append(order.opened(*back))
            assert b"note 1" not in back[2]
            with pytest.raises(InvalidTag):
                SEAL.opened(*back)  # nor can what was sent to be ordered pass for it
    return blocks.joined(found)


def locally(table: pa.Table, mechanism: Any, shuffled: bool) -> dict[str, Any]:
    engine = LocalEngine(1)
    codes = {a.name: encode(table.column(a.name), a.coded, a.name) for a in ATTRIBUTES}
    drawn = {**codes, **engine.publish(mechanism, KEY, "here", codes)}
    order = engine.order(KEY, "here", table.num_rows) if shuffled else np.arange(table.num_rows, dtype=np.uint32)
    found: dict[str, Any] = engine.reorder(drawn, order)
    return {**found, "note": table.column("note").take(pa.array(order))}


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize(
    "mechanism", [MECHANISM, RecordRetention.at(Fraction(1, 2), SIZES), TOGETHER, Product({})]
)
@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, RECORDS), max_size=4), bits=st.integers(0, 4))
def test_runs_publish_what_the_local_engine_publishes(
    shuffled: bool, mechanism: Any, cuts: list[int], bits: int
) -> None:
    table = table_of()
    found = published(table, (*ATTRIBUTES, RAW), mechanism, bits, shuffled, cuts)
    expected = locally(table, mechanism, shuffled)
    for name in SIZES:
        assert found[name].dtype == expected[name].dtype
        assert (found[name] == expected[name]).all()
    assert found["note"].to_pylist() == expected["note"].to_pylist()


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, RECORDS), max_size=5))
def test_edges_and_leaves_make_the_digests_of_the_whole(cuts: list[int]) -> None:
    table, attributes = table_of(), (*ATTRIBUTES, RAW)
    reports, sent = seen_of(read(attributes), table, cuts)
    assert not sent
    codes: dict[str, Any] = {a.name: encode(table.column(a.name), a.coded, a.name) for a in ATTRIBUTES}
    everything = commitment_to({**codes, "note": table.column("note")}, KEY)
    assert root(reports, table.num_rows) == everything


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, RECORDS), max_size=3))
def test_derived_columns_are_worked_out_run_by_run_and_are_no_part_of_the_digest(cuts: list[int]) -> None:
    """One column made from a made one; it is counted and drawn like any other, and the source's digest stays."""
    table = table_of().drop(["note"])
    half = DerivedColumn("half", ("job",), lambda own: own["job"] // 2)
    pair = DerivedColumn("pair", ("half", "sex"), lambda own: own["half"] * 2 + own["sex"])
    codes: dict[str, Any] = {a.name: encode(table.column(a.name), a.coded, a.name) for a in ATTRIBUTES}
    pairs = codes["job"] // 2 * 2 + codes["sex"]
    derived = (half, pair)
    count = SumRun(
        attributes=ATTRIBUTES,
        seal=SEAL,
        derived=derived,
        shown=("pair",),
        summand=lambda own: np.bincount(own["pair"], minlength=12),
    )
    counted: Any = seen_of(count, table, cuts)[0]
    found = np.sum([sum(seen.total) for seen in counted.values() if seen.rows], axis=0)
    assert found.tolist() == np.bincount(pairs, minlength=12).tolist()
    reports, _ = seen_of(read(ATTRIBUTES, derived=derived), table, cuts)
    assert root(reports, RECORDS) == commitment_to(codes, KEY)
    law = Product({"pair": Retention.at(Fraction(1, 3), 12)})
    step = draw(ATTRIBUTES, ("pair",), law, Buckets(2, tag_stream(KEY, "here")), derived=derived)
    _, sent = seen_of(step, table, cuts)
    drawn = LocalEngine(1).publish(law, KEY, "here", {"pair": pairs})
    order = LocalEngine(1).order(KEY, "here", RECORDS)
    assert (brought_back(step, sent).columns["pair"] == drawn["pair"][order]).all()


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, RECORDS), max_size=3))
def test_columns_worked_out_from_the_numbers_of_rows_travel_with_them_and_are_summed(
    cuts: list[int],
) -> None:
    """Twice the number of the row, as an Arrow column; in published order it is where its row is."""
    table = table_of().drop(["note"])
    twice = DerivedColumn("twice", (ROW_NUMBER,), lambda own: pa.array(2.0 * own[ROW_NUMBER]))
    total = SumRun(
        attributes=(),
        seal=SEAL,
        derived=(twice,),
        shown=("twice",),
        summand=lambda own: int(sum(own["twice"].to_pylist())),
    )
    reports: Any = seen_of(total, table, cuts)[0]
    assert sum(report.rows for report in reports.values()) == RECORDS
    assert sum(sum(report.total) for report in reports.values()) == RECORDS * (RECORDS - 1)
    assert all(len(report.total) == bool(report.rows) for report in reports.values())
    step = draw(ATTRIBUTES, ("twice",), Product({}), Buckets(2, tag_stream(KEY, "here")), derived=(twice,))
    _, sent = seen_of(step, table, cuts)
    order, columns = LocalEngine(1).order(KEY, "here", RECORDS), brought_back(step, sent).columns
    assert columns["twice"].to_pylist() == (2.0 * order).tolist()


def test_sums_of_a_source_that_changed_are_refused() -> None:
    step = SumRun(attributes=ATTRIBUTES, seal=SEAL, shown=("sex",), summand=lambda own: len(own["sex"]))
    table = table_of().drop(["note"])
    changed = table.set_column(0, "sex", pa.array(["somebody"] * RECORDS))
    assert isinstance(seen_of(step, changed, [])[0][0], SourceError)


def test_a_changed_value_changes_the_digest() -> None:
    step = read(ATTRIBUTES)
    table = table_of().drop(["note"])
    reports, _ = seen_of(step, table, [1000])
    values = table.column("sex").to_pylist()
    values[1001] = "sex 0" if values[1001] == "sex 1" else "sex 1"
    changed, _ = seen_of(step, table.set_column(0, "sex", pa.array(values)), [1000])
    assert root(reports, RECORDS) != root(changed, RECORDS)


def test_missing_rows_are_noticed() -> None:
    step = read(ATTRIBUTES)
    reports, _ = seen_of(step, table_of(), [640])
    del reports[0]
    with pytest.raises(SourceError, match="Every row of a source must be read once"):
        root(reports, RECORDS)


def test_faults_of_all_runs_are_told_as_one() -> None:
    table = table_of()
    values = table.column("job").to_pylist()
    values[3] = values[2900] = "astronaut"
    values[1500] = "pilot"
    step = read(ATTRIBUTES, show=True)
    reports, _ = seen_of(step, table.set_column(2, "job", pa.array(values)), [1000, 2000])
    faults = [seen.faults for seen in reports.values()]
    with pytest.raises(SourceError, match=r"got 3 rows outside it$"):
        refuse(faults, ATTRIBUTES, show=False)
    with pytest.raises(SourceError, match="got 3 rows outside it: 'astronaut', 'pilot'"):
        refuse(faults, ATTRIBUTES, show=True)


@pytest.mark.parametrize("wrong", ["job 3 ", "astronaut", "", "1,5"])
def test_faults_are_told_in_the_words_of_one_machine(wrong: str) -> None:
    """Blanks around a value and decimal commas, too, which the message has a word for."""
    domain = Domain.from_bins([0, 1, 2, 9]) if "," in wrong else ATTRIBUTES[2].coded
    values = ["1.5" if "," in wrong else "job 1"] * RECORDS
    values[3] = values[2900] = wrong
    values[1500] = "pilot" if wrong else ""
    table = pa.table({"job": values})
    attributes = (Attribute("job", Role.QUASI_IDENTIFYING, domain),)
    with pytest.raises(SourceError) as expected:
        encode(table.column("job"), domain, "job")
    reports, _ = seen_of(read(attributes), table, [1000, 2000])
    with pytest.raises(SourceError) as told:
        refuse([seen.faults for seen in reports.values()], attributes, show=False)
    assert str(told.value) == str(expected.value)


def test_what_fails_in_a_task_quotes_no_value() -> None:
    class Failing(ReadRun):
        def work(self, rows: Any) -> Iterator[Any]:
            for _, table in rows:
                raise ValueError(f"cannot take {table.column('note')[1].as_py()}")
            yield None

    step = Failing(attributes=ATTRIBUTES, seal=SEAL, secret=commitment_secret(KEY))
    with pytest.raises(RuntimeError) as caught:
        list(performed(step, 0, 0, [table_of()]))
    assert "note 1" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert "ValueError" in str(caught.value)


def test_contents_are_sealed() -> None:
    """Neither a row's number nor its value can be read from what engines may write to disk."""
    table = table_of()
    attributes = (*ATTRIBUTES, RAW)
    step = draw(attributes, (*SIZES, "note"), MECHANISM, Buckets(1, tag_stream(KEY, "here")))
    _, sent = seen_of(step, table, [])
    assert sent
    for place, number, content in sent:
        assert b"note" in SEAL.opened(place, number, content)
        assert b"note" not in content
        with pytest.raises(InvalidTag):
            SEAL.opened(place, number + 1, content)
    assert len({content[:12] for _, _, content in sent}) == len(sent)  # no nonce twice


def test_no_subkey_in_a_representation() -> None:
    step = draw(ATTRIBUTES, tuple(SIZES), MECHANISM, Buckets(1, tag_stream(KEY, "here")))
    text = repr(step)
    for secret in [SEAL.key, commitment_secret(KEY), *(s.subkey for s in step.streams.values())]:
        assert repr(secret)[2:-1] not in text
        assert secret.hex() not in text


def test_a_content_sealed_twice_is_the_same_and_others_share_no_nonce() -> None:
    """Spark ends a job where a task that is run again sends other bytes than before."""
    seal = Seal(bytes(range(32)))
    whole = seal.closed(3, 7, b"rows")
    assert seal.closed(3, 7, b"rows") == whole and seal.opened(3, 7, whole) == b"rows"
    others = [
        seal.closed(3, 7, b"rowz"),  # a source that has changed
        seal.closed(3, 8, b"rows"),
        seal.closed(4, 7, b"rows"),
        Seal(bytes(32)).closed(3, 7, b"rows"),
    ]
    assert len({content[:12] for content in (whole, *others)}) == 5
    for slot, number, content in ((3, 8, whole), (4, 7, whole), (3, 7, others[1]), (3, 7, whole[:-1] + b"x")):
        with pytest.raises(InvalidTag):
            seal.opened(slot, number, content)


def test_steps_that_are_done_again_send_the_same_bytes() -> None:
    buckets = Buckets(2, tag_stream(KEY, "here"))
    for step in (
        draw((*ATTRIBUTES, RAW), (*SIZES, "note"), MECHANISM, buckets),
        read((*ATTRIBUTES, RAW)),
    ):
        sent = [list(performed(step, 0, 0, [table_of()])) for _ in range(2)]
        assert sent[0] == sent[1] and len(sent[0]) >= 1
