"""Pictures and the one-file HTML; computes nothing."""

from pramana.report.figures import Panel, Picture, Series, markdown_of, svg_of, write_figure, write_table

__all__ = ["Panel", "Picture", "Series", "markdown_of", "svg_of", "write_figure", "write_table"]
