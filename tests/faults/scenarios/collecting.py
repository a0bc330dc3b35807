"""A survey: its store is opened, invitations are made, answers arrive, and it is closed and published."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.faults.desk import Desk
from tests.faults.scenarios.scenario import Scenario, must

from pramana import verify
from pramana.app.collector.application import SurveyPage
from pramana.app.collector.closing import CollectionFolder, close_collection
from pramana.app.collector.store import CollectionStore, Outcome
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import Survey
from pramana.bundle.bundle import Bundle
from pramana.errors import CollectionError, PramanaError
from pramana.ledger.ledger import Ledger

SURVEY = """[about]
title = "Habits"
[ledger]
path = "survey.ledger"
people = "members"
[release]
epsilon = 4
records = 500
tables = [["smokes", "age"]]
[survey]
fewer = true
INVITED
[attributes.smokes]
role = "sensitive"
randomise = true
domain = ["yes", "no"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 30, 60, inf]
"""
BATCHES, EACH = 4, 3


def _prepare(desk: Desk, invitations: int = 0) -> None:
    invited = f"invitations = {invitations}" if invitations else ""
    (desk.folder / "survey.toml").write_text(SURVEY.replace("INVITED", invited))
    Ledger.create(desk.folder / "survey.ledger")
    desk.changed.add("survey.ledger")


def _sent(batch: int, i: int) -> Submission:
    """An answer as its device sends it, twice if need be: the identifier is the device's own."""
    number = batch * EACH + i
    return Submission(bytes([number + 1]) * 16, (number % 2, number % 3))


def _opened(desk: Desk) -> tuple[Survey, str, CollectionFolder, CollectionStore]:
    survey = Survey.read("survey.toml")
    page, place = SurveyPage(survey).digest, CollectionFolder(Path("out"))
    place.reserve(survey, page)
    database = desk.server.url(desk.database) if desk.server is not None else None
    return survey, page, place, place.open(page, len(survey.columns), database)


def _collected(desk: Desk, attempt: int) -> int:
    """What is acknowledged is told on standard output, which is no call that counts."""
    del attempt
    try:
        survey, page, place, store = _opened(desk)
        place.invite(survey, store, lambda token: f"https://survey.example/#{token}")
        tokens = _tokens(place)
        for batch in range(BATCHES):
            sent = [_invited(_sent(batch, i), tokens, batch * EACH + i) for i in range(EACH)]
            outcomes = store.add(sent)
            for submission, outcome in zip(sent, outcomes, strict=True):
                if outcome is Outcome.CLOSED:
                    raise CollectionError("The survey must be open", "one that another organiser closed")
                assert outcome in (Outcome.STORED, Outcome.ALREADY), outcome
                _acknowledge(submission)
            store.tidy()
        close_collection(survey, store, page, place.out)
    except PramanaError as error:
        sys.stderr.write(f"pramana: {error}\n")
        return 2
    return 0


def _acknowledge(submission: Submission) -> None:
    sys.stdout.write(json.dumps(submission.identifier.hex()) + "\n")
    sys.stdout.flush()


def _tokens(place: CollectionFolder) -> list[str]:
    if not place.invitations.exists():
        return []
    return sorted(line.partition("#")[2] for line in place.invitations.read_text().splitlines())


def _invited(submission: Submission, tokens: list[str], number: int) -> Submission:
    return Submission(submission.identifier, submission.codes, tokens[number] if tokens else None)


def _all_sent(tokens: list[str]) -> list[Submission]:
    return [_invited(_sent(b, i), tokens, b * EACH + i) for b in range(BATCHES) for i in range(EACH)]


def _check(desk: Desk, told: str) -> str:
    """Every acknowledged answer is there, once; a bundle that is there is valid and has all of them."""
    acknowledged = [json.loads(line) for line in told.splitlines() if line.startswith('"')]
    ledger = Ledger.open("survey.ledger")
    assert ledger.is_unbroken() and len(ledger.releases()) <= 1
    if Path("out").exists():
        assert verify("out").valid and Bundle.open("out").certificate.records == BATCHES * EACH
        assert len(ledger.releases()) == 1
        return f"whole, {ledger.releases()[0].status}"
    if not acknowledged:
        return "nothing acknowledged"
    _survey, _page, place, store = _opened(desk)
    tokens = _tokens(place)
    sent = [s for s in _all_sent(tokens) if s.identifier.hex() in acknowledged]
    before = store.count()
    assert len(acknowledged) <= before <= len(acknowledged) + EACH
    store.set_closed(False)
    assert set(store.add(sent)) == {Outcome.ALREADY}, "an acknowledged answer was lost"
    assert store.count() == before
    return "every acknowledged answer, once"


def _again(desk: Desk) -> None:
    """The organiser starts it again, devices send what they have no word of, and it is closed."""
    if not Path("out").exists():
        survey, page, place, store = _opened(desk)
        store.set_closed(False)
        place.invite(survey, store, lambda token: f"https://survey.example/#{token}")
        for submission in _all_sent(_tokens(place)):
            assert store.add([submission])[0] in (Outcome.STORED, Outcome.ALREADY)
        assert store.count() == BATCHES * EACH
        close_collection(survey, store, page, place.out)
    else:
        database = [] if desk.server is None else ["--db", desk.server.url(desk.database)]
        closing = ("collect", "survey.toml", "--out", "out", "--close", *database)
        if [r.status for r in Ledger.open("survey.ledger").releases()] != ["committed"]:
            must(0, *closing)  # which tells the ledger
        assert [r.status for r in Ledger.open("survey.ledger").releases()] == ["committed"]
        must(2, *closing)
        # A journal that a killed writer had not filled yet goes when the ledger is next written.
        must(0, "ledger", "limit", "survey.ledger", "--people", "members", "--epsilon", "99")
    assert verify("out").valid and Bundle.open("out").certificate.records == BATCHES * EACH
    assert Ledger.open("survey.ledger").total("members").releases == 1


COLLECTING = (
    Scenario("collect", "collector, SQLite", _prepare, _collected, _check, _again),
    Scenario(
        "collect-invited",
        "collector, SQLite, with invitations",
        lambda desk: _prepare(desk, BATCHES * EACH),
        _collected,
        _check,
        _again,
    ),
    Scenario("collect-postgresql", "collector, PostgreSQL", _prepare, _collected, _check, _again, True),
)
