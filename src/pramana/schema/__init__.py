"""Roles, domains, attributes, hierarchies; reading recipes and ARX hierarchy files."""

from pramana.schema.attribute import Attribute, Role
from pramana.schema.connection import ENVIRONMENT, connection_string, shown_url
from pramana.schema.domain import Domain, label_of
from pramana.schema.hierarchy import TOP, Hierarchy
from pramana.schema.hierarchy_builders import (
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)
from pramana.schema.number import exact_number
from pramana.schema.recipe import AttributeRecipe, Recipe, near

__all__ = [
    "ENVIRONMENT",
    "TOP",
    "Attribute",
    "AttributeRecipe",
    "Domain",
    "Hierarchy",
    "Recipe",
    "Role",
    "connection_string",
    "exact_number",
    "hierarchy_by_masking",
    "hierarchy_of_dates",
    "hierarchy_of_groups",
    "hierarchy_of_intervals",
    "hierarchy_of_tree",
    "label_of",
    "near",
    "shown_url",
]
