"""Publish person-level data with a privacy guarantee: stated first, reached by calculation, verifiable after."""

__version__ = "0.1.0"
