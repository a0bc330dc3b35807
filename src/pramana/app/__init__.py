"""Command line; uses only the public names of the rooms below and holds no logic."""
