"""Rows on Spark. Nothing outside this folder knows Spark."""

from pramana.rows.spark.engine import SparkEngine
from pramana.rows.spark.rows import SparkRows

__all__ = ["SparkEngine", "SparkRows"]
