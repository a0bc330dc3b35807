"""Hierarchies, and how they are built."""
