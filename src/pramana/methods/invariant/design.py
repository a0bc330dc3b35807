"""The design of invariant matrices: what a recipe says of them for known columns, as the certificate states it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.columns import sizes_of
from pramana.methods.invariant.blocks import checked_xi
from pramana.methods.recipe import Recipe
from pramana.methods.retention.setting import K
from pramana.methods.usefulness import Usefulness, tables_asked, worth_of_total
from pramana.schema.domain import Attribute
from pramana.schema.kind import label_of
from pramana.schema.sections import RandomisedColumn, Setting
from pramana.schema.typed import Flag, Share, near

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


Ratio = Annotated[str, Meta(pattern="^[0-9]{1,40}(/[0-9]{1,40})?$")]
Code = Annotated[int, Meta(ge=0)]


class InvariantDesignForm(Form, frozen=True, kw_only=True):
    """The design as a certificate states it; shares that must be exact are fractions as text."""

    kind: Literal["blocks", "two-stage", "sinkhorn"]
    groups: list[Annotated[tuple[str, ...], Meta(min_length=1)]]  # columns protected together
    xi: Ratio | None
    rule: Literal["best", "paper", "auto"]
    strata: list[str]  # columns within whose values alone records move
    ordered: list[str]
    forbidden: list[tuple[str, list[tuple[Code, Code]]]]
    retention: Ratio | None
    diagonal: Share
    alpha: Share
    unreached: Literal["refuse", "publish"]  # whether to go on where xi is not reached

    @property
    def exact_xi(self) -> Fraction | None:
        return None if self.xi is None else checked_xi(Fraction(self.xi))

    @property
    def exact_retention(self) -> Fraction | None:
        return None if self.retention is None else Fraction(self.retention)


def design_of(
    recipe: Recipe[InvariantSetting, InvariantColumn], attributes: Sequence[Attribute]
) -> InvariantDesignForm:
    """What the recipe says, for the columns as they are, before any value is looked at."""
    setting = recipe.release
    coded = {a.name: a for a in attributes if not a.raw}
    if not coded:
        raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
    columns = {name: recipe.attributes[name] for name in coded}
    design = InvariantDesignForm(
        kind=setting.kind,
        groups=_groups(setting.together, list(coded)),
        xi=None if setting.xi is None else str(checked_xi(str(setting.xi))),
        rule=setting.rule,
        strata=_strata(setting.strata, {a.name: a for a in attributes}),
        ordered=[name for name, column in columns.items() if column.ordered],
        forbidden=[
            (name, _pairs(name, column.forbidden, coded[name]))
            for name, column in columns.items()
            if column.forbidden is not None
        ],
        retention=None if setting.retention is None else str(Fraction(str(setting.retention))),
        diagonal=setting.diagonal,
        alpha=setting.alpha,
        unreached=setting.unreached,
    )
    if setting.kind != "blocks" and (design.strata or design.forbidden):
        raise RecipeError("Strata and forbidden transitions must be used with blocks", f"kind = {setting.kind!r}")
    return design


def _groups(stated: Sequence[Sequence[str]], coded: list[str]) -> list[tuple[str, ...]]:
    """The groups the recipe names, then every other randomised column by itself."""
    named = [name for group in stated for name in group]
    for name in named:
        if name not in coded:
            raise RecipeError(
                "Columns to protect together must be randomised columns", repr(name), near(name, coded)
            )
    if len(set(named)) != len(named):
        raise RecipeError("A column must be protected in one group", "in several")
    return [*(tuple(group) for group in stated), *((name,) for name in coded if name not in named)]


def _strata(stated: Sequence[str], columns: Mapping[str, Attribute]) -> list[str]:
    for name in stated:
        if name not in columns:
            raise RecipeError("Strata must be columns of the recipe", repr(name), near(name, list(columns)))
        if not columns[name].raw:
            raise RecipeError(
                f"The stratum {name!r} must be a column released unchanged",
                "a randomised one",
                "Protect it together with the others instead: together = [[...]].",
            )
    return list(dict.fromkeys(stated))


def _pairs(name: str, stated: Sequence[Sequence[object]], attribute: Attribute) -> list[tuple[int, int]]:
    labels = {label: code for code, label in enumerate(attribute.coded.labels)}
    pairs = []
    for one, other in stated:
        codes = labels.get(label_of(one)), labels.get(label_of(other))
        if codes[0] is None or codes[1] is None:
            raise RecipeError(
                f"attributes.{name}.forbidden must be pairs of values of its domain", "a value outside the domain"
            )
        pairs.append((codes[0], codes[1]))
    return pairs


# What the tables of an invariant release are worth, by the errors its certificate bounds.


def worth_of_exchange(
    attributes: Sequence[Attribute],
    design: InvariantDesignForm,
    summaries: Mapping[str, Mapping[str, Any]],
    records: int,
    named: Sequence[Sequence[str]],
) -> Usefulness:
    """Of tables within one group of columns, whose counts are kept in expectation.

    Nothing is said of tables across groups: how columns go together is blurred there by as much as the matrices
    move, and withheld matrices do not tell how much that is. A record adds at most 1 to the summed variances of a
    table's counts, so these are at most the number of records whatever the matrices are.
    """
    sizes = sizes_of(attributes)
    asked, is_named = tables_asked(named, list(sizes))
    worth = []
    for names in asked:
        group = next((g for g in design.groups if set(names) <= set(g)), None)
        if group is None:
            continue
        others = math.prod(sizes[name] for name in group if name not in names)
        squares = float(records)
        if not design.strata:  # the sum over `others` of errors, squared, is at most so many times their squares
            error = float(summaries[" and ".join(group)]["total_expected_squared_error"])
            squares = min(squares, error * min(others, records))
        worth.append(worth_of_total(names, math.prod(sizes[name] for name in names), max(records, 1), squares))
    return Usefulness(tuple(worth), is_named)
