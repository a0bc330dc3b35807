"""What a recipe says of releases at levels."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pramana.methods.retention import Delta, Epsilon, K
from pramana.schema import Flag, Positive, RandomisedColumn, Setting, Share, Text

Shares = Annotated[
    list[Annotated[float, Meta(ge=0)]], Meta(extra={"must": "a list of shares, one for each value of the domain"})
]
Allowances = Annotated[
    dict[str, str | float], Meta(extra={"must": 'a section that maps recipients to levels, "*" for everybody'})
]
TotalEpsilon = Annotated[Positive, Meta(lt=1e6, extra={"must": "a positive number"})]


class LevelsSetting(Setting, frozen=True, kw_only=True, tag="levels"):
    """method = "levels": the sensitive columns at one level of many, the others as they are."""

    retention: Annotated[Share | None, Meta(description="The level of a release without a ledger.")] = None
    k: K = None
    epsilon: Epsilon = None
    delta: Delta = None
    together: Annotated[Flag, Meta(extra={"must": "true (one chain for all perturbed columns) or false"})] = False
    history: Annotated[Flag, Meta(description="Versions are drawn from a history, not from the key.")] = False
    people: Annotated[Text, Meta(description="About whom the releases are, for totals.")] = ""
    allowances: Allowances = {}
    total_epsilon: TotalEpsilon | None = None


class LevelsColumn(RandomisedColumn, frozen=True, kw_only=True):
    """A column of a release at levels."""

    distribution: Annotated[
        Shares | None, Meta(description="What values are replaced by; uniform if not given.")
    ] = None
