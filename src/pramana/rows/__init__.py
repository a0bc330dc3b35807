"""Where data meets a mechanism, under a key: `Rows`, and their homes in memory, spooled and on Spark."""
