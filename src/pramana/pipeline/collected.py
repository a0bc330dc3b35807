"""Records that people randomised on their own devices, as a bundle that nobody can make again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pramana.bundle import WITHIN_BIN, Certificate, numbers_of, read_signing_key, sweep
from pramana.errors import SourceError
from pramana.methods import AnyRecipe, CodedTable, Publication
from pramana.methods.retention import RandomisedPlan
from pramana.pipeline.writing import Destination, write_bundle
from pramana.randomness import Codes, Key, shuffled_order
from pramana.rows import Columns
from pramana.sources import Variable

_PIECE = 1 << 20


@dataclass(frozen=True)
class Devices:
    """Where the records came from: devices that ran the page of this digest (SHA-256, hexadecimal)."""

    page: str

    def to_json(self) -> dict[str, Any]:
        return {"format": "devices", "page": self.page}

    def variables(self, names: Sequence[str]) -> Mapping[str, Variable]:
        """What people see stands in the recipe's questions; answers have no labels besides."""
        del names
        return {}


def publish_collected(
    recipe: AnyRecipe,
    plan: RandomisedPlan,
    records: Mapping[str, Codes],
    devices: Devices,
    out: str | Path,
    *,
    sign: str | Path | None = None,
    waived: Sequence[str] = (),
) -> Certificate:
    """The bundle of records that are randomised already, in an order drawn for it and kept nowhere."""
    count = len(next(iter(records.values())))
    if count == 0:
        raise SourceError("A survey must have at least one record to be published", "none")
    sweep(Path(out))
    counted = replace(plan, circumstances=replace(plan.circumstances, records=count, on_devices=True))
    key = Key.create()  # kept nowhere: of the order, and of numbers that are drawn within the published bins
    order = shuffled_order(key, "", count)
    ordered = {a.name: records[a.name][order] for a in counted.attributes}
    drawn = [name for name, numbers in numbers_of(counted.attributes).items() if numbers.drawn]
    coins = {name: key.stream(WITHIN_BIN, "", name) for name in drawn}
    table, worth = CodedTable(counted.attributes, coins), counted.usefulness()
    publication = Publication(counted, _pieces(ordered, count), table, "", usefulness=worth)
    signing = None if sign is None else read_signing_key(sign)
    return write_bundle(
        recipe, devices, publication, Destination(Path(out), None, signing=signing, waived=tuple(waived))
    )


def _pieces(columns: Mapping[str, Codes], count: int) -> Iterator[Columns]:
    for first in range(0, count, _PIECE):
        yield {name: codes[first : first + _PIECE] for name, codes in columns.items()}
