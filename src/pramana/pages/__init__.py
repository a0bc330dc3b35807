"""Pictures and the one-file HTML; computes nothing."""

from pramana.pages.coalition import coalition_picture
from pramana.pages.content import (
    Bar,
    Bars,
    Block,
    Cell,
    Drawn,
    Grid,
    Legend,
    Meter,
    Page,
    Points,
    Section,
    Steps,
    Text,
)
from pramana.pages.figures import Panel, Picture, Series, markdown_of, write_figure, write_table
from pramana.pages.rendering import GENERATOR, html_of, load_templates, page_environment, style_sheet
from pramana.pages.results import Scalar, TabularResult, text_table
from pramana.pages.solutions import space_picture

__all__ = [
    "GENERATOR",
    "Bar",
    "Bars",
    "Block",
    "Cell",
    "Drawn",
    "Grid",
    "Legend",
    "Meter",
    "Page",
    "Panel",
    "Picture",
    "Points",
    "Scalar",
    "Section",
    "Series",
    "Steps",
    "TabularResult",
    "Text",
    "coalition_picture",
    "html_of",
    "load_templates",
    "markdown_of",
    "page_environment",
    "space_picture",
    "style_sheet",
    "text_table",
    "write_figure",
    "write_table",
]
