"""Pictures and the one-file HTML; computes nothing."""

from pramana.pages.coalition import coalition_picture
from pramana.pages.figures import (
    Panel,
    Picture,
    Series,
    load_in_background,
    markdown_of,
    write_figure,
    write_table,
)
from pramana.pages.page import (
    GENERATOR,
    Bar,
    Bars,
    Block,
    Drawn,
    Grid,
    Page,
    Promise,
    Section,
    Text,
    drawn,
    html_of,
)

__all__ = [
    "GENERATOR",
    "Bar",
    "Bars",
    "Block",
    "Drawn",
    "Grid",
    "Page",
    "Panel",
    "Picture",
    "Promise",
    "Section",
    "Series",
    "Text",
    "coalition_picture",
    "drawn",
    "html_of",
    "load_in_background",
    "markdown_of",
    "write_figure",
    "write_table",
]
