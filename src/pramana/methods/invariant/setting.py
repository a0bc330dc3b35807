"""What a recipe says of an invariant release."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from pramana.errors import RecipeError
from pramana.methods.retention.setting import K
from pramana.schema.sections import RandomisedColumn, Setting
from pramana.schema.typed import Flag, Share

Groups = Annotated[
    list[Annotated[list[str], Meta(min_length=1)]],
    Meta(extra={"must": 'a list of lists of columns, such as [["sex", "age"]]'}),
]
Names = Annotated[list[str], Meta(extra={"must": 'a list of columns, such as ["region"]'})]
Pairs = Annotated[
    list[Annotated[list[str | int | float | bool], Meta(min_length=2, max_length=2)]],
    Meta(extra={"must": 'a list of pairs of values, such as [["a", "b"]]'}),
]


class InvariantSetting(Setting, frozen=True, kw_only=True, tag="invariant"):
    """method = "invariant": frequencies kept in expectation, and no match more likely than xi."""

    xi: Annotated[float, Meta(gt=0, le=1, extra={"must": "a number above 0, at most 1"})] | None = None
    kind: Literal["blocks", "two-stage", "sinkhorn"] = "blocks"
    rule: Literal["best", "paper", "auto"] = "best"
    matrix: Literal["withheld", "published"] = "withheld"
    together: Groups = []
    strata: Names = []
    unreached: Annotated[
        Literal["refuse", "publish"], Meta(description='"publish" goes on where xi is not reached, and says so.')
    ] = "refuse"
    diagonal: Share = 0.8
    alpha: Share = 0.5
    retention: Annotated[Share | None, Meta(description='With kind = "sinkhorn".')] = None
    k: Annotated[K, Meta(description='With kind = "sinkhorn".')] = None

    def __post_init__(self) -> None:
        if self.k is not None and self.kind != "sinkhorn":
            raise RecipeError(
                "An invariant release must promise xi",
                "k",
                'Its matrices depend on the data: no epsilon holds, and k only with kind = "sinkhorn".',
            )
        if not self.shuffle:
            raise RecipeError(
                "An invariant release must be shuffled", "shuffle = false", "The order would tell who is who."
            )
        if self.xi is None and self.kind == "blocks":
            raise RecipeError("An invariant release must promise xi", "none", "Write xi = 0.1 in [release].")
        if self.kind == "sinkhorn" and (self.retention is None) == (self.k is None):
            raise RecipeError('With kind = "sinkhorn" either k or retention must be stated', "both or neither")
        if self.kind != "sinkhorn" and self.retention is not None:
            raise RecipeError('retention must go with kind = "sinkhorn"', f'kind = "{self.kind}"')

    @property
    def waived(self) -> tuple[str, ...]:
        """Promises that the holder has said need not be kept."""
        return ("xi",) if self.unreached == "publish" else ()


class InvariantColumn(RandomisedColumn, frozen=True, kw_only=True):
    """A column of an invariant release."""

    ordered: Annotated[Flag, Meta(description="Values move to near ones first.")] = False
    forbidden: Annotated[Pairs | None, Meta(description="Pairs of values that are never exchanged.")] = None
