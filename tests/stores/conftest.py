"""Every scene of these tests with every kind of store, unless it is of one kind only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.emulators import SERVERS
from tests.needs import skip_or_fail
from tests.object_store import Bucket, StoreServer, led_to


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_kind" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("stores")
        kinds = marked.args if marked else tuple(SERVERS)
        told = [pytest.param(kind, marks=pytest.mark.xdist_group(kind)) for kind in kinds]
        metafunc.parametrize("store_kind", told)


@pytest.fixture(scope="session")
def started() -> Iterator[dict[str, StoreServer]]:
    """The servers of this process, each started when the first test asks for it."""
    servers: dict[str, StoreServer] = {}
    yield servers
    for server in servers.values():
        server.kill()


@pytest.fixture
def bucket(store_kind: str, started: dict[str, StoreServer], monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket that is empty, and an environment that leads to it."""
    if why := SERVERS[store_kind].missing():
        skip_or_fail(why)
    if store_kind not in started:
        started[store_kind] = SERVERS[store_kind].start()
    led_to(started[store_kind], monkeypatch)
    return Bucket.new(started[store_kind])
