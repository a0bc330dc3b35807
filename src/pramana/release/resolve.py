"""From a recipe's columns to attributes with domains, looking at the data only where the recipe says so."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import RecipeError, SchemaError
from pramana.schema import Attribute, AttributeRecipe, Domain, Hierarchy, Recipe, Role
from pramana.sources import Table, domain_from_data, has_missing


def published(recipe: Recipe) -> list[AttributeRecipe]:
    """The columns that reach the release; identifying ones are dropped before anything is read."""
    kept = [a for a in recipe.attributes if a.role is not Role.IDENTIFYING]
    if not kept:
        raise RecipeError("A recipe must publish at least one column", "only identifying ones")
    return kept


def dropped(recipe: Recipe) -> tuple[str, ...]:
    return tuple(a.name for a in recipe.attributes if a.role is Role.IDENTIFYING)


def is_randomised(attribute: AttributeRecipe) -> bool:
    """Quasi-identifying columns are randomised; sensitive and insensitive ones only when the recipe asks."""
    if attribute.randomise is None:
        return attribute.role is Role.QUASI_IDENTIFYING
    if not attribute.randomise and attribute.role is Role.QUASI_IDENTIFYING:
        raise RecipeError(
            f"The quasi-identifying column {attribute.name!r} must be randomised",
            "randomise = false",
            'Give it the role "insensitive" if no intruder can know it.',
        )
    return attribute.randomise


def resolve(attribute: AttributeRecipe, table: Table | None, randomised: bool | None = None) -> Attribute:
    """The attribute with its domain; `table` is None where an individual randomises one record.

    `randomised` says whether it is, for methods that choose otherwise than by `is_randomised`.
    """
    if not (is_randomised(attribute) if randomised is None else randomised):
        return Attribute(attribute.name, attribute.role, None)
    domain = _stated_domain(attribute, table)
    if attribute.missing == "category" and not domain.missing:
        domain = Domain(domain.labels, domain.origin, True, False, domain.edges, domain.members)
    if (
        attribute.missing == "auto"
        and not domain.missing
        and table is not None
        and has_missing(table.column(attribute.name))
    ):
        domain = domain.with_missing()
    if domain.size == 1 and domain.origin != "from-data":
        raise SchemaError(
            f"The domain of {attribute.name!r} must have at least two values",
            "one",
            'Drop the column, or give it the role "insensitive": a constant has nothing to hide.',
        )
    return Attribute(attribute.name, attribute.role, domain)


def read_from_data(attributes: Sequence[Attribute], data: str = "the data") -> list[str]:
    """What a certificate warns of where its domains tell something of the rows."""
    coded = [a for a in attributes if a.domain is not None]
    found = []
    if domains := [a.name for a in coded if a.coded.origin == "from-data"]:
        found.append(f"Domains read from {data}, which tells which values occur in it: {', '.join(domains)}.")
    if missing := [a.name for a in coded if a.coded.missing_from_data]:
        found.append(
            f"A missing category was added because {data} has missing values there, which tells that it has: "
            f'{", ".join(missing)}. State missing = "category" to settle it beforehand.'
        )
    return found


def _stated_domain(attribute: AttributeRecipe, table: Table | None) -> Domain:
    try:
        if attribute.values is not None:
            return Domain.declared(attribute.values)
        if attribute.bins is not None:
            return Domain.from_bins(attribute.bins)
        if attribute.hierarchy is not None:
            return _cut(Hierarchy.read(attribute.hierarchy), attribute.level)
    except SchemaError as error:
        raise SchemaError(f"{attribute.name}: {error.must}", error.got, error.hint) from None
    if not attribute.from_data:
        raise RecipeError(
            f"The randomised column {attribute.name!r} must have a domain",
            "none",
            'Write domain = [...], bins = [...] or hierarchy = "file.csv"; domain = "from-data" reads it from the '
            "rows and is flagged.",
        )
    if table is None:
        raise RecipeError(
            f"The domain of {attribute.name!r} must be declared to randomise a single record", '"from-data"'
        )
    return domain_from_data(table.column(attribute.name))


def _cut(hierarchy: Hierarchy, level: int) -> Domain:
    """The values of a hierarchy at one level; finer values are mapped to them."""
    if level >= hierarchy.height:
        raise SchemaError(f"level must be below the {hierarchy.height} levels of the hierarchy", str(level))
    codes, labels = hierarchy.level_map(level)
    members = {} if level == 0 else {leaf: labels[c] for leaf, c in zip(hierarchy.leaves, codes, strict=True)}
    return Domain(tuple(labels), "hierarchy", members=members)
