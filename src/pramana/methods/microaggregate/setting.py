"""What a recipe with method `microaggregate` asks for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.bundle import Form
from pramana.schema import Setting, keys_of

Algorithm = Literal["mdav", "optimal"]
Aggregate = Literal["mean", "median"]
K = Annotated[int, Meta(ge=2, extra={"must": "a whole number of at least 2"})]
Decimals = Annotated[int, Meta(ge=-15, le=15, extra={"must": "a whole number from -15 to 15"})]


class MicroaggregateSetting(Setting, frozen=True, kw_only=True, tag="microaggregate"):
    """method = "microaggregate": k-anonymity of this table, by means or medians of small classes."""

    k: K
    algorithm: Annotated[Algorithm, Meta(description='"optimal" takes one column of numbers.')] = "mdav"
    aggregate: Annotated[Aggregate, Meta(description="What of a class is published.")] = "mean"
    decimals: Annotated[Decimals | None, Meta(description="Places to round to; -2 is to hundreds.")] = None


class MicroaggregateDesign(Form, frozen=True, kw_only=True):
    """The same as a certificate states it."""

    k: K
    algorithm: Algorithm
    aggregate: Aggregate
    decimals: Decimals | None

    @property
    def rounding(self) -> str:
        """In words."""
        if self.decimals is None:
            return "not rounded"
        return f"to {self.decimals} decimals" if self.decimals >= 0 else f"to multiples of {10**-self.decimals:,}"


def design_of(setting: MicroaggregateSetting) -> MicroaggregateDesign:
    stated = msgspec.structs.asdict(setting)
    return MicroaggregateDesign(**{key: stated[key] for key in keys_of(MicroaggregateDesign)})
