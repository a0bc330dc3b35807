"""`python -m tests.collection.killing FOLDER KILLS`: a collector is killed at so many random moments under load.

The collector is forked from this process, which has loaded everything, so that a start takes no time. What was
acknowledged is told as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import httpx
from tests.collection.running import SURVEY, record

from pramana.app.collector.application import SurveyPage
from pramana.app.collector.survey import Survey
from pramana.app.main import run

CLIENTS = 4


def serve_in_child(folder: Path) -> tuple[int, str]:
    """Fork a collector; its process and its address."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        os.chdir(folder)
        os._exit(run(["collect", "survey.toml", "--out", "bundle", "--no-browser"]))
    os.close(writing)
    with os.fdopen(reading) as told:
        return child, json.loads(told.readline())["survey"]


def send_until_cut_off(
    client: httpx.Client, base: str, acknowledged: list[dict[str, object]], tried: list[int]
) -> None:
    while True:
        sent = record()
        tried.append(1)
        try:
            answer = client.post(f"{base}records", json=sent)
        except httpx.HTTPError:
            return
        assert answer.status_code == 201, answer.text
        acknowledged.append(sent)


def main(folder: Path, kills: int) -> None:
    (folder / "survey.toml").write_text(SURVEY)
    assert SurveyPage(Survey.read(folder / "survey.toml")).digest  # templates are read once, for all forks
    moments = random.Random(19)
    client = httpx.Client(timeout=10, verify=False)
    acknowledged: list[dict[str, object]] = []
    tried: list[int] = []
    for _ in range(kills):
        child, base = serve_in_child(folder)
        work = (client, base, acknowledged, tried)
        senders = [threading.Thread(target=send_until_cut_off, args=work) for _ in range(CLIENTS)]
        for sender in senders:
            sender.start()
        enough = len(acknowledged) + moments.randrange(4)
        while len(acknowledged) < enough:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for sender in senders:
            sender.join()
    client.close()
    print(json.dumps({"acknowledged": acknowledged, "tried": len(tried)}))  # noqa: T201 - its answer


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
