"""The store: every record once, an invitation once, and an order that tells nothing."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.servers import Server
from tests.statistical.thresholds import ACCEPT, REJECT

from pramana.app.collector.store import CollectionStore, Outcome
from pramana.app.collector.submission import Submission, new_invitations
from pramana.errors import CollectionError

PAGE = "a" * 64


def submission(number: int, invitation: str | None = None) -> Submission:
    identifier = hashlib.sha256(f"device {number}".encode()).digest()[:16]
    return Submission(identifier, (number % 3, number // 3 % 4), invitation)


def opened(place: str | Path, page: str = PAGE) -> CollectionStore:
    return CollectionStore.open(place, page, 2)


def test_every_record_is_there_once_and_as_it_was_sent(store_place: str) -> None:
    store = opened(store_place)
    batch = [submission(i) for i in range(700)]
    assert store.add(batch) == [Outcome.STORED] * 700
    assert store.add(batch[100:200]) == [Outcome.ALREADY] * 100
    twice = submission(900)
    assert store.add([twice, submission(901), twice]) == [Outcome.STORED, Outcome.STORED, Outcome.ALREADY]
    changed = Submission(twice.identifier, (2, 3))
    assert store.add([changed]) == [Outcome.ALREADY], "what stands under an identifier is not replaced"
    expected = sorted(s.codes for s in [*batch, twice, submission(901)])
    for work in (store.tidy, store.close):
        assert store.count() == 702
        assert sorted(map(tuple, store.records().tolist())) == expected
        work()
    assert store.count() == 702
    store.close()


def test_an_invitation_is_spent_with_its_record_and_leaves_nothing(store_place: str) -> None:
    store = opened(store_place)
    tokens = new_invitations(600)
    assert len(set(tokens)) == 600
    store.invite(tokens)
    assert store.has_invitations
    first = submission(1, tokens[0])
    same_token = submission(2, tokens[0])
    unknown = submission(3, new_invitations(1)[0])
    outcomes = store.add([first, same_token, unknown])
    assert outcomes == [Outcome.STORED, Outcome.UNINVITED, Outcome.UNINVITED]
    assert store.add([same_token]) == [Outcome.UNINVITED]
    assert store.add([first]) == [Outcome.ALREADY], "a lost acknowledgement is no second answer"
    assert store.count() == 1
    with pytest.raises(CollectionError, match="has invitations already"):
        store.invite(new_invitations(1))
    store.close()


def test_a_closed_store_takes_nothing_and_can_be_opened_again(store_place: str) -> None:
    store = opened(store_place)
    store.add([submission(1)])
    store.set_closed(True)
    assert store.is_closed and store.add([submission(2)]) == [Outcome.CLOSED]
    store.set_closed(False)
    assert not store.is_closed and store.add([submission(2)]) == [Outcome.STORED]
    store.close()


def test_a_store_goes_on_with_its_own_page_alone(store_place: str) -> None:
    store = opened(store_place)
    store.add([submission(i) for i in range(5)])
    store.close()
    with pytest.raises(CollectionError, match="the page that it was begun with"):
        opened(store_place, "b" * 64)
    again = opened(store_place)
    assert again.add([submission(3), submission(8)]) == [Outcome.ALREADY, Outcome.STORED]
    again.close()


def places_of_arrival(store: CollectionStore, arrived: list[Submission]) -> list[int]:
    """For each stored row, in the order they lie, when it arrived: records are told apart by their codes."""
    by_codes = {s.codes: i for i, s in enumerate(arrived)}
    return [by_codes[tuple(row)] for row in store.records().tolist()]


def order_p_value(order: list[int]) -> float:
    return float(stats.kendalltau(np.arange(len(order)), order).pvalue)


@pytest.mark.parametrize("size", [1, 7, 400])
def test_the_order_of_records_tells_nothing_of_their_arrival(store_place: str, size: int) -> None:
    """Whatever comes together: one by one, in small batches, all at once."""
    store = opened(store_place)
    store._key = bytes(32)  # a verdict that is always the same
    arrived = [Submission(submission(i).identifier, (i // 20, i % 20)) for i in range(400)]
    for first in range(0, 400, size):
        store.add(arrived[first : first + size])
    order = places_of_arrival(store, arrived)
    assert sorted(order) == list(range(400))
    assert order_p_value(order) > ACCEPT
    assert order_p_value(list(range(400))) < REJECT, "the order of arrival would be caught"
    store.close()


def raw_order(file: Path, arrived: list[Submission]) -> list[int]:
    """The numbers of the records as their bytes lie in the file, from its beginning to its end."""
    content = file.read_bytes()
    found = {}
    for i, one in enumerate(arrived):
        codes = np.array(one.codes, ">u2").tobytes()
        found[i] = content.index(codes)
    return sorted(found, key=lambda i: found[i])


def test_bytes_of_the_file_tell_the_order_until_it_is_written_anew(tmp_path: Path) -> None:
    """Pages are filled in order of arrival, whatever the keys: that is what `tidy` is for."""
    store = opened(tmp_path / "records.db")
    store._key = bytes(32)
    rare = [np.frombuffer(submission(i + 1000).identifier[:4], ">u2") for i in range(40)]
    arrived = [Submission(submission(i).identifier, tuple(codes.tolist())) for i, codes in enumerate(rare)]
    for one in arrived:
        store.add([one])
    assert order_p_value(raw_order(tmp_path / "records.db", arrived)) < 1e-9
    store.tidy()
    assert order_p_value(raw_order(tmp_path / "records.db", arrived)) > ACCEPT
    assert store.count() == 40 and store.untidied == 0
    store.close()


def test_what_was_used_leaves_the_file_at_once_and_not_only_when_it_is_written_anew(tmp_path: Path) -> None:
    store = opened(tmp_path / "records.db")
    tokens = new_invitations(200)
    store.invite(tokens)
    sent = [submission(i, token) for i, token in enumerate(tokens[:150])]
    store.add(sent)
    content = (tmp_path / "records.db").read_bytes()
    digests = [hashlib.sha256(b"pramana invitation " + token.encode()).digest() for token in tokens]
    assert all(digest in content for digest in digests[150:])
    assert not [digest for digest in digests[:150] if digest in content]
    assert not [s for s in sent if s.identifier in content], (
        "a record lies under a digest that only the store makes"
    )
    store.close()


def test_nothing_of_time_address_or_invitation_is_in_the_file(tmp_path: Path) -> None:
    store = opened(tmp_path / "records.db")
    tokens = new_invitations(3)
    store.invite(tokens)
    sent = submission(1, tokens[0])
    store.add([sent])
    store.tidy()
    store.close()
    assert (tmp_path / "records.db").stat().st_mode & 0o077 == 0
    connection = sqlite3.connect(tmp_path / "records.db")
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    columns = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in tables}
    connection.close()
    assert columns == {
        "survey_state": ["name", "value"],
        "survey_records": ["place", "codes"],
        "survey_invitations": ["digest"],
    }
    assert all("WITHOUT ROWID" in sql for sql in tables.values())
    content = (tmp_path / "records.db").read_bytes()
    spent = hashlib.sha256(b"pramana invitation " + tokens[0].encode()).digest()
    unspent = hashlib.sha256(b"pramana invitation " + tokens[1].encode()).digest()
    assert unspent in content
    assert spent not in content and tokens[0].encode() not in content and sent.identifier not in content


def test_rows_of_a_database_have_one_transaction_after_they_were_written_anew(postgresql: Server) -> None:
    import psycopg

    place = postgresql.database("written_anew")
    store = opened(place)
    for i in range(30):
        store.add([submission(i)])

    def seen() -> tuple[int, bool]:
        with psycopg.connect(place) as connection:
            rows = connection.execute("SELECT xmin::text, place FROM survey_records ORDER BY ctid").fetchall()
        places = [bytes(place) for _, place in rows]
        return len({number for number, _ in rows}), places == sorted(places)

    assert seen() == (30, False)
    store.tidy()
    assert seen() == (1, True)
    store.close()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("mysql://host/db", "file or a postgresql"),
        ("postgresql://host:port/db", "must be one"),
        ("env:PRAMANA_NO_SUCH", "environment variable"),
        ("/nonexistent/folder/records.db", "must be writable"),
        ("postgresql://nobody:secret@127.0.0.1:1/none", "must be usable"),
    ],
)
def test_places_that_are_none_are_refused_without_their_secrets(place: str, words: str) -> None:
    with pytest.raises(CollectionError, match=words) as caught:
        opened(place)
    assert "secret" not in str(caught.value)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(CollectionError, match="must be usable"):
        opened(tmp_path / "records.db")
