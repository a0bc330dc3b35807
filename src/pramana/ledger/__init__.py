"""Who received what, and what it adds up to: append-only, in a SQLite file or in PostgreSQL."""
