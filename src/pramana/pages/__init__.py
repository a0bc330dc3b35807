"""Pictures and the one-file HTML; computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
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

_MODULE_OF = {  # a command loads what it uses
    "Bar": "content",
    "Bars": "content",
    "Block": "content",
    "Cell": "content",
    "Drawn": "content",
    "GENERATOR": "rendering",
    "Grid": "content",
    "Legend": "content",
    "Meter": "content",
    "Page": "content",
    "Panel": "figures",
    "Picture": "figures",
    "Points": "content",
    "Scalar": "results",
    "Section": "content",
    "Series": "figures",
    "Steps": "content",
    "TabularResult": "results",
    "Text": "content",
    "coalition_picture": "coalition",
    "html_of": "rendering",
    "load_templates": "rendering",
    "markdown_of": "figures",
    "page_environment": "rendering",
    "space_picture": "solutions",
    "style_sheet": "rendering",
    "text_table": "results",
    "write_figure": "figures",
    "write_table": "figures",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
