"""How distributions are made."""
