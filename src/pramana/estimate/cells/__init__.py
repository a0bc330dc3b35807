"""Counting without a law: cells that stand for several values, aggregates, and counts right on average."""

from pramana.estimate.cells.columns import CellColumn
from pramana.estimate.cells.study import CellComparison, CellStudy

__all__ = ["CellColumn", "CellComparison", "CellStudy"]
