"""Roles, domains, attributes, hierarchies; reading recipes and ARX hierarchy files."""

from pramana.schema.attribute import Attribute, Role
from pramana.schema.domain import Domain, label_of
from pramana.schema.recipe import AttributeRecipe, Recipe, near

__all__ = ["Attribute", "AttributeRecipe", "Domain", "Recipe", "Role", "label_of", "near"]
