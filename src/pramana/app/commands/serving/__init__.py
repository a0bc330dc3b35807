"""Commands that serve pages on this machine."""
