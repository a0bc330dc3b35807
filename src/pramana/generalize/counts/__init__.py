"""Counts of classes: of sensitive values, and of people and households."""
