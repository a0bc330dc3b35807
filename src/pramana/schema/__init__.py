"""Roles, kinds, domains, attributes, hierarchies; reading recipes and ARX hierarchy files."""

from pramana.schema.attribute import Attribute, Role
from pramana.schema.binning.bin_numbers import BinNumbers, Publish
from pramana.schema.binning.calendar import calendar_day
from pramana.schema.connection import (
    ENVIRONMENT,
    check_database_source,
    connection_string,
    connection_url,
    lost_its_end,
    output_table,
    shown_url,
)
from pramana.schema.domain import Domain
from pramana.schema.hierarchies.builders import (
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)
from pramana.schema.hierarchies.hierarchy import TOP, Hierarchy
from pramana.schema.kind import Kind, is_code, label_of
from pramana.schema.number import decimal_number, exact_number
from pramana.schema.sections import (
    MOST_PART_ROWS,
    AboutSection,
    ColumnSection,
    LedgerSection,
    OutputSection,
    RandomisedColumn,
    RecipeSection,
    Setting,
    SourceSection,
    Weights,
)
from pramana.schema.survey import QuestionSection, SurveySection
from pramana.schema.typed import (
    AtLeastOne,
    Count,
    FilePath,
    Flag,
    Inside,
    Ordinal,
    PlainText,
    Positive,
    Share,
    Text,
    check_keys,
    keys_of,
    near,
    read_section,
)
from pramana.schema.unit import MOST_IN_A_UNIT, Storey, Unit, UnitSection

__all__ = [
    "ENVIRONMENT",
    "MOST_IN_A_UNIT",
    "MOST_PART_ROWS",
    "TOP",
    "AboutSection",
    "AtLeastOne",
    "Attribute",
    "BinNumbers",
    "ColumnSection",
    "Count",
    "Domain",
    "FilePath",
    "Flag",
    "Hierarchy",
    "Inside",
    "Kind",
    "LedgerSection",
    "Ordinal",
    "OutputSection",
    "PlainText",
    "Positive",
    "Publish",
    "QuestionSection",
    "RandomisedColumn",
    "RecipeSection",
    "Role",
    "Setting",
    "Share",
    "SourceSection",
    "Storey",
    "SurveySection",
    "Text",
    "Unit",
    "UnitSection",
    "Weights",
    "calendar_day",
    "check_database_source",
    "check_keys",
    "connection_string",
    "connection_url",
    "decimal_number",
    "exact_number",
    "hierarchy_by_masking",
    "hierarchy_of_dates",
    "hierarchy_of_groups",
    "hierarchy_of_intervals",
    "hierarchy_of_tree",
    "is_code",
    "keys_of",
    "label_of",
    "lost_its_end",
    "near",
    "output_table",
    "read_section",
    "shown_url",
]
