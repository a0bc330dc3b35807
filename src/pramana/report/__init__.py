"""Pictures and the one-file HTML; computes nothing."""

from pramana.report.coalition import coalition_picture
from pramana.report.figures import Panel, Picture, Series, markdown_of, svg_of, write_figure, write_table
from pramana.report.page import report_page

__all__ = [
    "Panel",
    "Picture",
    "Series",
    "coalition_picture",
    "markdown_of",
    "report_page",
    "svg_of",
    "write_figure",
    "write_table",
]
