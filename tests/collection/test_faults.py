"""Killed, cut off from its database, out of room, under load: what was acknowledged is there, once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from tests import needs
from tests.collection.running import SURVEY, Running, collecting, record
from tests.servers import Server

from pramana.app.collector.application import SurveyPage
from pramana.app.collector.store import CollectionStore, Outcome
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import Survey

ROOT = Path(__file__).parents[2]
KILLS = 100


def store_of(folder: Path, place: str = "") -> tuple[Survey, CollectionStore]:
    survey = Survey.read(folder / "survey.toml")
    database = place or folder / "bundle.collection" / "records.db"
    return survey, CollectionStore.open(database, SurveyPage(survey).digest, len(survey.columns))


def assert_each_once(folder: Path, acknowledged: list[dict[str, Any]], tried: int, place: str = "") -> None:
    survey, store = store_of(folder, place)
    count = store.count()
    assert len(acknowledged) <= count <= tried
    sent = [Submission.read(survey, json.dumps(one).encode()) for one in acknowledged]
    assert set(store.add(sent)) <= {Outcome.ALREADY}, "every acknowledged record was there"
    assert store.count() == count
    stored = sorted(map(tuple, store.records().tolist()))
    for codes in {one.codes for one in sent}:
        assert stored.count(codes) >= sum(one.codes == codes for one in sent)
    store.close()


def post(running: Running, client: httpx.Client, body: dict[str, Any]) -> int:
    try:
        return client.post(f"{running.base}/records", json=body).status_code
    except httpx.HTTPError:
        return 0


def test_killed_at_a_hundred_random_moments_every_acknowledged_record_is_there_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.collection.killing", str(tmp_path), str(KILLS)],
        cwd=ROOT, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["acknowledged"]) > KILLS
    assert told["tried"] > len(told["acknowledged"]), "some were cut off"
    assert_each_once(tmp_path, told["acknowledged"], told["tried"])


def test_a_database_that_is_killed_underneath_loses_and_doubles_nothing(
    tmp_path: Path, postgresql: Server
) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    place = postgresql.database("restarted")
    acknowledged: list[dict[str, Any]] = []
    refused: list[int] = []
    stop = threading.Event()
    with collecting(tmp_path, "survey.toml", "--out", "bundle", "--db", place) as running:

        def send() -> None:
            with httpx.Client(timeout=30) as client:
                while not stop.is_set():
                    body = record()
                    while (status := post(running, client, body)) == 503 and not stop.is_set():
                        refused.append(status)
                        time.sleep(0.05)
                    if status in (201, 409):  # 409: it was stored, and only the acknowledgement was lost
                        acknowledged.append(body)

        clients = [threading.Thread(target=send) for _ in range(4)]
        for one in clients:
            one.start()
        for end in (postgresql.kill, lambda: postgresql.stop("immediate"), postgresql.kill, postgresql.kill):
            time.sleep(0.5)
            end()  # kill -9 of all of it, or a stop without a goodbye
            time.sleep(0.3)
            postgresql.start()
        before = len(acknowledged)
        time.sleep(1.0)
        stop.set()
        for one in clients:
            one.join()
        assert len(acknowledged) > before, "it goes on by itself"
    assert refused, "while the database was away nothing was said to be stored"
    assert_each_once(tmp_path, acknowledged, len(acknowledged) + 10, place)


def test_a_full_disk_says_not_sent_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    prlimit = needs.program("prlimit")
    (tmp_path / "survey.toml").write_text(SURVEY)
    acknowledged: list[dict[str, Any]] = []
    statuses: list[int] = []
    room = [prlimit, "--fsize=28672"]  # bytes of a file: some pages of the store
    with collecting(tmp_path, "survey.toml", "--out", "bundle", limits=room) as running:
        with httpx.Client() as client, ThreadPoolExecutor(16) as pool:
            for _ in range(60):
                bodies = [record() for _ in range(16)]
                found = list(pool.map(lambda body: post(running, client, body), bodies))
                acknowledged += [body for body, status in zip(bodies, found, strict=True) if status == 201]
                statuses += found
                if 503 in found:
                    break
        assert set(statuses) == {201, 503}
        for _ in range(200):  # a last page may have room for a few
            full = record()
            answer = httpx.post(f"{running.base}/records", json=full)
            if answer.status_code == 503:
                break
            acknowledged.append(full)
        assert answer.status_code == 503 and answer.json() == {"outcome": "not stored"}
        assert httpx.get(running.survey).status_code == 200, "the page is still there"
    assert_each_once(tmp_path, acknowledged, len(acknowledged))


def test_many_at_once_are_all_stored_once(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    bodies = [record() for _ in range(1500)]
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running:
        with httpx.Client(limits=httpx.Limits(max_connections=50)) as client, ThreadPoolExecutor(50) as pool:
            found = list(pool.map(lambda body: post(running, client, body), [*bodies, *bodies[:200]]))
        assert found[:1500] == [201] * 1500 and set(found[1500:]) <= {409}
        running.stop()
        assert running.process.returncode is not None
    assert_each_once(tmp_path, bodies, 1500)


def test_a_server_that_is_asked_to_stop_writes_what_waits(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    body = record()
    with collecting(tmp_path, "survey.toml", "--out", "bundle") as running, ThreadPoolExecutor(1) as pool:
        client = httpx.Client()
        assert client.get(running.survey).status_code == 200
        sending = pool.submit(post, running, client, body)
        time.sleep(0.03)
        running.process.terminate()
        status = sending.result()
        client.close()
        running.process.wait(30)
    survey, store = store_of(tmp_path)
    outcome = store.add([Submission.read(survey, json.dumps(body).encode())])
    assert status in (0, 201)
    assert status == 0 or outcome == [Outcome.ALREADY]
    store.close()
