"""Records on their way to the store: gathered for a moment, written together, and only then acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from pramana.collection.store import CollectionStore, Outcome
from pramana.collection.submission import Submission
from pramana.errors import CollectionError

GATHERED_FOR = 0.1  # seconds; who arrives within it is written in one transaction, in the order of the keys
MOST_TOGETHER = 1000
MOST_WAITING = 20_000
_IDLE = 2.0  # seconds without an arrival after which the store is written anew
_OFTEN = 4  # else it is when a quarter of the records are new
_LEAST = 256

_Waiting = tuple[Submission, "asyncio.Future[Outcome]"]


class Arrivals:
    """The one writer of a store."""

    def __init__(self, store: CollectionStore, gathered_for: float = GATHERED_FOR) -> None:
        self._store, self._gathered_for = store, gathered_for
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue(MOST_WAITING)
        self._stored = 0

    async def submit(self, submission: Submission) -> Outcome:
        """What became of it, once that is on disk; CollectionError where it was not stored."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        try:
            self._waiting.put_nowait((submission, done))
        except asyncio.QueueFull:
            raise CollectionError("A survey must have time to store what arrives", "too much at once") from None
        return await done

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this is open records are written; what waits at the end is written before it ends."""
        self._stored = await asyncio.to_thread(self._store.count)
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            await self._waiting.join()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            batch = await self._next()
            if batch:
                await self._write(batch)
            untidied = self._store.untidied
            if untidied and (not batch or untidied > max(_LEAST, self._stored // _OFTEN)):
                with contextlib.suppress(CollectionError):  # no room for it now: it is tried again later
                    await asyncio.to_thread(self._store.tidy)

    async def _next(self) -> list[_Waiting]:
        """Those who arrive within a moment; nobody, if nobody comes while there is something to tidy."""
        try:
            first = await asyncio.wait_for(self._waiting.get(), _IDLE if self._store.untidied else None)
        except TimeoutError:
            return []
        batch = [first]
        await asyncio.sleep(self._gathered_for)
        while len(batch) < MOST_TOGETHER and not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        return batch

    async def _write(self, batch: list[_Waiting]) -> None:
        try:
            outcomes = await asyncio.to_thread(self._store.add, [submission for submission, _ in batch])
            self._stored += outcomes.count(Outcome.STORED)
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if not done.done():
                    done.set_result(outcome)
        except CollectionError as error:
            for _, done in batch:
                if not done.done():
                    done.set_exception(CollectionError(error.must, error.got, error.hint))
        finally:
            for _ in batch:
                self._waiting.task_done()
