"""Rows on Spark. Nothing outside this folder knows Spark."""
