"""Data frames of Spark and tables of its catalogue: their rows, made once and kept sealed."""
