"""What a promise costs at every position of a slider. The table is read once; the rest is arithmetic."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from pramana.errors import PramanaError
from pramana.io.source import Source
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.methods.protocol import Plan
from pramana.methods.recipe import AnyRecipe
from pramana.methods.usefulness import Usefulness, variance_inflation
from pramana.pages.content import Bar, Cell
from pramana.run.run import Run

# From the more private end to the more accurate one.
POSITIONS: dict[str, tuple[float, ...]] = {
    "k": (1000, 500, 200, 100, 50, 30, 20, 15, 10, 7, 5, 4, 3, 2),
    "epsilon": (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10),
    "xi": (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1),
    "delta": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    "retention": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
}
_MOST_BARS = 8
_OPENING = 1.5  # seconds that opening the page may take
_NORMAL = 1.96  # of a 95% interval
_SEED = 7  # the made-up table is the same at every position of the slider


@dataclass(frozen=True)
class DialSetting:
    """One position of the slider: what would be promised, and what it costs."""

    value: float
    words: tuple[str, ...] = ()  # the guarantees, as a certificate would say them
    retention: float | None = None
    central: str = ""
    usefulness: Usefulness = field(default_factory=Usefulness)
    treatments: tuple[Mapping[str, Cell], ...] = ()  # what happens to each column, where none is drawn by chance
    preview: tuple[Bar, ...] = ()
    previewed: str = ""
    warnings: tuple[str, ...] = ()
    refused: str = ""  # why nothing can be promised here


class Dial:
    """The slider of one recipe over a table that was read once."""

    def __init__(self, recipe: AnyRecipe, promise: str, source: Source) -> None:
        """Read the columns that the recipe needs."""
        self.recipe, self.promise = recipe, promise
        self._run = Run.trial(recipe, source)
        self.records = self._run.rows.records
        self._known: dict[float, DialSetting] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._order: list[float] = []  # positions to be worked out; once there is a worker, its own
        self._wanted: float | None = None
        self._worker: threading.Thread | None = None

    def positions(self, own: float) -> tuple[float, ...]:
        """The usual positions and the recipe's own value, from private to accurate."""
        most = self.records / 2 if self.promise == "k" else math.inf
        usual = [value for value in POSITIONS[self.promise] if value <= most]
        return tuple(sorted({*usual, own}, reverse=self.promise == "k"))

    def prepare(self, own: float) -> None:
        """Work out every position beforehand, nearest to `own` first: a movement then only asks for it.

        What takes longer than a page may take to open goes on behind it.
        """
        self._order = sorted(self.positions(own), key=lambda value: abs(math.log(value) - math.log(own)))
        end = time.monotonic() + _OPENING
        while self._order and time.monotonic() < end:
            self.at(self._order.pop(0))
        if self._order:
            self._worker = threading.Thread(target=self._work, daemon=True)
            self._worker.start()

    def _work(self) -> None:
        while self._order and not self._closed:
            value = self._wanted if self._wanted in self._order else self._order[0]
            self._order.remove(value)
            self.at(value)

    def ready(self, value: float) -> DialSetting | None:
        """What is known at once of a position; what is not known yet is worked out next."""
        if value not in self._known and self._worker is not None and self._worker.is_alive():
            self._wanted = value
            return None
        return self.at(value)

    def close(self) -> None:
        self._closed = True

    def at(self, value: float) -> DialSetting:
        if value not in self._known:  # what is known waits for nothing that is worked out
            with self._lock:
                if value not in self._known:
                    self._known[value] = self._calculated(value)
        return self._known[value]

    def _calculated(self, value: float) -> DialSetting:
        run = self._run.with_setting(with_promise(self.recipe.release, self.promise, value))
        try:
            plan = run.plan()
            usefulness = plan.usefulness_by_law()
            if usefulness is None:  # publishing tells what the plan comes to; no published row is drawn
                publication = run.publish(plan)
                plan, usefulness = publication.plan, publication.usefulness
        except PramanaError as error:
            return DialSetting(value, refused=str(error))
        guarantees = [guarantee.to_json() for guarantee in plan.guarantees(seeded=False)]
        law = plan.law
        drawn = law if isinstance(law, Product | RecordRetention) else None
        preview, previewed = _preview(drawn, plan)
        treated = {} if drawn is not None else plan.explain().treatments
        return DialSetting(
            value,
            words=tuple(str(guarantee["words"]) for guarantee in guarantees),
            retention=None if drawn is None else min(drawn.retentions(), default=None),
            central=_central(guarantees),
            usefulness=usefulness,
            treatments=tuple({"column": name, **cells} for name, cells in treated.items()),
            preview=preview,
            previewed=previewed,
            warnings=plan.warnings(seeded=False),
        )


def with_promise(setting: Any, promise: str, value: float) -> Any:
    """[release] with another value of its promise."""
    if promise == "delta":
        return msgspec.structs.replace(setting, delta=(setting.delta[0], value))
    whole = int(value) if value == int(value) and promise == "k" else value
    return msgspec.structs.replace(setting, **{promise: whole})


def _central(guarantees: Sequence[Mapping[str, Any]]) -> str:
    for guarantee in guarantees:
        if guarantee["notion"] == "central-differential-privacy" and isinstance(guarantee["value"], Mapping):
            return f"epsilon {guarantee['value']['epsilon']} at delta {guarantee['value']['delta']:g}"
    return ""


def _preview(law: Mechanism | None, plan: Plan) -> tuple[tuple[Bar, ...], str]:
    """A made-up table of as many records, published by this law and estimated from what was published.

    Nothing of the data is in it but its size and the first randomised column's labels, which will be public.
    """
    if law is None or not law.sizes:
        return (), ""
    name = next(iter(law.sizes))
    size, records = law.sizes[name], plan.records
    labels = [str(label) for label in next(a for a in plan.attributes if a.name == name).coded.labels]
    shares = 1 / (1.0 + np.arange(size))
    true = records * shares / shares.sum()
    inflation = min(variance_inflation(law, (name,)), 1e12)  # beyond, nothing is known in any case
    # from h - 1 = (1 - 1/V)(1/rho^2 - 1)
    retention = 1.0 if size < 2 or inflation <= 1 else 1 / math.sqrt(1 + (inflation - 1) / (1 - 1 / size))
    spread = math.sqrt(max(0.0, inflation - 1) * records / max(1, size))
    noise = np.random.default_rng(_SEED).standard_normal(size) * spread
    estimates = true + noise - noise.mean()
    published = retention * estimates + (1 - retention) * records / size
    bars = []
    for i in range(min(size, _MOST_BARS)):
        low, high = estimates[i] - _NORMAL * spread, estimates[i] + _NORMAL * spread
        label = labels[i] if i < len(labels) else "(missing)"
        shown = [float(min(max(0.0, number), records)) for number in (published[i], estimates[i], low, high)]
        bars.append(Bar([label], shown[0], shown[1], shown[2], shown[3], float(true[i])))
    return tuple(bars), name
