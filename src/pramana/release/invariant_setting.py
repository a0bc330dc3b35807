"""What a recipe says of an invariant release, checked, and as the certificate states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pramana.calibration import checked_xi
from pramana.errors import BundleError, RecipeError
from pramana.schema import Attribute, AttributeRecipe, Recipe, near

KINDS = ("blocks", "two-stage", "sinkhorn")
RULES = ("best", "paper", "auto")


@dataclass(frozen=True)
class InvariantSetting:
    """`groups`: columns protected together; `strata`: columns within whose values alone records move."""

    kind: str
    groups: tuple[tuple[str, ...], ...]
    xi: Fraction | None = None
    rule: str = "best"
    strata: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    forbidden: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()
    retention: Fraction | None = None
    diagonal: float = 0.8
    alpha: float = 0.5
    published: bool = False  # whether the matrix is in the certificate
    go_on: bool = False  # publish although xi is not reached

    def barred(self, name: str) -> tuple[tuple[int, int], ...]:
        return dict(self.forbidden).get(name, ())

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "groups": [list(group) for group in self.groups],
            "xi": None if self.xi is None else str(self.xi),
            "rule": self.rule,
            "strata": list(self.strata),
            "ordered": list(self.ordered),
            "forbidden": [[name, [list(pair) for pair in pairs]] for name, pairs in self.forbidden],
            "retention": None if self.retention is None else str(self.retention),
            "diagonal": self.diagonal,
            "alpha": self.alpha,
            "unreached": "publish" if self.go_on else "refuse",
        }

    @classmethod
    def from_json(cls, statement: Mapping[str, Any], published: bool) -> InvariantSetting:
        try:
            return cls(
                kind=_one_of(statement["kind"], KINDS, "kind"),
                groups=tuple(tuple(str(name) for name in group) for group in statement["groups"]),
                xi=None if statement["xi"] is None else checked_xi(Fraction(statement["xi"])),
                rule=_one_of(statement["rule"], RULES, "rule"),
                strata=tuple(str(name) for name in statement["strata"]),
                ordered=tuple(str(name) for name in statement["ordered"]),
                forbidden=tuple(
                    (str(name), tuple((int(a), int(b)) for a, b in pairs))
                    for name, pairs in statement["forbidden"]
                ),
                retention=None if statement["retention"] is None else Fraction(statement["retention"]),
                diagonal=float(statement["diagonal"]),
                alpha=float(statement["alpha"]),
                published=published,
                go_on=statement["unreached"] == "publish",
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise BundleError("The certificate must state the setting of its invariant matrices") from None


def read_setting(recipe: Recipe, attributes: Sequence[Attribute]) -> InvariantSetting:
    """The recipe's own keys, checked before any value is looked at."""
    options = recipe.options
    kind = _one_of(options.get("kind", "blocks"), KINDS, "release.kind")
    if recipe.epsilon is not None or (recipe.k is not None and kind != "sinkhorn"):
        raise RecipeError(
            "An invariant release must promise xi",
            "epsilon" if recipe.epsilon is not None else "k",
            'Its matrices depend on the data: no epsilon holds, and k only with kind = "sinkhorn".',
        )
    if not recipe.shuffle:
        raise RecipeError(
            "An invariant release must be shuffled", "shuffle = false", "The order would tell who is who."
        )
    coded = [a.name for a in attributes if not a.raw]
    if not coded:
        raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
    xi = options.get("xi")
    if xi is None and kind == "blocks":
        raise RecipeError("An invariant release must promise xi", "none", "Write xi = 0.1 in [release].")
    columns = {a.name: a for a in attributes}
    setting = InvariantSetting(
        kind=kind,
        groups=_groups(options.get("together", []), coded),
        xi=None if xi is None else checked_xi(str(xi)),
        rule=_one_of(options.get("rule", "best"), RULES, "release.rule"),
        strata=_strata(options.get("strata", []), columns),
        ordered=tuple(a.name for a in recipe.attributes if a.name in coded and _flag(a, "ordered")),
        forbidden=tuple(
            (a.name, _pairs(a, columns[a.name]))
            for a in recipe.attributes
            if a.name in coded and "forbidden" in a.options
        ),
        retention=None if recipe.retention is None else Fraction(str(recipe.retention)),
        diagonal=_share(options.get("diagonal", 0.8), "release.diagonal"),
        alpha=_share(options.get("alpha", 0.5), "release.alpha"),
        published=_one_of(options.get("matrix", "withheld"), ("withheld", "published"), "release.matrix")
        == "published",
        go_on=_one_of(options.get("unreached", "refuse"), ("refuse", "publish"), "release.unreached") == "publish",
    )
    if kind != "blocks" and (setting.strata or setting.forbidden):
        raise RecipeError("Strata and forbidden transitions must be used with blocks", f"kind = {kind!r}")
    if kind == "sinkhorn" and (setting.retention is None) == (recipe.k is None):
        raise RecipeError('With kind = "sinkhorn" either k or retention must be stated', "both or neither")
    return setting


def _one_of(value: object, known: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise RecipeError(f"{what} must be one of {', '.join(known)}", repr(value))
    return value


def _share(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise RecipeError(f"{what} must be a number between 0 and 1", repr(value))
    return float(value)


def _flag(attribute: AttributeRecipe, key: str) -> bool:
    value = attribute.options.get(key, False)
    if not isinstance(value, bool):
        raise RecipeError(f"attributes.{attribute.name}.{key} must be true or false", repr(value))
    return value


def _groups(value: object, coded: list[str]) -> tuple[tuple[str, ...], ...]:
    """The groups the recipe names, then every other randomised column by itself."""
    fault = 'together must be a list of lists of columns, such as [["sex", "age"]]'
    if not isinstance(value, list) or not all(isinstance(g, list) and g for g in value):
        raise RecipeError(fault, repr(value))
    named = [name for group in value for name in group]
    for name in named:
        if not isinstance(name, str) or name not in coded:
            hint = near(name, coded) if isinstance(name, str) else None
            raise RecipeError("Columns to protect together must be randomised columns", repr(name), hint)
    if len(set(named)) != len(named):
        raise RecipeError("A column must be protected in one group", "in several")
    return (*(tuple(group) for group in value), *((name,) for name in coded if name not in named))


def _strata(value: object, columns: Mapping[str, Attribute]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise RecipeError('strata must be a list of columns, such as ["region"]', repr(value))
    for name in value:
        if name not in columns:
            raise RecipeError("Strata must be columns of the recipe", repr(name), near(name, list(columns)))
        if not columns[name].raw:
            raise RecipeError(
                f"The stratum {name!r} must be a column released unchanged",
                "a randomised one",
                "Protect it together with the others instead: together = [[...]].",
            )
    return tuple(dict.fromkeys(value))


def _pairs(attribute: AttributeRecipe, resolved: Attribute) -> tuple[tuple[int, int], ...]:
    fault = f'attributes.{attribute.name}.forbidden must be a list of pairs of values, such as [["a", "b"]]'
    value = attribute.options["forbidden"]
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise RecipeError(fault, repr(value)[:80])
    labels = {label: code for code, label in enumerate(resolved.coded.labels)}
    found = []
    for pair in value:
        codes = [labels.get(str(v)) for v in pair]
        if codes[0] is None or codes[1] is None:
            raise RecipeError(fault, "a value outside the domain")
        found.append((codes[0], codes[1]))
    return tuple(found)
