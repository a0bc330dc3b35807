"""Rows on Spark. Nothing outside this folder knows Spark."""

from pramana.rows.spark.rows import SparkRows
from pramana.rows.spark.table import SparkEngine

__all__ = ["SparkEngine", "SparkRows"]
