"""Lines of CSV between bytes and codes, on every core."""

from pramana.sources.lines.cells import CellTexts, lines_of
from pramana.sources.lines.plain import PlainCsv, UnusualLinesError

__all__ = ["CellTexts", "PlainCsv", "UnusualLinesError", "lines_of"]
