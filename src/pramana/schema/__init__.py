"""schema"""

from pramana.schema.hierarchy import TOP, Hierarchy
from pramana.schema.hierarchy_builders import (
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)

__all__ = [
    "TOP",
    "Hierarchy",
    "hierarchy_by_masking",
    "hierarchy_of_dates",
    "hierarchy_of_groups",
    "hierarchy_of_intervals",
    "hierarchy_of_tree",
]
