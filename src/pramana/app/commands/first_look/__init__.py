"""Commands for a table that has no recipe yet."""
