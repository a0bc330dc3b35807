"""Work on several items at once, with results in order and only a few under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def ahead(work: Callable[[A], B], items: Iterable[A], workers: int, waiting: int = 1) -> Iterator[B]:
    """Results in order, with only so many items under way as there are workers, and some that wait."""
    with ThreadPoolExecutor(workers) as pool:
        under_way: deque[Future[B]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(work, item))
                if len(under_way) >= workers + waiting:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
