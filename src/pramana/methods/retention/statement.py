"""The certificate's statement of a law that is drawn from, as a type: what is not so is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from pramana.bundle import Form
from pramana.schema import Count, Storey


class UnitsForm(Form, frozen=True, kw_only=True):
    """What units draw once, whether all are of one size, and how many have the telling size: people, rows."""

    once: dict[str, Storey]
    same: bool
    alike: tuple[Count, Count, Count]


class ChoiceForm(Form, frozen=True, kw_only=True):
    """What coin = "best" chose from: the promise, the records, and how many values each coarser one stands for."""

    k: Annotated[float, Meta(ge=1)] | None
    epsilon: Annotated[float, Meta(gt=0)] | None
    central: Annotated[float, Meta(gt=0)] | None
    records: Count
    coarser: dict[str, list[list[Count]]]
    taken: dict[str, Annotated[int, Meta(ge=0)]]


class DrawnStatement(Form, frozen=True, kw_only=True):
    """`law` is the mechanism in integers, which `mechanism_from_json` reads."""

    law: dict[str, Any]
    out_of: Literal["2^62"]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    candidates: Count | None
    tables: list[list[str]]
    units: UnitsForm | None = None
    choice: ChoiceForm | None = None
