"""Parquet files, checked before they are read."""
